import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, PrivacyUnit, Relation, Replace


def test_relations_print_as_words_and_are_read_back() -> None:
    assert (str(AddRemove), str(Replace)) == ("add/remove", "replace")
    assert [Relation(str(relation)) for relation in Relation] == [AddRemove, Replace]


def test_a_unit_prints_as_a_person_says_it() -> None:
    assert str(PrivacyUnit()) == "one row"
    assert str(PrivacyUnit(column="id", noun="respondent")) == "one respondent"
    assert str(PrivacyUnit(column="id", noun="household", ids=4)) == "one household of up to 4 values of id"


@pytest.mark.parametrize("fields", [{"column": ""}, {"noun": ""}, {"ids": 0}, {"ids": 2}, {"column": "id", "ids": 1.5}])
def test_incomplete_units_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        PrivacyUnit(**fields)
