"""Public mixtures: one of several mechanisms, drawn independently of the data."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_rational, quotient_text, readable
from deniable.privacy.charge import Charge
from deniable.privacy.notions.renyi import Directions, directed
from deniable.privacy.notions.renyi_combined import mixture_divergence
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, composed_delta, composed_epsilon
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw, Pairs, Tails
from deniable.privacy.pld.search import RepeatedPair
from deniable.privacy.pld.sum_law import merged
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Stated, Statement, statement_of

Weighted = tuple[Fraction, Statement]

_MAX_LATTICE_STEPS = 2**12  # from the least loss to the greatest


class OneOf(Statement):
    """One of several losses; in every currency it costs at most the greatest of them."""

    @property
    @abstractmethod
    def alternatives(self) -> tuple[Statement, ...]: ...

    @abstractmethod
    def _merged(self, failures: list[Fraction]) -> Fraction:
        """Return the probability that one of the alternatives fails, from theirs."""

    @property
    def failing_epsilon(self) -> Fraction | None:
        return greatest(loss.failing_epsilon for loss in self.alternatives)

    @property
    def failing_rho(self) -> Fraction | None:
        return greatest(loss.failing_rho for loss in self.alternatives)

    @property
    def mu_squared(self) -> Fraction | None:
        return greatest(loss.mu_squared for loss in self.alternatives)

    @property
    def failure(self) -> Fraction:
        return self._merged([loss.failure for loss in self.alternatives])

    def charge(self) -> Charge:
        """Return the greatest charge of the alternatives, in every currency."""
        booked = [loss.charge() for loss in self.alternatives]
        return Charge(
            epsilon=greatest(charge.epsilon for charge in booked),
            delta=self._merged([charge.delta for charge in booked]),
            rho=greatest(charge.rho for charge in booked),
            mu_squared=greatest(charge.mu_squared for charge in booked),
            failing_epsilon=greatest(charge.failing_epsilon for charge in booked),
            failing_rho=greatest(charge.failing_rho for charge in booked),
            failing_mu_squared=greatest(charge.failing_mu_squared for charge in booked),
            failure=self._merged([charge.failure for charge in booked]),
        )


@dataclass(frozen=True, init=False)
class PublicMixture(OneOf):
    """One of several mechanisms, drawn with public weights.

    Which one ran may be known to everybody.

    Guarantee: delta is the weighted sum of the deltas at the same epsilon, for each two neighbours in each direction.
        The weights are numbers that were fixed without looking at the data: a choice that depends on the data is a
        mechanism of its own and has to be paid for.
    Source: docs/theory/privacy/parallel.md.
    """

    kind: ClassVar[str] = "public_mixture"
    parts: tuple[Weighted, ...]

    def __init__(self, parts: Iterable[tuple[object, Stated]]) -> None:
        merged: dict[Statement, Fraction] = {}
        for weight, loss in parts:
            if callable(weight):
                raise UnprovedError(
                    "the weights of a mixture must be public numbers: no theorem covers weights that depend on the "
                    "data. Choose with a mechanism, such as the exponential one, and add its loss."
                )
            share, stated = positive_rational("weight", weight), statement_of("every loss of a mixture", loss)
            for inner, part in stated.parts if isinstance(stated, PublicMixture) else ((Fraction(1), stated),):
                merged[part] = merged.get(part, Fraction(0)) + share * inner
        total = sum(merged.values(), Fraction(0))
        if total != 1:
            raise InvalidParameterError(f"the weights must sum to 1, got {total}. Write them as fractions: '1/3'.")
        ordered = sorted(((weight, loss) for loss, weight in merged.items()), key=lambda part: part[1].sort_key)
        read_fields(self, parts=tuple(ordered))
        if not self.relations:
            raise UnprovedError(
                "these losses are proved for different neighbouring relations and have no common guarantee. "
                "Build all of them for one relation."
            )

    def __repr__(self) -> str:
        return f"mixture([{', '.join(f'({readable(weight)!r}, {loss!r})' for weight, loss in self.parts)}])"

    def laws(self) -> Pairs | None:
        """Return mixtures of the laws of all parts; None if one is not known."""
        known = [(weight, loss.laws()) for weight, loss in self.parts]
        pairs_by_weight = [(weight, pairs) for weight, pairs in known if pairs is not None]
        if len(pairs_by_weight) < len(known):
            return None
        upper = _both([(weight, pairs.upper) for weight, pairs in pairs_by_weight])
        if all(pairs.lower is pairs.upper for _, pairs in pairs_by_weight):
            return Pairs(upper, upper)
        return Pairs(upper, _both([(weight, pairs.lower) for weight, pairs in pairs_by_weight]))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, to the default tolerance."""
        return self.delta_within(epsilon, DEFAULT_TOLERANCE)

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta as the weighted sum of curves, or from the laws.

        From the laws where a part differs in its directions; one-sided where laws are not known.
        """
        laws = self.laws()
        if laws is not None and not laws.is_symmetric:
            return _from_above_to_below(
                composed_delta(_once(laws.upper), epsilon, tolerance),
                composed_delta(_once(laws.lower), epsilon, tolerance),
            )
        deltas = [(weight, loss.delta_within(epsilon, tolerance)) for weight, loss in self.parts]
        upper = sum((weight * Fraction(delta.upper) for weight, delta in deltas), Fraction(0))
        lower = [weight * Fraction(delta.lower) for weight, delta in deltas]
        lower_sum = sum(lower, Fraction(0)) if laws is not None else max(lower)
        wide = any(delta.wide for _, delta in deltas)
        return Interval(Interval.around(lower_sum).lower, min(Interval.around(upper).upper, 1.0), wide=wide)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return epsilon from the laws, where a part differs in its directions."""
        laws = self.laws()
        if laws is not None and not laws.is_symmetric and self.infinite_mass <= delta != 0:
            return _from_above_to_below(
                composed_epsilon(_once(laws.upper), delta, tolerance),
                composed_epsilon(_once(laws.lower), delta, tolerance),
            )
        return super().epsilon_within(delta, tolerance)

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences of the mixture.

        Parts without laws may attain their divergences for different neighbours; then the others diverge by 0.
        """
        parts = [(weight, directed(part, order)) for weight, part in self.parts]
        attained = self.laws() is not None

        def in_direction(side: int) -> Interval:
            lowers = [(weight, both[side].lower) for weight, both in parts]
            tried = [lowers] if attained else [[(w, d), (1 - w, 0.0)] for w, d in lowers]
            upper = mixture_divergence([(weight, both[side].upper) for weight, both in parts], order).upper
            return Interval(min(max(mixture_divergence(case, order).lower for case in tried), upper), upper)

        return in_direction(0), in_direction(1)

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset(Relation).intersection(*(loss.relations for _, loss in self.parts))

    @property
    def infinite_mass(self) -> Fraction:
        """Greatest weighted infinite mass of a part."""
        return max(weight * loss.infinite_mass for weight, loss in self.parts)

    @property
    def alternatives(self) -> tuple[Statement, ...]:
        return tuple(loss for _, loss in self.parts)

    def _merged(self, failures: list[Fraction]) -> Fraction:
        """Return the weighted sum of the failures."""
        return sum((weight * failed for (weight, _), failed in zip(self.parts, failures, strict=True)), Fraction(0))

    def to_data(self) -> dict[str, object]:
        parts = [{"weight": quotient_text(weight), "part": loss.to_data()} for weight, loss in self.parts]
        return {"loss": self.kind, "parts": parts}

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        parts = values.pop("parts", None)
        known = isinstance(parts, list) and all(isinstance(p, dict) and set(p) == {"weight", "part"} for p in parts)
        if values or not known:
            raise InvalidParameterError("a public mixture needs the field 'parts': a list of {weight, part}")
        assert isinstance(parts, list)
        return cls([(part["weight"], Statement.from_data(part["part"])) for part in parts])


class MixedLaw(LossLaw):
    """Law of the pair (sum of weight P, sum of weight Q) on separate outcomes.

    Its tails are the weighted sums.
    """

    def __init__(self, parts: list[tuple[Fraction, LossLaw]]) -> None:
        self._parts = [(float(weight), law) for weight, law in parts]
        laws = [law for _, law in parts]
        self.infinite = float(sum((weight * Fraction(law.infinite) for weight, law in parts), Fraction(0)))
        self.vanishing = float(sum((weight * Fraction(law.vanishing) for weight, law in parts), Fraction(0)))
        self.lowest, self.highest = min(law.lowest for law in laws), max(law.highest for law in laws)
        self.spacing = _common_spacing(laws)

    def above(self, losses: Floats) -> Tails:
        """Return the weighted sums of tails."""
        return self._mixed([law.above(losses) for _, law in self._parts])

    def below(self, losses: Floats) -> Tails:
        """Return the weighted sums of lower tails."""
        return self._mixed([law.below(losses) for _, law in self._parts])

    def atoms(self) -> Atoms | None:
        """Return the atoms of all parts, merged; None if some part has too many."""
        by_law = [law.atoms() for _, law in self._parts]
        known = [atoms for atoms in by_law if atoms is not None]
        if len(known) < len(by_law):
            return None
        losses = np.concatenate([atoms.losses for atoms in known])
        p, q = (
            np.concatenate([weight * side for (weight, _), side in zip(self._parts, sides, strict=True)])
            for sides in ([atoms.p for atoms in known], [atoms.q for atoms in known])
        )
        return merged(losses, p, q, max(atoms.error for atoms in known) + 4 * UNIT, self.spacing)

    def slack(self, magnitude: float) -> float:
        """Return the greatest slack of the parts.

        Every outcome keeps the threshold of its own part; a common lattice holds the losses to a few roundings.
        """
        moved = 0.0 if self.spacing is None else 32 * UNIT * max(abs(self.lowest), abs(self.highest))
        return max(law.slack(magnitude) for _, law in self._parts) + moved

    def _mixed(self, tails: list[Tails]) -> Tails:
        """Return the weighted sum of tails."""
        weights = [weight for weight, _ in self._parts]
        p, q = np.zeros_like(tails[0].p), np.zeros_like(tails[0].q)
        for weight, tail in zip(weights, tails, strict=True):
            p, q = p + weight * tail.p, q + weight * tail.q
        error = np.maximum.reduce([tail.error for tail in tails]) + (len(tails) + 4) * UNIT
        return Tails(p, q, error)


def _common_spacing(laws: list[LossLaw]) -> float | None:
    """Return the spacing of a lattice that holds all finite losses of all laws.

    None if there is none that is coarse enough. Spacings and distances are read as the simple fractions that they are
    within a few roundings of.

    Spacings and distances are read as the simple fractions that they are within a few roundings of.
    """
    top = max(law.anchor for law in laws)
    steps = []
    for law in laws:
        if law.highest > law.lowest:  # a single loss lies on every lattice
            if law.spacing is None:
                return None
            steps.append(law.spacing)
        if law.anchor < top:
            steps.append(top - law.anchor)
    unit = max(steps, default=1.0)
    shares = [Fraction(step / unit).limit_denominator(_MAX_LATTICE_STEPS) for step in steps]
    if any(abs(float(share) - step / unit) > 8 * UNIT for share, step in zip(shares, steps, strict=True)):
        return None
    common = reduce(_common_divisor, shares, Fraction(0)) or Fraction(1)
    spread = max(law.highest for law in laws) - min(law.lowest for law in laws)
    return float(common) * unit if spread <= _MAX_LATTICE_STEPS * float(common) * unit else None


def _common_divisor(a: Fraction, b: Fraction) -> Fraction:
    """Return the greatest common divisor of two fractions."""
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def mixed(parts: Iterable[tuple[object, Stated]]) -> Statement:
    """Return the statement of a mechanism that is drawn with public weights.

    A single one is returned as itself.
    """
    statement = PublicMixture(parts)
    return statement.parts[0][1] if len(statement.parts) == 1 else statement


def greatest(values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the maximum, or None when one of them is unknown."""
    known = list(values)
    return None if any(value is None for value in known) else max(value for value in known if value is not None)


def _both(parts: list[tuple[Fraction, tuple[LossLaw, LossLaw]]]) -> tuple[LossLaw, LossLaw]:
    """Return the mixtures of both directions, or one for both."""
    one = MixedLaw([(weight, both[0]) for weight, both in parts])
    if all(both[0] is both[1] for _, both in parts):
        return one, one
    return one, MixedLaw([(weight, both[1]) for weight, both in parts])


def _once(both: tuple[LossLaw, LossLaw]) -> list[list[RepeatedPair]]:
    """Return both directions, each as one run."""
    return [[RepeatedPair(law, 1)] for law in both]


def _from_above_to_below(upper: Interval, lower: Interval) -> Interval:
    """Return the interval from the lower answer to the upper one."""
    return Interval(min(lower.lower, upper.upper), upper.upper)
