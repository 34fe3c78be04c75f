"""Neighbouring relations and privacy units: who is protected."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import positive_integer, shown


class Relation(Enum):
    """Neighbouring relation: how two neighbouring tables differ.

    ADD_REMOVE: one has all the rows of one unit, the other has none of them (also called unbounded).

    REPLACE: the rows of one unit are exchanged for any others; the number of units is public (bounded).

    ADD_REMOVE: one has all the rows of one unit, the other has none of them (also called unbounded).
    REPLACE: the rows of one unit are exchanged for any others; the number of units is public (bounded).

    Neither implies the other at the same cost: the exact number of units is free under REPLACE and has no finite
    epsilon under ADD_REMOVE. A guarantee under ADD_REMOVE with epsilon gives one under REPLACE with twice the epsilon.
    """

    ADD_REMOVE = "add/remove"
    REPLACE = "replace"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def checked(cls, value: object) -> "Relation":
        """Return `value`, or raise an error that says what a relation is."""
        if not isinstance(value, cls):
            raise InvalidParameterError(f"relation must be AddRemove or Replace, got {value!r}")
        return value

    @classmethod
    def _missing_(cls, value: object) -> "Relation":
        if isinstance(value, str) and value in cls.__members__:  # as older ledgers write it in parallel losses
            return cls[value]
        raise InvalidParameterError(
            f'relation must be dn.AddRemove or dn.Replace, in text "add/remove" or "replace", got {shown(value)}'
        )


AddRemove = Relation.ADD_REMOVE
Replace = Relation.REPLACE


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit(metaclass=InWords):
    """Privacy unit: the rows that are protected together.

    Args:
        column: the column that names the unit; None when every row is a unit of its own.
        noun: a word for one unit, for messages.
        ids: how many values of `column` one unit may own (a household of up to 4 people: 4); multiplies sensitivities.
        period: a column of dates; the unit is then one unit's rows of one day, and no more.

    >>> print(PrivacyUnit(column="household", noun="household", ids=4))
    one household of up to 4 values of household
    """

    column: str | None = None
    noun: str = "row"
    ids: Annotated[int, positive_integer] = 1
    period: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None and not (isinstance(self.column, str) and self.column):
            raise InvalidParameterError(f"column must be the name of a column or None, got {self.column!r}")
        if not (isinstance(self.noun, str) and self.noun):
            raise InvalidParameterError(f"noun must be a word such as 'respondent', got {self.noun!r}")
        read_fields(self)
        if self.period is not None and (self.column is None or self.ids != 1 or not isinstance(self.period, str)):
            raise InvalidParameterError(
                f"period must be the name of a date column, beside column= with ids=1, got {self.period!r}"
            )
        if self.column is None and self.ids != 1:
            raise InvalidParameterError(
                "ids must be 1 when every row is a unit; name the column that groups rows first"
            )

    def __str__(self) -> str:
        if self.ids == 1:
            return f"one {self.noun}" + (f" on one {self.period}" if self.period else "")
        return f"one {self.noun} of up to {self.ids} values of {self.column}"
