"""Mean of numbers between 0 and 1, from noisy sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.release.columns import Noisy
from deniable.statistics.shares import STEP, UNIT

Sums: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Average:
    """Noisy sum of shares, with that of what they lack to 1 if the size is private.

    One row adds 1 in all to the two, so each may have the noise that a single count would need, and the number of rows
    is their sum: docs/theory/statistics/moments.md.

    Args:
        name: distinguishes the sums of several averages.
        count: the number of rows, if it is public.
        noisy: the sums, in rows.
    """

    name: str
    mechanism: AdditiveNoise
    count: int | None
    noisy: tuple[float, ...]

    @classmethod
    def of(
        cls, blocks: Iterable[Floats], *, name: str, mechanism: AdditiveNoise, size_is_public: bool, bits: Bits
    ) -> "Average":
        """Add noise to the sums of shares, which come in blocks."""
        count, exact = exact_sums(blocks, size_is_public=size_is_public)
        noisy = mechanism.release(exact, bits=bits).value
        return cls(
            name=name,
            mechanism=mechanism,
            count=count if size_is_public else None,
            noisy=tuple(float(value) / UNIT for value in noisy),
        )

    @property
    def bases(self) -> tuple[str, ...]:
        """The names of the sums."""
        return tuple(f"{self.name}_{part}" for part in ("above", "below")[: len(self.noisy)])

    @property
    def columns(self) -> tuple[Noisy, ...]:
        """The sums, as columns of a release."""
        law = self.mechanism.law(STEP)
        return tuple(
            Noisy(name=name, values=np.array([value]), law=law)
            for name, value in zip(self.bases, self.noisy, strict=True)
        )

    def mean(self, sums: Sums) -> Any:
        """Return the mean of these sums.

        Where the noise hides the number of rows, it is drawn to 1/2.
        """
        if self.count is not None:
            return sums[self.bases[0]] / max(self.count, 1)
        above, below = (sums[name] for name in self.bases)
        smallest_size = max(2 * self.mechanism.standard_deviation(), 1.0) / UNIT
        return 0.5 + 0.5 * (above - below) / np.maximum(above + below, smallest_size)

    def size(self, sums: Sums) -> Any:
        """Return the number of rows that is a divisor in `mean`, at least 0."""
        above, below = (sums[name] for name in self.bases)
        return np.maximum(above + below, 0)

    def estimate(self) -> float:
        """Return the mean, between 0 and 1."""
        return float(np.clip(self.mean(dict(zip(self.bases, self.noisy, strict=True))), 0, 1))


def exact_sums(blocks: Iterable[Floats], *, size_is_public: bool) -> tuple[int, list[int]]:
    """Return the number of rows, and the exact sums that get noise, in steps."""
    count = total = 0
    for block in blocks:
        count += block.shape[1]
        total += int(block.sum())
    return count, [total] if size_is_public else [total, count * UNIT - total]
