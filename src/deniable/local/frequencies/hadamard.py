"""Reports of rows of a Hadamard matrix that mostly agree with the value."""

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
    """Report a row of a Hadamard matrix, mostly one that agrees with the value.

    Rows are numbers z of 0, ..., K - 1, with K the least power of 2 above the number of values. z supports the value x
    if z & (x + 1) has an even number of bits: half of all z, and any two values share a quarter. z is uniform in the
    half of the own value with probability r / (r + 1), else in the other half, for the likelihood ratio r.

    Args:
        values, epsilon: as in `FrequencyProtocol`.

    Guarantee: every report has probability 2 r / (K (r + 1)) or 2 / (K (r + 1)), with r at most e^epsilon.
    Source: Acharya, Sun, Zhang (2019), arXiv:1802.04705.

    >>> from deniable.local import HadamardResponse
    >>> HadamardResponse(values=1000, epsilon=1).width
    2
    """

    kind: ClassVar[str] = "hadamard"

    @property
    def p(self) -> Fraction:
        """Probability that a report supports the value of its sender."""
        return self.likelihood_ratio / (self.likelihood_ratio + 1)

    @property
    def q(self) -> Fraction:
        """Probability that a report supports a given other value: one half."""
        return Fraction(1, 2)

    @property
    def outputs(self) -> int:
        """Number of different reports, K."""
        return int(2 ** self.size.bit_length())

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return -(-self.size.bit_length() // 8)

    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Draw a row, and move it to the half that a coin says."""
        rows = uniform.below(self.outputs, size=indices.shape, bits=bits)
        columns = indices + 1
        inside = bernoulli.sample(p=self.p, size=indices.shape, bits=bits)
        odd = (np.bitwise_count(rows & columns) & 1).astype(bool)
        moved = odd == inside
        rows[moved] ^= columns[moved] & -columns[moved]  # flipping one bit of the column changes the half
        return to_bytes(rows, self.width)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report."""
        return np.asarray(of_bytes(reports) < self.outputs)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Count the reports that support each value, by a Hadamard transform."""
        sums = np.bincount(of_bytes(reports), minlength=self.outputs)
        step = 1
        while step < self.outputs:  # a fast Walsh-Hadamard transform, in integers
            pairs = sums.reshape(-1, 2, step)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            step *= 2
        return np.asarray((len(reports) + sums[1 : self.size + 1]) // 2)
