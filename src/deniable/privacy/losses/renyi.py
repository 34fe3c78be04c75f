"""Loss known by some of its Rényi divergences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import nonnegative_rational, positive_rational
from deniable.privacy.notions.conversion import delta_of_divergences
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class RenyiStatement(Statement):
    """Loss of any mechanism with bounded Rényi divergences, known by nothing else.

    Args:
        orders: Rényi orders above 1.
        divergences: a bound on the divergence of each order.

    Guarantee: delta at most the best conversion of one order, and at least the curve of Gaussian noise with mu^2 the
        least 2 divergence/order, which is one of these mechanisms. Between the orders (order - 1) divergence is convex.
    Source: Mironov (2017), arXiv:1702.07476; Asoodeh et al. (2020), arXiv:2001.05990; docs/theory/privacy/notions.md.

    >>> from deniable.privacy import RenyiLoss
    >>> print(f"{RenyiLoss([2, 8], ['0.1', '0.5']).epsilon('1e-6').upper:.2f}")
    2.04
    """

    kind: ClassVar[str] = "renyi"
    words: ClassVar[Mapping[str, str]] = {"bounds": "divergences"}
    orders: tuple[Fraction, ...]
    bounds: tuple[Fraction, ...]
    failing_rho = None
    mu_squared = None

    def __init__(self, orders: Iterable[object], divergences: Iterable[object]) -> None:
        given = [positive_rational("order", order) for order in orders]
        bounds = [nonnegative_rational("divergence", value) for value in divergences]
        if not given or len(given) != len(bounds) or len(set(given)) < len(given):
            raise InvalidParameterError(
                "orders and divergences must be lists of one length, each order once, "
                f"got {len(given)} orders and {len(bounds)} divergences"
            )
        if min(given) <= 1:
            raise InvalidParameterError(f"orders must be > 1, got {min(given)}")
        pairs = sorted(zip(given, bounds, strict=True))
        read_fields(self, orders=tuple(order for order, _ in pairs), bounds=tuple(value for _, value in pairs))

    def divergence(self, order: Fraction) -> Interval:
        """Return bounds on the greatest divergence of this order that is allowed.

        Infinite above all orders.
        """
        lower = Interval.around(order * self._least_mu_squared / 2).lower
        points = [(Fraction(1), Fraction(0)), *((a, (a - 1) * value) for a, value in self._falling())]
        for (start, low), (end, high) in pairwise(points):
            if order <= end:
                share = (order - start) / (end - start)
                value = (low + share * (high - low)) / (order - 1) if order > 1 else high / (end - 1)
                upper = Interval.around(value).upper
                return Interval(min(lower, upper), upper)
        return Interval(lower, float("inf"))

    def divergences(self, order: Fraction) -> Directions:
        """Return bounds on the divergences, for both directions."""
        return both_ways(self.divergence(order))

    def _falling(self) -> list[tuple[Fraction, Fraction]]:
        """Return the points, each divergence at most those of greater orders.

        It increases with the order.
        """
        points = []
        smallest_bound = self.bounds[-1]
        for order, value in zip(reversed(self.orders), reversed(self.bounds), strict=True):
            smallest_bound = min(smallest_bound, value)
            points.append((order, smallest_bound))
        return points[::-1]

    @property
    def _least_mu_squared(self) -> Fraction:
        """Value of mu^2 of Gaussian noise with these divergences."""
        return min(2 * value / order for order, value in zip(self.orders, self.bounds, strict=True))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by the best conversion above, and Gaussian noise below."""
        upper = delta_of_divergences(zip(self.orders, self.bounds, strict=True), epsilon)
        return Interval(min(gaussian_delta(self._least_mu_squared, epsilon).lower, upper), upper)

    @property
    def failing_epsilon(self) -> Fraction | None:
        return None if any(self.bounds) else Fraction(0)
