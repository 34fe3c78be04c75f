"""No error, type, shape, cost or warning tells of a row, however many there are and whatever they hold.

Everything public that takes private rows is called with ordinary ones, none, one, and every odd one at once; all that
takes a function of them, with functions that fail in every way. Answers are of one kind, and nothing is raised after
the payment. Names are collected from the rooms: a new one is entered here, or among the exceptions with a reason.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from deniable import learning as dl
from deniable import statistics as st
from deniable.adaptive import GaussianAnswers, Ladder, ReusableHoldout, learn_class, learn_interval, learn_threshold
from deniable.errors import InvalidParameterError
from deniable.games import CongestionGame, DigitalGoods, Imposing, PrivateMatching, billboard
from deniable.learning import federated as fl
from deniable.learning.descent.projected import Descent
from deniable.learning.estimators.estimator import Estimator
from deniable.ledger import Ledger
from deniable.mechanisms import Laplace, Mechanism
from deniable.mechanisms.base import Released
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.mechanisms.wrappers import BestOf
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget, PureLoss, Replace
from deniable.release import Release
from deniable.statistics.statistic import Statistic
from tests.rows import test_every_statistic
from tests.rows.containers import ODD
from tests.rows.test_every_statistic import STATISTICS
from tests.rows.test_whole import SWEEP

ROOMS = ("adaptive", "games", "learning", "learning.federated", "mechanisms", "statistics")
ROWS = {"rows", "values", "X", "exact", "bids", "reports", "own", "labels", "predictions"}
CODE = {"function", "test", "teacher", "trial", "score", "work", "model", "models", "gradient", "law", "estimator"}


class Purse(Ledger):
    """A ledger that pays for everything, and says whether it did."""

    def __init__(self) -> None:
        self.paid = 0

    def pay(self, loss: Any, **_: Any) -> Any:
        self.paid += 1
        self.loss = loss
        return Budget(epsilon=1).rule().left(loss.charge() * 0)


def kind(found: Any) -> Any:
    """What can be seen of an answer but its numbers, which noise decides."""
    if isinstance(found, np.ndarray):
        return "array", str(found.dtype), found.shape
    if isinstance(found, tuple | list):
        return type(found).__name__, [kind(each) for each in found]
    if isinstance(found, Release):
        columns = [(part.name, kind(found[part.name])) for part in found.parts]
        return columns, str(found.cost), re.sub("0x[0-9a-f]+", "", found.text), found.notes
    if isinstance(found, Estimator):
        return [(name, kind(value)) for name, value in sorted(vars(found).items()) if name.endswith("_")]
    if isinstance(found, Released | Descent):
        return type(found).__name__, [kind(each) for each in vars(found).values()]
    return type(found).__name__


BITS: Any = DeterministicBits(1)
ORDINARY = [[1.0, 2.0], [2.0, 0.5], [0.0, 4.0], [3.0, 3.0], [4.0, 1.0], [1.0, 0.0]], ["a", "b", "a", "b", "a", "b"]
EVERY_ODD = (
    [*ORDINARY[0], *([odd, 1.0] for odd in ODD.values()), *ODD.values()],
    [*ORDINARY[1], *ODD.values(), *["a"] * len(ODD)],
)
WHO = ["a", "b"]
SIZES = {"none": ([], []), "one": (ORDINARY[0][:1], ORDINARY[1][:1]), "odd": EVERY_ODD}
PUBLIC: dict[str, Any] = {"bounds": [(0, 5)] * 2}
MODELS: dict[str, Callable[[], Any]] = {
    "StandardScaler": lambda: dl.StandardScaler(**PUBLIC, epsilon=1),
    "PCA": lambda: dl.PCA(n_components=1, **PUBLIC, epsilon=1, delta="1e-3"),
    "KMeans": lambda: dl.KMeans(n_clusters=2, **PUBLIC, epsilon=1),
    "GaussianMixture": lambda: dl.GaussianMixture(n_components=2, **PUBLIC, rho=1, steps=2),
    "LinearRegression": lambda: dl.LinearRegression(**PUBLIC, target_bounds=(0, 1), epsilon=1),
    "Ridge": lambda: dl.Ridge(**PUBLIC, target_bounds=(0, 1), epsilon=1),
    "GradientBoostingRegressor": lambda: dl.GradientBoostingRegressor(
        **PUBLIC, target_bounds=(0, 1), rounds=2, rho=1
    ),
    **{
        name: lambda name=name, given=given: getattr(dl, name)(**given, classes=["a", "b"])
        for name, given in {
            "LogisticRegression": {**PUBLIC, "expected_rows": 40, "epsilon": 1, "delta": "1e-3"},
            "LinearSVM": {**PUBLIC, "expected_rows": 40, "epsilon": 1, "delta": "1e-3"},
            "GaussianNB": {**PUBLIC, "epsilon": 1},
            "NearestCentroid": {**PUBLIC, "epsilon": 1},
            "CategoricalNB": {"categories": [[1, 2, 3]] * 2, "epsilon": 1},
            "DecisionTreeClassifier": {**PUBLIC, "depth": 2, "epsilon": 1},
            "GradientBoostingClassifier": {**PUBLIC, "rounds": 2, "rho": 1},
        }.items()
    },
    "PrivateGridSearch": lambda: dl.PrivateGridSearch(
        MODELS["LogisticRegression"](), {"learning_rate": [1]}, epsilon=1, delta="1e-3", expected_rows=40
    ),
    **{
        f"RiskMinimiser {method}": lambda method=method: dl.RiskMinimiser(
            loss=dl.losses.Logistic(), feasible=dl.sets.L2Ball(radius=1, columns=2), expected_rows=40, method=method,
            epsilon=1, delta="1e-3", candidates=16, steps=2,
        )
        for method in ("exponential", "output", "objective", "gradient")
    },
}  # fmt: skip
NUMBERS = ("LinearRegression", "Ridge", "GradientBoostingRegressor", "RiskMinimiser")  # these take numbers for labels
PLAN = dl.TrainingPlan(noise_multiplier=4, steps=2, dimensions=2, sampler=dl.Poisson(rate="1/2"))
SHOPS = Imposing.facilities(range(3), count=2, epsilon=1)


def numeric(labels: list[Any]) -> list[Any]:
    """The same labels as numbers where they are a and b."""
    return [{"a": 0.0, "b": 1.0}.get(each, each) if type(each) is str else each for each in labels]


def unpaid(call: Callable[[Any], Any]) -> Callable[[Any, Purse], Any]:
    """A call that leaves the payment to whoever makes it."""

    def paying(given: Any, purse: Purse) -> Any:
        purse.paid += 1
        return call(given)

    return paying


def fitted(name: str) -> "Call":
    def call(rows: Any, labels: Any, purse: Purse) -> Any:
        y = numeric(labels) if name.startswith(NUMBERS) else labels
        return MODELS[name]().fit(rows, y, ledger=purse, bits=BITS)

    return call


def voted(teacher: Any) -> "Call":
    def call(rows: Any, labels: Any, purse: Purse) -> Any:
        teachers = dl.Teachers(rows, labels, teacher=teacher, count=3, classes=["a", "b"])
        found = teachers.label([[0.0, 0.0]] * 4, dl.Vote.gnmax(sigma=2), ledger=purse, bits=BITS)
        return [kind(each) for each in (found.labels, found.answered, found.cost)]

    return call


def descended(loss: Any) -> "Call":
    def call(rows: Any, labels: Any, purse: Purse) -> Any:
        ball = dl.sets.L2Ball(radius=1, columns=2)
        descent = dl.NoisyDescent(loss=loss, feasible=ball, plan=PLAN, size=4, step_size=1)
        return descent.release(rows, numeric(labels), ledger=purse, bits=BITS)

    return call


def trained(trust: str, work_of: Callable[[Any, Any, Any], Any]) -> "Call":
    """Rounds of three clients, of whom one has these rows, with the bytes of all its answers."""

    def call(rows: Any, labels: Any, purse: Purse) -> Any:
        local = trust in ("local", "distributed")
        plan = dl.TrainingPlan(
            noise_multiplier=4, steps=2, dimensions=6, **({"relation": Replace} if local else {}), clip=dl.Clip(norm=1)
        )
        secure = fl.SecureSum(survivors=2) if trust == "distributed" else None
        federated = fl.Federated(plan=plan, trust=trust, secure=secure)
        clients = {
            i: fl.Participant(federated, i, work_of(plan, *each), bits=BITS)
            for i, each in enumerate([(rows, labels), ORDINARY, ORDINARY])
        }
        carried = fl.Simulation(clients)
        found = federated.fit(carried, clients=3, expected_clients=3, ledger=purse, bits=BITS)
        return [kind(found.parameters), found.lost, carried.bytes_up, clients[0].refusal]

    return call


def plain_work(plan: Any, rows: Any, labels: Any) -> Any:
    model = fl.Softmax(columns=2, classes=2)
    return fl.LocalDescent(model=model, rows=rows, labels=numeric(labels), step_size=1)


def private_work(plan: Any, rows: Any, labels: Any) -> Any:
    return fl.private_descent(plain_work(plan, rows, labels), plan, expected_rows=4, bits=BITS)


def board_of(function: Any) -> "Call":
    def call(rows: Any, labels: Any, purse: Purse) -> Any:
        purse.paid += 1  # whoever posted the signal
        return type(billboard(Released(1, True), loss=PureLoss(1)).per_player(function, [*rows, ORDINARY[0][0]])[-1])

    return call


Call = Callable[[Any, Any, Purse], Any]
CALLS: dict[str, Call] = {
    **{name: fitted(name) for name in MODELS},
    "NoisyDescent": descended(dl.losses.Logistic()),
    "Teachers": voted(dl.GaussianNB(**PUBLIC, classes=["a", "b"], epsilon=1)),
    **{f"Federated {trust}": trained(trust, plain_work) for trust in ("central", "local", "distributed")},
    "Federated examples": trained("examples", private_work),
    "TrainingPlan": lambda rows, labels, purse: [
        kind(run.mean_gradient(np.ones((len(batch), 2))))
        for run in [PLAN.run(len(rows), expected_rows=4, ledger=purse, bits=BITS)]
        for batch in run
    ],
    "accuracy_by_group": lambda rows, labels, purse: dl.accuracy_by_group(
        {"one": MODELS["GaussianNB"]().fit(*ORDINARY)}, rows, labels, labels, values=WHO, epsilon=1, ledger=purse,
        bits=BITS,
    ),
    "DigitalGoods": lambda rows, labels, purse: DigitalGoods(prices=[1, 2], epsilon=1, count_epsilon=1).release(
        labels, ledger=purse, bits=BITS
    ),
    "Imposing": lambda rows, labels, purse: (
        type(SHOPS.release(labels, ledger=purse, bits=BITS).signal),
        {SHOPS.reaction(each, (0, 1)) for each in [*labels, 0]} <= {0, 1},
    ),
    "Billboard": board_of(lambda row, signal: signal),
    "CongestionGame settle": lambda rows, labels, purse: type(
        game(rows).settle(rows, rho=1, slack=1, ledger=purse, bits=BITS)
    ),
    "CongestionGame learn": lambda rows, labels, purse: type(
        game(rows).learn(rows, rho=1, rounds=2, ledger=purse, bits=BITS)
    ),
    "PrivateMatching": lambda rows, labels, purse: type(
        PrivateMatching(
            players=len(rows), goods=1, supply=3000, top=10, step=1, epsilon=2, delta="1e-6", passes=1, batches=1
        ).release([labels], ledger=purse, bits=BITS)
    ),
    **{
        name: lambda rows, labels, purse, made=made: made(
            {"rows": len(rows), "questions": 9, "budget": Budget(epsilon=50), "ledger": purse, "bits": BITS}, labels
        )
        for name, made in {
            "ReusableHoldout": lambda given, y: type(ReusableHoldout(corrections=3, **given).ask(0.5, y)),
            "Ladder": lambda given, y: type(Ladder(improvements=3, **given).submit(y)),
            "GaussianAnswers": lambda given, y: type(
                GaussianAnswers(**{**given, "budget": Budget(rho=9)}).ask(y)
            ),
            "learn_class": lambda given, y: type(
                learn_class([[1, 0]] * len(y), y, hypotheses=2, epsilon=1, ledger=given["ledger"], bits=BITS)
            ),
            "learn_threshold": lambda given, y: type(
                learn_threshold(y, y, domain=9, epsilon=1, ledger=given["ledger"], bits=BITS)
            ),
            "learn_interval": lambda given, y: type(
                learn_interval(y, y, domain=9, epsilon=1, ledger=given["ledger"], bits=BITS)
            ),
        }.items()
    },
}  # fmt: skip
COUNTED = {  # their rows are public in number, so no rows are refused by it
    "CongestionGame settle", "CongestionGame learn", "PrivateMatching", "ReusableHoldout", "Ladder", "GaussianAnswers",
    "learn_class", "learn_threshold", "learn_interval",
}  # fmt: skip


def game(rows: Any) -> CongestionGame:
    return CongestionGame(latencies=[range(len(rows) + 1)] * 2, influence=1, top=5)


def outcome(call: Callable[[Purse], Any], *, counted: bool = False) -> Any:
    """All that can be seen of a call, which has paid whatever it raises, and warns of nothing."""
    purse = Purse()
    DeterministicBits.__init__(BITS, 1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = kind(call(purse))
        except InvalidParameterError:
            assert counted
            assert not purse.paid
            return None
    assert not warned, warned[0].message
    return purse.paid, str(getattr(purse, "loss", None)) if not counted else "", found


@pytest.mark.parametrize("name", CALLS)
def test_what_is_seen_of_an_answer_is_the_same_for_all_rows(name: str) -> None:
    counted = name in COUNTED
    usual = outcome(lambda purse: CALLS[name](*ORDINARY, purse), counted=counted)
    assert usual[0] == 1
    for size, (rows, labels) in SIZES.items():
        found = outcome(lambda purse, rows=rows, labels=labels: CALLS[name](rows, labels, purse), counted=counted)
        assert found == usual or (counted and size == "none" and found is None), size


DRAWN = ("top_k", "mean of found bounds", "vector_covariance")  # noise decides on keys, and on what the notes say


@pytest.mark.parametrize("title", STATISTICS)
def test_what_is_seen_of_a_statistic_is_the_same_for_few_rows(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers and odd rows of statistics are those of tests/rows/test_every_statistic.py."""
    others, seen = test_every_statistic.OTHERS, []
    for size in (len(others), 1, 0):
        monkeypatch.setattr(test_every_statistic, "OTHERS", others[:size])
        monkeypatch.setattr(test_every_statistic, "GROUPS", ["a", "b", "a", "b", "a", "b", "a"][:size])
        values = [3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0][:size]
        found = outcome(lambda purse, v=values: STATISTICS[title][0](v, {"epsilon": 5, "bits": BITS, "ledger": purse}))
        drawn = "key_counts" in title or title in DRAWN
        seen.append((found[0], [name for name, _ in found[2][0]], "" if drawn else found))
    assert seen[0] == seen[1] == seen[2]


EXCHANGED = {  # mechanisms that are proved under replace, where the number of rows is public
    *("smooth_quantile", "smooth_trimmed_mean", "inverse_quantile", "of_quantile", "of_interquartile_range"),
    *("subset_sampled", "random_record"),
}


@pytest.mark.parametrize("name", SWEEP)
def test_no_number_of_rows_is_an_error_of_a_mechanism(name: str) -> None:
    compute, rows, *_ = SWEEP[name]
    call = unpaid(lambda given: type(compute(given)))
    for few in () if name in EXCHANGED else (rows[:1], []):
        assert outcome(partial(call, few)) == outcome(partial(call, rows))


class Odd(dl.losses.Logistic):
    """A loss whose slopes and values are what a function gives; with made-up rows of zeros it is a usual one."""

    way: ClassVar[Any]

    def slopes(self, predictions: Any, labels: Any) -> Any:
        return self.way(super().slopes(predictions, labels)) if np.any(predictions) else 0 * predictions

    def values(self, predictions: Any, labels: Any) -> Any:
        found = super().values(predictions, labels)
        return self.way(found) if np.ndim(labels) == 2 else found  # those of rows, at several parameters


def odd_loss(way: Any) -> Any:
    return type("Odd", (Odd,), {"way": staticmethod(way)})()


def odd_model(way: Any) -> Callable[[Any, Any, Any], Any]:
    """Work of a client by a model whose gradients are what a function gives, but for made-up rows of zeros."""
    model = fl.Softmax(columns=2, classes=2)

    def gradients(at: Any, rows: Any, labels: Any) -> Any:
        found = model.gradients(at, rows, labels)
        return way(found) if np.any(rows) else found

    def work(plan: Any, rows: Any, labels: Any) -> Any:
        made = SimpleNamespace(gradients=gradients, columns=2)
        local = fl.LocalDescent(model=made, rows=rows, labels=numeric(labels), step_size=1)
        return fl.private_descent(local, plan, expected_rows=4, bits=BITS)

    return work


def minimised(method: str) -> Callable[[Any, Purse], Any]:
    def call(way: Any, purse: Purse) -> Any:
        model = MODELS[f"RiskMinimiser {method}"]()
        return model.set_params(loss=odd_loss(way)).fit(ORDINARY[0], numeric(ORDINARY[1]), ledger=purse, bits=BITS)

    return call


FLAT = [row[0] for row in ORDINARY[0]]
FUNCTIONS: dict[str, Callable[[Any, Purse], Any]] = {  # each gives `way` of what a usual function gives
    "SampleAndAggregate": unpaid(
        lambda way: SampleAndAggregate(inner=Laplace(scale=1), blocks=3, bounds=(0, 9)).release(
            (FLAT, lambda block: way(np.sum(block))), bits=BITS
        )
    ),
    "subsampled_test": lambda way, purse: st.subsampled_test(
        FLAT, test=lambda block: way(0.5), blocks=3, simulations=9, epsilon=1, ledger=purse, bits=BITS
    ),
    "Teachers fit": lambda way, purse: voted(lambda X, y: way(lambda rows: ["a"] * len(rows)))(*ORDINARY, purse),
    "Teachers predict": lambda way, purse: voted(lambda X, y: lambda rows: way(["a"] * len(rows)))(*ORDINARY, purse),
    **{
        f"Participant {trust}": lambda way, purse, trust=trust: trained(
            trust, lambda plan, rows, labels: lambda at: way(np.ones(6))
        )(*ORDINARY, purse)
        for trust in ("central", "local", "distributed")
    },
    "private_descent": lambda way, purse: trained("examples", odd_model(way))(*ORDINARY, purse),
    "NoisyDescent": lambda way, purse: descended(odd_loss(way))(*ORDINARY, purse),
    **{f"RiskMinimiser {each}": minimised(each) for each in ("exponential", "output", "objective", "gradient")},
    "Billboard": lambda way, purse: board_of(lambda row, signal: 1 if row is ORDINARY[0][0] else way(1))(
        ORDINARY[0][1:], [], purse
    ),
    "BestOf.best_of": unpaid(lambda way: bool(BestOf(base=Laplace(scale=1), stop="1/2").best_of(
        lambda: [way(1)], score=len, bits=BITS)) or True),
    "BestOf.best_of score": unpaid(
        lambda way: BestOf(base=Laplace(scale=1), stop="1/2").best_of(lambda: 1, score=way, bits=BITS)
    ),
    "BestOf.release score": unpaid(
        lambda way: BestOf(base=Laplace(scale=1), stop="1/2").release([1], score=way, bits=BITS)
    ),
}  # fmt: skip


def failing(error: type[BaseException]) -> Callable[[Any], Any]:
    def way(_: Any) -> Any:
        raise error("a row")

    return way


WAYS: list[Callable[[Any], Any]] = [
    *map(failing, (ValueError, SystemExit, MemoryError, RecursionError, StopIteration, InvalidParameterError)),
    *(lambda _, odd=odd: odd for odd in [np.zeros(0), np.zeros((2, 7)), *ODD.values()]),
    lambda usual: np.full(np.shape(usual), np.nan),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_seen_of_an_answer_is_the_same_however_a_function_fails(name: str) -> None:
    usual = outcome(lambda purse: FUNCTIONS[name](lambda found: found, purse))
    for way in WAYS if "RiskMinimiser" not in name else WAYS[::6]:
        found = outcome(lambda purse, way=way: FUNCTIONS[name](way, purse))
        assert found == usual


OPEN = {  # public names that take rows or functions and may raise, each with the reason
    **dict.fromkeys(("vcg", "second_price", "public_project"), "is not private, and says so"),
    **dict.fromkeys(("descend", "descend_by_samples", "compare_minimisers"), "is not private, and says so"),
    **dict.fromkeys(("largest_gain", "joint_loss"), "looks at public laws"),
    **dict.fromkeys(("Clip", "AdaptiveClip", "Sign", "Top"), "gives secret integers, for any floats: test_clips.py"),
    **dict.fromkeys(("Loss", "Hinge", "HuberisedHinge", "Logistic", "Squared", "Softmax"), "gives secret gradients"),
    "LocalDescent": "runs inside a Participant",
    "Federated": "takes work on made-up rows",
    **dict.fromkeys(("define", "bootstrap"), "takes functions of what was released"),
    "variance_of_shares": "takes reports, which are public",
    "plan": "takes a function of this library, and no rows",
}


def takers(room: str) -> Iterator[str]:
    """Public names that take rows, which are not a number of them, or a function of rows; of public modules too."""
    module = import_module(f"deniable.{room}")
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.ismodule(found) and hasattr(found, "__all__"):
            yield from takers(f"{room}.{name}")
        methods = [found] if inspect.isfunction(found) else []
        if inspect.isclass(found):
            if issubclass(found, Mechanism | Statistic):
                continue  # entered in tests/rows/test_whole.py and, as functions, in STATISTICS
            public = (each for each in dir(found) if each in ("__init__", "__call__") or not each.startswith("_"))
            methods = [each for name in public if inspect.isfunction(each := inspect.getattr_static(found, name))]
        taken = [each for method in methods for each in inspect.signature(method).parameters.values()]
        if any(each.name in CODE or (each.name in ROWS and each.annotation is not int) for each in taken):
            yield name


def test_every_public_name_that_takes_rows_or_functions_is_here() -> None:
    entered = {word for title in (*CALLS, *FUNCTIONS, *STATISTICS) for word in re.split(r"[ .]", title)}
    found = {name for room in ROOMS for name in takers(room)}
    assert found - entered - {"BestOfPoisson"} - set(OPEN) == set()
    assert set(OPEN) - found == set()


def test_an_answer_that_tells_is_seen_here() -> None:
    """The twin: one row, or a function that fails, is an error after the payment, a warning, or another shape."""

    def telling(rows: list[Any], purse: Purse) -> Any:
        purse.paid += 1
        if len(rows) == 1:
            warnings.warn("a row", stacklevel=1)
        if 3 in rows:
            raise InvalidParameterError("a row")
        return np.zeros(len(rows))

    usual = outcome(lambda purse: telling([1, 2], purse))
    assert outcome(lambda purse: telling([], purse)) != usual
    for rows in ([1], [1, 3]):
        with pytest.raises(AssertionError):
            outcome(lambda purse, rows=rows: telling(rows, purse))
        with pytest.raises(AssertionError):
            outcome(lambda purse, rows=rows: telling(rows, purse), counted=True)
