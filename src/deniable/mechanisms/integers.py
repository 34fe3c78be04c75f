"""Secret integers as arrays, of whatever size; no value is named or refused."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import shown, whole_number

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
LARGEST_BOUND = 2**61  # so that differences of records fit into int64


def integers(name: str, exact: ArrayLike, *, listed: bool = False) -> ExactIntegers:
    """Return an int64 array, or an object array of Python ints.

    A list of ints on both sides of 2^63 is read as objects: numpy alone would make floats of it, or not, by its values.

    Args:
        name: the parameter's, for the message.
        listed: whether it must have one dimension.

    Raises: InvalidParameterError for anything but integers: floats are put on a lattice first.
    """
    array = array_of(name, exact)
    if not array.size:
        array = array.astype(np.int64)
    elif array.dtype == np.uint64:
        array = array.astype(object)
    elif array.dtype.kind in "iu":
        array = array.astype(np.int64, copy=False)
    else:
        array = _of_objects(name, exact, array.dtype)
    if listed and array.ndim != 1:
        raise InvalidParameterError(f"{name} must be a list of integers, got {array.ndim} dimensions")
    return array


def clamped(
    name: str, exact: ArrayLike, *, lower: int = MIN_INT64, upper: int = MAX_INT64, listed: bool = False
) -> NDArray[np.int64]:
    """Return the integers, clamped to a public range within int64; none is an error."""
    array = integers(name, exact, listed=listed)
    return np.asarray(np.clip(array, lower, upper)).astype(np.int64, copy=False)


def public_bounds(name: str, bounds: object, *, largest: int = LARGEST_BOUND) -> tuple[int, int]:
    """Return a public pair of whole numbers, the lower one below the upper one.

    Args:
        name: of the parameter, for the message.
        bounds: the pair.
        largest: the greatest size of either number.

    Raises: InvalidParameterError for anything else.
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameterError(f"{name} must be a pair (lower, upper) of whole numbers, got {shown(bounds)}")
    lower = whole_number(f"the lower one of {name}", bounds[0], lower=-largest, upper=largest)
    upper = whole_number(f"the upper one of {name}", bounds[1], lower=-largest, upper=largest)
    if lower >= upper:
        raise InvalidParameterError(f"{name} must be a pair lower < upper, got ({lower}, {upper})")
    return lower, upper


def as_pair(name: str, exact: object, *parts: str) -> tuple[Any, Any]:
    """Return an input of two parts.

    Raises: InvalidParameterError for anything but a pair.
    """
    if not isinstance(exact, tuple | list) or len(exact) != 2:
        raise InvalidParameterError(f"{name} must be a pair ({', '.join(parts)})")
    return exact[0], exact[1]


def plus(secret: ExactIntegers, noise: ExactIntegers) -> ExactIntegers:
    """Return exact sums, in int64 if and only if all of them fit.

    That is a fact about the released values alone.
    """
    if secret.dtype == np.int64 and noise.dtype == np.int64:
        total = secret + noise
        if (_small(secret) and _small(noise)) or not (((secret ^ total) & (noise ^ total)) < 0).any():
            return np.asarray(total)
    exact = np.asarray(secret.astype(object) + noise.astype(object), dtype=object)
    return exact.astype(np.int64) if all(MIN_INT64 <= value <= MAX_INT64 for value in exact.flat) else exact


def _small(values: ExactIntegers) -> bool:
    """Return whether the sum of two such arrays cannot wrap around; no copy is made."""
    return bool(values.min(initial=0) >= MIN_INT64 // 2 and values.max(initial=0) <= MAX_INT64 // 2)


def array_of(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return any array.

    Raises: InvalidParameterError for rows of different lengths.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be an array; its rows differ in length") from None


def _of_objects(name: str, exact: ArrayLike, dtype: np.dtype[Any]) -> NDArray[np.object_]:
    """Return Python ints from ints of any kind that numpy does not put into 64 bits.

    In a list, numpy takes True for 1 beside small ints, so it is 1 beside large ones too.
    """
    listed = not isinstance(exact, np.ndarray)
    array = np.asarray(exact, dtype=object)
    taken = int | np.integer | np.bool_ if listed else int | np.integer
    whole = all(issubclass(kind, taken) and (listed or kind is not bool) for kind in map(type, array.flat))
    if not whole or not (dtype.kind == "O" or (dtype.kind == "f" and listed)):
        raise InvalidParameterError(
            f"{name} must hold integers, got an array of {dtype.type.__name__.rstrip('_')}. Put real numbers on a "
            "lattice first; NaN and infinity have no place there."
        )
    return np.array([int(value) for value in array.flat], dtype=object).reshape(array.shape)
