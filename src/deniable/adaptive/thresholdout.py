"""Thresholdout: a holdout that reveals its own score only where training overfits."""

import math
from fractions import Fraction
from typing import Unpack

import numpy as np
from scipy.special import gammaln, logsumexp

from deniable.adaptive.generalisation import union_gap
from deniable.adaptive.holdout import (
    LATTICE_STEPS,
    SENSITIVITY,
    Holdout,
    HoldoutAnswer,
    HoldoutOptions,
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

_SHARE_OF_VALUE = Fraction(1, 4)  # of the epsilon of a correction; the rest is for its comparisons


class Correcting(Holdout):
    """Base class of holdouts that compare questions with a threshold.

    They reveal their own value for a few questions.
    """

    def __init__(self, *, corrections: int, margin: Fraction, text: str, **options: Unpack[HoldoutOptions]) -> None:
        """Choose the noise that fits the budget, charge it, and open the first comparison.

        Args:
            corrections: number of own values that may be revealed.
            margin: a comparison asks whether holdout and public number differ by this, in [0, 1].
            text: name of the holdout in ledgers.
            options: of all holdouts.
        """
        super().__init__(**options)
        self.corrections = whole_number("corrections", corrections, lower=1, upper=10**7)
        epsilon = best_epsilon(self.budget, self._loss_of)
        self._comparing, self._valuing = _mechanisms(epsilon)
        self.privacy_loss = self._loss_of(epsilon)
        rows = self.rows
        level = 1 - self.failure / (4 * self.corrections)
        compared = self._comparing.half_width(level, questions=self.questions) / (rows * LATTICE_STEPS)
        sampled = union_gap(self._conversations, rows=rows, failure=self.failure / 2) + rounding(rows)
        self.kept_error = float(margin) + compared + sampled
        self.corrected_error = self._valuing.half_width(level) / (rows * LATTICE_STEPS) + sampled
        self._margin = round(margin * rows * LATTICE_STEPS)
        name = f"{text}: {self.questions} questions, {corrections} answers"
        charge(self._ledger, self.privacy_loss, text=name, bits=self._bits)
        self._left = self.corrections
        self._session = self._compare()

    @property
    def corrections_left(self) -> int:
        """Number of own values that the holdout may still reveal."""
        return self._left

    @property
    def _conversations(self) -> float:
        """Logarithm of the number of questions that can be asked at all.

        The j-th question follows on fewer corrections than allowed, each with a value; the sum of comb(j - 1, b) over
        all j is comb(questions, b + 1).
        """
        corrected = np.arange(min(self.corrections, self.questions))
        orders = gammaln(self.questions + 1) - gammaln(corrected + 2) - gammaln(self.questions - corrected)
        return float(logsumexp(orders + corrected * math.log(cells_of(self.rows))))

    def _loss_of(self, epsilon: Fraction) -> PrivacyLoss:
        """Return the loss of all corrections, for an epsilon of each."""
        comparing, valuing = _mechanisms(epsilon)
        return (comparing.privacy_loss(SENSITIVITY) + valuing.privacy_loss(SENSITIVITY)) * self.corrections

    def _compare(self) -> Session:
        """Open a session of comparisons with the margin."""
        return self._comparing.open(threshold=self._margin, bits=self._bits)

    def _corrected(self, difference: int, total: int) -> float | None:
        """Return the holdout's value if a secret difference exceeds the margin, else None.

        The caller holds the lock.
        """
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
            self._withdraw(f"all {self.corrections} corrections were made")


class ReusableHoldout(Correcting):
    """Holdout that corrects training scores, and may be asked many times.

    For each model it confirms the score on the training set, or reveals its own. Scores are means over rows of a value
    in [0, 1], such as whether a prediction is right. Each model may be chosen after all earlier answers. The holdout
    must be used for nothing else.

    Args:
        rows: in the holdout, drawn independently from one population; public.
        questions: number of questions that may be asked.
        corrections: number of questions whose score may differ; after the last one every question is refused.
        threshold: difference of scores above which the holdout corrects, in (0, 1).
        budget: charged for all answers together, under replace, when the holdout is made.
        ledger: a ledger or filter that is charged; None keeps the budget here.
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

    def __init__(self, *, corrections: int, threshold: Real = "0.04", **options: Unpack[HoldoutOptions]) -> None:
        margin = share_of("threshold", threshold)
        super().__init__(corrections=corrections, margin=margin, text="reusable holdout", **options)

    def ask(self, train: Real, values: object) -> HoldoutAnswer:
        """Return the training score if the holdout agrees, else the holdout's own.

        Its own score has noise.

        Args:
            train: the score on the training set, a public number in [0, 1].
            values: one value in [0, 1] for each row of the holdout, such as `model.predict(X) == y`; values
                outside are clamped, entries that are not numbers count as 0.

        Raises: BudgetExceededError when questions or corrections have run out.
        """
        public = share_of("train", train)
        total = self._sum(values)
        with self._lock:
            self._begin()
            value = self._corrected(abs(total - round(public * self.rows * LATTICE_STEPS)), total)
            if value is None:
                return self._answer(float(public), self.kept_error, from_holdout=False)
            return self._answer(value, self.corrected_error)


def _mechanisms(epsilon: Fraction) -> tuple[AboveThreshold, Laplace]:
    """Return the mechanisms that compare and that reveal a value.

    They cost epsilon together, for each correction.
    """
    comparing = AboveThreshold.calibrated(SENSITIVITY, epsilon=epsilon * (1 - _SHARE_OF_VALUE))
    return comparing, Laplace.calibrated(SENSITIVITY, epsilon=epsilon * _SHARE_OF_VALUE)
