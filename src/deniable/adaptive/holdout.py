"""Base class of holdouts: a sample that answers a fixed number of questions."""

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

LATTICE_STEPS = 2**16
"""Lattice steps of a value between 0 and 1."""

SENSITIVITY = of_clipped_sum(lower=0, upper=LATTICE_STEPS, rows=1, groups=1, relation=Replace, cells=1)
"""Sensitivity of the sum of values, in lattice steps."""


@dataclass(frozen=True, kw_only=True)
class HoldoutAnswer:
    """Answer about a holdout, with a bound on its error.

    Args:
        value: in [0, 1].
        error: with probability `confidence`, no answer of the conversation is further than its error from the mean over
            the population that the holdout was drawn from.
        confidence: probability that all answers keep their errors, together.
        question: number of this question, from 1.
        questions: number of questions that the holdout answers.
        from_holdout: whether the value was read from the holdout, with noise; else it is the public number before.
        safe: False if the noise came from a test stream.
    """

    value: float
    error: float
    confidence: float
    question: int
    questions: int
    from_holdout: bool
    safe: bool = True

    def __str__(self) -> str:
        mark = "" if self.safe else ", test noise"
        position = f"question {self.question} of {self.questions}{mark}"
        return f"{self.value:.3f} +- {self.error:.3f} ({self.confidence:.0%}; {position})"

    def __repr__(self) -> str:
        source = "holdout" if self.from_holdout else "public number"
        mark = "" if self.safe else ", safe=False"
        return (
            f"<HoldoutAnswer: {self.value:.3f} ± {self.error:.3f} ({self.confidence:.0%}), from the {source}; "
            f"question {self.question} of {self.questions}{mark}>"
        )


LedgerOrFilter: TypeAlias = Ledger | Filter | None


class HoldoutOptions(TypedDict, total=False):
    """Arguments of all holdouts; `ReusableHoldout` describes them."""

    rows: Required[int]
    questions: Required[int]
    budget: Required[Budget]
    ledger: LedgerOrFilter
    failure: Real
    bits: Bits


class Holdout:
    """Rows that were set aside, and the questions that they may still answer.

    `ReusableHoldout` describes the arguments.
    """

    privacy_loss: PrivacyLoss
    """Loss of all answers together, charged when the holdout is made."""

    def __init__(
        self,
        *,
        rows: int,
        questions: int,
        budget: Budget,
        ledger: LedgerOrFilter = None,
        failure: Real = "0.05",
        bits: Bits = SECURE,
    ) -> None:
        self.rows = positive_integer("rows", rows)
        self.questions = positive_integer("questions", questions)
        if not isinstance(budget, Budget):
            raise InvalidParameterError(
                f"budget must be a Budget such as Budget(epsilon=1), got {type(budget).__name__}"
            )
        self.budget = budget
        self.failure = failure_of(failure)
        self._ledger = ledger
        self._bits = bits
        self._asked = 0
        self._process = os.getpid()
        self._lock = Lock()

    @property
    def left(self) -> int:
        """Number of questions that may still be asked."""
        return self.questions - self._asked

    @silence()
    def _sum(self, values: object) -> int:
        """Return the sum of one value for each row, in lattice steps. SECRET.

        Values are clamped to [0, 1]; entries that are not numbers count as 0.
        """
        if os.getpid() != self._process:  # before the lock, which another thread may have held at the fork
            raise UnprovedError(
                "this holdout belongs to another process. Ask it there: two copies would answer twice what was charged."
            )
        given = floats.numbers(values, "values")
        if len(given) != self.rows:
            raise InvalidParameterError(
                f"values must have one entry for each of the {self.rows} rows of the holdout, got {len(given)}"
            )
        return int(np.rint(np.clip(np.nan_to_num(given, nan=0.0), 0, 1) * LATTICE_STEPS).astype(np.int64).sum())

    def _begin(self) -> None:
        """Count a question; the caller holds the lock.

        Raises: BudgetExceededError when all questions were asked.
        """
        if self._asked >= self.questions:
            self._withdraw(f"all {self.questions} questions were asked")
        self._asked += 1

    def _answer(self, value: float, error: float, *, from_holdout: bool = True) -> HoldoutAnswer:
        """Return an answer with its error."""
        return HoldoutAnswer(
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
            f"This holdout answers no further questions: {why}. Its earlier answers keep their errors. Draw fresh "
            "rows, or allow more questions from the start."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.rows} rows: {self.left} of {self.questions} questions left>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UnprovedError("a holdout cannot be copied or pickled: two copies would answer twice what was charged.")


def charge(account: LedgerOrFilter, loss: PrivacyLoss, *, text: str, bits: Bits) -> None:
    """Charge a filter or a ledger for all answers, before any row is read."""
    ledger = None if isinstance(account, Filter) else account
    payment = Payment(ledger, text=text, name=f"{text} {loss!r}", bits=bits)
    if isinstance(account, Filter):
        account.charge(loss)
    payment.charge(loss)


def share_of(name: str, value: object) -> Fraction:
    """Return a number in [0, 1], exactly."""
    share = exact_rational(name, value)
    if not 0 <= share <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {value}")
    return share


def best_epsilon(budget: Budget, loss_of: Callable[[Fraction], PrivacyLoss]) -> Fraction:
    """Return the largest epsilon for which `loss_of` fits into a budget.

    It is good to a part in a thousand.
    """
    low, high = -30.0, 10.0  # powers of two
    if not Filter(budget, relation=Replace).admits(loss_of(_power(low))):
        raise BudgetExceededError(
            f"the budget {budget} is too small for that many answers. Ask for fewer, or raise the budget."
        )
    while high - low > 0.001:
        middle = (low + high) / 2
        try:
            fits = Filter(budget, relation=Replace).admits(loss_of(_power(middle)))
        except UnprovedError:  # too much for the rule that suited less noise
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return _power(low)


def _power(exponent: float) -> Fraction:
    """Return 2^exponent, rounded down to six digits."""
    return decimal_below(Fraction(2.0**exponent), 6)


def cells_of(rows: int) -> int:
    """Return the number of values that an answer can have.

    Steps are as fine as the error of a sample, so that few conversations differ.
    """
    return math.isqrt(rows) + 2


def rounded(noisy: int, rows: int) -> float:
    """Return the closest of the values that an answer can have."""
    last = cells_of(rows) - 1
    return round(min(max(Fraction(noisy, rows * LATTICE_STEPS), Fraction(0)), Fraction(1)) * last) / last


def rounding(rows: int) -> float:
    """Return the largest error of `rounded`, and of rows on their lattice."""
    return 0.5 / (cells_of(rows) - 1) + 1 / LATTICE_STEPS
