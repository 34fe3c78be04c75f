"""Places: planar Laplace noise on a public grid, and remapping."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.base import Released
from deniable.noise import planar
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, exact_rational, positive_rational, probability, strict_rational
from deniable.rows import Container, floats, without_rows
from deniable.variants.kernel import normalised
from deniable.variants.metric import Metric, MetricLoss, Point, finite, point


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace:
    """Report a place with noise of density proportional to e^(-epsilon distance), on a public grid in a public region.

    Args:
        epsilon: per unit of distance, > 0; step: of the grid of reports.
        lower: (x, y) of the region's corner; upper likewise. Coordinates must be lengths on a plane, not degrees.
            Places and reports outside count as the nearest inside; what is no number counts as the middle.
        unit: of length.

    Guarantee: `loss`, exactly: grid and region are functions of an ideal draw. Proof: docs/theory/variants/places.md.
    Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi (2013), arXiv:1212.1984.

    >>> from deniable.variants import PlanarLaplace
    >>> mechanism = PlanarLaplace(epsilon="0.01", step=10, lower=(0, 0), upper=(20_000, 20_000), unit="m")
    >>> report = mechanism.release([[4_120, 7_300]]).value
    >>> mechanism.expected_error, round(mechanism.radius(0.95))
    (200.0, 481)
    """

    epsilon: Real
    step: Real
    lower: tuple[Real, Real]
    upper: tuple[Real, Real]
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("epsilon", "step"):
            object.__setattr__(self, name, positive_rational(name, getattr(self, name)))
        (low, high, step), _ = self._facts, self.loss
        if len(low) != 2 or len(high) != 2 or any(a + step > b for a, b in zip(low, high, strict=True)):
            raise InvalidParameterError("lower and upper must be two numbers each, upper at least a step above lower")
        if max(abs(side) for side in (*low, *high)) / step > 2**45:
            raise InvalidParameterError("the region must have at most 2^45 steps. Choose a larger step.")
        strict_rational("1 / (epsilon step)", self.scale / step, lower=planar.SMALLEST, upper=planar.LARGEST)

    @property
    def scale(self) -> Fraction:
        """1 / epsilon, in the unit of length."""
        return 1 / exact_rational("epsilon", self.epsilon)

    @property
    def _facts(self) -> tuple[Point, Point, Fraction]:
        return point(self.lower), point(self.upper), exact_rational("step", self.step)

    @property
    def loss(self) -> MetricLoss:
        """Epsilon times the Euclidean distance, for one report."""
        return MetricLoss(epsilon=self.epsilon, metric=Metric(norm="l2", unit=self.unit))

    @property
    def expected_error(self) -> float:
        """2 / epsilon: the mean distance of a report before grid and region move it."""
        return 2 * float(self.scale)

    def radius(self, confidence: Real) -> float:
        """The distance that reports of places inside keep to with this probability at least: a Gamma(2) quantile."""
        from scipy.special import gammaincinv

        inside = float(gammaincinv(2.0, float(probability("confidence", confidence)))) * float(self.scale)
        return inside + float(self._facts[2]) / math.sqrt(2)

    def release(self, places: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Released[Floats]:
        """Report each place, as float64 of shape (places, 2).

        Args:
            places: secret; a table of x and y from any container.
            ledger: for `loss.privacy_unit`, charged for every place before one is read; None charges nothing.
            bits: leave it out, except in tests.
        """
        low, high, step = self._facts
        payment = Payment(ledger, text=f"places by {self}", bits=bits, protects=self.loss.privacy_unit)
        if ledger is not None:
            _table(without_rows(places))
        payment.charge_each(self.loss.booked, places)
        indices = planar.sample(places=self._inside(_table(places)), scale=self.scale, step=step, bits=bits)
        ends = [math.ceil(side / step) for side in low], [math.floor(side / step) for side in high]
        return Released(np.clip(indices, *ends).astype(np.float64) * float(step), bits.safe)

    def remap(self, reports: ArrayLike, *, points: ArrayLike, prior: ArrayLike) -> Floats:
        """Each report moved to the public point of least expected distance, given public weights: post-processing."""
        seen, places = finite("reports", reports, (None, 2)), finite("points", points, (None, 2))
        between = np.linalg.norm(places[:, None] - places[None], axis=2)
        weights, found, block = normalised(prior, len(places)), np.empty_like(seen), max(1, 2**22 // len(places))
        for start in range(0, len(seen), block):
            distances = np.linalg.norm(seen[start : start + block, None] - places[None], axis=2) / float(self.scale)
            distances -= distances[:, weights > 0].min(axis=1, keepdims=True)
            found[start : start + block] = places[(weights * np.exp(-distances) @ between).argmin(axis=1)]
        return found

    def gap(self, place: object, output: ArrayLike) -> Fraction:
        """SECRET: the maximum norm between a place and a report, which moves no further than the place does."""
        inside = self._inside(floats.table([place], "place", columns=2)[0])[0]
        return max(
            abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(inside, np.asarray(output), strict=True)
        )

    def _inside(self, table: Floats) -> Floats:
        """Finite places of the region."""
        ends = np.array(self._facts[:2], dtype=np.float64)
        return np.clip(np.where(np.isnan(table), ends.mean(axis=0), table), ends[0], ends[1])


def _table(places: object) -> Floats:
    table, _ = floats.table(places, "places", columns=2)
    if table.shape[1] != 2:
        raise InvalidParameterError(f"places must have two columns, x and y, got {table.shape[1]}")
    return table
