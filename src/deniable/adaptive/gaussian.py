"""Gaussian answering: every question gets the holdout's mean with fresh noise."""

import math
from fractions import Fraction
from typing import Unpack

from deniable.adaptive.generalisation import described_gap, posterior_gap, union_gap
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
)
from deniable.mechanisms import Gaussian
from deniable.numbers.rationals import Real
from deniable.privacy import ConcentratedLoss, PrivacyLoss


class GaussianAnswers(Holdout):
    """Answer a fixed number of questions about a population, with Gaussian noise.

    Every answer is the mean over a sample. No training set is needed, and nothing is compared: right for many questions
    on many rows.

    Args:
        rows, budget, ledger, failure, bits: as for `ReusableHoldout`; the budget needs rho, mu, or epsilon and delta.
        questions: number of questions that will be answered; each costs the same.

    Guarantee: the budget's; with probability 1 - failure every answer is within `error` of the population, by the
        better of two proofs: that few conversations are possible, or that a private one cannot distinguish the sample
        from the population. Proof: docs/theory/adaptive/generalisation.md.
    Raises: BudgetExceededError when questions have run out.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), arXiv:1411.2664; Jung and others (2020),
        arXiv:1909.03577.

    >>> from deniable.privacy import Budget
    >>> sample = GaussianAnswers(rows=10**6, questions=10_000, budget=Budget(rho="0.002"))
    >>> sample.error < 0.12, GaussianAnswers.split_error(rows=10**6, questions=10_000) > 0.25
    (True, True)
    """

    def __init__(self, **options: Unpack[HoldoutOptions]) -> None:
        super().__init__(**options)
        each = best_epsilon(self.budget, self._loss_of)
        self._noise = _noise(each)
        self.privacy_loss = self._loss_of(each)
        self.error = min(1.0, self._described(), self._private())
        charge(
            self._ledger, self.privacy_loss, text=f"{self.questions} Gaussian answers about a sample", bits=self._bits
        )

    @staticmethod
    def split_error(*, rows: int, questions: int, failure: Real = "0.05") -> float:
        """Bound the error of these questions where each gets rows of its own.

        No choice of questions can spoil that.

        Args:
            rows: in the sample.
            questions: number of questions.
            failure: probability that some answer breaks its error.
        """
        return min(1.0, described_gap(questions, rows=max(1, rows // questions), failure=failure))

    def ask(self, values: object) -> HoldoutAnswer:
        """Return the mean over the sample, with noise.

        Args:
            values: one value in [0, 1] for each row; values outside are clamped, entries that are not numbers count as
                0.

        Raises: BudgetExceededError when questions have run out.
        """
        total = self._sum(values)
        with self._lock:
            self._begin()
            noisy = int(self._noise.release([total], bits=self._bits).value[0])
            return self._answer(rounded(noisy, self.rows), self.error)

    def _loss_of(self, epsilon: Fraction) -> PrivacyLoss:
        """Return the loss of all answers, for an epsilon of each."""
        return _noise(epsilon).privacy_loss(SENSITIVITY) * self.questions

    def _described(self) -> float:
        """Bound the error by noise, and a union over all possible conversations."""
        logarithm = (self.questions - 1) * math.log(cells_of(self.rows)) + math.log(2 * self.questions)
        return self._off(self.failure / 2) + union_gap(logarithm, rows=self.rows, failure=self.failure / 2)

    def _private(self) -> float:
        """Bound the error by noise, a margin c, and the gap of the posterior.

        Given the answers, the noise exceeds c with probability failure / 2.
        """
        c = Fraction(1, 20 * math.isqrt(self.rows) + 20)
        loss = ConcentratedLoss(rho=self.privacy_loss.rho or 0)  # whose curve has a formula
        return self._off(c * self.failure / 2) + float(c) + posterior_gap(loss, failure=self.failure / 2)

    def _off(self, miss: Fraction) -> float:
        """Bound the distance of answers from the means of the sample.

        It fails with probability `miss`.
        """
        return self._noise.half_width(1 - miss / self.questions) / (self.rows * LATTICE_STEPS) + rounding(self.rows)


def _noise(epsilon: Fraction) -> Gaussian:
    """Return noise whose standard deviation is the sensitivity over epsilon."""
    return Gaussian.calibrated(SENSITIVITY, rho=epsilon**2 / 2)
