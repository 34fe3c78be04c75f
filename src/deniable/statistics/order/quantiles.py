"""Many quantiles at once, in order."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil
from typing import Annotated, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.counts.tree import LARGEST_COUNT, TreeOfCounts
from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks import ExponentialQuantile, JointQuantiles, RecursiveQuantiles, SliceQuantiles
from deniable.mechanisms.ranks.base import SeveralQuantiles, read_quantile
from deniable.mechanisms.ranks.points import Codes
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_integer
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.notions.concentrated import epsilon_within
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.release.columns import Estimate, Key
from deniable.rows import Container
from deniable.statistics.call import asks
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.ends import CELLS, ends_around, lower_end, upper_end
from deniable.statistics.order.grid import ValueGrid, Values
from deniable.statistics.order.quantile import known_ends, selections
from deniable.statistics.statistic import Answer, BoundsLike, Options, release

_METHODS: tuple[type[SeveralQuantiles], ...] = (RecursiveQuantiles, JointQuantiles, SliceQuantiles)
_COUNTING = 4  # the quantiles get so many parts of the price, and the counts for intervals one
_MAX_DRAWN_ENDS = 5  # quantiles for which ends are drawn: for more they are further off than the next quantile
_LARGE_SIZE = 10**9  # rows for which expected errors are compared, as the number of rows may be private
_ENOUGH = 1000  # rows times epsilon
_CLEARLY = 0.9  # for a smaller gain one draw, which is worse where rows are few, is not worth it
_LARGEST_SIZE = 2**40  # of a grid for one draw, so that equal rows get 19 digits at least
_WORD = 64
_CODES_PER_BLOCK = 1 << 15  # codes that fit the cache
_LARGEST_BITS = 60  # of a code; weights are below eight times as many
_DRAWS = 4000  # of the noise of the counts, for their reach


@dataclass(frozen=True, kw_only=True)
class Quantiles(OrderStatistic):
    """Several quantiles of one column: see `quantiles`.

    Args:
        shares: of [0, 1], in any order; each is read to a denominator of 10^6. At most 1023 different ones.
        method: "recursion", "joint" or "slices"; None for the best.
        size: a public number of rows for which the method is chosen; None for a method that is good for any number
            above 1000 / epsilon.
    """

    name: ClassVar[str] = "quantiles"

    shares: Sequence[Real]
    method: str | None = None
    size: Annotated[int | None, positive_integer] = None

    def _check(self) -> None:
        super()._check()
        if isinstance(self.shares, str) or not isinstance(self.shares, Sequence | np.ndarray) or not len(self.shares):
            raise InvalidParameterError(
                f"shares must be a list of shares such as [0.25, 0.5, 0.75], got {self.shares!r}"
            )
        read_fields(self, shares=self._quantiles)
        if len(self._distinct) >= LARGEST_COUNT:
            raise InvalidParameterError(f"shares must be fewer than {LARGEST_COUNT}, got {len(self._distinct)}")
        if self.method not in (None, *(kind.name for kind in _METHODS)):
            raise InvalidParameterError(f'method must be "recursion", "joint", "slices" or None, got {self.method!r}')

    @cached_property
    def _quantiles(self) -> tuple[Fraction, ...]:
        """The shares as they were asked for, exact."""
        return tuple(read_quantile("share", share) for share in self.shares)

    @cached_property
    def _distinct(self) -> list[Fraction]:
        """The different ones, in order."""
        return sorted(set(self._quantiles))

    @cached_property
    def _prices(self) -> tuple[Price, Price | None]:
        """Price of the quantiles, and that of their intervals."""
        price = self.rest
        if self.interval is None:
            return price, None
        quantiles, intervals = price.split(1 if self._draws_ends else _COUNTING, 1)
        return quantiles, intervals

    @property
    def _draws_ends(self) -> bool:
        """Whether every interval has ends of its own."""
        return len(self._distinct) <= _MAX_DRAWN_ENDS

    @cached_property
    def chosen(self) -> SeveralQuantiles:
        """Mechanism of the quantiles, as was asked or with the least expected error."""
        if self.method is not None:
            return self._asked(self.method)
        recursion = self._bought(RecursiveQuantiles)
        if len(self._distinct) == 1 or not self._has_room:
            return recursion
        others = [self._bought(kind) for kind in _METHODS[1:]]
        known = [method for method in others if method.is_quick and method.is_steady(self.size or self._enough)]
        errors = {
            method.name: _mean(method.expected_errors(self.size or _LARGE_SIZE)) for method in [recursion, *known]
        }
        best = min(known, key=lambda method: errors[method.name], default=recursion)
        return best if errors[best.name] < _CLEARLY * errors[recursion.name] else recursion

    def _bought(self, kind: type[SeveralQuantiles]) -> SeveralQuantiles:
        """Return the method at the price of the quantiles.

        Slices are proved for epsilon, and a rho buys no more there.
        """
        price = self._prices[0]
        shares = tuple(self._distinct)
        if kind is SliceQuantiles:
            price = Price(epsilon=price.epsilon if price.rho is None else epsilon_within(price.rho))
        epsilon = selections(price, (1,) * kind.rounds(len(shares)))[0]
        return kind.calibrated(self._records, epsilon=epsilon, quantiles=shares, points=1)

    def _asked(self, name: str) -> SeveralQuantiles:
        """The one of this name."""
        method = self._bought(next(kind for kind in _METHODS if kind.name == name))
        if not method.is_quick:
            raise InvalidParameterError(
                f'method="{self.method}" would take too long for {len(self._distinct)} quantiles at this price. Take '
                "another one, or a larger epsilon."
            )
        return method

    @property
    def _enough(self) -> int:
        """Number of rows that is assumed at least: fewer give little at this price."""
        epsilon = selections(self._prices[0], (1,))[0]
        return ceil(_ENOUGH * self.rows / epsilon)

    @property
    def _has_room(self) -> bool:
        """Whether the grid leaves equal rows enough random digits for one draw."""
        if self._declared is None:
            return self.step is None
        return self._declared.size <= _LARGEST_SIZE

    @cached_property
    def counting(self) -> TreeOfCounts | None:
        """Tree of counts of the rows between many quantiles."""
        price = self._prices[1]
        if price is None or self._draws_ends:
            return None
        return TreeOfCounts.best(self._moved, price.noise, cells=len(self._distinct) + 1)

    @property
    def _moved(self) -> Sensitivity:
        """Sensitivity of the counts of the rows between quantiles."""
        return of_spread_sum(
            lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=len(self._distinct) + 1
        )

    @cached_property
    def ends(self) -> tuple[tuple[ExponentialQuantile, ...], ...]:
        """Draws of both ends of every one of few quantiles.

        Each misses with an equal part of the chance.
        """
        price = self._prices[1]
        if price is None or not self._draws_ends:
            return ()
        epsilon = selections(price, (1,) * (2 * len(self._distinct)))[0]
        alone = 1 - (1 - (self.interval or 0)) / len(self._distinct)
        draws = [
            ExponentialQuantile.calibrated(self._records, epsilon=epsilon, quantile=share, points=CELLS)
            for share in self._distinct
        ]
        return tuple(ends_around(draw, alone) for draw in draws)

    @property
    def _interval_share(self) -> str:
        return "half" if self._draws_ends else "a fifth"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        losses = [
            draw.privacy_loss(self._records) for draw in (self.chosen, *(end for both in self.ends for end in both))
        ]
        if self.counting is not None:
            losses.append(self.counting.privacy_loss(self._moved))
        return self.price.stated(self.bounding.with_loss(losses))

    def expected_error(self, size: int) -> float:
        """Return the root mean squared error over all the quantiles, in ranks.

        Where all values differ.
        """
        return _mean(self.chosen.expected_errors(size))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, grid = self._on_grid(values, units, bits)
        rows, digits = self._rows(column, grid, bits)
        fine_codes = np.array(replace(self.chosen, points=grid.candidates(digits)).release(rows, bits=bits).value)
        codes = fine_codes >> digits
        order = np.searchsorted(np.array(self._distinct, dtype=object), np.array(self.shares, dtype=object))
        ends = None
        if self.counting is not None and self.interval is not None:
            public = rows.size if self.relation is Relation.REPLACE and units is None else None
            nodes = self.counting.release(np.diff(rows.below(fine_codes), prepend=0, append=rows.size), bits=bits).value
            below = self.counting.running_sums(nodes)
            noise = self.counting.errors(_DRAWS, bits=bits)
            lower, upper = _proved(self._distinct, below, _noise_bound(noise, self.interval, public is None), public)
            low, high = np.append(0, codes)[lower], np.append(codes, grid.size - 1)[upper]
            ends = partial(known_ends, self.interval, grid, low[order], high[order])
        if self.ends and self.interval is not None:
            low, high = self._drawn(rows, digits, codes, grid.size, bits)
            ends = partial(known_ends, self.interval, grid, low[order], high[order])
        estimate = Estimate(name="value", estimates=grid.points(codes[order]), ends=ends)
        key = Key(name="share", values=[float(share) for share in self._quantiles], kind="double")
        return Answer(parts=(key, estimate), notes=self._notes(grid))

    def _rows(self, column: Values, grid: ValueGrid, bits: Bits) -> tuple[SortedRecords, int]:
        """Return the rows with random digits behind their codes.

        They are parted near the wanted ranks if that saves a sort.
        """
        far = self._enough
        if 4 * far * len(self._distinct) > column.size:
            codes = grid.ranked(column, 0, column.size).known
            digits = add_digits(codes, grid.size, bits=bits)
            if digits:
                codes.sort(kind="stable")  # quick where hardly any rows are equal
            return SortedRecords(codes), digits
        codes = grid.codes(column)
        digits = add_digits(codes, grid.size, bits=bits)
        wanted = [int(share * column.size) for share in self._distinct]
        return SortedRecords(codes, [rank + side for rank in wanted for side in (-far, far)]), digits

    def _drawn(
        self, rows: SortedRecords, digits: int, codes: Codes, size: int, bits: Bits
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ends around the quantiles with these codes."""
        pairs = []
        for code, (lower, upper) in zip(codes.tolist(), self.ends, strict=True):
            below, above = (rows.window(end.looked_at(rows.size)) for end in (lower, upper))
            low = lower_end(lower, below, code, bits=bits, digits=digits)
            pairs.append((low, upper_end(upper, above, size, code, bits=bits, digits=digits)))
        ends = np.array(pairs, dtype=np.int64)
        return ends[:, 0], ends[:, 1]


@asks(Quantiles)
def quantiles(
    values: Container,
    shares: Sequence[Real],
    *,
    bounds: BoundsLike,
    interval: float | None = None,
    step: Real | None = None,
    method: str | None = None,
    size: int | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return several quantiles of a column; m of them cost about log2(m) single ones.

    They come from `RecursiveQuantiles`, `JointQuantiles` or `SliceQuantiles`, whichever has the smallest
    expected error: a public fact of the shares, the price, the relation and a public number of rows.

    The ends of the intervals of up to five are drawn as those of `quantile`, for half of the price. For more, a fifth
    of it counts the rows between the quantiles; the ends are the nearest of the quantiles, or of the bounds, that those
    counts prove to lie on either side. So these intervals are as fine as the list of quantiles is.

    Args:
        values: one column of private numbers.
        shares: of [0, 1], in any order; each is read to a denominator of 10^6. At most 1023 different ones.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        interval: level at which all intervals hold together; None spends the whole price on the quantiles.
        step: answers are multiples of it, and values are rounded to it; None for a fine grid.
        method: "recursion", "joint" or "slices"; None for the best.
        size: a public number of rows for which the method is chosen; on far fewer rows answers may be far off. None for
            a method that is good for any number above 1000 / epsilon; under replace it is the number of rows, which is
            public there, and 0 leaves it open.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of the method, and of an `ExponentialQuantile` for each end or of the counts.
    Proof: docs/theory/mechanisms/ranks.md.
    Error: expected_error is in ranks, where values are drawn evenly between the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.quantiles([21, 45, 33, 60], [0.25, 0.5, 0.75], bounds=(0, 100), epsilon=1)
    """
    if size is None and options.get("relation") is Relation.REPLACE and options.get("units") is None:
        size = _length(values)
    size = None if size == 0 and not isinstance(size, bool) else size
    own = {"shares": shares, "bounds": bounds, "interval": interval, "step": step, "method": method, "size": size}
    return release(Quantiles, values, own, options)


def add_digits(codes: Codes, size: int, *, bits: Bits) -> int:
    """Put random digits behind codes, in place, and return how many.

    They part equal rows at random.
    """
    digits = max(0, _LARGEST_BITS - size.bit_length())
    for start in range(0, codes.size if digits else 0, _CODES_PER_BLOCK):
        block = codes[start : start + _CODES_PER_BLOCK]
        block <<= digits
        block |= (bits.words(block.size) >> np.uint64(_WORD - digits)).view(np.int64)
    return digits


def _length(values: object) -> int | None:
    """Return how many rows there are, at least 1.

    None where that is not said before they are read.
    """
    return max(1, len(values)) if isinstance(values, Sized) else None


def _mean(errors: Floats) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def _noise_bound(noise: Floats, level: float, total_is_noisy: bool) -> float:
    """Return the bound on the noise of (rows below a quantile) - q (all rows).

    It is exceeded for no quantile and no q, at this level.

    It lies between the noise of the rows below and minus that of the rows above. The draws and the noise that was
    added are exchangeable, so the rank of the latter among all of them is uniform.
    """
    below = noise[:, :-1]
    total = noise[:, -1:] if total_is_noisy else 0.0
    largest = np.sort(np.maximum(np.abs(below), np.abs(below - total)).max(axis=1))
    return float(largest[ceil((len(largest) + 1) * level) - 1])


def _proved(
    shares: Sequence[Fraction], running: Floats, noise: float, public: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the last index surely not above, and the first surely not below.

    For every quantile, among those found, from 1.

    One row more on either side covers the ways in which a quantile between two rows is read.
    """
    total = running[-1] if public is None else public
    excess = running[:-1] - np.array([[float(q)] for q in shares]) * total  # (quantiles, found ones)
    indices = np.arange(len(shares))
    lower = np.where(excess + noise < -1, indices + 1, 0).max(axis=1)
    upper = np.where(excess - noise > 1, indices, len(shares)).min(axis=1)
    return lower, upper
