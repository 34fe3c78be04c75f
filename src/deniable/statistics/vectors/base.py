"""Base of statistics of vectors: loose bounds, and a price spent step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import ClassVar

from deniable.errors import InvalidParameterError
from deniable.ledger.payment import Payer
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, Reals
from deniable.privacy import PrivacyLoss, Relation
from deniable.release import Release
from deniable.statistics.statistic import BoundsLike, Statistic
from deniable.statistics.vectors.columns import Columns
from deniable.statistics.vectors.range_search import RangeSearch


@dataclass(frozen=True, kw_only=True)
class VectorStatistic(Statistic):
    """Base of statistics of the rows of a table, in steps chosen one after the other.

    Guarantee: the charges of the steps, in rho, or in epsilon where that alone is given, add up to the price whatever
        the answers are (docs/theory/privacy/budget.md). A pair of epsilon and delta is spent as the largest rho that
        implies it.

    Args:
        bounds: for each column one pair (lower, upper), between which its mean lies, or "auto": a quarter of the price
            finds what is not declared.
        deviations: standard deviations that no column exceeds: one number, or one for each column. Those of a column
            with bounds="auto" may be "auto": half of the distance of the ends to which its values are clamped. Declared
            ones make better answers, and are found with less: see `RangeSearch`.
    """

    known_means: ClassVar[bool] = False  # whether a pair of equal bounds may say that a mean is known

    bounds: BoundsLike | Sequence[BoundsLike]
    deviations: Real | Reals = "auto"

    @cached_property
    def columns(self) -> Columns:
        """Declared facts about the columns."""
        return Columns.of(self.bounds, self.deviations, known=self.known_means)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self._spending.bound().under(self.relation))

    @cached_property
    def _resolved(self) -> tuple[RangeSearch, Price]:
        return RangeSearch.of(self.columns, self._spending, relation=self.relation, rows=self.rows)

    @property
    def range_search(self) -> RangeSearch:
        """Searches for what is not declared."""
        return self._resolved[0]

    @property
    def rest(self) -> Price:
        """Price that is left after the searches, in the notion of the steps."""
        return self._resolved[1]

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows that count is public.

        Under replace every unit has one.
        """
        return self.relation is Relation.REPLACE and self.rows == 1

    @cached_property
    def _spending(self) -> Price:
        """Price in the notion of the steps."""
        return self.price.concentrated()

    def _spread(self, whole: float, share: Fraction) -> float:
        """Return the deviation of noise for this share, from that for the whole price."""
        return whole / (float(share) if self._spending.rho is None else sqrt(share))

    def _searched(
        self, values: object, units: object, bits: Bits
    ) -> tuple[Columns, Floats, tuple[str, ...], tuple[str, ...]]:
        """Return columns after the searches, the rows that count, names and notes."""
        rows, names = self.columns.read(values, units, rows=self.rows, relation=self.relation, bits=bits)
        columns, rows, notes = self.range_search(self.columns, rows, bits)
        return columns, rows, names, notes

    def __call__(
        self, values: object, *, units: object = None, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> Release:
        shape = getattr(values, "shape", None)
        if shape is not None and (len(shape) != 2 or shape[1] != len(self.columns)):
            raise InvalidParameterError(f"values must be a table of {len(self.columns)} columns, as many as bounds")
        return super().__call__(values, units=units, ledger=ledger, bits=bits)


def part_of(price: Price, share: Fraction) -> Price:
    """Return this share of the price."""
    return price.split(share, 1 - share)[0]
