"""Secrets that a release shows beside the quasi-identifiers of each person."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deniable.attacks.anonymity.generalise import read_counts
from deniable.attacks.anonymity.measures import read_secret
from deniable.attacks.frames import Codes, Names, as_frame, number, read_columns
from deniable.attacks.numbers import Floats
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class View:
    """Secrets that a release shows for each target.

    Args:
        name: of the sensitive attribute.
        counts: shape (cells, values), float; positive where it is stored: the count of a secret in a cell.
        cell: shape (targets,); the cell that each target's quasi-identifiers lead to.
        secret: shape (targets,); the truth.
        values: the secrets by their codes.
    """

    name: str
    counts: sparse.csr_array
    cell: Codes
    secret: Codes
    values: tuple[Any, ...]

    @cached_property
    def held(self) -> Codes:
        """Number of secrets in the cell of each target."""
        return np.asarray(np.diff(self.counts.indptr)[self.cell], dtype=np.int64)

    @cached_property
    def commonest(self) -> Codes:
        """Secrets of the whole release, most frequent first."""
        return np.argsort(-self.counts.sum(axis=0), kind="stable")

    @property
    def best(self) -> Codes:
        """Most frequent secret of each target's cell, or of the release if it shows none."""
        codes = self.first(1)[0][:, 0]
        return np.where(codes < 0, self.commonest[0], codes)

    @property
    def from_others(self) -> float:
        """Share of right guesses by class from all rows but the target's own.

        Meant for exact rows: a target's own row is one of the counts of their secret.
        """
        codes, weights = self.first(2)
        left = weights[:, 0] - 1
        leads = (left > weights[:, 1]) | ((left == weights[:, 1]) & (left > 0) & (codes[:, 0] < codes[:, 1]))
        alone = (weights.sum(axis=1) == 1) & (self.commonest[0] == self.secret)
        return float((((codes[:, 0] == self.secret) & leads) | alone).mean())

    def first(self, width: int) -> tuple[Codes, Floats]:
        """Return the most frequent secrets of each target's cell, and their counts.

        Shape (targets, width); -1 and 0 for none.
        """
        sizes = np.diff(self.counts.indptr)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-self.counts.data, owner))
        rank = np.arange(len(order)) - self.counts.indptr[owner]
        keep = rank < width
        codes = np.full((len(sizes), width), -1)
        weights = np.zeros((len(sizes), width))
        codes[owner[keep], rank[keep]] = self.counts.indices[order][keep]
        weights[owner[keep], rank[keep]] = self.counts.data[order][keep]
        return codes[self.cell], weights[self.cell]

    def over(self, values: tuple[Any, ...]) -> "View":
        """Return this view with secrets coded in a longer list of values."""
        codes = np.array([values.index(value) for value in self.values])
        cells, old = self.counts.nonzero()
        counts = sparse.csr_array((self.counts.data, (cells, codes[old])), (self.counts.shape[0], len(values)))
        return replace(self, counts=counts, secret=codes[self.secret], values=values)

    def judge(
        self, attack: str, guess: Codes, *, facts: dict[str, object], blind: tuple[float, str] | None = None
    ) -> AttackResult:
        """Compare guesses, one for each target, with the truth.

        Args:
            attack: its name.
            guess: shape (targets,).
            facts: of the result.
            blind: success and method of a guesser without the release; None: the most frequent secret for everybody.
        """
        share, says = blind or (float(np.bincount(self.secret).max()) / len(guess), "everybody's most frequent secret")
        return AttackResult(
            attack=attack,
            target=f"{self.name} of a person",
            success=Share(right=int((guess == self.secret).sum()), attempts=len(guess)),
            baseline=share,
            guess=f"guessing {says}",
            learned=np.array([*self.values, None], dtype=object)[guess],
            facts=facts,
        )


def see(release: Any, *, quasi: Names, sensitive: str, people: Any = None, count: str | None = None) -> View:
    """Return the view of a release.

    Args:
        release: rows of pandas, Polars or Arrow, one for each person; or cells of a table of counts.
        quasi, sensitive: names of its columns.
        people: the targets, with their true secret; None: the rows of the release.
        count: the column of counts, if it is a table of counts; then `people` is needed. Counts below 0 are taken as 0.
    """
    if people is None and count is not None:
        raise InvalidParameterError("a table of counts needs the targets: pass them as people=")
    shown = as_frame(release, may_be_empty=people is not None)
    frames = [shown] if people is None else [as_frame(people), shown]
    secret = read_secret(sensitive, *frames, apart=quasi)
    cell = number(column.codes for column in read_columns(quasi, *frames, role="quasi"))
    targets = len(frames[0])
    rows = slice(-len(shown) or len(cell), None)
    weights = np.ones(len(shown)) if count is None else read_counts(shown, count).clip(0)
    weights[~np.isin(cell[rows], cell[:targets])] = 0  # nobody among the targets has these quasi-identifiers
    shape = (int(cell.max()) + 1, len(secret.values))
    counts = sparse.coo_array((weights, (cell[rows], secret.codes[rows])), shape).tocsr()
    counts.eliminate_zeros()
    return View(sensitive, counts, cell[:targets], secret.codes[:targets], secret.values)
