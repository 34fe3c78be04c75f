"""A sample that answers a promised number of questions: what all holdouts have in common."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import NoReturn, Required, TypeAlias, TypedDict

import numpy as np

from deniable.adaptive.generalisation import failure_of
from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, decimal_below, exact_rational, positive_integer
from deniable.privacy import Budget, Filter, PrivacyLoss, Replace, of_clipped_sum
from deniable.rows import floats, silence

STEPS = 2**16
"""Lattice steps of a value between 0 and 1."""

REACH = of_clipped_sum(lower=0, upper=STEPS, rows=1, groups=1, relation=Replace, cells=1)
"""How far one row moves the sum of values."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer about a holdout, with what is promised about it.

    Args:
        value: in [0, 1].
        error: with probability `confidence`, no answer of the conversation is further than its error from the mean over
            the population that the holdout was drawn from.
        confidence: that all answers keep their errors, together.
        question: its number, from 1; questions: how many were promised.
        from_holdout: whether the value was read from the holdout, with noise; else it is the public number before.
        safe: False if the noise came from test bits.
    """

    value: float
    error: float
    confidence: float
    question: int
    questions: int
    from_holdout: bool
    safe: bool = True

    def __str__(self) -> str:
        place = f"question {self.question} of {self.questions}{'' if self.safe else ', test noise'}"
        return f"{self.value:.3f} +- {self.error:.3f} ({self.confidence:.0%}; {place})"


Account: TypeAlias = Ledger | Filter | None


class Promise(TypedDict, total=False):
    """What every holdout takes: see `ReusableHoldout`."""

    rows: Required[int]
    questions: Required[int]
    budget: Required[Budget]
    ledger: Account
    failure: Real
    bits: Bits


class Holdout:
    """Rows that were set aside, the questions that they may still answer, and what was paid for that."""

    def __init__(
        self,
        *,
        rows: int,
        questions: int,
        budget: Budget,
        ledger: Account = None,
        failure: Real = "0.05",
        bits: Bits = SECURE,
    ) -> None:
        self.rows, self.questions = positive_integer("rows", rows), positive_integer("questions", questions)
        if not isinstance(budget, Budget):
            raise InvalidParameterError(
                f"budget must be a Budget, got {type(budget).__name__}: write Budget(epsilon=1)"
            )
        self.budget, self.failure = budget, failure_of(failure)
        self._ledger, self._bits = ledger, bits
        self._asked, self._process, self._lock = 0, os.getpid(), Lock()

    @property
    def left(self) -> int:
        """How many of the promised questions are left."""
        return self.questions - self._asked

    @silence()
    def _sum(self, values: object) -> int:
        """SECRET: the sum of one value a row, clamped to [0, 1], in lattice steps; what is no number counts as 0."""
        if os.getpid() != self._process:  # before the lock, which another thread may have held at the fork
            raise UnprovedError("this holdout belongs to another process. Ask it there: two of it would promise twice.")
        found = floats.numbers(values, "values")
        if len(found) != self.rows:
            raise InvalidParameterError(
                f"values must have one entry for each of the {self.rows} rows of the holdout, got {len(found)}"
            )
        return int(np.rint(np.clip(np.nan_to_num(found, nan=0.0), 0, 1) * STEPS).astype(np.int64).sum())

    def _begin(self) -> None:
        """Count a question; the caller holds the lock.

        Raises: BudgetExceededError when the promised number was asked.
        """
        if self._asked >= self.questions:
            self._withdraw(f"all of the promised {self.questions} questions were asked")
        self._asked += 1

    def _answer(self, value: float, error: float, *, from_holdout: bool = True) -> Answer:
        return Answer(
            value=value,
            error=min(error, 1.0),
            confidence=float(1 - self.failure),
            question=self._asked,
            questions=self.questions,
            from_holdout=from_holdout,
            safe=self._bits.safe,
        )

    def _withdraw(self, why: str) -> NoReturn:
        """Refuse this question and all further ones."""
        self._asked = self.questions
        raise BudgetExceededError(
            f"This holdout answers no more: {why}. Its earlier answers keep their errors; nothing is promised about "
            "further ones. Draw fresh rows, or promise more from the start."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.rows} rows: {self.left} of {self.questions} questions left>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UnprovedError("a holdout cannot be copied or pickled: two copies would answer twice what was paid.")


def charge(account: Account, loss: PrivacyLoss, *, text: str, bits: Bits) -> None:
    """Charge a filter or a ledger for everything that will be answered, before any row is read."""
    ledger = None if isinstance(account, Filter) else account
    payment = Payment(ledger, text=text, name=f"{text} {loss!r}", bits=bits)
    if isinstance(account, Filter):
        account.charge(loss)
    payment.charge(loss)


def share_of(name: str, value: object) -> Fraction:
    """A number in [0, 1], exactly."""
    found = exact_rational(name, value)
    if not 0 <= found <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {value}")
    return found


def best_epsilon(budget: Budget, loss_of: Callable[[Fraction], PrivacyLoss]) -> Fraction:
    """The largest epsilon a piece, to a part in a thousand, for which `loss_of` fits into a budget."""
    low, high = -30.0, 10.0  # powers of two
    if not Filter(budget, relation=Replace).admits(loss_of(_power(low))):
        raise BudgetExceededError(f"the budget {budget} is too small for that many answers. Ask for fewer of them.")
    while high - low > 0.001:
        middle = (low + high) / 2
        try:
            fits = Filter(budget, relation=Replace).admits(loss_of(_power(middle)))
        except UnprovedError:  # too much for the rule that suited less noise
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return _power(low)


def _power(exponent: float) -> Fraction:
    return decimal_below(Fraction(2.0**exponent), 6)


def cells_of(rows: int) -> int:
    """How many values an answer can have: steps as fine as the error of a sample, so that few conversations differ."""
    return math.isqrt(rows) + 2


def rounded(noisy: int, rows: int) -> float:
    """The nearest of the values that an answer can have."""
    last = cells_of(rows) - 1
    return round(min(max(Fraction(noisy, rows * STEPS), Fraction(0)), Fraction(1)) * last) / last


def rounding(rows: int) -> float:
    """The largest error of `rounded`, and of rows on their lattice."""
    return 0.5 / (cells_of(rows) - 1) + 1 / STEPS
