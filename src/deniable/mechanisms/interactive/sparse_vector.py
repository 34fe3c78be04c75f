"""The sparse vector technique: many questions, of which few are answered "above"."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.additive.base import checked_scale
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.interactive.session import Session
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability, whole_number, yes_or_no
from deniable.privacy import AddRemove, DiscreteLaplaceLoss, PrivacyLoss, PureLoss, Sensitivity, of_count
from deniable.privacy.constructors import SparseVectorLoss

_MOST_ANSWERS = 2**40
_VALUE_BITS = 64  # of a released value in the number of a transcript


@dataclass(frozen=True, kw_only=True)
class SparseVector(Mechanism):
    """Compare a stream of whole numbers with a threshold, for `answers` times "above".

    `open(threshold)` gives a `Session`, whose questions may depend on its earlier answers. One draw of noise is kept
    for the threshold, each question gets a fresh one, and each value that is released another.

    Args:
        threshold_scale: of the discrete Laplace noise on the threshold, in lattice steps.
        query_scale: of that on each question.
        answers: how often "above" may be answered.
        value_scale: of the noise on the value that is released with every "above"; None to release none.
        monotone: under add/remove, adding a unit never lowers any question (counts, for example).

    Guarantee: epsilon-DP with epsilon = D/threshold_scale + 2 answers D/query_scale, where D is the linf sensitivity of
        the questions, rounded down to an integer; answers D/query_scale when monotone; and answers D/value_scale more
        for values. The lower ends of the loss are those of fine lattices.
    Source: Dwork, Naor, Reingold, Rothblum, Vadhan (2009); Lyu, Su, Li (2017), arXiv:1603.01699; proof for integers in
        docs/theory/mechanisms/sparse_vector.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = SparseVector.calibrated(count, epsilon=1, answers=3, monotone=True)
    >>> mechanism.half_width(0.95, questions=100)  # an answer further from the threshold is right
    48
    >>> session = mechanism.open(threshold=1000)
    >>> answer = session.ask(120)
    """

    kind: ClassVar[str] = "sparse_vector"

    threshold_scale: Annotated[Fraction, checked_scale]
    query_scale: Annotated[Fraction, checked_scale]
    answers: Annotated[int, partial(whole_number, lower=1, upper=_MOST_ANSWERS)]
    value_scale: Annotated[Fraction | None, checked_scale] = None
    monotone: Annotated[bool, yes_or_no] = False

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Real,
        answers: int,
        monotone: bool = False,
        value_share: object = None,
    ) -> "SparseVector":
        """Return the epsilon-DP noise with the least variance in a comparison.

        Args:
            value_share: the part of epsilon for values, in (0, 1); None to release none.

        Guarantee: epsilon is spent exactly. What is left by values is split between threshold and questions in the
            ratio 1 : (2 answers)^(2/3), or 1 : answers^(2/3) when monotone, to a thousandth.
        """
        change = _whole_change(sensitivity)
        if change == 0:
            raise InvalidParameterError("no unit moves these questions, so they need no noise. Check the sensitivity.")
        total = positive_rational("epsilon", epsilon)
        count = whole_number("answers", answers, lower=1, upper=_MOST_ANSWERS)
        share = probability("value_share", 0 if value_share is None else value_share)
        moves = count if monotone is True else 2 * count
        weight = Fraction(round(1000 * moves ** (2 / 3)), 1000)
        for_threshold = total * (1 - share) / (1 + weight)
        mechanism = cls(
            threshold_scale=change / for_threshold,
            query_scale=moves * change / (weight * for_threshold),
            answers=count,
            value_scale=count * change / (total * share) if share else None,
            monotone=monotone,
        )
        _ = mechanism.privacy_loss(sensitivity)  # refuses monotone questions under replace
        return mechanism

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss of a whole session, for the linf sensitivity of the questions."""
        change = _whole_change(sensitivity)
        if change == 0:
            return PureLoss(0).under(sensitivity.relation)
        compared = SparseVectorLoss(
            threshold_multiplier=self.threshold_scale / change,
            query_multiplier=self.query_scale / change,
            answers=self.answers,
            monotone=self.monotone,
        )
        loss = compared.under(sensitivity.relation)
        if self.value_scale is None:
            return loss
        one = Sensitivity(l1=change, l2_squared=change**2, linf=change, relation=sensitivity.relation, coordinates=1)
        return loss + DiscreteLaplaceLoss(self.value_scale, one) * self.answers

    def open(self, *, threshold: int, bits: Bits = SECURE) -> Session:
        """Open a session about a public threshold; each session costs the whole loss.

        Args:
            bits: leave it out, except in tests.
        """
        return Session(
            threshold=threshold,
            threshold_noise=Laplace(scale=self.threshold_scale),
            query_noise=Laplace(scale=self.query_scale),
            value_noise=None if self.value_scale is None else Laplace(scale=self.value_scale),
            answers=self.answers,
            bits=bits,
        )

    def release(self, exact: ArrayLike, *, threshold: int = 0, bits: Bits = SECURE) -> Released[NDArray[Any]]:
        """Answer questions that are known in advance, in one session."""
        return self.open(threshold=threshold, bits=bits).ask_many(exact)

    def half_width(self, level: object, *, questions: int) -> int:
        """Return the distance from the threshold within which an answer may be wrong.

        With probability `level`, of the first `questions` every "above" is about a value of at least the threshold
        minus this, and every "below" about one of less than the threshold plus this.
        """
        miss = 1 - probability("level", level)
        count = positive_integer("questions", questions)
        level_noise, query_noise = Laplace(scale=self.threshold_scale), Laplace(scale=self.query_scale)
        return level_noise.half_width(1 - miss / 2) + query_noise.half_width(1 - miss / (2 * count))

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return sessions about the threshold 0, each as one number.

        Bit i says that question i was above; values follow.
        """
        level = Laplace(scale=self.threshold_scale).release(np.zeros((runs, 1), dtype=np.int64), bits=bits).value
        questions = np.tile(np.array(exact, dtype=np.int64), (runs, 1))
        above = np.asarray(Laplace(scale=self.query_scale).release(questions, bits=bits).value >= level)
        above &= np.cumsum(above, axis=1) <= self.answers
        codes = np.asarray(above @ (1 << np.arange(len(exact), dtype=np.int64)))
        if self.value_scale is None:
            return codes
        values = Laplace(scale=self.value_scale).release(questions, bits=bits).value.astype(object)
        shown = np.where(above, np.where(values < 0, -2 * values - 1, 2 * values), 0)
        powers = [1 << (len(exact) + _VALUE_BITS * index) for index in range(len(exact))]
        return np.asarray(codes.astype(object) + shown @ np.array(powers, dtype=object))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Two answers about three counts, the first moving against the others.

        The claim is reached only in the limit of many questions far from the threshold.
        """
        three_counts = of_count(rows=1, groups=3, relation=AddRemove, cells=3)
        mechanism = cls(threshold_scale=Fraction(1), query_scale=Fraction(1), answers=2)
        return WorstCase(
            mechanism=mechanism, sensitivity=three_counts, exact=(0, 1, 1), neighbour=(1, 0, 0), attains=False
        )


def _whole_change(sensitivity: Sensitivity) -> Fraction:
    """Return the largest change of one question by one unit: an integer."""
    return Fraction(math.floor(sensitivity.linf))
