"""The bounds as printed and corrected, and Exercise 1 by enumeration of queries and sign patterns."""

import math
from fractions import Fraction
from itertools import product

import pytest
from scipy import stats

from deniable.attacks.reconstruction import (
    anti_concentration,
    bound_all_queries,
    bound_random_queries,
    worst_anti_concentration,
)
from deniable.attacks.reconstruction.theorems import _tail
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("differing", [1, 2, 5, 9])
def test_anti_concentration_is_that_of_all_queries(differing: int) -> None:
    for minus in range(differing + 1):
        signs = [-1] * minus + [1] * (differing - minus)
        sums = [sum(s for s, chosen in zip(signs, query, strict=True) if chosen)
                for query in product((0, 1), repeat=differing)]  # fmt: skip
        near = sum(abs(found) <= math.sqrt(differing) / 4 for found in sums)
        assert anti_concentration(differing, minus=minus) == Fraction(near, 2**differing)


def test_half_of_the_signs_is_the_worst_pattern() -> None:
    for differing in range(1, 200):
        every = [anti_concentration(differing, minus=minus) for minus in range(differing + 1)]
        assert max(every) == anti_concentration(differing)


def test_exercise_1_has_its_worst_case_at_sixteen() -> None:
    """By SciPy's binomial law up to 4,000 places, and by the bound of the proof, which must hold and fall, beyond."""
    places, worst = worst_anti_concentration()
    assert (places, worst) == (16, Fraction(17875, 32768))
    assert float(worst) == pytest.approx(0.5455, abs=5e-5)
    for differing in range(1, 4000):
        reach, middle = math.floor(math.sqrt(differing) / 4), differing // 2
        law = stats.binom(differing, 0.5) if differing % 37 == 0 else None
        value = float(anti_concentration(differing)) if differing < 300 or law is not None else 0.0
        if law is not None:
            assert value == pytest.approx(law.cdf(middle + reach) - law.cdf(middle - reach - 1), rel=1e-9)
        assert value <= min(float(worst), _tail(differing))
    assert _tail(30) < float(worst) < _tail(29)


def test_the_worst_case_leaves_the_failure_that_is_claimed() -> None:
    """E01: that one of 2^people candidates survives 20 queries a person has a chance of at most 2^-people."""
    worst = worst_anti_concentration()[1]
    assert worst < Fraction(9, 10)
    assert 2 * Fraction(9, 10) ** 20 <= Fraction(1, 2)
    assert "at least 1 - 2^-64" in bound_random_queries(people=64, queries=1280, error=0.1).theorem


@pytest.mark.parametrize(
    ("people", "error", "share"), [(100, 1, 0.96), (500, 5, 0.96), (10, 0, 1), (10, 0.2, 1), (10, 9, 0)]
)
def test_theorem_1_has_its_share(people: int, error: float, share: float) -> None:
    """Corollary 1: an error of n/100 leaves 96 of 100."""
    assert bound_all_queries(people=people, error=error).share == pytest.approx(share)


def test_theorem_2_speaks_below_a_sixteenth_of_the_root() -> None:
    below = bound_random_queries(people=1024, queries=20_480, error=1.99)
    at = bound_random_queries(people=1024, queries=20_480, error=2.01)
    assert below.share == pytest.approx(1 - (math.ceil(256 * 1.99**2) - 1) / 1024)
    assert at.share == 0
    assert "says nothing" in at.theorem
    assert "says nothing" not in below.theorem
    assert bound_random_queries(people=64, queries=1280, error=0).share == 1


def test_what_the_theorems_do_not_cover_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at least 20 for each person, 20480"):
        bound_random_queries(people=1024, queries=20_479, error=1)
    for error in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameterError, match="error must"):
            bound_all_queries(people=5, error=error)
    with pytest.raises(InvalidParameterError, match="minus"):
        anti_concentration(5, minus=6)
