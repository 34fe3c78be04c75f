"""AboveThreshold: the first of many questions that is above a threshold."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.interactive.session import Session
from deniable.mechanisms.interactive.sparse_vector import SparseVector
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity, of_count


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Mechanism):
    """Compare a stream of whole numbers with a threshold, until the first above it.

    It is `SparseVector` with one answer; arguments and session are the same.

    Args:
        threshold_scale: of the discrete Laplace noise on the threshold, in lattice steps.
        query_scale: of that on each question.
        monotone: under add/remove, adding a unit never lowers any question (counts, for example).

    Guarantee: epsilon-DP with epsilon = D/threshold_scale + 2 D/query_scale for questions of linf sensitivity D;
        D/threshold_scale + D/query_scale when monotone.
    Source: Dwork, Roth (2014), section 3.6; proof for integers in docs/theory/mechanisms/sparse_vector.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = AboveThreshold.calibrated(count, epsilon=1, monotone=True)
    >>> float(mechanism.privacy_loss(count).pure_epsilon)
    1.0
    >>> answers = mechanism.release([3, 5, 500, 2], threshold=100).value  # it stops at the first "above"
    """

    kind: ClassVar[str] = "above_threshold"

    threshold_scale: Fraction
    query_scale: Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        checked = self._with_one_answer
        read_fields(self, threshold_scale=checked.threshold_scale, query_scale=checked.query_scale)

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, monotone: bool = False) -> "AboveThreshold":
        """The noise that is epsilon-DP and leaves the least variance in a comparison."""
        mechanism = SparseVector.calibrated(sensitivity, epsilon=epsilon, answers=1, monotone=monotone)
        return cls(threshold_scale=mechanism.threshold_scale, query_scale=mechanism.query_scale, monotone=monotone)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return self._with_one_answer.privacy_loss(sensitivity)

    def open(self, *, threshold: int, bits: Bits = SECURE) -> Session:
        """Open a session about a public threshold; each session costs the whole loss."""
        return self._with_one_answer.open(threshold=threshold, bits=bits)

    def release(self, exact: ArrayLike, *, threshold: int = 0, bits: Bits = SECURE) -> Released[NDArray[Any]]:
        """Answer questions that are known in advance, in one session."""
        return self._with_one_answer.release(exact, threshold=threshold, bits=bits)

    def half_width(self, level: object, *, questions: int) -> int:
        """Return the distance from the threshold within which an answer may be wrong.

        See `SparseVector.half_width`.
        """
        return self._with_one_answer.half_width(level, questions=questions)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return 2^i where question i was the first above the threshold 0, and 0 for none."""
        return self._with_one_answer.outcomes(exact, runs, bits=bits)

    @property
    def _with_one_answer(self) -> SparseVector:
        return SparseVector(
            threshold_scale=self.threshold_scale, query_scale=self.query_scale, answers=1, monotone=self.monotone
        )

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Two counts that move in opposite directions.

        The claim is reached only in the limit of many questions far from the threshold.
        """
        sensitivity = of_count(rows=1, groups=2, relation=AddRemove, cells=2)
        mechanism = cls(threshold_scale=Fraction(1), query_scale=Fraction(1))
        return WorstCase(mechanism=mechanism, sensitivity=sensitivity, exact=(0, 1), neighbour=(1, 0), attains=False)
