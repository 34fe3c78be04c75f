"""Outputs of any kind as labels and columns."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from deniable.audit.outputs import MAX_COLUMNS, Failed, encode, powers_of_two


@dataclass(frozen=True)
class Point:
    x: float
    tag: str


ODD = [
    1, 1.0, True, None, math.nan, math.inf, "text", b"text", "", [], [1], (1,), [1, 2], [1, None], {"a": 1}, {1, 2},
    np.array([1.0, 2.0]), np.array([[1.0, 2.0]]), np.float32(1), 1 + 2j, Fraction(1, 3), Point(1, "x"), Point(1, "y"),
    Failed("ValueError"), Failed("KeyError"), 10**400, 10**400 + 1, 2**53, 2**53 + 1, object(),
]  # fmt: skip


def test_every_output_has_a_label_of_its_own_and_equal_ones_share_it() -> None:
    ours, theirs = encode(ODD, [*reversed(ODD)])
    assert len(set(ours.labels.tolist())) == len(ODD)
    assert np.array_equal(ours.labels, theirs.labels[::-1])


def test_what_is_no_number_is_nan() -> None:
    ours, _ = encode([None, "ab", 3, [4, 5]], [1])
    assert np.isnan(ours.columns[0]).sum() >= 2
    assert ours.columns[1:, 0].tolist() == [2, 3, 4]
    assert ours.columns[3, 1] == 5


def test_arrays_and_lists_of_the_same_numbers_have_the_same_columns() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(20, 3)).round(1)
    fast, slow = encode(table, table[:5])[0], encode(table.tolist(), table[:5].tolist())[0]
    assert fast.names == slow.names
    assert np.array_equal(fast.columns, slow.columns, equal_nan=True)
    assert np.array_equal(fast.labels[:, None] == fast.labels, slow.labels[:, None] == slow.labels)


def test_statistics_of_vectors_are_columns() -> None:
    ours, _ = encode(np.array([[3, 1, 2]]), np.array([[0, 0, 0]]))
    found = dict(zip(ours.names, ours.columns[0].tolist(), strict=True))
    assert (found["sum"], found["maximum"], found["minimum"], found["place of the maximum"]) == (6, 3, 1, 0)
    assert (found["output[1] - output[0]"], found["place of the minimum"]) == (-2, 1)


def test_powers_of_two_are_those_that_divide() -> None:
    found = powers_of_two(np.array([0.75, 3.0, 8.0, 0.1, 0.0, math.nan]))
    assert found[:3].tolist() == [-2, 0, 3]
    assert found[3] == -55
    assert math.isnan(found[4])
    assert math.isnan(found[5])


def test_columns_are_limited_and_labels_are_not() -> None:
    wide = np.zeros((2, MAX_COLUMNS + 10))
    wide[1, -1] = 1
    ours, _ = encode(wide, wide)
    assert ours.labels[0] != ours.labels[1]
    assert ours.names[2 * MAX_COLUMNS] == "sum"


@pytest.mark.parametrize(("output", "words"), [(Failed("E"), "an error of type E"), ("x" * 99, "..."), (1.5, "1.5")])
def test_outputs_are_shown_in_a_few_words(output: object, words: str) -> None:
    ours, _ = encode([output], [output])
    assert words in ours.shown(0)
    assert len(ours.shown(0)) <= 60
