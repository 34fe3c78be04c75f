"""Report a row of a Hadamard matrix that agrees with the value, mostly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.local.codes import of_bytes, to_bytes
from deniable.local.protocol import FrequencyProtocol
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(FrequencyProtocol):
    """Report one of K numbers, K the least power of 2 above the number of values, from the half that the value names.

    A number z supports the value x where z & (x + 1) has an even number of bits: half of all z, and any two values
    share a quarter. z is even in that half with probability odds / (odds + 1).

    Guarantee: every report has probability 2 odds / (K (odds + 1)) or 2 / (K (odds + 1)).
    Source: Acharya, Sun, Zhang (2019), arXiv:1802.04705.

    >>> from deniable.local import HadamardResponse
    >>> HadamardResponse(values=1000, epsilon=1).width
    2
    """

    kind: ClassVar[str] = "hadamard"

    @property
    def true(self) -> Fraction:
        return self.odds / (self.odds + 1)

    @property
    def false(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def outputs(self) -> int:
        """K."""
        return int(2 ** self.size.bit_length())

    @property
    def width(self) -> int:
        return -(-self.size.bit_length() // 8)

    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        found, name = uniform.below(self.outputs, size=places.shape, bits=bits), places + 1
        inside = bernoulli.sample(p=self.true, size=places.shape, bits=bits)
        odd = (np.bitwise_count(found & name) & 1).astype(bool)
        turn = odd == inside
        found[turn] ^= name[turn] & -name[turn]  # one bit of the name changes the half
        return to_bytes(found, self.width)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(of_bytes(reports) < self.outputs)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        sums = np.bincount(of_bytes(reports), minlength=self.outputs)
        step = 1
        while step < self.outputs:  # a fast Walsh-Hadamard transform, in integers
            pairs = sums.reshape(-1, 2, step)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            step *= 2
        return np.asarray((len(reports) + sums[1 : self.size + 1]) // 2)
