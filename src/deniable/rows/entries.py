"""One entry of a column without a type, read by itself.

Whatever an entry does when it is read, it is missing then.
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.rationals import quotient_text

Entry = TypeVar("Entry")
Objects = NDArray[np.object_]

WHOLE = frozenset(
    (int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
)
REAL = frozenset((float, np.float16, np.float32, np.float64))
PLAIN_NUMBERS = WHOLE | REAL | {bool, np.bool_, type(None)}
"""Types whose entries numpy puts into an array as `number` reads them; of exactly these, not of subclasses."""

BEYOND = 2**64  # what counts as an infinite whole number

# What text can be read as a number: regular expressions that mean the same in Python and in every engine.
SPACE = "[\t-\r ]*"
WHOLE_TEXT = "[+-]?(?:[0-9]{1,100}(?:[.][0-9]{0,100})?|[.][0-9]{1,100})"
NUMBER_TEXT = f"(?:{WHOLE_TEXT}(?:[eE][+-]?[0-9]{{1,3}})?|[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])"
_WHOLE, _NUMBER = (re.compile(SPACE + each + SPACE) for each in (WHOLE_TEXT, NUMBER_TEXT))

_NUMBERS = (int, float, Decimal, Fraction)
_KNOWN = (*_NUMBERS, str, bytes, date, time, timedelta, tuple, UUID)
_SPANS = ("Interval", "Period")  # of pandas, known by their text
_MICROSECOND_OR_FINER = ("us", "ns", "ps", "fs", "as")  # units whose cast to microseconds cannot wrap


def by_itself(missing: Any) -> Callable[[Callable[[Any], Entry]], Callable[[Any], Entry]]:
    """Read an entry as `missing` where it raises.

    Whatever that is, it depends on the entry.
    """

    def decorated(read: Callable[[Any], Entry]) -> Callable[[Any], Entry]:
        @wraps(read)
        def quiet(entry: Any) -> Entry:
            try:
                return read(entry)
            except BaseException as error:
                if type(error) is KeyboardInterrupt:
                    raise
                return cast(Entry, missing)

        return quiet

    return decorated


def objects(entries: Any) -> Objects:
    """Return entries as an array that holds each as it is."""
    return np.fromiter(entries, dtype=object, count=len(entries))


def each(read: Callable[[Any], Any], entries: Objects, dtype: type) -> NDArray[Any]:
    """Return the result of `read` for each entry."""
    return np.fromiter(map(read, entries), dtype=dtype, count=len(entries))


@by_itself(math.nan)
def number(entry: Any) -> float:
    """Return an entry as a float; NaN if it is not a number.

    It is infinite for what no float can hold. Text is read as in a query.
    """
    value = _unwrapped(entry)
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else math.nan
    if not isinstance(value, _NUMBERS):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@by_itself(None)
def whole(entry: Any) -> int | None:
    """Return the nearest whole number, or one of 65 bits on the same side.

    None for what is not a number.
    """
    value = _unwrapped(entry)
    if isinstance(value, str):
        return whole(Fraction(value.strip())) if _WHOLE.fullmatch(value) else None
    if not isinstance(value, _NUMBERS) or value != value:  # noqa: PLR0124 - NaN
        return None
    return round(value) if -BEYOND < value < BEYOND else BEYOND if value > 0 else -BEYOND


@by_itself(None)
def key(entry: Any) -> Any:
    """Return the one published form of a key; None for what is not a key.

    All equal entries have the same form.

    Entries of one kind that are equal have one form, and it is of a type of Python's own: a decimal without zeros at
    its end, a moment in UTC if it has a zone and to the microsecond, no negative zero, no subclass.
    """
    value = _unwrapped(entry)
    if isinstance(value, tuple):
        return tuple(key(part) for part in value)
    form = next((form for kind, form in _FORMS if isinstance(value, kind)), None)
    return None if form is None else form(value)


def kind_and_key(form: Any) -> tuple[Any, Any]:
    """Return what equal keys have in common: 1, 1.0 and True are three keys."""
    return type(form), tuple(map(kind_and_key, form)) if type(form) is tuple else form


def same(form: Any) -> tuple[Any, Any]:
    """Return what equal values have in common; all kinds of numbers are one kind."""
    if type(form) is tuple:
        return tuple, tuple(map(same, form))
    return (Decimal if isinstance(form, _NUMBERS) else type(form)), form


@by_itself(None)
def text(entry: Any) -> str | None:
    """Return a key as text: what is text already, as it is.

    Equal numbers, moments and so on give equal text.
    """
    form = key(entry)
    if form is None or isinstance(form, str):
        return form
    if isinstance(form, bytes):
        return form.hex()
    return _number_text(form) if isinstance(form, _NUMBERS) else str(form)


@by_itself(None)
def truth(entry: Any) -> bool | None:
    """Whether it is true; None for what is neither True nor False, 1 nor 0."""
    value = None if isinstance(entry, str) else number(entry)
    return bool(value) if value in (0, 1) else None


@by_itself(None)
def moment(entry: Any) -> datetime | None:
    """Return a moment without a zone, in UTC if it has one; a date is its midnight."""
    form = key(entry)
    if isinstance(form, datetime):
        return form.replace(tzinfo=None)
    return datetime(form.year, form.month, form.day) if isinstance(form, date) else None


@by_itself(None)
def day(entry: Any) -> date | None:
    """Return a calendar date; that of a moment."""
    instant = moment(entry)
    return None if instant is None else instant.date()


def _unwrapped(entry: Any) -> Any:
    """Return a scalar of numpy, Arrow or another library as a value of Python.

    None for what is not a scalar.
    """
    if isinstance(entry, np.datetime64 | np.timedelta64):  # the latter is an integer to numpy
        return _moment(entry)
    if isinstance(entry, np.floating):
        return float(entry)
    if isinstance(entry, np.generic):
        return entry.item()
    if isinstance(entry, _KNOWN):
        return entry
    if isinstance(entry, np.ma.MaskedArray) and np.ma.getmaskarray(entry).any():
        return None
    if isinstance(entry, np.ndarray):
        return _unwrapped(entry[()]) if not entry.ndim and entry.dtype.kind != "O" else None
    if type(entry).__module__.partition(".")[0] == "pandas" and type(entry).__name__ in _SPANS:
        return str(entry)
    if hasattr(entry, "as_py"):
        return entry.as_py()
    return _unwrapped(np.asarray(entry)) if hasattr(entry, "__array__") else None


def _moment(entry: np.datetime64 | np.timedelta64) -> Any:
    """Return a moment or duration of numpy; None where Python has no such value."""
    unit = np.datetime_data(entry.dtype)[0]
    is_date = isinstance(entry, np.datetime64) and unit in ("Y", "M", "W", "D")
    converted = entry.astype(f"{entry.dtype.kind}8[{'D' if is_date else 'us'}]")
    wrapped = unit not in _MICROSECOND_OR_FINER and converted.astype(entry.dtype) != entry
    value = converted.item()
    return None if wrapped or isinstance(value, int) else value


def _number_text(form: Any) -> str:
    if isinstance(form, Fraction):
        digits = form.denominator.bit_length()
        if 10**digits % form.denominator:
            return quotient_text(form)
        whole_digits = tuple(map(int, str(abs(form.numerator) * 10**digits // form.denominator)))
        form = _decimal(Decimal((int(form < 0), whole_digits, -digits)))
    if isinstance(form, Decimal) and form.is_finite() and form.as_tuple().exponent != 0 and form == float(form):
        form = float(form)
    if isinstance(form, float) and form.is_integer():
        form = int(form)
    return str(int(form) if isinstance(form, bool) else form)


def _decimal(value: Decimal) -> Decimal | None:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return None if value.is_nan() else Decimal(value)
    if not any(digits):
        return Decimal(0)
    kept = "".join(map(str, digits)).lstrip("0")
    short = kept.rstrip("0")
    exponent += len(kept) - len(short)
    if 0 < exponent <= 64:  # 1000, not 1E+3
        short += "0" * exponent
        exponent = 0
    return Decimal((sign, tuple(map(int, short)), exponent))


def _datetime(value: datetime) -> datetime:
    offset = value.utcoffset()
    naive = datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return naive if offset is None else (naive - offset).replace(tzinfo=UTC)


def _text(value: str) -> str:
    plain = str.__str__(value)
    plain.encode()  # raises for half of a pair, which is not a text
    return plain


def _time(value: time) -> time | None:
    return time(value.hour, value.minute, value.second, value.microsecond) if value.tzinfo is None else None


_FORMS: tuple[tuple[type, Callable[[Any], Any]], ...] = (  # a value is of the first kind that fits
    (bool, bool),
    (int, int.__index__),
    (float, lambda value: None if math.isnan(value) else float.__float__(value) + 0.0),
    (str, _text),
    (bytes, lambda value: bytes(memoryview(value))),
    (datetime, _datetime),
    (date, lambda value: date(value.year, value.month, value.day)),
    (Decimal, _decimal),
    (Fraction, lambda value: Fraction(value.numerator, value.denominator)),
    (time, _time),
    (timedelta, lambda value: timedelta(value.days, value.seconds, value.microseconds)),
    (UUID, lambda value: UUID(int=value.int)),
)
