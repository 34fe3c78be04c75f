"""Thresholdout: a holdout that says when a score on the training set overfits, and only then what the score is."""

import math
from fractions import Fraction
from typing import Unpack

import numpy as np
from scipy.special import gammaln, logsumexp

from deniable.adaptive.generalisation import union_gap
from deniable.adaptive.holdout import (
    REACH,
    STEPS,
    Answer,
    Holdout,
    Promise,
    best_epsilon,
    cells_of,
    charge,
    rounded,
    rounding,
    share_of,
)
from deniable.mechanisms import AboveThreshold, Laplace
from deniable.mechanisms.interactive.session import Session
from deniable.numbers.rationals import Real, whole_number
from deniable.privacy import PrivacyLoss

_VALUES = Fraction(1, 4)  # part of a correction's epsilon that pays for its value


class Correcting(Holdout):
    """A holdout that compares many questions with a threshold, and tells its own value of a few."""

    def __init__(self, *, corrections: int, margin: Fraction, text: str, **promise: Unpack[Promise]) -> None:
        """Choose the noise that the budget buys, prove the errors, pay, and open the first comparison.

        Args:
            margin: a comparison is about whether holdout and public number differ by this, in [0, 1].
        """
        super().__init__(**promise)
        self.corrections = whole_number("corrections", corrections, lower=1, upper=10**7)
        epsilon = best_epsilon(self.budget, self._loss_of)
        self._comparing, self._valuing = _mechanisms(epsilon)
        self.loss, rows = self._loss_of(epsilon), self.rows
        level = 1 - self.failure / (4 * self.corrections)
        compared = self._comparing.half_width(level, questions=self.questions) / (rows * STEPS)
        told = union_gap(self._conversations, rows=rows, failure=self.failure / 2) + rounding(rows)
        self.kept_error = float(margin) + compared + told
        self.corrected_error = self._valuing.half_width(level) / (rows * STEPS) + told
        self._margin = round(margin * rows * STEPS)
        charge(
            self._ledger, self.loss, text=f"{text}: {self.questions} questions, {corrections} answers", bits=self._bits
        )
        self._left = self.corrections
        self._session = self._compare()

    @property
    def corrections_left(self) -> int:
        """How often the holdout may still tell its own value."""
        return self._left

    @property
    def _conversations(self) -> float:
        """Logarithm of how many questions can be asked at all.

        The j-th question follows on fewer corrections than promised, each with a value; the sum of comb(j - 1, b) over
        all j is comb(questions, b + 1).
        """
        told = np.arange(min(self.corrections, self.questions))
        ways = gammaln(self.questions + 1) - gammaln(told + 2) - gammaln(self.questions - told)
        return float(logsumexp(ways + told * math.log(cells_of(self.rows))))

    def _loss_of(self, epsilon: Fraction) -> PrivacyLoss:
        comparing, valuing = _mechanisms(epsilon)
        return (comparing.privacy_loss(REACH) + valuing.privacy_loss(REACH)) * self.corrections

    def _compare(self) -> Session:
        return self._comparing.open(threshold=self._margin, bits=self._bits)

    def _corrected(self, difference: int, total: int) -> float | None:
        """The value of the holdout if a secret difference is above the margin; the caller holds the lock."""
        if not self._session.ask(difference):
            return None
        value = rounded(int(self._valuing.release([total], bits=self._bits).value[0]), self.rows)
        self._left -= 1
        if self._left:
            self._session = self._compare()
        return value

    def _begin(self) -> None:
        super()._begin()
        if self._left == 0:
            self._withdraw(f"the promised {self.corrections} corrections were made")


class ReusableHoldout(Correcting):
    """Tell for each model whether its score on the training set is right, and where it is not, the holdout's score.

    Scores are means over rows of a value in [0, 1], such as whether a prediction is right. Whoever asks may choose each
    model after all earlier answers. The holdout must be used for nothing else.

    Args:
        rows: in the holdout, drawn independently from one population; public.
        questions: that may be asked.
        corrections: of them, whose score may differ; after the last one every question is refused.
        threshold: difference of scores above which the holdout corrects, in (0, 1).
        budget: what all answers together may reveal about one row of the holdout, under replace. All of it is paid when
            the holdout is made.
        ledger: that pays, or a filter; None to keep the budget here.
        failure: probability that some answer breaks its error.
        bits: leave it out, except in tests.

    Guarantee: the budget's; with probability 1 - failure every answer is within its `error` of the population. The
        noise is that of AboveThreshold and Laplace, once for each correction; errors follow from the number of
        conversations that are possible. Proof: docs/theory/adaptive/holdouts.md.
    Raises: BudgetExceededError when questions or corrections have run out, for good.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), Science 349, and arXiv:1506.02629.

    >>> from deniable.privacy import Budget
    >>> holdout = ReusableHoldout(rows=10_000, questions=1000, corrections=10, budget=Budget(epsilon=5))
    >>> answer = holdout.ask(0.5, [0, 1] * 5000)      # as on the training set
    >>> answer.value, answer.from_holdout, holdout.left
    (0.5, False, 999)
    """

    def __init__(self, *, corrections: int, threshold: Real = "0.04", **promise: Unpack[Promise]) -> None:
        margin = share_of("threshold", threshold)
        super().__init__(corrections=corrections, margin=margin, text="reusable holdout", **promise)

    def ask(self, train: Real, values: object) -> Answer:
        """The training score if the holdout agrees, else the holdout's score with noise.

        Args:
            train: the score on the training set, a public number in [0, 1].
            values: one value in [0, 1] for each row of the holdout, such as `model.predict(X) == y`; what lies outside
                is clamped, what is no number counts as 0.

        Raises: BudgetExceededError when questions or corrections have run out.
        """
        public = share_of("train", train)
        total = self._sum(values)
        with self._lock:
            self._begin()
            value = self._corrected(abs(total - round(public * self.rows * STEPS)), total)
            if value is None:
                return self._answer(float(public), self.kept_error, from_holdout=False)
            return self._answer(value, self.corrected_error)


def _mechanisms(epsilon: Fraction) -> tuple[AboveThreshold, Laplace]:
    """What compares and what tells a value, for epsilon a correction in all."""
    comparing = AboveThreshold.calibrated(REACH, epsilon=epsilon * (1 - _VALUES))
    return comparing, Laplace.calibrated(REACH, epsilon=epsilon * _VALUES)
