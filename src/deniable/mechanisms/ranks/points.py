"""Public points among which quantiles are chosen, and their weights.

A weight is known before any record is seen.

People write round numbers, so many records may be equal, and a value that many records have should not be drowned by
the millions of points beside it that none has. So every power of ten, 10^j steps with j >= 1, gives its multiples
weight: together a tenth of what all points weigh. Where values are spread evenly this costs little; where they are
whole numbers, their points weigh 2.7 nats less than the gaps between them, and not 16. Of the roundest there are a
hundred at least: fewer would draw answers to them from afar.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import shown, whole_number

Codes = NDArray[np.int64]

LARGEST_SIZE = 2**62


class Points(NamedTuple):
    """Codes 0, 1, ..., size - 1 with their base measure.

    Each may be one of 2^digits parts of a coarser point.

    Args:
        size: how many codes there are, parts included.
        offset: the place of the first point among the multiples of the step, mod 10^levels.
        levels: how many powers of ten give weight; 0 for equal weights.
        digits: how many binary digits of a code tell the parts of a point apart; parts weigh the same.
    """

    size: int
    offset: int = 0
    levels: int = 0
    digits: int = 0

    @classmethod
    def of(cls, points: object) -> "Points":
        """Return points as they are, from their four numbers, or of equal weight.

        Raises: InvalidParameterError for anything else.
        """
        given = points if isinstance(points, tuple | list) else (points,)
        if len(given) not in (1, 4):
            raise InvalidParameterError(f"points must be Points or their number, got {shown(points)}")
        size, offset, levels, digits = (*given, 0, 0, 0)[:4]
        levels = whole_number("levels of points", levels, lower=0, upper=18)
        return cls(
            whole_number("points", size, lower=1, upper=LARGEST_SIZE),
            whole_number("offset of points", offset, lower=0, upper=10**levels - 1),
            levels,
            whole_number("digits of points", digits, lower=0, upper=62),
        )

    @property
    def weight(self) -> int:
        """Weight of all points."""
        return int(self.below(np.array([self.size]))[0])

    def below(self, codes: Codes) -> Codes:
        """The weight of all codes below these."""
        total = codes.copy()
        for level in range(1, self.levels + 1):
            total += 10 ** (level - 1) * self._count(codes, level)
        return total

    def locate(self, first: int, end: int, position: int) -> int:
        """Return the code at this position of the weight of [first, end).

        For uniform positions, each code is as likely as it weighs.
        """
        if position < end - first:
            return first + position
        position -= end - first
        for level in range(1, self.levels + 1):
            before, behind = (int(count) for count in self._count(np.array([first, end]), level))
            weight = 10 ** (level - 1)
            if position < weight * (behind - before):
                block, digits = divmod(before + position // weight, 2**self.digits)
                return int(((-self.offset % 10**level + block * 10**level) << self.digits) + digits)
            position -= weight * (behind - before)
        raise AssertionError("the place lies beyond the weight")

    def _count(self, codes: Codes, level: int) -> Codes:
        """Return how many finer codes below these belong to multiples of 10^level steps."""
        step = 10**level
        first = -self.offset % 10**level
        blocks = codes >> self.digits
        whole = np.maximum(blocks - first + step - 1, 0) // step << self.digits
        partial = np.where((blocks - first) % step == 0, codes & (2**self.digits - 1), 0)
        counts: Codes = whole + np.where(blocks >= first, partial, 0)
        return counts
