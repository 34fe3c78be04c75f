"""Every statistic, mechanism and question says of any container what it says of plain floats, integers or keys.

With fixed bits an answer is a function of the exact contributions: equal answers are equal contributions of all rows.
The whole product runs with DENIABLE_FUZZ=1; a part that holds every statistic, container and odd row always does.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable import statistics as st
from deniable.errors import DeniableError
from deniable.noise.bits import DeterministicBits
from deniable.query.source import open_source
from deniable.rows import codes, labels, numbers, plain, read, table, whole_numbers
from tests.rows.containers import ODD, PLACE, ROWS
from tests.rows.test_every_row import CONTAINERS, WHOLE_PRODUCT, neighbour
from tests.rows.test_whole import SWEEP

COUNT = len(ROWS["number"])
OTHERS = np.array([4.0, 1.0, 2.0, 5.0, 0.0, 2.0, 3.0])
GROUPS = ["a", "b", "a", "b", "a", "b", "a"]
BOUNDS = (0, 5)
FEW: dict[str, Any] = {"simulations": 9}


def floats(values: Any) -> Any:
    return numbers(values)


def integers_or_floats(values: Any) -> Any:
    found = whole_numbers(values)
    return numbers(values) if found is None else np.ma.masked_array(found[0], mask=found[1])


def keys(values: Any) -> Any:
    found, distinct = codes(values)
    return [None if place < 0 else distinct[place] for place in found]


def texts(values: Any) -> Any:
    """Keys; bytes of a column of bytes are compared with public text."""
    return [key.decode("utf-8", "replace") if isinstance(key, bytes) else key for key in keys(values)]


def units(values: Any) -> Any:
    found = labels(values)
    return np.where(found < 0, np.nan, found)


def beside(values: Any) -> Any:
    """A table with the column and another one, in a frame of the column's own library."""
    if isinstance(values, nw.Series):
        return beside(values.to_native())
    if isinstance(values, pl.Series):
        return pl.DataFrame({"a": values, "b": OTHERS})
    if isinstance(values, pd.Series):
        return pd.DataFrame({"a": values, "b": OTHERS})
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.table({"a": values, "b": OTHERS})
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        numbers(values)
        module = np.ma if isinstance(values, np.ma.MaskedArray) else np
        return module.column_stack([values, OTHERS if values.dtype == bool else OTHERS.astype(values.dtype)])
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        values = [None if hide else row for row, hide in zip(np.ma.getdata(values), hidden, strict=True)]
    return [[row, other] for row, other in zip(values, OTHERS, strict=True)]


def inner(block: Any) -> float:
    return float(np.nanmean(block.astype(float)) / 9)


Ask = Callable[[Any, Any], Any]
STATISTICS: dict[str, tuple[Ask, Callable[[Any], Any]]] = {
    "sum": (lambda v, o: st.sum(v, bounds=BOUNDS, **o), floats),
    "mean": (lambda v, o: st.mean(v, bounds=BOUNDS, **o), floats),
    "mean of found bounds": (lambda v, o: st.mean(v, bounds="auto", **o), floats),
    "variance": (lambda v, o: st.variance(v, bounds=BOUNDS, **o), floats),
    "standard_deviation": (lambda v, o: st.standard_deviation(v, bounds=BOUNDS, **o), floats),
    "covariance": (lambda v, o: st.covariance(beside(v), bounds=[BOUNDS] * 2, **o), floats),
    "correlation": (lambda v, o: st.correlation(beside(v), bounds=[BOUNDS] * 2, **o), floats),
    "vector_mean": (lambda v, o: st.vector_mean(beside(v), bounds=[BOUNDS] * 2, deviations=5, **o), floats),
    "vector_covariance": (lambda v, o: st.vector_covariance(beside(v), bounds=[BOUNDS] * 2, deviations=5, **o), floats),
    "linear_regression": (
        lambda v, o: st.linear_regression(v, OTHERS, bounds=[BOUNDS], target_bounds=BOUNDS, **o),
        lambda v: table(v, columns=1)[0] if isinstance(v, list | tuple) else floats(v),  # a row may be a list of one
    ),
    "regression on a target": (
        lambda v, o: st.linear_regression(OTHERS, v, bounds=[BOUNDS], target_bounds=BOUNDS, **o),
        floats,
    ),
    "histogram of bins": (lambda v, o: st.histogram(v, bins=[0, 2, 5], other=True, **o), floats),
    "cumulative_distribution": (lambda v, o: st.cumulative_distribution(v, at=[1, 2], **o), floats),
    "binomial_test": (lambda v, o: st.binomial_test(v, share="1/2", **FEW, **o), floats),
    "one_sample_t_test": (lambda v, o: st.one_sample_t_test(v, mean=3, bounds=BOUNDS, **FEW, **o), floats),
    "two_sample_t_test": (lambda v, o: st.two_sample_t_test(v, OTHERS, bounds=BOUNDS, **FEW, **o), floats),
    "mann_whitney": (lambda v, o: st.mann_whitney(v, OTHERS, **FEW, **o), floats),
    "anova": (lambda v, o: st.anova(v, GROUPS, bounds=BOUNDS, keys=["a", "b"], **FEW, **o), floats),
    "median": (lambda v, o: st.median(v, bounds=BOUNDS, **o), integers_or_floats),
    "quantile": (lambda v, o: st.quantile(v, share="1/3", bounds=BOUNDS, step=1, **o), integers_or_floats),
    "quantiles": (lambda v, o: st.quantiles(v, shares=["1/3", "2/3"], bounds=BOUNDS, **o), integers_or_floats),
    "interquartile_range": (lambda v, o: st.interquartile_range(v, bounds=BOUNDS, **o), integers_or_floats),
    "minimum": (lambda v, o: st.minimum(v, bounds=BOUNDS, **o), integers_or_floats),
    "maximum": (lambda v, o: st.maximum(v, bounds=(0, 2**60), **o), integers_or_floats),
    "subsampled_test": (lambda v, o: st.subsampled_test(v, test=inner, blocks=3, **FEW, **o), plain),
    "count": (lambda v, o: st.count(v, **o), units),
    "key_counts": (lambda v, o: st.key_counts(v, **{**o, "delta": "0.4"}), keys),
    "top_k": (lambda v, o: st.top_k(v, k=2, **{**o, "delta": "0.4"}), keys),
    "groups of key_counts": (
        lambda v, o: st.key_counts(v, units=GROUPS, groups=COUNT, **{**o, "delta": "0.4"}),
        keys,
    ),
    "histogram of numbers": (lambda v, o: st.histogram(v, keys=[1, 2, 3], other=True, **o), keys),
    "histogram of text": (lambda v, o: st.histogram(v, keys=["a", "b"], other=True, **o), texts),
    "mode": (lambda v, o: st.mode(v, keys=["a", "b"], **o), texts),
    "chi_squared_fit": (lambda v, o: st.chi_squared_fit(v, keys=[1, 2], shares=[1, 1], **FEW, **o), keys),
    "chi_squared_independence": (
        lambda v, o: st.chi_squared_independence(v, GROUPS, keys=["a", "b"], other_keys=["a", "b"], **FEW, **o),
        texts,
    ),
    "groups of anova": (lambda v, o: st.anova(OTHERS, v, bounds=BOUNDS, keys=["a", "b"], **FEW, **o), texts),
    "units of a mean": (lambda v, o: st.mean(OTHERS, bounds=BOUNDS, units=v, **o), units),
    "units of key_counts": (lambda v, o: st.key_counts(GROUPS, units=v, **{**o, "delta": "0.4"}), units),
    "units of subsampled_test": (
        lambda v, o: st.subsampled_test(OTHERS, test=inner, blocks=3, units=v, **FEW, **o),
        units,
    ),
}


def said(ask: Ask, values: Any) -> str:
    """All that a release says, or the error in its place."""
    relation = dn.AddRemove
    try:
        answer = ask(values, {"epsilon": 5, "relation": relation, "bits": DeterministicBits(1)})
    except DeniableError as error:
        return f"raised {error}"
    columns = [(part.name, list(map(repr, answer[part.name]))) for part in answer.parts]
    found = repr((columns, str(answer.cost), answer.text, answer.notes))
    return found.replace("'x0'", "'a'").replace("'x1'", "'b'")  # the names of the columns of an array


PAIRS = [(name, odd) for name in CONTAINERS for odd in ODD]
SHIFT = 271  # so that the cases of one statistic lie in many containers


def cases(place: int, titles: int, most: int) -> Iterator[tuple[str, str, Any, Any]]:
    """Neighbours for one of some titles: all of them in the whole product, else a few that no other title has."""
    step = 1 if WHOLE_PRODUCT else max(len(PAIRS) // (titles * most), 1)
    for number in range(0, len(PAIRS), 1 if WHOLE_PRODUCT else step * titles):
        name, odd = PAIRS[(number + place * step + place * SHIFT) % len(PAIRS)]
        found = neighbour(name, odd)
        if found is not None:
            yield name, odd, *found


def test_no_statistic_is_missing_here() -> None:
    made = {word for title in STATISTICS for word in title.split()}
    other_names = {"std", "var"}
    missing = {each for each in st.__all__ if each[0].islower()} - made - other_names
    assert missing <= {"bootstrap", "models", "plan"}


@pytest.mark.parametrize("title", STATISTICS)
def test_a_statistic_says_of_any_container_what_it_says_of_plain_rows(title: str) -> None:
    ask, reader = STATISTICS[title]
    for name, odd, before, after in cases(list(STATISTICS).index(title), len(STATISTICS), 12):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found, plainly = said(ask, after), said(ask, before)
            expected = plainly if plainly.startswith("raised") else said(ask, reader(after))
        assert found == expected, (name, odd)
        assert not warned, (name, odd, warned[0].message)


@pytest.mark.parametrize("title", [title for title, (_, rows, *_) in SWEEP.items() if not isinstance(rows[0], list)])
def test_a_mechanism_says_of_any_container_what_it_says_of_a_list_of_integers(title: str) -> None:
    compute = SWEEP[title][0]
    for name, odd, _, after in cases(list(SWEEP).index(title), len(SWEEP), 24):
        if CONTAINERS[name][0] != "number":
            continue
        columns = 1 if title.endswith("_sampled") else None  # a row may be a list of one number
        found, far = read("rows", after, columns=columns)
        bounded, missing = read("rows", after, lower=-9, upper=9, columns=columns)
        listed = found.ravel().tolist()
        for row in np.flatnonzero(far):
            listed[row] = None if missing[row] else math.copysign(math.inf, bounded.ravel()[row])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert outcome(compute, after) == outcome(compute, listed), (name, odd)
        assert not warned, (name, odd, warned[0].message)


def outcome(compute: Callable[[Any], Any], rows: Any) -> Any:
    try:
        return compute(rows)
    except DeniableError as error:
        return str(error)


QUESTIONS = {
    "number": (dn.Number(lower=0, upper=5), "SELECT SUM(a), AVG(a), COUNT(a) FROM t"),
    "text": (dn.Keys(["a", "b"]), "SELECT a, COUNT(*) FROM t GROUP BY a"),
    "truth": (dn.Boolean(), "SELECT a, COUNT(*) FROM t GROUP BY a"),
    "day": (dn.Date(), "SELECT COUNT(*) FROM t WHERE a < DATE '2020-01-03'"),
    "moment": (dn.Timestamp(), "SELECT COUNT(a) FROM t WHERE a < '2020-01-03'"),
    "mixed": (dn.Text(), "SELECT COUNT(*) FROM t WHERE a = '3'"),
    "array": (dn.Number(lower=0, upper=5, integer=True), "SELECT SUM(a) FROM t"),
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_question_adds_up_what_each_row_says_by_itself(kind: str) -> None:
    declared, text = QUESTIONS[kind]
    for name, odd, before, after in cases(list(QUESTIONS).index(kind), len(QUESTIONS), 20):
        if CONTAINERS[name][0] != kind:
            continue
        frames = [framed(values) for values in (before, after)]
        if frames[0] is None:
            continue
        whole, others, alone = (exact(part, declared, text) for part in parts(frames[1]))
        assert whole == [a + b for a, b in zip(others, alone, strict=True)], (name, odd)
        schemas = [open_source(frame, columns={"a": declared}, unit="b").schema() for frame in frames]
        assert schemas[0] == schemas[1], (name, odd)


def framed(values: Any) -> Any:
    """The column beside one of units; None for what is no column of a frame."""
    values = values.to_native() if isinstance(values, nw.Series) else values
    if isinstance(values, pl.Series):
        return pl.DataFrame({"a": values, "b": range(COUNT)})
    if isinstance(values, pd.Series):
        return pd.DataFrame({"a": values, "b": range(COUNT)})
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.table({"a": values, "b": range(COUNT)})
    if isinstance(values, np.ndarray) and values.dtype.kind in "O":
        return pd.DataFrame({"a": pd.Series(np.ma.getdata(values), dtype=object), "b": range(COUNT)})
    return None


def parts(frame: Any) -> list[Any]:
    """The frame, without the odd row, and that row alone."""
    if isinstance(frame, pa.Table):
        return [frame, pa.concat_tables([frame[:PLACE], frame[PLACE + 1 :]]), frame[PLACE : PLACE + 1]]
    if isinstance(frame, pl.DataFrame):
        return [frame, pl.concat([frame[:PLACE], frame[PLACE + 1 :]]), frame[PLACE : PLACE + 1]]
    return [frame, pd.concat([frame[:PLACE], frame[PLACE + 1 :]]), frame[PLACE : PLACE + 1]]


def exact(frame: Any, declared: Any, text: str) -> list[int]:
    budget = dn.Budget(epsilon=100)
    database = dn.connect(frame, name="t", unit="b", columns={"a": declared}, rows=1, groups=1, budget=budget)
    found = database._engine.exact(database.explain(text, epsilon=1).plan, secret=bytes(16))
    return [int(value) for part in found for value in part]
