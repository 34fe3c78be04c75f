"""Which answered queries of a log give few people away together, though each was about many."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from deniable.attacks.chunks import stretches
from deniable.errors import InvalidParameterError

EVERYBODY = -1
"""Place of the query about all rows, which no log needs to hold: totals are published."""

Groups = NDArray[np.bool_]
Places = NDArray[np.int64]

_MOST = 2  # queries whose answers are combined, beside the first
_EXACT = 1 << 24  # rows that float32 counts without an error
_CHUNK = 1 << 22
_ROUNDING, _NEARLY = 1e-13, 1e-9


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A sum and difference of answers that depends on few people.

    Args:
        plus: queries whose answers are added; `EVERYBODY` is the query about all rows.
        minus: queries whose answers are subtracted.
        rows: positions of the people whom the combination depends on.
    """

    plus: tuple[int, ...]
    minus: tuple[int, ...]
    rows: Places

    def named(self, names: Sequence[str]) -> str:
        """The combination in words, with a name for each query of the log."""
        signed = [("+", query) for query in self.plus] + [("-", query) for query in self.minus]
        terms = " ".join(f"{sign} {'everybody' if query == EVERYBODY else names[query]}" for sign, query in signed)
        people = "1 person" if len(self.rows) == 1 else f"{len(self.rows)} people"
        return f"{terms.removeprefix('+ ')}: {people}"

    def __str__(self) -> str:
        return self.named([f"q{query}" for query in range(max(*self.plus, *self.minus, EVERYBODY, 0) + 1)])


@dataclass(frozen=True, kw_only=True)
class Differences:
    """What a log of exact answers gives away about few people.

    Args:
        queries: queries in the log whose answers were published.
        rows: people in the table.
        fewer_than: smallest number of people that a combination may depend on.
        found: combinations, those of the fewest queries first, then those about the fewest people.
        people: positions of all people who stand in one of them.
        complete: whether these are all; False where only the first were kept.
    """

    queries: int
    rows: int
    fewer_than: int
    found: tuple[Difference, ...]
    people: Places
    complete: bool

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if not self.found:
            return (
                f"No sum or difference of up to three of these {self.queries:,} answers depends on fewer than "
                f"{self.fewer_than} people. Others may: this is no proof of privacy."
            )
        least = "" if self.complete else "at least "
        return (
            f"Combinations of answers that depend on fewer than {self.fewer_than} people: {least}{len(self.found):,}. "
            f"They expose {least}{len(self.people):,} of {self.rows:,} people."
        )

    def __str__(self) -> str:
        return "\n".join([self.sentence, *map(str, self.found[:20])])

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
    combine: int = 3,
    suppressed_below: int = 0,
    most: int = 1000,
) -> Differences:
    """Find the sums and differences of up to three exact answers that depend on fewer than some number of people.

    The query about everybody counts as asked, so that complements are found. Coefficients are +1 and -1. A combination
    is left out where some of its queries tell about few people on their own.

    Method: rows that lie in the same queries are merged; pairs are read off the Gram matrix of the merged groups. If
    a + b - c depends on m people, then m <= |a + b - c|^2 <= 4 m and ||a| + |b| - |c|| <= 2 m: triples that pass both
    tests, by the Gram matrix, are counted out.

    Args:
        log: booleans of shape (queries, rows); or for each query the positions of its rows.
        rows: people in the table; needed with positions alone.
        fewer_than: k >= 2; a combination that depends on 1 to k - 1 people is found.
        combine: queries in a combination, at most: 1, 2 or 3.
        suppressed_below: answers about fewer rows than this were withheld and are not combined.
        most: combinations that are kept, at least 1.

    Raises: InvalidParameterError for a log without queries or rows, or numbers outside their range.

    >>> print(find_differences([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4]], rows=20, suppressed_below=5))
    Combinations of answers that depend on fewer than 2 people: 1. They expose 1 of 20 people.
    q0 - q1: 1 of the people
    """
    if fewer_than < 2 or combine not in (1, 2, 3) or most < 1:
        raise InvalidParameterError(
            f"fewer_than must be >= 2, combine 1, 2 or 3 and most >= 1, got {fewer_than}, {combine} and {most}"
        )
    groups = _read(log, rows)
    published = np.flatnonzero(groups.sum(axis=1) >= suppressed_below)
    everybody = np.ones((1, groups.shape[1]), dtype=bool)
    asked, places = np.unique(_packed(np.concatenate([groups[published], everybody])), axis=0, return_index=True)
    names = np.append(published, EVERYBODY)[places]
    order = np.argsort(np.where(names == EVERYBODY, len(groups), names))
    asked, names = asked[order], names[order]
    members = np.unpackbits(asked, axis=1, count=groups.shape[1]).astype(bool)
    search = _Search(members, fewer_than)
    found: list[Difference] = []
    complete = True
    for signs, queries in search.run(combine):
        complete = len(found) + len(queries) <= most
        for chosen in queries[: most - len(found)]:
            total = (members[chosen] * signs[:, None]).sum(axis=0)
            # Of the two signs of a combination, the one that adds more of it is shown.
            flip = -1 if (total > 0).sum() < (total < 0).sum() else 1
            side = [tuple(sorted(map(int, names[chosen[signs * flip == sign]]))) for sign in (1, -1)]
            found.append(Difference(plus=side[0], minus=side[1], rows=np.flatnonzero(total)))
        if not complete:
            break
    exposed = np.unique(np.concatenate([one.rows for one in found])) if found else np.empty(0, dtype=np.int64)
    return Differences(
        queries=len(published),
        rows=groups.shape[1],
        fewer_than=fewer_than,
        found=tuple(found),
        people=exposed,
        complete=complete,
    )


def find_determined_people(
    log: ArrayLike | Sequence[Sequence[int]], *, rows: int | None = None, suppressed_below: int = 0
) -> Places:
    """Find the people whose own value follows from all exact answers together, by any linear combination.

    Somebody is determined if and only if nobody else lies in the same queries and their indicator lies in the span of
    the queries. The query about everybody counts as asked. Secrets that are 0 or 1 can give away more than this.

    Args:
        log: booleans of shape (queries, rows); or for each query the positions of its rows.
        rows: people in the table; needed with positions alone.
        suppressed_below: answers about fewer rows than this were withheld.

    Returns: positions, sorted.
    Raises: InvalidParameterError for a log without queries or rows.
    Source: Chin and Ozsoyoglu (1982), "Auditing and inference control in statistical databases".

    >>> find_determined_people([[0, 1], [1, 2], [0, 2]], rows=5).tolist()
    [0, 1, 2]
    """
    groups = _read(log, rows)
    published = groups[groups.sum(axis=1) >= suppressed_below]
    members = np.concatenate([published, np.ones((1, groups.shape[1]), dtype=bool)])
    _, first, sharing = np.unique(_packed(members.T), axis=0, return_index=True, return_counts=True)
    basis, triangle, _ = qr(members[:, first].T.astype(np.float64), mode="economic", pivoting=True)
    scale = np.abs(triangle.diagonal())
    span = basis[:, : len(scale)][:, scale > scale[0] * max(triangle.shape) * _ROUNDING]
    inside = (span**2).sum(axis=1) > 1 - _NEARLY  # squared length of the projection of an indicator
    return np.sort(first[inside & (sharing == 1)])


class _Search:
    """Distinct groups over atoms, which are rows that lie in the same groups."""

    def __init__(self, members: Groups, fewer_than: int) -> None:
        _, first, weights = np.unique(_packed(members.T), axis=0, return_index=True, return_counts=True)
        self.atoms = members[:, first]  # (queries, atoms)
        self.weights = weights
        exact = np.float32 if members.shape[1] < _EXACT else np.float64
        plain = self.atoms.astype(exact)
        self.gram = ((plain * weights.astype(exact)) @ plain.T).astype(np.int64)
        self.sizes = self.gram.diagonal().copy()
        self.least = fewer_than

    def run(self, combine: int) -> Iterator[tuple[Places, Places]]:
        """Signs, and the queries that have them, shape (combinations, queries)."""
        alone = np.flatnonzero((self.sizes > 0) & (self.sizes < self.least))
        yield np.array([1]), alone[:, None]
        if combine == 1:
            return
        left = np.setdiff1d(np.flatnonzero(self.sizes > 0), alone)
        apart = self.sizes[left, None] + self.sizes[left] - 2 * self.gram[np.ix_(left, left)]
        pairs = left[np.argwhere(np.triu(apart < self.least, 1))]
        yield np.array([1, -1]), self._smallest_first(pairs, np.array([1, -1]))
        if combine == 3 and len(left) > _MOST:
            close = np.zeros(self.gram.shape, dtype=bool)
            close[tuple(pairs.T)] = close[tuple(pairs[:, ::-1].T)] = True
            triples = np.array([[1, 1, -1]])[0]
            yield triples, self._smallest_first(self._triples(left, close), triples)

    def _triples(self, left: Places, close: Groups) -> Places:
        """Queries a < b and c, with a + b - c about few people, and no two of them close."""
        left = left[np.argsort(self.sizes[left], kind="stable")]
        sizes, gram = self.sizes[left], self.gram[np.ix_(left, left)]
        close = close[np.ix_(left, left)]
        bound = 2 * (self.least - 1)  # the coefficient of a row is -1, 0, 1 or 2
        found: list[Places] = [np.empty((0, 3), dtype=np.int64)]
        for first in range(len(left)):
            wanted = sizes[first] + sizes[first + 1 :]
            low, high = np.searchsorted(sizes, wanted - bound), np.searchsorted(sizes, wanted + bound, side="right")
            for start, stop in stretches(high - low, _CHUNK):
                many = (high - low)[start:stop]
                second = np.repeat(np.arange(first + 1 + start, first + 1 + stop), many)
                third = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - low[start:stop], many)
                norm = (
                    sizes[first] + sizes[second] + sizes[third]
                    + 2 * (gram[first, second] - gram[first, third] - gram[second, third])
                )  # fmt: skip
                fits = (norm > 0) & (norm <= 4 * (self.least - 1)) & (third != first) & (third != second)
                fits &= ~(close[first, second] | close[first, third] | close[second, third])
                chosen = np.stack([np.full(fits.sum(), first), second[fits], third[fits]], axis=1)
                found.append(left[chosen])
        triples = np.concatenate(found)
        return triples[self._people(triples, np.array([1, 1, -1])) < self.least]

    def _people(self, chosen: Places, signs: Places) -> Places:
        """How many rows have a coefficient other than 0 in each combination."""
        size = max(1, _CHUNK // max(1, self.atoms.shape[1]))
        parts = [np.empty(0, dtype=np.int64)]
        for start in range(0, len(chosen), size):
            total = np.einsum("cqa,q->ca", self.atoms[chosen[start : start + size]].astype(np.int8), signs)
            parts.append((total != 0) @ self.weights)
        return np.concatenate(parts)

    def _smallest_first(self, chosen: Places, signs: Places) -> Places:
        return chosen[np.argsort(self._people(chosen, signs), kind="stable")]


def _packed(matrix: Groups) -> NDArray[np.uint8]:
    return np.packbits(matrix, axis=1)


def _read(log: ArrayLike | Sequence[Sequence[int]], rows: int | None) -> Groups:
    if isinstance(log, np.ndarray) and log.ndim == 2 and log.dtype == bool:
        groups = log
    else:
        sets = [np.asarray(one, dtype=np.int64).ravel() for one in log]  # type: ignore[union-attr]
        if rows is None:
            raise InvalidParameterError("a log of positions needs rows=, the number of people in the table")
        members = np.concatenate([np.empty(0, dtype=np.int64), *sets])
        if len(members) and not 0 <= members.min() <= members.max() < rows:
            raise InvalidParameterError(f"positions in the log must be in 0..{rows - 1}")
        groups = np.zeros((len(sets), rows), dtype=bool)
        groups[np.repeat(np.arange(len(sets)), [len(one) for one in sets]), members] = True
    if 0 in groups.shape or (rows is not None and rows != groups.shape[1]):
        raise InvalidParameterError(f"the log needs at least one query and one row, got the shape {groups.shape}")
    return groups
