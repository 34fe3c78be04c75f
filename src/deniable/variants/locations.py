"""Locations: planar Laplace noise on a public grid, and remapping."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.base import Released
from deniable.noise import planar
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, exact_rational, positive_rational, probability, shown, strict_rational
from deniable.rows import Container, floats, without_rows
from deniable.variants.kernel import normalised
from deniable.variants.metric import Metric, MetricLoss, Point, finite, point

_CELLS_AT_ONCE = 2**22  # of a table of distances: 32 MB


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace:
    """Report a location with planar Laplace noise, on a grid in a public region.

    The noise has a density proportional to e^(-epsilon distance).

    Args:
        epsilon: per unit of distance, > 0.
        step: of the grid of reports, in the unit of length.
        bounds: the corners ((x, y), (x, y)) of the region, lower and upper. Coordinates must be lengths on a plane, not
            degrees. Locations and reports outside count as the nearest inside; entries that are not numbers count as
            the middle.
        unit: of length, such as "m".

    Guarantee: `privacy_loss`, exactly: grid and region are functions of an ideal draw. Proof:
        docs/theory/variants/locations.md.
    Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi (2013), arXiv:1212.1984.

    >>> from deniable.variants import PlanarLaplace
    >>> city = ((0, 0), (20_000, 20_000))
    >>> mechanism = PlanarLaplace(epsilon="0.01", step=10, bounds=city, unit="m")
    >>> report = mechanism.release([[4_120, 7_300]]).value
    >>> mechanism.expected_error, round(mechanism.radius(0.95))
    (200.0, 481)
    """

    epsilon: Annotated[Real, positive_rational]
    step: Annotated[Real, positive_rational]
    bounds: tuple[tuple[Real, Real], tuple[Real, Real]]
    unit: str = ""

    def __post_init__(self) -> None:
        read_fields(self)
        if not isinstance(self.bounds, list | tuple) or len(self.bounds) != 2:
            raise InvalidParameterError(
                f"bounds must be the corners of the region, such as ((0, 0), (900, 900)), got {shown(self.bounds)}"
            )
        low, high, step = self._facts
        _ = self.privacy_loss
        if len(low) != 2 or len(high) != 2 or any(a + step > b for a, b in zip(low, high, strict=True)):
            raise InvalidParameterError(
                "bounds must be two corners of two numbers each, the upper at least a step above the lower"
            )
        if max(abs(side) for side in (*low, *high)) / step > 2**45:
            raise InvalidParameterError("bounds must be within 2^45 steps of 0. Choose a larger step.")
        strict_rational("1 / (epsilon step)", self.scale / step, lower=planar.MIN_SCALE, upper=planar.MAX_SCALE)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, 1 / epsilon, in the unit of length."""
        return 1 / exact_rational("epsilon", self.epsilon)

    @property
    def _facts(self) -> tuple[Point, Point, Fraction]:
        """Lower corner, upper corner and step, exact."""
        lower, upper = self.bounds
        return point(lower), point(upper), exact_rational("step", self.step)

    @property
    def privacy_loss(self) -> MetricLoss:
        """Loss of one report: epsilon times the Euclidean distance."""
        return MetricLoss(epsilon=self.epsilon, metric=Metric(norm="l2", unit=self.unit))

    @property
    def expected_error(self) -> float:
        """Mean distance of a report, 2 / epsilon, before grid and region move it."""
        return 2 * float(self.scale)

    def radius(self, confidence: Real) -> float:
        """Return a distance that a report of a location inside keeps to.

        It is a quantile of Gamma(2), in the unit of length.

        Args:
            confidence: probability that the report is within the distance, at least.
        """
        from scipy.special import gammaincinv

        inside = float(gammaincinv(2.0, float(probability("confidence", confidence)))) * float(self.scale)
        return inside + float(self._facts[2]) / math.sqrt(2)

    def release(self, locations: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Released[Floats]:
        """Report each location, as float64 of shape (locations, 2).

        Args:
            locations: secret; a table of x and y from any container.
            ledger: for `privacy_loss.privacy_unit`, charged for every location before one is read; None charges
                nothing.
            bits: leave it out, except in tests.
        """
        low, high, step = self._facts
        loss = self.privacy_loss
        payment = Payment(ledger, text=f"places by {self.name_in_ledgers}", bits=bits, protects=loss.privacy_unit)
        if ledger is not None:
            _table(without_rows(locations))
        payment.charge_each(loss.charged, locations)
        indices = planar.sample(locations=self._inside(_table(locations)), scale=self.scale, step=step, bits=bits)
        ends = [math.ceil(side / step) for side in low], [math.floor(side / step) for side in high]
        return Released(np.clip(indices, *ends).astype(np.float64) * float(step), bits.safe)

    def remap(self, reports: ArrayLike, *, points: ArrayLike, prior: ArrayLike) -> Floats:
        """Move each report to the likeliest public point, which is post-processing.

        That is the point of least expected distance.

        Args:
            reports: shape (reports, 2).
            points: shape (points, 2), candidates.
            prior: public weights >= 0, one for each point.

        Returns: shape (reports, 2).
        """
        seen = finite("reports", reports, (None, 2))
        candidates = finite("points", points, (None, 2))
        between = np.linalg.norm(candidates[:, None] - candidates[None], axis=2)
        weights = normalised(prior, len(candidates))
        moved = np.empty_like(seen)
        block = max(1, _CELLS_AT_ONCE // len(candidates))
        for start in range(0, len(seen), block):
            distances = np.linalg.norm(seen[start : start + block, None] - candidates[None], axis=2) / float(self.scale)
            distances -= distances[:, weights > 0].min(axis=1, keepdims=True)
            moved[start : start + block] = candidates[(weights * np.exp(-distances) @ between).argmin(axis=1)]
        return moved

    @property
    def name_in_ledgers(self) -> str:
        """Name of this mechanism in ledgers; it must not change.

        Ledgers recall a report by it.
        """
        epsilon = exact_rational("epsilon", self.epsilon)
        lower, upper = self.bounds
        return (
            f"PlanarLaplace(epsilon={Fraction(epsilon)!r}, step={Fraction(self._facts[2])!r}, lower={lower!r}, "
            f"upper={upper!r}, unit={self.unit!r})"
        )

    def gap(self, location: object, output: ArrayLike) -> Fraction:
        """Return the distance between a location and a report. SECRET.

        It is the maximum norm, and changes by no more than the location moves.

        Args:
            location: x and y.
            output: x and y of a report.
        """
        inside = self._inside(floats.table([location], "location", columns=2)[0])[0]
        return max(
            abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(inside, np.asarray(output), strict=True)
        )

    def _inside(self, table: Floats) -> Floats:
        """Return finite locations in the region, shape (locations, 2)."""
        ends = np.array(self._facts[:2], dtype=np.float64)
        return np.clip(np.where(np.isnan(table), ends.mean(axis=0), table), ends[0], ends[1])


def _table(locations: object) -> Floats:
    """Return locations, shape (locations, 2)."""
    table, _ = floats.table(locations, "locations", columns=2)
    if table.shape[1] != 2:
        raise InvalidParameterError(f"locations must have two columns, x and y, got {table.shape[1]}")
    return table
