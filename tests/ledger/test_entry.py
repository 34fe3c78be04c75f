import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Entry
from deniable.privacy import PureLoss


@pytest.mark.parametrize("question", ["", "abc", "G" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", None, 7])
def test_a_question_is_a_sha_256_key(question: str) -> None:
    with pytest.raises(InvalidParameterError, match="64 hexadecimal digits"):
        Entry(question=question, text="SELECT 1", loss=PureLoss(1))


def test_an_entry_is_immutable() -> None:
    entry = Entry(question="a" * 64, text="SELECT 1", loss=PureLoss(1))
    with pytest.raises(AttributeError):
        entry.text = "SELECT 2"  # type: ignore[misc]
