"""Names of values, the same for equal ones on client and server."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import quotient_text
from deniable.rows import Container, TypedColumn, codes, column

_FIELD = 2**521 - 1  # a prime: numbers too long to write are named by their residue, as equal ones have one
_LONGEST = 2**2048  # Python writes whole numbers of 640 digits whatever its settings are
_NUMBERS = (int, float, Decimal, Fraction)


def name_of(form: Any) -> str:
    """Return one text for all equal keys in their one form.

    1, 1.0, True and Decimal(1) are equal, and so are a date and its midnight in no zone.
    """
    if isinstance(form, _NUMBERS):
        return _name_of_number(form)
    if type(form) is tuple:
        return f"tuple:{[*map(name_of, form)]!r}"
    if isinstance(form, datetime) and form == datetime(form.year, form.month, form.day):  # a zone is never equal
        form = date(form.year, form.month, form.day)
    return f"{type(form).__name__}:{form!r}"


def _name_of_number(form: Any) -> str:
    nearest = float("inf")
    with suppress(OverflowError):
        nearest = float(form)
    if nearest == form and not nearest.is_integer():
        return f"float:{nearest!r}"
    if -_LONGEST < form < _LONGEST and (whole := int(form)) == form:
        return f"int:{whole}"
    top, bottom, power = 0, 1, 0
    if isinstance(form, Decimal):
        sign, digits, exponent = form.as_tuple()
        assert isinstance(exponent, int)
        top = int(Decimal((sign, digits, 0)))
        power = exponent
    else:
        top, bottom = form.as_integer_ratio()
    residue = top * pow(10, power, _FIELD) * (pow(bottom, -1, _FIELD) if bottom % _FIELD else 0) % _FIELD
    return f"number:{residue:x}"


def indices_among(values: Container, names: dict[str, int], kinds: set[str]) -> NDArray[np.int64]:
    """Return the index of each value among declared ones, 0 for an undeclared value.

    Args:
        values: a column of any container.
        names: the index of each declared value by its name.
        kinds: of declared values.

    Raises: InvalidParameterError for a column of a type that holds none of these kinds.
    """
    given = column(values)
    if given.holds != "objects" and _kind_of_column(given) not in kinds:
        raise InvalidParameterError(
            f"values of type {given.type} cannot be among declared values that are {' or '.join(sorted(kinds))}"
        )
    code_of_row, distinct_values = codes(values)
    indices = [names.get(name_of(form), 0) for form in distinct_values]
    return np.array([*indices, 0], dtype=np.int64)[code_of_row]


def kind_of(form: Any) -> str:
    """Return the kind of a declared value, in words.

    Values of two kinds are never equal.
    """
    if isinstance(form, date):
        return "moments with a zone" if isinstance(form, datetime) and form.tzinfo else "dates"
    return "numbers" if isinstance(form, _NUMBERS) else _KINDS.get(type(form), type(form).__name__)


_KINDS: dict[type, str] = {str: "text", bytes: "bytes", time: "times", timedelta: "durations"}


def _kind_of_column(given: TypedColumn) -> str:
    import pyarrow as pa

    kind = getattr(given.values, "type", None)
    if given.holds == "numbers" or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "dates" if getattr(kind, "tz", None) is None else "moments with a zone"
    if pa.types.is_time(kind):
        return "times"
    if pa.types.is_duration(kind):
        return "durations"
    return "text" if pa.types.is_large_string(kind) else "bytes"


# --- declared values in JSON ---------------------------------------------------------------------------------------

_WRITTEN: dict[type, Callable[[Any], object]] = {
    bytes: bytes.hex,
    Decimal: str,
    Fraction: quotient_text,
    UUID: str,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    timedelta: lambda form: [form.days, form.seconds, form.microseconds],
    float: repr,
    tuple: lambda form: [to_data(part) for part in form],
}
_READ: dict[str, Callable[[Any], object]] = {
    "bytes": bytes.fromhex,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "UUID": UUID,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
    "float": float,
    "tuple": lambda parts: tuple(map(of_data, parts)),
}


def to_data(form: Any) -> object:
    """Return plain data of a declared value for JSON.

    `of_data` reads it as a value of the same type.

    Raises: InvalidParameterError for numbers that are too long to write.
    """
    parts = form.as_integer_ratio() if isinstance(form, int | Fraction) else ()
    if any(abs(part) >= _LONGEST for part in parts):
        raise InvalidParameterError("values must be numbers of at most 600 digits")
    if form is None or isinstance(form, bool | int | str) or (isinstance(form, float) and abs(form) < np.inf):
        return form
    kind = Fraction if isinstance(form, Fraction) else type(form)
    return {kind.__name__: _WRITTEN[kind](form)}


def of_data(data: object) -> object:
    """Return the value that `to_data` wrote; anything else stays as it is.

    Raises: InvalidParameterError for text that is not a valid value of the type it names.
    """
    if not isinstance(data, dict) or len(data) != 1:
        return data
    ((kind, written),) = data.items()
    if kind not in _READ:
        return data
    try:
        return _READ[kind](written)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        raise InvalidParameterError(f"values must be of the type that they name; one is not a valid {kind}") from None
