"""Public points among which a quantile is chosen, and the values on them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import cast

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.ranks.base import OneQuantile
from deniable.mechanisms.ranks.points import LARGEST_SIZE, Codes, Points
from deniable.mechanisms.ranks.records import RankWindow
from deniable.numbers.rationals import exact_rational, positive_rational, shown
from deniable.statistics.bounds import Guess

Values = NDArray[np.float64] | NDArray[np.int64]

_DIGITS = 9  # of the width of the bounds, where the step was not declared
_LEVELS = 7  # of round numbers: there are a hundred of the roundest at least
_EXACT = 2**53  # integers below it are floats
_VALUES_PER_BLOCK = 1 << 15  # values that fit the cache


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Points first, first + step, first + 2 step, ...; a code is the index of a point.

    Args:
        levels: how many powers of ten make points weigh more: see `Points`; 0 if the step was declared.
        guessed: whether its ends are a `Guess`.

    Guarantee: each value is put on its point by itself and monotonically, so the order of values is that of codes.
    """

    first: Fraction
    step: Fraction
    size: int
    levels: int = 0
    guessed: bool = False

    @classmethod
    def between(cls, bounds: tuple[object, object], step: object = None) -> "ValueGrid":
        """Return the multiples of `step` between public bounds.

        By default those of a power of ten, 10^9 to 10^10 of them.

        Raises: InvalidParameterError if no multiple lies between the bounds, more than 2^62 of them do, or the step is
            larger than the distance of the bounds.
        """
        lower, upper = (exact_rational("bounds", bound) for bound in bounds)
        if step is None:
            fine = Fraction(10) ** (floor(log10(upper - lower)) - _DIGITS)
            first, last = ceil(lower / fine), floor(upper / fine)
            levels = _LEVELS + (fine * 10 ** (_LEVELS + 1) == 1)
            return cls(first=first * fine, step=fine, size=last - first + 1, levels=levels)
        declared = positive_rational("step", step)
        if declared > upper - lower:
            raise InvalidParameterError(
                f"step={shown(step)} must be at most the distance of the bounds, {float(upper - lower):g}"
            )
        first, last = ceil(lower / declared), floor(upper / declared)
        if not first <= last < first + LARGEST_SIZE:
            raise InvalidParameterError(
                f"step={step} must have 1 to 2^62 multiples between the bounds ({lower}, {upper}); it has "
                f"{'none' if last < first else 'more'}"
            )
        return cls(first=first * declared, step=declared, size=last - first + 1)

    @classmethod
    def around(cls, bounds: tuple[float, float], step: object = None) -> "ValueGrid":
        """Return the grid for bounds that were found, a little wider.

        With a doubled step if need be. It never raises.
        """
        guessed = isinstance(bounds, Guess)
        if step is None:
            return replace(cls.between(bounds), guessed=guessed)
        lower = Fraction(bounds[0])
        upper = Fraction(bounds[1])
        fine = positive_rational("step", step)
        while upper - lower > fine * (LARGEST_SIZE // 4):
            fine *= 2
        return replace(cls.between((floor(lower / fine) * fine, ceil(upper / fine) * fine), fine), guessed=guessed)

    def codes(self, values: Values) -> Codes:
        """Return the index of the nearest point for every value.

        Exact for integers on a grid of integers. No NaN.
        """
        if values.dtype == np.int64 and self._is_integral():
            return self._of_integers(values.astype(np.int64))
        last = self.size - 1
        codes = np.empty(values.shape, dtype=np.int64)
        for start in range(0, values.size, _VALUES_PER_BLOCK):
            block = slice(start, start + _VALUES_PER_BLOCK)
            with np.errstate(over="ignore"):
                positions = values[block] - np.float64(self.first)
                positions /= float(self.step)
            np.rint(positions, out=positions)
            np.clip(positions, 0, float(last), out=positions)
            codes[block] = positions
        return codes if last < _EXACT else np.minimum(codes, last)

    def value(self, code: int) -> float:
        """Return a point as the nearest float."""
        return float(self.first + code * self.step)

    def values(self, codes: Codes) -> NDArray[np.float64]:
        """Return points as the nearest floats."""
        return np.array([self.value(int(code)) for code in codes], dtype=np.float64)

    def points(self, codes: Codes) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return points as integers if all of the grid are, else as the nearest floats."""
        return codes * int(self.step) + int(self.first) if self._is_integral() else self.values(codes)

    @property
    def middle(self) -> int:
        """Code that stands for a missing value under replace."""
        return (self.size - 1) // 2

    def candidates(self, digits: int = 0) -> Points:
        """Return the points as codes with weights, each parted into 2^digits."""
        offset = int(self.first / self.step) % 10**self.levels if self.levels else 0
        return Points(self.size << digits, offset, self.levels, digits)

    def seen_by(self, values: Values, draws: Iterable[OneQuantile]) -> RankWindow:
        """Return the rows of the ranks that some of these draws should know."""
        spans = [draw.looked_at(values.size) for draw in draws]
        return self.ranked(values, min(low for low, _ in spans), max(high for _, high in spans))

    def ranked(self, values: Values, first: int, last: int) -> RankWindow:
        """Return the rows of ranks `first` to `last`, clamped to those that exist.

        All rows where that is hardly dearer.
        """
        total = values.size
        low, high = max(0, min(first, total - 1)), max(0, min(last, total - 1))
        if total < 1000 or high - low > total // 8:
            return RankWindow(self.codes(cast(Values, np.sort(values))), 0, total)
        window = cast(Values, np.sort(np.partition(values, (low, high))[low : high + 1]))

        def below(code: int) -> int:
            return int(np.count_nonzero(self.codes(values) < code))

        def nearest(code: int) -> tuple[int | None, int | None]:
            codes = self.codes(values)
            before, behind = codes[codes < code], codes[codes > code]
            return int(before.max()) if before.size else None, int(behind.min()) if behind.size else None

        return RankWindow(self.codes(window), low, total, below, nearest)

    def _is_integral(self) -> bool:
        last = self.first + self.step * (self.size - 1)
        return self.first.denominator == self.step.denominator == 1 and max(abs(self.first), abs(last)) < LARGEST_SIZE

    def _of_integers(self, codes: Codes) -> Codes:
        first, step = int(self.first), int(self.step)
        np.clip(codes, first, first + step * (self.size - 1), out=codes)
        codes -= first
        if step > 1:
            rest = codes % step
            codes //= step
            codes += rest > step // 2
        return codes
