"""Which answered queries of a log give few people away together, though each was about many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from deniable.attacks.numbers import Indices, whole
from deniable.errors import InvalidParameterError

EVERYBODY = -1
"""Place of the query about all rows, which no log needs to hold: totals are published."""

Groups = NDArray[np.bool_]

_EXACT = 1 << 24  # rows that float32 counts without an error
_ROUNDING, _NEARLY = 1e-13, 1e-9


@dataclass(frozen=True, kw_only=True)
class Difference:
    """An answer, or a difference of two, that depends on few people.

    Args:
        plus: place of the query in the log; `EVERYBODY` is the query about all rows.
        minus: place of the query that is subtracted; None: the first is about few people on its own.
        rows: positions of the people whom it depends on.
    """

    plus: int
    minus: int | None
    rows: Indices

    def named(self, names: Sequence[str]) -> str:
        """The difference in words, with a name for each query of the log."""
        asked = [self.plus] if self.minus is None else [self.plus, self.minus]
        terms = " - ".join("everybody" if query == EVERYBODY else names[query] for query in asked)
        return f"{terms}: {len(self.rows)} {'person' if len(self.rows) == 1 else 'people'}"


@dataclass(frozen=True, kw_only=True)
class Differences:
    """What a log of exact answers gives away about few people.

    Args:
        queries: queries in the log whose answers were published.
        rows: people in the table.
        fewer_than: smallest number of people that an answer or difference may depend on.
        found: answers alone, then differences, those about the fewest people first.
        people: positions of all people who stand in one of them.
        complete: whether these are all; False where only the first were kept.
    """

    queries: int
    rows: int
    fewer_than: int
    found: tuple[Difference, ...]
    people: Indices
    complete: bool

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if not self.found:
            return (
                f"No difference of two of these {self.queries:,} answers depends on fewer than {self.fewer_than} "
                "people. Other combinations may: this is no proof of privacy."
            )
        least = "" if self.complete else "at least "
        return (
            f"Answers and differences that depend on fewer than {self.fewer_than} people: {least}{len(self.found):,}. "
            f"They expose at least {len(self.people):,} of {self.rows:,} people."
        )

    def __str__(self) -> str:
        shown = self.found[:20]
        names = [f"q{query}" for query in range(1 + max((max(one.plus, one.minus or 0) for one in shown), default=0))]
        return "\n".join([self.sentence, *(one.named(names) for one in shown)])

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, without the positions of the people."""
        return {
            "queries": self.queries,
            "rows": self.rows,
            "fewer_than": self.fewer_than,
            "exposed": len(self.people),
            "complete": self.complete,
            "found": [{"plus": one.plus, "minus": one.minus, "people": len(one.rows)} for one in self.found],
            "sentence": self.sentence,
        }


def find_differences(
    log: ArrayLike | Sequence[Sequence[int]],
    *,
    rows: int | None = None,
    fewer_than: int = 2,
    suppressed_below: int = 0,
    most: int = 1000,
) -> Differences:
    """Find the exact answers, and the differences of two, that depend on fewer than some number of people.

    The query about everybody counts as asked, so that complements are found; the same group counts once. a - b depends
    on |a| + |b| - 2 |a and b| people, which the Gram matrix of the groups tells. Answers about few people on their own
    are not subtracted from others.

    Args:
        log: booleans of shape (queries, rows); or for each query the positions of its rows.
        rows: people in the table; needed with positions alone.
        fewer_than: k >= 2; what depends on 1 to k - 1 people is found.
        suppressed_below: answers about fewer rows than this were withheld and are not combined.
        most: answers and differences that are kept, at least 1.

    Raises: InvalidParameterError for a log without queries or rows, or numbers outside their range.

    >>> print(find_differences([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4]], rows=20, suppressed_below=5))
    Answers and differences that depend on fewer than 2 people: 1. They expose at least 1 of 20 people.
    q0 - q1: 1 person
    """
    whole("fewer_than", fewer_than, least=2), whole("most", most)
    groups = _read(log, rows)
    published = np.flatnonzero(groups.sum(axis=1) >= whole("suppressed_below", suppressed_below, least=0))
    asked = np.concatenate([groups[published], np.ones((1, groups.shape[1]), dtype=bool)])
    first = np.sort(np.unique(_packed(asked), axis=0, return_index=True)[1])
    asked, names = asked[first], np.append(published, EVERYBODY)[first].tolist()
    plain: NDArray[Any] = asked.astype(np.float32 if asked.shape[1] < _EXACT else np.float64)
    shared = (plain @ plain.T).astype(np.int64)
    sizes = shared.diagonal()
    alone, large = np.flatnonzero((sizes > 0) & (sizes < fewer_than)), np.flatnonzero(sizes >= fewer_than)
    apart = (sizes[:, None] + sizes - 2 * shared)[np.ix_(large, large)]
    pairs = large[np.argwhere(np.triu(apart < fewer_than, 1))]
    pairs = pairs[np.argsort(sizes[pairs].sum(axis=1) - 2 * shared[pairs[:, 0], pairs[:, 1]], kind="stable")]
    pairs = np.where(sizes[pairs[:, :1]] < sizes[pairs[:, 1:]], pairs[:, ::-1], pairs)
    found = [Difference(plus=names[one], minus=None, rows=np.flatnonzero(asked[one])) for one in alone[:most]]
    found += [
        Difference(plus=names[one], minus=names[other], rows=np.flatnonzero(asked[one] ^ asked[other]))
        for one, other in pairs[: most - len(found)]
    ]
    return Differences(
        queries=len(published),
        rows=groups.shape[1],
        fewer_than=fewer_than,
        found=tuple(found),
        people=np.unique(np.concatenate([one.rows for one in found])) if found else np.empty(0, dtype=np.int64),
        complete=len(found) == len(alone) + len(pairs),
    )


def find_determined_people(
    log: ArrayLike | Sequence[Sequence[int]], *, rows: int | None = None, suppressed_below: int = 0
) -> Indices:
    """Find the people whose own value follows from all exact answers together, by any linear combination.

    Somebody is determined if and only if nobody else lies in the same queries and their indicator lies in the span of
    the queries. The query about everybody counts as asked. Secrets that are 0 or 1 can give away more than this.

    Args:
        log, rows, suppressed_below: as for `find_differences`.

    Returns: positions, sorted.
    Raises: InvalidParameterError for a log without queries or rows.
    Source: Chin and Ozsoyoglu (1982), "Auditing and inference control in statistical databases".

    >>> find_determined_people([[0, 1], [1, 2], [0, 2]], rows=5).tolist()
    [0, 1, 2]
    """
    groups = _read(log, rows)
    published = groups[groups.sum(axis=1) >= whole("suppressed_below", suppressed_below, least=0)]
    members = np.concatenate([published, np.ones((1, groups.shape[1]), dtype=bool)])
    _, first, sharing = np.unique(_packed(members.T), axis=0, return_index=True, return_counts=True)
    basis, triangle, _ = qr(members[:, first].T.astype(np.float64), mode="economic", pivoting=True)
    scale = np.abs(triangle.diagonal())
    span = basis[:, : len(scale)][:, scale > scale[0] * max(triangle.shape) * _ROUNDING]
    inside = (span**2).sum(axis=1) > 1 - _NEARLY  # squared length of the projection of an indicator
    return np.sort(first[inside & (sharing == 1)])


def _packed(matrix: Groups) -> NDArray[np.uint8]:
    return np.packbits(matrix, axis=1)


def _read(log: ArrayLike | Sequence[Sequence[int]], rows: int | None) -> Groups:
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
        raise InvalidParameterError(f"the log needs at least one query and one row, got the shape {groups.shape}")
    return groups
