"""One entry by itself: numbers, the one form of a key, what counts as one unit, and entries that misbehave."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable.rows.entries import day, key, kind_and_key, moment, number, same, text, truth, whole


class Grade(IntEnum):
    ONE = 1


class Label(str):
    def __str__(self) -> str:
        return "another"


class Leaves:
    """Leaves the program whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


MOMENT = datetime(2020, 1, 1, 12, tzinfo=UTC)
FORMS: list[tuple[object, list[object]]] = [
    (1, [np.int64(1), Grade.ONE, np.uint8(1), pa.scalar(1)]),
    (1.0, [np.float32(1), np.float64(1), np.longdouble(1)]),
    (0.0, [-0.0, np.float64(-0.0)]),
    (True, [np.bool_(True)]),
    ("a", [np.str_("a"), Label("a")]),
    (b"a", [np.bytes_(b"a")]),
    (Decimal("1"), [Decimal("1.000"), Decimal("1E0")]),
    (Decimal("1000"), [Decimal("1E3"), Decimal("1.0E+3")]),
    (Decimal("0"), [Decimal("-0"), Decimal("0.00"), Decimal("-0E+7")]),
    (Decimal("-12.5"), [Decimal("-12.500")]),
    (MOMENT, [MOMENT.astimezone(timezone(timedelta(hours=3))), pd.Timestamp(MOMENT).tz_convert("Asia/Tokyo")]),
    (datetime(2020, 1, 1), [datetime(2020, 1, 1, fold=1), pd.Timestamp(2020, 1, 1), np.datetime64("2020-01-01", "ns")]),
    (date(2020, 1, 1), [np.datetime64("2020-01-01"), np.datetime64("2020", "Y")]),
    (time(1, 2), [time(1, 2, fold=1)]),
    (timedelta(seconds=1), [pd.Timedelta(seconds=1), np.timedelta64(1000, "ms")]),
    (Fraction(1, 3), [Fraction(2, 6)]),
    ((1, "a"), [(np.int64(1), Label("a"))]),
    (UUID(int=1), [UUID("00000000-0000-0000-0000-000000000001")]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "entries"), FORMS, ids=lambda each: repr(each)[:20])
def test_a_key_has_one_form(form: object, entries: list[object]) -> None:
    for entry in [form, *entries]:
        found = key(entry)
        assert repr(found) == repr(form), entry
        assert type(found) is type(form)
        assert kind_and_key(found) == kind_and_key(form)


NO_KEYS = [None, math.nan, Decimal("NaN"), Decimal("sNaN"), pd.NaT, pd.NA, np.ma.masked, np.datetime64("NaT"), "\ud800"]
NO_KEYS += [
    [],
    {},
    {1},
    1j,
    object(),
    Leaves(),
    np.array([1]),
    np.datetime64(2**60, "s"),
    time(1, tzinfo=UTC),
]


def test_what_is_no_key_has_no_form() -> None:
    assert [place for place, entry in enumerate(NO_KEYS) if key(entry) is not None or text(entry) is not None] == []


def test_numbers_of_all_kinds_are_one_unit_and_many_keys() -> None:
    ones = [1, 1.0, True, Decimal("1.0"), Fraction(1), np.int8(1), np.array(1)]
    assert len({same(key(one)) for one in ones}) == len({text(one) for one in ones}) == 1
    assert len({kind_and_key(key(one)) for one in ones}) == 5
    halves = [0.5, Decimal("0.50"), Fraction(1, 2)]
    assert len({same(key(half)) for half in halves}) == len({text(half) for half in halves}) == 1
    assert text(Decimal("0.1")) == text(Fraction(1, 10)) == "0.1"
    assert text(Fraction(-1, 3)) == "-1/3"
    assert same(key("1")) != same(key(1)) != same(key(b"1"))
    assert same(key(2**53 + 1)) != same(key(float(2**53)))


def test_numbers_are_read_and_nothing_else_is_one() -> None:
    for entry, float_of, whole_of in (
        (Fraction(1, 4), 0.25, 0),
        (Decimal("2.5"), 2.5, 2),
        (10**400, math.inf, 2**64),
        (Fraction(-(10**400)), -math.inf, -(2**64)),
        (Decimal("1e999999999"), math.inf, 2**64),
        (np.float16(1.5), 1.5, 2),
        (np.array(3), 3.0, 3),
        (True, 1.0, 1),
        (" +2.5 ", 2.5, 2),  # text is read by itself, as a query reads it
        ("9007199254740993", float(2**53), 2**53 + 1),
        ("1e400", math.inf, None),
        ("-inf", -math.inf, None),
    ):
        assert number(entry) == float_of
        assert whole(entry) == whole_of
    for entry in (
        "1_000",
        "1,5",
        "0x1",
        "\u0661",
        "",
        "9" * 101,
        b"1",
        None,
        np.timedelta64(1, "s"),
        np.datetime64(1, "ns"),
        1j,
        [1],
        Leaves(),
        Decimal("sNaN"),
    ):
        assert math.isnan(number(entry))
        assert whole(entry) is None


def test_dates_moments_and_truths_are_read() -> None:
    assert moment(MOMENT.astimezone(timezone(timedelta(hours=3)))) == datetime(2020, 1, 1, 12)
    assert moment(date(2020, 1, 1)) == datetime(2020, 1, 1)
    assert day(np.datetime64("2020-01-01T12")) == date(2020, 1, 1)
    assert [truth(entry) for entry in (True, 0, 1.0, 2, "True", None)] == [True, False, True, None, None, None]
    assert moment("2020-01-01") is day(5) is None


def test_who_waits_may_stop() -> None:
    class Stops:
        def __getattribute__(self, name: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        key(Stops())
