"""Odometers against the analyst who stops at the worst moment, computed exactly on lattices of responses."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.budget.odometer import ConcentratedOdometer, Odometer, RenyiOdometer

STEP = Fraction(1, 10)  # epsilon of one response; two sizes are used, STEP and 2 STEP
ORDERS = ["3/2", 2, 3, 5, 9]


def concentrated() -> Odometer:
    return ConcentratedOdometer(sharpest_at="1/2", relation=AddRemove)


def renyi() -> Odometer:
    return RenyiOdometer(orders=ORDERS, relation=AddRemove)


def bounds(odometer: Odometer, steps: int, delta: str) -> list[float]:
    """The odometer's reading after 0, 1, ... responses."""
    found = [0.0]
    for _ in range(steps):
        odometer.add(PureLoss(STEP))
        found.append(odometer.epsilon(delta).upper)
    return found


def ever_above(limits: list[float]) -> float:
    """P(the loss of n responses exceeds limits[n] for some n), exactly."""
    e = math.exp(STEP)
    alive, caught = np.array([1.0]), 0.0  # by the number of likelier answers
    for n, limit in enumerate(limits[1:], start=1):
        alive = np.append(alive, 0.0) / (1 + e) + np.insert(alive, 0, 0.0) * e / (1 + e)
        above = (2 * np.arange(n + 1) - n) * float(STEP) > limit + 1e-9
        caught += alive[above].sum()
        alive[above] = 0.0
    return caught


@pytest.mark.parametrize("make", [concentrated, renyi])
@pytest.mark.parametrize("delta", ["3/10", "1/100"])
def test_a_reading_is_never_exceeded_at_any_time(make: Callable[[], Odometer], delta: str) -> None:
    found = ever_above(bounds(make(), 60, delta))
    assert found <= float(Fraction(delta))
    assert found >= float(Fraction(delta)) / 200  # the game reaches the bound


def test_a_bound_for_one_time_is_exceeded_at_some_time() -> None:
    """The twin: rho + sqrt(4 rho ln(1/delta)) holds at each time alone, with slack, and not at all times at once."""
    rhos = [n * float(STEP) ** 2 / 2 for n in range(6001)]
    limits = [rho + math.sqrt(4 * rho * math.log(1 / 0.5)) for rho in rhos]
    assert ever_above(limits) > 0.5


@pytest.mark.parametrize("make", [concentrated, renyi])
def test_an_analyst_who_chooses_sizes_gains_nothing(make: Callable[[], Odometer]) -> None:
    """Steps of one or two sizes, chosen after every answer: the best strategy by backward recursion."""
    delta, longest = "1/5", 32
    readings: dict[tuple[int, int], float] = {}
    for small in range(longest + 1):
        odometer = make()
        odometer.add(PureLoss(STEP) * small)
        for large in range((longest - small) // 4 + 1):
            readings[small, large] = odometer.epsilon(delta).upper
            odometer.add(PureLoss(2 * STEP))

    @cache
    def best(small: int, large: int, loss: int) -> float:
        if loss * float(STEP) > readings[small, large] + 1e-9:
            return 1.0
        values = [0.0]
        for size in (1, 2):
            then = (small + (size == 1), large + (size == 2))
            if then in readings:
                p = 1 / (1 + math.exp(-size * STEP))
                values.append(p * best(*then, loss + size) + (1 - p) * best(*then, loss - size))
        return max(values)

    assert 0.0 < best(0, 0, 0) <= float(Fraction(delta))


def test_plain_sums_hold_surely() -> None:
    few = concentrated()
    few.add(PureLoss("1/2"))
    assert few.epsilon(0).upper == few.epsilon("1e-9").upper == 0.5
    few.add(GaussianLoss(10))
    assert few.epsilon(0).upper == math.inf


def test_a_reading_solves_the_equation_of_its_martingale() -> None:
    """50 digits: the mean of the martingale over orders is 1 / delta at the reading, or a hair above."""
    odometer = RenyiOdometer(orders=ORDERS, relation=Replace)
    odometer.add(GaussianLoss(2) * 3)
    x = mpmath.mpf(odometer.epsilon("1e-6").upper)
    with mpmath.workdps(50):
        rates = [mpmath.mpf(Fraction(order).numerator) / Fraction(order).denominator - 1 for order in ORDERS]
        value = sum(mpmath.exp(r * (x - (1 + r) * 3 / 8)) for r in rates) / len(rates) * mpmath.mpf(10) ** -6
        assert 1 <= value < 1 + mpmath.mpf(10) ** -9
    mixed = ConcentratedOdometer(sharpest_at="3/8", relation=Replace)
    mixed.add(GaussianLoss(2) * 3)
    x = mpmath.mpf(mixed.epsilon("1e-6").upper)
    twice = 2 * math.log(1e6)
    g = mpmath.mpf(0.75 / (twice + math.log1p(twice)))
    density = lambda r: mpmath.exp(r * x - r * (1 + r) * 0.375 - g * r**2 / 2) * 2 * mpmath.sqrt(g / (2 * mpmath.pi))  # noqa: E731
    assert mpmath.quad(density, [0, 5, 20, 60]) * 1e-6 == pytest.approx(1, rel=1e-9)


def test_readings_cost_little_more_than_a_fixed_time() -> None:
    """Gaussian noise with mu = 1 in all, delta 1e-6: 5.76 by the same conversion at a fixed time."""
    odometer = ConcentratedOdometer(sharpest_at="1/2", relation=AddRemove)
    odometer.add(GaussianLoss(10) * 100)
    assert 5.75 < odometer.epsilon("1e-6").upper < 6.05
    # docs/theory/privacy/budget.md: 4.89
    assert odometer.fixed_in_advance("1e-6").upper == pytest.approx(4.886, abs=2e-3)


@pytest.mark.parametrize("make", [concentrated, renyi])
def test_no_odometer_reads_less_than_what_was_fixed_in_advance(make: Callable[[], Odometer]) -> None:
    """40 responses, enumerated: a reading 1% below the lower end would leave more than delta to an analyst."""
    odometer, delta, runs = make(), 0.01, 40
    for _ in range(runs):
        odometer.add(PureLoss(STEP))
    found = odometer.fixed_in_advance("0.01")
    kept = 1 / (1 + math.exp(-STEP))

    def left(reading: float) -> float:
        likely = range(runs + 1)
        chances = [math.comb(runs, n) * kept**n * (1 - kept) ** (runs - n) for n in likely]
        losses = [(2 * n - runs) * float(STEP) for n in likely]
        return sum(p * max(-math.expm1(reading - loss), 0.0) for p, loss in zip(chances, losses, strict=True))

    assert left(found.upper) <= delta * (1 + 1e-9)
    assert left(found.lower * 0.99) > delta  # the twin
    assert found.lower <= odometer.epsilon("0.01").upper
    assert found.upper < odometer.epsilon("0.01").upper  # and the upper end is no reading: it is below all of them


def test_nothing_counted_was_fixed_at_no_cost() -> None:
    assert concentrated().fixed_in_advance("1e-6").upper == 0


def test_failures_take_their_part_of_delta() -> None:
    odometer = ConcentratedOdometer(sharpest_at="1/2", failure="1e-6", relation=AddRemove)
    clean = concentrated()
    for one in (odometer, clean):
        one.add(GaussianLoss(5))
    odometer.add(ApproximateLoss("0.1", "1e-6"))
    assert odometer.epsilon("1e-5").upper > clean.epsilon("9e-6").upper
    assert odometer.epsilon("1e-7").upper == math.inf
    with pytest.raises(BudgetExceededError, match="Nothing was counted"):
        odometer.add(ApproximateLoss("0.1", "1e-9"))
    with pytest.raises(UnprovedError, match="failure="):
        renyi().add(ApproximateLoss("0.1", "1e-9"))


def test_what_is_not_proved_is_not_counted() -> None:
    with pytest.raises(UnprovedError, match="not proved for replace"):
        ConcentratedOdometer(sharpest_at=1, relation=Replace).add(
            DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=AddRemove))
        )
    with pytest.raises(UnprovedError, match="no proved rho"):
        concentrated().add(GaussianLoss(1).poisson_sampled(rate="0.01"))
    with pytest.raises(InvalidParameterError, match="privacy loss"):
        concentrated().add(1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="relation"):
        RenyiOdometer(orders=[2], relation="replace")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="at least one order"):
        RenyiOdometer(orders=[], relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="delta must be"):
        concentrated().epsilon(1)


def test_a_failure_is_never_read_as_free() -> None:
    """Twenty runs with an epsilon of 0 up to a failure read 0 at 1e-6; the truth is 12.745."""
    one = FiniteLoss([1, 0], ["1/2", "1/2"], relation=AddRemove).poisson_sampled(rate="1/2")
    for loss in (one, (one * 2).poisson_sampled(rate="1/2")):
        odometer = RenyiOdometer(orders=[2, 8, 32], relation=AddRemove)
        for _ in range(20):
            odometer.add(loss)
        assert odometer.epsilon("1e-6").upper >= odometer.fixed_in_advance("1e-6").lower > 8
    assert (one * 20).epsilon("1e-6").contains(12.745) or (one * 20).epsilon("1e-6").lower > 12.74
    assert one.failure == 0
    failing = ApproximateLoss(1, "1/10")
    assert (failing.pure_epsilon, failing.failing_epsilon) == (None, 1)
    assert (failing.rho, failing.failing_rho) == (None, Fraction(1, 2))


def test_failures_are_a_part_of_the_delta_of_a_reading() -> None:
    """What failures leave of delta is what an odometer without any reads at."""
    failing, plain = (ConcentratedOdometer(sharpest_at=1, failure=f, relation=AddRemove) for f in ("1e-6", 0))
    for odometer in (failing, plain):
        odometer.add(GaussianLoss(1))
    for delta in (Fraction("1.01e-6"), Fraction("1e-3")):
        rest = (delta - Fraction("1e-6")) / (1 - Fraction("1e-6"))
        assert failing.epsilon(delta).upper == pytest.approx(plain.epsilon(rest).upper)
        assert failing.epsilon(delta).upper > plain.epsilon(delta).upper
