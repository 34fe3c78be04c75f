"""Four mechanisms behind one interface: near the minimum, paid first, blind to single rows."""

from pathlib import Path

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import RiskMinimiser, compare_minimisers
from deniable.learning.erm.minimiser import METHODS
from deniable.learning.losses import HuberisedHinge, Logistic, Squared
from deniable.learning.sets import L2Ball
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace
from tests.learning.erm.test_exact import people

PUBLIC = {"loss": Logistic(), "feasible": L2Ball(radius=4, columns=2), "expected_rows": 2000, "delta": "1e-6"}
CHEAP = {"steps": 20, "candidates": 100}


def fitted(method: str, seed: int = 1, rows: object = None, **changes: object) -> RiskMinimiser:
    model = RiskMinimiser(**(PUBLIC | CHEAP | {"epsilon": 2, "method": method} | changes))
    found, labels = people(count=2000)
    return model.fit(found if rows is None else rows, labels, bits=DeterministicBits(seed))


@pytest.mark.parametrize(
    ("method", "loss"),
    [(method, Logistic()) for method in METHODS]
    + [(method, Squared(label_bound=1)) for method in METHODS[:3]]
    + [(method, HuberisedHinge(width="1/2")) for method in METHODS[:3]],
)
def test_each_method_finds_the_direction_and_says_what_it_cost(method: str, loss: object) -> None:
    model = fitted(method, loss=loss)
    assert model.coef_ @ [1, -1] > 0.3
    assert abs(model.coef_ @ [1, 1]) < model.coef_ @ [1, -1]
    assert model.cost_.epsilon("1e-6").upper <= 2
    assert 0 < model.excess_risk_ <= 8 * loss.lipschitz(row_radius=1, feasible=PUBLIC["feasible"]) * (1 + 1e-9)
    assert "Cost: epsilon=" in model.note_
    assert not model.safe_


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_pays_first_and_is_refused_when_nothing_is_left(method: str, tmp_path: Path) -> None:
    ledger = Ledger.open(
        tmp_path / "l", budget=Budget(epsilon=2.5, delta="1e-5"), relation=AddRemove, unit=PrivacyUnit(), dataset="x"
    )
    model = RiskMinimiser(**PUBLIC, **CHEAP, epsilon=2, method=method)
    rows, labels = people(count=50)
    model.fit(rows, labels, ledger=ledger)
    with pytest.raises(BudgetExceededError):
        model.fit(rows, labels, ledger=ledger)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_any_kind_change_neither_type_nor_shape_nor_raise(method: str) -> None:
    for bad in (np.nan, np.inf, 1e308, 0.0):
        rows = np.vstack([people(count=1999)[0], [[bad, -bad]]])
        assert np.isfinite(fitted(method, rows=rows).coef_).all()
    empty = RiskMinimiser(**PUBLIC, **CHEAP, epsilon=2, method=method).fit(np.zeros((0, 2)), [])
    assert empty.coef_.shape == (2,)


def test_a_row_that_is_no_number_is_the_same_as_a_row_of_zeros() -> None:
    rows = people(count=1999)[0]
    found = [fitted("output", rows=np.vstack([rows, [bad]])).coef_ for bad in ([0.0, 0.0], [np.nan, 9.0])]
    assert np.array_equal(*found)


def test_a_public_start_costs_nothing_and_helps_where_noise_is_large() -> None:
    """The penalty pulls to the start: near the truth it is better than the origin, at the same privacy loss."""
    losses = {}
    rows, labels = people(count=2000)
    for name, start in (("origin", None), ("public", [2.0, -2.0])):
        models = [fitted("output", seed, epsilon="1/20", start=start) for seed in range(5)]
        losses[name] = np.mean([Logistic().mean(model.coef_, rows, labels) for model in models])
        assert models[0].cost_ == fitted("output", epsilon="1/20").cost_
    assert losses["public"] < losses["origin"]


def test_all_four_are_compared_with_the_floor() -> None:
    """None is below the least loss by more than rounding; three are nearer to it at epsilon = 2 than at 1/10."""
    plt = pytest.importorskip("matplotlib.pyplot")
    rows, labels = people(count=2000)
    public = PUBLIC | CHEAP | {"candidates": 900}
    found = compare_minimisers(rows, labels, epsilons=[2], runs=3, bits=DeterministicBits(5), **public)
    assert set(found.risks) == set(METHODS)
    assert all(found.floor - 1e-4 < values[0] < np.log(2) for values in found.risks.values())
    axes = found.plot()
    assert len(axes.get_lines()) == 5
    plt.close("all")
    more = compare_minimisers(
        rows, labels, epsilons=["1/10", 2], methods=METHODS[:3], runs=3, bits=DeterministicBits(5), **public
    )
    assert all(values[1] < values[0] for values in more.risks.values())


def test_wrong_input_is_refused_before_anything_is_paid() -> None:
    rows, labels = people(count=10)
    for wrong, message in (
        ({"method": "magic"}, "method must be one of exponential, output"),
        ({"epsilon": None}, "specify the price"),
        ({"loss": "logistic"}, "loss must be of class Loss"),
        ({"delta": 0, "method": "gradient"}, "needs delta > 0"),
        ({"expected_rows": 0}, "expected_rows must be >= 1"),
        ({"start": [9, 9]}, "start must lie in the feasible set"),
        ({"regularisation": -1, "method": "output"}, "regularisation must be > 0"),
        ({"relation": "both"}, "relation must be"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            RiskMinimiser(**(PUBLIC | {"epsilon": 1} | wrong)).fit(rows, labels)
    model = RiskMinimiser(**PUBLIC, epsilon=1)
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        model.fit(rows, labels[:-1])
    with pytest.raises(InvalidParameterError, match="X must have 2 columns"):
        model.fit(np.ones((10, 3)), labels)
    assert "relation=" in repr(RiskMinimiser(**PUBLIC, epsilon=1, relation=Replace))
