"""Teachers: models of disjoint parts of private rows, and their votes."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.learning.estimators.estimator import same_length
from deniable.learning.estimators.reading import Labels
from deniable.learning.pate.account import VoteAccount
from deniable.learning.pate.vote import Vote, Votes
from deniable.ledger.payment import Payer, Payment
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.privacy.budget.rule import Remaining
from deniable.rows import Container, attempted, indices_of, silence, table, without_rows
from deniable.rows.attempts import Log


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of `Teachers.label`, all of them public.

    Their number is public too: noise decided it.

    Args:
        queries: the rows that were asked about, shape (queries, columns).
        labels: of the answered queries, in order.
        answered: whether each query has an answer, shape (queries,).
        cost: the certified privacy loss, whatever the votes were.
        safe: whether the noise is secret, and not of test bits.
        budget_left: in the ledger that was charged.
    """

    queries: Floats
    labels: NDArray[Any]
    answered: NDArray[np.bool_]
    cost: PrivacyLoss
    safe: bool
    budget_left: Remaining | None = field(default=None, repr=False)

    def teach(self, student: Any) -> Any:
        """Return a copy of the student, fitted to the answered queries.

        Post-processing, which costs nothing.
        """
        if not self.safe:
            raise UnsafeReleaseError("these labels hold noise of a test stream. Leave the argument bits out.")
        return deepcopy(student).fit(self.queries[self.answered], self.labels)


class Teachers:
    """Models of disjoint parts of private rows, which answer by noisy votes.

    The models stay private: only noisy votes about public rows are released.

    Each row joins a teacher by a fair draw of its own, so a row changes one teacher and one vote of each query. A row
    with an undeclared label is left out; a teacher who fails, or whose answer is not a declared class, votes for none.
    No row is read before the first answer is charged. Asking again and again is private prediction: each answer costs.

    Args:
        X, y: private rows, in an array, a frame or a list of rows, and their labels.
        teacher: an unfitted model with `fit(X, y)` and `predict(X)`, of which each teacher is a copy; or a function of
            (X, y) that gives a function of X. Teachers must share nothing: no cache, and no generator of numbers.
        count, classes, relation: of teachers; all labels that may occur; AddRemove or Replace.
        log: called with each error of a teacher, which nobody else sees; for logs that are as private as the rows.

    `account` is SECRET: what the votes so far say about their own privacy.

    Guarantee: `Vote.privacy_loss` for each call of `label`, which add up.
    Source: Papernot et al. (2017), arXiv:1610.05755; private prediction: Dwork, Feldman (2018), arXiv:1803.10266.

    >>> from deniable.learning import Teachers, Vote
    >>> def rule(X, y):  # any model will do
    ...     middle = (X[y == "high"].min() + X[y == "low"].max()) / 2
    ...     return lambda rows: ["high" if row[0] > middle else "low" for row in rows]
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> teachers = Teachers(rows, labels, teacher=rule, count=100, classes=["low", "high"])
    >>> teachers.label([[0.0], [1.0]], Vote.gnmax(sigma=8)).labels.tolist()
    ['low', 'high']
    """

    def __init__(
        self, X: Container, y: Container, *, teacher: Any, count: int, classes: Any, relation: Relation = AddRemove,
        log: Log | None = None,
    ) -> None:  # fmt: skip
        same_length(X, y)
        self._rows = X
        self._marks = y
        self._labels = Labels.of(classes, y)
        self.count = whole_number("count", count, lower=1, upper=2**16)
        self.relation = Relation(relation)
        fits = callable(getattr(teacher, "fit", None)) and callable(getattr(teacher, "predict", None))
        if isinstance(teacher, type) or not (fits or callable(teacher)):
            wrong = shown(teacher)
            raise InvalidParameterError(f"teacher must be a model with fit and predict, or a function, got {wrong}")
        self._log = log
        self._teacher = teacher if not fits else lambda X, y: deepcopy(teacher).fit(X, y).predict
        self._taught: list[Callable[[Floats], Any] | None] = []
        self.account = VoteAccount(self.count, self.relation)

    def label(
        self, queries: ArrayLike, vote: Vote, *, believed: ArrayLike | None = None, ledger: Payer | None = None,
        bits: Bits = SECURE,
    ) -> Answers:  # fmt: skip
        """Pay, ask, and add noise.

        Args:
            queries, vote: public rows, of shape (queries, columns); how votes become labels.
            believed: chances (queries, classes) that an earlier student gives: the check looks for who disagrees.
            bits: leave it out, except in tests.
            ledger: charged before a row is read; None charges nothing.

        Raises: InvalidParameterError for what does not fit, before anything is charged or read.
        """
        asked = _numbers("queries", queries)
        if not isinstance(vote, Vote):
            raise InvalidParameterError(f"vote must be a Vote, such as Vote.gnmax(sigma=40), got {shown(vote)}")
        if table(without_rows(self._rows), "X", columns=asked.shape[1])[0].shape[1] != asked.shape[1]:
            raise InvalidParameterError(f"queries must have the columns of X, got {asked.shape[1]} columns")
        shape = len(asked), len(self._labels.classes)
        chances = np.zeros(shape) if believed is None else _numbers("believed", believed)
        if chances.shape != shape or not ((chances >= 0) & (chances <= 1)).all():
            raise InvalidParameterError("believed must be a table of chances, one for each query and class")
        loss = vote.privacy_loss(len(asked), relation=self.relation)
        text = f"{len(asked)} queries to {self.count} teachers by {vote}"
        left = Payment(ledger, text=text, bits=bits).charge(loss)
        with silence():
            votes = self._votes(asked, bits)
            indices = vote.release(votes, np.floor(chances * self.count).astype(np.int64), bits)
        answered = indices >= 0
        self.account.add(vote, len(asked), votes[answered])
        labels = np.array(self._labels.classes)[indices[answered]]
        return Answers(asked, labels, answered, loss, bits.safe, left)

    def _votes(self, queries: Floats, bits: Bits) -> Votes:
        """SECRET."""
        if not self._taught:
            rows, _ = table(self._rows, "X", columns=queries.shape[1])
            indices = self._labels.indices(self._marks)
            names = np.array(self._labels.classes)
            parts = uniform.below(self.count, size=len(rows), bits=bits)
            parts[indices == len(names)] = self.count
            order = np.argsort(parts, kind="stable")
            split = np.split(order, np.searchsorted(parts[order], np.arange(1, self.count + 1)))[:-1]
            self._taught = [attempted(self._teacher, rows[part], names[indices[part]], log=self._log) for part in split]
        votes = np.zeros((len(queries), len(self._labels.classes) + 1), dtype=np.int64)
        for answer in self._taught:
            if answer is None:
                continue
            named = attempted(self._indices, answer, queries.copy(), log=self._log)
            if named is not None:
                votes[np.arange(len(queries)), named] += 1
        return votes[:, :-1]

    def _indices(self, answer: Callable[[Floats], Any], queries: Floats) -> NDArray[np.int64]:
        indices = indices_of(answer(queries), self._labels.classes)
        if indices.shape != (len(queries),):
            raise InvalidParameterError(f"a teacher must give {len(queries)} labels, one for each query")
        return indices


def _numbers(name: str, values: ArrayLike) -> Floats:
    """Public numbers of two dimensions, at least one row."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 2 or not numbers.size:
        raise InvalidParameterError(f"{name} must be a table of numbers with at least one row")
    return numbers
