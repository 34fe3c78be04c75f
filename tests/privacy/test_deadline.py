"""Long computations look at the deadline of their caller."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, GaussianLoss, LaplaceLoss, Sensitivity, compose
from deniable.privacy.calibration.calibrate import gaussian_sigma_squared
from deniable.privacy.deadline import checkpoint, watched, with_checkpoints
from deniable.privacy.notions.conversion import delta_by_renyi


class Over(Exception):
    """The time is over."""


def over() -> None:
    raise Over


# numbers as in no other test, whose results could be kept
REACH = Sensitivity(l1=Fraction(17), l2_squared=Fraction(291, 2), linf=Fraction(11), relation=AddRemove)
LOSSES = [GaussianLoss(noise_multiplier="1.0713"), LaplaceLoss(noise_multiplier="3.0917")]
LONG: dict[str, Callable[[], object]] = {
    "calibration for mu": lambda: gaussian_sigma_squared(REACH, mu_squared="0.070313"),
    "calibration for delta": lambda: gaussian_sigma_squared(REACH, epsilon="0.70313", delta="1e-6"),
    "several noises": lambda: Price.of("0.3713", None, None).noises([REACH, REACH]),
    "Rényi divergences": lambda: delta_by_renyi(compose(LOSSES), Fraction(1, 3)),
    "composed laws": lambda: compose([*LOSSES, LaplaceLoss(noise_multiplier="5.0917")]).delta(epsilon="0.713"),
}


@pytest.mark.parametrize("name", LONG)
def test_every_search_ends_at_the_deadline(name: str) -> None:
    with watched(over), pytest.raises(Over):
        LONG[name]()
    assert LONG[name]() is not None  # nothing half-made is kept


def test_without_a_deadline_nothing_ends() -> None:
    checkpoint()
    assert list(with_checkpoints("ab")) == ["a", "b"]
