"""Randomised response: true answers with a known probability, else other ones."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Mechanism, Released, WorstCase, require_listed
from deniable.mechanisms.integers import integers
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers import balls
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, positive_integer, whole_number
from deniable.privacy import PrivacyLoss, RandomizedResponseLoss, Replace, Sensitivity
from deniable.privacy.losses.randomized_response import RandomizedResponseStatement
from deniable.rows import array_of, replaced

if TYPE_CHECKING:
    from flint import arb

LARGEST_CHOICES = 2**31


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """Report the true answer with a known probability, else another one evenly.

    Make it from what is known: `RandomizedResponse(choices=3, truth="3/4")`, `of_bias(gamma)`, `of_coin(share)` or
    `RandomizedResponse(choices=k, epsilon=1)`, where the truth has probability e^epsilon / (e^epsilon + k - 1).

    Args:
        choices: how many answers there are, from 2 to 2^31; they are 0, ..., choices - 1.
        truth: the probability of the true answer, in (0, 1); None when epsilon is given.
        epsilon: of one report; None when truth is given.

    Guarantee: for each report epsilon = |ln(truth (choices - 1) / (1 - truth))|, under replace; the curve is in
        RandomizedResponseLoss.
    Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387.

    >>> mechanism = RandomizedResponse(choices=2, truth="3/4")
    >>> f"{mechanism.privacy_loss(mechanism.sensitivity()).epsilon(0).upper:.4f}"  # ln 3
    '1.0986'
    >>> mechanism.pmf(1)
    {0: 0.25, 1: 0.75}
    >>> reports = mechanism.release([0, 1, 1, 0]).value
    """

    kind: ClassVar[str] = "randomized_response"

    choices: int = 2
    truth: Fraction | None = None
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        whole_number("choices", self.choices, lower=1, upper=LARGEST_CHOICES)
        checked = RandomizedResponseStatement(truth=self.truth, choices=self.choices, epsilon=self.epsilon)
        read_fields(self, choices=checked.choices, truth=checked.truth, epsilon=checked.limit)

    @classmethod
    def of_bias(cls, gamma: Real) -> "RandomizedResponse":
        """Return binary response that is true with probability 1/2 + gamma.

        Args:
            gamma: in [0, 1/2).
        """
        return cls(truth=RandomizedResponseStatement.of_bias(gamma).truth)

    @classmethod
    def of_coin(cls, share: Real, *, choices: int = 2) -> "RandomizedResponse":
        """Return the truth with probability `share`, else an answer drawn evenly.

        The even draw is from all answers, the true one included.
        """
        return cls(truth=RandomizedResponseStatement.of_coin(share, choices=choices).truth, choices=choices)

    def sensitivity(self, *, reports: int = 1) -> Sensitivity:
        """Return the sensitivity of the answers of one person who gives `reports`."""
        count = positive_integer("reports", reports)
        largest_change = self.choices - 1
        return Sensitivity(
            l1=Fraction(count * largest_change),
            l2_squared=Fraction(count * largest_change**2),
            linf=Fraction(largest_change),
            relation=Replace,
            coordinates=count,
        )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss of all reports of one person.

        They are as many as the answers that the sensitivity lets a unit change.

        Raises: UnprovedError under add/remove: that a person reports at all is not hidden.
        """
        if sensitivity.relation is not Replace:
            raise UnprovedError(
                "randomised response is proved for Replace: it hides what a person answers, not that there is an "
                "answer. Count the reports with Laplace noise if their number is private."
            )
        if sensitivity.coordinates is None:
            raise InvalidParameterError(
                "coordinates must say how many reports one unit gives, got None. Make it with sensitivity(reports=...)."
            )
        return RandomizedResponseLoss(truth=self.truth, choices=self.choices, epsilon=self.epsilon) * (
            sensitivity.coordinates
        )

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[NDArray[np.int64]]:
        """Return a report for each answer.

        Args:
            exact: secret; an answer, a list of answers, or an array of any shape. What is outside 0, ..., choices - 1
                becomes the nearest answer, and entries that are not numbers the answer 0, since an error would reveal
                them.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError for an array of a type that holds no numbers.
        """
        given = array_of(exact)
        upper = self.choices - 1
        if given is not None:
            answers = replaced("exact", given.reshape(-1), by=0, lower=0, upper=upper).reshape(given.shape)
        elif hasattr(type(exact), "__len__") and not isinstance(exact, str | bytes):
            answers = replaced("exact", exact, by=0, lower=0, upper=upper)
        else:
            answers = replaced("exact", [exact], by=0, lower=0, upper=upper).reshape(())
        other: NDArray[np.int64] | int = 1
        if self.choices > 2:
            other = uniform.below(self.choices - 1, size=answers.shape, bits=bits) + 1
        reports = answers + np.where(self._lies(answers.shape, bits), other, 0)
        reports -= np.where(reports >= self.choices, self.choices, 0)
        return Released(reports, bits.safe)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "Fraction | arb"]:
        """Return the probability of every report, or of every tuple of reports."""
        given = np.asarray(exact)
        answers = integers("exact", given.reshape(-1)).tolist()
        require_listed(min(self.choices, 2**20) ** min(len(answers), 20))
        if not all(0 <= answer < self.choices for answer in answers):
            raise InvalidParameterError(f"exact must hold answers from 0 to {self.choices - 1}")
        true, other = self.chances()
        masses: dict[tuple[int, ...], Any] = {(): 1}
        for answer in answers:
            masses = {
                (*report, code): (true if code == answer else other) * mass
                for report, mass in masses.items()
                for code in range(self.choices)
            }
        return {report if given.ndim else report[0]: mass for report, mass in masses.items()}

    def chances(self) -> "tuple[Fraction | arb, Fraction | arb]":
        """Return the probability that an answer is reported by holders, and by others.

        Balls where they are not rational.
        """
        if self.truth is not None:
            return self.truth, (1 - self.truth) / (self.choices - 1)
        assert self.epsilon is not None
        ratio = ball(-self.epsilon).exp()
        return 1 / (1 + (self.choices - 1) * ratio), ratio / (1 + (self.choices - 1) * ratio)

    def _lies(self, shape: tuple[int, ...], bits: Bits) -> NDArray[np.bool_]:
        if self.truth is not None:
            return bernoulli.sample(p=1 - self.truth, size=shape, bits=bits)
        assert self.epsilon is not None
        return bernoulli.sample_enclosed(p=_lie(self.epsilon, self.choices - 1), size=shape, bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the reports of each run as one number, with `choices` as its base."""
        reports = self.release(np.tile(exact, (runs, 1)), bits=bits).value
        return np.asarray(reports @ self.choices ** np.arange(len(exact)))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one of three answers at epsilon = 1 for another.

        The event that it is reported attains the curve.
        """
        mechanism = cls(choices=3, epsilon=Fraction(1))
        return WorstCase(mechanism=mechanism, sensitivity=mechanism.sensitivity(), exact=(2,), neighbour=(0,))


@lru_cache(maxsize=64)
def _lie(epsilon: Fraction, others: int) -> Callable[[], "arb"]:
    """Return enclosures of the probability of a false answer."""
    return lambda: others / (balls.ball(epsilon).exp() + others)
