"""Histograms: the number of rows in each of some public bins."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import exact_rational, whole_number
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.rows import Container, distinct, indices_of, numbers
from deniable.statistics.call import asks
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, BoundsLike, Options, checked_bounds, release
from deniable.statistics.units import bounded_rows

_ROWS_PER_BLOCK = 2**15
_MOST_BINS = 10**6
_SPAN = 2**20  # keys within a range of so many integers are counted without a search


@dataclass(frozen=True, kw_only=True)
class Histogram(Noised):
    """Number of rows in each of some public bins, with noise: see `histogram`."""

    name: ClassVar[str] = "histogram"

    bins: Iterable[Any] | int | None = None
    keys: Iterable[Any] | None = None
    other: bool = False
    bounds: BoundsLike | None = None

    def _check(self) -> None:
        if (self.bins is None) == (self.keys is None):
            raise InvalidParameterError("a histogram needs bins=[edges] or keys=[values], one of them")
        if self.keys is not None and self.bounds is not None:
            raise InvalidParameterError("bounds go with a number of bins: bins=10, bounds=(0, 100). Keys need none.")
        if self.bins is not None:
            read_fields(self, bins=_edges(self.bins, self.bounds), bounds=None)
        else:
            read_fields(self, keys=distinct_keys(self.keys))

    @property
    def _edges(self) -> tuple[float, ...]:
        """Edges of the bins."""
        return self.bins if isinstance(self.bins, tuple) else ()

    @cached_property
    def cells(self) -> int:
        """Number of counts."""
        known = len(tuple(self.keys)) if self.keys is not None else len(self._edges) - 1
        return known + bool(self.other)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the counts."""
        return of_spread_sum(lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=self.cells)

    def simultaneous_error(self, level: float = 0.95) -> int:
        """Return the error that no count exceeds, with probability at least `level`.

        Source: the counts have independent noise; for Laplace noise under replace it is at most
            (2 / epsilon) ln(cells / (1 - level)).
        """
        return self.mechanism.half_width(level ** (1 / self.cells))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        noisy = self.mechanism.release(self._exact(values, units, bits), bits=bits).value
        return Answer(
            parts=(*self._labels(), Measure(name="count", bases=("count",), lower=0)),
            noisy=(Noisy(name="count", values=noisy.astype(np.int64), law=self.mechanism.law()),),
        )

    def _labels(self) -> tuple[Key, ...]:
        rest = (None,) * bool(self.other)
        if self.keys is not None:
            return (Key(name="key", values=(*self.keys, *rest)),)
        edges = self._edges
        lower, upper = (*edges[:-1], *rest), (*edges[1:], *rest)
        return Key(name="lower", values=lower, edge="lower"), Key(name="upper", values=upper, edge="upper")

    def _exact(self, values: object, units: object, bits: Bits) -> NDArray[np.int64]:
        """Return the counts."""
        known = self.cells - bool(self.other)
        if units is None and (counted := _counts_of_integers(values, self.keys)) is not None:
            counts, size = counted
        else:
            indices = self._bin_indices(values)
            if units is not None:
                counting = np.full(indices.shape, self.other) | (indices < known)
                indices = indices[bounded_rows(units, rows=self.rows, present=counting, bits=bits)]
            counts = np.bincount(indices, minlength=known)[:known]
            size = len(indices)
        return np.append(counts, size - counts.sum()) if self.other else counts

    def _bin_indices(self, values: object) -> NDArray[np.int64]:
        """The bin of every row; one more than the last for rows in no bin."""
        if self.keys is not None:
            return indices_of(values, tuple(self.keys))
        column = numbers(values)
        edges = np.array(self._edges)
        indices = np.empty(len(column), dtype=np.int64)
        for start in range(0, len(column), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            indices[rows] = _bins_of(column[rows], edges)
        return indices


@asks(Histogram)
def histogram(
    values: Container,
    *,
    bins: Iterable[Any] | int | None = None,
    keys: Iterable[Any] | None = None,
    other: bool = False,
    bounds: BoundsLike | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return noisy numbers of rows in public bins.

    Args:
        values: one column: numbers for `bins`; numbers, texts, dates or booleans for `keys`.
        bins: edges of numeric bins, increasing. A bin holds lower <= value < upper, the last one value <= upper. Or a
            number of bins of equal width, between `bounds`.
        keys: in place of bins, the public values that are counted.
        other: whether a last row counts the rows in no bin, NULL and NaN among them. Without it they are not counted.
        bounds: public (lower, upper), where `bins` is a number.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: one unit moves the counts by at most `rows` in l1 (add/remove), or by twice that (replace).
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis".

    >>> import deniable as dn
    >>> answer = dn.statistics.histogram([31, 45, 28], bins=[0, 18, 40, 65], epsilon=1)
    >>> answer = dn.statistics.histogram([31, 45, 28], bins=10, bounds=(0, 100), epsilon=1)
    >>> answer = dn.statistics.histogram(["a", "b", "a"], keys=["a", "b", "c"], epsilon=1)
    """
    return release(Histogram, values, {"bins": bins, "keys": keys, "other": other, "bounds": bounds}, options)


def distinct_keys(keys: object) -> tuple[Any, ...]:
    """Return public values of one type, none twice.

    Raises: InvalidParameterError.
    """
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise InvalidParameterError(f"keys must be a list of public values, got {keys!r}")
    values = tuple(keys.tolist() if isinstance(keys, np.ndarray) else keys)
    if not values:
        raise InvalidParameterError("keys must hold at least one value")
    return distinct(values)


def _edges(bins: object, bounds: object) -> tuple[float, ...]:
    """Return finite increasing edges: as given, or of equal bins between the bounds."""
    if isinstance(bins, int | np.integer):
        if bounds is None:
            raise InvalidParameterError(f"bins={bins} needs bounds=(lower, upper), between which the bins lie")
        number = whole_number("bins", bins, lower=1, upper=_MOST_BINS)
        checked_bounds(bounds)
        lower, upper = (exact_rational("bounds", bound) for bound in bounds)  # type: ignore[attr-defined]
        return tuple(float(lower + (upper - lower) * index / number) for index in range(number + 1))
    if bounds is not None:
        raise InvalidParameterError("bounds go with a number of bins: bins=10, bounds=(0, 100). Edges need none.")
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise InvalidParameterError(f"bins must be a list of edges, got {bins!r}")
    edges = tuple(float(exact_rational("bins", edge)) for edge in bins)
    if len(edges) < 2 or not all(isfinite(edge) for edge in edges) or any(np.diff(edges) <= 0):
        raise InvalidParameterError("bins must be at least two increasing edges")
    return edges


def _bins_of(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """Return the bin of each value; one more than the last for values in no bin.

    Even edges need no search.
    """
    last = len(edges) - 2
    width = edges[-1] / (last + 1) - edges[0] / (last + 1)
    inside = (values >= edges[0]) & (values <= edges[-1])  # false for NaN
    known = np.where(inside, values, edges[0])
    if np.all(np.abs(np.diff(edges) - width) <= width / (4 * last + 4)):
        with np.errstate(over="ignore"):  # between edges that are nearly as far apart as floats go
            indices = np.minimum((known - edges[0]) / width, last).astype(np.int64)  # off by one at most
        indices += known >= edges[1:][indices]
        indices -= known < edges[np.minimum(indices, last)]
    else:
        indices = np.searchsorted(edges, known, side="right") - 1
    return np.where(inside, np.minimum(indices, last), last + 1)


def _counts_of_integers(values: object, keys: Iterable[Any] | None) -> tuple[NDArray[np.int64], int] | None:
    """Return how often each key occurs, and the number of rows.

    None unless values are an array of integers, and keys integers close together.
    """
    wanted = np.array(tuple(keys or ()))
    if (
        not isinstance(values, np.ndarray)
        or isinstance(values, np.ma.MaskedArray)
        or values.ndim != 1
        or values.dtype.kind not in "iu"
        or wanted.dtype.kind != "i"
    ):
        return None
    first, last = int(wanted.min()), int(wanted.max())
    limits = np.iinfo(values.dtype)
    if last - first > _SPAN or first - 1 < limits.min or last + 1 > limits.max:
        return None
    counts = np.zeros(last - first + 3, dtype=np.int64)
    for start in range(0, len(values), _ROWS_PER_BLOCK):
        block = np.clip(values[start : start + _ROWS_PER_BLOCK], first - 1, last + 1).astype(np.int64)
        block -= first - 1
        counts += np.bincount(block, minlength=len(counts))
    return counts[wanted - first + 1], len(values)
