"""Unary encoding that is randomised once for good, and again for every report."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, rows_of_coins
from deniable.local.deployed.memo import Memoised
from deniable.local.frequencies import UnaryEncoding
from deniable.local.protocol import coin_above, likelihood_ratio_below
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import positive_rational


@dataclass(frozen=True, kw_only=True)
class LongitudinalUnary(Memoised, UnaryEncoding):
    """Report a row of bits every day, from a permanent unary encoding (L-OSUE).

    The bits of the permanent answer flip independently in each report.

    Args:
        values: as in `FrequencyProtocol`.
        epsilon: of all reports of one value together.
        report_epsilon: of one report alone, below epsilon.

    Guarantee: with p1 = 1/2, q1 = 1 / (b + 1) and flips of q2 = 1 - p2 = (b - a) / ((a + 1) (b - 1)), for the
        likelihood ratio a of a report and b of an answer:
        s1 (1 - s0) / (s0 (1 - s1)) = a, s1 = (p2 + q2) / 2, s0 = q1 p2 + (1 - q1) q2.
    Source: Arcolezi, Couchot, Al Bouna, Xiao (2022), arXiv:2111.04636.

    >>> from deniable.local.deployed import LongitudinalUnary
    >>> protocol = LongitudinalUnary(values=["tea", "coffee"], epsilon=2, report_epsilon=1)
    >>> answer = protocol.estimate(protocol.encode(["tea"] * 900 + ["coffee"] * 100))
    """

    kind: ClassVar[str] = "longitudinal"

    report_epsilon: Annotated[Fraction, positive_rational]
    symmetric: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.report_epsilon >= self.epsilon:
            raise InvalidParameterError("report_epsilon must be below epsilon: it is of one report, epsilon of all")

    @cached_property
    def permanent(self) -> UnaryEncoding:
        """Randomizer of the permanent answer."""
        return UnaryEncoding(values=self.size, epsilon=self.epsilon)

    @cached_property
    def flips(self) -> Fraction:
        """Probability that a bit of a report differs from that of the answer."""
        of_report = likelihood_ratio_below(self.report_epsilon)
        of_answer = self.likelihood_ratio
        return coin_above((of_answer - of_report) / ((of_report + 1) * (of_answer - 1)))

    @cached_property
    def q(self) -> Fraction:
        """Probability of a 1 for another value, after both steps."""
        return self.permanent.q * (1 - 2 * self.flips) + self.flips

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw permanent rows of bits."""
        return self.permanent._draw(keys, bits)

    def report(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Flip some bits of the permanent rows."""
        return answers ^ rows_of_coins(p=self.flips, people=len(answers), columns=self.size, bits=bits)
