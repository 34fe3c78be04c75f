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
    """Report the own value, or one of the others, by k-ary randomized response.

    The own value has probability r / (r + k - 1) and each of the k - 1 others 1 / (r + k - 1), for the likelihood ratio
    r (k-RR, GRR).

    Args:
        values, epsilon: as in `FrequencyProtocol`.

    Guarantee: a report has probability r / (r + k - 1) or 1 / (r + k - 1), with r at most e^epsilon.
    Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387.

    >>> from deniable.local import DirectResponse
    >>> protocol = DirectResponse(values=["tea", "coffee"], epsilon=2)
    >>> answer = protocol.estimate(protocol.encode(["tea"] * 900 + ["coffee"] * 100))
    """

    kind: ClassVar[str] = "direct"

    @property
    def p(self) -> Fraction:
        """Probability that a report is the value of its sender."""
        return self.likelihood_ratio / (self.likelihood_ratio + self.size - 1)

    @property
    def q(self) -> Fraction:
        """Probability that a report is a given other value."""
        return 1 / (self.likelihood_ratio + self.size - 1)

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return -(-(self.size - 1).bit_length() // 8)

    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Move some indices by a random amount, around the circle of values."""
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.p, size=indices.shape, bits=bits))
        codes = indices.copy()
        codes[lies] = (codes[lies] + 1 + uniform.below(self.size - 1, size=lies.size, bits=bits)) % self.size
        return to_bytes(codes, self.width)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report."""
        return np.asarray(of_bytes(reports) < self.size)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the number of reports of each value."""
        return np.bincount(of_bytes(reports), minlength=self.size)
