"""Contracts over all protocols: values of any kind, containers of any kind, no rows, and declared values in JSON."""

import io
import json
import math
import warnings
from collections import UserString
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.local import Collector, DirectResponse, protocol_of, send
from deniable.local.deployed import BitFlip, Client, CountMeanSketch, HadamardSketch, Rappor
from deniable.local.protocol import PureProtocol
from deniable.local.values import name_of, of_data, to_data
from deniable.noise.bits import DeterministicBits
from deniable.numbers.rationals import readable
from deniable.rows.entries import key
from tests.local.test_wire import EVERY

HUGE = 10**5000  # longer than Python writes


def raising(*methods: str, base: type = object) -> Any:
    """An entry whose methods raise what no reader expects."""

    def fail(self: object, *args: object) -> Any:
        raise RuntimeError("secret")

    found = type("Raising", (base,), dict.fromkeys(methods, fail))
    return found()


ODD: list[Any] = [
    HUGE, -HUGE, Fraction(HUGE + 1, HUGE), Fraction(1, 2**521 - 1), Decimal(1).scaleb(999_999), Decimal("1E-999999999"),
    Decimal("9E+999999999"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1." + "3" * 5000), 2**63, -(2**63), 2**64,
    10**400, True, -0.0, 0.1, 5e-324, math.nan, -math.nan, math.inf, -math.inf,
    np.frombuffer(b"\1\0\0\0\0\0\xf4\x7f", dtype=float)[0], np.float16(2), np.float32(0.1), np.longdouble("1e4000"),
    np.uint64(2**64 - 1), np.int8(-1), np.bool_(True), np.complex128(1j), np.str_("a"), np.bytes_(b"a"),
    np.datetime64("NaT"), np.datetime64("2020-01-01"), np.datetime64("1800-01-01T00", "ns"), np.datetime64(2**62, "Y"),
    np.timedelta64(3, "M"), np.timedelta64(2**62, "D"), np.array(3), np.array([1, 2]), np.ma.masked, np.void(b"xy"),
    None, pd.NaT, pd.NA, pd.Timestamp("2020-01-01", tz="UTC"), pd.Timedelta("1D"), pa.scalar(3), pa.scalar(None),
    "", "a", "\ud800", "a\0", "9" * 5000, UserString("a"), b"", bytearray(b"a"), memoryview(b"a"), {}, set(), [], (),
    [1, 2], [[[1], None]], (1, (HUGE, None)), range(2), date(1, 1, 1), datetime(2020, 1, 1, tzinfo=UTC),
    time(1, tzinfo=UTC), timedelta.max, UUID(int=0), object(), Ellipsis, int, len,
    raising("__repr__", "__str__", "__eq__", "__hash__"),
    raising("__len__", "__getitem__", "__iter__"), raising("__array__"), raising("as_py"), raising("__getattribute__"),
    raising("__float__", "__index__", "__int__", "__eq__", "__repr__", base=int),
    raising("__hash__", "__eq__", base=float),
    raising("__str__", "__repr__", "__eq__", "__hash__", "__len__", "__iter__", "encode", base=str),
    raising("__len__", "__iter__", "__getitem__", base=list), raising("__len__", "__iter__", base=tuple),
    raising("utcoffset", "__eq__"), raising("__bytes__", "__buffer__", base=bytes),
]  # fmt: skip


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.kind)
def test_no_value_ends_a_batch_or_is_seen_in_its_report(protocol: Any) -> None:
    """Each odd value alone, and all of them in one column: nothing raised, warned or longer than for another value."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = ODD if isinstance(protocol, PureProtocol) else ODD[::9]  # a sum takes long to draw
        for values in (*([value] for value in alone), [], ODD, [*ODD, 1]):
            reports = protocol.encode(values, bits=DeterministicBits(1))
            assert reports.shape == (len(values), protocol.width)
            assert reports.dtype == np.uint8
            assert protocol.sound(reports)
        wire, collector = io.BytesIO(), Collector(protocol)
        send(protocol, ODD, to=wire, bits=DeterministicBits(1))
        assert collector.read(io.BytesIO(wire.getvalue())) == len(ODD)
        if isinstance(protocol, PureProtocol):
            client = Client(protocol, donations=len(ODD))
            sent = {len(client.donate(value, day=1, bits=DeterministicBits(1))) for value in ODD}
            assert len(sent) == 1
            Client(protocol).load(client.state())


CONTAINERS = {
    "list": list, "numpy": np.array, "pandas": pd.Series, "polars": pl.Series, "arrow": pa.array,
    "category": lambda rows: pd.Series(rows).astype("category"),
}  # fmt: skip


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.kind)
def test_samples_of_no_and_one_row_are_samples_in_every_container(protocol: Any) -> None:
    texts, several = hasattr(protocol, "alphabet"), getattr(protocol, "columns", 1)
    for name, made in CONTAINERS.items():
        for rows in (0, 1):
            part = made((["a"] if texts else [1])[:rows])
            if not rows:  # a library has types for columns without a row, too
                part = {"polars": pl.Series([], dtype=pl.Int64), "arrow": pa.array([], type=pa.int64())}.get(name, part)
            if several > 1:
                frame = {f"x{place}": part for place in range(several)}
                tables = {"numpy": lambda p: np.column_stack([p] * several), "polars": lambda _: pl.DataFrame(frame),  # noqa: B023
                          "arrow": lambda _: pa.table(frame), "list": lambda p: [[x] * several for x in p]}  # noqa: B023  # fmt: skip
                part = tables.get(name, lambda _: pd.DataFrame(frame))(part)  # noqa: B023
            reports = protocol.encode(part, bits=DeterministicBits(1))
            assert reports.shape == (rows, protocol.width)
            collector = Collector(protocol)
            collector.protocol._add(collector._tally, reports)
            if not rows:
                asked = {"candidates": [1]} if protocol.kind in ("cms", "hcms", "rappor") else {}
                with pytest.raises(InvalidParameterError):
                    protocol.estimate(reports, **asked)


EQUAL: list[list[Any]] = [
    [1, 1.0, True, np.int8(1), np.float32(1), Decimal("1.00"), Fraction(1), np.bool_(True), pa.scalar(1)],
    [0, 0.0, -0.0, False, Decimal("-0E+5")],
    [0.5, Decimal("0.50"), Fraction(1, 2), np.float16(0.5)],
    [Fraction(1, 10), Decimal("0.1")], [Fraction(1, 3)], [0.1, np.float64(0.1)],
    [2**60 + 1, Decimal(2**60 + 1), Fraction(2**60 + 1)], [2.0**60, 2**60], [10**300, Fraction(10**300)], [1e300],
    [HUGE, Fraction(HUGE), Decimal("1E+5000")], [Decimal("1E+999999999")],
    [math.inf, Decimal("inf"), np.float32("inf")],
    [date(2020, 2, 1), datetime(2020, 2, 1), pd.Timestamp("2020-02-01"), np.datetime64("2020-02-01"),
     np.datetime64("2020-02-01T00", "ns"), np.datetime64("2020-02")],
    [datetime(2020, 2, 1, 13), pd.Timestamp("2020-02-01 13:00"), np.datetime64("2020-02-01T13")],
    [datetime(2020, 2, 1, tzinfo=UTC), pd.Timestamp("2020-02-01 01:00", tz="Europe/Berlin")],
    ["1", np.str_("1")], [b"1", np.bytes_(b"1")], [timedelta(1), np.timedelta64(1, "D"), pd.Timedelta("1D")],
    [(1, 2), (1.0, Decimal(2))], [("1", 2)], [("1, 2",)], [-1], [-2], [time(1)], [UUID(int=1)],
]  # fmt: skip


def test_equal_values_have_one_name_and_different_ones_have_different_names() -> None:
    from deniable.local.deployed.sketches import keys_of

    keys = [set(keys_of(group).tolist()) | {int(keys_of([value])[0]) for value in group} for group in EQUAL]
    assert all(len(each) == 1 for each in keys)
    assert len(set().union(*keys)) == len(EQUAL)
    for group in EQUAL:
        others = [each[0] for each in EQUAL if each is not group]
        assert not {name_of(each) for each in others} & {name_of(group[0])}


ROWS = [1] * 900 + [2] * 99 + [None]
COLUMNS = [
    pd.Series(ROWS),
    pd.Series(ROWS, dtype="Int64"),
    pd.Series(ROWS).astype("category"),
    np.array(ROWS[:-1], dtype=np.int8),
    pl.Series(ROWS, dtype=pl.Decimal(9, 2)),
    [1] * 900 + [2.0] * 99 + [None],
]
DAYS = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 3)]


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch, Rappor, DirectResponse, BitFlip])
def test_a_missing_value_or_another_container_changes_no_key(kind: Any) -> None:
    """At epsilon 30 or without much noise counts are exact but for collisions: within 60 of 999."""
    days = [DAYS[0]] * 900 + [DAYS[1]] * 99
    moments = pd.Series(pd.to_datetime(days))
    dates = [
        days,
        moments,
        moments.tolist(),
        moments.to_numpy(),
        pl.Series(days),
        pa.array(days),
        pl.Series(days).cast(pl.Datetime),
    ]
    for asked, columns in (([1, 2, 3], COLUMNS), (DAYS, dates), ([*map(pd.Timestamp, DAYS)], dates)):
        for column in columns:
            if kind is Rappor:
                protocol: Any = Rappor(f="1/1000", p="1/1000", q="999/1000", cohorts=16)
            elif kind in (DirectResponse, BitFlip):
                first = 0 if asked[0] == 1 else asked[0] - timedelta(9)
                more = {"chosen": 4} if kind is BitFlip else {}
                protocol = kind(values=[first, *asked], epsilon=30, **more)
            else:
                protocol = kind(epsilon=30, hashes=64, cells=256)
            reports = protocol.encode(column, bits=DeterministicBits(3))
            if kind in (DirectResponse, BitFlip):
                found = protocol.estimate(reports)["count"][1:3]
            else:
                found = protocol.estimate(reports, candidates=asked)["count"][:2]
            assert found == pytest.approx([900, 99], abs=60), (asked, type(column))


DECLARED: list[list[Any]] = [
    DAYS,
    [datetime(2020, 1, 1, 5), datetime(2020, 1, 1)],
    [datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)],
    [np.datetime64("2020-01-01T00:00:00.000001"), np.datetime64("2020-01-02T01")],
    [pd.Timestamp("2020-01-01 07:00"), pd.Timestamp("2021")],
    [time(1, 2, 3, 4), time(5)],
    [timedelta(-1, 2, 3), timedelta.max],
    [b"a", b"\0\xff"],
    ["", "\0", "ä\n"],
    [1, 2**63, -(2**2000)],
    [0.1, math.inf, -5e-324],
    [Decimal("0.1"), Decimal("1E+999999"), Decimal("-Infinity")],
    [Fraction(1, 3), Fraction(2, 3)],
    [True, False],
    [1, 2.5, Decimal("0.3"), Fraction(1, 7)],
    [UUID(int=1), UUID(int=2)],
    [(1, "a", None), (2, DAYS[0], (1.5, b"x"))],
    [np.float32(0.1), np.float32(0.2)],
]


@pytest.mark.parametrize("values", DECLARED, ids=lambda each: type(each[0]).__name__)
def test_declared_values_of_every_type_survive_json_and_are_reported_as_themselves(values: list[Any]) -> None:
    """Every protocol that takes values: text became of dates, and clients reported all of them as the first."""
    for kind in ("direct", "unary", "hadamard", "hashing", "subset", "bitflip", "longitudinal"):
        made = next(type(each) for each in EVERY if each.kind == kind)
        more = {"longitudinal": {"report_epsilon": 20}, "bitflip": {"chosen": len(values)}}.get(kind, {})
        protocol = made(values=values, epsilon=30, **more)
        there = protocol_of(protocol.to_json())
        assert there == protocol
        assert [*map(type, there.values)] == [*map(type, protocol.values)]
        assert there.fingerprint == protocol.fingerprint
        for order in (values, values[::-1]):
            for each in (protocol, there):
                own = order[-1]
                assert each._indices([own]).tolist() == [values.index(own)]
    found = there.encode([values[-1]] * 500, bits=DeterministicBits(2))
    assert protocol.estimate(found)["count"][-1] > 400


NUMBERS = st.one_of(
    st.integers(), st.booleans(), st.floats(allow_nan=False), st.fractions(), st.decimals(allow_nan=False),
    st.integers(-9, 9).map(Decimal), st.integers(-9, 9).map(float), st.floats(-9, 9).map(Fraction),
)  # fmt: skip
OTHERS = st.one_of(
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.times(),
    st.timedeltas(),
    st.uuids(),
)


@settings(max_examples=60)
@given(one=NUMBERS, other=NUMBERS)
def test_numbers_have_one_name_where_they_are_equal_alone(one: Any, other: Any) -> None:
    forms = key(one), key(other)
    assert (name_of(forms[0]) == name_of(forms[1])) == (one == other)
    assert name_of(Fraction(one)) == name_of(one) if math.isfinite(one) else "inf" in name_of(one)


@settings(max_examples=30)
@given(value=st.recursive(NUMBERS | OTHERS, lambda parts: st.tuples(parts, parts), max_leaves=4))
def test_a_declared_value_survives_json(value: Any) -> None:
    form = key(value)
    there = of_data(json.loads(json.dumps(to_data(form))))
    assert there == form
    assert repr(there) == repr(form)
    assert name_of(there) == name_of(form)


def test_columns_of_a_type_that_holds_no_declared_value_are_refused_whatever_their_rows_are() -> None:
    """Their values were reported as the first one, or '1' as 1. A list has no type, and is read entry by entry."""
    zone = pa.array([datetime(2020, 1, 1, tzinfo=UTC)])
    for values, column in (
        ([1, 2], pl.Series(["1"])),
        (["1", "2"], np.array([1])),
        (DAYS, np.array([1])),
        (DAYS, zone),
        (DAYS, pa.array([b"a"])),
        ([timedelta(1), timedelta(2)], pa.array([time(1)])),
        ([UUID(int=1), UUID(int=2)], pl.Series(["a"])),
        ([(1, 2), (3, 4)], np.array([1])),
        ([datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)], pl.Series(DAYS)),
    ):
        protocol = DirectResponse(values=values, epsilon=1)
        for rows in (column, column[:0]):
            with pytest.raises(InvalidParameterError, match="cannot be among declared values that are"):
                protocol.encode(rows)
        assert set(protocol._indices(list(column)).tolist()) == {0}
    for values, column, places in (
        ([Fraction(1), Fraction(2)], np.array([2, 1]), [1, 0]),
        ([0, 0.5, 1], np.array([1]), [2]),
        ([0, 1], np.array([True]), [1]),
        ([1, 2**70], np.array([1]), [0]),
        ([datetime(2020, 1, 2), datetime(2020, 1, 1)], pl.Series(DAYS), [1, 0, 0]),
    ):
        assert DirectResponse(values=values, epsilon=1)._indices(column).tolist() == places


@pytest.mark.parametrize("values", [9, 2**16])
def test_whole_numbers_that_are_not_declared_are_reported_as_the_first(values: int) -> None:
    protocol = DirectResponse(values=values, epsilon=1)
    for column in (
        [1, -1, values, 10**30, math.inf, None, "x", values - 1],
        pd.Series([1, -1, values, values - 1, None]),
    ):
        places = protocol._indices(column).tolist()
        assert places[0] == 1
        assert sorted(places)[-1] == values - 1
        assert places.count(0) == len(places) - 2


def test_values_that_json_cannot_keep_are_refused_when_the_protocol_is_made() -> None:
    for values in ([1, HUGE], [Fraction(1, HUGE), 2], [(HUGE,), (1,)]):
        for kind in (DirectResponse, BitFlip):
            with pytest.raises(InvalidParameterError, match="600 digits"):
                kind(values=values, epsilon=1)
    text = DirectResponse(values=DAYS, epsilon=1).to_json()
    for wrong in ("2020-13-01", "x"):
        with pytest.raises(InvalidParameterError, match="date"):
            protocol_of(text.replace("2020-01-01", wrong))


def test_an_exact_number_is_stored_as_a_plain_fraction() -> None:
    assert to_data(readable(Fraction(1, 3))) == to_data(Fraction(1, 3)) == {"Fraction": "1/3"}
    assert to_data(readable(Fraction(1, 2))) == {"Fraction": "1/2"}
