"""Places: planar Laplace on a public grid, remapping, and journeys with a budget."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import BudgetExceededError, InvalidParameterError, MissingExtraError
from deniable.mechanisms.base import Released
from deniable.noise import planar, rounded
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, exact_rational, positive_rational, probability
from deniable.rows import floats
from deniable.variants.metric import Metric, MetricLoss, Point, point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
_BLOCK = 1 << 22  # distances that are held at a time


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace:
    """Report a place with noise of density proportional to e^(-epsilon distance), on a public grid in a public region.

    Args:
        epsilon: per unit of distance, > 0: ln(4) / 200 lets beliefs about places 200 m apart change by a factor of 4.
        step: of the grid of reports; multiples of it are reported.
        lower: (x, y) of the region's corner; upper likewise. Coordinates must be lengths on a plane, not degrees.
            Places outside count as the nearest one inside, and so do reports; what is no number counts as the middle.
        unit: of length.

    Guarantee: `loss`, exactly: moving a place to the nearest one of a rectangle brings no two further apart, and grid,
        region and remapping are functions of an ideal draw of continuous noise. No finer epsilon pays for the rounding.
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
        for name in ("lower", "upper"):
            object.__setattr__(self, name, point(getattr(self, name)))
        low, high, step = self._facts
        if len(low) != 2 or len(high) != 2 or any(a + step > b for a, b in zip(low, high, strict=True)):
            raise InvalidParameterError("lower and upper must be two numbers each, upper at least a step above lower")
        if (
            max(abs(side) for side in (*low, *high)) / step > 2**45
            or not Fraction(1, 2**20) <= self.scale / step <= 2**40
        ):
            raise InvalidParameterError("the region must have at most 2^45 steps and 1/epsilon 2^-20 to 2^40 of them")

    @property
    def scale(self) -> Fraction:
        """1 / epsilon, in the unit of length."""
        return 1 / exact_rational("epsilon", self.epsilon)

    @property
    def _facts(self) -> tuple[Point, Point, Fraction]:
        return point(self.lower), point(self.upper), exact_rational("step", self.step)

    @property
    def loss(self) -> MetricLoss:
        """Epsilon times the Euclidean distance; one report."""
        return MetricLoss(epsilon=self.epsilon, metric=Metric(norm="l2", unit=self.unit))

    @property
    def expected_error(self) -> float:
        """2 / epsilon: the mean distance of a report before grid and region move it."""
        return 2 * float(self.scale)

    def radius(self, confidence: Real) -> float:
        """The distance that a report of a place of the region keeps to with this probability, or a higher one.

        The quantile of a Gamma(2) law, where (1 + epsilon r) e^(-epsilon r) is left, and half a diagonal of the grid.
        """
        from scipy.special import gammaincinv

        inside = float(gammaincinv(2.0, float(probability("confidence", confidence)))) * float(self.scale)
        return inside + float(self._facts[2]) / math.sqrt(2)

    def release(self, places: object, *, bits: Bits = SECURE) -> Released[Floats]:
        """One report a place: multiples of the step as float64 of shape (places, 2).

        Args:
            places: secret; a table with the columns x and y in this order, from any container.
            bits: leave it out, except in tests.
        """
        low, high, step = self._facts
        table, _ = floats.table(places, "places", columns=2)
        indices = planar.sample(places=self._inside(table), scale=self.scale, step=step, bits=bits)
        first = [math.ceil(side / step) for side in low]
        last = [math.floor(side / step) for side in high]
        return Released(np.clip(indices, first, last).astype(np.float64) * float(step), bits.safe)

    def remap(self, reports: ArrayLike, *, points: ArrayLike, prior: ArrayLike) -> Floats:
        """Each report moved to the point of least expected distance given the prior: post-processing of public values.

        Args:
            reports: shape (reports, 2).
            points: public places, shape (points, 2); the result is some of them.
            prior: public weights >= 0 of the points.
        """
        seen, places = np.asarray(reports, dtype=np.float64), np.asarray(points, dtype=np.float64)
        weights = np.asarray(prior, dtype=np.float64)
        if places.ndim != 2 or weights.shape != places.shape[:1] or not (weights >= 0).all() or not weights.sum() > 0:
            raise InvalidParameterError("prior must be one weight >= 0 a point, some above 0")
        between = np.linalg.norm(places[:, None] - places[None], axis=2)
        found = np.empty_like(seen)
        block = max(1, _BLOCK // len(places))
        for start in range(0, len(seen), block):
            distances = np.linalg.norm(seen[start : start + block, None] - places[None], axis=2) / float(self.scale)
            with np.errstate(divide="ignore"):
                logarithms = np.log(weights) - distances
            chances = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
            found[start : start + block] = places[(chances @ between).argmin(axis=1)]
        return found

    def plot(self, reports: ArrayLike, *, cells: int = 64, ax: "Axes | None" = None) -> "Axes":
        """A map of how many reports fell where, with a ruler as long as the 95% radius; needs the extra `plot`."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError("plot() needs matplotlib. Install it: pip install 'deniable[plot]'") from error
        seen, (low, high, _) = np.asarray(reports, dtype=np.float64), self._facts
        sides = [[float(low[i]), float(high[i])] for i in range(2)]
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        _, _, _, shades = ax.hist2d(seen[:, 0], seen[:, 1], bins=cells, range=sides, cmap="viridis", norm="symlog")
        ax.figure.colorbar(shades, ax=ax, label="reports")
        start = sides[0][0] + 0.05 * (sides[0][1] - sides[0][0])
        height = sides[1][0] + 0.05 * (sides[1][1] - sides[1][0])
        ax.plot([start, start + self.radius(0.95)], [height, height], color="white", linewidth=2)
        ax.set(aspect="equal", title=f"95% of reports are within {self.radius(0.95):.4g} {self.unit}".rstrip())
        return ax

    def _inside(self, table: Floats) -> Floats:
        """Finite places of the region; floats next to its corners are rounded inwards alike for all."""
        low, high, _ = self._facts
        ends = np.array([[float(side) for side in corner] for corner in (low, high)])
        return np.clip(np.where(np.isnan(table), ends.mean(axis=0), table), ends[0], ends[1])


class Journey:
    """The reports of one moving person, within a budget that every report draws from.

    Args:
        mechanism: for each report that is drawn anew.
        budget: epsilon per unit of distance for the whole journey.
        test: None: every report is independent. Else epsilon per unit for each test of whether the last report is still
            within `near`; if the noisy test says so, it is repeated, and nothing else is paid.
        near: sides of the square around the last report, halved: the noisy maximum norm is compared with it.

    Guarantee: two journeys that are never further apart than r are told apart by at most `budget` times r. A test asks
        how far, in the maximum norm, the place is from a public report; that moves no faster than the place, so Laplace
        noise of scale 1 / test makes it a mechanism with this loss. What is paid depends on public answers alone, and
        losses that are bounded pointwise add up along every sequence of answers.
    Source: Chatzikokolakis, Palamidessi, Stronati (2014), arXiv:1311.4008, for the predictive mechanism.

    >>> from deniable.variants import Journey, PlanarLaplace
    >>> mechanism = PlanarLaplace(epsilon="0.01", step=10, lower=(0, 0), upper=(20_000, 20_000), unit="m")
    >>> journey = Journey(mechanism, budget="0.05", test="0.001", near=600)
    >>> report = journey.report((4_120, 7_300)).value
    >>> journey.spent.epsilon
    Fraction(1, 100)
    """

    def __init__(
        self, mechanism: PlanarLaplace, *, budget: Real, test: Real | None = None, near: Real | None = None
    ) -> None:
        if (test is None) != (near is None):
            raise InvalidParameterError("a journey that predicts needs both test and near; give both or none")
        self.mechanism = mechanism
        self.budget = MetricLoss(epsilon=positive_rational("budget", budget), metric=mechanism.loss.metric)
        self.spent = MetricLoss(epsilon=0, metric=mechanism.loss.metric)
        self._test = (
            None if test is None else MetricLoss(epsilon=positive_rational("test", test), metric=self.spent.metric)
        )
        self._near = Fraction(0) if near is None else positive_rational("near", near)
        self._last: Released[Floats] | None = None

    @property
    def left(self) -> Fraction:
        """Epsilon per unit of distance that may still be spent."""
        return self.budget.epsilon - self.spent.epsilon

    def report(self, place: object, *, bits: Bits = SECURE) -> Released[Floats]:
        """The next report, of shape (2,); paid before the place is read.

        Raises: BudgetExceededError if a test and a fresh report together would exceed the budget.
        """
        tested = self._last is not None and self._test is not None
        most = self.mechanism.loss + self._test if tested and self._test else self.mechanism.loss
        if most.epsilon > self.left:
            raise BudgetExceededError(
                f"this report may cost epsilon={float(most.epsilon):.4g} per unit of distance, above what is left, "
                f"{float(self.left):.4g}. End the journey, or take a smaller epsilon from its beginning."
            )
        if tested and self._test:
            self.spent += self._test
            if self._last and self._is_near(place, self._last.value, self._test.epsilon, bits):
                return Released(self._last.value, self._last.safe and bits.safe)
        self.spent += self.mechanism.loss
        drawn = self.mechanism.release([place], bits=bits)
        self._last = Released(drawn.value[0], drawn.safe)
        return self._last

    def _is_near(self, place: object, last: Floats, epsilon: Fraction, bits: Bits) -> bool:
        """The noisy test, on exact rationals and a grid of 1/1024 of what it is compared with."""
        table, _ = floats.table([place], "place", columns=2)
        inside = self.mechanism._inside(table)[0]
        grid = self._near / 1024
        gap = max(abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(inside, last, strict=True))
        noisy = rounded.sample(
            rounded.Laplace(), centre=gap / grid, scale=1 / (epsilon * grid), lower=-(2**20), upper=2**20, bits=bits
        )
        return bool(noisy <= 1024)
