"""Measures of anonymity, one function each.

All read rows of pandas, Polars or Arrow, one for each person.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deniable.attacks.anonymity.closeness import Ground, distances
from deniable.attacks.frames import CodedColumn, Codes, Names, as_frame, number, read_columns, read_names
from deniable.attacks.numbers import Floats, whole
from deniable.errors import InvalidParameterError


def k_anonymity(frame: Any, *, quasi: Names) -> int:
    """Return k: the size of the smallest class of equal quasi-identifiers.

    Args:
        frame: rows of pandas, Polars or Arrow, one for each person. Rows are positions: an index is not read.
        quasi: names of the quasi-identifiers. A missing one is a value like others, as an attacker may read it.

    Raises: InvalidParameterError if a column is unknown, or there are no rows.
    Source: Samarati, Sweeney (1998).

    >>> import pyarrow as pa
    >>> k_anonymity(pa.table({"age": [30, 30, None, None, None]}), quasi="age")
    2
    """
    return int(np.bincount(read_classes(frame, quasi)).min())


def l_diversity(frame: Any, *, quasi: Names, sensitive: str, kind: str = "distinct") -> float:
    """Return l: the smallest number of different secrets in a class.

    Args:
        frame, quasi: as for `k_anonymity`.
        sensitive: name of the sensitive attribute; a missing secret is a value of its own.
        kind: "distinct" counts the values; "entropy" is exp of the least entropy, a real number.

    Raises: InvalidParameterError if a column is unknown, or `kind` is.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007).

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "flu", "cold"]})
    >>> round(l_diversity(table, quasi="age", sensitive="illness", kind="entropy"), 3)
    1.755
    """
    if kind not in ("distinct", "entropy"):
        raise InvalidParameterError(f'kind must be "distinct" or "entropy", got {kind!r}')
    held = count_secrets(frame, quasi, sensitive)
    return float(held.distinct.min()) if kind == "distinct" else held.least_entropy()


def recursive_diversity(frame: Any, *, quasi: Names, sensitive: str, values: int = 2) -> float:
    """Return the c above which recursive (c, l)-diversity holds, for l = `values`.

    With counts r1 >= r2 >= ... of the secrets in a class it demands r1 < c (r_l + ... + r_m): the commonest secret
    stays rare even after l - 2 others are ruled out. Infinite if a class holds fewer than l secrets.

    Args:
        frame, quasi, sensitive: as for `l_diversity`.
        values: l, at least 1.

    Raises: InvalidParameterError as `l_diversity`.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007).

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "flu", "cold"]})
    >>> recursive_diversity(table, quasi="age", sensitive="illness")
    3.0
    """
    whole("values", values)
    return count_secrets(frame, quasi, sensitive).greatest_recursion(values)


def t_closeness(frame: Any, *, quasi: Names, sensitive: str, ground: Ground = "auto") -> float:
    """Return t: the greatest earth mover's distance of a class from the table.

    It is between the distributions of the secrets.

    Args:
        frame, quasi, sensitive: as for `l_diversity`.
        ground: distance between two secrets: "equal" (1 if they differ), "ordered" (difference of the ranks of
            the values that occur, over its maximum; a missing value comes first), "numeric" (difference over the
            range), or a mapping (tree: each node to its parent, values as leaves; height of the lowest common ancestor
            over that of the root). "auto": "ordered" for numbers, dates and ordered categories, "equal" for others.

    Raises: InvalidParameterError as `l_diversity`, or if the ground does not fit the values.
    Source: Li, Li, Venkatasubramanian (2007); its example is below.

    >>> import pyarrow as pa
    >>> salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> table = pa.table({"zip": ["476**"] * 3 + ["4790*"] * 3 + ["4760*"] * 3, "salary": salary})
    >>> round(t_closeness(table, quasi="zip", sensitive="salary"), 4)
    0.375
    """
    held = count_secrets(frame, quasi, sensitive)
    return float(distances(held.secret, held.counts, ground).max())


def delta_disclosure(frame: Any, *, quasi: Names, sensitive: str) -> float:
    """Return delta: the greatest log ratio of shares in a class and in the table.

    It is over classes and secrets, in absolute value. Infinite if a secret of the table is absent from a class.

    Args:
        frame, quasi, sensitive: as for `l_diversity`.

    Raises: InvalidParameterError as `l_diversity`.
    Source: Brickell, Shmatikov (2008), "The cost of privacy".

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 40, 40], "illness": ["flu", "cold", "cold", "cold"]})
    >>> delta_disclosure(table, quasi="age", sensitive="illness")
    inf
    """
    return count_secrets(frame, quasi, sensitive).greatest_disclosure()


def read_classes(frame: Any, quasi: Names) -> Codes:
    """Return the class of each row: the number of its tuple of quasi-identifiers."""
    return number(column.codes for column in read_columns(quasi, as_frame(frame), role="quasi"))


def read_secret(sensitive: str, *frames: Any, apart: Names) -> CodedColumn:
    """Read the sensitive attribute, which may not be among the quasi-identifiers."""
    if not isinstance(sensitive, str):
        raise InvalidParameterError(f"sensitive must name one sensitive attribute, got {sensitive!r}")
    if sensitive in read_names(apart, role="quasi"):
        raise InvalidParameterError(f"{sensitive} must not be both a quasi-identifier and sensitive")
    return read_columns(sensitive, *frames, role="sensitive")[0]


def count_secrets(frame: Any, quasi: Names, sensitive: str) -> "Secrets":
    """Count the secrets in each class."""
    return Secrets(read_secret(sensitive, as_frame(frame), apart=quasi), read_classes(frame, quasi))


@dataclass(frozen=True, eq=False)
class Secrets:
    """Secrets of classes.

    Args:
        secret: the sensitive attribute.
        of_row: shape (rows,); the class of each row.
    """

    secret: CodedColumn
    of_row: Codes

    @cached_property
    def counts(self) -> sparse.csr_array:
        """Counts of each secret in each class, shape (classes, values), sparse."""
        counts = sparse.coo_array((np.ones(len(self.of_row), dtype=np.int64), (self.of_row, self.secret.codes)))
        return counts.tocsr()

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
        shares: Floats = self.counts.data / self.counts.sum(axis=1)[self.owner]
        return shares

    def least_entropy(self) -> float:
        """Return exp of the least entropy of a class.

        It is exactly m where m secrets are equally frequent.
        """
        counts = self.counts.data
        starts = self.counts.indptr[:-1]
        even = np.maximum.reduceat(counts, starts) == np.minimum.reduceat(counts, starts)
        entropy = np.add.reduceat(-self.shares * np.log(self.shares), starts)
        return float(np.where(even, self.distinct, np.exp(entropy)).min())

    def greatest_recursion(self, values: int) -> float:
        """Return the greatest r1 / (r_l + ... + r_m) of a class, l = `values`.

        Counts r1 >= r2 >= ... fall.
        """
        starts = self.counts.indptr[:-1]
        falling = self.counts.data[np.lexsort((-self.counts.data, self.owner))]
        rank = np.arange(len(falling)) - starts[self.owner]
        rest = np.add.reduceat(np.where(rank >= values - 1, falling, 0), starts)
        return float((falling[starts] / rest).max()) if rest.all() else math.inf

    def greatest_disclosure(self) -> float:
        """Return the greatest |ln(share in a class / share in the table)|.

        Infinite if a class lacks a secret.
        """
        table = self.counts.sum(axis=0) / len(self.of_row)
        if self.distinct.min() < len(table):
            return math.inf
        return float(np.abs(np.log(self.shares / table[self.counts.indices])).max())
