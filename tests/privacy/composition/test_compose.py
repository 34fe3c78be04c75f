"""Compositions hold the truth: closed forms, exact enumeration, and published values."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    compose,
    of_clipped_sum,
    of_count,
)
from deniable.privacy.constructors import TruncatedLaplaceLoss
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.sensitivity.vectors import of_ball_sum

tenths = st.fractions(min_value=Fraction(1, 10), max_value=2, max_denominator=20)


def exact_delta(parts: list[tuple[float, float]], epsilon: float) -> float:
    """Exact composition of (epsilon, delta)-DP worst cases: enumeration of all signs and failures."""
    survive = math.prod(1 - d for _, d in parts)
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(parts)):
        p = math.prod(math.exp(e * (s > 0)) / (1 + math.exp(e)) for s, (e, _) in zip(signs, parts, strict=True))
        q = math.prod(math.exp(e * (s < 0)) / (1 + math.exp(e)) for s, (e, _) in zip(signs, parts, strict=True))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return 1 - survive * (1 - total)


@pytest.mark.parametrize("name", ["failure", "failing_epsilon", "failing_rho", "failing_mu_squared", "mu_squared"])
def test_sums_count_every_run_of_every_part(name: str) -> None:
    parts = [PureLoss("1/2"), ApproximateLoss("1/3", "1e-3"), GaussianLoss(2), ConcentratedLoss("1/7"), LaplaceLoss(3)]
    for one, other in itertools.combinations(parts, 2):
        values = [getattr(part, name) for part in (one, other)]
        wanted = None if None in values else 3 * values[0] + 2 * values[1]
        assert getattr(compose([one, other, one, other, one]), name) == wanted, (one, other)
    assert compose(ApproximateLoss(1, "0.4"), 3).failure == 1


def test_relations_of_a_composition_are_those_of_all_parts() -> None:
    both, added = PureLoss(1), ExponentialMechanismLoss(1, monotone=True)
    exchanged = of_count(rows=1, groups=1, relation=Replace)
    assert compose([both, added]).relations == {AddRemove}
    assert compose([both, DiscreteLaplaceLoss(1, exchanged)]).relations == {Replace}
    with pytest.raises(UnprovedError, match="no common guarantee"):
        compose([both, added, DiscreteLaplaceLoss(1, exchanged)])


def test_parts_that_fail_in_different_directions_do_not_fail_together() -> None:
    """Outcome 1 gives away that the unit is there, in the first; that it is not, in the second: 1/2 each way."""
    half, sure = [Fraction(1, 2), Fraction(1, 2)], [0, 1]
    loss = compose([FiniteLoss(half, sure, relation=AddRemove), FiniteLoss(sure, half, relation=AddRemove)])
    assert loss.infinite_mass == Fraction(1, 2)
    assert loss.epsilon("0.51").upper == 0
    assert loss.epsilon("0.49").lower == math.inf
    assert loss.delta(0).contains(0.5)


def test_a_pair_is_proved_where_the_curve_is_below_it() -> None:
    """Also for pairs that are booked at another delta."""
    parts = [ApproximateLoss("1/2", "1e-3"), GaussianLoss(3).stated(epsilon="1", delta="0.01"), PureLoss("1/4")]
    loss = compose(parts)
    for epsilon in (Fraction(1), Fraction(2), Fraction(4)):
        found = loss.delta(epsilon)
        assert loss.proves(epsilon, Fraction(found.upper) * Fraction(101, 100))
        assert not loss.proves(epsilon, Fraction(found.lower) * Fraction(99, 100))


@given(st.lists(tenths, min_size=1, max_size=7), st.fractions(0, 5, max_denominator=20))
def test_pure_compositions_hold_the_enumerated_truth(parts: list[Fraction], epsilon: Fraction) -> None:
    found = compose([PureLoss(part) for part in parts]).delta(epsilon)
    truth = exact_delta([(float(part), 0.0) for part in parts], float(epsilon))
    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


@given(
    st.lists(st.tuples(tenths, st.fractions(0, Fraction(1, 20), max_denominator=400)), min_size=1, max_size=6),
    st.fractions(0, 5, max_denominator=20),
)
def test_approximate_compositions_hold_the_enumerated_truth(
    parts: list[tuple[Fraction, Fraction]], epsilon: Fraction
) -> None:
    found = compose([ApproximateLoss(*part) for part in parts]).delta(epsilon)
    truth = exact_delta([(float(e), float(d)) for e, d in parts], float(epsilon))
    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


def test_gaussians_compose_exactly() -> None:
    """golden.md G17: ten times mu = 0.3 at delta = 1e-6; squares of mu add whatever the parts are."""
    assert (GaussianLoss(Fraction(10, 3)) * 10).epsilon(1e-6).upper == pytest.approx(4.602679009809174427, rel=1e-9)
    mixed = GaussianLoss(2) + GaussianLoss(3) * 2
    assert mixed.mu_squared == Fraction(1, 4) + Fraction(2, 9)
    assert mixed.delta(1).width < 1e-15


@pytest.mark.parametrize(
    ("loss", "delta", "truth"),
    [
        (PureLoss(1) * 10, 1e-5, 9.9997706345349416791),  # golden.md G31
        (PureLoss(1) * 10, 0.43057714452975647715, 4.0),  # golden.md G33
        (compose([PureLoss(Fraction(k, 10)) for k in range(1, 6)]), 0.07493113789067068281, 0.8),  # golden.md G35
    ],
)
def test_published_optima_are_not_undercut(loss: PrivacyLoss, delta: float, truth: float) -> None:
    assert loss.epsilon(delta).upper >= truth * (1 - 1e-9)


def test_a_hundred_tenths_beat_the_published_advanced_composition() -> None:
    """golden.md G29: 5.756 by the form with the tight expected loss; the conversion from rho does better."""
    assert (PureLoss("0.1") * 100).epsilon(1e-6).upper < 5.7561055193357317006


def test_many_small_pure_losses_use_the_root_of_their_number() -> None:
    """The sum is 10; zCDP knows that losses average out."""
    found = (PureLoss("0.01") * 1000).epsilon(1e-6)
    assert found.upper < 2.5


def test_failures_add_up_and_epsilon_is_infinite_below_them() -> None:
    loss = ApproximateLoss(1, "0.001") * 3
    assert loss.epsilon("0.0009").lower == math.inf
    assert loss.epsilon("0.002").lower == math.inf  # above one failure, below the chance of any
    assert loss.delta(3).upper == pytest.approx(1 - 0.999**3)
    assert loss.delta(3).contains(1 - Fraction(999, 1000) ** 3)


def test_pure_and_gaussian_parts_mix_through_rho() -> None:
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    mixed = DiscreteGaussianLoss(100, reach) * 4 + PureLoss("0.2")
    assert mixed.rho == 4 * Fraction(1, 200) + Fraction(2, 100)
    assert mixed.pure_epsilon is None
    assert mixed.delta(1).upper <= ConcentratedLoss(mixed.rho).delta(1).upper
    assert mixed.epsilon(0).upper == math.inf


def test_many_gaussian_answers_cost_little_more_than_real_gaussians() -> None:
    """A thousand counts with sigma = 300: mu^2 = 1/90, within a thousandth in epsilon."""
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    found = (DiscreteGaussianLoss(90_000, reach) * 1000).epsilon(1e-6)
    real = (GaussianLoss(300) * 1000).epsilon(1e-6)
    assert real.lower <= found.upper <= real.upper * 1.001


def test_stated_pairs_bound_a_sum_that_has_no_rho() -> None:
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    stated = DiscreteGaussianLoss(30, reach).stated(epsilon=1, delta="1e-5")
    loss = stated + ApproximateLoss(1, "1e-6")
    assert loss.delta(2).upper <= 1.1e-5 * (1 + 1e-12)


def test_two_laplaces_on_two_cells_hold_the_published_value() -> None:
    """errata.md E62: a two-cell histogram with Lap(1) per cell under replace has delta(1) = 0.2418."""
    found = (LaplaceLoss(1) * 2).delta(1)
    density = lambda x: mpmath.exp(-abs(x)) / 2  # noqa: E731
    loss = lambda x: abs(x - 1) - abs(x)  # noqa: E731

    def inner(x: mpmath.mpf) -> mpmath.mpf:
        kinks = [-30, 0, 1, 30]
        return mpmath.quad(
            lambda y: density(x) * density(y) * max(0, 1 - mpmath.exp(1 - loss(x) - loss(y))), kinks, maxdegree=4
        )

    with mpmath.workdps(12):
        truth = float(mpmath.quad(inner, [-20, 0, 1, 20], maxdegree=4))
    assert truth == pytest.approx(0.2418, abs=2e-3)
    assert found.lower - 5e-5 <= 0.2418 <= found.upper + 5e-5  # published to four digits


def test_the_order_of_parts_is_forgotten_and_nesting_is_flat() -> None:
    a, b = PureLoss(1), GaussianLoss(1)
    assert compose([compose([a, b]), a]) == compose([a, a, b])
    assert compose([compose([a, b], 2)], 3) == compose([a, b], 6)
    assert repr(a * 2 + b) == "PureLoss(epsilon=1) * 2 + GaussianLoss(noise_multiplier=1)"


def test_things_that_are_no_losses_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="must be a PrivacyLoss"):
        compose([PureLoss(1), 3])  # type: ignore[list-item]
    with pytest.raises(InvalidParameterError, match="count must be"):
        compose(PureLoss(1), -1)
    with pytest.raises(TypeError):
        PureLoss(1) + 3  # type: ignore[operator]


@pytest.mark.parametrize("noise", ["1/4", "15/32"])
def test_a_width_is_reached_where_most_of_delta_is_a_failure(noise: str) -> None:
    """What bins may cost is relative to the rest of delta alone."""
    found = (TruncatedLaplaceLoss(noise, 1) + PureLoss("1/4")).delta(0)
    assert found.width <= 1e-3 * found.upper


def test_where_laws_differ_only_the_gap_of_the_proof_is_wide() -> None:
    """Where l2 binds, a vector lies between two laws; near the greatest loss of the lower one its delta is rounding."""
    vector = Sensitivity(l1=6, l2_squared=9, linf=3, coordinates=2, relation=AddRemove)
    loss = DiscreteLaplaceLoss(3, vector) + PureLoss("1/3")
    for epsilon in (4 / 3 - 1e-11, 4 / 3 - 1e-15, 4 / 3, 4 / 3 + 1e-12, 1.5):
        found = loss.delta(epsilon)
        assert found.lower < 1e-11
        assert found.upper == pytest.approx(loss.delta(epsilon, tolerance=1e-5).upper, rel=1e-3)
    assert found.lower == 0.0
    assert loss.delta(1).lower > 0.05


def test_a_failure_with_a_choice_is_answered() -> None:
    """Most of delta is the failure, and the two laws differ."""
    loss = ApproximateLoss("41/43", "11/450") + ExponentialMechanismLoss("51/40")
    found = loss.delta("95/48")
    assert found.lower >= 11 / 450 * (1 - 1e-15)
    assert found.upper == pytest.approx(loss.delta("95/48", tolerance=1e-5).upper, rel=1e-3)


def test_a_small_discrete_gaussian_is_summed_exactly() -> None:
    loss = PureLoss("1/2") + DiscreteGaussianLoss("1/4", of_count(rows=1, groups=1, relation=AddRemove))
    found = loss.epsilon(1e-9, tolerance=1e-9)
    assert found.width <= 1e-9 * found.upper
    assert loss.delta(found.upper).upper <= 1e-9 * (1 + 1e-9)


@pytest.mark.parametrize("noise", ["1/10", "1/20", "1/50"])
def test_little_noise_beside_others_keeps_its_width(noise: str) -> None:
    """mu = 10, 20, 50 with a negligible pure loss: the closed form of the Gaussian, a tenth of a millionth away."""
    alone = GaussianLoss(noise).epsilon("1e-5")
    together = (GaussianLoss(noise) + PureLoss("1e-7")).epsilon("1e-5")
    assert together.width < 1e-3 * together.upper
    assert together.lower <= alone.upper + 1e-7
    assert alone.lower <= together.upper


def test_losses_beyond_floats_are_known_and_a_finer_width_is_refused_in_words() -> None:
    two = LaplaceLoss("1/1000") * 2
    with pytest.raises(InvalidParameterError, match="epsilon is known to lie in"):
        two.epsilon("1e-5", tolerance=1e-9)
    with pytest.raises(InvalidParameterError, match="delta is known to lie in"):
        two.delta(1999, tolerance=1e-9)
    found = two.epsilon("1e-5")
    assert found.lower <= 1999.99996 <= found.upper <= 2000.0001  # a quarter of the runs loses 2000
    assert found.width <= 1e-3 * found.upper


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta", "truth"),
    [
        ("0.08", "0.01", 10, "1e-5", 251.100606),  # by the closed form of tests/privacy/pld/test_rounded.py
        ("0.02", "0.01", 10, "1e-5", 3861.961071),
    ],
)
def test_very_little_noise_has_its_price(noise: str, rate: str, steps: int, delta: str, truth: float) -> None:
    run = GaussianLoss(noise).poisson_sampled(rate=rate) * steps
    found = run.epsilon(delta)
    assert found.lower <= truth * (1 + 1e-7)
    assert truth <= found.upper * (1 + 1e-7)
    assert found.width <= 2e-3 * found.upper
    assert run.delta(found.upper).upper <= float(delta) * (1 + 1e-6)


def test_a_loss_beyond_floats_is_added_to_any_other() -> None:
    found = (GaussianLoss("0.01") * 3 + PureLoss(2)).epsilon("1e-6")
    alone = (GaussianLoss("0.01") * 3).epsilon("1e-6")
    assert alone.upper - 0.002 * alone.upper <= found.upper
    assert found.lower <= alone.upper + 2
    assert (GaussianLoss("0.01").poisson_sampled(rate="1e-3") * 5).delta(1, tolerance=0.5).upper <= 1 - 0.999**5 + 1e-9


@pytest.mark.parametrize("epsilon", [0, "1/2", 2])
def test_runs_are_at_least_as_revealing_as_is_stated_from_below(epsilon: Any) -> None:
    """One coordinate, whose three runs are summed from the table of its law; twice as many runs are above it."""
    loss = DiscreteGaussianLoss(400, of_clipped_sum(lower=0, upper=15, rows=1, groups=1, relation=AddRemove, cells=1))
    exact = (loss * 3).delta(epsilon)
    assert 0.97 * exact.lower < loss.statement.least_delta_of_runs(3, Fraction(epsilon)) <= exact.upper
    assert loss.statement.least_delta_of_runs(6, Fraction(epsilon)) > exact.upper


def test_many_steps_on_all_rows_are_known_from_below() -> None:
    """Vectors on a fine lattice have no table; until 2026-11-28 the lower end was that of one step, 0.7255."""
    sensitivity = of_ball_sum(radius=2**20, dimensions=1000, rows=1, relation=AddRemove)
    found = (DiscreteGaussianLoss(25 * 2**40, sensitivity) * 100).epsilon("1e-5")
    truth = (GaussianLoss(5) * 100).epsilon("1e-5")
    assert truth.lower * (1 - 1e-5) < found.lower <= truth.upper
    assert found.upper < truth.upper * (1 + 1e-5)
