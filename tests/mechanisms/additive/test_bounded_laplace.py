"""Answers in a public range: calibration, clamped inputs, error bars, the same time for all inputs."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import BoundedLaplace, Mechanism
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count
from deniable.privacy.constructors import BoundedLaplaceLoss

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("width", [1, 10, 10**6])
def test_the_scale_is_private_and_the_next_one_is_not(epsilon: str, width: int) -> None:
    found = BoundedLaplace.calibrated(COUNT, epsilon=epsilon, bounds=(-3, width - 3))
    assert found.privacy_loss(COUNT).pure_epsilon <= Fraction(epsilon)
    smaller = BoundedLaplaceLoss(found.scale * (1 - Fraction(1, 10**7)), width, COUNT)
    assert smaller.pure_epsilon > Fraction(epsilon)
    assert found.scale >= 1 / Fraction(epsilon)


def test_a_range_as_wide_as_the_sensitivity_needs_no_more_than_laplace() -> None:
    """Both ends have the same total weight; and the search ends at a power of ten."""
    found = BoundedLaplace.calibrated(of_count(rows=5, groups=1, relation=AddRemove), epsilon="1/2", bounds=(0, 5))
    assert 10 <= found.scale <= 10 + Fraction(1, 10**6)
    for epsilon in ("0.2231", "0.1054", "0.001"):
        assert BoundedLaplace.calibrated(COUNT, epsilon=epsilon, bounds=(0, 100)).scale > 1 / Fraction(epsilon)


def test_enumeration_agrees_with_the_calibrated_epsilon() -> None:
    """A second route: the 11 laws as a matrix, the worst of all neighbouring rows."""
    mechanism = BoundedLaplace.calibrated(COUNT, epsilon=1, bounds=(0, 10))
    y = np.arange(11)
    weights = np.exp(-np.abs(y[:, None] - y) / float(mechanism.scale))
    law = weights / weights.sum(axis=1, keepdims=True)
    worst = max(np.abs(np.log(law[x + 1] / law[x])).max() for x in range(10))
    assert worst == pytest.approx(1, abs=1e-7)
    assert worst <= 1


def test_inputs_outside_the_range_are_moved_and_answers_stay_inside() -> None:
    mechanism = BoundedLaplace(scale=2, bounds=(-4, 6))
    exact = np.array([[-(10**9), -4], [6, 2**100]], dtype=object)
    answers = np.stack([mechanism.release(exact, bits=DeterministicBits(seed)).value for seed in range(400)])
    assert answers.dtype == np.int64
    assert (answers.min(), answers.max()) == (-4, 6)
    low, end = answers[:, 0, 0], answers[:, 0, 1]
    assert abs(low.mean() - end.mean()) < 6 * np.hypot(low.std(), end.std()) / 20
    assert not mechanism.release(0, bits=DeterministicBits(1)).safe


@pytest.mark.parametrize("mechanism", [BoundedLaplace(scale=s, bounds=(0, w)) for s in (1, 5) for w in (1, 9, 40)])
@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.999])
def test_the_half_width_serves_every_secret_value(mechanism: BoundedLaplace, level: float) -> None:
    y = np.arange(mechanism.width + 1)
    weights = np.exp(-np.abs(y[:, None] - y) / float(mechanism.scale))
    law = weights / weights.sum(axis=1, keepdims=True)

    def least(t: int) -> float:
        return float(np.where(np.abs(y[:, None] - y) <= t, law, 0).sum(axis=1).min())

    t = mechanism.half_width(level)
    assert least(t) >= level - 1e-12
    assert t == 0 or least(t - 1) < level


def test_every_input_draws_the_same_number_of_words() -> None:
    """Rejection would take more words near an end of the range, and its time would tell."""

    class Counting(DeterministicBits):
        taken = 0

        def fill(self, out: np.ndarray) -> None:
            Counting.taken += out.size
            super().fill(out)

    mechanism, counts = BoundedLaplace(scale=3, bounds=(0, 100)), []
    for secret in (0, 50, 100):
        Counting.taken = 0
        mechanism.release(np.full(2000, secret), bits=Counting(7))
        counts.append(Counting.taken)
    assert max(counts) == min(counts)


@pytest.mark.parametrize(
    "given",
    [
        {"bounds": (5, 5)},
        {"bounds": (0.5, 5)},
        {"bounds": (0, 2**61)},
        {"bounds": (0, -1)},
        {"scale": 0},
        {"scale": Fraction(2**58)},
        {"bounds": (None, 5)},
        {"bounds": 5},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        BoundedLaplace(**{"scale": 1, "bounds": (0, 5), **given})


def test_floats_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="exact must hold integers"):
        BoundedLaplace(scale=1, bounds=(0, 5)).release([0.5])


def test_json_keeps_the_range() -> None:
    mechanism = BoundedLaplace(scale="7/3", bounds=(-5, 5))
    assert Mechanism.from_json(mechanism.to_json()) == mechanism
