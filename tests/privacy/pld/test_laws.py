"""Closed-form laws against 60 digits: tails, stated relative errors, and the curve that they imply."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from deniable.privacy import AddRemove, DiscreteGaussianLoss, DiscreteLaplaceLoss, LaplaceLoss, PureLoss, of_count
from deniable.privacy.losses.discrete_gaussian import shift_law
from deniable.privacy.pld.law import UNIT, LossLaw
from deniable.privacy.pld.laws import (
    BoundedRangeLaw,
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    LaplaceLaw,
    NormalLaw,
    randomized_response_law,
)

Truth = Callable[[mpmath.mpf], tuple[mpmath.mpf, mpmath.mpf]]


def normal(mu: float) -> Truth:
    """P(L > l), Q(L > l) for N(mu, 1) against N(0, 1)."""
    m = mpmath.mpf(mu)
    return lambda x: (mpmath.ncdf(m / 2 - x / m), mpmath.ncdf(-m / 2 - x / m))


def laplace(limit: float) -> Truth:
    e = mpmath.mpf(limit)
    return lambda x: (1 - mpmath.exp((x - e) / 2) / 2, mpmath.exp(-(x + e) / 2) / 2)


def bounded_range(limit: float) -> Truth:
    def tails(x: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        big = mpmath.exp(limit)
        root = mpmath.sqrt(big)
        share = root * (root - mpmath.exp(x / 2)) / (big - 1)
        return share, share * mpmath.exp(-x / 2) / root

    return tails


@pytest.mark.parametrize(
    ("law", "truth", "low", "high"),
    [
        *[(NormalLaw(mu), normal(mu), -8 * mu, 35 * mu) for mu in (1e-4, 0.01, 0.3, 1.0, 4.0, 11.0)],
        *[(LaplaceLaw(e), laplace(e), -e, e) for e in (1e-6, 0.1, 1.0, 20.0)],
        *[(BoundedRangeLaw(e), bounded_range(e), -e, e) for e in (1e-3, 0.1, 1.0, 20.0)],
    ],
)
def test_tails_are_within_half_of_the_stated_error(law: LossLaw, truth: Truth, low: float, high: float) -> None:
    """Half: the other half is the margin for machines whose exp and erfc are a little worse."""
    places = np.linspace(low, high, 203)[1:-1]
    found = law.above(places)
    slack = law.slack(max(abs(low), abs(high)))
    with mpmath.workdps(60):
        for place, p, q, error in zip(places, found.p, found.q, found.error, strict=True):
            for value, way in ((p, 0), (q, 1)):
                if value < 1e-280:
                    continue
                ends = sorted(truth(mpmath.mpf(place) + shift)[way] for shift in (-slack, slack))
                assert ends[0] * (1 - error / 2) <= mpmath.mpf(value) <= ends[1] * (1 + error / 2), (place, way)


@pytest.mark.parametrize(
    "law",
    [NormalLaw(0.7), LaplaceLaw(1.3), BoundedRangeLaw(0.9), DiscreteLaplaceLaw(3.0, 4), shift_law(Fraction(5), 2)],
)
def test_the_law_below_is_that_of_the_reversed_pair(law: LossLaw) -> None:
    """All of these are symmetric: L under P is distributed as -L under Q. And both tails make 1."""
    places = np.linspace(-1.21, 1.21, 60)
    above, below, mirrored = law.above(places), law.below(places), law.above(-places)
    assert np.allclose(below.p, mirrored.q, rtol=1e-12)
    assert np.allclose(below.q, mirrored.p, rtol=1e-12)
    assert np.allclose(above.p + below.p, 1, rtol=1e-12)
    assert np.allclose(above.q + below.q, 1, rtol=1e-12)


def test_the_laws_imply_the_published_curves() -> None:
    """delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon), against curves that were proved otherwise."""
    reach = of_count(rows=4, groups=1, relation=AddRemove)
    cases = [
        (LaplaceLaw(1.25), LaplaceLoss("0.8")),
        (randomized_response_law(0.7), PureLoss("0.7")),
        (DiscreteLaplaceLaw(3.0, 4), DiscreteLaplaceLoss(3, reach)),
        (shift_law(Fraction(7), 4), DiscreteGaussianLoss(7, reach)),
    ]
    for law, loss in cases:
        for epsilon in (0.0, 0.1, 0.33, 0.5, 0.65):
            found = law.above(np.array([epsilon]))
            value = float(found.p[0] - math.exp(epsilon) * found.q[0])
            assert value == pytest.approx(loss.delta(epsilon).upper, rel=1e-9)


def test_the_bounded_range_curve_is_the_best_of_the_two_point_pairs() -> None:
    """Losses t and t - e have P(t) = (E - e^t)/(E - 1); the curve is their upper envelope over t."""
    e, x = 1.5, 0.4
    best = max((math.exp(e) - math.exp(t)) / math.expm1(e) * (1 - math.exp(x - t)) for t in np.linspace(x, e, 100_001))
    found = BoundedRangeLaw(e).above(np.array([x]))
    assert float(found.p[0] - math.exp(x) * found.q[0]) == pytest.approx(best, rel=1e-8)


def test_atoms_have_the_tails_of_their_law() -> None:
    law = DiscreteLaplaceLaw(2.5, 6)
    atoms = law.atoms()
    assert atoms is not None
    for place in np.linspace(-2.6, 2.6, 44):
        kept = atoms.losses > place
        found = law.above(np.array([place]))
        assert found.p[0] == pytest.approx(atoms.p[kept].sum(), rel=1e-13)
        assert found.q[0] == pytest.approx(atoms.q[kept].sum(), rel=1e-13)


def test_the_table_of_a_discrete_gaussian_holds_its_far_tail() -> None:
    """P(L > l) at 30 sigma, summed in 60 digits."""
    law = shift_law(Fraction(4), 1)
    assert isinstance(law, DiscreteGaussianLaw)
    place = 15.0  # (1 - 2 y) / 8 > 15 from y <= -60
    with mpmath.workdps(60):
        weigh = lambda k: mpmath.exp(-(mpmath.mpf(k) ** 2) / 8)  # noqa: E731
        truth = mpmath.fsum(weigh(k) for k in range(60, 200)) / mpmath.fsum(weigh(k) for k in range(-200, 200))
    found = law.above(np.array([place]))
    assert abs(found.p[0] / float(truth) - 1) <= found.error[0]
    assert found.error[0] < 1e4 * UNIT


def test_the_likely_losses_of_a_discrete_gaussian_are_not_called_all() -> None:
    """A move by 10 at sigma = 1/2: floats end inside the table, and what is left out is below what is stated."""
    law = shift_law(Fraction(1, 4), 10)
    assert law.atoms() is None
    found = law.likely()
    assert found is not None
    atoms, rest = found
    assert atoms.p.min() > 1e-285
    assert atoms.losses[-1] - atoms.losses[0] == pytest.approx(law.spacing * (atoms.losses.size - 1), rel=1e-14)
    with mpmath.workdps(400):
        weigh = lambda k: mpmath.exp(-2 * mpmath.mpf(k) ** 2)  # noqa: E731
        whole = mpmath.fsum(weigh(k) for k in range(-60, 61))
        kept = [round((10 - loss / law.spacing * 2) / 2) for loss in atoms.losses.tolist()]
        for place, p in zip(kept, atoms.p.tolist(), strict=True):
            assert abs(p / (weigh(place) / whole) - 1) <= atoms.error
        assert mpmath.fsum(weigh(k) for k in range(-60, 61) if k not in kept) / whole < rest
    assert shift_law(Fraction(10**5), 1).likely() is None
