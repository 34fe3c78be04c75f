"""Randomised response: the true answer with some probability, else another one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, exact_rational, positive_integer, positive_rational
from deniable.privacy.amplification.shuffling.randomizers import Channel, KaryResponse, Randomizer
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.pld.law import FiniteLaw, Pairs
from deniable.privacy.relation import Replace
from deniable.privacy.statement import Statement

_MAX_CHOICES = 16  # of a channel that is listed


@dataclass(frozen=True, init=False)
class RandomizedResponseStatement(Statement):
    """Loss of randomised response: one report of one of several answers.

    The true answer has probability `truth`; all others are equally likely. Make it from what is known:
    `RandomizedResponseLoss(truth="3/4", choices=2)`, `of_bias(gamma)` (truth with probability 1/2 + gamma),
    `of_coin(share)` (the truth with probability `share`, else an answer drawn evenly from all), or
    `RandomizedResponseLoss(epsilon=1, choices=3)`: the truth with probability e^epsilon / (e^epsilon + 2).

    Args:
        truth: the probability of the true answer, in (0, 1); this or epsilon.
        choices: the number of answers, at least 2.
        epsilon: the local epsilon; this or truth.

    Guarantee: with f = (1 - truth)/(choices - 1), h = max(truth, f) and l = min(truth, f), the pair of any two true
        answers has delta(x) = max(0, h - e^x l), in both directions; ln(h/l)-DP. Relation: replace, one person's answer
        by any other; that a person reports at all is not hidden.
    Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387.

    >>> from deniable.privacy import RandomizedResponseLoss
    >>> print(f"{RandomizedResponseLoss(truth='3/4', choices=2).epsilon(0).upper:.4f}")  # ln 3
    1.0986
    """

    kind: ClassVar[str] = "randomized_response"
    choices: Annotated[int, positive_integer]
    truth: Annotated[Fraction | None, exact_rational]
    words: ClassVar[Mapping[str, str]] = {"limit": "epsilon"}
    limit: Fraction | None
    relations = frozenset({Replace})

    def __init__(self, *, truth: Real | None = None, choices: object = 2, epsilon: Real | None = None) -> None:
        read_fields(self, choices=choices)
        if self.choices < 2:
            raise InvalidParameterError(f"choices must be >= 2, got {choices!r}")
        if (truth is None) == (epsilon is None):
            raise InvalidParameterError("give either truth, the probability of the true answer, or epsilon")
        read_fields(self, limit=None if epsilon is None else positive_rational("epsilon", epsilon), truth=truth)
        if self.truth is not None and not 0 < self.truth < 1:
            raise InvalidParameterError(
                f"truth must be in (0, 1), got {truth!r}: at 0 or 1 some answer rules another one out for certain"
            )

    @classmethod
    def of_bias(cls, gamma: Real) -> "RandomizedResponseStatement":
        """Return binary response with truth of probability 1/2 + gamma, in [0, 1/2)."""
        bias = exact_rational("gamma", gamma)
        if not 0 <= bias < Fraction(1, 2):
            raise InvalidParameterError(f"gamma must be in [0, 1/2), got {gamma!r}")
        return cls(truth=Fraction(1, 2) + bias)

    @classmethod
    def of_coin(cls, share: Real, *, choices: object = 2) -> "RandomizedResponseStatement":
        """Return response with the truth with probability `share`, else a random answer.

        `share` is in [0, 1); the random answer is drawn evenly from all, the true one included.
        """
        known = exact_rational("share", share)
        if not 0 <= known < 1:
            raise InvalidParameterError(f"share must be in [0, 1), got {share!r}")
        return cls(truth=known + (1 - known) / positive_integer("choices", choices), choices=choices)

    def __repr__(self) -> str:
        if self.truth is None:
            return f"RandomizedResponseLoss(epsilon={self.limit!r}, choices={self.choices})"
        return f"RandomizedResponseLoss(truth={self.truth!r}, choices={self.choices})"

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of any two true answers."""
        if self.truth is not None and 1 + epsilon >= self._ratio:  # e^x >= 1 + x
            return Interval(0.0, 0.0)
        if self.truth is None and self.limit is not None and epsilon >= self.limit:
            return Interval(0.0, 0.0)

        def formula() -> Arb:
            high, low = self._masses()
            return high - ball(epsilon).exp() * low

        return certified(formula)

    def _masses(self) -> tuple[Arb, Arb]:
        """Return the probabilities of the likelier and of the other of two true answers."""
        if self.truth is not None:
            low = self._low
            return ball(self._ratio * low), ball(low)
        assert self.limit is not None
        whole = ball(self.limit).exp() + (self.choices - 1)
        return ball(self.limit).exp() / whole, 1 / whole

    @property
    def _low(self) -> Fraction:
        """Smaller of the probabilities of the true and of another answer."""
        assert self.truth is not None
        return min(self.truth, (1 - self.truth) / (self.choices - 1))

    @property
    def _ratio(self) -> Fraction:
        """Likelihood ratio of two true answers, at least 1."""
        assert self.truth is not None
        return max(self.truth, (1 - self.truth) / (self.choices - 1)) / self._low

    def laws(self) -> Pairs:
        """Return the law with two or three losses."""
        if self.truth is not None:
            high, low = float(self._ratio * self._low), float(self._low)
            limit = math.log1p(float(self._ratio - 1)) if self._ratio < 2 else math.log(float(self._ratio))
            rest = float(1 - self._low - self._ratio * self._low)
        else:
            assert self.limit is not None
            limit = float(self.limit)
            low = math.exp(-limit) / (1 + (self.choices - 1) * math.exp(-limit))
            high = 1 / (1 + (self.choices - 1) * math.exp(-limit))
            rest = (self.choices - 2) * low
        if limit == 0:
            return Pairs.symmetric(FiniteLaw(np.zeros(1), np.ones(1), np.ones(1)))
        losses, p = np.array([-limit, 0.0, limit]), np.array([low, rest, high])
        if self.choices == 2:
            losses, p = losses[[0, 2]], p[[0, 2]]
        spacing = limit if self.choices > 2 else 2 * limit
        return Pairs.symmetric(FiniteLaw(losses, p, p[::-1], spacing=spacing, roundings=16 + 2 * limit))

    def as_randomizer(self) -> Randomizer:
        """Return the report as the channel that it is."""
        if self.limit is not None:
            return KaryResponse(epsilon=self.limit, categories=self.choices)
        if self.choices > _MAX_CHOICES:
            raise InvalidParameterError(
                f"randomised response among more than {_MAX_CHOICES} answers is shuffled by its epsilon alone, "
                f"got {self!r}. Use KaryResponse(epsilon='{math.nextafter(float(self.failing_epsilon), math.inf)}', "
                f"categories={self.choices}), which reveals no less."
            )
        assert self.truth is not None
        other = (1 - self.truth) / (self.choices - 1)
        answers = range(self.choices)
        return Channel(rows=[[self.truth if said == held else other for said in answers] for held in answers])

    @property
    def failing_epsilon(self) -> Fraction:
        """Logarithm of the likelihood ratio of two true answers, rounded up."""
        if self.truth is None:
            assert self.limit is not None
            return self.limit
        if self._ratio == 1:
            return Fraction(0)
        limit = certified(lambda: ball(self._ratio).log(), within=NONNEGATIVE)
        return decimal_above(Fraction(limit.upper), DIGITS)
