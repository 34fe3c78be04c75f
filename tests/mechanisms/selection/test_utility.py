"""Bounds on the loss of score against the exact laws: of random scores, and of the scores that attain them."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, NoisyMax, PermuteAndFlip
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Selection
from tests.mechanisms.laws import chances

KINDS = [ExponentialMechanism, PermuteAndFlip, NoisyMax]


@pytest.mark.parametrize("kind", KINDS)
def test_no_scores_exceed_the_bounds(kind: type[Selection]) -> None:
    """E16: the gap is at most ln(d) / rate on average, without the usual "+ 1"; for random scores it stays below."""
    generator = np.random.default_rng(5)
    closest = 0.0
    for _ in range(80):
        size = int(generator.integers(2, 30))
        best = int(generator.integers(1, size))
        scores = -generator.integers(0, int(generator.choice([2, 5, 40])), size)
        scores[:best] = 0
        tops = int((scores == 0).sum())
        mechanism = kind(rate=Fraction(int(generator.integers(1, 30)), 10))
        p = chances(mechanism, scores)  # type: ignore[attr-defined]
        mean, bound = -(p * scores).sum(), mechanism.expected_gap(size, best=tops)  # type: ignore[attr-defined]
        assert mean <= bound + 1e-12
        closest = max(closest, mean / bound if bound else 0.0)
        for failure in (0.5, 0.1, 1e-3):
            gap = mechanism.gap_bound(size, failure=failure, best=tops)  # type: ignore[attr-defined]
            assert p[-scores > gap].sum() <= failure + 1e-12
    assert 0.2 < closest <= 1


def test_the_bound_of_the_exponential_mechanism_is_attained() -> None:
    """One best of d, the others just beyond the bound."""
    for size, best, failure in ((100, 1, 0.01), (50, 7, 0.2)):
        mechanism = ExponentialMechanism(rate=Fraction(1, 10**6))
        gap = mechanism.gap_bound(size, failure=failure, best=best)
        scores = np.full(size, -int(np.ceil(gap)))
        scores[:best] = 0
        assert chances(mechanism, scores)[best:].sum() == pytest.approx(failure, rel=1e-5)


@pytest.mark.parametrize(("candidates", "count"), [(2000, 372), (2000, 373), (5000, 5000), (10**300, 4), (10**300, 9)])
def test_bounds_of_sequences_are_just_above_the_truth(candidates: int, count: int) -> None:
    """By the product in mpmath, on both sides of where the number of sequences is no longer written down."""
    rate = Fraction(1, 3)
    with mp.workdps(60):
        every = mp.fprod(candidates - i for i in range(count))
        truth = 3 * mp.log(every)
        assert truth <= mp.mpf(utility.sequences_expectation(candidates, count, rate)) <= truth * (1 + 1e-15)
        for failure in (Fraction(1, 1000), Fraction(999, 1000)):
            truth = 3 * mp.log((every - 1) * (1 - failure.numerator / mp.mpf(1000)) / failure.numerator * 1000)
            found = utility.sequences_gap(candidates, count, rate, failure)
            assert truth * (1 - mp.mpf(10) ** -50) <= mp.mpf(found) <= truth * (1 + 1e-15)
    assert utility.sequences_gap(candidates, count, rate, 1 - Fraction(1, 10**30000)) == 0


def test_bounds_of_sequences_are_finite_for_absurdly_many_candidates() -> None:
    """Where logarithms of factorials would cancel beyond all precision, repetitions are counted too."""
    found = utility.sequences_expectation(10**3000, 10**5, Fraction(1))
    assert found == pytest.approx(10**5 * 3000 * np.log(10), rel=1e-12)


def test_a_threshold_is_rounded_up() -> None:
    """E15: of 4 (ln 100 + ln 100) = 36.84 the notes print 36.8, where the bound on the failure is 0.0101 > 0.01."""
    assert 100 * np.exp(-36.8 / 4) == pytest.approx(0.010104, abs=1e-6)
    mechanism = ExponentialMechanism(rate=Fraction(1, 4))  # epsilon = 0.5, sensitivity 1
    found = mechanism.gap_bound(100, failure="0.01")
    with mp.workdps(40):
        truth = 4 * (mp.log(99) + mp.log(99))
        assert truth <= mp.mpf(found) <= truth * (1 + mp.mpf(10) ** -15)
        assert found < float(4 * (mp.log(100) + mp.log(100)))
        for kind in (PermuteAndFlip, NoisyMax):
            bound = kind(rate=Fraction(1, 4)).gap_bound(100, failure="0.01")  # type: ignore[attr-defined]
            s = mp.mpf(bound) / 4
            chance = 99 * mp.exp(-s) / 2 if kind is PermuteAndFlip else 99 * (2 + s) / 4 * mp.exp(-s)
            assert chance <= mp.mpf("0.01") <= chance * (1 + mp.mpf(10) ** -10)


def test_permute_and_flip_has_the_least_bounds() -> None:
    for size in (2, 10, 10**6):
        bounds = [kind(rate=Fraction(1)) for kind in KINDS]
        means = [each.expected_gap(size) for each in bounds]  # type: ignore[attr-defined]
        gaps = [each.gap_bound(size, failure="0.001") for each in bounds]  # type: ignore[attr-defined]
        assert means[1] == min(means)
        assert gaps[1] == min(gaps)
        assert means[0] == pytest.approx(np.log(size), rel=1e-14)
        assert means[1] == pytest.approx(float(mp.harmonic(size) - 1), rel=1e-12)


def test_where_all_are_best_nothing_is_lost() -> None:
    for kind in KINDS:
        mechanism = kind(rate=Fraction(1))
        assert mechanism.gap_bound(7, failure=0.1, best=7) == 0  # type: ignore[attr-defined]
        assert mechanism.expected_gap(7, best=7) == 0  # type: ignore[attr-defined]


def test_bounds_of_weighted_choices_use_the_lightest() -> None:
    mechanism = ExponentialMechanism(rate=Fraction(1), weights=(1, 3, 0, 4))
    assert mechanism.expected_gap(4) == pytest.approx(np.log(8))
    scores = np.array([0, -9, 5, -9])
    assert -(chances(mechanism, scores) * scores).sum() <= mechanism.expected_gap(4)
    assert mechanism.gap_bound(4, failure=0.5) == pytest.approx(np.log(7))


@pytest.mark.parametrize(
    ("candidates", "best", "failure", "words"),
    [
        (0, 1, 0.1, "candidates must be >= 1"),
        (3, 0, 0.1, "best must be >= 1"),
        (3, 4, 0.1, "best must be <= candidates"),
        (3, 1, 0, "failure must be > 0"),
        (3, 1, 1, "failure must be below 1"),
    ],
)
def test_wrong_questions_are_refused(candidates: int, best: int, failure: float, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        PermuteAndFlip(rate=Fraction(1)).gap_bound(candidates, failure=failure, best=best)


def test_the_laplace_bound_solves_its_equation() -> None:
    found = utility.laplace_gap(2, 1, Fraction(1), Fraction(1, 2))
    assert found == pytest.approx(0, abs=1e-11)  # the two noises are equally likely to be the larger
