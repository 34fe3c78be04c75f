"""Ladder: a leaderboard that moves only when its best score is clearly beaten."""

from fractions import Fraction
from typing import Unpack

from deniable.adaptive.holdout import LATTICE_STEPS, HoldoutAnswer, HoldoutOptions, share_of
from deniable.adaptive.thresholdout import Correcting
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real


class Ladder(Correcting):
    """Leaderboard that publishes the best score so far after each submission.

    The score changes only when it is beaten by a step.

    Args:
        improvements: number of times that the best score may change; then every submission is refused.
        step: least amount by which a submission must beat the best score, in (0, 1).
        rows, questions, budget, ledger, failure, bits: as for `ReusableHoldout`; a submission is a question.

    Guarantee: the budget's; with probability 1 - failure the value after each submission is within its `error` of the
        best score that any submission so far has on the population. Proof: docs/theory/adaptive/holdouts.md.
    Raises: BudgetExceededError when questions or improvements have run out, for good.
    Source: Blum, Hardt (2015), arXiv:1502.04585; comparisons and values are noisy here, so that rows are protected too.

    >>> from deniable.privacy import Budget
    >>> board = Ladder(rows=10_000, questions=1000, improvements=20, budget=Budget(epsilon=5))
    >>> board.submit([0, 1] * 5000).question, board.left
    (1, 999)
    """

    def __init__(self, *, improvements: int, step: Real = "0.02", **options: Unpack[HoldoutOptions]) -> None:
        margin = share_of("step", step)
        if margin == 0:
            raise InvalidParameterError("step must be above 0, got 0: every submission would be an improvement")
        super().__init__(corrections=improvements, margin=margin, text="leaderboard", **options)
        self.best = Fraction(0)

    @property
    def error(self) -> float:
        """Bound on the distance of the value from the best score on the population."""
        return min(1.0, max(self.kept_error, self.corrected_error))

    def submit(self, values: object) -> HoldoutAnswer:
        """Return the best score so far.

        `from_holdout` of the answer says whether this submission improved it.

        Args:
            values: one value in [0, 1] for each row, such as whether a prediction is right.

        Raises: BudgetExceededError when questions or improvements have run out.
        """
        total = self._sum(values)
        with self._lock:
            self._begin()
            value = self._corrected(total - round(self.best * self.rows * LATTICE_STEPS), total)
            if value is not None:
                self.best = max(self.best, Fraction(value))
            return self._answer(float(self.best), self.error, from_holdout=value is not None)
