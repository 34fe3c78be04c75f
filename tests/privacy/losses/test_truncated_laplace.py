"""Truncated noise: quadrature, exact enumeration, the published bound, compositions with infinite losses."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, DiscreteLaplaceLoss, LaplaceLoss, PrivacyLoss, Sensitivity, of_count
from deniable.privacy.constructors import DiscreteTruncatedLaplaceLoss, TruncatedLaplaceLoss
from deniable.privacy.losses.truncated_laplace import DiscreteTruncatedLaplaceLaw, TruncatedLaplaceLaw


def moved(rows: int, groups: int = 1) -> Sensitivity:
    return of_count(rows=rows, groups=groups, relation=AddRemove)


def masses(scale: float, bound: int) -> dict[int, mpmath.mpf]:
    weights = {k: mpmath.exp(-mpmath.mpf(abs(k)) / mpmath.mpf(scale)) for k in range(-bound, bound + 1)}
    whole = mpmath.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def discrete_curve(scale: float, bound: int, shift: int, epsilon: float) -> mpmath.mpf:
    law = masses(scale, bound)
    outcomes = range(-bound, bound + shift + 1)
    return mpmath.fsum(
        max(law.get(y, 0) - mpmath.exp(mpmath.mpf(epsilon)) * law.get(y - shift, 0), 0) for y in outcomes
    )


@pytest.mark.parametrize(("multiplier", "bound"), [("1", "13.6"), ("1", "1"), ("2", "3"), ("1/4", "1.5"), ("10", "2")])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0, 3.0])
def test_the_curve_is_the_integral(multiplier: str, bound: str, share: float) -> None:
    loss = TruncatedLaplaceLoss(multiplier, bound)
    epsilon = float(loss.failing_epsilon) * share
    with mpmath.workdps(30):
        scale, end = mpmath.mpf(float(Fraction(multiplier))), mpmath.mpf(float(Fraction(bound)))
        whole = 2 * scale * (1 - mpmath.exp(-end / scale))
        density = lambda z: mpmath.exp(-abs(z) / scale) / whole if abs(z) <= end else mpmath.mpf(0)  # noqa: E731
        gain = lambda y: max(density(y) - mpmath.exp(epsilon) * density(y - 1), 0)  # noqa: E731
        edge = (1 - epsilon * scale) / 2
        corners = sorted({-end, 1 - end, mpmath.mpf(0), mpmath.mpf(1), end, edge} & {*[-end, 1 - end, edge, end]} | {0})
        truth = mpmath.quad(gain, sorted(corner for corner in corners if -end <= corner <= end))
    assert loss.delta(epsilon).upper == pytest.approx(float(truth), rel=1e-8, abs=1e-15)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), (3, "0.01"), (1, "0.5")])
def test_the_target_is_met_and_not_by_much(epsilon: object, delta: str) -> None:
    loss = TruncatedLaplaceLoss.for_target(epsilon, delta)
    assert loss.delta(epsilon).upper <= float(Fraction(delta))
    assert loss.delta(epsilon).lower >= float(Fraction(delta)) * (1 - 1e-9)
    assert loss.epsilon(float(Fraction(delta)) * 0.999).upper == math.inf


def test_the_published_bound() -> None:
    """noise.md, section 11: epsilon = 1, delta = 1e-6."""
    assert float(TruncatedLaplaceLoss.for_target(1, "1e-6").statement.bound) == pytest.approx(13.663689396, abs=1e-9)


def test_a_smaller_bound_fails() -> None:
    """The twin: without the factor 2, as the bound is sometimes printed, delta doubles."""
    too_short = math.log(1 + math.expm1(1) / 2e-6) - math.log(2)
    assert TruncatedLaplaceLoss(1, too_short).delta(1).lower > 1.9e-6


@pytest.mark.parametrize("limit", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("room", [0.0, 1e-6, 2.0, 30.0])
def test_tails_are_within_half_of_the_stated_error(limit: float, room: float) -> None:
    with mpmath.workdps(50):
        e, gap = mpmath.mpf(limit), mpmath.mpf(room)
        end, twice = e + gap, 2 * (1 - mpmath.exp(-e - gap))
        infinite = (mpmath.exp(e) - 1) / (2 * (mpmath.exp(end) - 1))
        law = TruncatedLaplaceLaw(limit, room, float(infinite))
        places = np.linspace(-limit, limit, 41)[:-1]
        found, slack = law.above(places), law.slack(limit)
        for place, p, q, error in zip(places, found.p, found.q, found.error, strict=True):
            x = mpmath.mpf(place)
            for mass, tail in (
                (p, lambda at: (2 - mpmath.exp(-gap) - mpmath.exp((at - e) / 2)) / twice),
                (q, lambda at: (mpmath.exp(-(at + e) / 2) - mpmath.exp(-end)) / twice),
            ):
                low, high = tail(x + slack), tail(x - slack)
                assert low * (1 - error / 2) <= mass <= high * (1 + error / 2)
        outside = law.above(np.array([-limit - 1, limit]))
        assert outside.p.tolist() == outside.q.tolist() == [1 - law.infinite, 0]
        both = law.below(places)
        assert np.allclose(found.p + both.p, 1 - law.infinite, rtol=1e-12)
        assert np.allclose(found.q + both.q, 1 - law.vanishing, rtol=1e-12)


@given(st.floats(0.3, 20), st.integers(1, 25), st.integers(1, 6), st.floats(0, 2))
def test_the_discrete_curve_is_the_sum(scale: float, bound: int, shift: int, share: float) -> None:
    bound = max(bound, shift)
    exact = Fraction(repr(scale))
    loss = DiscreteTruncatedLaplaceLoss(exact, bound, moved(shift))
    epsilon = Fraction(repr(share)) * shift / exact
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        truth = discrete_curve(mpmath.mpf(repr(scale)), bound, shift, e)
    found = loss.delta(epsilon)
    assert found.lower * (1 - 1e-14) <= truth <= found.upper * (1 + 1e-14) + 1e-30


@pytest.mark.parametrize(("scale", "bound", "shift"), [(2.0, 6, 3), (0.7, 4, 4), (5.0, 9, 1), (3.0, 400, 300)])
def test_atoms_and_tails_are_those_of_the_masses(scale: float, bound: int, shift: int) -> None:
    with mpmath.workdps(40):
        law = masses(scale, bound)
        certain = mpmath.fsum(law[y] for y in range(-bound, shift - bound))
        made = DiscreteTruncatedLaplaceLaw(scale, bound, shift, float(certain))
        atoms = made.atoms()
        assert atoms is not None
        for place in np.linspace(made.lowest - 0.1, made.highest, 23)[:-1] + 1e-9 * made.highest:
            above = [y for y in range(shift - bound, bound + 1) if (abs(y - shift) - abs(y)) / scale > place]
            p = mpmath.fsum(law[y] for y in above)
            q = mpmath.fsum(law[y - shift] for y in above)
            found = made.above(np.array([place]))
            assert abs(found.p[0] / p - 1) <= found.error[0]
            assert abs(found.q[0] / q - 1) <= found.error[0]
            kept = atoms.losses > place
            assert atoms.p[kept].sum() == pytest.approx(float(p), rel=1e-13)
            assert atoms.q[kept].sum() == pytest.approx(float(q), rel=1e-13)


def test_two_discrete_runs_are_the_sum_over_pairs_of_outcomes() -> None:
    scale, bound, shift = 1.5, 5, 2
    loss = DiscreteTruncatedLaplaceLoss("1.5", bound, moved(shift)) * 2
    law = {k: float(mass) for k, mass in masses(scale, bound).items()}
    places = range(-bound, bound + shift + 1)
    for epsilon in (0.0, 1.0, 2.5, 4.0):
        truth = math.fsum(
            max(law.get(a, 0) * law.get(b, 0) - math.exp(epsilon) * law.get(a - shift, 0) * law.get(b - shift, 0), 0)
            for a, b in product(places, repeat=2)
        )
        assert loss.delta(epsilon, tolerance=1e-6).upper == pytest.approx(truth, rel=2e-6)


def test_vectors_are_dominated_by_one_coordinate() -> None:
    """A change of 1 in each of two coordinates against a change of 2 in one; both are below the stated curve."""
    scale, bound = 1.5, 4
    loss = DiscreteTruncatedLaplaceLoss("1.5", bound, moved(1, groups=2))
    law = {k: float(mass) for k, mass in masses(scale, bound).items()}
    places = range(-bound, bound + 2)
    for epsilon in (0.0, 0.5, 1.0, 1.4):
        truth = math.fsum(
            max(law.get(a, 0) * law.get(b, 0) - math.exp(epsilon) * law.get(a - 1, 0) * law.get(b - 1, 0), 0)
            for a, b in product(places, repeat=2)
        )
        found = loss.delta(epsilon)
        assert found.lower <= truth <= found.upper * (1 + 1e-12)
        assert found.upper == pytest.approx(float(discrete_curve(scale, bound, 2, epsilon)), rel=1e-9)


def test_infinite_losses_compose_as_independent_events() -> None:
    loss = TruncatedLaplaceLoss.for_target(1, "0.001")
    assert (loss * 7).delta(7.5).contains(1 - (1 - loss.infinite_mass) ** 7)
    assert (loss * 7).epsilon("0.001").upper == math.inf
    assert (loss * 7).epsilon("0.01").upper < 7


def test_a_far_bound_is_no_bound() -> None:
    far, plain = TruncatedLaplaceLoss(2, 200), LaplaceLoss(2)
    assert far.delta("0.1").upper == pytest.approx(plain.delta("0.1").upper, rel=1e-12)
    discrete = DiscreteTruncatedLaplaceLoss(3, 400, moved(2))
    assert discrete.delta("0.1").upper == pytest.approx(DiscreteLaplaceLoss(3, moved(2)).delta("0.1").upper, rel=1e-12)
    assert (far * 6).epsilon("1e-5").upper == pytest.approx((plain * 6).epsilon("1e-5").upper, rel=2e-3)


def test_json_repr_and_charge() -> None:
    real, discrete = TruncatedLaplaceLoss(2, "7.5"), DiscreteTruncatedLaplaceLoss("2/3", 40, moved(2, groups=3))
    for loss in (real, discrete):
        assert PrivacyLoss.from_json(loss.to_json()) == loss
        charge = loss.charge()
        assert charge.delta > 0
        assert charge.rho is charge.mu_squared is None
        assert loss.delta(charge.epsilon).upper <= charge.delta
    assert repr(real) == "TruncatedLaplaceLoss(noise_multiplier=2, bound=7.5)"


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="bound must be at least"):
        TruncatedLaplaceLoss(1, "0.9")
    with pytest.raises(InvalidParameterError, match="bound must be at least"):
        DiscreteTruncatedLaplaceLoss(1, 2, moved(3))
    with pytest.raises(InvalidParameterError, match="whole number"):
        DiscreteTruncatedLaplaceLoss(1, 2.5, moved(1))
    with pytest.raises(InvalidParameterError, match="Sensitivity"):
        DiscreteTruncatedLaplaceLoss(1, 2, 1)  # type: ignore[arg-type]
    for delta in (0, "0.6", 1):
        with pytest.raises(InvalidParameterError, match="delta must be in"):
            TruncatedLaplaceLoss.for_target(1, delta)
