from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ContinuousExponential
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ExponentialMechanismLoss, of_count
from tests.mechanisms.laws import law_of


def test_single_releases_follow_the_law() -> None:
    """A third and two thirds of an interval of 2^40 points; the rest of the way is uniform. False alarm 1e-6 each."""
    third = 2**40 // 3
    mechanism = ContinuousExponential(rate=Fraction(1, 2), bounds=(0, 2**40))
    bits, runs = DeterministicBits(1), 2000
    found = np.array([mechanism.release(([third], [3, 1]), bits=bits).value for _ in range(runs)])
    left = found[found < third]
    assert stats.binomtest(left.size, runs, np.e / (np.e + 2)).pvalue > 1e-6
    assert stats.kstest(left / third, "uniform").pvalue > 1e-6
    assert stats.kstest((found[found >= third] - third) / (2**40 - third), "uniform").pvalue > 1e-6


def test_breaks_outside_move_to_the_ends_and_empty_pieces_are_never_chosen() -> None:
    mechanism = ContinuousExponential(rate=Fraction(1), bounds=(-5, 5))
    breaks, scores = [-100, -2, -2, 3, 2**62], [10**6, 1, 10**6, 1, 1, 10**6]
    assert law_of(mechanism, (breaks, scores)) == pytest.approx(dict.fromkeys(range(-5, 5), 0.1))
    for seed in range(50):
        assert -5 <= mechanism.release((breaks, scores), bits=DeterministicBits(seed)).value < 5  # type: ignore[operator]


def test_without_breaks_it_is_uniform() -> None:
    mechanism = ContinuousExponential(rate=Fraction(1), bounds=(3, 7))
    found = mechanism.outcomes((0,), 40_000, bits=DeterministicBits(2))
    assert stats.chisquare(np.bincount(found, minlength=7)[3:]).pvalue > 1e-6


def test_long_intervals_and_large_numbers_do_not_overflow() -> None:
    mechanism = ContinuousExponential(rate=Fraction(1), bounds=(-(2**61), 2**61))
    breaks = np.array([2**63 + 5, 2**64 - 1], dtype=np.uint64)
    found = mechanism.release((breaks, [0, 5, 9]), bits=DeterministicBits(3))
    assert -(2**61) <= found.value < 2**61  # type: ignore[operator]
    assert not found.safe


def test_breaks_are_put_in_order() -> None:
    """Whether they were may depend on a row."""
    mechanism = ContinuousExponential(rate=Fraction(1), bounds=(0, 9))
    assert mechanism.pmf(([7, 2], [0, 5, 1])) == mechanism.pmf(([2, 7], [0, 5, 1]))


def test_a_choice_over_an_interval_costs_what_its_score_costs() -> None:
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    mechanism = ContinuousExponential.calibrated(reach, epsilon=1, bounds=(0, 9))
    assert mechanism.privacy_loss(reach) == ExponentialMechanismLoss(1).under(AddRemove)
    assert mechanism.gap_bound(1, failure=Fraction(1, 2)) == pytest.approx(2 * np.log(8))


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (0, 0, "lower < upper"),
        (5, 1, "lower < upper"),
        (-(2**62), 2**62, "bounds must be at most 2"),
        (0.0, 1, "the lower one of bounds must be"),
        (0, 2**63, "the upper one of bounds must be"),
        (False, 1, "the lower one of bounds must be"),
    ],
)
def test_wrong_intervals_are_refused(lower: int, upper: int, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        ContinuousExponential(rate=Fraction(1), bounds=(lower, upper))


@pytest.mark.parametrize(
    ("breaks", "scores", "words"),
    [
        ([1], [1], "breaks must"),
        ([], [1, 2], "breaks must"),
        ([1.5], [1, 2], "breaks must"),
        ([], [], "at least one candidate"),
        ([1], [1.0, 2.0], "scores must hold integers"),
    ],
)
def test_wrong_pieces_are_refused(breaks: list[int], scores: list[int], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        ContinuousExponential(rate=Fraction(1), bounds=(0, 9)).release((breaks, scores))


def test_the_gap_on_average_is_below_its_bound_and_can_be_near_it() -> None:
    """By the exact law: 3 of 2^40 points are the best, all others equally far behind."""
    closest = 0.0
    for far in (1, 5, 26, 40):
        mechanism = ContinuousExponential(rate=Fraction(1), bounds=(0, 2**40))
        rest = (2**40 - 3) * np.exp(-far)
        mean = far * rest / (3 + rest)
        bound = mechanism.expected_gap(3)
        assert mean <= bound == pytest.approx(np.log(2**40 / 3))
        closest = max(closest, mean / bound)
    assert closest > 0.6
    with pytest.raises(InvalidParameterError, match="best must be <= candidates"):
        mechanism.expected_gap(2**40 + 1)
