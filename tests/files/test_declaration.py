"""A declaration is checked where it is made."""

import pytest

from deniable.errors import CatalogError
from deniable.files.declaration import Csv, CsvColumn

WRONG: list[tuple[dict[str, object], str]] = [
    ({"delimiter": ""}, "delimiter"),
    ({"delimiter": "::"}, "delimiter"),
    ({"delimiter": "\n"}, "delimiter"),
    ({"delimiter": '"'}, "differ"),
    ({"line_end": "\r\n"}, "line_end"),
    ({"row_lines": 0}, "row_lines"),
    ({"row_lines": True}, "row_lines"),
    ({"decimal": ";"}, "decimal"),
    ({"thousands": "."}, "thousands"),
    ({"thousands": "5"}, "thousands"),
    ({"null": "NA"}, "null must be a list"),
    ({"true": ["x"], "false": ["X"]}, "both true and false"),
    *(({"encoding": name}, "encoding") for name in ("utf-7", "shift_jis", "iso2022_jp", "cp037", "base64", "nothing")),
]


@pytest.mark.parametrize(("fields", "words"), WRONG)
def test_what_one_row_could_bend_or_nobody_can_mean_is_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        Csv(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "number"},
        {"type": "null"},
        {"type": "text", "format": "%Y"},
        {"type": "date", "format": "%Q"},
        {"type": "date", "format": "yyyy"},
        {"type": "text", "sign": "€"},
        {"type": "real", "sign": "-"},
        {"type": "real", "sign": " "},
    ],
)
def test_a_column_says_what_its_type_knows(fields: dict[str, str]) -> None:
    with pytest.raises(CatalogError):
        CsvColumn(**fields)


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "utf-16", "latin-1", "cp1250", "cp1252", "koi8-r", "mac-roman"])
def test_encodings_in_which_a_byte_is_a_letter_are_taken(name: str) -> None:
    assert Csv(encoding=name).encoding == name


def test_every_field_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {
        "encoding": "latin-1",
        "delimiter": ";",
        "quote": "'",
        "line_end": "\r",
        "row_lines": 2,
        "names": ("a",),
        "decimal": ",",
        "thousands": "'",
        "null": ("NA",),
        "true": ("ja",),
        "false": ("nein",),
        "columns": {"a": CsvColumn(type="real")},
    }
    assert set(other) == set(Csv.__dataclass_fields__)
    prints = {Csv(**{name: value}).fingerprint for name, value in other.items()}  # type: ignore[arg-type]
    assert len(prints | {Csv().fingerprint}) == len(other) + 1
    assert Csv(null=["NA"]).fingerprint == Csv(null=("NA",)).fingerprint  # type: ignore[arg-type]
    monkeypatch.setattr("deniable.files.declaration.FORMAT", 0)  # what the same words once meant
    assert Csv().fingerprint not in prints
    assert Csv(decimal=",").fingerprint not in prints
