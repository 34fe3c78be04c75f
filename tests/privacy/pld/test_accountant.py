"""Certified answers against closed forms, published values and each other, for few and for a million steps."""

import math
import re
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    compose,
)
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.pld.accountant import (
    RepeatedPair,
    checked_tolerance,
    composed_delta,
    composed_epsilon,
    composed_limit,
    within_reach,
)
from deniable.privacy.pld.laws import BoundedRangeLaw, LaplaceLaw, NormalLaw, randomized_response_law


def gaussian_steps(mu: float, count: int) -> list[list[RepeatedPair]]:
    """Steps that together are mu-GDP, handed to the engine one by one instead of being merged."""
    return [[RepeatedPair(NormalLaw(mu / math.sqrt(count)), count)]]


@pytest.mark.parametrize("epsilon", [0, 1, 4, 8, 11])
@pytest.mark.parametrize("count", [1, 100, 10**4])
def test_gaussian_steps_hold_the_closed_form(epsilon: int, count: int) -> None:
    """delta from 0.38 down to 4e-27."""
    found = composed_delta(gaussian_steps(1.0, count), Fraction(epsilon), 1e-3)
    truth = gaussian_delta(Fraction(1), Fraction(epsilon))
    slack = 1e-12 * count  # mu / sqrt(count) was rounded, here and not in the law
    assert found.lower <= truth.upper * (1 + slack)
    assert found.upper >= truth.lower * (1 - slack)
    assert found.width <= 1e-3 * found.upper


@given(st.floats(0.1, 3.0), st.integers(1, 10**5), st.floats(0.1, 14.0))
@settings(max_examples=25)
def test_random_gaussian_steps_hold_the_closed_form(mu: float, count: int, spreads: float) -> None:
    epsilon = Fraction(max(mu * mu / 2 + (spreads - 4) * mu, 0.0))
    step = NormalLaw(mu / math.sqrt(count))
    squared = Fraction(step.mu) ** 2 * count  # of the law as it is
    found = composed_delta([[RepeatedPair(step, count)]], epsilon, 1e-3)
    truth = gaussian_delta(squared, epsilon)
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower


@pytest.mark.parametrize("delta", [Fraction(1, 10**5), Fraction(1, 10**12), Fraction(1, 10**30)])
def test_a_hundred_thousand_small_steps_keep_tiny_deltas(delta: Fraction) -> None:
    """Where a plain transform of the untilted law goes below the truth from 1e-11 on."""
    step = NormalLaw(1.0 / math.sqrt(10**5))
    truth = (GaussianLoss(1 / Fraction(step.mu)) * 10**5).epsilon(delta)
    found = composed_epsilon([[RepeatedPair(step, 10**5)]], delta, 1e-3)
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower
    assert found.width <= 1e-3 * found.upper


def test_a_smaller_tolerance_gives_a_narrower_interval_inside() -> None:
    steps = gaussian_steps(1.0, 100)
    wide = composed_epsilon(steps, Fraction(1, 10**6), 1e-2)
    narrow = composed_epsilon(steps, Fraction(1, 10**6), 1e-6)
    assert narrow.width <= 1e-6 * narrow.upper
    assert wide.lower <= narrow.upper
    assert wide.upper >= narrow.lower
    assert wide.contains(math.sqrt(narrow.lower * narrow.upper))


def test_laplace_steps_match_published_values() -> None:
    """100 and 1000 Laplace steps of 0.1 at 1e-5, as two accountants agree on them to 5 digits."""
    for count in (10, 100, 1000):
        found = (LaplaceLoss(10) * count).epsilon("1e-5")
        pure = (PureLoss("0.1") * count).epsilon("1e-5")
        assert found.upper <= pure.upper  # any 0.1-DP mechanism
        assert found.width <= 1e-3 * max(1, found.upper)
    assert (PureLoss("0.1") * 100).epsilon("1e-6").upper == pytest.approx(4.7745675881, rel=1e-11)


def test_two_laplaces_match_quadrature() -> None:
    """delta(0.5) of two Laplace answers of 0.4: one convolution integral of the closed curve of one answer."""
    e, at = mpmath.mpf("0.4"), mpmath.mpf("0.5")
    with mpmath.workdps(25):
        one = lambda x: -mpmath.expm1((x - e) / 2) if x >= -e else -mpmath.expm1(x)  # noqa: E731
        one_at = lambda x: one(x) if x < e else mpmath.mpf(0)  # noqa: E731
        density = lambda x: mpmath.exp((x - e) / 2) / 4  # noqa: E731
        inner = mpmath.quad(lambda x: density(x) * one_at(at - x), [-e, at - e, e])
        truth = one_at(at - e) / 2 + mpmath.exp(-e) / 2 * one_at(at + e) + inner
    found = composed_delta([[RepeatedPair(LaplaceLaw(0.4), 2)]], Fraction(1, 2), 1e-5)
    assert found.lower <= truth <= found.upper


def test_mixed_losses_hold_the_exact_product() -> None:
    """A Gaussian and two responses: delta is the Gaussian curve averaged over their four outcomes."""
    found = (GaussianLoss(1) + PureLoss("0.5") + ApproximateLoss("0.3", "0.01")).delta(1)
    truth = mpmath.mpf(0)
    with mpmath.workdps(30):
        for first in (0.5, -0.5):
            for second in (0.3, -0.3):
                weight = 1 / (1 + mpmath.exp(-first)) / (1 + mpmath.exp(-second))
                rest = 1 - mpmath.mpf(first) - mpmath.mpf(second)
                curve = mpmath.ncdf(0.5 - rest) - mpmath.exp(rest) * mpmath.ncdf(-0.5 - rest)
                truth += weight * curve
        truth = 1 - mpmath.mpf("0.99") * (1 - truth)
    assert found.lower <= truth <= found.upper
    assert found.width <= 1e-3 * found.upper


def test_fifty_different_losses_get_one_narrow_interval() -> None:
    losses = [GaussianLoss(5 + k) for k in range(20)]
    losses += [LaplaceLoss(10 + k) for k in range(15)]
    losses += [GaussianLoss("1.5").poisson_sampled(rate=Fraction(1 + k, 100)) for k in range(15)]
    found = compose(losses).epsilon("1e-5")
    assert found.width <= 1e-3 * max(1, found.upper)


def test_an_infinite_loss_has_no_epsilon_below_its_probability() -> None:
    law = randomized_response_law(0.3, failed=0.01)
    parts = [[RepeatedPair(law, 2), RepeatedPair(LaplaceLaw(0.5), 1)]]
    assert composed_epsilon(parts, Fraction(1, 100), 1e-3).lower == math.inf
    assert composed_epsilon(parts, Fraction(1, 40), 1e-3).upper < 1.1
    assert composed_delta(parts, Fraction(2), 1e-3).contains(1 - 0.99**2)
    assert composed_limit(parts).upper == math.inf
    assert composed_limit(parts, finite=True).contains(1.1)


def test_the_worse_direction_counts() -> None:
    """Two laws that are not mirror images: the answer is that of the larger one."""
    small, large = RepeatedPair(BoundedRangeLaw(0.2), 5), RepeatedPair(BoundedRangeLaw(0.3), 5)
    alone = composed_delta([[large]], Fraction(1, 2), 1e-3)
    for directions in ([[small], [large]], [[large], [small]]):
        both = composed_delta(directions, Fraction(1, 2), 1e-3)
        assert max(both.lower, alone.lower) <= min(both.upper, alone.upper)
        assert both.width <= 1e-3 * both.upper
    assert composed_delta([[small]], Fraction(1, 2), 1e-3).upper < 0.9 * alone.lower


def test_bounded_range_beats_pure_privacy() -> None:
    """The exponential mechanism with range 0.2 is 0.2-DP, and composes as a mechanism of half of it would at best."""
    ranged = composed_epsilon([[RepeatedPair(BoundedRangeLaw(0.2), 100)]], Fraction(1, 10**6), 1e-3)
    pure = (PureLoss("0.2") * 100).epsilon("1e-6")
    half = (PureLoss("0.1") * 100).epsilon("1e-6")
    assert half.lower * 0.98 < ranged.upper < 0.6 * pure.lower


def test_a_width_out_of_reach_says_what_was_reached() -> None:
    loss = GaussianLoss(1) + LaplaceLoss(10)
    known = loss.epsilon("1e-5")
    with pytest.raises(
        InvalidParameterError, match=r"tolerance=1e-12 cannot be reached: .* known to lie in \[4\.\d"
    ) as error:
        loss.epsilon("1e-5", tolerance=1e-12)
    reached = [float(number) for number in re.findall(r"\d\.\d+", str(error.value))]
    assert known.lower <= reached[0] <= reached[1] <= known.upper


def test_losses_too_large_for_floats_are_not_taken() -> None:
    assert within_reach(RepeatedPair(NormalLaw(1.0), 10**6))
    assert not within_reach(RepeatedPair(NormalLaw(50.0), 1))
    assert not within_reach(RepeatedPair(LaplaceLaw(1000.0), 1))


@pytest.mark.parametrize("tolerance", [0, -1, 2, float("nan"), True, "1e-3", None])
def test_a_tolerance_that_is_none_is_refused(tolerance: object) -> None:
    with pytest.raises(InvalidParameterError, match="tolerance must be a number"):
        checked_tolerance(tolerance)


def pair(p: list[object], q: list[object]) -> PrivacyLoss:
    return FiniteLoss(p, q, relation=AddRemove)


def test_losses_that_are_infinite_in_one_direction_are_not_infinite_in_the_other() -> None:
    """(0, 1) against (1/2, 1/2) fails one way only, so sampled it is ln(10/9)-DP."""
    sampled = pair([0, 1], ["1/2", "1/2"]).poisson_sampled(rate="1/10")
    assert sampled.epsilon("1/100").upper < math.log(10 / 9) + 1e-3
    assert (sampled * 2).epsilon("1/100").upper < 2 * math.log(10 / 9) + 1e-3
    both = pair([0, 1], ["1/2", "1/2"]) + pair(["1/2", "1/2"], [0, 1])
    assert both.epsilon("0.6").upper < 0.7
    assert both.delta("0.7").contains(0.5)


def test_rates_next_to_one_keep_their_greatest_loss() -> None:
    """The loss ln(1 - rate + rate x) loses its digits where rate (1 - x) is near 1; truth by exact rationals."""
    x = Fraction(1, 10**9)
    twice = pair([1 - x, x], ["1/2", "1/2"]).poisson_sampled(rate=1 - x) * 2
    assert twice.epsilon(0).contains(39.2493070978899)
    x = Fraction(1, 10**6)
    twice = pair([1 - x, x], ["1/2", "1/2"]).poisson_sampled(rate=1 - x) * 2
    directions = twice.statement._directions()
    assert directions is not None
    assert composed_delta(directions[0], Fraction(25.433797871923563), 1e-3).upper >= 6.4e-13


def test_almost_certain_failures_and_almost_nothing_left_stay_between() -> None:
    """1 - Q(L = -inf) is a difference; products of masses may underflow. Values by 60 digits."""
    rare = Fraction(1, 10**17) + Fraction(1, 10**20)
    loss = pair(["1/2", "1/2", 0], [Fraction(1, 10**17), Fraction(1, 10**20), 1 - rare]) + LaplaceLoss(1)
    directions = loss.statement._directions()
    assert directions is not None
    assert composed_delta(directions[0][:1], Fraction(43), 0.1).contains(0.4527216053)
    law = SampledLaw(NormalLaw(0.07838328864410006), Fraction(99999, 100000))
    assert composed_delta([[RepeatedPair(law, 1)]], Fraction(2.2337995453122925), 0.1).contains(5.11648789e-181)


def test_one_loss_of_vanishing_probability_and_parts_that_cannot_be_told_are_answered() -> None:
    x = Fraction(1, 10**12)
    assert (pair([x, 1 - x], [1, 0]) + LaplaceLoss(1)).delta(1).upper == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "epsilon"),
    [("0.5", "1e-6", 2, "0.02"), ("0.8", "1e-3", 2, "1.5"), ("0.5", "1e-4", 2, "0.02")],
)
def test_one_large_loss_among_many_small_ones_is_answered(sigma: str, rate: str, steps: int, epsilon: str) -> None:
    """Nearly all of delta comes from one step: it is at least that of one, and at most steps of them and a little."""
    step = GaussianLoss(sigma).poisson_sampled(rate=rate)
    found, one = (step * steps).delta(epsilon, tolerance=0.01), step.delta(epsilon)
    assert found.width <= 0.01 * found.upper
    assert steps * one.lower * 0.99 <= found.upper
    assert found.lower <= steps * step.delta(Fraction(epsilon) * Fraction(9, 10)).upper * 1.01


@pytest.mark.parametrize(("noise", "rate", "count"), [("4", "0.001", 1000), ("2", "0.01", 100)])
def test_the_width_of_a_small_epsilon_is_relative_to_it(noise: str, rate: str, count: int) -> None:
    run = GaussianLoss(noise).poisson_sampled(rate=rate) * count
    found, narrow = run.epsilon("1e-5"), run.epsilon("1e-5", tolerance=1e-5)
    assert found.upper < 0.2
    assert found.width <= 1e-3 * found.upper
    assert found.lower <= narrow.upper
    assert narrow.lower <= found.upper
    assert narrow.width <= 1e-5 * narrow.upper
