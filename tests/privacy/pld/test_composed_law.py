"""Laws of compositions: against enumeration, against the engine, and compositions that are sampled as a whole."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    compose,
    of_count,
)
from deniable.privacy.pld.accountant import RepeatedPair
from deniable.privacy.pld.composed_law import composed_law
from deniable.privacy.pld.law import LossLaw
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw

reach = of_count(rows=1, groups=1, relation=AddRemove)


def curve(law: LossLaw, epsilon: float) -> float:
    found = law.above(np.array([epsilon]))
    return float(found.p[0]) + law.infinite - math.exp(epsilon) * float(found.q[0])


def responses(limit: float, count: int, rate: float, epsilon: float) -> tuple[float, float]:
    """delta of `count` randomised responses on one Poisson sample, every sequence written out: both directions."""
    high, low = 1 / (1 + math.exp(-limit)), 1 / (1 + math.exp(limit))
    there = back = 0.0
    for outputs in itertools.product((0, 1), repeat=count):
        p = math.prod(high if bit else low for bit in outputs)
        q = math.prod(low if bit else high for bit in outputs)
        mixed = (1 - rate) * q + rate * p
        there += max(mixed - math.exp(epsilon) * q, 0.0)
        back += max(q - math.exp(epsilon) * mixed, 0.0)
    return there, back


@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("rate", ["0.1", "0.8"])
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5"])
def test_sampling_several_responses_matches_enumeration(count: int, rate: str, epsilon: str) -> None:
    found = (PureLoss("0.5") * count).poisson_sampled(rate=rate).delta(epsilon)
    truth = max(responses(0.5, count, float(rate), float(epsilon)))
    assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)
    assert found.width <= 1e-9


def test_sampling_once_for_all_is_not_sampling_each_time() -> None:
    """A twin that samples every run anew is below the truth."""
    together = (PureLoss("0.5") * 7).poisson_sampled(rate="0.1").delta("0.1")
    apart = (PureLoss("0.5").poisson_sampled(rate="0.1") * 7).delta("0.1")
    assert apart.upper < together.lower


compositions = [
    LaplaceLoss(1) * 2,
    LaplaceLoss(2) * 10,
    ApproximateLoss(1, "0.001") + PureLoss("0.5") * 20,
    GaussianLoss(3) * 5 + LaplaceLoss(2),
    GaussianLoss(1).poisson_sampled(rate="0.1") * 50,
    DiscreteLaplaceLoss(3, reach) * 7,
    DiscreteGaussianLoss(4, reach) * 9 + DiscreteLaplaceLoss(3, reach) * 7,
]


@pytest.mark.parametrize("loss", compositions, ids=str)
def test_written_laws_hold_the_curve_of_the_composition(loss: PrivacyLoss) -> None:
    pairs = loss.statement.joint_laws()
    for epsilon in (0.0, 0.5, 1.5):
        known = loss.delta(epsilon)
        above = max(curve(law, epsilon) for law in pairs.upper)
        below = max(curve(law, epsilon) for law in pairs.lower)
        assert above >= known.lower * (1 - 1e-9)
        assert below <= known.upper * (1 + 1e-9)
        assert above - below <= 0.01 * above + 1e-12


@pytest.mark.parametrize("upper", [True, False])
def test_a_written_law_is_a_pair_of_probabilities(upper: bool) -> None:
    parts = [RepeatedPair(LaplaceLaw(0.7), 5), RepeatedPair(NormalLaw(0.4), 3)]
    law = composed_law(parts, upper=upper)
    far = law.above(np.array([-100.0]))
    assert float(far.p[0]) + law.infinite == pytest.approx(1, rel=1e-9)
    assert float(far.q[0]) <= 1 + 1e-9
    for x in np.linspace(-3, 3, 25):
        assert curve(law, float(x)) >= 1 - math.exp(x) - 1e-9


@pytest.mark.parametrize("loss", compositions[1:4], ids=str)
def test_sampled_compositions_are_losses_like_others(loss: PrivacyLoss) -> None:
    sampled = loss.poisson_sampled(rate="0.1")
    assert PrivacyLoss.from_json(sampled.to_json()) == sampled
    assert sampled.delta("0.2").upper < loss.delta("0.2").lower
    assert (sampled * 3).delta("0.2").upper > sampled.delta("0.2").lower
    assert sampled.delta("0.2").width <= 0.01 * sampled.delta("0.2").upper
    assert sampled.randomly_allocated(of=2).delta("0.2").lower <= sampled.delta("0.2").upper


def test_gaussians_need_no_grid() -> None:
    both, one = (GaussianLoss(2) * 4).poisson_sampled(rate="0.1"), GaussianLoss(1).poisson_sampled(rate="0.1")
    assert both.delta(1).upper == pytest.approx(one.delta(1).upper, rel=1e-12)
    assert (both * 10).delta(1).contains((one * 10).delta(1, tolerance=1e-6).upper)


def test_a_part_known_by_a_bound_alone_is_refused() -> None:
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        (ConcentratedLoss("0.1") * 2).statement.joint_laws()
    assert compose([]).poisson_sampled(rate="0.5").delta(0).upper <= 1e-12


def test_different_lattices_are_joined_on_a_finer_one() -> None:
    parts = [RepeatedPair(LaplaceLaw(1.0), 1), RepeatedPair(LaplaceLaw(float(Fraction(1, 3))), 1)]
    upper, lower = (composed_law(parts, upper=side) for side in (True, False))
    known = (LaplaceLoss(1) + LaplaceLoss(3)).delta("0.3")
    assert curve(upper, 0.3) >= known.lower
    assert curve(lower, 0.3) <= known.upper
    assert curve(upper, 0.3) == pytest.approx(curve(lower, 0.3), rel=1e-3)


def test_losses_beyond_floats_leave_no_law_below_and_are_refused_or_bounded_otherwise() -> None:
    """A hundred counts with hardly any noise: as a whole they reveal whether the unit is in the sample."""
    counts = DiscreteGaussianLoss("0.05", of_count(rows=1, groups=100, relation=AddRemove))
    assert counts.poisson_sampled(rate="0.01").delta(1).upper == pytest.approx(0.01)
    with pytest.raises(UnprovedError, match="too large"):
        (LaplaceLoss("0.01") * 1000).poisson_sampled(rate="0.01").delta(1)
