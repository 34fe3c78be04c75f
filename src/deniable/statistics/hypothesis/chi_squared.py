"""Chi-squared tests of noisy tables: goodness of fit and independence."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.rows import Container, indices_of
from deniable.statistics.call import asks
from deniable.statistics.histograms import distinct_keys
from deniable.statistics.hypothesis.base import HypothesisTest, TestOptions, multinomials, noise, p_value
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, Takes, release
from deniable.statistics.units import bounded_rows


def categories(name: str, keys: object) -> tuple[object, ...]:
    """Return public categories: at least two, all different.

    Raises: InvalidParameterError.
    """
    values = distinct_keys(keys)
    if len(values) < 2:
        raise InvalidParameterError(f"{name} must be a list of two or more categories, got {keys!r}")
    return values


@dataclass(frozen=True, kw_only=True)
class _TableTest(Noised, HypothesisTest):
    """Base of tests of noisy counts of public cells; rows outside them are left out."""

    @property
    @abstractmethod
    def _cells(self) -> int:
        """Number of counts."""

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of all counts together: each row of a unit lies in one cell."""
        return of_spread_sum(
            lower=0, upper=Fraction(1), total_rows=self.rows, relation=self.relation, cells=self._cells
        )

    def _noisy(self, cells: NDArray[np.int64], units: object, bits: Bits) -> Floats:
        """Return noisy counts; an index that is not a cell is outside."""
        kept = bounded_rows(units, rows=self.rows, present=cells < self._cells, bits=bits)
        exact = np.bincount(cells[kept], minlength=self._cells)
        return self.mechanism.release(exact, bits=bits).value.astype(np.float64)

    def _distance(self, tables: Floats, expected: Floats) -> Floats:
        """Return the sum of squared differences over their variance.

        It is that of the rows and that of the noise.
        """
        variance = np.maximum(expected, 0) + self.mechanism.standard_deviation() ** 2
        variance = np.maximum(variance, 1e-9)  # both are 0 for no rows and hardly any noise
        return np.asarray(((tables - expected) ** 2 / variance).sum(axis=-1))


@dataclass(frozen=True, kw_only=True)
class ChiSquaredFit(_TableTest):
    """Test of stated proportions of public categories: see `chi_squared_fit`."""

    name: ClassVar[str] = "chi_squared_fit"
    null: ClassVar[str] = "rows fall into the categories in the stated proportions"

    keys: Annotated[tuple[object, ...], categories]
    shares: Sequence[Real]

    def _check(self) -> None:
        given: object = self.shares
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidParameterError(f"shares must be a list of numbers, one a key, got {given!r}")
        shares = tuple(positive_rational("shares", share) for share in given)
        if len(shares) != len(self.keys):
            raise InvalidParameterError(f"shares must be one a key: got {len(shares)} for {len(self.keys)} keys")
        read_fields(self, shares=shares)

    @property
    def _cells(self) -> int:
        return len(self.keys)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        table = self._noisy(indices_of(values, self.keys), units, bits)
        shares = np.array([float(share) for share in self.shares])
        chances = shares / shares.sum()
        made_up = multinomials(max(round(table.sum()), 0), chances, self.simulations, bits)
        simulated = made_up + noise(self.mechanism, made_up.shape, bits)
        statistic = self._distance(table, table.sum() * chances)
        null = self._distance(simulated, simulated.sum(axis=1, keepdims=True) * chances)
        return self._tested(float(statistic), p_value(float(statistic), null))


@dataclass(frozen=True, kw_only=True)
class ChiSquaredIndependence(_TableTest):
    """Test of independence of two categorical columns: see `chi_squared_independence`."""

    name: ClassVar[str] = "chi_squared_independence"
    takes: ClassVar[Takes] = "pair"
    null: ClassVar[str] = "the two columns are independent"

    keys: Annotated[tuple[object, ...], categories]
    other_keys: Annotated[tuple[object, ...], categories]

    @property
    def _cells(self) -> int:
        return len(self.keys) * len(self.other_keys)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        first, second = (indices_of(column, keys) for column, keys in zip(pair_of(values), self._both, strict=True))
        if first.shape != second.shape:
            raise InvalidParameterError("the two columns must have one entry for each row")
        inside = (first < len(self.keys)) & (second < len(self.other_keys))
        cells = np.where(inside, first * len(self.other_keys) + second, self._cells)
        table = self._noisy(cells, units, bits).reshape(1, len(self.keys), len(self.other_keys))
        expected = _product_of_margins(table)
        total = max(round(table.sum()), 0)
        chances = expected.ravel() / expected.sum() if expected.sum() > 0 else np.full(self._cells, 1 / self._cells)
        made_up = multinomials(total, chances, self.simulations, bits)
        simulated = (made_up + noise(self.mechanism, made_up.shape, bits)).reshape(-1, *table.shape[1:])
        statistic = self._distance(*_flat(table, expected))[0]
        null = self._distance(*_flat(simulated, _product_of_margins(simulated)))
        return self._tested(float(statistic), p_value(float(statistic), null))

    @property
    def _both(self) -> tuple[tuple[object, ...], tuple[object, ...]]:
        return self.keys, self.other_keys


@asks(ChiSquaredFit)
def chi_squared_fit(
    values: Container, *, keys: Iterable[object], shares: Iterable[Real], **options: Unpack[TestOptions]
) -> Release:
    """Test whether rows fall into public categories in stated proportions.

    The statistic compares noisy counts with what the noisy total leads to expect. Its null law is simulated with that
    total; nothing else is unknown.

    Args:
        values: one column: numbers, texts, dates or booleans; rows outside the categories are left out.
        keys: the categories, two or more.
        shares: their proportions under the null hypothesis, one per key; they are scaled to sum to 1.
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: a row lies in one cell, so all counts together move by at most `rows` in l1 (replace: twice that).
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Gaboardi, Lim, Rogers, Vadhan (2016), arXiv:1602.03090, for tests of noisy tables by Monte Carlo.

    >>> import deniable as dn
    >>> test = dn.statistics.chi_squared_fit(list("aab") * 50, keys=["a", "b"], shares=[0.5, 0.5], epsilon=1)
    """
    return release(ChiSquaredFit, values, {"keys": keys, "shares": shares}, options)


@asks(ChiSquaredIndependence)
def chi_squared_independence(
    first: Container,
    second: Container,
    *,
    keys: Iterable[object],
    other_keys: Iterable[object],
    **options: Unpack[TestOptions],
) -> Release:
    """Test whether two categorical columns are independent.

    Expected counts come from the margins of the noisy table. The null law is simulated with the product of these
    margins, a parametric bootstrap: error rates are those of the level up to the noise in the margins.

    Args:
        first: one column: numbers, texts, dates or booleans.
        second: another column of the same rows.
        keys: the categories of the first column.
        other_keys: those of the second.
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: as of `chi_squared_fit`, a cell being a pair of categories.
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Gaboardi, Lim, Rogers, Vadhan (2016), arXiv:1602.03090.

    >>> import deniable as dn
    >>> first, second = list("aabb") * 50, list("xyxy") * 50
    >>> test = dn.statistics.chi_squared_independence(
    ...     first, second, keys=["a", "b"], other_keys=["x", "y"], epsilon=1
    ... )
    """
    return release(ChiSquaredIndependence, (first, second), {"keys": keys, "other_keys": other_keys}, options)


def pair_of(values: object) -> tuple[object, object]:
    """Return the two columns that a test takes."""
    if not isinstance(values, tuple) or len(values) != 2:
        raise InvalidParameterError("this test takes a pair of columns: (first, second)")
    return values


def _product_of_margins(tables: Floats) -> Floats:
    """Return the tables that independence leads to expect.

    Of shape (runs, first, second); negative margins count as 0.
    """
    rows, columns = (np.maximum(tables.sum(axis=axis, keepdims=True), 0) for axis in (2, 1))
    total = np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return np.asarray(rows * columns / total)


def _flat(*tables: Floats) -> tuple[Floats, ...]:
    return tuple(table.reshape(len(table), -1) for table in tables)
