"""Toeplitz correlation with a few buffers as its memory."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.correlated.base import NoiseCorrelation, Uses
from deniable.mechanisms.correlated.buffers import (
    NARROWEST,
    best_buffers,
    certified_norm,
    squared_errors,
    sum_diagonals,
)
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import whole_number
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy

_MAX_BUFFERED_SUM = 2**50  # so that buffers are whole numbers in floats


@dataclass(frozen=True, kw_only=True)
class Buffered(NoiseCorrelation):
    """Toeplitz matrix C whose memory is a few buffers as wide as a gradient.

    Its diagonals are 1, then sum_j scales_j decays_j^(k-1) for k = 1, 2, ...

    Args:
        scales: of at most 8 buffers, of sum at most 8.
        decays: of the buffers, at most 1 - 2^-30.

    Source: Dvijotham, McMahan, Pillutla, Steinke, Thakurta (2024), arXiv:2404.16706 (buffered linear Toeplitz, BLT).

    >>> from deniable.mechanisms.correlated import Buffered, Uses
    >>> uses = Uses(steps=1024, dimensions=1)
    >>> round(Buffered.best(uses, buffers=2).errors(uses)[0], 2)
    3.33
    """

    scales: tuple[float, ...]
    decays: tuple[float, ...]

    def __post_init__(self) -> None:
        ToeplitzStrategy.buffered(self.scales, self.decays, steps=2)
        if len(self.scales) > 8 or sum(self.scales) > 8 or max(self.decays) > 1 - NARROWEST:
            raise InvalidParameterError("scales must be at most 8, of sum at most 8, and decays at most 1 - 2^-30")
        read_fields(self, scales=tuple(map(float, self.scales)), decays=tuple(map(float, self.decays)))

    @classmethod
    def best(cls, uses: Uses, *, buffers: int) -> "Buffered":
        """Return buffers with nearly the least greatest error of sums.

        Four of them lose 0.02% in 1,000 steps.

        Args:
            uses: how a row takes part.
            buffers: their largest number, at most 8.
        """
        count = whole_number("buffers", buffers, lower=1, upper=8)
        scales, decays = best_buffers(count, steps=uses.steps, times=uses.times, separation=uses.separation)
        return cls(scales=tuple(scales.tolist()), decays=tuple(decays.tolist()))

    def blank(self, uses: Uses) -> Any:
        """Return buffers of zeros: their whole parts, and the rest of each."""
        return np.zeros((2, len(self.scales), uses.dimensions))

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the sum of this step and the scaled buffers, rounded."""
        whole, rest = carried
        limit = self._range // self.fine(uses)
        exact = np.clip(total, -limit, limit) * self.fine(uses)
        buffers = whole + rest
        mixed = exact + np.rint(np.array(self.scales) @ buffers).astype(np.int64)
        rest -= (1 - np.array(self.decays))[:, None] * buffers
        whole += exact
        rounded = np.rint(rest)
        whole += rounded
        rest -= rounded
        return np.asarray(mixed)

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum without the scaled buffers."""
        buffers = carried[0]
        total = noisy / self.fine(uses) - np.array(self.scales) @ buffers
        buffers *= np.array(self.decays)[:, None]
        buffers += total
        return np.asarray(total)

    @property
    def _range(self) -> int:
        """Largest number of a step with which all buffers stay whole numbers in floats."""
        return int(_MAX_BUFFERED_SUM * (1 - max(self.decays)))

    def fine(self, uses: Uses) -> int:
        """Return the number of parts at which rounding costs 0.1% of the sensitivity."""
        parts = int(2 ** max(0, math.ceil(math.log2(1000 * self._rounding(uses) / uses.lattice))))
        if self._range < parts * uses.lattice:
            raise InvalidParameterError(
                f"buffers with a decay of {max(self.decays)} cannot hold a row of {uses.dimensions} numbers: "
                "take Buffered.best for fewer steps"
            )
        return parts

    def _rounding(self, uses: Uses) -> float:
        """Bound how far rounding moves the difference of two runs, in l2."""
        each = sum(self.scales) * (1.02 + (len(self.scales) + 2) / 8) + 0.5
        return 2 * each * math.sqrt(uses.steps * uses.dimensions) * (1 + 2**-40)

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity, from the certified norm and the rounding of buffers."""
        return math.ceil(Fraction(self._norm(uses)) * uses.lattice * self.fine(uses) + Fraction(self._rounding(uses)))

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, in closed form."""
        greatest, mean = squared_errors(np.array(self.scales), np.array(self.decays), steps=uses.steps)
        return math.sqrt(greatest) * self._norm(uses), math.sqrt(mean) * self._norm(uses)

    def spreads(self, uses: Uses, *, window: int | None = None) -> Floats:
        """Return standard deviations, from the diagonals of A C^-1 in closed form."""
        diagonals = sum_diagonals(np.array(self.scales), np.array(self.decays), steps=uses.steps)
        if window is not None:
            diagonals[window:] -= diagonals[:-window].copy()
        return np.sqrt(np.cumsum(diagonals**2))

    def _norm(self, uses: Uses) -> float:
        """Bound the l2 sensitivity of C x, for rows of norm 1."""
        return certified_norm(self.scales, self.decays, steps=uses.steps, times=uses.times, separation=uses.separation)
