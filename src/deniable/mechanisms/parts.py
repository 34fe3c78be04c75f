"""Parts of plans, read when they are made and written as plain data."""

from dataclasses import dataclass, fields
from fractions import Fraction

from deniable.arguments import InWords, read_fields
from deniable.numbers.rationals import quotient_text
from deniable.privacy import PrivacyUnit, Relation


@dataclass(frozen=True, kw_only=True)
class Part(metaclass=InWords):
    """Base class of plans and their parts.

    Fields are read when it is made, and written as plain data.
    """

    def __post_init__(self) -> None:
        read_fields(self)

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {"kind": type(self).__name__} | {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def _plain(value: object) -> object:
    """Return a field as plain data for JSON."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, PrivacyUnit):
        return {"column": value.column, "noun": value.noun}
    if isinstance(value, Part):
        return value.to_data()
    if isinstance(value, Fraction):
        return quotient_text(value)
    return str(value) if isinstance(value, Relation) else value
