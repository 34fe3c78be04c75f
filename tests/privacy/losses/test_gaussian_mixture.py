"""Mixtures of Gaussians: quadrature of both directions, sampling as a mixture, vectors, compositions, refusals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import AddRemove, GaussianLoss, GaussianMixtureLoss, PrivacyLoss, Replace

Mixture = list[tuple[Fraction, Fraction]]


def exact(mixture: list[tuple[object, object]]) -> Mixture:
    return [(Fraction(str(w)), Fraction(str(c))) for w, c in mixture]


def density(x: mpmath.mpf, mixture: Mixture, sigma: float) -> mpmath.mpf:
    return mpmath.fsum(float(w) * mpmath.npdf(x, float(c), sigma) for w, c in mixture)


def quadrature(p: Mixture, q: Mixture, sigma: float, epsilon: float) -> mpmath.mpf:
    """The integral of max(0, p - e^epsilon q); the place where they cross is found by bisection."""
    gain = lambda x: density(x, p, sigma) - mpmath.exp(epsilon) * density(x, q, sigma)  # noqa: E731
    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    rises = gain(high) > 0 or gain(mpmath.mpf(30)) > 0
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if (gain(middle) < 0) == rises else (low, middle)
    side = mpmath.linspace(low, low + 20 * sigma, 5) if rises else mpmath.linspace(low - 20 * sigma, low, 5)
    return mpmath.quad(gain, side)


CASES = [
    ([("0.9", 0), ("0.1", 1)], [(1, 0)], 1.0),
    ([("0.5", 0), ("0.3", 1), ("0.2", 3)], [(1, 0)], 2.0),
    ([("0.7", 0), ("0.3", 1)], [("0.3", -1), ("0.7", 0)], 0.8),
    ([("0.2", "0.5"), ("0.8", 2)], [("0.5", -1), ("0.5", 0)], 1.5),
]


@pytest.mark.parametrize(("p", "q", "sigma"), CASES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
def test_the_curve_is_the_integral_in_the_worse_direction(p: list, q: list, sigma: float, epsilon: float) -> None:
    found = GaussianMixtureLoss(p, against=q, sigma=sigma, relation=AddRemove).delta(epsilon)
    with mpmath.workdps(16):
        first, second = exact(p), exact(q)
        truth = max(quadrature(first, second, sigma, epsilon), quadrature(second, first, sigma, epsilon))
    assert found.upper == pytest.approx(float(truth), rel=1e-8)
    assert found.width <= 3e-15 * found.upper


@given(st.fractions("0.01", "0.99", max_denominator=100), st.floats(0.4, 4.0), st.floats(0, 3))
def test_a_poisson_sample_is_a_mixture(rate: Fraction, sigma: float, epsilon: float) -> None:
    mixture = GaussianMixtureLoss([(1 - rate, 0), (rate, 1)], sigma=sigma, relation=AddRemove)
    sampled = GaussianLoss(sigma).poisson_sampled(rate=rate)
    found, expected = mixture.delta(epsilon), sampled.delta(epsilon)
    assert found.lower <= expected.upper * (1 + 1e-12)
    assert expected.lower <= found.upper * (1 + 1e-12)


def test_compositions_agree_with_sampling_and_with_gaussians() -> None:
    mixture = GaussianMixtureLoss([("0.99", 0), ("0.01", 1)], sigma=1, relation=AddRemove) * 1000
    assert mixture.epsilon("1e-5").contains(1.82824)  # of four accountants that agree
    single = GaussianMixtureLoss([(1, 3)], sigma=6, relation=Replace) * 10
    expected = (GaussianLoss(2) * 10).epsilon("1e-6")
    assert single.epsilon("1e-6").lower <= expected.upper
    assert expected.lower <= single.epsilon("1e-6").upper


@pytest.mark.parametrize("backwards", [False, True])
def test_two_runs_match_quadrature_in_each_direction(backwards: bool) -> None:
    """delta of two runs: the curve of one at epsilon minus the loss of the other, averaged."""
    from deniable.privacy.pld.accountant import RepeatedPair, composed_delta

    loss = GaussianMixtureLoss([("0.6", 0), ("0.3", 1), ("0.1", 2)], sigma=1, relation=AddRemove)
    p, q = exact([("0.6", 0), ("0.3", 1), ("0.1", 2)]), exact([(1, 0)])
    first, second = (q, p) if backwards else (p, q)
    xs = np.linspace(-12, 14, 1041)
    dense = lambda side: sum(float(w) * np.exp(-((xs - float(c)) ** 2) / 2) / math.sqrt(2 * math.pi) for w, c in side)  # noqa: E731
    a, b = dense(first), dense(second)
    gain = np.maximum(np.multiply.outer(a, a) - math.exp(0.7) * np.multiply.outer(b, b), 0)
    truth = gain.sum() * (xs[1] - xs[0]) ** 2
    laws = loss.statement.laws()
    found = composed_delta([[RepeatedPair(laws.upper[backwards], 2)]], Fraction(7, 10), 1e-5)
    assert found.upper == pytest.approx(truth, rel=2e-4)


def test_vectors_are_dominated_by_their_norms() -> None:
    """Two directions of the plane, at several angles, summed on a grid; the same angle attains the bound."""
    weights, norms = [0.5, 0.5], [1.0, 2.0]
    loss = GaussianMixtureLoss([("0.5", 1), ("0.5", 2)], sigma=1, relation=AddRemove)
    axis = np.linspace(-8, 9, 341)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    cell = (axis[1] - axis[0]) ** 2
    base = np.exp(-(x**2 + y**2) / 2) / (2 * math.pi)
    for epsilon in (0.0, 1.0, 2.0):
        bound = loss.delta(epsilon).upper
        for angle in (0.0, 0.7, math.pi / 2, math.pi):
            centres = [(norms[0], 0.0), (norms[1] * math.cos(angle), norms[1] * math.sin(angle))]
            mixed = sum(
                w * np.exp(-((x - u) ** 2 + (y - v) ** 2) / 2) / (2 * math.pi)
                for w, (u, v) in zip(weights, centres, strict=True)
            )
            there = np.maximum(mixed - math.exp(epsilon) * base, 0).sum() * cell
            back = np.maximum(base - math.exp(epsilon) * mixed, 0).sum() * cell
            assert max(there, back) <= bound * (1 + 1e-3)
            if angle == 0.0:
                assert max(there, back) >= bound * (1 - 1e-3)
            if angle == math.pi and epsilon == 0:
                assert max(there, back) < 0.9 * bound


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=4),
    st.floats(1, 3),
    st.sampled_from([1.5, 2.0, 6.0]),
)
@settings(max_examples=15)
def test_rho_and_mu_bound_what_they_say(parts: list[tuple[int, int]], sigma: float, order: float) -> None:
    total = sum(weight for weight, _ in parts)
    mixture = [(Fraction(weight, total), Fraction(shift)) for weight, shift in parts]
    loss = GaussianMixtureLoss(mixture, sigma=sigma, relation=AddRemove)
    xs = np.linspace(-40, 60, 8001)
    dense = lambda side: sum(  # noqa: E731
        float(w) * np.exp(-((xs - float(c)) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)) for w, c in side
    )
    p, q = dense(mixture), dense([(1, 0)])
    inside = (p > 1e-280) & (q > 1e-280)
    for a, b in ((p, q), (q, p)):
        terms = np.exp(order * np.log(a[inside]) + (1 - order) * np.log(b[inside]))
        moment = float(terms.sum()) * (xs[1] - xs[0])
        assert math.log(max(moment, 1.0)) / (order - 1) <= order * float(loss.rho) + 1e-6
    from deniable.privacy.notions.gaussian_dp import gaussian_delta

    for epsilon in (Fraction(0), Fraction(1)):
        assert loss.delta(epsilon).lower <= gaussian_delta(loss.mu_squared, epsilon).upper


def test_matched_shifts_of_two_mixtures_give_mu() -> None:
    loss = GaussianMixtureLoss(
        [("0.9", 0), ("0.1", 1)], against=[("0.9", 0), ("0.1", -1)], sigma="1/2", relation=Replace
    )
    assert loss.mu_squared == 4  # each tenth at an end moves by one shift, of two sigma
    assert loss.rho == 2


def test_a_bounded_loss_is_pure() -> None:
    loss = GaussianMixtureLoss([("0.4", 0), ("0.6", 1)], against=[("0.6", 0), ("0.4", 1)], sigma=1, relation=Replace)
    assert loss.pure_epsilon == pytest.approx(Fraction(math.log(1.5)))
    assert loss.delta(loss.pure_epsilon).upper < 1.1e-300
    assert GaussianMixtureLoss([(1, 1)], sigma=1, relation=Replace).pure_epsilon is None


def test_far_losses_are_small_and_never_wrong() -> None:
    loss = GaussianMixtureLoss([("0.5", 0), ("0.5", 1)], sigma=1, relation=AddRemove)
    assert 0 < loss.delta(20).lower <= loss.delta(20).upper < 1e-80
    assert loss.delta(1000).upper < 1.1e-300
    assert loss.epsilon("1e-200").upper < 60


def test_under_replace_the_composed_pair_is_above_both_directions() -> None:
    """One run keeps its curve; twenty lie above twenty of either direction, by less than a tenth."""
    replaced, added = (
        GaussianMixtureLoss([("0.9", 0), ("0.1", 1)], sigma=1, relation=relation) for relation in (Replace, AddRemove)
    )
    assert replaced.delta(1) == added.delta(1)
    assert (replaced * 20).epsilon("1e-3").upper > (added * 20).epsilon("1e-3").lower
    assert (replaced * 20).epsilon("1e-3").upper < 1.1 * (added * 20).epsilon("1e-3").upper
    symmetric = GaussianMixtureLoss(
        [("0.9", 0), ("0.1", 1)], against=[("0.9", 0), ("0.1", -1)], sigma=1, relation=Replace
    )
    assert symmetric.statement.laws().upper[0] is symmetric.statement.laws().upper[1]


def test_two_parts_that_see_opposite_orders_are_below_the_bound() -> None:
    """A composition of one direction alone would be too small for (P, Q) in one part and (Q, P) in the other."""
    from deniable.privacy.pld.accountant import RepeatedPair, composed_delta
    from deniable.privacy.pld.law import ReversedLaw

    loss = GaussianMixtureLoss([("0.5", 0), ("0.5", 3)], sigma=1, relation=Replace)
    there, back = loss.statement._law, ReversedLaw(loss.statement._law)
    for epsilon in (0, 1, 4):
        opposite = composed_delta([[RepeatedPair(there, 1), RepeatedPair(back, 1)]], Fraction(epsilon), 1e-3)
        assert (loss * 2).delta(epsilon).upper >= opposite.lower


def test_json_repr_and_order() -> None:
    loss = GaussianMixtureLoss([("1/3", 2), ("1/3", 0), ("1/3", 2)], sigma="1.5", relation=AddRemove)
    assert loss.statement.mixture == ((Fraction(1, 3), 0), (Fraction(2, 3), 2))
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert PrivacyLoss.from_json((loss * 3).to_json()) == loss * 3
    assert repr(loss) == ("GaussianMixtureLoss([('1/3', 0), ('2/3', 2)], sigma=1.5, relation=Relation.ADD_REMOVE)")


@pytest.mark.parametrize(
    ("mixture", "against"),
    [
        ([("0.5", -1), ("0.5", 1)], [(1, 0)]),
        ([(1, -1)], [(1, 0)]),
        ([("0.5", 0), ("0.5", 2)], [("0.5", 0), ("0.5", 3)]),
    ],
)
def test_mixtures_without_a_proof_are_refused(mixture: list, against: list) -> None:
    with pytest.raises(UnprovedError, match="likelihood ratio"):
        GaussianMixtureLoss(mixture, against=against, sigma=1, relation=AddRemove)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mixture": [("0.5", 1)]}, "sum 1"),
        ({"mixture": [("1.5", 1), ("-0.5", 0)]}, "weight"),
        ({"mixture": [3]}, "list of"),
        ({"mixture": [(1, 1)], "sigma": 0}, "sigma must be > 0"),
        ({"mixture": [(1, float("inf"))]}, "finite number"),
        ({"mixture": [(1, 1)], "relation": "replace"}, "relation"),
    ],
)
def test_bad_parameters_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        GaussianMixtureLoss(**({"sigma": 1, "relation": AddRemove} | arguments))
