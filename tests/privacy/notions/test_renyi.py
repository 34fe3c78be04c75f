"""Rényi divergences against published values, quadrature and sums to 30 digits, and every small finite pair."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    Sensitivity,
    of_count,
)
from deniable.privacy.amplification.sampling.poisson_replace import PoissonReplacedStatement
from deniable.privacy.notions.renyi import bounded_divergence, directed, renyi

ORDERS = ["1", "3/2", "2", "8"]


def mp(number: object) -> mpmath.mpf:
    value = Fraction(str(number))
    return mpmath.mpf(value.numerator) / value.denominator


def near(found: Interval, truth: mpmath.mpf, *, relative: float = 3e-15) -> bool:
    """Whether the interval holds the truth, known to 25 digits, and is narrow."""
    slack = abs(truth) * mpmath.mpf(10) ** -25
    held = mpmath.mpf(found.lower) - slack <= truth <= mpmath.mpf(found.upper) + slack
    return bool(held and found.width <= relative * found.upper + 1e-300)


def divergence_of_masses(p: list[mpmath.mpf], q: list[mpmath.mpf], order: str) -> mpmath.mpf:
    a = mp(order)
    if a == 1:
        return mpmath.fsum(x * mpmath.log(x / y) for x, y in zip(p, q, strict=True))
    return mpmath.log(mpmath.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


def test_golden_values() -> None:
    """golden.md G25, G39, G41."""
    assert renyi(PureLoss(1).statement, 4).upper == pytest.approx(0.89588325964518380355, rel=1e-9)
    step = GaussianLoss(1).poisson_sampled(rate="1/100")
    assert renyi(step.statement, 2).upper == pytest.approx(0.00017181342207454793099, rel=1e-9)
    assert renyi(step.statement, 32).upper == pytest.approx(11.246275937048068835, rel=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", ["1/100", "1", "12"])
def test_randomized_response_is_its_sum(limit: str, order: str) -> None:
    with mpmath.workdps(40):
        kept = 1 / (1 + mpmath.exp(-mp(limit)))
        truth = divergence_of_masses([kept, 1 - kept], [1 - kept, kept], order)
        assert near(renyi(PureLoss(limit).statement, order), truth)


def test_no_small_channel_of_bounded_loss_diverges_more() -> None:
    """errata.md E40, E41: at most order epsilon^2/2, not 2 order epsilon^2, and only without a failure probability."""
    rng = np.random.default_rng(7)
    limit = 0.7
    most = [bounded_divergence(Fraction(7, 10), Fraction(order)).upper for order in ORDERS]
    for order, bound in zip(ORDERS, most, strict=True):
        assert bound <= min(float(Fraction(order)) * limit**2 / 2, limit)
    for _ in range(300):
        q = rng.dirichlet(np.ones(4))
        p = q * np.exp(rng.uniform(0, limit, 4))
        p /= p.sum()
        if np.max(np.abs(np.log(p / q))) > limit:
            continue
        for order, bound in zip(ORDERS, most, strict=True):
            assert float(divergence_of_masses(list(p), list(q), order)) <= bound
    assert renyi(PureLoss("1/10").statement, 2).upper == pytest.approx(0.0099586, rel=1e-4)
    assert renyi(ApproximateLoss(1, "1e-9").statement, 2).lower == math.inf


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("noise", ["1/5", "1", "7"])
def test_laplace_noise_is_its_integral(noise: str, order: str) -> None:
    with mpmath.workdps(30):
        limit, a = 1 / mp(noise), mp(order)
        # noise y of density exp(-|y|)/2 has the loss limit for y < 0, limit - 2 y up to limit, and -limit beyond
        high, low = mpmath.mpf(1) / 2, mpmath.exp(-limit) / 2
        inner = mpmath.quad(
            lambda y: mpmath.exp(-y) / 2 * (mpmath.exp((a - 1) * (limit - 2 * y)) if a != 1 else limit - 2 * y),
            [0, limit],
        )
        ends = high * mpmath.exp((a - 1) * limit) + low * mpmath.exp(-(a - 1) * limit)
        truth = (high - low) * limit + inner if a == 1 else mpmath.log(ends + inner) / (a - 1)
        assert near(renyi(LaplaceLoss(noise).statement, order), truth)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("scale", "rows"), [("1/2", 1), ("3", 2), ("6", 7)])
def test_discrete_laplace_noise_is_its_sum(scale: str, rows: int, order: str) -> None:
    loss = DiscreteLaplaceLoss(scale, of_count(rows=rows, groups=1, relation=AddRemove))
    with mpmath.workdps(40):
        b = mp(scale)
        places = range(-int(60 * float(b)) - 40, int(60 * float(b)) + rows + 40)
        p = [mpmath.exp(-abs(k - rows) / b) for k in places]
        q = [mpmath.exp(-abs(k) / b) for k in places]
        whole = (1 + mpmath.exp(-1 / b)) / (1 - mpmath.exp(-1 / b))
        found = renyi(loss.statement, order)
        assert near(found, divergence_of_masses([x / whole for x in p], [x / whole for x in q], order))


@pytest.mark.parametrize("order", [*ORDERS, "13/10"])
@pytest.mark.parametrize(("sigma_squared", "rows"), [("1/4", 1), ("1", 2), ("9", 1)])
def test_discrete_gaussian_noise_is_its_sum(sigma_squared: str, rows: int, order: str) -> None:
    loss = DiscreteGaussianLoss(sigma_squared, of_count(rows=rows, groups=1, relation=AddRemove))
    with mpmath.workdps(40):
        s = mp(sigma_squared)
        places = range(-80, 121)
        p = [mpmath.exp(-((k - rows) ** 2) / (2 * s)) for k in places]
        q = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s)) for k in places]
        whole = mpmath.fsum(q)
        truth = divergence_of_masses([x / whole for x in p], [x / whole for x in q], order)
        assert near(renyi(loss.statement, order), truth)
        assert truth <= mp(order) * rows**2 / (2 * s) * (1 + mpmath.mpf(10) ** -30)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", ["1/2", "3"])
def test_sampled_randomized_response_is_its_sum(limit: str, order: str) -> None:
    loss = PureLoss(limit).poisson_sampled(rate="1/10")
    with mpmath.workdps(40):
        kept, q = 1 / (1 + mpmath.exp(-mp(limit))), mpmath.mpf(1) / 10
        plain = [1 - kept, kept]
        mixed = [q * kept + (1 - q) * (1 - kept), q * (1 - kept) + (1 - q) * kept]
        removed, added = divergence_of_masses(mixed, plain, order), divergence_of_masses(plain, mixed, order)
        assert added <= removed
        assert near(renyi(loss.statement, order), removed, relative=2e-6)


def test_sampled_discrete_gaussian_noise_is_its_sum() -> None:
    loss = DiscreteGaussianLoss(4, of_count(rows=2, groups=1, relation=AddRemove)).poisson_sampled(rate="1/5")
    for order in ("1", "2", "9/2", "40"):
        with mpmath.workdps(40):
            moved, plain = ([mpmath.exp(-(mpmath.mpf(k - d) ** 2) / 8) for k in range(-90, 161)] for d in (2, 0))
            whole = mpmath.fsum(plain)
            q = [x / whole for x in plain]
            p = [(x / whole) / 5 + y * 4 / 5 for x, y in zip(moved, q, strict=True)]
            assert near(renyi(loss.statement, order), divergence_of_masses(p, q, order), relative=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_a_finite_pair_is_its_sum_in_the_worse_direction(order: str) -> None:
    p, q = ["1/2", "1/5", "3/10"], ["7/10", "1/10", "1/5"]
    with mpmath.workdps(30):
        masses = [[mp(x) for x in side] for side in (p, q)]
        there, back = (divergence_of_masses(*sides, order) for sides in (masses, masses[::-1]))
        for relation in (AddRemove, Replace):
            assert near(renyi(FiniteLoss(p, q, relation=relation).statement, order), max(there, back))
        first, second = directed(FiniteLoss(p, q, relation=AddRemove).statement, Fraction(order))
        assert near(first, there)
        assert near(second, back)
    assert renyi(FiniteLoss([1, 0], ["1/2", "1/2"], relation=AddRemove).statement, order).lower == math.inf


@pytest.mark.parametrize("order", ["1", "3"])
def test_exchanged_samples_are_their_integral(order: str) -> None:
    """Poisson sampling under replace: (1 - q) N(0) + q N(mu) against (1 - q) N(0) + q N(-mu)."""
    loss = PrivacyLoss(PoissonReplacedStatement(GaussianLoss(2), "1/10"))
    a = mp(order)
    with mpmath.workdps(18):
        mu, rate = mpmath.mpf(1) / 2, mpmath.mpf(1) / 10

        def term(x: mpmath.mpf) -> mpmath.mpf:
            p, q = (9 * mpmath.npdf(x) / 10 + rate * mpmath.npdf(x, move) for move in (mu, -mu))
            return p * mpmath.log(p / q) if a == 1 else p**a * q ** (1 - a)

        value = mpmath.quad(term, mpmath.linspace(-10, 12, 10))
        truth = value if a == 1 else mpmath.log(value) / (a - 1)
    assert near(renyi(loss.statement, order), truth, relative=1e-5)


def test_a_sample_of_a_composition_diverges_no_more_than_its_base() -> None:
    """Half of three sampled Gaussians and one Laplace: the two directions of the base differ."""
    base = GaussianLoss(2).poisson_sampled(rate="1/10") * 3 + LaplaceLoss(1)
    found = renyi(base.poisson_sampled(rate="1/2").statement, 3)
    assert 0 < found.lower <= found.upper <= renyi(base.statement, 3).upper


def test_divergences_add_up() -> None:
    """Both directions are summed before the larger is taken."""
    step = GaussianLoss(1).poisson_sampled(rate="1/100")
    run = step * 1000 + PureLoss("1/2") * 3 + LaplaceLoss(2)
    parts = [(step, 1000), (PureLoss("1/2"), 3), (LaplaceLoss(2), 1)]
    total = sum(renyi(loss.statement, 4).upper * count for loss, count in parts)
    assert renyi(run.statement, 4).upper == pytest.approx(total, rel=1e-14)
    assert renyi(run.statement, 4).lower == pytest.approx(total, rel=1e-12)
    assert renyi((run + ApproximateLoss(1, "1e-9")).statement, 4) == Interval(math.inf, math.inf)
    assert renyi((PureLoss(1) * 0).statement, 4) == Interval(0.0, 0.0)


def test_losses_known_by_a_bound_alone() -> None:
    assert renyi(ConcentratedLoss("1/2").statement, 3) == Interval(1.5, 1.5)
    assert renyi(GaussianLoss(1).stated(epsilon=2, delta="1/2").statement, 3) == Interval(1.5, 1.5)
    reach = Sensitivity(l1=4, l2_squared=6, linf=2, relation=AddRemove, coordinates=2)  # (2, 1) is attained
    vector = renyi(DiscreteGaussianLoss(10, reach).statement, 3)
    assert vector.upper == pytest.approx(3 * 6 / 20)
    assert vector.lower == pytest.approx(3 * 5 / 20)


@pytest.mark.parametrize("order", ["1", "3/2", "7"])
def test_divergences_of_coordinates_add_up(order: str) -> None:
    """(2, 2, 1) is the worst change of l1 = 5 and linf = 2, and l2 admits it."""
    reach = Sensitivity(l1=5, l2_squared=9, linf=2, relation=AddRemove)
    for noise in (DiscreteLaplaceLoss, DiscreteGaussianLoss):
        one, two = (noise(4, of_count(rows=rows, groups=1, relation=AddRemove)) for rows in (1, 2))
        found, truth = noise(4, reach).renyi(order), 2 * two.renyi(order).upper + one.renyi(order).upper
        assert found.upper == pytest.approx(truth, rel=1e-12)
        assert found.lower == pytest.approx(truth, rel=1e-12)
        assert found.lower > 1.1 * renyi(two.statement, order).upper


def test_the_greatest_order_is_the_greatest_loss() -> None:
    assert renyi((PureLoss(1) * 3).statement, math.inf).upper == 3.0
    assert renyi(GaussianLoss(1).statement, math.inf) == Interval(math.inf, math.inf)


def test_orders_of_plain_and_sampled_noise_differ() -> None:
    """errata.md E66: at order 32 sampled noise has 11.246, plain noise 16."""
    plain, sampled = GaussianLoss(1), GaussianLoss(1).poisson_sampled(rate="1/100")
    assert renyi(plain.statement, 32) == Interval(16.0, 16.0)
    assert renyi(sampled.statement, 32).upper < 11.25
    assert renyi(sampled.statement, 2).upper < renyi(plain.statement, 2).lower / 5000


@pytest.mark.parametrize("order", [0, -1, "x", True, float("nan")])
def test_bad_orders_are_refused(order: object) -> None:
    with pytest.raises(InvalidParameterError, match="order must be"):
        renyi(PureLoss(1).statement, order)


BELOW_ONE = ["1/100", "1/3", "1/2", "0.9", "0.999"]


@pytest.mark.parametrize("order", BELOW_ONE)
def test_orders_below_one_follow_from_the_laws(order: str) -> None:
    a = mp(order)
    assert near(GaussianLoss(2).renyi(order), a / 8, relative=1e-5)
    p = mpmath.e / (1 + mpmath.e)
    truth = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
    assert near(PureLoss(1).renyi(order), truth, relative=1e-5)
    assert near((PureLoss(1) * 3 + GaussianLoss(2)).renyi(order), 3 * truth + a / 8, relative=1e-5)
    assert near(PureLoss(1).stated(epsilon=1, delta=0).renyi(order), truth, relative=1e-5)


@pytest.mark.parametrize("order", BELOW_ONE)
def test_orders_below_one_of_an_infinite_loss_are_finite_and_skewed(order: str) -> None:
    """Sums over the outcomes; and D of order a is a/(1 - a) times D of order 1 - a of the exchanged pair."""
    masses = [Fraction(1, 10), Fraction(6, 10), Fraction(3, 10)], [Fraction(0), Fraction(3, 10), Fraction(7, 10)]
    loss = FiniteLoss(*masses, relation=AddRemove)
    p, q = ([mp(x) for x in law] for law in masses)
    forward, backward = directed(loss.statement, Fraction(order))
    a = mp(order)
    truth = mpmath.log(mpmath.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True) if y)) / (a - 1)
    assert near(forward, truth, relative=1e-4)
    exchanged = directed(loss.statement, 1 - Fraction(order))[0]
    assert backward.upper == pytest.approx(float(a / (1 - a)) * exchanged.upper, rel=1e-5)


def test_orders_below_one_of_a_loss_known_by_rho_are_bounded_by_its_mean() -> None:
    assert ConcentratedLoss("1/2").renyi("0.9").upper == pytest.approx(0.5)
    assert ConcentratedLoss("1/2").renyi("1/5").upper == pytest.approx(0.125)
