"""Receiver operating characteristic of scores, and thresholds at a stated rate."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import Floats, check_probability, read_numbers, start_dice
from deniable.attacks.result import AttackResult, Curve, Share
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Roc:
    """True-positive rate against false-positive rate, from (0, 0) to (1, 1).

    Its best point was chosen on these scores: for a rate that holds for others use `infer_membership`.

    Args:
        false_positive: shape (points,), rising, one point for each threshold.
        true_positive: shape (points,).

    >>> from deniable.attacks.membership import trace_roc
    >>> trace_roc([3, 2, 1], [2, 0]).at(0.5)
    1.0
    """

    false_positive: Floats
    true_positive: Floats

    def __repr__(self) -> str:
        return f"<Roc: {len(self.false_positive):,} points, area {self.area:.4f}>"

    @property
    def area(self) -> float:
        """Area under the curve.

        It is the probability that a member scores above a stranger, ties counted half.
        """
        return float(np.trapezoid(self.true_positive, self.false_positive))

    def at(self, false_positive_rate: float) -> float:
        """Return the highest true-positive rate at no more than a false-positive rate.

        Args:
            false_positive_rate: in [0, 1].
        """
        return float(self.true_positive[np.searchsorted(self.false_positive, false_positive_rate, side="right") - 1])


def trace_roc(member_scores: ArrayLike, other_scores: ArrayLike) -> Roc:
    """Compute the curve of two sets of scores.

    Args:
        member_scores: shape (members,); a higher score means "member". Infinite ones are allowed.
        other_scores: shape (strangers,), of people who are not members.

    >>> trace_roc([3, 2, 1], [2, 0]).area
    0.75
    """
    members, others = (
        read_numbers("scores", one, dimensions=1, infinite=True) for one in (member_scores, other_scores)
    )
    levels = np.unique(np.concatenate([members, others]))[::-1]
    above = [1 - np.searchsorted(np.sort(scores), levels, side="left") / len(scores) for scores in (others, members)]
    return Roc(false_positive=np.append(0, above[0]), true_positive=np.append(0, above[1]))


def threshold_at(other_scores: ArrayLike, false_positive_rate: float, *, confidence: float = 0.975) -> float:
    """Return the lowest threshold whose false-positive rate is below a stated one.

    People who score strictly above it are accused. Of m strangers' scores the k-th largest is exceeded by a further
    stranger with a probability that follows Beta(k, m + 1 - k), or less where scores tie; k is the largest with
    P(Beta > rate) <= 1 - confidence. The plain quantile exceeds the rate in about every second draw of the strangers.
    Source: Wilks, Determination of sample sizes for setting tolerance limits (1941).

    Args:
        other_scores: shape (strangers,), of people who are not members and on whom the attack is not tested.
        false_positive_rate: in (0, 1).
        confidence: probability that the rate is kept, in (0, 1).

    >>> threshold_at(range(1000), 0.05)
    963.0
    """
    from scipy.stats import beta

    scores = np.sort(read_numbers("other_scores", other_scores, dimensions=1, infinite=True))[::-1]
    check_probability("false_positive_rate", false_positive_rate)
    check_probability("confidence", confidence)
    ranks = np.arange(1, len(scores) + 1)
    kept = int(np.sum(beta.sf(false_positive_rate, ranks, len(scores) + 1 - ranks) <= 1 - confidence))
    if not kept:
        needed = math.ceil(math.log1p(-confidence) / math.log1p(-false_positive_rate))
        raise InvalidParameterError(
            f"a false-positive rate of {false_positive_rate} needs a threshold from at least {needed:,} strangers, "
            f"got {len(scores):,}. Bring more, or ask for a higher rate"
        )
    return float(scores[kept - 1])


def infer_membership(
    member_scores: ArrayLike,
    other_scores: ArrayLike,
    *,
    false_positive_rate: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    attack: str = "Membership attack",
) -> AttackResult:
    """Call people members by a threshold on scores, at a stated error rate.

    A random half of the strangers sets the threshold (`threshold_at`), the other gives the curve and the measured rate.
    If scores carry no information, the success lies above the baseline with probability at most 1 - confidence.

    Args:
        member_scores: shape (members,); a higher score means "member".
        other_scores: shape (strangers,), of people from the same population who are not members.
        false_positive_rate: share of strangers who may be called members, in (0, 1).
        confidence: of the interval of the success.
        seed: of the split of the strangers.
        attack: name of the attack that made the scores.

    Source: Carlini et al. (2022), arXiv:2112.03570, on why the rate must be low and accuracy says little.

    >>> result = infer_membership(np.arange(500) + 900, np.arange(1000))
    >>> result.success.value > 0.8, result.baseline
    (True, 0.05)
    """
    members, others = (
        read_numbers("scores", one, dimensions=1, infinite=True) for one in (member_scores, other_scores)
    )
    check_probability("confidence", confidence)
    others = start_dice(seed).permutation(others)
    half = (len(others) + 1) // 2
    aside = others[:half]
    tested = others[half:]
    threshold = threshold_at(aside, false_positive_rate, confidence=(1 + confidence) / 2)
    if not len(tested):
        raise InvalidParameterError(
            "other_scores must hold at least two strangers, one to set the threshold and one to test it"
        )
    roc = trace_roc(members, tested)
    is_called = members > threshold
    wrong = Share(right=int(np.sum(tested > threshold)), attempts=len(tested), confidence=confidence)
    return AttackResult(
        attack=attack,
        target="member called a member",
        success=Share(right=int(is_called.sum()), attempts=len(members), confidence=confidence),
        baseline=false_positive_rate,
        guess=f"guessing at a false-positive rate of {false_positive_rate:.3g}",
        learned=is_called,
        facts={
            "strangers called members": str(wrong),
            "area under the curve": f"{roc.area:.4f}",
            "threshold": f"{threshold:.6g}, from {len(aside):,} strangers who are not in the test",
        },
        curves=(
            Curve(label=attack, x=roc.false_positive, y=roc.true_positive),
            Curve(label="a guess", x=np.array([0.0, 1.0]), y=np.array([0.0, 1.0])),
        ),
        axes=("false-positive rate", "true-positive rate"),
    )
