"""One contract closes the chain: the moves *measured* under the noise *really drawn* prove the loss that is *stated*.

Exact inputs, sensitivities, noise and losses are each tested where they are written; a test of one link may assume the
next. Here nothing is assumed: what mechanisms release on one input is given to them again on its neighbour, and their
losses at the moves of their exact inputs are added up. They spend no more than is stated, and on the worst of some
neighbours at least the part that a case names: noise that is too small by the rest is found out.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import laplace, norm

import deniable as db
from deniable import statistics as dn
from deniable.adaptive import GaussianAnswers
from deniable.games import CongestionGame, DigitalGoods, Imposing, PrivateMatching, congestion
from deniable.learning import (
    PCA,
    BallsInBins,
    CategoricalNB,
    Clip,
    DecisionTreeClassifier,
    FixedSize,
    GaussianMixture,
    GaussianNB,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LinearSVM,
    LogisticRegression,
    NearestCentroid,
    Poisson,
    Ridge,
    RiskMinimiser,
    StandardScaler,
    Teachers,
    TrainingPlan,
    Vote,
)
from deniable.learning.erm.perturbation import Objective
from deniable.learning.estimators import bayes, kmeans
from deniable.learning.federated import Federated, Participant, SecureSum, Simulation, rounds
from deniable.learning.losses import HuberisedHinge, Logistic
from deniable.learning.plan import TrainingRun
from deniable.learning.samplers import Sampler
from deniable.learning.sets import L2Ball
from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks import ExponentialExtreme, ExponentialQuantile, Quartiles, RecursiveQuantiles
from deniable.mechanisms.ranks.base import RankMechanism
from deniable.mechanisms.vectors.clipping import clipped
from deniable.noise import bernoulli, rounded
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import (
    AddRemove,
    ConcentratedLoss,
    GaussianDPLoss,
    PrivacyLoss,
    PrivacyUnit,
    PureLoss,
    Relation,
    Replace,
    of_count,
)
from deniable.statistics.key_counts import KeyCounts
from deniable.variants import MarkovChain, MarkovQuilt
from tests.learning.erm.test_problem import problem
from tests.mechanisms.drawn import drawn_share, recorded
from tests.noise.enumerated import law
from tests.statistics.test_replay import ASKED, asked, with_row
from tests.statistics.test_wrong_types import CALLS

Rows = list[Any]
Run = Callable[[Any, Bits], PrivacyLoss]
Pairs = list[tuple[Any, Any]]


def neighbours(rows: Rows, more: Rows, relation: Relation) -> Pairs:
    """Rows with one more of these, or with one of them in place of another; among others, and alone."""
    if relation is AddRemove:
        return [(some, [*some, row]) for some in (rows, []) for row in more]
    return [([*some, one], [*some, other]) for some in (rows, []) for one, other in combinations(more, 2)]


def prove(run: Run, pairs: Pairs, relation: Relation, least: float, *, price: dict[str, Any] | None = None) -> None:
    """Hold what was drawn against what is stated, and that against what was asked for."""
    stated = run(pairs[0][0], DeterministicBits(1))
    for name, asked_for in (price or {}).items():
        found = stated.pure_epsilon if name == "epsilon" else stated.rho
        assert found is None or found <= Fraction(asked_for)
    share = drawn_share(run, pairs, relation=relation, stated=stated)
    assert least - 1e-5 <= share <= 1 + 1e-12, share


# --- estimators ------------------------------------------------------------------------------------------------------

BOX = [(0, 10), (-5, 5)]
CORNERS: Rows = [[10, 5], [0, -5], [10, -5], [5, 0]]
POINTS: Rows = [[5.1, 4.5], [1.4, -1.1], [9.5, 0.3], [3.1, -4.7], [8.3, 2.5], [0.3, 0.4]]
CLASSES = {"classes": ["a", "b", "c"]}
CATEGORIES = {"categories": [["x", "y", "z"], ["p", "q"]], **CLASSES}
START = {"method": "lloyd", "rounds": 3, "start": [[1, 1], [9, 1]]}
FEW_BINS = {"bounds": BOX, "bins": 4}
LETTERS, NUMBERS, NOTHING = list("abacba"), [1, 7, 3, 0, 9, 2], [None] * 6
WORDS: Rows = [["x", "p"], ["y", "q"], ["x", "q"], ["z", "p"], ["y", "p"], ["x", "p"]]
OTHERS: dict[str, Rows] = {"categories": WORDS, "tree": [[1, 1]] * 30}  # a crowd, from which one row stands apart
Kind = tuple[Any, dict[str, Any], Rows, Rows, Rows]
PURE: dict[str, tuple[Kind, tuple[float, float]]] = {  # the share spent under add/remove and replace, at least
    "scaler": ((StandardScaler, {"bounds": BOX}, NOTHING, CORNERS, [None]), (0.97, 0.51)),
    "pca": ((PCA, {"bounds": BOX, "n_components": 1}, NOTHING, CORNERS, [None]), (0.96, 0.51)),
    "mixture": ((GaussianMixture, {"bounds": BOX, "n_components": 2}, NOTHING, CORNERS, [None]), (0.71, 0.57)),
    "lloyd": ((KMeans, {"bounds": BOX, "n_clusters": 2, **START}, NOTHING, CORNERS, [None]), (1, 1)),
    "lloyd in a ball": ((KMeans, {"bounds": BOX, "n_clusters": 2, **START, "radius": 3}, NOTHING, CORNERS, [None]),
                        (1, 1)),
    "grid": ((KMeans, {"bounds": BOX, "n_clusters": 2}, NOTHING, CORNERS, [None]), (1, 1)),
    "naive Bayes": ((GaussianNB, {"bounds": BOX, **CLASSES}, LETTERS, CORNERS, ["a", "b"]), (0.97, 0.97)),
    "centroids": ((NearestCentroid, {"bounds": BOX, **CLASSES}, LETTERS, CORNERS, ["a", "b"]), (0.97, 0.97)),
    "categories": ((CategoricalNB, CATEGORIES, LETTERS, [["x", "p"], ["y", "q"]], ["a", "b"]), (1, 1)),
    "tree": ((DecisionTreeClassifier, {**FEW_BINS, "depth": 2, **CLASSES}, ["a"] * 30, CORNERS, ["a", "b"]),
             (0.9, 0.9)),
    "regression": ((LinearRegression, {"bounds": BOX, "target_bounds": (0, 10)}, NUMBERS, CORNERS, [0, 10]), (1, 1)),
    "ridge": ((Ridge, {"bounds": BOX, "target_bounds": (0, 10)}, NUMBERS, CORNERS[:2], [0, 10]), (0.83, 0.83)),
}  # fmt: skip
ROUNDS = {**FEW_BINS, "rounds": 2}
BOOSTED: dict[str, tuple[Kind, tuple[float, float]]] = {
    "boosted classes": ((GradientBoostingClassifier, {**ROUNDS, **CLASSES}, LETTERS, CORNERS, ["a", "b"]),
                        (0.41, 0.29)),
    "boosted numbers": ((GradientBoostingRegressor, {**ROUNDS, "target_bounds": (0, 10)}, NUMBERS, CORNERS, [0, 10]),
                        (1, 0.84)),
}  # fmt: skip
CONCENTRATED = {  # the same shares of rho
    "scaler": (1, 0.45), "pca": (1, 0.48), "mixture": (0.54, 0.22), "lloyd": (1, 0.75), "lloyd in a ball": (1, 0.75),
    "grid": (1, 0.8), "naive Bayes": (1, 0.5), "centroids": (1, 0.5), "categories": (1, 1), "regression": (1, 0.88),
}  # fmt: skip
FITS = [
    *((name, kind, {"epsilon": 1}, shares) for name, (kind, shares) in PURE.items()),
    *((name, PURE[name][0], {"rho": "1/2"}, shares) for name, shares in CONCENTRATED.items()),
    *((name, kind, {"rho": "1/2"}, shares) for name, (kind, shares) in BOOSTED.items()),
]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("name", "kind", "price", "shares"), FITS, ids=[f"{one[0]} {''.join(one[2])}" for one in FITS])
def test_fits_draw_what_proves_their_loss(
    name: str, kind: Kind, price: dict[str, Any], shares: tuple[float, float], relation: Relation
) -> None:
    model, public, targets, corners, ends = kind

    def run(rows: Rows, bits: Bits) -> PrivacyLoss:
        given = [[row for row, _ in rows], *([[target for _, target in rows]] if targets is not NOTHING else [])]
        return model(**public, **price, relation=relation).fit(*given, bits=bits).cost_

    rows = list(zip(OTHERS.get(name, POINTS), targets, strict=True))
    prove(
        run,
        neighbours(rows, list(product(corners, ends)), relation),
        relation,
        shares[relation is Replace],
        price=price,
    )


CLASSIFIERS = [(LogisticRegression, "ab", (0.45, 0.24)), (LogisticRegression, "abc", (0.86, 0.48)),
               (LinearSVM, "ab", (0.99, 0.54)), (LinearSVM, "abc", (0.99, 0.68))]  # fmt: skip


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("model", "classes", "shares"), CLASSIFIERS, ids=str)
def test_classifiers_draw_what_proves_their_loss(
    model: Any, classes: str, shares: tuple[float, float], relation: Relation
) -> None:
    outputs = 1 if len(classes) == 2 else len(classes)
    plan = TrainingPlan(
        noise_multiplier=2, steps=6, dimensions=4 * outputs, clip=Clip(norm=1, lattice=2**28), relation=relation
    )

    def run(rows: Rows, bits: Bits) -> PrivacyLoss:
        given = model(bounds=BOX, classes=list(classes), expected_rows=6, plan=plan)
        return given.fit([row for row, _ in rows], [label for _, label in rows], bits=bits).cost_  # type: ignore[no-any-return]

    pairs = neighbours(list(zip(POINTS, LETTERS, strict=True)), list(product(CORNERS, ["a", "b"])), relation)
    prove(run, pairs[:8], relation, shares[relation is Replace])


METHODS = [({"method": "exponential", "epsilon": 1, "candidates": 64}, 0.98),
           ({"method": "output", "epsilon": 1}, 0.36),
           ({"method": "gradient", "epsilon": 1, "delta": "1e-6", "steps": 5}, 0.25)]  # fmt: skip


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("method", "least"), METHODS, ids=str)
def test_minimisers_draw_what_proves_their_loss(method: dict[str, Any], least: float, relation: Relation) -> None:
    public: dict[str, Any] = {"loss": Logistic(), "feasible": L2Ball(radius=5, columns=2), "expected_rows": 10}

    def run(rows: Rows, bits: Bits) -> PrivacyLoss:
        model = RiskMinimiser(**public, **method, relation=relation)
        return model.fit([row for row, _ in rows], [label for _, label in rows], bits=bits).cost_

    more = [([1, 0], 1), ([1, 0], -1), ([0, 1], 1), ([0.6, 0.8], 1)]
    prove(run, neighbours([([0.6, 0.8], 1), ([0.6, -0.8], -1)] * 3, more, relation), relation, least)


HINGE = HuberisedHinge(width="1/2")  # rows of both labels pull in opposite directions, so that an exchange moves by two
TILTS = np.linspace(-12, 12, 49)  # in scales
OBJECTIVES = [(Price.of(1, 0, None), AddRemove, 0.97), (Price.of(1, 0, None), Replace, 0.97),
              (Price.of(1, "1e-3", None), AddRemove, 0.44), (Price.of(1, "1e-3", None), Replace, 0.54)]  # fmt: skip


def minimised(method: Objective, rows: Rows) -> tuple[Any, Any]:
    """What is released for a grid of tilts, but for the small noise on it, and the law that tilts were asked for."""
    asked, found = list[Any](), list[int]()
    known = method.problem.read(np.array([row for row, _ in rows]), np.array([label for _, label in rows]))
    for tilt in TILTS.tolist():

        def sample(kind: Any, *, scale: int, size: int, tilt: float = tilt, **_: Any) -> Any:
            asked.append(kind)
            return np.array([int(tilt * scale)] * size)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rounded, "sample", sample)
            [(_, exact, _)] = recorded(lambda: method.draw(*known, DeterministicBits(1)))
        found.append(int(exact[0]))
    return {rounded.StandardLaplace: laplace, rounded.StandardNormal: norm}[type(asked[0])], np.array(found)


@cache
def objective(price: Price, relation: Relation) -> Objective:
    public = {"loss": HINGE, "feasible": L2Ball(radius=1000, columns=1), "row_norm": Fraction(1), "start": np.zeros(1)}
    return Objective(problem(**public, price=price, relation=relation), 20.0)


@pytest.mark.parametrize(("price", "relation", "least"), OBJECTIVES, ids=str)
def test_objectives_draw_what_proves_their_loss(price: Price, relation: Relation, least: float) -> None:
    """Minimisers fall as the tilt grows: the chances of intervals between those of one table, under both."""
    method, pulled, pushed = objective(price, relation), ([1.0], 1.0), ([1.0], -1.0)
    rest = [pulled, pushed]
    tables = (rest, [*rest, pulled]) if relation is AddRemove else ([*rest, pushed], [*rest, pulled])
    (bell, here), (_, there) = (minimised(method, rows) for rows in tables)
    same = np.interp(here[::-1], there[::-1], TILTS[::-1], left=np.nan, right=np.nan)[::-1]
    one, other = (
        chances[~np.isnan(np.diff(same))] for chances in (np.diff(bell.cdf(tilts)) for tilts in (TILTS, same))
    )
    if price.delta:
        shares = [np.maximum(a - np.exp(epsilon) * b, 0).sum() / method.loss.delta(epsilon).upper
                  for epsilon in (0, 0.5, 1) for a, b in ((one, other), (other, one))]  # fmt: skip
    else:
        shares = list(abs(np.log(one / other)) / float(method.loss.pure_epsilon or 0))
    assert least <= max(shares) <= 1


@pytest.mark.parametrize(("price", "relation", "least"), OBJECTIVES, ids=str)
def test_half_of_the_tilt_is_found_out(
    price: Price, relation: Relation, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = objective(price, relation)
    monkeypatch.setattr(method, "_scale", method._scale / 2)
    with pytest.raises(AssertionError):
        test_objectives_draw_what_proves_their_loss(price, relation, 0)


def test_a_wrong_link_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins: a group that does not count, an l2 ball under noise for l1, and a loss of half of what was drawn."""

    def fails(name: str) -> None:
        with pytest.raises(AssertionError):
            test_fits_draw_what_proves_their_loss(name, PURE[name][0], {"epsilon": 1}, (0, 0), AddRemove)

    with monkeypatch.context() as patch:
        patch.setattr(bayes, "of_count", lambda groups, **rest: of_count(groups=groups - 1, **rest))
        fails("categories")
    with monkeypatch.context() as patch:
        patch.setattr(kmeans, "clipped", lambda *rows, l1, **rest: clipped(*rows, **rest))
        fails("lloyd in a ball")

    def dear(rows: Rows, bits: Bits) -> PrivacyLoss:
        dn.count(rows, epsilon=1, bits=bits)
        return PureLoss("1/2")

    with pytest.raises(AssertionError):
        prove(dear, [([], [1])], AddRemove, 0)


# --- teachers, rounds, games, variants -------------------------------------------------------------------------------

VOTES = [
    Vote.gnmax(sigma=8),
    Vote.lnmax(gamma="1/5"),
    Vote.confident_gnmax(sigma=8, check_sigma=8, threshold=0, max_answers=1),
]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("vote", VOTES, ids=["gnmax", "lnmax", "with a check"])
def test_votes_draw_what_proves_their_loss(vote: Vote, relation: Relation) -> None:
    """One row turns its teacher from one class to another on every query."""

    def rule(_: Any, labels: Any) -> Callable[[Rows], Rows]:
        return lambda rows: [labels[-1]] * len(rows)

    def run(labels: Rows, bits: Bits) -> PrivacyLoss:
        rows = [[0.1] for _ in labels]
        asked = Teachers(rows, labels, teacher=rule, count=3, classes=["a", "b"], relation=relation)
        return asked.label([[0.0], [1.0]], vote, bits=bits).cost

    prove(run, neighbours(["a"] * 20, ["a", "b"], relation), relation, 1)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("uses", [1, 2])
def test_rounds_draw_what_proves_their_loss(uses: int, relation: Relation) -> None:
    plan = TrainingPlan(noise_multiplier=2, steps=3 * uses, dimensions=2, clip=Clip(norm=1), relation=relation)
    federated = Federated(plan=plan)

    def run(updates: Rows, bits: Bits) -> PrivacyLoss:
        def work(to: Any) -> Callable[[Any], Any]:
            return lambda _: np.array(to, dtype=float)

        clients = {i: Participant(federated, i, work(each), bits=bits) for i, each in enumerate(updates)}
        found = federated.fit(Simulation(clients), clients=len(updates), expected_clients=3, bits=bits).cost
        assert found.mu_squared is not None
        return ConcentratedLoss(rho=found.mu_squared / 2)

    prove(run, neighbours([[0.1, 0]], [[3, 4], [-3, -4], [0, 0]], relation), relation, 0.99)


SHARES = [("gaussian", 0), ("gaussian", 1), ("skellam", 0)]


@pytest.mark.parametrize(("noise", "colluding"), SHARES)
def test_shares_draw_what_proves_their_loss(noise: str, colluding: int) -> None:
    """The sums of two rounds, under the noise of clients who answer and do not tell it to the server."""
    clip = Clip(norm=1, lattice=2**20 if noise == "gaussian" else 2**10)
    plan = TrainingPlan(noise_multiplier=2, steps=2, dimensions=2, clip=clip, relation=Replace)
    secure = SecureSum(survivors=3, colluding=colluding)
    federated = Federated(plan=plan, trust="distributed", secure=secure, noise=noise)
    variances, sums = list[Fraction](), list[Any]()

    def sample(*, size: Any, bits: Bits, **scale: Fraction) -> Any:
        variances.extend(scale.values())
        return np.zeros(size, dtype=np.int64)

    for first in ([3, 4], [-3, -4]):
        work = [lambda _, to=to: np.array(to, dtype=float) for to in (first, [0, 0], [1, 1])]
        clients = {i: Participant(federated, i, each, bits=DeterministicBits(i)) for i, each in enumerate(work)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rounds.gaussian, "sample", sample)
            patch.setattr(rounds.skellam, "sample", sample)
            patch.setattr(rounds._NoiseElsewhere, "_noised", lambda self, exact: sums.append(exact) or exact)
            federated.fit(Simulation(clients), clients=3, expected_clients=3, bits=DeterministicBits(9))
    assert (len(variances), len(sums)) == (2 * 2 * 3, 2 * 2)
    moved = sum(int(((one - other) ** 2).sum()) for one, other in zip(sums[:2], sums[2:], strict=True))
    spent = GaussianDPLoss(Fraction(np.sqrt(moved / float(min(variances) * (3 - colluding)))))
    share = spent.epsilon("1e-6").lower / federated.privacy_loss.epsilon("1e-6").upper
    assert (0.99 if noise == "gaussian" else 0.8) <= share <= 1


@pytest.mark.parametrize(("noise", "colluding"), SHARES)
def test_shares_for_too_many_clients_are_found_out(noise: str, colluding: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: each adds a half of its share, as if twice as many answered."""
    monkeypatch.setattr(Federated, "shares", property(lambda self: 2 * (self.secure.survivors - self.secure.colluding)))
    with pytest.raises(AssertionError):
        test_shares_draw_what_proves_their_loss(noise, colluding)


def test_games_draw_what_proves_their_loss() -> None:
    sale = DigitalGoods(prices=[2, 5, 9], epsilon=1, count_epsilon="1/2")
    facilities = Imposing.facilities(range(5), count=2, epsilon="1/2")
    game = CongestionGame(latencies=[[0] * 9, [5] * 9], influence=0, top=1000)

    def sell(bids: Rows, bits: Bits) -> PrivacyLoss:
        sale.release(bids, bits=bits)
        return sale.privacy_loss

    def choose(types: Rows, bits: Bits) -> PrivacyLoss:
        return facilities.release(types, bits=bits).cost

    def settle(own: Rows, bits: Bits) -> PrivacyLoss:
        return game.settle(own, rho=1, slack=0, passes=2, batches=2, bits=bits).cost

    def learn(own: Rows, bits: Bits) -> PrivacyLoss:
        return game.learn(own, rho=1, rounds=8, bits=bits).cost

    prove(sell, neighbours([2, 5, 9], [0, 9], Replace), Replace, 0.85)
    prove(choose, neighbours([1, 2], [0, 2, 4], Replace), Replace, 1)
    there = [[1000, 0], *[[0, 1000]] * 7]
    prove(settle, [([[0, 1000]] * 8, there), (there, [[0, 1000]] * 8)], Replace, 0.12)
    prove(learn, [([[0, 1000]] * 8, there)], Replace, 0.75)


def test_a_player_who_counts_for_a_half_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    half = of_count(rows=1, groups=1, relation=AddRemove)
    monkeypatch.setattr(congestion, "of_count", lambda **_: replace(half, relation=Replace))
    with pytest.raises(AssertionError):
        test_games_draw_what_proves_their_loss()


def test_answers_draw_what_proves_their_loss() -> None:
    """Every question of a holdout is moved by one row from 0 to 1."""

    def run(rows: Rows, bits: Bits) -> PrivacyLoss:
        sample = GaussianAnswers(rows=len(rows), questions=3, budget=db.Budget(rho=1), bits=bits)
        for _ in range(3):
            sample.ask(rows)
        return sample.privacy_loss

    prove(run, [([0, 1, 1], [1, 1, 1])], Replace, 1)


def test_series_draw_what_proves_their_loss() -> None:
    coin = MarkovChain(initial=["1/2", "1/2"], transition=[["1/2", "1/2"]] * 2)
    quilt = MarkovQuilt(length=4, epsilon=1, chains=[coin])

    def run(series: Rows, bits: Bits) -> PrivacyLoss:
        quilt.release(series, bits=bits)
        return PureLoss(1)

    prove(run, [([0, 1, 0, 1], [1, 1, 0, 1])], Replace, 1)


# --- samples, joint privacy ------------------------------------------------------------------------------------------

COARSE = Clip(norm=1, lattice=64)  # noise, whose law can be listed
SAMPLERS: list[tuple[Sampler, Relation, float]] = [  # and the part of delta that is spent at least
    (Poisson(rate="1/4"), AddRemove, 0.97),
    (Poisson(rate="1/4"), Replace, 0.4),
    (FixedSize(size=1, population=3), Replace, 0.4),
    (BallsInBins(bins=1), AddRemove, 0.97),
]


def sampled_delta(plan: TrainingPlan, here: Rows, there: Rows, epsilon: float) -> float:
    """The least delta of one step, from all samples that it can draw and the noise that it then adds to their sums."""

    def drawn(rows: Rows, bits: Bits) -> tuple[Fraction, int]:
        """The noise and the exact sum of a step."""

        def step() -> None:
            run = plan.run(len(rows), expected_rows=4, bits=bits)
            batch = next(run)
            run.mean_gradient(np.array(rows, dtype=float)[batch][:, np.newaxis])

        [(noise, exact, _)] = recorded(step)
        return noise.sigma_squared, int(exact[0])  # type: ignore[attr-defined]

    steps = np.arange(-2000, 2001)
    masses = []
    for rows in (here, there):
        found = np.zeros(steps.size)
        for (square, total), chance in law(lambda bits, rows=rows: drawn(rows, bits)).items():  # type: ignore[misc]
            bell = np.exp(-((steps - total) ** 2) / (2 * float(square)))
            found += float(chance) * bell / bell.sum()
        masses.append(found)
    one, other = masses
    return float(np.maximum(one - np.exp(epsilon) * other, 0).sum())


@pytest.mark.parametrize(("sampler", "relation", "least"), SAMPLERS, ids=str)
def test_sampled_steps_draw_what_proves_their_loss(sampler: Sampler, relation: Relation, least: float) -> None:
    given: dict[str, Any] = {"noise_multiplier": 2, "steps": 1, "dimensions": 1, "clip": COARSE}
    plan = TrainingPlan(sampler=sampler, relation=relation, **given)
    shares = []
    for epsilon in (0.05, 0.2):
        pairs = neighbours([0.0, 0.0], [9.0, -9.0], relation)[:2]
        spent = max(sampled_delta(plan, *pair[::way], epsilon) for pair in pairs for way in (1, -1)
                    if relation is AddRemove or len(pair[0]) == 3)  # fmt: skip
        shares.append(spent / plan.privacy_loss.delta(epsilon).upper)
    assert max(shares) <= 1 + 1e-9
    assert max(shares) >= least


def test_a_rate_that_is_misread_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins: rows join twice as often as is stated, and noise is half as wide."""
    with monkeypatch.context() as patch:
        patch.setattr(Poisson, "allot", lambda self, rows, bits, before=None: (
            bernoulli.sample(p=2 * self.rate, size=rows, bits=bits).astype(np.int64) - 1))  # fmt: skip
        with pytest.raises(AssertionError):
            test_sampled_steps_draw_what_proves_their_loss(*SAMPLERS[0])
    mechanism = TrainingPlan.mechanism
    halved = property(lambda plan: mechanism.__get__(replace(plan, noise_multiplier=plan.noise_multiplier / 2)))
    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "_noised", lambda self, exact: (
            halved.__get__(self.plan).noise.release(exact, bits=self._bits).value))  # fmt: skip
        with pytest.raises(AssertionError):
            test_sampled_steps_draw_what_proves_their_loss(*SAMPLERS[0])


def test_matchings_draw_what_proves_their_loss() -> None:
    """One player with other values bids on another good, or on none, in every pass."""
    made = PrivateMatching(players=8, goods=2, supply=10**4, top=9, step=1, epsilon=1, delta="1e-6", passes=2,
                           batches=2)  # fmt: skip

    def run(rows: Rows, bits: Bits) -> PrivacyLoss:
        made.release([list(column) for column in zip(*rows, strict=True)], bits=bits)
        return made.counters.privacy_loss

    rest: Rows = [[9, 0], [0, 9]] * 4
    prove(run, [(rest, [one, *rest[1:]]) for one in ([0, 9], [0, 0])], Replace, 0.1)


# --- statistics and questions ----------------------------------------------------------------------------------------

UNSEEN = {"key_counts"}  # choices among keys, which the next test but one sees
LOOSE = {"anova": 0.29, "mann_whitney": 0.34, "standard_deviation": 0.27, "variance": 0.27, "variance with rho": 0.07,
         "binomial_test": 0.5, "chi_squared_fit": 0.5, "chi_squared_independence": 0.5, "histogram": 0.5, "mode": 0.5,
         "top_k": 0.5, "subsampled_test": 0, "theil_sen": 0.05}  # fmt: skip


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("name", sorted(set(ASKED) - UNSEEN))
def test_statistics_draw_what_proves_their_loss(name: str, relation: Relation) -> None:
    data, *_ = asked(name, relation=relation)
    function, changed = ASKED[name]
    options = {"epsilon": 1, **CALLS[function][1], **changed, "relation": relation}

    def run(given: Rows, bits: Bits) -> PrivacyLoss:
        with pytest.MonkeyPatch.context() as patch:  # the random digits of equal rows, which are others on a neighbour
            patch.setattr(sys.modules["deniable.statistics.order.quantiles"], "add_digits", lambda *_, **__: 0)
            return getattr(dn, function)(*given, **options, bits=bits).cost  # type: ignore[no-any-return]

    def pairs() -> Iterator[tuple[Any, Any]]:
        for some in (data, [each[:0] for each in data]):
            more = [with_row(name, some, row) for row in ("extreme", "infinite", "zero", "missing")]
            yield from combinations(more, 2) if relation is Replace else ((some, one) for one in more)

    prove(run, list(pairs()), relation, LOOSE.get(name, 0.66), price={"epsilon": options["epsilon"] or 9})


def key_law(noise: Any, threshold: int, count: int) -> NDArray[np.float64]:
    """Probabilities that a key is hidden, and shown with each noisy count above the threshold."""
    shown = range(threshold + 1, threshold + 200)
    law = [noise.law().pmf(value - count).upper if count else 0.0 for value in shown]
    return np.array([1 - sum(law), *law])


@pytest.mark.parametrize(("groups", "delta"), [(1, "1e-3"), (2, "1/50"), (2, "1e-5")])
def test_chosen_keys_draw_what_proves_their_loss(groups: int, delta: str) -> None:
    """One unit more, with new keys, with known ones or with both: its joint law against the stated curve."""
    options: dict[str, Any] = {"epsilon": 1, "delta": delta, "groups": groups}
    threshold = KeyCounts(**options).mechanism.threshold
    known = [["a"] * 30 + ["b"] * 30, [*range(60)]]
    spent = []
    for keys in (["c"], ["a"], ["c", "d"], ["a", "c"])[: 2 * groups]:
        drawn = []
        for rows in (known, [[*known[0], *keys], [*known[1], *[99] * len(keys)]]):
            answers = list[Any]()
            ask = partial(dn.key_counts, rows[0], units=rows[1], bits=DeterministicBits(1), **options)
            ((noise, counts, noisy),) = recorded(lambda ask=ask, answers=answers: answers.append(ask()))  # type: ignore[misc]
            assert sorted(answers[0]["count"]) == sorted(noisy[noisy > threshold])
            drawn.append((noise, np.pad(counts, (0, 4 - counts.size))))
        (noise, here), (_, there) = drawn
        laws = [[key_law(noise, threshold, int(table[key])) for key in np.flatnonzero(here != there)]
                for table in (here, there)]  # fmt: skip
        joint = [np.multiply.outer(*law) if len(law) > 1 else law[0] for law in laws]
        for epsilon in (0.5, 1):
            for one, other in (joint, joint[::-1]):
                spent.append(np.maximum(one - np.exp(epsilon) * other, 0).sum() / answers[0].cost.delta(epsilon).upper)
    assert 0.7 <= max(spent) <= 1 + 1e-9


def test_a_threshold_that_is_too_low_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = vars(KeyCounts)["mechanism"].func
    lower = property(lambda self: replace(real(self), threshold=real(self).threshold - 2))
    monkeypatch.setattr(KeyCounts, "mechanism", lower)
    monkeypatch.setattr(KeyCounts, "privacy_loss", property(lambda self: real(self).privacy_loss(self.sensitivity)))
    with pytest.raises(AssertionError):
        test_chosen_keys_draw_what_proves_their_loss(1, "1e-3")


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("median", ExponentialQuantile),
        ("minimum", ExponentialExtreme),
        ("interquartile_range", Quartiles),
        ("quantiles", RecursiveQuantiles),
    ],
)
def test_ranks_that_count_for_a_half_are_found_out(
    name: str, kind: type[RankMechanism], relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twins: the rate is that of records which move a rank by half as much."""
    rank_sensitivity = kind.rank_sensitivity
    monkeypatch.setattr(kind, "rank_sensitivity", lambda self, relation: rank_sensitivity(self, relation) / 2)
    with pytest.raises(AssertionError):
        test_statistics_draw_what_proves_their_loss(name, relation)


@pytest.mark.parametrize("name", ["count", "sum", "histogram", "variance", "automatic bounds", "covariance"])
def test_units_draw_what_proves_their_loss(name: str) -> None:
    """Three rows of one unit more."""
    data, *_ = asked(name, rows=3)
    function, changed = ASKED[name]
    options = {"epsilon": 1, **CALLS[function][1], **changed, "rows": 3}

    def run(given: Rows, bits: Bits) -> PrivacyLoss:
        *columns, units = given
        return getattr(dn, function)(*columns, **options, units=units, bits=bits).cost  # type: ignore[no-any-return]

    def more(row: str) -> Rows:
        found = data
        for _ in range(3):
            found = with_row(name, found, row)
        return [*found, [*range(20), 99, 99, 99]]

    prove(run, [([*data, range(20)], more(row)) for row in ("extreme", "infinite", "zero")], AddRemove, 1)


COLUMNS = {"i": db.Number(lower=-10, upper=10), "x": db.Number(lower=0, upper=5), "s": db.Keys(["a", "b"])}
QUESTIONS = {
    "SELECT COUNT(*), SUM(i), AVG(x) FROM t": 1,
    "SELECT s, COUNT(*), SUM(x), COUNT(DISTINCT person) FROM t GROUP BY s": 0.5,
    "SELECT s, SUM(LEAST(GREATEST(total, -1), 7)) FROM (SELECT person, s, SUM(x) AS total FROM t GROUP BY person, s) "
    "GROUP BY s": 0.75,
    "SELECT s, COUNT(DISTINCT person) FROM t GROUP BY s": 1,
    "SELECT VAR_POP(x), CORR(x, i) FROM t WHERE i > -20": 1,
    "SELECT COUNT(*), SUM(u.x) FROM t JOIN (SELECT person, x FROM t) u USING (person)": 1,
}
LIMITS: list[dict[str, Any]] = [{"rows": 3, "groups": 1}, {"rows": 3, "groups": 2}, {"rows": 1, "ids": 2}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("text", QUESTIONS)
def test_questions_draw_what_proves_their_loss(text: str, limits: dict[str, Any]) -> None:
    bounds = dict(limits)
    ids, price = bounds.pop("ids", 1), {"rho": "1/2"} if limits["rows"] == 3 else {"epsilon": 1}

    def run(people: Rows, bits: Bits) -> PrivacyLoss:
        rows = [(person, *row) for person, some in enumerate(people) for row in some]
        names = zip(["person", "i", "x", "s"], zip(*rows, strict=True), strict=True)
        unit = PrivacyUnit(column="person", noun="person", ids=ids)
        public: dict[str, Any] = {"unit": unit, "columns": COLUMNS, "budget": db.Budget(rho=9)}
        asked = db.connect(pa.table(dict(names)), name="t", **public, **bounds)
        asked._bits = bits
        return asked.sql(text, **price).cost

    rest: Rows = [[(1, 2.0, "a")], [(-3, 4.0, "b")], [(0, 0.0, None)]]
    more: Rows = [[(10, 5.0, "a")] * 3, [(-10, 5.0, "b")] * 3, [(10, 5.0, "a"), (10, 5.0, "b"), (10, 5.0, "a")]]
    prove(run, [(rest, [*rest, *[one] * ids]) for one in more], AddRemove, QUESTIONS[text] / ids, price=price)
