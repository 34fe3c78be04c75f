"""Differences are found wherever they are, told by their place, and never by a value."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.audit.recorded.differences import difference, moved

NAN = float("nan")


class Colour(Enum):
    RED = 1
    BLUE = 2


class Plain:
    def __init__(self, inner: object) -> None:
        self.inner = inner


@dataclass
class Record:
    inner: object


FRAMES = (pd.DataFrame, pl.DataFrame, pa.table)
SCHEMA: list[tuple[Any, Any, str]] = [
    (1, 1.0, "type"),
    (1.0, NAN, "finite"),
    ([1], [1, 2], "length"),
    ({"a": 1}, {"b": 1}, "names"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "names"),
    ({1, 2}, {1}, "length"),
    (np.zeros(3), np.zeros(4), "shape"),
    (np.zeros(3), np.zeros(3, dtype=np.int64), "dtype"),
    (np.array([1.0, 2.0]), np.array([1.0, NAN]), "finite"),
    (np.array([None, "x"], dtype=object), np.array(["y", "x"], dtype=object), "type"),
    (Record([1]), Record([]), "inner"),
    (Plain([1]), Plain([]), "inner"),
    (ValueError("a"), ValueError("b"), "value"),
    *[(make({"a": [1, 2]}), make({"a": [1]}), "a") for make in FRAMES],
    *[(make({"a": [1]}), make({"b": [1]}), "names") for make in FRAMES],
    *[(make({"a": [1]}), make({"a": [1.0]}), "types") for make in FRAMES],
]
VALUES: list[tuple[Any, Any]] = [
    (1, 2), (0.0, -0.0), (np.zeros(1), -np.zeros(1)),
    ("a", "b"), (b"a", b"b"), (Fraction(1, 2), Fraction(1, 3)), (np.arange(3), np.arange(3) + 1), ({1}, {2}),
    (Colour.RED, Colour.BLUE), (True, False), (Record(1), Record(2)), (Plain({"x": 1}), Plain({"x": 2})),
    *[(make({"a": [1]}), make({"a": [2]})) for make in FRAMES],
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "said"), SCHEMA)
def test_schemas_are_compared(one: object, other: object, said: str) -> None:
    for values in (True, False):
        found = difference(one, other, where="the output", values=values)
        assert found is not None
        assert said in found
        assert "the output" in found
    assert difference(one, one, where="x") is None


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_values_are_compared_where_it_is_asked_for(one: object, other: object) -> None:
    assert difference(one, other, where="x", values=False) is None
    assert difference(one, other, where="x") is not None
    assert difference([one], [one], where="x") is None


def test_missing_numbers_are_equal_and_places_are_told() -> None:
    assert difference([NAN, np.array([NAN])], [NAN, np.array([NAN])], where="x") is None
    found = difference({"a": [1, {"b": 12345}]}, {"a": [1, {"b": 54321}]}, where="the output")
    assert found == "the value of the output, a, item 1, b"
    loop: list[object] = []
    loop.append(loop)
    assert difference(loop, [loop], where="x") is None


def test_functions_are_compared_by_name() -> None:
    assert difference(len, len, where="x") is None
    assert difference(lambda: 1, difference, where="x") == "the name of x"


def test_moves_are_summed_over_all_numbers() -> None:
    one = {"a": [1, 2.5, NAN], "b": np.array([1.0, 5.0]), "c": "text", "d": Record(Fraction(1, 2))}
    other = {"a": [3, 2.0, NAN], "b": np.array([1.0, 4.0]), "c": "else", "d": Record(Fraction(1, 4))}
    assert moved(one, other) == 2 + 0.5 + 1 + 0.25
