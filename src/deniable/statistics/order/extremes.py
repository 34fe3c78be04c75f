"""The smallest and the largest value, as well as they can be told: ranks near the end."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import ClassVar, Unpack

from deniable.release import Release
from deniable.statistics.call import in_words
from deniable.statistics.order.quantile import Quantile
from deniable.statistics.statistic import Options, release

_DEPTH = 8  # the empty range outside the data counts e^-8 of its length


@dataclass(frozen=True, kw_only=True)
class Minimum(Quantile):
    """A value near the smallest, with an upper end for the smallest.

    No private answer tells where the single smallest row lies. The estimate aims 8 / rate ranks above it, so that the
    empty range between the lower bound and the data does not win. The interval reaches from the lower bound to an end
    that is at or above the smallest value; that end takes a third of the price.

    Guarantee: that of `Quantile` at share 0 with a constant added to the rank.
    Proof: docs/theory/quantiles.md.
    """

    name: ClassVar[str] = "minimum"
    sides: ClassVar[tuple[int, ...]] = (1,)

    share: object = field(default=Fraction(0), init=False)

    def _target(self, total: int) -> Fraction:
        return Fraction(ceil(_DEPTH / self._rate(self.epsilons[0])))


@dataclass(frozen=True, kw_only=True)
class Maximum(Quantile):
    """A value near the largest, with a lower end for the largest: `Minimum` in the mirror."""

    name: ClassVar[str] = "maximum"
    sides: ClassVar[tuple[int, ...]] = (-1,)

    share: object = field(default=Fraction(1), init=False)

    def _target(self, total: int) -> Fraction:
        return Fraction(total - ceil(_DEPTH / self._rate(self.epsilons[0])))


@in_words
def minimum(
    values: object, *, bounds: object, interval: float | None = 0.95, step: object = None, **options: Unpack[Options]
) -> Release:
    """A value near the smallest: see `Minimum`.

    >>> import deniable as dn
    >>> answer = dn.statistics.minimum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Minimum, values, {"bounds": bounds, "interval": interval, "step": step}, options)


@in_words
def maximum(
    values: object, *, bounds: object, interval: float | None = 0.95, step: object = None, **options: Unpack[Options]
) -> Release:
    """A value near the largest: see `Maximum`.

    >>> import deniable as dn
    >>> answer = dn.statistics.maximum([21, 45, 33, 60], bounds=(0, 100), epsilon=1)
    """
    return release(Maximum, values, {"bounds": bounds, "interval": interval, "step": step}, options)
