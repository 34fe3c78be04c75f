"""Equivalence classes: who cannot be told apart by the quasi-identifiers, and which secrets each class holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deniable.attacks.anonymity.columns import Codes, Column, as_frame, join_columns, number, read_columns
from deniable.errors import InvalidParameterError

Missing: TypeAlias = Literal["value", "wildcard"]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows by what their quasi-identifiers say.

    Args:
        of_row: shape (rows,); number of the row's class.
        reach: shape (classes, classes), 0 and 1: which rows count as members of a class, where missing values are
            wildcards; None: its own.
    """

    of_row: Codes
    reach: sparse.csr_array | None = None

    @cached_property
    def sizes(self) -> Codes:
        """Members of each class, shape (classes,)."""
        sizes = np.bincount(self.of_row).astype(np.int64)
        return sizes if self.reach is None else np.asarray(self.reach @ sizes)

    def count(self, secret: Column) -> "Secrets":
        """Count the secrets in each class."""
        shape = (len(self.sizes), len(secret.values))
        counts = sparse.coo_array((np.ones(len(self.of_row), dtype=np.int64), (self.of_row, secret.codes)), shape)
        own = counts.tocsr()
        held = own if self.reach is None else (self.reach @ own).tocsr()
        held.sort_indices()
        return Secrets(held, np.bincount(secret.codes) / len(secret.codes))


@dataclass(frozen=True, eq=False)
class Secrets:
    """How often each secret stands in each class, and in the whole table.

    Args:
        counts: shape (classes, values); what is not stored is 0.
        table: shape (values,); share of the rows of the whole table.
    """

    counts: sparse.csr_array
    table: Floats

    @cached_property
    def starts(self) -> Codes:
        """First stored entry of each class, for `reduceat`; no class is empty."""
        return np.asarray(self.counts.indptr[:-1], dtype=np.int64)

    @cached_property
    def distinct(self) -> Codes:
        """Number of distinct secrets in each class."""
        return np.asarray(np.diff(self.counts.indptr), dtype=np.int64)

    @cached_property
    def owner(self) -> Codes:
        """Class of each stored entry."""
        return np.repeat(np.arange(len(self.distinct)), self.distinct)

    @cached_property
    def shares(self) -> Floats:
        """Share of each stored entry in its class."""
        shares: Floats = self.counts.data / np.add.reduceat(self.counts.data, self.starts)[self.owner]
        return shares

    def least_distinct(self) -> float:
        """Fewest distinct secrets in a class."""
        return float(self.distinct.min())

    def least_entropy(self) -> float:
        """Exp of the least entropy of a class; exactly m where m secrets are equally frequent."""
        counts = self.counts.data
        even = np.maximum.reduceat(counts, self.starts) == np.minimum.reduceat(counts, self.starts)
        entropy = np.add.reduceat(-self.shares * np.log(self.shares), self.starts)
        return float(np.where(even, self.distinct, np.exp(entropy)).min())

    def greatest_recursion(self, values: int) -> float:
        """Greatest r1 / (r_l + ... + r_m) of a class, counts falling, l = `values`."""
        falling = self.counts.data[np.lexsort((-self.counts.data, self.owner))]
        rank = np.arange(len(falling)) - self.starts[self.owner]
        rest = np.add.reduceat(np.where(rank >= values - 1, falling, 0), self.starts)
        return float((falling[self.starts] / rest).max()) if rest.all() else math.inf

    def greatest_disclosure(self) -> float:
        """Greatest |ln(share in a class / share in the table)|; infinite if a class lacks a secret."""
        if self.distinct.min() < len(self.table):
            return math.inf
        return float(np.abs(np.log(self.shares / self.table[self.counts.indices])).max())

    def greatest_gains(self) -> tuple[float, float]:
        """Greatest gain (share in a class - share in the table) / share in the table; infinite if above -ln of it."""
        table = self.table[self.counts.indices]
        gains = (self.shares - table) / table
        beta = max(float(gains.max()), 0.0)
        return beta, math.inf if (gains > np.maximum(-np.log(table), 0.0)).any() else beta

    def greatest_share(self) -> float:
        """Greatest share of one secret in a class."""
        return float(self.shares.max())


def read_classes(frame: Any, quasi: str | Sequence[str], missing: Missing) -> Classes:
    """Put the rows of a frame into classes.

    Args:
        frame: of pandas, Polars or Arrow.
        quasi: names of the quasi-identifiers.
        missing: whether a missing quasi-identifier is a value, or equal to every value.
    """
    columns = read_columns(as_frame(frame), quasi, role="quasi")
    if missing not in ("value", "wildcard"):
        raise InvalidParameterError(f'missing must be "value" or "wildcard", got {missing!r}')
    of_row = number(column.codes for column in columns)
    if missing == "value" or not any(column.has_missing for column in columns):
        return Classes(of_row)
    _, first = np.unique(of_row, return_index=True)
    known = np.stack([column.codes[first] - column.has_missing for column in columns], axis=1)  # -1: missing
    return Classes(of_row, _reach(known))


def read_secrets(
    frame: Any, sensitive: str | Sequence[str], joint: bool | None, *, apart: str | Sequence[str]
) -> list[Column]:
    """Read the sensitive attributes: one column each, or one whose values are tuples.

    Args:
        frame: of pandas, Polars or Arrow.
        sensitive: their names.
        joint: whether several are taken as one; None where there is one.
        apart: the quasi-identifiers, among which they may not be.
    """
    columns = read_columns(as_frame(frame), sensitive, role="sensitive")
    quasi = {apart} if isinstance(apart, str) else set(apart)
    if both := [column.name for column in columns if column.name in quasi]:
        raise InvalidParameterError(f"{', '.join(both)} cannot be a quasi-identifier and sensitive at once")
    if len(columns) > 1 and joint is None:
        raise InvalidParameterError(
            "several sensitive attributes need joint=False, each measured alone, or joint=True, measured as one"
        )
    return [join_columns(columns)] if joint and len(columns) > 1 else columns


def _reach(known: Codes) -> sparse.csr_array:
    """Pairs of tuples that agree wherever both are known. Rows of `known` are tuples, -1 is missing."""
    patterns, pattern = np.unique(known < 0, axis=0, return_inverse=True)
    members = [np.flatnonzero(pattern.reshape(-1) == one) for one in range(len(patterns))]
    ends = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for one, other in combinations_with_replacement(range(len(patterns)), 2):
        left, right = members[one], members[other]
        shared = ~(patterns[one] | patterns[other])
        both = known[np.concatenate([left, right])][:, shared]
        keys = number(both.T) if shared.any() else np.zeros(len(both), dtype=np.int64)
        here, there = (_indicator(part, int(keys.max()) + 1) for part in (keys[: len(left)], keys[len(left) :]))
        pairs = (here @ there.T).tocoo()
        ends[0].extend([left[pairs.row]] + [right[pairs.col]] * (one != other))
        ends[1].extend([right[pairs.col]] + [left[pairs.row]] * (one != other))
    rows, columns = np.concatenate(ends[0]), np.concatenate(ends[1])
    return sparse.coo_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), (len(known),) * 2).tocsr()


def _indicator(keys: Codes, width: int) -> sparse.csr_array:
    ones = np.ones(len(keys), dtype=np.int64)
    return sparse.coo_array((ones, (np.arange(len(keys)), keys)), (len(keys), width)).tocsr()
