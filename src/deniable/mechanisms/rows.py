"""Private rows as integers, each read by itself: no row decides whether all are taken, or what the others are.

An array has a type, which is public, and one that holds no numbers is refused. What one row holds is never refused:

* a real number counts as the nearest whole one, since one missing value makes floats of a column of integers;
* a number beyond public bounds, an infinite one too, is moved to the nearest end; without bounds, if it is beyond 64
  bits, it is spoilt;
* NaN, None, a masked entry, text, a row of another length are spoilt. What becomes of them is the mechanism's policy:
  they are left out under add/remove, and count as a fixed public row under replace, where the number of rows is public.

So rows become rows by a public function of each one alone, and neighbours become neighbours. Nor does a row make
numpy warn: a warning that one list draws and its neighbour does not would tell of the row.
"""

import math
import warnings
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.integers import LARGEST, LEAST

Whole = NDArray[np.int64]
Spoilt = NDArray[np.bool_]

_BEYOND = 2**64  # what counts as infinite


def read(
    name: str,
    rows: ArrayLike,
    *,
    lower: int | None = None,
    upper: int | None = None,
    columns: int | None = None,
) -> tuple[Whole, Spoilt]:
    """Whole numbers, shape (rows,) or (rows, columns), and which rows are spoilt; those hold anything in the bounds.

    Args:
        name: the parameter's, for the message.
        rows: an array, a series or a table, or a list, whose entries are the rows.
        lower: public, within int64; upper likewise. None where there are no bounds.
        columns: how many numbers a row has; None for one number that is no list. A row of one may come without one.

    Raises: InvalidParameterError for another number of dimensions or columns, or a type that holds no numbers.
    """
    given = container(name, rows)
    with warnings.catch_warnings(action="ignore"):  # whether numpy warns may depend on a row
        found, spoilt = _of_array(name, given, columns) if isinstance(given, np.ndarray) else _of_list(given, columns)
    if lower is not None or upper is not None:
        found = np.clip(found, LEAST if lower is None else lower, LARGEST if upper is None else upper)
    elif found.dtype == object:
        spoilt = spoilt | _per_row((found < LEAST) | (found > LARGEST))
        found = np.where(_beside(spoilt, found), 0, found)
    return found.astype(np.int64, copy=False), spoilt


def left_out(name: str, rows: ArrayLike, *, lower: int | None = None, upper: int | None = None) -> Whole:
    """Numbers in the bounds, without what is spoilt: for add/remove."""
    found, spoilt = read(name, rows, lower=lower, upper=upper)
    return found[~spoilt] if spoilt.any() else found


def replaced(
    name: str,
    rows: ArrayLike,
    *,
    by: int,
    lower: int | None = None,
    upper: int | None = None,
    columns: int | None = None,
) -> Whole:
    """Rows in the bounds, with a public number in all places of a spoilt one: for replace."""
    found, spoilt = read(name, rows, lower=lower, upper=upper, columns=columns)
    return np.where(_beside(spoilt, found), by, found) if spoilt.any() else found


def container(name: str, rows: ArrayLike) -> NDArray[Any] | Sequence[Any]:
    """A list or an array with its mask, as they are; an array of all else."""
    if isinstance(rows, list | tuple | np.ndarray):
        return rows
    try:
        with warnings.catch_warnings(action="ignore"):
            return np.asarray(rows)
    except Exception:  # whatever it is, it may depend on a row
        raise InvalidParameterError(f"{name} must be an array or a list of numbers") from None


def _of_list(rows: Sequence[Any], columns: int | None) -> tuple[NDArray[Any], Spoilt]:
    """A list has no type, and is always taken."""
    masked = any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, rows)))
    try:  # quick where all rows are alike, and the same as what follows
        array: NDArray[Any] = np.empty(0) if masked else np.asarray(rows)
    except Exception:  # whatever it is, it may depend on a row
        array = np.empty(0)
    if array.dtype.kind in "iub" and array.shape[1:] == (() if columns is None else (columns,)):
        return _typed(array)
    found = np.zeros((len(rows), 1 if columns is None else columns), dtype=object)
    spoilt = np.zeros(len(rows), dtype=np.bool_)
    for place, row in enumerate(rows):
        numbers = [_nearest(entry) for entry in ([row] if columns is None else _entries(row, columns))]
        if len(numbers) == found.shape[1] and None not in numbers:
            found[place] = numbers
        else:
            spoilt[place] = True
    return found[:, 0] if columns is None else found, spoilt


def _of_array(name: str, array: NDArray[Any], columns: int | None) -> tuple[NDArray[Any], Spoilt]:
    if array.dtype.kind not in "iufbO":
        raise InvalidParameterError(
            f"{name} must hold integers, got an array of {array.dtype.type.__name__.rstrip('_')}"
        )
    if array.dtype.kind == "O" and array.ndim == 1:
        return _of_list(list(array), columns)
    if array.ndim == 1 and (columns == 1 or (columns is not None and not array.size)):
        array = array.reshape(-1, columns)
    if columns is None and array.ndim != 1:
        raise InvalidParameterError(f"{name} must be a list of integers, got {array.ndim} dimensions")
    if columns is not None and (array.ndim != 2 or array.shape[1] != columns):
        raise InvalidParameterError(f"{name} must be a table of integers with {columns} columns, a row for each record")
    if array.dtype.kind == "O":
        return _of_list(list(array), columns)
    found, spoilt = _typed(np.ma.getdata(array))
    hidden = _per_row(np.ma.getmaskarray(array)) if isinstance(array, np.ma.MaskedArray) else spoilt
    return found, spoilt | hidden


def _typed(array: NDArray[Any]) -> tuple[NDArray[Any], Spoilt]:
    """Numbers of any type, as they are in int64 where they fit."""
    spoilt = np.zeros(array.shape[0], dtype=np.bool_)
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            nearest = np.rint(array.astype(np.float64, copy=False))
        missing, far = np.isnan(nearest), (nearest >= float(2**63)) | (nearest < -float(2**63))
        found: NDArray[Any] = np.where(missing | far, 0.0, nearest).astype(np.int64)
        if far.any():
            found = np.where(far, np.sign(nearest).astype(object) * _BEYOND, found)
        return found, _per_row(missing)
    if array.dtype == np.uint64:
        return (array.astype(object) if (array > LARGEST).any() else array), spoilt
    return array.astype(np.int64, copy=False), spoilt


def _entries(row: object, columns: int) -> Sequence[Any]:
    """Of one row, of any type that numpy reads; none if it is no list of them. One alone needs no list."""
    try:
        if isinstance(row, list | tuple):
            return row
        listed = row if isinstance(row, np.ma.MaskedArray) else np.asarray(row)
        if listed.ndim == 1:
            return list(listed)
        return [row] if columns == 1 and not listed.ndim else ()
    except Exception:  # whatever it is, it depends on this row
        return ()


def _nearest(entry: Any) -> int | None:
    """The nearest whole number, or one of 65 bits on the same side; None for what is no number."""
    try:
        if isinstance(entry, np.ndarray | np.generic):
            if np.ma.is_masked(entry) or entry.ndim or isinstance(entry, np.timedelta64 | np.datetime64):
                return None  # the last two are integers to numpy
            entry = float(entry) if isinstance(entry, np.floating) else entry.item()
        if not isinstance(entry, int | float | Decimal | Fraction):  # a tensor, say, which numpy reads in a list
            alone = np.asarray(entry)
            entry = alone.item() if not alone.ndim and alone.dtype.kind in "fiub" else math.nan
        if entry != entry:  # noqa: PLR0124 - NaN
            return None
        return round(entry) if -_BEYOND < entry < _BEYOND else _BEYOND if entry > 0 else -_BEYOND
    except Exception:  # whatever it is, it depends on this entry
        return None


def _per_row(entries: Spoilt) -> Spoilt:
    return np.asarray(entries if entries.ndim == 1 else entries.any(axis=1), dtype=np.bool_)


def _beside(spoilt: Spoilt, found: NDArray[Any]) -> Spoilt:
    """The rows in the shape of their numbers."""
    return spoilt if found.ndim == 1 else spoilt[:, None]
