"""Noisy votes of teachers: LNMax, GNMax and Confident-GNMax."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, NoisyMax
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, positive_rational, shown, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation, Sensitivity, compose
from deniable.privacy.composition.classic import advanced_epsilon

Votes = NDArray[np.int64]  # SECRET: how many teachers name each class for each query, of shape (queries, classes)


@dataclass(frozen=True, kw_only=True)
class Vote(metaclass=InWords):
    """Noisy choice of the class with most votes.

    Make one with `lnmax`, `gnmax` or `confident_gnmax`.

    Args:
        choice: NoisyMax, or Gaussian noise of which the largest sum is taken.
        check, threshold: noise on the largest number of votes of each query, and what it has to reach.
        max_answers: the number of queries that are answered: the first ones that reach it.

    Guarantee: `privacy_loss`, where a row belongs to one teacher, so that one vote of each query moves.
    Source: Papernot et al. (2017), arXiv:1610.05755; (2018), arXiv:1802.08908; docs/theory/learning/pate.md.

    >>> from deniable.learning import Vote
    >>> print(round(Vote.gnmax(sigma=40).privacy_loss(queries=100).epsilon("1e-5").upper, 2))
    1.36
    """

    choice: NoisyMax | Gaussian
    check: Gaussian | None = None
    threshold: Annotated[int, partial(whole_number, lower=0)] = 0
    max_answers: Annotated[int, partial(whole_number, lower=1)] = 2**31

    def __post_init__(self) -> None:
        read_fields(self)
        if not isinstance(self.choice, NoisyMax | Gaussian) or not isinstance(self.check, Gaussian | None):
            raise InvalidParameterError(f"choice must be NoisyMax or Gaussian, and check Gaussian, got {shown(self)}")

    @classmethod
    def lnmax(cls, *, gamma: Real) -> "Vote":
        """Return the vote with Laplace noise of scale 1 / gamma (LNMax).

        It is (2 gamma, 0)-DP for each query.
        """
        return cls(choice=NoisyMax(rate=gamma))  # type: ignore[arg-type]

    @classmethod
    def gnmax(cls, *, sigma: Real) -> "Vote":
        """Return the vote with discrete Gaussian noise of this sigma (GNMax).

        Its Rényi divergence is order / sigma^2 for each query.
        """
        return cls(choice=_gaussian("sigma", sigma))

    @classmethod
    def confident_gnmax(cls, *, sigma: Real, check_sigma: Real, threshold: int, max_answers: int) -> "Vote":
        """Return the vote that answers where teachers agree (Confident-GNMax).

        The check costs order / (2 check_sigma^2) for every query, answered or not.
        """
        check = _gaussian("check_sigma", check_sigma)
        return cls(choice=_gaussian("sigma", sigma), check=check, threshold=threshold, max_answers=max_answers)

    def privacy_loss(self, queries: int, *, relation: Relation = AddRemove) -> PrivacyLoss:
        """Return the privacy loss of the answers to a number of queries.

        For one row, whatever the votes are.
        """
        asked = whole_number("queries", queries, lower=1)
        chosen_loss = self.choice.privacy_loss(_moved(2, relation)) * min(asked, self.max_answers)
        if self.check is None:
            return chosen_loss
        return compose([self.check.privacy_loss(_moved(1, relation)) * asked, chosen_loss])

    def release(self, votes: Votes, believed: Votes, bits: Bits) -> NDArray[np.int64]:
        """Choose the class of each query, or -1.

        The check subtracts public numbers from the votes.

        All checks come before the first choice: for which queries there is one depends on what was released.
        """
        passed = np.ones(len(votes), dtype=np.bool_)
        if self.check is not None:
            passed = self.check.release((votes - believed).max(axis=1), bits=bits).value >= self.threshold
        indices = np.full(len(votes), -1)
        answered = np.flatnonzero(passed)[: self.max_answers]
        if isinstance(self.choice, NoisyMax):
            indices[answered] = [self.choice.release(row, bits=bits).value for row in votes[answered]]
        else:
            indices[answered] = self.choice.release(votes[answered], bits=bits).value.argmax(axis=1)
        return indices

    def compared(self, queries: int, *, delta: Real, relation: Relation = AddRemove) -> dict[str, float]:
        """Epsilon of a number of answers by three sums, without checks.

        The notes have epsilon_0 sqrt(2 m ln(1 / delta')) + m epsilon_0 (e^epsilon_0 - 1) at m delta_0 + delta', with
        epsilon_0 = 2 gamma and delta_0 = 0; for Gaussian noise m delta_0 is half of delta.
        """
        count = whole_number("queries", queries, lower=1)
        failure = positive_rational("delta", delta)
        once = self.choice.privacy_loss(_moved(2, relation))
        share = Fraction(0) if once.pure_epsilon is not None else failure / 2
        each = Fraction(once.epsilon(share / count).upper)
        notes = advanced_epsilon(each, count=count, slack=failure - share)
        return {"basic": float(each * count), "notes": notes, "certified": (once * count).epsilon(failure).upper}


def _gaussian(name: str, sigma: Real) -> Gaussian:
    return Gaussian(sigma_squared=positive_rational(name, sigma) ** 2)


def _moved(votes: int, relation: Relation) -> Sensitivity:
    """The sensitivity of a vector in which this many numbers move by 1."""
    norm = Fraction(votes)
    return Sensitivity(l1=norm, l2_squared=norm, linf=Fraction(1), relation=Relation(relation), coordinates=votes)
