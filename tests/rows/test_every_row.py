"""The class of all defects of reading: one row, whatever it is, changes nothing but itself.

For every container and every odd row that it can hold, each reader gives the other rows as before, in an array of the
same type and shape, without an error or a warning. The whole product runs with DENIABLE_FUZZ=1; a part that holds every
container, odd row and reader always does.
"""

import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import arrow_of, codes, indices_of, labels, numbers, plain, read, table, whole_numbers
from tests.rows.containers import ODD, PLACE, ROWS, Tells, changed, containers, made, type_of

WHOLE_PRODUCT = os.environ.get("DENIABLE_FUZZ") == "1"
CONTAINERS = containers()
DECLARED = ("integer", "real", "text", "boolean", "date", "timestamp", None)


def _whole(values: Any) -> Any:
    found = whole_numbers(values)
    return "no integers" if found is None else np.where(found[1], 0, found[0])


def _records(values: Any) -> Any:
    found, spoilt = read("rows", values)
    return np.where(spoilt, 0, found)


def _keys(values: Any) -> Any:
    found, keys = codes(values)
    assert all(type(key).__module__ in ("builtins", "datetime", "decimal", "fractions", "uuid") for key in keys)
    said = [hex(key) if type(key) is int else repr(key) for key in keys]  # of any number of digits
    return [None if place < 0 else said[place] for place in found]


def _units(values: Any) -> Any:
    """Which other rows are of the same unit."""
    found = labels(values)
    return [[other for other in range(len(found)) if other != PLACE and 0 <= found[other] == unit] for unit in found]


def _declared(kind: Any) -> Callable[[Any], Any]:
    def reader(values: Any) -> Any:
        found = arrow_of(values, "x", kind)
        found.validate(full=True)
        return [str(found.type), *(None if place == PLACE else found[place].as_py() for place in range(len(found)))]

    return reader


def _in_frame(values: Any) -> Any:
    frame = pd.DataFrame({"a": values, "b": range(len(values))})
    return table(frame, columns=2)[0][:, 0]


READERS: dict[str, Callable[[Any], Any]] = {
    "numbers": numbers,
    "whole numbers": _whole,
    "records": _records,
    "bounded records": lambda values: read("rows", values, lower=0, upper=9)[0],
    "keys": _keys,
    "units": _units,
    "indices of numbers": lambda values: indices_of(values, (1, 2, 3)),
    "indices of text": lambda values: indices_of(values, ("a", "b")),
    "blocks": plain,
    **{f"declared {kind}": _declared(kind) for kind in DECLARED},
}


def outcome(reader: Callable[[Any], Any], container: Any) -> tuple[str, list[str]]:
    """The type and shape of what is read, or what is raised; and the other rows."""
    try:
        found = reader(container)
    except InvalidParameterError as error:
        return f"{error} {error.__context__ is None or error.__suppress_context__}", []
    if isinstance(found, np.ndarray):
        return f"{found.dtype} {found.shape}", list(map(repr, np.delete(found, PLACE).tolist()))
    if isinstance(found, str):
        return found, []
    start = len(found) - len(ROWS["number"])
    return f"{len(found)} {found[:start]}", [repr(each) for row, each in enumerate(found) if row != start + PLACE]


@cache
def plain_rows(name: str) -> Any:
    kind, make = CONTAINERS[name]
    return made(make, ROWS[kind])


def neighbour(name: str, odd: str) -> tuple[Any, Any] | None:
    """A container of plain rows, and one with an odd row; None where it cannot hold that row and keep its type."""
    kind, make = CONTAINERS[name]
    before, after = plain_rows(name), made(make, changed(kind, ODD[odd]))
    assert before is not None, name
    return None if after is None or type_of(after) != type_of(before) else (before, after)


def neighbours(name: str) -> list[tuple[str, Any, Any]]:
    return [(odd, *found) for odd in ODD if (found := neighbour(name, odd)) is not None]


@pytest.mark.parametrize("name", CONTAINERS)
def test_one_row_changes_only_itself(name: str) -> None:
    cases = neighbours(name)
    assert cases
    Tells.heard.clear()  # what their own libraries used to make the containers
    for number, (odd, before, after) in enumerate(cases):
        for place, (title, reader) in enumerate(READERS.items()):
            step = 1 if WHOLE_PRODUCT else 4 if title in ("keys", "units", "numbers") else 16
            if (number + place + list(CONTAINERS).index(name)) % step == 0:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    assert outcome(reader, after) == outcome(reader, before), (title, odd)
                assert not said, (title, odd, said[0].message)
                assert odd != "tells" or not Tells.heard, (title, Tells.heard)


def test_the_sweep_can_fail() -> None:
    """The twin: numpy and Arrow read these containers by all of their rows."""
    found = {
        odd
        for odd, before, after in neighbours("polars Int64")
        if outcome(np.asarray, after) != outcome(np.asarray, before)
    }
    assert "None" in found
