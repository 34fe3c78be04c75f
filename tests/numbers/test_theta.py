"""Sums of exp(-k^2/(2 s)) against mpmath, and the two ways to sum a tail against each other."""

from fractions import Fraction

import mpmath
import pytest
from flint import ctx

from deniable.numbers.interval import REAL, Interval
from deniable.numbers.theta import _tail_by_euler_maclaurin, _tail_by_terms, total, upper_tail


def reference_tail(sigma_squared: Fraction, start: int) -> mpmath.mpf:
    with mpmath.workdps(60):
        s = mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        last = start + 40 * int(mpmath.sqrt(s) + 1)
        return mpmath.fsum(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s)) for k in range(start, last))


def bracket(interval: Interval, truth: mpmath.mpf) -> bool:
    with mpmath.workdps(60):
        return bool(mpmath.mpf(interval.lower) <= truth <= mpmath.mpf(interval.upper))


@pytest.mark.parametrize("text", ["1/100", "1/6", "1/7", "1/2", "1", "30", "1000"])
def test_total_is_the_sum(text: str) -> None:
    s = Fraction(text)
    with mpmath.workdps(60):
        truth = 1 + 2 * reference_tail(s, 1)
    assert bracket(Interval.of_ball(total(s)), truth)


def test_total_at_one_is_the_golden_value() -> None:
    """golden.md G53: pmf at 0 of the discrete Gaussian with sigma^2 = 1."""
    assert 1 / float(total(Fraction(1)).mid()) == pytest.approx(0.39894227826686170558, rel=1e-12)


@pytest.mark.parametrize(("text", "start"), [("1/100", 1), ("1", 1), ("30", 17), ("2500", 3), ("2500", 700)])
def test_tails_are_the_sum(text: str, start: int) -> None:
    s = Fraction(text)
    with ctx.workprec(128):
        value = upper_tail(s, start)
    assert value.rel_accuracy_bits() > 100
    assert bracket(Interval.of_ball(value), reference_tail(s, start))


@pytest.mark.parametrize("sigma", [20, 60, 300, 2000])
@pytest.mark.parametrize("share", [0, 1, 5, 12])
def test_both_ways_to_sum_a_tail_agree(sigma: int, share: int) -> None:
    s, start = Fraction(sigma**2), max(1, share * sigma)
    with ctx.workprec(192):
        slow = _tail_by_terms(s, start, 18 * sigma)
        fast = _tail_by_euler_maclaurin(s, start)
    assert slow.overlaps(fast)
    assert slow.rel_accuracy_bits() > 100
    assert fast.rel_accuracy_bits() > 100


def test_a_sum_that_is_broken_off_holds_what_is_left() -> None:
    """Few terms, and corrections that end before they are small: the balls are wide, and the truth is in them."""
    cases = [(_tail_by_terms(Fraction(s), start, terms), s, start)
             for s in (1, 9) for start in (1, 4) for terms in (1, 2, 3)]  # fmt: skip
    cases += [(_tail_by_euler_maclaurin(Fraction(s), start), s, start) for s in (1, 2, 4) for start in (1, 2, 5)]
    for value, s, start in cases:
        assert bracket(Interval.of_ball(value, within=REAL), reference_tail(Fraction(s), start)), (s, start)


def test_a_wrong_correction_would_be_noticed() -> None:
    """The twin: the ball of the integral alone, without corrections, misses the sum."""
    from flint import arb

    with ctx.workprec(192):
        integral = (arb.pi() * 3600 / 2).sqrt() * (arb(60) / arb(7200).sqrt()).erfc()
        assert not integral.overlaps(_tail_by_terms(Fraction(3600), 60, 1100))


def test_wide_noise_costs_no_more() -> None:
    """sigma = 10^12: the tail at one standard deviation is the normal integral, up to 1 / sigma."""
    sigma = 10**12
    with ctx.workprec(192):
        share = upper_tail(Fraction(sigma**2), sigma) / total(Fraction(sigma**2))
    assert share.rel_accuracy_bits() > 150
    assert float(share.mid()) == pytest.approx(0.15865525393145705, rel=1e-11)  # 1 - Phi(1)
