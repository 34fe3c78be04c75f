"""Result-side expressions over noisy numbers and public keys.

numpy, vectorised, free of cost.

A number or condition is a float64 array in which NaN is NULL; text and dates are object arrays in which None is NULL.
Arrays may have leading axes beyond the rows of the answer (draws of noise, for intervals), which broadcast.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from deniable.errors import UnsupportedQueryError
from deniable.query.expression import Call, Column, Expression, Literal

Array = NDArray[np.float64] | NDArray[np.object_]


def evaluate(expression: Expression, values: Mapping[str, Array]) -> Array:
    """The value of `expression` where its columns have `values`."""
    match expression:
        case Column(name=name):
            return values[name]
        case Literal(value=value):
            return _constant(value)
        case Call(operator=operator, arguments=arguments):
            with np.errstate(all="ignore"):
                return FUNCTIONS[operator]([evaluate(argument, values) for argument in arguments])


def check_result(expression: Expression) -> None:
    """Refuse a result-side expression without a meaning on noisy numbers.

    An operator of it has none.

    Raises: UnsupportedQueryError.
    """
    if not isinstance(expression, Call):
        return
    if expression.operator not in FUNCTIONS:
        raise UnsupportedQueryError(
            f"{expression.operator.upper()} cannot be applied to the answer. Apply it to rows, inside the "
            "aggregate or GROUP BY."
        )
    for argument in expression.arguments:
        check_result(argument)


def numbers(array: Array) -> NDArray[np.float64]:
    """The array as float64; text and dates have no business here."""
    return np.asarray(array, dtype=np.float64)


def _constant(value: object) -> Array:
    match value:
        case None:
            return np.array(np.nan)
        case bool() | int() | Fraction():
            return np.array(float(value))
        case str() | date() | datetime():
            return np.array(value, dtype=object)
    raise TypeError(type(value).__name__)


def missing(array: Array) -> NDArray[np.bool_]:
    """Return the mask of missing values."""
    if array.dtype == object:
        return np.asarray(np.frompyfunc(lambda value: value is None, 1, 1)(array), dtype=bool)
    return np.isnan(numbers(array))


def _numeric(function: Callable[..., NDArray[np.float64]]) -> Callable[[Sequence[Array]], Array]:
    """A numpy function of numbers; infinities and NaN that it makes are NULL."""

    def apply(arguments: Sequence[Array]) -> Array:
        result = np.asarray(function(*(numbers(argument) for argument in arguments)))
        return np.where(np.isfinite(result), result, np.nan)

    return apply


def _compare(function: Callable[[Array, Array], NDArray[np.bool_]]) -> Callable[[Sequence[Array]], Array]:
    def apply(arguments: Sequence[Array]) -> Array:
        a, b = np.broadcast_arrays(*(_moments(argument) for argument in arguments))
        known = ~(missing(a) | missing(b))
        result = np.full(a.shape, np.nan)
        result[known] = function(a[known], b[known]).astype(float)
        return result

    return apply


def _and(arguments: Sequence[Array]) -> Array:
    a, b = (numbers(argument) for argument in arguments)
    return np.where((a == 0) | (b == 0), 0.0, np.where(np.isnan(a) | np.isnan(b), np.nan, 1.0))


def _or(arguments: Sequence[Array]) -> Array:
    return 1.0 - numbers(_and([1.0 - numbers(argument) for argument in arguments]))


def _in(arguments: Sequence[Array]) -> Array:
    value, *options = arguments
    result = np.where(missing(value), np.nan, 0.0)
    for option in options:
        result = _or([result, _compare(np.equal)([value, option])])
    return np.where(missing(value), np.nan, numbers(result))


def _moments(array: Array) -> Array:
    """Return dates as the moments at which they begin.

    So they compare with moments; anything else stays as it is.
    """
    if array.dtype != object:
        return array
    return np.asarray(np.frompyfunc(_moment, 1, 1)(array), dtype=object)


def _moment(value: object) -> object:
    return datetime(value.year, value.month, value.day) if type(value) is date else value


def _alike(arguments: Sequence[Array]) -> list[Array]:
    """The arrays with one way to say NULL: as objects if any of them holds objects."""
    if all(argument.dtype != object for argument in arguments):
        return list(arguments)
    return [np.where(missing(argument), np.array(None), argument.astype(object)) for argument in arguments]


def _case(arguments: Sequence[Array]) -> Array:
    values = _alike([*arguments[1:-1:2], arguments[-1]])
    result = values.pop()
    for condition, value in zip(reversed(arguments[:-1:2]), reversed(values), strict=True):
        result = np.where(numbers(condition) == 1, value, result)
    return result


def _coalesce(arguments: Sequence[Array]) -> Array:
    *others, result = _alike(arguments)
    for argument in reversed(others):
        result = np.where(missing(argument), result, argument)
    return result


def _nullif(arguments: Sequence[Array]) -> Array:
    value, other = arguments
    equal = numbers(_compare(np.equal)([value, other])) == 1
    return np.where(equal, np.array(None) if value.dtype == object else np.nan, value)


def _round(arguments: Sequence[Array]) -> Array:
    decimals = int(numbers(arguments[1])) if arguments[1:] else 0
    return np.asarray(np.round(numbers(arguments[0]), decimals))


# What numpy calls alike, and otherwise.
_NAMED = ("add", "subtract", "multiply", "divide", "abs", "floor", "ceil", "sqrt", "log10", "exp", "power", "sign")
_SPELT = {"modulo": np.fmod, "negate": np.negative, "ln": np.log}
FUNCTIONS: Mapping[str, Callable[[Sequence[Array]], Array]] = {
    **{name: _numeric(getattr(np, name)) for name in _NAMED},
    **{name: _numeric(function) for name, function in _SPELT.items()},
    "round": _round,
    "least": lambda arguments: reduce(np.minimum, map(numbers, arguments)),
    "greatest": lambda arguments: reduce(np.maximum, map(numbers, arguments)),
    "eq": _compare(np.equal),
    "ne": _compare(np.not_equal),
    "lt": _compare(np.less),
    "le": _compare(np.less_equal),
    "gt": _compare(np.greater),
    "ge": _compare(np.greater_equal),
    "in": _in,
    "is_null": lambda arguments: missing(arguments[0]).astype(float),
    "and": _and,
    "or": _or,
    "not": lambda arguments: 1.0 - numbers(arguments[0]),
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "to_integer": _round,
    "to_real": lambda arguments: arguments[0],
}
