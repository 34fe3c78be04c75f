"""Queries of a log that reveal few people together, though each is about many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from deniable.attacks.numbers import Indices, whole
from deniable.errors import InvalidParameterError

EVERYBODY = -1
"""Index of the query about all rows, which no log needs to hold: totals are published."""

Groups = NDArray[np.bool_]

_EXACT_IN_FLOAT32 = 1 << 24  # rows that float32 counts without an error
_RANK_TOLERANCE = 1e-13  # of the triangle's diagonal, relative: below it a row depends on others
_LENGTH_TOLERANCE = 1e-9  # of the squared length of a projection


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Answer, or difference of two answers, that depends on few people.

    Args:
        plus: index of the query in the log; `EVERYBODY` is the query about all rows.
        minus: index of the query that is subtracted; None: the first is about few people on its own.
        rows: positions of the people that it depends on.

    >>> from deniable.attacks import find_differences
    >>> (one,) = find_differences([[0, 1, 2, 3], [0, 1, 2]], rows=9).differences
    >>> one.named(["all", "some"])
    'all - some: 1 person'
    """

    plus: int
    minus: int | None
    rows: Indices

    def named(self, names: Sequence[str]) -> str:
        """Return the difference in words.

        Args:
            names: one for each query of the log.
        """
        asked = [self.plus] if self.minus is None else [self.plus, self.minus]
        terms = " - ".join("everybody" if query == EVERYBODY else names[query] for query in asked)
        return f"{terms}: {len(self.rows)} {'person' if len(self.rows) == 1 else 'people'}"


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Answers and differences in a log that depend on few people.

    Args:
        queries: number of queries in the log whose answers were published.
        rows: number of people in the table.
        fewer_than: smallest number of people that an answer or difference may depend on.
        differences: answers alone, then differences, those about the fewest people first.
        people: positions of all people in one of them.
        complete: whether these are all; False where only the first were kept.

    >>> from deniable.attacks import find_differences
    >>> find_differences([[0, 1, 2, 3], [0, 1, 2]], rows=9).people.tolist()
    [3]
    """

    queries: int
    rows: int
    fewer_than: int
    differences: tuple[Difference, ...]
    people: Indices
    complete: bool

    @property
    def sentence(self) -> str:
        """Outcome in words."""
        if not self.differences:
            return (
                f"No difference of two of these {self.queries:,} answers depends on fewer than {self.fewer_than} "
                "people. Other combinations may: this does not prove privacy."
            )
        count = f"{'' if self.complete else 'at least '}{len(self.differences):,}"
        return (
            f"Answers and differences that depend on fewer than {self.fewer_than} people: {count}. "
            f"They expose at least {len(self.people):,} of {self.rows:,} people."
        )

    def __repr__(self) -> str:
        return f"<Differences: {self.sentence}>"

    def __str__(self) -> str:
        shown = self.differences[:20]
        names = [f"q{query}" for query in range(1 + max((max(one.plus, one.minus or 0) for one in shown), default=0))]
        return "\n".join([self.sentence, *(one.named(names) for one in shown)])

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON, without the positions of the people."""
        return {
            "queries": self.queries,
            "rows": self.rows,
            "fewer_than": self.fewer_than,
            "exposed": len(self.people),
            "complete": self.complete,
            "found": [{"plus": one.plus, "minus": one.minus, "people": len(one.rows)} for one in self.differences],
            "sentence": self.sentence,
        }


def find_differences(
    log: ArrayLike | Sequence[Sequence[int]],
    *,
    rows: int | None = None,
    fewer_than: int = 2,
    suppressed_below: int = 0,
    max_differences: int = 1000,
) -> Differences:
    """Find exact answers, and differences of two, that depend on few people.

    The query about everybody counts as asked, so that complements are included; equal groups count once. a - b depends
    on |a| + |b| - 2 |a and b| people, which the Gram matrix of the groups gives. Answers about few people on their own
    are not subtracted from others.

    Args:
        log: booleans of shape (queries, rows); or for each query the positions of its rows.
        rows: number of people in the table; needed with positions alone.
        fewer_than: k >= 2; answers and differences that depend on 1 to k - 1 people are reported.
        suppressed_below: answers about fewer rows than this were withheld and are not combined.
        max_differences: number of answers and differences that are kept, at least 1.

    Returns: a `Differences`.
    Raises: InvalidParameterError for a log without queries or rows, or numbers outside their range.

    >>> print(find_differences([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4]], rows=20, suppressed_below=5))
    Answers and differences that depend on fewer than 2 people: 1. They expose at least 1 of 20 people.
    q0 - q1: 1 person
    """
    whole("fewer_than", fewer_than, lower=2)
    whole("max_differences", max_differences)
    groups = _read(log, rows)
    published = np.flatnonzero(groups.sum(axis=1) >= whole("suppressed_below", suppressed_below, lower=0))
    asked = np.concatenate([groups[published], np.ones((1, groups.shape[1]), dtype=bool)])
    first = np.sort(np.unique(_packed(asked), axis=0, return_index=True)[1])
    asked = asked[first]
    names = np.append(published, EVERYBODY)[first].tolist()
    alone, pairs = _small_differences(asked, fewer_than)
    kept = [Difference(plus=names[one], minus=None, rows=np.flatnonzero(asked[one])) for one in alone[:max_differences]]
    kept += [
        Difference(plus=names[one], minus=names[other], rows=np.flatnonzero(asked[one] ^ asked[other]))
        for one, other in pairs[: max_differences - len(kept)]
    ]
    people = np.unique(np.concatenate([one.rows for one in kept])) if kept else np.empty(0, dtype=np.int64)
    return Differences(
        queries=len(published),
        rows=groups.shape[1],
        fewer_than=fewer_than,
        differences=tuple(kept),
        people=people,
        complete=len(kept) == len(alone) + len(pairs),
    )


def _small_differences(asked: Groups, fewer_than: int) -> tuple[Indices, Indices]:
    """Return queries about few people, and pairs of others whose difference is.

    Pairs have shape (pairs, 2), the larger group first, differences about the fewest people first.
    """
    plain: NDArray[Any] = asked.astype(np.float32 if asked.shape[1] < _EXACT_IN_FLOAT32 else np.float64)
    shared = (plain @ plain.T).astype(np.int64)
    sizes = shared.diagonal()
    alone = np.flatnonzero((sizes > 0) & (sizes < fewer_than))
    large = np.flatnonzero(sizes >= fewer_than)
    apart = (sizes[:, None] + sizes - 2 * shared)[np.ix_(large, large)]
    pairs = large[np.argwhere(np.triu(apart < fewer_than, 1))]
    pairs = pairs[np.argsort(sizes[pairs].sum(axis=1) - 2 * shared[pairs[:, 0], pairs[:, 1]], kind="stable")]
    return alone, np.where(sizes[pairs[:, :1]] < sizes[pairs[:, 1:]], pairs[:, ::-1], pairs)


def find_determined_people(
    log: ArrayLike | Sequence[Sequence[int]], *, rows: int | None = None, suppressed_below: int = 0
) -> Indices:
    """Find the people whose value is a linear combination of exact answers.

    A person is determined if and only if nobody else is in the same queries and the person's indicator lies in the span
    of the queries. The query about everybody counts as asked. Secrets that are 0 or 1 can give away more than this.

    Args:
        log, rows, suppressed_below: as for `find_differences`.

    Returns: positions, sorted.
    Raises: InvalidParameterError for a log without queries or rows.
    Source: Chin and Ozsoyoglu (1982), "Auditing and inference control in statistical databases".

    >>> find_determined_people([[0, 1], [1, 2], [0, 2]], rows=5).tolist()
    [0, 1, 2]
    """
    groups = _read(log, rows)
    published = groups[groups.sum(axis=1) >= whole("suppressed_below", suppressed_below, lower=0)]
    members = np.concatenate([published, np.ones((1, groups.shape[1]), dtype=bool)])
    _, first, sharing = np.unique(_packed(members.T), axis=0, return_index=True, return_counts=True)
    basis, triangle, _ = qr(members[:, first].T.astype(np.float64), mode="economic", pivoting=True)
    scale = np.abs(triangle.diagonal())
    span = basis[:, : len(scale)][:, scale > scale[0] * max(triangle.shape) * _RANK_TOLERANCE]
    inside = (span**2).sum(axis=1) > 1 - _LENGTH_TOLERANCE  # squared length of the projection of an indicator
    return np.sort(first[inside & (sharing == 1)])


def _packed(matrix: Groups) -> NDArray[np.uint8]:
    """Return rows of bits, packed so that they compare fast."""
    return np.packbits(matrix, axis=1)


def _read(log: ArrayLike | Sequence[Sequence[int]], rows: int | None) -> Groups:
    """Return the log as booleans, shape (queries, rows)."""
    if isinstance(log, np.ndarray) and log.ndim == 2 and log.dtype == bool:
        groups = log
    else:
        sets = [np.asarray(one, dtype=np.int64).ravel() for one in log]  # type: ignore[union-attr]
        if rows is None:
            raise InvalidParameterError("a log of positions needs rows=, the number of people in the table")
        whole("rows", rows)
        members = np.concatenate([np.empty(0, dtype=np.int64), *sets])
        if len(members) and not 0 <= members.min() <= members.max() < rows:
            raise InvalidParameterError(f"positions in the log must be in 0..{rows - 1}")
        groups = np.zeros((len(sets), rows), dtype=bool)
        groups[np.repeat(np.arange(len(sets)), [len(one) for one in sets]), members] = True
    if 0 in groups.shape or (rows is not None and rows != groups.shape[1]):
        raise InvalidParameterError(
            f"the log needs at least one query and one row, and as many rows as rows=, got the shape {groups.shape}"
        )
    return groups
