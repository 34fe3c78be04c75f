"""Textbook formulas for the sigma of real Gaussian noise, for teaching.

Releases are calibrated by `gaussian_sigma_squared`, for the discrete law that is drawn.
"""

from collections.abc import Callable
from fractions import Fraction

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE
from deniable.numbers.rationals import Real, nonnegative_rational, positive_rational, probability
from deniable.privacy.notions.gaussian_dp import largest_mu_squared


def classical_gaussian_sigma(*, l2: Real, epsilon: Real, delta: Real) -> float:
    """Return the textbook sigma of real Gaussian noise, for epsilon in (0, 1).

    It is l2 sqrt(2 ln(1.25/delta)) / epsilon, rounded up, and more than needed.

    Args:
        l2: the l2 sensitivity, in the unit of the aggregate; sigma is in the same unit.
        epsilon: in (0, 1).
        delta: in (0, 1).

    Guarantee: real Gaussian noise of this sigma is (epsilon, delta)-DP.
    Source: Dwork, Roth (2014), "The Algorithmic Foundations of Differential Privacy", Theorem A.1.
    Raises: UnprovedError for epsilon >= 1, where the theorem says nothing and, from 4.5 to 10 on, is false.

    >>> print(f"{classical_gaussian_sigma(l2=1, epsilon='0.5', delta='1e-6'):.2f}")
    10.60
    """
    change, limit, failed = _target(l2, positive_rational("epsilon", epsilon), delta)
    if limit >= 1:
        raise UnprovedError(
            f"the classical formula is proved for epsilon < 1, got {epsilon!r}, and false for large epsilon. "
            "Use analytic_gaussian_sigma, which is exact for every epsilon."
        )
    return _above(lambda: ball(change) * (2 * ball(Fraction(5, 4) / failed).log()).sqrt() / ball(limit))


def simple_gaussian_sigma(*, l2: Real, epsilon: Real, delta: Real) -> float:
    """Return a sigma of real Gaussian noise by zCDP, for every epsilon > 0.

    It is l2 (sqrt(2 L) + sqrt(2 L + 2 epsilon)) / (2 epsilon) with L = ln(1/delta), rounded up.

    Args:
        l2: the l2 sensitivity, in the unit of the aggregate; sigma is in the same unit.
        epsilon: above 0.
        delta: in (0, 1).

    Guarantee: rho-zCDP with rho = l2^2 / (2 sigma^2) gives (rho + 2 sqrt(rho L), delta)-DP, and this sigma makes that
        epsilon.
    Source: Bun, Steinke (2016), arXiv:1605.02065, for the conversion.

    >>> print(f"{simple_gaussian_sigma(l2=1, epsilon='0.5', delta='1e-6'):.2f}")
    10.61
    """
    change, limit, failed = _target(l2, positive_rational("epsilon", epsilon), delta)

    def formula() -> Arb:
        twice = -2 * ball(failed).log()
        return ball(change) * (twice.sqrt() + (twice + 2 * ball(limit)).sqrt()) / (2 * ball(limit))

    return _above(formula)


def analytic_gaussian_sigma(*, l2: Real, epsilon: Real, delta: Real) -> float:
    """Return the least sigma of real Gaussian noise that is (epsilon, delta)-DP.

    It has 12 digits, rounded up. It must not be used for the discrete law, which may need more (errata of the sources,
    E92).

    Args:
        l2: the l2 sensitivity, in the unit of the aggregate; sigma is in the same unit.
        epsilon: at least 0.
        delta: in (0, 1).

    Guarantee: Phi(l2/(2 sigma) - epsilon sigma/l2) - e^epsilon Phi(-l2/(2 sigma) - epsilon sigma/l2) <= delta.
    Source: Balle, Wang (2018), arXiv:1805.06530.

    >>> print(f"{analytic_gaussian_sigma(l2=1, epsilon='0.5', delta='1e-6'):.2f}")
    8.06
    """
    change, limit, failed = _target(l2, nonnegative_rational("epsilon", epsilon), delta)
    mu_squared = largest_mu_squared(limit, failed)
    return _above(lambda: ball(change**2 / mu_squared).sqrt())


def _target(l2: Real, epsilon: Fraction, delta: Real) -> tuple[Fraction, Fraction, Fraction]:
    """Return l2, epsilon and delta, checked."""
    change = positive_rational("l2", l2)
    failed = probability("delta", delta)
    if failed == 0:
        raise InvalidParameterError(f"delta must be > 0 for Gaussian noise, got {delta!r}. Use Laplace for delta = 0.")
    return change, epsilon, failed


def _above(formula: Callable[[], Arb]) -> float:
    """Return the upper end of a certified formula."""
    return certified(formula, within=NONNEGATIVE).upper
