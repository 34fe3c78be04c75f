"""Many quantiles at once, in order."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import ceil
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.counts.tree import LARGEST_COUNT, TreeOfCounts
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation, Sensitivity
from deniable.privacy.around.restricted import Restricted
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Estimate, Key, Release
from deniable.rows import Floats
from deniable.statistics.call import in_words
from deniable.statistics.order.base import OrderStatistic
from deniable.statistics.order.choice import reach, window
from deniable.statistics.order.ends import CELLS, lower_end, upper_end
from deniable.statistics.order.grid import Grid, Values
from deniable.statistics.order.joint import Joint
from deniable.statistics.order.measure import Codes
from deniable.statistics.order.method import Method
from deniable.statistics.order.quantile import checked_share, known_ends, margin, selections
from deniable.statistics.order.ranks import Ranks, around
from deniable.statistics.order.rows import Rows
from deniable.statistics.order.slices import Slices
from deniable.statistics.order.tree import Recursion, add_digits, scattered
from deniable.statistics.statistic import Answer, Options, release

_METHODS: tuple[type[Method], ...] = (Recursion, Joint, Slices)
_COUNTING = 4  # the quantiles get so many parts of the price, and the counts for intervals one
_FEW = 5  # quantiles for which ends are drawn: for more they are further off than the next quantile
_MANY = 10**9  # rows for which expected errors are compared, as the number of rows may be private
_ENOUGH = 1000  # rows times epsilon
_CLEARLY = 0.9  # for a smaller gain one draw, which is worse where rows are few, is not worth it
_LARGEST_SIZE = 2**40  # of a grid for one draw, so that equal rows get 19 digits at least
_DRAWS = 4000  # of the noise of the counts, for their reach


@dataclass(frozen=True, kw_only=True)
class Quantiles(OrderStatistic):
    """Several quantiles of one column: m of them cost little more than log2(m) quantiles alone.

    They come from a recursion (`tree`), from one draw of all (`joint`) or from slices (`slices`), whichever has the
    smallest expected error: a public fact of the shares, the price, the relation and a public number of rows.

    The ends of the intervals of up to five are drawn as those of `Quantile`, for half of the price. For more, a fifth
    of it counts the rows between the quantiles; the ends are the nearest of the quantiles, or of the bounds, that those
    counts prove to lie on either side. So these intervals are as fine as the list of quantiles is.

    Args:
        shares: of [0, 1], in any order; each is read to a denominator of 10^6. At most 1023 different ones.
        bounds, step: as for every `OrderStatistic`.
        interval: the level at which all intervals hold together; None spends the whole price on the quantiles.
        method: "recursion", "joint" or "slices"; None for the best.
        size: a public number of rows for which the method is chosen; on far fewer rows answers may be far off. None for
            a method that is good for any number above 1000 / epsilon.

    Guarantee: that of the method, and of the ends or the counts.
    Proof: docs/theory/mechanisms/ranks.md.
    Source: Kaplan, Schnapp, Stemmer (2022), arXiv:2110.05429; Gillenwater, Joseph, Kulesza (2021), arXiv:2102.08244;
        Imola, Boninsegna, Keller, Aamand, Roy Chowdhury, Pagh (2025), arXiv:2505.13662.
    """

    name: ClassVar[str] = "quantiles"

    shares: Sequence[object]
    method: str | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.shares, str) or not isinstance(self.shares, Sequence | np.ndarray) or not len(self.shares):
            raise InvalidParameterError(
                f"shares must be a list of shares such as [0.25, 0.5, 0.75], got {self.shares!r}"
            )
        object.__setattr__(self, "shares", tuple(checked_share(q) for q in self.shares))
        if len(self._distinct) >= LARGEST_COUNT:
            raise InvalidParameterError(f"shares must be fewer than {LARGEST_COUNT}, got {len(self._distinct)}")
        if self.method not in (None, *(kind.name for kind in _METHODS)):
            raise InvalidParameterError(f'method must be "recursion", "joint", "slices" or None, got {self.method!r}')
        if self.size is not None:
            object.__setattr__(self, "size", positive_integer("size", self.size))
        _ = self.chosen, self.counting, self.ends

    @cached_property
    def _distinct(self) -> list[Fraction]:
        """The different ones, in order."""
        return sorted({checked_share(q) for q in self.shares})

    @cached_property
    def _prices(self) -> tuple[Price, Price | None]:
        """What the quantiles cost, and what their intervals do."""
        price = self._bounding[1]
        if self.interval is None:
            return price, None
        quantiles, intervals = price.split(1 if self._few else _COUNTING, 1)
        return quantiles, intervals

    @property
    def _few(self) -> bool:
        """Whether every interval has ends of its own."""
        return len(self._distinct) <= _FEW

    @cached_property
    def chosen(self) -> Method:
        """How the quantiles are drawn: as was asked, or with the least error to expect."""
        shares, price = tuple(self._distinct), self._prices[0]
        methods = [kind(shares=shares, price=price, relation=self.relation, rows=self.rows) for kind in _METHODS]
        if self.method is not None:
            return self._asked(methods)
        recursion, *others = methods
        if len(shares) == 1 or not self._has_room:
            return recursion
        known = [method for method in others if method.is_quick and method.is_steady(self.size or self._enough)]
        errors = {method.name: _mean(method.rank_errors(self.size or _MANY)) for method in [recursion, *known]}
        best = min(known, key=lambda method: errors[method.name], default=recursion)
        return best if errors[best.name] < _CLEARLY * errors[recursion.name] else recursion

    def _asked(self, methods: Sequence[Method]) -> Method:
        """The one of this name."""
        method = next(method for method in methods if method.name == self.method)
        if not method.is_quick:
            raise InvalidParameterError(
                f'method="{self.method}" would take too long for {len(self._distinct)} quantiles at this price. Take '
                "another one, or a larger epsilon."
            )
        return method

    @property
    def _enough(self) -> int:
        """So many rows are taken to be there: fewer give little at this price."""
        epsilon = selections(self._prices[0], (1,))[0]
        return ceil(_ENOUGH * self.rows / epsilon)

    @property
    def _has_room(self) -> bool:
        """Whether the grid is surely so coarse that equal rows get enough random digits for one draw."""
        if self._declared is None:
            return self.step is None
        return self._declared.size <= _LARGEST_SIZE

    @cached_property
    def counting(self) -> TreeOfCounts | None:
        """How rows between many quantiles are counted."""
        price = self._prices[1]
        if price is None or self._few:
            return None
        return TreeOfCounts.best(self._moved, price.noise, cells=len(self._distinct) + 1)

    @property
    def _moved(self) -> Sensitivity:
        """How far one unit moves the counts of the rows between quantiles."""
        return of_spread_sum(
            lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=len(self._distinct) + 1
        )

    @cached_property
    def ends(self) -> tuple[Fraction, ...]:
        """The bounded range of each end that is drawn, two for each of few quantiles."""
        price = self._prices[1]
        return () if price is None or not self._few else selections(price, (1,) * (2 * len(self._distinct)))

    @property
    def _interval_share(self) -> str:
        return "half" if self._few else "a fifth"

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        losses = list(self.chosen.losses)
        losses += [Restricted(ExponentialMechanismLoss(epsilon), self.relation) for epsilon in self.ends]
        if self.counting is not None:
            losses.append(self.counting.privacy_loss(self._moved))
        return self.price.stated(self._bounding[0].with_loss(losses))

    def expected_error(self, size: int) -> float:
        """The root mean squared error in ranks, over all the quantiles, where all values differ."""
        return _mean(self.chosen.rank_errors(size))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, grid = self._on_grid(values, units, bits)
        rows, digits = self._rows(column, grid, bits)
        found, ranks = self.chosen.draw(rows, grid.size << digits, measure=grid.measure(digits), bits=bits)
        codes = found >> digits
        order = np.searchsorted(np.array(self._distinct, dtype=object), np.array(self.shares, dtype=object))
        ends = None
        if self.counting is not None and self.interval is not None:
            public = rows.size if self.relation is Relation.REPLACE and units is None else None
            nodes = self.counting.release(np.diff(ranks, prepend=0, append=rows.size), bits=bits).value
            below = self.counting.running_sums(nodes)
            noise = self.counting.errors(_DRAWS, bits=bits)
            lower, upper = _proved(self._distinct, below, _reach(noise, self.interval, public is None), public)
            low, high = np.append(0, codes)[lower], np.append(codes, grid.size - 1)[upper]
            ends = partial(known_ends, self.interval, grid, low[order], high[order])
        if self.ends and self.interval is not None:
            low, high = self._drawn(rows, digits, codes, grid.size, bits)
            ends = partial(known_ends, self.interval, grid, low[order], high[order])
        estimate = Estimate(name="value", estimates=grid.points(codes[order]), ends=ends)
        key = Key(name="share", values=[float(checked_share(q)) for q in self.shares], kind="double")
        return Answer(parts=(key, estimate), notes=self._notes(grid))

    def _rows(self, column: Values, grid: Grid, bits: Bits) -> tuple[Rows, int]:
        """The rows with random digits behind their codes, parted near the wanted ranks if that saves a sort."""
        far = self._enough
        if 4 * far * len(self._distinct) > column.size:
            fine, digits = scattered(around(column, grid, 0, column.size).window, grid.size, bits=bits)
            return Rows(fine), digits
        codes = grid.codes(column)
        digits = add_digits(codes, grid.size, bits=bits)
        wanted = [int(share * column.size) for share in self._distinct]
        return Rows(codes, [rank + side for rank in wanted for side in (-far, far)]), digits

    def _drawn(self, rows: Rows, digits: int, codes: Codes, size: int, bits: Bits) -> tuple[Codes, Codes]:
        """The ends around the quantiles with these codes; each of the 2 m misses with an equal part of the chance."""
        alone, found = 1 - (1 - (self.interval or 0)) / len(codes), []

        def near(target: Fraction, rate: Fraction) -> Ranks:
            first, last = window(target, rate=rate, size=CELLS)
            first = min(max(first, 0), rows.size)
            known = rows.between(first, last + 1) >> digits
            return Ranks(known, first, rows.size, lambda code: int(rows.below(np.array([code << digits]))[0]))

        for code, share, lower, upper in zip(codes, self._distinct, self.ends[::2], self.ends[1::2], strict=True):
            below, above = (epsilon / (2 * self.rows * reach(share, self.relation)) for epsilon in (lower, upper))
            truth, estimate = share * rows.size, int(code)
            first, last = truth - margin(below, alone), truth + margin(above, alone)
            low = lower_end(near(first, below), estimate, target=first, rate=below, bits=bits)
            high = upper_end(near(last, above), size, estimate, target=last, rate=above, bits=bits)
            found.append((low, high))
        ends = np.array(found, dtype=np.int64)
        return ends[:, 0], ends[:, 1]


@in_words
def quantiles(
    values: object,
    shares: Sequence[object],
    *,
    bounds: object,
    interval: float | None = None,
    step: object = None,
    method: str | None = None,
    size: int | None = None,
    **options: Unpack[Options],
) -> Release:
    """Several quantiles at once, one a row: see `Quantiles`.

    Under replace the number of rows is public, and gives the size; size=0 leaves it open.

    >>> import deniable as dn
    >>> answer = dn.statistics.quantiles([21, 45, 33, 60], [0.25, 0.5, 0.75], bounds=(0, 100), epsilon=1)
    """
    if size is None and options.get("relation") is Relation.REPLACE and options.get("units") is None:
        size = _length(values)
    size = None if size == 0 and not isinstance(size, bool) else size
    own = {"shares": shares, "bounds": bounds, "interval": interval, "step": step, "method": method, "size": size}
    return release(Quantiles, values, own, options)


def _length(values: object) -> int | None:
    """How many rows there are, at least 1; None where that is not said before they are read."""
    return max(1, len(values)) if isinstance(values, Sized) else None


def _mean(errors: Floats) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def _reach(noise: Floats, level: float, total_is_noisy: bool) -> float:
    """What the noise of (rows below a quantile) - q (all rows) exceeds for no quantile and no q, at this level.

    It lies between the noise of the rows below and minus that of the rows above. The draws and the noise that was
    added are exchangeable, so the rank of the latter among all of them is uniform.
    """
    below, total = noise[:, :-1], noise[:, -1:] if total_is_noisy else 0.0
    largest = np.sort(np.maximum(np.abs(below), np.abs(below - total)).max(axis=1))
    return float(largest[ceil((len(largest) + 1) * level) - 1])


def _proved(
    shares: Sequence[Fraction], running: Floats, noise: float, public: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every quantile the last found one that is surely not above it, from 1, and the first surely not below it.

    One row more on either side covers the ways in which a quantile between two rows is read.
    """
    total = running[-1] if public is None else public
    excess = running[:-1] - np.array([[float(q)] for q in shares]) * total  # (quantiles, found ones)
    places = np.arange(len(shares))
    lower = np.where(excess + noise < -1, places + 1, 0).max(axis=1)
    upper = np.where(excess - noise > 1, places, len(shares)).min(axis=1)
    return lower, upper
