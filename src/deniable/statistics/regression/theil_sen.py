"""Linear regression of one feature by medians of lines through pairs of rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.ranks import ExponentialQuantile, MatchedQuantile
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise import uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, of_count
from deniable.release.columns import Bounds
from deniable.statistics.order.base import checked_level
from deniable.statistics.order.ends import ends_around, lower_end, upper_end
from deniable.statistics.order.quantile import selections
from deniable.statistics.regression.linear import Regression, ScaledRows
from deniable.statistics.regression.matchings import matched

_HALF = 2**30  # grid points from the middle of the target's bounds to either end
_SIZE = 2 * _HALF + 1
_BLUR = _HALF >> 6  # grid points by which heights are moved at most: 1/64 of half the bounds
_READ_AT = (-0.5, 0.5)  # of the feature, scaled to [-1, 1]: where the line is read


@dataclass(frozen=True, kw_only=True)
class TheilSen(Regression):
    """Line through two medians of lines through random pairs of rows.

    The medians are those of where the lines pass a quarter and three quarters of the feature's bounds.

    Rows far from the line hardly move it, and no moment of the data matters. Every matching pairs each row with one
    other, so a row is in as many pairs as there are matchings; rank errors grow with their number, and so does the
    number of pairs. Pairs with equal features have no line, and are left out. For the estimate, each height moves at
    random by 1/64 of half the target's bounds at most: where all lines pass one point, that one of 2^31 would hardly
    ever be chosen.

    Args:
        matchings: how many times rows are paired; more use the data better, and take longer. Even numbers are better.
        interval: the level at which the intervals hold; None spends the whole price on the estimates.

    Guarantee: that of two `MatchedQuantile`, with four more for the ends of the intervals.
    Proof: docs/theory/statistics/regression.md.
    Interval: for the medians of the pairs at the two places, and so for the line through them; it covers at least.
    Error: `expected_error` is the distance in ranks, as a share of the pairs, and not the one of other regressions. It
        counts all pairs; those of rows with one value of the feature say nothing and are left out, which is worth
        knowing of a feature of few values: where a share p has one of two values, 2 p (1 - p) of the pairs are left.
    Raises: InvalidParameterError unless there is one feature.
    Source: Alabi, McMillan, Sarathy, Smith, Vadhan (2020), arXiv:2007.05157, "Differentially private simple linear
        regression", for the matchings; Asi, Duchi (2020), arXiv:2005.10630, for the medians.
    """

    name: ClassVar[str] = "theil_sen"

    matchings: Annotated[int, positive_integer] = 10
    interval: Annotated[float | None, checked_level] = 0.95

    def _check(self) -> None:
        super()._check()
        if self.features != 1:
            raise InvalidParameterError(
                f"theil_sen takes one feature, got bounds of {self.features}. Use method='sufficient' for more."
            )

    @cached_property
    def epsilons(self) -> tuple[Fraction, ...]:
        """Bounded range of each median, and of each end of its interval."""
        shares = (1,) if self.interval is None else (2, 1, 1)
        return selections(self._bounding[1], shares * len(_READ_AT))[: len(shares)]

    @cached_property
    def _draws(self) -> tuple[ExponentialQuantile, ...]:
        """Draw of each median, and those of the ends of its interval."""
        estimate, *ends = (
            MatchedQuantile.calibrated(
                of_count(rows=self.rows, groups=1, cells=1, relation=self.relation),
                epsilon=epsilon,
                quantile=Fraction(1, 2),
                matchings=self.matchings,
                points=_SIZE,
            )
            for epsilon in self.epsilons[:2]  # both ends cost the same
        )
        level = (1 + (self.interval or 0.0)) / 2
        sides = ends_around(ends[0], level) if ends else ()
        return replace(estimate, interpolated=True), *sides

    def expected_error(self, size: int) -> float:
        pairs = max(self.matchings * size // 2, 1)
        return min(float(np.sqrt(2) / self._draws[0].rate) / pairs, 0.5)

    def _losses(self) -> list[PrivacyLoss]:
        records = of_count(rows=self.rows, groups=1, cells=1, relation=self.relation)
        return [draw.privacy_loss(records) for draw in self._draws for _ in _READ_AT]

    def _fit(self, rows: ScaledRows, bits: Bits) -> tuple[Floats, Callable[[float], Bounds], tuple[str, ...]]:
        first, second = matched(len(rows.target), self.matchings, bits=bits)
        feature = rows.features[:, 0]
        apart = feature[first] != feature[second]
        heights = [_crossings(feature, rows.target, first[apart], second[apart], position) for position in _READ_AT]
        medians = np.array([self._median(height, bits) for height in heights]) / _HALF - 1  # (places, 3)
        coefficients = rows.terms(_line(medians[:, 0]))
        corners = np.array([rows.terms(_line(np.array([a, b]))) for a in medians[0, 1:] for b in medians[1, 1:]])
        return coefficients, partial(_ends, self.interval or 0.0, corners), ()

    def _median(self, heights: Floats, bits: Bits) -> tuple[int, int, int]:
        """The codes of the median and of the ends of its interval."""
        codes = np.rint((np.clip(heights, -1.0, 1.0) + 1) * _HALF).astype(np.int64)
        moved = codes + uniform.below(2 * _BLUR + 1, size=codes.shape, bits=bits) - _BLUR
        estimate, *ends = self._draws
        code = estimate.release(moved, bits=bits).value
        if not ends:
            return code, code, code
        known = RankWindow.of(codes, _SIZE)
        low = lower_end(ends[0], known, code, bits=bits)
        return code, low, upper_end(ends[1], known, _SIZE, code, bits=bits)


def _crossings(feature: Floats, target: Floats, first: np.ndarray, second: np.ndarray, position: float) -> Floats:
    """Return where the line through each pair of rows passes this feature value."""
    with np.errstate(over="ignore"):
        slope = (target[second] - target[first]) / (feature[second] - feature[first])
    return np.asarray(target[first] + slope * (position - feature[first]))


def _ends(known: float, corners: Floats, level: float) -> Bounds:
    if level > known:
        return Bounds(np.full(2, -np.inf), np.full(2, np.inf))
    return Bounds(corners.min(axis=0), corners.max(axis=0))


def _line(heights: Floats) -> Floats:
    """Intercept and slope of the line with these heights at the two places."""
    return np.array([heights.sum() / 2, (heights[1] - heights[0]) / (_READ_AT[1] - _READ_AT[0])])
