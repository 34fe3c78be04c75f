"""The best of a truncated negative binomial number of runs."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.mechanisms.wrappers import BestOf
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, BestOfLoss, of_count
from tests.mechanisms.wrappers.laws import negative_binomial

BASE = Laplace(scale=Fraction(2))


@pytest.mark.parametrize("shape", [Fraction(1), Fraction(0), Fraction(-1, 2), Fraction(1, 3)])
def test_numbers_of_runs_follow_their_law(shape: Fraction) -> None:
    """40,000 numbers, each count within six standard deviations; the mean is that of the loss.

    The twin: the geometric law is rejected for the other shapes.
    """
    mechanism = BestOf(base=BASE, stop=Fraction(1, 5), shape=shape)
    found = mechanism._runs(40_000, DeterministicBits(2))
    counts = np.bincount(found, minlength=120)[:120]

    def fits(law: BestOf) -> bool:
        if law.shape == 0:
            k = np.arange(1, 120)
            chances = np.concatenate(([0.0], 0.8**k / k / np.log(5)))
        else:
            chances = negative_binomial(law, 120)
        return bool((np.abs(counts - 40_000 * chances) <= 6 * np.sqrt(40_000 * chances) + 2).all())

    assert fits(mechanism)
    assert fits(BestOf(base=BASE, stop=Fraction(1, 5))) == (shape == 1)
    mean = BestOfLoss(
        BASE.privacy_loss(of_count(rows=1, groups=1, relation=AddRemove)), "1/5", shape
    ).statement.mean_runs
    assert found.mean() == pytest.approx(mean.upper, rel=0.05)


def test_the_loss_is_below_three_times_that_of_a_run() -> None:
    """Liu and Talwar (2019)."""
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    found = BestOf(base=BASE, stop=Fraction(1, 100)).privacy_loss(reach)
    assert Fraction(1, 2) < (found.pure_epsilon or 0) < Fraction(3, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stop": 1}, "stop"),
        ({"stop": "1e-9"}, "stop"),
        ({"stop": 0}, "stop"),
        ({"shape": -1}, "shape"),
        ({"shape": 2}, "shape"),
    ],
)
def test_parameters_are_checked(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        BestOf(**({"base": BASE, "stop": "1/2"} | values))  # type: ignore[arg-type]
