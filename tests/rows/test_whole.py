"""Private rows: each is read by itself, and whether a call is taken depends on none of them."""

import array
import math
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import MECHANISMS, RANKS, ClippedProducts, ClippedSum, Laplace, RandomizedResponse
from deniable.mechanisms.inverse import InverseMedian, InverseQuantile
from deniable.mechanisms.selection.revenues import revenues
from deniable.mechanisms.selection.voting import approvals, pluralities
from deniable.mechanisms.smooth import (
    SmoothCentralMean,
    SmoothMedian,
    SmoothQuantile,
    SmoothStudentT,
    SmoothTriangles,
    SmoothTrimmedMean,
)
from deniable.mechanisms.tested import SampleAndAggregate, stability
from deniable.mechanisms.wrappers import PoissonSampled, SubsetSampled
from deniable.noise.bits import DeterministicBits
from deniable.rows import left_out, read, replaced

TOP = 2**63 - 1


class Hostile:
    """An entry whose every use is an error."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


SPOILT: dict[str, Any] = {
    "None": None,
    "NaN": math.nan,
    "NaN of numpy": np.float32("nan"),
    "NaN of Decimal": Decimal("sNaN"),
    "a missing value of pandas": pd.NA,
    "no time": pd.NaT,
    "a masked entry": np.ma.masked,
    "text": "seven",
    "bytes": b"7",
    "a date": date(2020, 1, 1),
    "a duration": np.timedelta64(7, "s"),
    "a complex number": 7j,
    "a list": [7],
    "an empty list": [],
    "an array": np.array([7, 7, 7]),
    "a dictionary": {7: 7},
    "an object": object(),
    "a hostile object": Hostile(),
}
READ: dict[str, tuple[Any, int]] = {
    "true": (True, 1),
    "a number in text": (" 3.0", 3),
    "a truth value of numpy": (np.bool_(False), 0),
    "a small integer": (np.uint8(3), 3),
    "a float": (2.0, 2),
    "a fraction": (1.6, 2),
    "a long double": (np.longdouble(1.6), 2),
    "an exact fraction": (Fraction(1, 3), 0),
    "a decimal": (Decimal("1.1"), 1),
    "an array without dimension": (np.array(3), 3),
    "a large number": (10**400, TOP),
    "a small number": (-(10**400), -TOP - 1),
    "infinity": (math.inf, TOP),
    "minus infinity": (np.float64(-math.inf), -TOP - 1),
    "a large decimal": (Decimal("1e999999"), TOP),
}


@pytest.mark.parametrize("entry", READ.values(), ids=READ)
def test_numbers_of_all_kinds_are_read(entry: tuple[Any, int]) -> None:
    odd, number = entry
    found, spoilt = read("votes", [0, odd, 2], lower=-TOP - 1)
    assert found.tolist() == [0, number, 2]
    assert not spoilt.any()
    table, broken = read("edges", [[0, 1], [odd, 2]], columns=2, upper=TOP)
    assert table.tolist() == [[0, 1], [number, 2]]
    assert not broken.any()


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_no_number_spoils_its_row_alone(what: str) -> None:
    odd = SPOILT[what]
    found, spoilt = read("votes", [2**62 + 1, odd, 3])
    assert spoilt.tolist() == [False, True, False]
    assert found[[0, 2]].tolist() == [2**62 + 1, 3]  # which the nearest float is not
    assert left_out("votes", [5, odd, 3], lower=0, upper=4).tolist() == [4, 3]
    assert replaced("votes", [5, odd, 3], by=1, lower=0, upper=4).tolist() == [4, 1, 3]
    assert replaced("edges", [[5, odd], [3, 2], odd, [1], [1, 2, 3]], by=9, columns=2).tolist() == [
        [9, 9],
        [3, 2],
        *3 * [[9, 9]],
    ]


def test_a_number_beyond_64_bits_is_spoilt_where_there_are_no_bounds() -> None:
    for odd in (2**63, -(2**70), math.inf, -math.inf):
        for rows in ([1, odd], np.array([1, odd], dtype=object)):
            assert read("votes", rows)[1].tolist() == [False, True]
    assert read("votes", np.array([-(2.0**63), 2.0**63]))[1].tolist() == [False, True]
    assert read("votes", [-(2**63), -(2.0**63)])[0].tolist() == 2 * [-(2**63)]


@pytest.mark.parametrize(
    "column",
    [
        np.array([2, math.nan, 1]),
        np.array([2, None, 1], dtype=object),
        np.ma.array([2, 7, 1], mask=[False, True, False]),
        pd.Series([2, None, 1]),
        pd.Series([2, None, 1], dtype="Int64"),
        pl.Series([2, None, 1]),
        pa.array([2, None, 1]),
        (2, None, 1),
    ],
    ids=["floats", "objects", "masked", "pandas", "nullable pandas", "polars", "arrow", "tuple"],
)
def test_a_column_with_a_missing_value_is_the_list_with_none(column: Any) -> None:
    """Numpy, pandas and Polars make floats of integers because one row is missing, so floats cannot be refused."""
    found, spoilt = read("votes", column)
    assert spoilt.tolist() == [False, True, False]
    assert found[[0, 2]].tolist() == [2, 1]


def test_a_row_of_one_number_needs_no_list() -> None:
    for rows in ([5, [6], None, [7, 8], "a"], np.array([5, [6], None, [7, 8], "a"], dtype=object)):
        assert replaced("exact", rows, by=0, columns=1).tolist() == [[5], [6], [0], [0], [0]]
    for column in (pd.Series([5, [6], None], dtype=object), pl.Series([5, 6, None], dtype=pl.Int128)):
        assert replaced("exact", column, by=0, columns=1).tolist() == [[5], [6], [0]]
    assert replaced("exact", np.array([5, 6]), by=0, columns=1).tolist() == [[5], [6]]
    assert replaced("exact", [5, 6], by=0, columns=2).tolist() == [[0, 0], [0, 0]]


def test_what_is_masked_and_what_is_no_number_are_both_spoilt() -> None:
    column = np.ma.array([np.nan, 2.0, 3.0, np.nan], mask=[False, True, False, True])
    assert replaced("rows", column, by=9).tolist() == [9, 9, 3, 9]
    assert left_out("rows", column).tolist() == [3]


def test_tables_of_all_kinds_are_read() -> None:
    rows = [[1, 0], [1, None], [0, 1]]
    for table in (
        rows,
        np.array(rows, dtype=float),
        np.array(rows, dtype=object),
        pd.DataFrame(rows),
        pl.DataFrame(rows, orient="row"),
    ):
        assert replaced("ballots", table, by=9, columns=2).tolist() == [[1, 0], [9, 9], [0, 1]]
    masked = np.ma.array([[1, 0], [1, 5], [0, 1]], mask=[[0, 0], [0, 1], [0, 0]])
    assert replaced("ballots", masked, by=9, columns=2).tolist() == [[1, 0], [9, 9], [0, 1]]
    for empty in ([], (), np.empty(0), np.empty((0, 2))):
        assert read("ballots", empty, columns=2)[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (3, None, "votes must be one column, got int"),
        ({1, 2}, None, "votes must be one column, got set"),
        (np.zeros((2, 2)), None, "got an array of 2 dimensions"),
        (np.zeros(2), 2, "must be a table, got an array of 1 dimension"),
        (np.zeros((2, 3)), 2, "a table of integers with 2 columns"),
        (np.array(["77"]), None, "votes must hold integers, got str"),
        (np.array([77j]), None, "must be numbers, text, dates or booleans, got complex128"),
        (np.array([77], dtype="m8[s]"), None, "got timedelta64"),
    ],
)
def test_types_and_shapes_of_arrays_are_refused_and_no_value_is_shown(
    rows: Any, columns: int | None, words: str
) -> None:
    with pytest.raises(InvalidParameterError, match=words) as caught:
        read("votes", rows, columns=columns)
    assert "77" not in str(caught.value)


# --- every mechanism ---

NOISE = SmoothStudentT.calibrated(epsilon=1, bounds=(0, 9))
RECORDS = [3, 9, 1, 4, 4]
MIDDLE = 4  # of the bounds


def released(mechanism: Any, *more: Any) -> Callable[[list[Any]], Any]:
    """A release as a function of rows, with the same bits each time: equal if the laws are those of equal inputs."""

    def call(rows: list[Any]) -> Any:
        found = mechanism.release((rows, *more) if more else rows, bits=DeterministicBits(5))
        return np.asarray(found.value).tolist()

    return call


LEFT_OUT = object()
"""The policy for a spoilt row."""

# what is computed, rows, what stands for a spoilt row, and (a row beyond the bounds, what it counts as)
SWEEP: dict[str, tuple[Callable[[list[Any]], Any], list[Any], Any, tuple[Any, Any]]] = {
    "smooth_median": (released(SmoothMedian(noise=NOISE)), RECORDS, LEFT_OUT, (math.inf, 9)),
    "smooth_central_mean": (released(SmoothCentralMean(noise=NOISE, trimmed=1)), RECORDS, LEFT_OUT, (math.inf, 9)),
    "smooth_quantile": (released(SmoothQuantile(noise=NOISE, quantile="1/2")), RECORDS, MIDDLE, (-math.inf, 0)),
    "smooth_trimmed_mean": (released(SmoothTrimmedMean(noise=NOISE, trimmed=1)), RECORDS, MIDDLE, (2**70, 9)),
    "inverse_median": (released(InverseMedian.calibrated(epsilon=9, bounds=(0, 9))), RECORDS, LEFT_OUT, (99, 9)),
    "inverse_quantile": (released(InverseQuantile.calibrated(epsilon=9, bounds=(0, 9))), RECORDS, MIDDLE, (99, 9)),
    "smooth_triangles": (
        lambda rows: SmoothTriangles(noise=NOISE, vertices=5).measured(rows),
        [[0, 1], [1, 2], [2, 0], [3, 4]],
        LEFT_OUT,
        ([math.inf, 1], LEFT_OUT),
    ),
    "randomized_response": (released(RandomizedResponse(choices=3, epsilon=9)), [0, 1, 2], 0, (math.inf, 2)),
    **{
        kind.kind: (
            released(kind(noise=Laplace(scale=1), columns=2, radius=9, steps=9)),
            [[1, 2], [2, 3]],
            LEFT_OUT,
            ([math.inf, 1], LEFT_OUT),
        )
        for kind in (ClippedSum, ClippedProducts)
    },
    "poisson_sampled": (
        released(PoissonSampled(base=Laplace(scale=1), rate="1/2", columns=1)),
        RECORDS,
        0,
        (math.inf, 0),
    ),
    "subset_sampled": (
        released(SubsetSampled(base=Laplace(scale=1), size=3, population=6, columns=1)),
        RECORDS,
        0,
        (2**70, 0),
    ),
    "of_quantile": (
        lambda rows: stability.of_quantile(rows, quantile="1/2", bound=2, bounds=(0, 9)),
        RECORDS,
        MIDDLE,
        (99, 9),
    ),
    "of_interquartile_range": (
        lambda rows: stability.of_interquartile_range(rows, bound=2, bounds=(0, 9)),
        RECORDS,
        MIDDLE,
        (99, 9),
    ),
    "pluralities": (lambda rows: pluralities(rows, 3).tolist(), [0, 1, 2], LEFT_OUT, (math.inf, LEFT_OUT)),
    "approvals": (lambda rows: approvals(rows, 2).tolist(), [[0, 1], [1, 1]], LEFT_OUT, ([math.inf, 1], LEFT_OUT)),
    "revenues": (lambda rows: revenues(rows, [1, 2]).tolist(), RECORDS, LEFT_OUT, (math.inf, 9)),
}
OF_AGGREGATES = {
    *("bounded_laplace", "elliptical_gaussian", "gaussian", "laplace", "snapping", "staircase", "truncated_laplace"),
    *("exponential_mechanism", "permute_and_flip", "noisy_max", "top_k", "joint_top_k", "continuous_exponential"),
    *(
        "tree_of_counts",
        "stability_histogram",
        "weighted_keys",
        "above_threshold",
        "sparse_vector",
        "stable_selection",
        "propose_test_release",
        "inverse_sensitivity",
    ),
    *("smooth_student_t", "smooth_laplace", "smooth_log_normal", "smooth_pareto"),
    *(kind.kind for kind in RANKS),  # codes of points, which a grid computes for every row
    *("grouped", "mixed", "post_processed", "best_of", "best_of_poisson"),  # as what they wrap
}
"""Those whose input a program computes, one number or a list of public length; its type is part of the program."""


def test_every_mechanism_takes_rows_or_aggregates() -> None:
    assert set(MECHANISMS) <= {*SWEEP, "sample_and_aggregate"} | OF_AGGREGATES
    assert not set(SWEEP) & OF_AGGREGATES


def with_row(rows: list[Any], row: Any) -> list[Any]:
    return list(rows) if row is LEFT_OUT else [*rows[:1], row, *rows[1:]]


@pytest.mark.parametrize("name", SWEEP)
def test_no_row_is_refused_and_a_spoilt_one_counts_as_the_policy_says(name: str) -> None:
    compute, rows, policy, (far, counts_as) = SWEEP[name]
    expected = compute(with_row(rows, policy))
    whole = isinstance(rows[0], list)
    for what, odd in SPOILT.items():
        for entry in (odd, [rows[0][0], odd]) if whole else (odd,):
            assert compute(with_row(rows, entry)) == expected, what
    assert compute(with_row(rows, far)) == compute(with_row(rows, counts_as))


@pytest.mark.parametrize("what", [*SPOILT, *READ])
def test_whatever_a_row_is_one_block_alone_has_another_value(what: str) -> None:
    """The function gets the rows as they are, and where it fails for one of them, its block has the value `lower`."""
    odd = SPOILT[what] if what in SPOILT else READ[what][0]
    mechanism = SampleAndAggregate(inner=Laplace(scale=1), blocks=3, bounds=(0, 9))
    values = [released(mechanism, function)(with_row(RECORDS, odd)) for function in (sum, len, max)]
    without = [released(mechanism, function)(with_row(RECORDS, 0)) for function in (sum, len, max)]
    assert np.abs(np.subtract(values, without)).max() <= 9


def test_the_sweep_can_fail() -> None:
    """The twin: a mechanism that reads the rows as one array refuses for one of them, or counts it otherwise."""
    with pytest.raises(TypeError):
        np.asarray(with_row(RECORDS, None), dtype=np.int64)
    compute, rows, policy, _ = SWEEP["smooth_quantile"]
    assert policy is not LEFT_OUT
    others = [compute(with_row(rows, other)) for other in (0, 9)]
    assert any(other != compute(with_row(rows, policy)) for other in others)


class Tensor:
    """A number that numpy reads in a list, as those of torch."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype)


@pytest.mark.parametrize(
    "row",
    [
        pd.Series([1, 0]),
        pl.Series([1, 0]),
        pa.array([1, 0]),
        array.array("q", [1, 0]),
        memoryview(np.array([1, 0])),
        range(1, -1, -1),
        np.array([1, 0]),
        (True, False),
        [Tensor(1), Tensor(0)],
        [np.array(1), np.array(0)],
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_spoilt_row_changes_how_no_other_is_read(row: Any) -> None:
    """numpy reads rows of many types where all are alike; one row that is not must not spoil the others."""
    assert approvals([row] * 5, 2).tolist() == [5, 0]
    for spoilt in (None, "7", [1], [1, 2, 3]):
        assert approvals([*[row] * 5, spoilt], 2).tolist() == [5, 0]


def test_numbers_of_any_type_are_read_alone_as_in_a_list() -> None:
    assert left_out("rows", [Tensor(3), Tensor(4)]).tolist() == [3, 4]
    assert left_out("rows", [Tensor(3), None, Tensor(4)]).tolist() == [3, 4]
    assert left_out("rows", [np.datetime64(5, "ns"), np.timedelta64(5, "ns"), 1]).tolist() == [1]


def test_floats_beyond_those_of_python_are_moved_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = np.array([np.finfo(np.longdouble).max, 1], dtype=np.longdouble)
        assert left_out("rows", far, lower=0, upper=9).tolist() == [9, 1]


class Talkative:
    """Rows that warn when they are read."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        warnings.warn("seven", stacklevel=2)
        return np.array([1, 0], dtype)


@pytest.mark.parametrize("shown", ["always", "error"])
@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2], [np.ma.masked, 4]],
        [[1, 2], (3, np.ma.masked)],
        [[1, 2], [[np.ma.masked], 4]],
        np.array([[1, 2], [np.ma.masked, 4]], dtype=object),
        [[1, 2], np.ma.masked],
        [[1, 2], [np.ma.array(3.5, mask=True), 4]],
    ],
    ids=repr,
)
def test_no_row_draws_a_warning(shown: Any, rows: Any) -> None:
    """numpy warned of "converting a masked element to nan", and of the same list without the mask it did not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(shown)
        found, spoilt = read("rows", rows, columns=2)
    assert not caught
    assert found[0].tolist() == [1, 2]
    assert spoilt.tolist() == [False, True]


@pytest.mark.parametrize("shown", ["always", "error"])
def test_rows_that_warn_when_they_are_read_are_read_in_silence(shown: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(shown)
        assert left_out("rows", Talkative()).tolist() == [1, 0]  # type: ignore[arg-type]
        assert approvals([Talkative(), None, Talkative()], 2).tolist() == [2, 0]
    assert not caught


def test_a_warning_would_be_seen() -> None:
    """The twin: what numpy says of such a list."""
    with pytest.warns(UserWarning, match="masked element"):
        np.asarray([[1.0, 2.0], [np.ma.masked, 4.0]])
