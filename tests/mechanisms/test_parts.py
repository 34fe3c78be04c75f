"""Parts of plans: read when they are made, written as plain data."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.parts import Part
from deniable.numbers.rationals import positive_rational
from deniable.privacy import PrivacyUnit, Relation, Replace


@dataclass(frozen=True, kw_only=True)
class Half(Part):
    size: Annotated[Fraction, positive_rational] = Fraction(1)
    unit: PrivacyUnit | None = None
    relation: Relation | None = None


def test_fields_are_read_and_written_as_plain_data() -> None:
    whole = Half(size="1/2", unit=PrivacyUnit(column="id", noun="person"), relation=Replace)
    assert whole.size == Fraction(1, 2)
    known = {"kind": "Half", "size": "1/2", "unit": {"column": "id", "noun": "person"}, "relation": str(Replace)}
    assert whole.to_data() == known


def test_fields_that_cannot_be_read_are_refused_in_words() -> None:
    with pytest.raises(InvalidParameterError, match="size"):
        Half(size=-1)
    with pytest.raises(InvalidParameterError, match="takes no sizes"):
        Half(sizes=1)
