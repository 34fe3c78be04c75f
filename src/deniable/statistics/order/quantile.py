"""A quantile, the median among them, by the exponential mechanism on ranks."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, floor, log, sqrt
from typing import ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.rationals import exact_rational, shown
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss
from deniable.privacy.around.restricted import Restricted
from deniable.privacy.losses import PermuteAndFlipLoss
from deniable.release import Estimate, Release
from deniable.release.columns import Bounds
from deniable.statistics.call import in_words
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.choice import choose, reach, window
from deniable.statistics.order.ends import CELLS, lower_end, upper_end
from deniable.statistics.order.flipped import LARGEST_SIZE, flip
from deniable.statistics.order.grid import Grid
from deniable.statistics.order.ranks import around
from deniable.statistics.statistic import Answer, Options, release

LARGEST_DENOMINATOR = 10**6
_LARGEST_RANK = 2**40
_MANY = 1200  # gaps whose widths are taken as equal: an error is too small by 1% then
_LEAST = Fraction(1, 2**40)  # epsilon of one choice


@dataclass(frozen=True, kw_only=True)
class Quantile(OrderStatistic):
    """The value below which this share of the rows lies, with an interval for it.

    The estimate is a point of a public grid, drawn by the exponential mechanism with the distance in ranks as its
    score; by permute-and-flip, which is better, where a declared step makes the grid small. Between two rows ranks are
    counted in parts, so that more epsilon brings it closer than the next row, to what numpy's `quantile` gives. The
    ends of the interval are two more draws, aimed so far below and above that they miss the true quantile with
    probability 1 - interval at most, whatever the data are; they take half of the price.

    Args:
        share: in [0, 1]; read to a denominator of 10^6.
        bounds, interval, step: as for every `OrderStatistic`.

    Guarantee: epsilon-DP for each draw, and bounded range epsilon but for permute-and-flip, with
        rate = epsilon / (2 rows reach), reach = max(q, 1 - q) under add/remove and 1 under replace.
    Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates".
    """

    name: ClassVar[str] = "quantile"
    sides: ClassVar[tuple[int, ...]] = (-1, 1)  # the ends that are drawn: below, above

    share: object

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "share", checked_share(self.share))
        _ = self.epsilons

    @cached_property
    def epsilons(self) -> tuple[Fraction, ...]:
        """The bounded range of the estimate, and of the ends that are drawn."""
        shares = (1,) if self.interval is None else (2, *(1 for _ in self.sides))
        return selections(self._bounding[1], shares)

    @property
    def _interval_share(self) -> str:
        return "half" if len(self.sides) == 2 else "a third"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        first, *others = self.epsilons
        estimate = PermuteAndFlipLoss(first) if self._flips else ExponentialMechanismLoss(first)
        losses = [estimate, *(ExponentialMechanismLoss(epsilon) for epsilon in others)]
        return self.price.stated(self._bounding[0].with_loss([Restricted(loss, self.relation) for loss in losses]))

    @cached_property
    def _flips(self) -> bool:
        """Whether the grid is so small that permute-and-flip is better; for a rho it costs four times as much."""
        small = self.step is not None and self._declared is not None and self._declared.size <= LARGEST_SIZE
        return small and self.price.rho is None and not self.price.delta

    def expected_error(self, size: int) -> float:
        """The root mean squared error of the estimate in ranks, where values are drawn evenly between the bounds."""
        target = float(self._target(size))
        return place_error(self._rate(self.epsilons[0]), target, size, truth=float(self._truth(size)))

    def _rate(self, epsilon: Fraction) -> Fraction:
        """How fast chances fall with the distance in ranks."""
        assert isinstance(self.share, Fraction)
        return epsilon / (2 * self.rows * reach(self.share, self.relation))

    def _target(self, total: int) -> Fraction:
        """The place at which the estimate aims; a public constant from share * total."""
        return self._truth(total)

    def _truth(self, total: int) -> Fraction:
        """The place of the quantile: of n rows, the first stands at 1/2 and the last at n - 1/2."""
        assert isinstance(self.share, Fraction)
        return self.share * (total - 1) + Fraction(1, 2)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        assert isinstance(self.share, Fraction)
        column, grid = self._on_grid(values, units, bits)
        rate, *end_rates = (self._rate(epsilon) for epsilon in self.epsilons)
        target, truth = self._target(column.size), self.share * column.size
        ends = [
            (side, truth + side * margin(slower, self.interval or 0), slower)
            for side, slower in zip(self.sides, end_rates, strict=False)
        ]
        spans = [window(target, rate=rate, size=grid.size)]
        spans += [window(aim, rate=slower, size=CELLS) for _, aim, slower in ends]
        ranks = around(column, grid, min(low for low, _ in spans), max(high for _, high in spans))
        if self._flips:
            code = flip(grid.codes(column), target=target, rate=rate, size=grid.size, bits=bits)
        else:
            end, measure = grid.size - 1, grid.measure()
            code = choose(ranks, target=target, rate=rate, codes=(0, end), measure=measure, between=True, bits=bits)
        low, high = 0, grid.size - 1
        for side, aim, slower in ends:
            if side < 0:
                low = lower_end(ranks, code, target=aim, rate=slower, bits=bits)
            else:
                high = upper_end(ranks, grid.size, code, target=aim, rate=slower, bits=bits)
        known = partial(known_ends, self.interval or 0.0, grid, np.array([low]), np.array([high]))
        estimate = Estimate(name=self.name, estimates=grid.points(np.array([code])), ends=known if ends else None)
        return Answer(parts=(estimate,), notes=self._notes(grid))


@dataclass(frozen=True, kw_only=True)
class Median(Quantile):
    """The quantile at 1/2."""

    name: ClassVar[str] = "median"

    share: object = field(default=Fraction(1, 2), init=False)


@in_words
def quantile(
    values: object,
    share: object,
    *,
    bounds: object,
    interval: float | None = None,
    step: object = None,
    **options: Unpack[Options],
) -> Release:
    """The value below which this share of the rows lies: see `Quantile`.

    >>> import deniable as dn
    >>> answer = dn.statistics.quantile([21, 45, 33, 60], 0.9, bounds=(0, 100), epsilon=1)
    """
    parameters = {"share": share, "bounds": bounds, "interval": interval, "step": step}
    return release(Quantile, values, parameters, options)


@in_words
def median(
    values: object, *, bounds: object, interval: float | None = None, step: object = None, **options: Unpack[Options]
) -> Release:
    """The value in the middle: see `Quantile`.

    >>> import deniable as dn
    >>> answer = dn.statistics.median([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Median, values, {"bounds": bounds, "interval": interval, "step": step}, options)


def checked_share(share: object) -> Fraction:
    """A quantile as a fraction with a denominator of at most 10^6.

    Raises: InvalidParameterError unless it is a number of [0, 1].
    """
    exact = exact_rational("share", share)
    if not 0 <= exact <= 1:
        raise InvalidParameterError(f"share must be in [0, 1], got {share!r}")
    return exact.limit_denominator(LARGEST_DENOMINATOR)


def selections(price: Price, shares: tuple[int, ...]) -> tuple[Fraction, ...]:
    """The epsilons of several exponential mechanisms that cost this much together.

    With epsilon and delta the better of two ways: their epsilons add up to epsilon, or their rhos to what both buy.

    Raises: InvalidParameterError if one is below 2^-40 or above 2^40: races know rates within 2^100, in small units.
    """
    plain = tuple(part.selection() for part in price.split(*shares))
    if not _LEAST <= min(plain) <= max(plain) <= 1 / _LEAST:
        raise InvalidParameterError(
            f"one choice by rank may cost an epsilon between 2^-40 and 2^40, and here it would be {shown(min(plain))}"
        )
    if not price.delta:
        return plain
    shared = tuple(part.selection() for part in price.concentrated().split(*shares))
    return max(plain, shared, key=lambda epsilons: sum(log(epsilon) for epsilon in epsilons))


def margin(rate: Fraction, level: float) -> int:
    """So many ranks from the truth an end is aimed: see `ends`."""
    return min(ceil(log(2 * CELLS / (1 - level)) / float(rate)) + 1, _LARGEST_RANK)


def known_ends(known: float, grid: Grid, low: np.ndarray, high: np.ndarray, level: float) -> Bounds:
    """The ends that were drawn, up to the level that they were drawn for; above it the public bounds."""
    if level <= known:
        return Bounds(grid.values(low), grid.values(high))
    return Bounds(np.full(low.shape, grid.value(0)), np.full(high.shape, grid.value(grid.size - 1)))


def rank_error(rate: Fraction, target: float, size: int, *, truth: float) -> float:
    """The root mean squared distance of gap i from the rank `truth`, where its chance is exp(-rate |i - target|)."""
    reached = min(60 / float(rate), size)
    low, high = min(max(0, floor(target - reached)), size), max(min(size, ceil(target + reached)), 0)
    gaps = np.linspace(low, high, min(high - low, 10_000) + 1)
    away = np.abs(gaps - target)
    chances = np.exp(-float(rate) * (away - away.min()))
    return float(np.sqrt(np.sum(chances * (gaps - truth) ** 2) / np.sum(chances)))


def place_error(rate: Fraction, target: float, size: int, *, truth: float) -> float:
    """The root mean squared distance from `truth` of a place of [-1/2, size + 1/2], where its density is
    exp(-rate |place - target|) times the width of its gap, and rows are drawn evenly between the bounds."""
    low, high = -0.5, size + 0.5
    near, reached = min(max(target, low), high), 60 / float(rate)
    places = np.linspace(max(low, near - reached), min(high, near + reached), 10_001)
    away = np.abs(places - target)
    chances = np.exp(-float(rate) * (away - away.min()))
    gaps = np.minimum(np.floor(places + 0.5), size).astype(np.int64)
    gaps -= gaps[0]
    losses = chances * (places - truth) ** 2
    if gaps[-1] >= _MANY:
        return min(sqrt(float(losses.sum() / chances.sum())), size)
    return min(sqrt(_mean_ratio(np.bincount(gaps, losses), np.bincount(gaps, chances))), size)


def _mean_ratio(errors: np.ndarray, weights: np.ndarray) -> float:
    """The mean of sum(g * errors) / sum(g * weights) over independent exponential g.

    It is the integral of sum(errors / (1 + s * weights)) / prod(1 + s * weights) over s > 0, since 1 / x is that of
    exp(-s x).
    """
    step = 0.1  # of the logarithm of s
    s = np.exp(np.arange(-15, 45, step))[:, np.newaxis] / weights.sum()
    products = np.exp(-np.log1p(s * weights).sum(axis=1))
    return float(step * (s[:, 0] * products * (errors / (1 + s * weights)).sum(axis=1)).sum())
