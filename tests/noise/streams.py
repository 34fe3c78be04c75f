"""Streams of bits for tests: scripted words, and the exhaustive enumeration of a small-word sampler."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import Bits


class ExhaustedError(Exception):
    """The script has no more words."""


class ScriptedBits(Bits):
    """The given words, in order; then ExhaustedError."""

    safe = False

    def __init__(self, script: Iterable[int]) -> None:
        self._script = list(script)
        self.used = 0

    def fill(self, out: NDArray[np.uint64]) -> None:
        if self.used + out.size > len(self._script):
            raise ExhaustedError
        out[:] = self._script[self.used : self.used + out.size]
        self.used += out.size


class ThenBits(ScriptedBits):
    """The given words, in order; then those of another stream."""

    def __init__(self, script: Iterable[int], after: Bits) -> None:
        super().__init__(script)
        self._after = after

    def fill(self, out: NDArray[np.uint64]) -> None:
        left = len(self._script) - self.used
        if left <= 0:
            self._after.fill(out)
        elif out.size <= left:
            super().fill(out)
        else:
            super().fill(out[:left])
            self._after.fill(out[left:])


def enumerate_law(draw: Callable[[Bits], Hashable], *, width: int, depth: int) -> tuple[Counter[Hashable], int]:
    """Run `draw` on every string of at most `depth` words of `width` bits.

    Returns: for each result the number of strings of depth words that lead to it; the number that decide nothing yet.
    """
    found: Counter[Hashable] = Counter()
    open_strings: list[tuple[int, ...]] = [()]
    for level in range(depth + 1):
        still_open = []
        for string in open_strings:
            try:
                found[draw(ScriptedBits(string))] += 2 ** (width * (depth - level))
            except ExhaustedError:
                still_open.append(string)
        if level < depth:
            open_strings = [(*string, word) for string in still_open for word in range(2**width)]
    return found, len(still_open)
