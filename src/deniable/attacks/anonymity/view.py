"""What an attacker sees of each person in a release: the secrets that stand beside their quasi-identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deniable.attacks.anonymity.classes import Floats, read_secrets
from deniable.attacks.anonymity.columns import Codes, as_frame, number, read_columns, recode
from deniable.attacks.anonymity.generalise import read_counts
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class View:
    """Secrets that a release shows for each target.

    Args:
        name: of the sensitive attribute.
        counts: shape (cells, values), float; positive where it is stored: how often a secret stands in a cell.
        cell: shape (targets,); the cell that each target's quasi-identifiers lead to.
        secret: shape (targets,); the truth.
        values: what the codes of secrets stand for.
    """

    name: str
    counts: sparse.csr_array
    cell: Codes
    secret: Codes
    values: tuple[Any, ...]

    @cached_property
    def held(self) -> Codes:
        """Number of secrets in each cell."""
        return np.asarray(np.diff(self.counts.indptr), dtype=np.int64)

    @cached_property
    def commonest(self) -> Codes:
        """Secrets of the whole release, most frequent first; an empty release puts them in their order."""
        return np.argsort(-self.counts.sum(axis=0), kind="stable")

    @property
    def baseline(self) -> float:
        """Share that is right who guesses the most frequent secret of the targets for everybody."""
        return float(np.bincount(self.secret).max() / len(self.secret))

    @property
    def from_others(self) -> float:
        """Share that is right who knows every row but the target's own, and guesses by the target's class.

        Meant for exact rows: a target's own row is one of the counts of their secret.
        """
        codes, weights = (part[self.cell] for part in self.first(2))
        left = weights[:, 0] - 1
        leads = (left > weights[:, 1]) | ((left == weights[:, 1]) & (left > 0) & (codes[:, 0] < codes[:, 1]))
        alone = (weights.sum(axis=1) == 1) & (self.commonest[0] == self.secret)
        return float((((codes[:, 0] == self.secret) & leads) | alone).mean())

    def first(self, width: int) -> tuple[Codes, Floats]:
        """Most frequent secrets of each cell and their counts, shape (cells, width); -1 and 0 where it has fewer."""
        owner = np.repeat(np.arange(len(self.held)), self.held)
        order = np.lexsort((-self.counts.data, owner))
        rank = np.arange(len(order)) - np.asarray(self.counts.indptr[:-1])[owner]
        keep = rank < width
        codes, weights = np.full((len(self.held), width), -1), np.zeros((len(self.held), width))
        codes[owner[keep], rank[keep]] = self.counts.indices[order][keep]
        weights[owner[keep], rank[keep]] = self.counts.data[order][keep]
        return codes, weights

    def over(self, values: tuple[Any, ...]) -> "View":
        """The same with secrets coded in a longer list of values."""
        place = {value: code for code, value in enumerate(values)}
        codes = np.array([place[value] for value in self.values])
        parts = (self.counts.data, codes[self.counts.indices], self.counts.indptr)
        counts = sparse.csr_array(parts, (self.counts.shape[0], len(values)))
        counts.sort_indices()
        return replace(self, counts=counts, secret=codes[self.secret], values=values)

    def judge(self, attack: str, guess: Codes, *, baseline: float, says: str, facts: dict[str, object]) -> AttackResult:
        """Compare guesses, one a target, with the truth."""
        return AttackResult(
            attack=attack,
            target=f"{self.name} of a person",
            success=Share(right=int((guess == self.secret).sum()), attempts=len(guess)),
            baseline=baseline,
            guess=says,
            learned=np.array([*self.values, None], dtype=object)[guess],
            facts=facts,
        )


def see(
    release: Any, *, quasi: str | Sequence[str], sensitive: str, people: Any = None, count: str | None = None
) -> View:
    """Look at a release.

    Args:
        release: rows of pandas, Polars or Arrow, one a person; or cells of a table of counts.
        quasi, sensitive: names of its columns.
        people: the targets, with their true secret; None: the rows of the release, in which each finds their class.
        count: the column of counts, if it is a table of counts; then `people` is needed. Counts below 0 are taken as 0.
    """
    if not isinstance(sensitive, str):
        raise InvalidParameterError(f"an attack is on one sensitive attribute, got {sensitive!r}")
    if count is None and people is None:
        frame = as_frame(release)
        (secret,) = read_secrets(frame, sensitive, None, apart=quasi)
        cell = number(column.codes for column in read_columns(frame, quasi, role="quasi"))
        counts = _stack(cell, secret.codes, np.ones(len(cell)), (int(cell.max()) + 1, len(secret.values)))
        return View(sensitive, counts, cell, secret.codes, secret.values)
    if people is None:
        raise InvalidParameterError("a table of counts has no rows of people: pass the targets as people")
    targets = as_frame(people)
    (truth,) = read_secrets(targets, sensitive, None, apart=quasi)
    known = read_columns(targets, quasi, role="quasi")
    shown = as_frame(release, may_be_empty=True)
    if not len(shown):  # everything was suppressed
        cell = number(column.codes for column in known)
        none = sparse.csr_array((int(cell.max()) + 1, len(truth.values)))
        return View(sensitive, none, cell, truth.codes, truth.values)
    weights = read_counts(shown, count) if count is not None else np.ones(len(shown))
    (secret,) = read_secrets(shown, sensitive, None, apart=quasi)
    values = (*truth.values, *(value for value in secret.values if value not in set(truth.values)))
    columns = read_columns(shown, quasi, role="quasi")
    places = np.stack([recode(one, other.values) for one, other in zip(columns, known, strict=True)], axis=1)
    useful = (places >= 0).all(axis=1) & (weights > 0)  # what stands beside quasi-identifiers that nobody has is left
    both = np.concatenate([np.stack([column.codes for column in known], axis=1), places[useful]])
    cell = number(both.T)
    shape = (int(cell.max()) + 1, len(values))
    counts = _stack(cell[len(targets) :], recode(secret, values)[useful], weights[useful], shape)
    return View(sensitive, counts, cell[: len(targets)], truth.codes, values)


def _stack(cell: Codes, secret: Codes, weights: NDArray[np.float64], shape: tuple[int, int]) -> sparse.csr_array:
    counts = sparse.coo_array((weights, (cell, secret)), shape).tocsr()
    counts.sum_duplicates()
    counts.sort_indices()
    return counts
