"""Report the value itself, or another one."""

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
class DirectResponse(FrequencyProtocol):
    """Report the own value with probability odds / (odds + k - 1), else one of the k - 1 others evenly (k-RR, GRR).

    Guarantee: two reports' probabilities are odds / (odds + k - 1) and 1 / (odds + k - 1).
    Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387.

    >>> from deniable.local import DirectResponse
    >>> protocol = DirectResponse(values=["tea", "coffee"], epsilon=2)
    >>> answer = protocol.estimate(protocol.encode(["tea"] * 900 + ["coffee"] * 100))
    """

    kind: ClassVar[str] = "direct"

    @property
    def true(self) -> Fraction:
        return self.odds / (self.odds + self.size - 1)

    @property
    def false(self) -> Fraction:
        return 1 / (self.odds + self.size - 1)

    @property
    def width(self) -> int:
        return -(-(self.size - 1).bit_length() // 8)

    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.true, size=places.shape, bits=bits))
        codes = places.copy()
        codes[lies] = (codes[lies] + 1 + uniform.below(self.size - 1, size=lies.size, bits=bits)) % self.size
        return to_bytes(codes, self.width)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(of_bytes(reports) < self.size)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        return np.bincount(of_bytes(reports), minlength=self.size)
