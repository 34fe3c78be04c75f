"""The smallest and the largest value, as well as they can be told: ranks near the end."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import ClassVar, Unpack

from deniable.numbers.rationals import yes_or_no
from deniable.release import Release
from deniable.statistics.call import in_words
from deniable.statistics.order.quantile import Quantile
from deniable.statistics.statistic import Options, release

_BEYOND = Fraction(23, 10)  # nats, about ln 10: see `depth`


@dataclass(frozen=True, kw_only=True)
class _Extreme(Quantile):
    """A quantile at an end, aimed at some ranks inside."""

    share: object = field(init=False)
    tight: bool = False

    def __post_init__(self) -> None:
        yes_or_no("tight", self.tight)
        super().__post_init__()

    def _depth(self, total: int) -> Fraction:
        return depth(total, self._rate(self.epsilons[0]), tight=self.tight)


@dataclass(frozen=True, kw_only=True)
class Minimum(_Extreme):
    """A value near the smallest, with an upper end for the smallest.

    No private answer tells where the single smallest row lies. The estimate aims some ranks above it (`depth`), so that
    the empty range between the lower bound and the data seldom wins: where that is as wide as the rows are, by one
    answer in twenty. The interval reaches from the lower bound to an end that is at or above the smallest value; that
    end takes a third of the price.

    Args:
        tight: whether the rows are publicly known to reach near the bound. The estimate aims one rank inside then: far
            nearer where that is true, and anywhere between the bound and the rows where it is not.

    Guarantee: that of `Quantile` at share 0; the rank aimed at grows by 0 to 1 when a row comes.
    Proof: docs/theory/mechanisms/ranks.md.
    """

    name: ClassVar[str] = "minimum"
    sides: ClassVar[tuple[int, ...]] = (1,)

    share: object = field(default=Fraction(0), init=False)

    def _target(self, total: int) -> Fraction:
        return self._depth(total)


@dataclass(frozen=True, kw_only=True)
class Maximum(_Extreme):
    """A value near the largest, with a lower end for the largest: `Minimum` in the mirror."""

    name: ClassVar[str] = "maximum"
    sides: ClassVar[tuple[int, ...]] = (-1,)

    share: object = field(default=Fraction(1), init=False)

    def _target(self, total: int) -> Fraction:
        return total - self._depth(total)


def depth(total: int, rate: Fraction, *, tight: bool = False) -> Fraction:
    """How many ranks inside of the rows an extreme is aimed at: about ln(10 (1 + total * rate)) / rate, or one where
    bounds are tight, but not beyond the median.

    Where bounds are v times as wide as evenly spread rows, chances add up to e^(-rate * depth) (v - 1) beyond the rows
    and to 2 / (total * rate) near the aim; so the former win about (v - 1) / 20 times as often as the latter.

    Guarantee: a row more adds 0 to 1. All is exact: see `nats` for the logarithm.
    """
    ranks = 1 if tight else ceil((nats(1 + total * rate) + _BEYOND) / rate)
    return min(Fraction(ranks), Fraction(total, 2))


def nats(x: Fraction) -> Fraction:
    """The natural logarithm of x >= 1 to within 0.07 or a hundredth of it: linear between powers of two, 7/10 for each.

    Guarantee: it never falls, and its slope is at most 7/10.
    """
    octaves = (x.numerator // x.denominator).bit_length() - 1
    return Fraction(7, 10) * (octaves + x / (1 << octaves) - 1)


@in_words
def minimum(
    values: object,
    *,
    bounds: object,
    interval: float | None = None,
    step: object = None,
    tight: bool = False,
    **options: Unpack[Options],
) -> Release:
    """A value near the smallest: see `Minimum`.

    >>> import deniable as dn
    >>> answer = dn.statistics.minimum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Minimum, values, {"bounds": bounds, "interval": interval, "step": step, "tight": tight}, options)


@in_words
def maximum(
    values: object,
    *,
    bounds: object,
    interval: float | None = None,
    step: object = None,
    tight: bool = False,
    **options: Unpack[Options],
) -> Release:
    """A value near the largest: see `Maximum`.

    >>> import deniable as dn
    >>> answer = dn.statistics.maximum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Maximum, values, {"bounds": bounds, "interval": interval, "step": step, "tight": tight}, options)
