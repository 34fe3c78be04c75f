"""Gaussian noise with a random centre, as in sampling and matrix mechanisms."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import (
    Real,
    decimal_above,
    exact_rational,
    nonnegative_rational,
    positive_rational,
    quotient_text,
    readable,
    within_floats,
)
from deniable.privacy.losses.gaussian_mixture_law import MixtureLaw
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.notions.renyi import Directions, both_ways, known_divergences, largest
from deniable.privacy.notions.sampled_normal import mixture_divergence
from deniable.privacy.pld.curve_law import pairs_above
from deniable.privacy.pld.law import LossLaw, Pairs, ReversedLaw
from deniable.privacy.relation import Relation, Replace
from deniable.privacy.statement import Statement

Mixture = tuple[tuple[Fraction, Fraction], ...]  # (weight, shift), shifts increasing

_NORMAL_RANGE = 45  # standard deviations beyond the shifts; P(|x| > 45) < 1e-439
_NEGLIGIBLE_DELTA = 1e-300  # more than delta where the loss is below epsilon in this range
_CURVE_POINTS = 300  # of the greater of two curves


@dataclass(frozen=True, init=False)
class GaussianMixtureStatement(Statement):
    """Loss of Gaussian noise whose centre is drawn: one mixture against another.

    It is sum w_j N(c_j, sigma^2) against N(0, sigma^2), or against a second mixture.

    Args:
        mixture: weights with sum 1 and shifts c >= 0, with the unit (or of the first table); for vectors, the l2 norms.
        sigma: the standard deviation of the noise, in the unit of the shifts.
        relation: AddRemove keeps both directions apart.
        against: the second mixture, likewise; N(0, sigma^2) when left out.

    Guarantee: the exact curve in both directions, in one dimension. Vectors v_j with norms of at most c_j, mixed with
        the same weights against the centre 0, are dominated by it. Two-sided mixtures are proved in one dimension, and
        where the likelihood ratio increases: the quotient of the weights at each shift must increase with the shift.
    Source: Choquette-Choo, Ganesh, Steinke, Thakurta (2024), arXiv:2310.15526; proofs in docs/theory/privacy/losses.md.

    >>> from deniable.privacy import AddRemove, GaussianMixtureLoss
    >>> loss = GaussianMixtureLoss([("0.9", 0), ("0.1", 1)], sigma=2, relation=AddRemove)
    >>> print(f"{loss.epsilon('1e-6').upper:.3f}")
    0.491
    """

    kind: ClassVar[str] = "gaussian_mixture"
    mixture: Mixture
    against: Mixture
    sigma: Annotated[Fraction, positive_rational]
    relation: Relation

    def __init__(
        self, mixture: Iterable[object], *, sigma: Real, relation: Relation, against: Iterable[object] = ((1, 0),)
    ) -> None:
        Relation.checked(relation)
        read_fields(
            self,
            mixture=_checked("mixture", mixture),
            against=_checked("against", against),
            sigma=sigma,
            relation=relation,
        )
        if not _increases(self.mixture, self.against):
            raise UnprovedError(
                "nothing is proved for mixtures whose likelihood ratio may fall: at each shift the weight in `mixture` "
                "over that in `against` must increase with the shift. Shifts on both sides of one centre are dominated "
                "by their sizes: give |c|."
            )

    def __repr__(self) -> str:
        against = "" if len(self.against) == 1 and self.against[0][1] == 0 else f", against={_shown(self.against)}"
        ends = f"sigma={self.sigma!r}, relation=Relation.{self.relation.name}{against}"
        return f"GaussianMixtureLoss({_shown(self.mixture)}, {ends})"

    def curve(self, epsilon: Fraction) -> Interval:
        """Return the greater delta of both directions."""
        p, q = self._in_sigmas
        there = _one_way(p, q, epsilon, self._law.position_of(float(epsilon)))
        if self._is_symmetric:
            return there
        back = _one_way(_mirrored(q), _mirrored(p), epsilon, -self._law.position_of(-float(epsilon)))
        return Interval(max(there.lower, back.lower), max(there.upper, back.upper))

    def laws(self) -> Pairs:
        """Return the law in both directions.

        Under replace either direction may occur in each part, and what is composed is above both.
        """
        if self._is_symmetric:
            return Pairs.symmetric(self._law)
        both: tuple[LossLaw, LossLaw] = (self._law, ReversedLaw(self._law))
        return Pairs((self._above_both, self._above_both), both) if self.relation is Replace else Pairs(both, both)

    def divergences(self, order: Fraction) -> Directions:
        """Return certified integrals of both directions, or norms.

        Under replace the larger one for either.
        """
        p, q = self._in_sigmas
        sides = mixture_divergence(p, q, order), mixture_divergence(_mirrored(q), _mirrored(p), order)
        known = known_divergences(self, order)[0].upper
        there, back = (Interval(min(side.lower, known), min(side.upper, known)) for side in sides)
        return both_ways(largest([there, back])) if self.relation is Replace else (there, back)

    @cached_property
    def _above_both(self) -> LossLaw:
        """Pair of a polygon through points of the greater of the two curves."""

        return pairs_above(self.upper_delta, None, _CURVE_POINTS).upper[0]

    @property
    def _in_sigmas(self) -> tuple[Mixture, Mixture]:
        p, q = (tuple((w, c / self.sigma) for w, c in side) for side in (self.mixture, self.against))
        return p, q

    @cached_property
    def _law(self) -> MixtureLaw:
        p, q = self._in_sigmas
        lowest = _logarithm(p[0][0] / q[0][0]) if p[0][1] == q[0][1] else -math.inf
        highest = _logarithm(p[-1][0] / q[-1][0]) if p[-1][1] == q[-1][1] else math.inf
        return MixtureLaw(_in_floats(p), _in_floats(q), lowest=lowest, highest=highest)

    @property
    def _is_symmetric(self) -> bool:
        """Whether turning the line round exchanges the two mixtures."""
        turn = self.mixture[-1][1] + self.against[0][1]
        return self.mixture == tuple((w, turn - c) for w, c in reversed(self.against))

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Greatest loss, bounded only if the extreme shifts of both mixtures agree."""
        ends = [(self.mixture[end], self.against[end]) for end in (0, -1)]
        if any(ours[1] != theirs[1] for ours, theirs in ends):
            return None
        ratio = max(max(w / v, v / w) for (w, _), (v, _) in ends)
        if ratio == 1:
            return Fraction(0)
        limit = certified(lambda: ball(ratio).log(), within=NONNEGATIVE)
        return decimal_above(Fraction(limit.upper), DIGITS)

    @property
    def failing_rho(self) -> Fraction:
        """Rho mu^2 / 2."""
        return self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction:
        """Square of the greatest distance of shifts, both mixtures matched in order."""
        ours, theirs = list(self.mixture), list(self.against)
        greatest = Fraction(0)
        while ours and theirs:
            (w, c), (v, d) = ours.pop(), theirs.pop()
            greatest = max(greatest, abs(c - d))
            if w > v:
                ours.append((w - v, c))
            elif v > w:
                theirs.append((v - w, d))
        return (greatest / self.sigma) ** 2

    def to_data(self) -> dict[str, object]:
        sides = {
            name: [[quotient_text(w), quotient_text(c)] for w, c in getattr(self, name)]
            for name in ("mixture", "against")
        }
        return {"loss": self.kind, **sides, "sigma": quotient_text(self.sigma), "relation": self.relation.value}

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        relation = values.pop("relation", None)
        if relation not in {known.value for known in Relation}:
            raise InvalidParameterError(f"relation must be 'add/remove' or 'replace', got {relation!r}")
        return cls(**values, relation=Relation(relation))  # type: ignore[arg-type]


def _checked(name: str, mixture: Iterable[object]) -> Mixture:
    """Return weights with sum 1 by increasing shift, equal shifts joined."""
    joined: dict[Fraction, Fraction] = {}
    for pair in mixture:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InvalidParameterError(f"{name} must be a list of (weight, shift), got {pair!r} in it")
        weight = nonnegative_rational(f"a weight in {name}", pair[0])
        shift = within_floats(f"a shift in {name}", exact_rational(f"a shift in {name}", pair[1]))
        joined[shift] = joined.get(shift, Fraction(0)) + weight
    if sum(joined.values()) != 1:
        raise InvalidParameterError(
            f"the weights in {name} must have the sum 1 exactly, got {float(sum(joined.values())):.17g}. "
            "Give exact numbers, such as '1/3'; floats stand for their shortest decimal text."
        )
    return tuple((weight, shift) for shift, weight in sorted(joined.items()) if weight)


def _shown(side: Mixture) -> str:
    """Return a mixture as text that can be typed again."""
    return f"[{', '.join(f'({readable(weight)!r}, {readable(shift)!r})' for weight, shift in side)}]"


def _increases(p: Mixture, q: Mixture) -> bool:
    """Return whether the quotient of the weights grows with the shift."""
    ours, theirs = ({shift: weight for weight, shift in side} for side in (p, q))
    weights = [(ours.get(shift, 0), theirs.get(shift, 0)) for shift in sorted({*ours, *theirs})]
    return all(w * v_next <= w_next * v for (w, v), (w_next, v_next) in pairwise(weights))


def _mirrored(side: Mixture) -> Mixture:
    """Return the mixture of the negated shifts."""
    return tuple((weight, -shift) for weight, shift in reversed(side))


def _in_floats(side: Mixture) -> Floats:
    """Return logarithms of weights, and shifts, as floats; shape (2, components)."""
    return np.array([[_logarithm(weight) for weight, _ in side], [float(shift) for _, shift in side]])


def _logarithm(ratio: Fraction) -> float:
    """Return ln of a positive rational, to a few roundings of 1 + its size."""
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _one_way(p: Mixture, q: Mixture, epsilon: Fraction, guess: float) -> Interval:
    """Return delta of p against q, in units of sigma, where the loss increases.

    The best event is {x > t}; at t the loss equals epsilon. In ball arithmetic t is enclosed by Newton's method and by
    the sign of the loss minus epsilon at both ends of the enclosure.

    At t the loss equals epsilon. In ball arithmetic t is enclosed by Newton's method and by the sign of the loss minus
    epsilon at both ends of the enclosure.
    """
    end = max(abs(shift) for _, shift in (*p, *q)) + _NORMAL_RANGE
    if _is_below(p, q, end, epsilon):
        return Interval(0.0, _NEGLIGIBLE_DELTA)

    def formula() -> Arb:
        from flint import arb, ctx

        limit, x = ball(epsilon), arb(guess)
        for _ in range((ctx.prec // 40).bit_length() + 1):
            value, slope = _loss_at(x, p, q)
            x = (x - (value - limit) / slope).mid()
        radius = (1 + abs(x)) * arb(2) ** (24 - ctx.prec)
        if not (_loss_at(x - radius, p, q)[0] < limit < _loss_at(x + radius, p, q)[0]):
            return arb("nan")
        enclosed = x + radius * arb(0, 1)
        return _above(enclosed, p) - limit.exp() * _above(enclosed, q)

    return certified(formula)


def _is_below(p: Mixture, q: Mixture, x: Fraction, epsilon: Fraction) -> bool:
    """Return whether the loss at x is proved to be at most epsilon."""
    from flint import ctx

    with ctx.workprec(128):
        return bool(_loss_at(ball(x), p, q)[0] <= ball(epsilon))


def _loss_at(x: Arb, p: Mixture, q: Mixture) -> tuple[Arb, Arb]:
    """Return the loss at x, and its slope."""
    (ours, our_mean), (theirs, their_mean) = (_moments(x, side) for side in (p, q))
    return (ours / theirs).log(), our_mean - their_mean


def _moments(x: Arb, side: Mixture) -> tuple[Arb, Arb]:
    """Return sum w exp(c x - c^2/2), and the mean of c under these weights."""
    terms = [ball(weight) * (ball(shift) * x - ball(shift**2 / 2)).exp() for weight, shift in side]
    total = sum(terms[1:], terms[0])
    moment = sum((ball(side[index][1]) * term for index, term in enumerate(terms)), 0 * total)
    return total, moment / total


def _above(x: Arb, side: Mixture) -> Arb:
    """Return the probability of values above x."""
    from flint import arb

    root = arb(2).sqrt()
    terms = [ball(weight) * ((x - ball(shift)) / root).erfc() / 2 for weight, shift in side]
    return sum(terms[1:], terms[0])
