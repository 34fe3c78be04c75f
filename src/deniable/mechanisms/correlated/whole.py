"""Buffered correlation in whole numbers of any size, for streams of any length."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated.base import Uses
from deniable.mechanisms.correlated.buffered import Buffered
from deniable.mechanisms.correlated.buffers import lasting_buffers
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import whole_number

LASTING_STEPS = 2**40
"""Steps that a stream without a horizon may have: one every 30 microseconds for a year."""

_BITS = 48  # scales and decays are multiples of 2^-48
_GUARD = 48  # bits of a buffer below the lattice on which integers are released


@dataclass(frozen=True, kw_only=True)
class WholeBuffered(Buffered):
    """Buffered Toeplitz matrix with whole numbers in its buffers.

    No sum is cut, however large it is, and rounding costs a thousandth of the sensitivity for any number of steps.

    Args:
        scales, decays: as in `Buffered`; rounded to multiples of 2^-48.

    Source: as `Buffered`; the unbounded ones are ours, in the manner of arXiv:2506.15018.

    >>> from deniable.mechanisms.correlated import Uses, WholeBuffered
    >>> uses = Uses(steps=10**6, dimensions=1, lattice=1)
    >>> round(WholeBuffered.best(uses, buffers=6).errors(uses)[0], 2)
    5.47
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("scales", "decays"):
            rounded = tuple(round(value * 2**_BITS) / 2**_BITS for value in getattr(self, name))
            if min(rounded) <= 0:
                raise InvalidParameterError(f"{name} must be at least 2^-{_BITS}, got {min(getattr(self, name))}")
            read_fields(self, **{name: rounded})

    @classmethod
    def lasting(cls, *, buffers: int = 6) -> "WholeBuffered":
        """Return buffers that are near the optimum at every step up to 2^24.

        Args:
            buffers: their largest number, at most 8.
        """
        scales, decays = lasting_buffers(whole_number("buffers", buffers, lower=1, upper=8), steps=LASTING_STEPS)
        return cls(scales=tuple(scales.tolist()), decays=tuple(decays.tolist()))

    def blank(self, uses: Uses) -> Any:
        """Return buffers of zeros, shape (buffers, numbers)."""
        return np.zeros((len(self.scales), uses.dimensions), dtype=object)

    def blank_public(self, uses: Uses) -> Any:
        """Return the buffers of estimates, of zeros."""
        return np.zeros((1, len(self.scales), uses.dimensions))

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the sum of this step and the scaled buffers, rounded."""
        exact = np.asarray(total, dtype=object) * self.fine(uses)
        scaled = (carried * self._whole(self.scales)).sum(axis=0)
        carried *= self._whole(self.decays)
        carried += 1 << (_BITS - 1)
        carried >>= _BITS
        carried += exact << _GUARD
        return np.asarray(exact + (scaled + (1 << (_BITS + _GUARD - 1)) >> (_BITS + _GUARD)))

    def fine(self, uses: Uses) -> int:
        """Return parts of which rounding costs a thousandth of the sensitivity."""
        return int(2 ** max(0, math.ceil(math.log2(1000 * self._rounding(uses) / uses.lattice))))

    def _rounding(self, uses: Uses) -> float:
        """Bound how far rounding moves the difference of two runs, in l2.

        A buffer errs by at most 2^-(guard + 1) over its gap, which is at least 2^-30.
        """
        each = 0.5 + sum(self.scales) * 2.0 ** (29 - _GUARD)
        return 2 * each * math.sqrt(uses.steps * uses.dimensions) * (1 + 2**-40)

    @staticmethod
    def _whole(values: tuple[float, ...]) -> Any:
        return np.array([round(value * 2**_BITS) for value in values], dtype=object)[:, np.newaxis]
