"""Plans: what a stream costs, which strategy it takes, and what is refused before anything is paid."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, GaussianLoss, PrivacyUnit, Replace
from deniable.stream import StreamPlan

PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
PERSON = PrivacyUnit(column="person", noun="person")


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", [PRICE, {"rho": "1/10"}])
@pytest.mark.parametrize("strategy", ["buffered", "tree", "square root", "dense"])
def test_the_loss_is_the_price_and_the_noise_no_larger_than_needed(relation: Any, price: Any, strategy: str) -> None:
    """Half of the noise would cost about twice the mu; the loss found by real Gaussian noise of the same multiplier."""
    plan = StreamPlan(steps=40, relation=relation, strategy=strategy, windows=(7,), **price)
    made = plan.chosen()
    loss = made.privacy_loss
    assert loss.relations == {relation}
    moved = made.correlation.sensitivity(plan.uses) * (1 if relation is AddRemove else 2)
    real = GaussianLoss(Fraction(made.noise.standard_deviation()) / moved)
    if "rho" in price:
        assert Fraction(1, 10) * Fraction(999, 1000) < loss.rho <= Fraction(1, 10)
        assert float(real.rho) == pytest.approx(0.1, rel=1e-4)
    else:
        assert loss.proves(Fraction(1), Fraction(1, 10**9))
        assert real.epsilon("1e-9").upper == pytest.approx(1, rel=1e-4)


def test_several_participations_cost_more_noise() -> None:
    """Ten days of a person, a week apart, against one: more noise, and less than ten times as much."""
    once = StreamPlan(steps=365, unit=PERSON, **PRICE).chosen()
    often = StreamPlan(steps=365, unit=PERSON, steps_per_unit=10, separation=7, **PRICE).chosen()
    ratio = often.expected_error / once.expected_error
    assert 3 < ratio < 10
    more = StreamPlan(steps=365, unit=PERSON, rows=3, **PRICE).chosen()
    assert more.expected_error == pytest.approx(3 * once.expected_error, rel=0.01)


def test_explanations_name_every_strategy_and_its_errors() -> None:
    """A year of days with weekly sums: the dense optimum halves the variance of sums from the prefix release."""
    text = StreamPlan(steps=128, windows=(7,), **PRICE).explain()
    lines = text.splitlines()
    assert lines[0] == "128 steps of rows, epsilon=1, delta=1e-09 in all; protects one event in one step (add/remove)"
    assert [line.split(":")[0] for line in lines[1:]] == ["dense", "buffered", "tree"]
    weekly = [float(line.rpartition("+-")[2]) for line in lines[1:]]
    assert weekly[0] < 0.85 * weekly[1] < weekly[2]


def test_errors_scale_with_bounds() -> None:
    small, large = (StreamPlan(steps=16, bounds=(-1, top), **PRICE).chosen() for top in (2, 2000))
    assert large.standard_errors(16) == pytest.approx(1000 * small.standard_errors(16), rel=1e-6)
    assert np.all(np.diff(small.standard_errors(16)) > 0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": 1}, "Gaussian"),
        ({"steps": 0, **PRICE}, "steps"),
        ({"steps": 2**41, **PRICE}, "2\\^40"),
        ({"windows": (20,), **PRICE}, "window"),
        ({"windows": 7, **PRICE}, "list of numbers"),
        ({"keys": "abc", **PRICE}, "list of values"),
        ({"unit": "person", **PRICE}, "own rows"),
        ({"keys": ["a", "a"], **PRICE}, "distinct"),
        ({"keys": [], **PRICE}, "keys"),
        ({"bounds": (1, 1), **PRICE}, "bounds"),
        ({"bounds": (0, float("nan")), **PRICE}, "bounds"),
        ({"bounds": (0, 1e300), **PRICE}, "bounds"),
        ({"bounds": (0, 5e-324), **PRICE}, "bounds"),
        ({"bounds": 3, **PRICE}, "bounds"),
        ({"rows": 2, **PRICE}, "unit="),
        ({"strategy": "best", **PRICE}, "strategy"),
        ({"steps": None, "strategy": "tree", **PRICE}, "without a horizon"),
        ({"relation": "none", **PRICE}, "relation"),
        ({"windowz": (2,), **PRICE}, "Did you mean windows"),
    ],
)
def test_facts_that_are_wrong_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        StreamPlan(**{"steps": 10} | wrong).chosen()
