"""Selection without noise in the scores: the best candidate, if it is far ahead."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import NO_ANSWER, Released, WorstCase
from deniable.mechanisms.integers import clamped
from deniable.mechanisms.selection.base import moved_apart
from deniable.mechanisms.tested.distance import DistanceTest, above, least_margin, of_steps, tail
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, shown, yes_or_no
from deniable.privacy import AddRemove, ApproximateLoss, PrivacyLoss, PureLoss, Sensitivity, of_count

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class StableSelection(DistanceTest):
    """Name the candidate with the largest count, if its noisy lead is large enough.

    Else it gives no answer. The number of candidates costs nothing, and the winner is the true one. Ties go to the
    first.

    Args:
        test: the Laplace noise of the lead.
        threshold: of the noisy lead, an integer >= 0.
        monotone: adding a unit never lowers any count; as in `Selection`.

    Guarantee: one unit moves the lead by at most m = min(l1, 2 linf), or linf for monotone counts. The loss is that of
        the test, noise at sensitivity m, composed with a failure of probability P(noise > threshold - m).
    Source: Thakurta, Smith (2013), "Differentially private feature selection via stability arguments"; proof in
        docs/theory/mechanisms/tested.md.

    >>> votes = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = StableSelection.calibrated(votes, epsilon=1, delta="1e-6", monotone=True)
    >>> f"{mechanism.no_answer(distance=30):.4f}"  # the chance of no answer at a lead of 30 votes
    '0.0000'
    >>> winner = mechanism.release([120, 90, 85]).value
    """

    kind: ClassVar[str] = "stable_selection"
    _of_sums: ClassVar[bool] = True

    monotone: Annotated[bool, yes_or_no] = False

    @classmethod
    def calibrated(
        cls, sensitivity: Sensitivity, *, epsilon: Real, delta: Real, monotone: bool = False
    ) -> "StableSelection":
        """Return the least threshold for (epsilon, delta), with all of epsilon on noise."""
        moved = _moved(sensitivity, monotone=yes_or_no("monotone", monotone))
        if not moved:
            raise InvalidParameterError(
                "the sensitivity is 0: no unit can change a count, and the choice needs no noise"
            )
        test = Laplace(scale=moved / positive_rational("epsilon", epsilon))
        return cls(test=test, threshold=moved + least_margin(test.scale, delta), monotone=monotone)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss for counts with this sensitivity."""
        moved = _moved(sensitivity, monotone=self.monotone)
        if not moved:
            return PureLoss(0).under(sensitivity.relation)
        if self.threshold < moved:
            raise InvalidParameterError(
                f"threshold must be at least {moved}, what one unit can move, got {shown(self.threshold)}"
            )
        lead = self.test.privacy_loss(of_steps(moved, sensitivity.relation))
        return lead + ApproximateLoss(0, tail(self.test.scale, self.threshold - moved))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int | None]:
        """The index of the largest count, or None.

        Args:
            exact: secret counts, one for each of at least two candidates.
            bits: leave it out, except in tests.
        """
        winner = int(self._draws(exact, 1, bits)[0])
        return Released(None if winner == NO_ANSWER else winner, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Indices, and NO_ANSWER where there was no answer."""
        return self._draws(exact, runs, bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        counts, lead = self._read(exact)
        margin = self.threshold - max(lead, 0)
        silent = 1 - above(self.test.scale, margin) if margin >= 0 else above(self.test.scale, -margin - 1)
        return {None: silent, int(counts.argmax()): 1 - silent}

    def _draws(self, exact: ArrayLike, runs: int, bits: Bits) -> NDArray[np.int64]:
        counts, lead = self._read(exact)
        return np.where(self._passes(lead, runs, bits), int(counts.argmax()), NO_ANSWER)

    @staticmethod
    def _read(exact: ArrayLike) -> tuple[NDArray[np.int64], int]:
        """The counts, and by how much the first leads."""
        counts = clamped("exact", exact)
        if counts.ndim != 1 or counts.size < 2:
            raise InvalidParameterError(f"counts must be a list of at least two integers, got shape {counts.shape}")
        second, first = np.partition(counts, counts.size - 2)[-2:].tolist()
        return counts, first - second

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a lead that moves by one while the winner stays.

        That the winner may change at a tie is not seen on this pair.
        """
        sensitivity = of_count(rows=1, groups=1, relation=AddRemove)
        return WorstCase(
            mechanism=cls.calibrated(sensitivity, epsilon=1, delta="0.01"),
            sensitivity=sensitivity,
            exact=(1, 8, 2),
            neighbour=(1, 7, 2),
            attains=False,
        )


def _moved(sensitivity: Sensitivity, *, monotone: bool) -> int:
    """Largest change of the lead of integer counts by one unit."""
    return int(min(sensitivity.integral().l1, moved_apart(sensitivity, monotone=monotone)))
