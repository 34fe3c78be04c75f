"""Three sigmas for real Gaussian noise: published values, and where the classical one fails."""

import math
from fractions import Fraction

import mpmath
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    ConcentratedLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    Relation,
    of_count,
)
from deniable.privacy.notions.classical import (
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    simple_gaussian_sigma,
)


def classical(epsilon: float, delta: float) -> float:
    """The formula itself, with no question asked."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def true_delta(sigma: float, epsilon: float) -> float:
    """Of real Gaussian noise at sensitivity 1, by the formula of Balle and Wang in mpmath."""
    with mpmath.workdps(40):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(1 / (2 * s) - e * s) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * s) - e * s))


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        ("1", "1e-5", 3.7306316348159418322),
        ("10", "1e-5", 0.49988861970900851464),
        ("0", "1e-2", 39.893183581616519141),
    ],
)
def test_golden_analytic_sigmas(epsilon: str, delta: str, sigma: float) -> None:
    """Golden G7, G9, G11."""
    found = analytic_gaussian_sigma(l2=1, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(sigma, rel=1e-9)
    assert Fraction(GaussianLoss(Fraction(found)).delta(epsilon).upper) <= Fraction(delta)
    assert true_delta(found * (1 - 1e-9), float(epsilon)) > float(delta)


def test_the_golden_simple_sigma() -> None:
    """Golden G13; and the zCDP bound that it inverts."""
    found = simple_gaussian_sigma(l2=1, epsilon=1, delta="1e-5")
    assert found == pytest.approx(4.9005551686284166461, rel=1e-9)
    rho = 1 / (2 * found**2)
    assert rho + 2 * math.sqrt(rho * math.log(1e5)) == pytest.approx(1, rel=1e-12)
    assert ConcentratedLoss(Fraction(rho)).epsilon("1e-5").upper <= 1


def test_sigmas_scale_with_the_sensitivity_and_are_ordered() -> None:
    for formula in (analytic_gaussian_sigma, classical_gaussian_sigma, simple_gaussian_sigma):
        one, three = (formula(l2=size, epsilon="1/2", delta="1e-6") for size in (1, 3))
        assert three == pytest.approx(3 * one, rel=1e-9)
    target = {"l2": 1, "epsilon": "1/2", "delta": "1e-6"}
    assert analytic_gaussian_sigma(**target) < classical_gaussian_sigma(**target)
    assert classical_gaussian_sigma(**target) == pytest.approx(classical(0.5, 1e-6), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1, "1.0001", 50])
def test_the_classical_formula_is_refused_from_epsilon_1_on(epsilon: object) -> None:
    with pytest.raises(UnprovedError, match="analytic_gaussian_sigma"):
        classical_gaussian_sigma(l2=1, epsilon=epsilon, delta="1e-5")


@pytest.mark.parametrize(("delta", "last"), [(1e-5, 8.4198), (1e-2, 6.772), (0.49, 4.49)])
def test_the_classical_formula_fails_for_large_epsilon(delta: float, last: float) -> None:
    """E20: it survives up to `last` and fails from there on; below 1 it holds."""
    assert true_delta(classical(last - 0.01, delta), last - 0.01) <= delta
    assert true_delta(classical(last + 0.01, delta), last + 0.01) > delta
    assert true_delta(classical(0.9, delta), 0.9) <= delta


def test_how_badly_it_fails() -> None:
    """E20: at epsilon 20 the true delta is 153 times the stated 10^-5; at epsilon 10 it is 0.0406 for 0.01."""
    assert true_delta(classical(20, 1e-5), 20) == pytest.approx(1.53e-3, rel=5e-3)
    assert true_delta(classical(10, 1e-2), 10) == pytest.approx(0.0406, rel=5e-3)


def test_the_dropped_term_has_the_wrong_sign() -> None:
    """E21: with -1/(2 sigma) the tail bound is 1.312e-5, above delta = 1e-5; without it, 8e-6. The claim is true thanks
    to slack alone: the true delta is 4.11e-8."""
    sigma = classical(1, 1e-5)
    with_term, without = (math.exp(-((sigma - term) ** 2) / 2) for term in (1 / (2 * sigma), 0))
    assert with_term == pytest.approx(1.312e-5, rel=1e-3)
    assert without == pytest.approx(8e-6, rel=1e-9)
    assert true_delta(sigma, 1) == pytest.approx(4.11e-8, rel=2e-3)
    ours = simple_gaussian_sigma(l2=1, epsilon=1, delta="1e-5")  # keeps the term: its tail bound is delta itself
    assert math.exp(-((ours - 1 / (2 * ours)) ** 2) / 2) == pytest.approx(1e-5, rel=1e-9)


def test_the_printed_denominator_gives_no_privacy() -> None:
    """E22: log(1.25/delta) in place of epsilon gives sigma = 0.2064, whose true delta at epsilon = 1 is 0.975."""
    sigma = math.sqrt(2 * math.log(1.25e5)) / (2 * math.log(1.25e5))
    assert sigma == pytest.approx(0.2064, abs=1e-4)
    assert true_delta(sigma, 1) == pytest.approx(0.975, abs=1e-3)
    for formula in (analytic_gaussian_sigma, classical_gaussian_sigma, simple_gaussian_sigma):
        quarter, half, less = (formula(l2=1, epsilon=e, delta=d) for e, d in ((0.25, 1e-5), (0.5, 1e-5), (0.5, 1e-9)))
        assert quarter > 1.7 * half
        assert less > half


def test_the_proof_and_the_definition_disagree_about_the_constant() -> None:
    """E23, delta = 10^-4: sqrt(2 ln(2/delta)) = 4.4505 in the proof, sqrt(2 ln(1.25/delta)) = 4.3436 in the theorem."""
    assert math.sqrt(2 * math.log(2e4)) == pytest.approx(4.4505, abs=1e-4)
    assert classical(1, 1e-4) == pytest.approx(4.3436, abs=1e-4)
    assert classical_gaussian_sigma(l2=1, epsilon="1/2", delta="1e-4") / 2 == pytest.approx(4.3436, abs=1e-4)


def test_gaussian_noise_for_one_number_is_not_slightly_more_than_laplace() -> None:
    """E24: at (1, 10^-5) 2.638 times the deviation of Laplace noise, and growing as delta falls."""
    ratios = [analytic_gaussian_sigma(l2=1, epsilon=1, delta=d) / math.sqrt(2) for d in ("1e-5", "1e-10", "1e-20")]
    assert ratios[0] == pytest.approx(2.638, abs=1e-3)
    assert ratios == sorted(ratios)
    assert ratios[2] > 5


def test_rdp_does_not_give_the_classical_sigma() -> None:
    """E43: at the classical sigma for (1, 10^-5) the conversion from RDP gives 1.01175; the curve itself less."""
    rho = 1 / (2 * classical(1, 1e-5) ** 2)
    best = min(a * rho + math.log(1e5) / (a - 1) for a in (1 + k / 1000 for k in range(1, 60_000)))
    assert best == pytest.approx(1.01175, abs=5e-5)
    assert GaussianLoss(Fraction(classical(1, 1e-5))).epsilon("1e-5").upper < 1


@pytest.mark.parametrize(
    ("sigma_squared", "epsilon", "exact", "real"),
    [(2, "0.5", 0.129357, 0.123725), (2, "1", 0.042812, 0.039633), (16, "0.5", 0.0027529, 0.0027089)],
)
def test_the_analytic_sigma_is_not_for_integers(sigma_squared: int, epsilon: str, exact: float, real: float) -> None:
    """E92: the discrete curve above the continuous one."""
    reach = of_count(rows=1, groups=1, relation=Relation.ADD_REMOVE)
    assert DiscreteGaussianLoss(sigma_squared, reach).delta(epsilon).upper == pytest.approx(exact, rel=2e-5)
    assert true_delta(math.sqrt(sigma_squared), float(epsilon)) == pytest.approx(real, rel=2e-5)


@pytest.mark.parametrize("formula", [analytic_gaussian_sigma, classical_gaussian_sigma, simple_gaussian_sigma])
@pytest.mark.parametrize(
    "given", [{"l2": 0}, {"delta": 0}, {"delta": 1}, {"delta": float("nan")}, {"epsilon": -1}, {"epsilon": "x"}]
)
def test_bad_targets_are_refused(formula: object, given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(given))} must be"):
        formula(**{"l2": 1, "epsilon": "1/2", "delta": "1e-5", **given})  # type: ignore[operator]
