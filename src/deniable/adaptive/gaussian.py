"""Gaussian answering: every question gets the holdout's mean with fresh noise."""

import math
from fractions import Fraction
from typing import Unpack

from deniable.adaptive.generalisation import described_gap, posterior_gap, union_gap
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
)
from deniable.mechanisms import Gaussian
from deniable.numbers.rationals import Real
from deniable.privacy import ConcentratedLoss, PrivacyLoss


class GaussianAnswers(Holdout):
    """Answer each of a promised number of questions about the population by the sample's mean with Gaussian noise.

    No training set is needed, and nothing is compared: right for many questions on many rows.

    Args:
        rows, budget, ledger, failure, bits: as for `ReusableHoldout`; the budget needs rho, mu, or epsilon and delta.
        questions: that will be answered; each pays as much as any other.

    Guarantee: the budget's; with probability 1 - failure every answer is within `error` of the population, by the
        better of two proofs: that few conversations are possible, or that a private one cannot tell the sample from
        the population. Proof: docs/theory/adaptive/generalisation.md.
    Raises: BudgetExceededError when questions have run out.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), arXiv:1411.2664; Jung and others (2020),
        arXiv:1909.03577.

    >>> from deniable.privacy import Budget
    >>> sample = GaussianAnswers(rows=10**6, questions=10_000, budget=Budget(rho="0.002"))
    >>> sample.error < 0.12, GaussianAnswers.split_error(rows=10**6, questions=10_000) > 0.25
    (True, True)
    """

    def __init__(self, **promise: Unpack[Promise]) -> None:
        super().__init__(**promise)
        each = best_epsilon(self.budget, self._loss_of)
        self._noise, self.loss = _noise(each), self._loss_of(each)
        self.error = min(1.0, self._described(), self._private())
        charge(self._ledger, self.loss, text=f"{self.questions} Gaussian answers about a sample", bits=self._bits)

    @staticmethod
    def split_error(*, rows: int, questions: int, failure: Real = "0.05") -> float:
        """The error of the same questions where each gets rows of its own, which no choice of questions can spoil."""
        return min(1.0, described_gap(questions, rows=max(1, rows // questions), failure=failure))

    def ask(self, values: object) -> Answer:
        """The mean over the holdout, with noise.

        Args:
            values: one value in [0, 1] for each row; what lies outside is clamped, what is no number counts as 0.

        Raises: BudgetExceededError when questions have run out.
        """
        total = self._sum(values)
        with self._lock:
            self._begin()
            noisy = int(self._noise.release([total], bits=self._bits).value[0])
            return self._answer(rounded(noisy, self.rows), self.error)

    def _loss_of(self, epsilon: Fraction) -> PrivacyLoss:
        return _noise(epsilon).privacy_loss(REACH) * self.questions

    def _described(self) -> float:
        """Noise, and what holds for all questions of all conversations together."""
        logarithm = (self.questions - 1) * math.log(cells_of(self.rows)) + math.log(2 * self.questions)
        return self._off(self.failure / 2) + union_gap(logarithm, rows=self.rows, failure=self.failure / 2)

    def _private(self) -> float:
        """Noise, a margin c that it exceeds given the answers with probability failure / 2, and the posterior's gap."""
        c = Fraction(1, 20 * math.isqrt(self.rows) + 20)
        loss = ConcentratedLoss(rho=self.loss.rho or 0)  # whose curve has a formula
        return self._off(c * self.failure / 2) + float(c) + posterior_gap(loss, failure=self.failure / 2)

    def _off(self, miss: Fraction) -> float:
        """How far answers are from the sample's means, but for a probability `miss`."""
        return self._noise.half_width(1 - miss / self.questions) / (self.rows * STEPS) + rounding(self.rows)


def _noise(epsilon: Fraction) -> Gaussian:
    """Noise whose standard deviation is the reach of a row over epsilon."""
    return Gaussian.calibrated(REACH, rho=epsilon**2 / 2)
