"""Law of a privacy loss, as functions of a threshold: the input of composition.

A pair (P, Q) has the loss L = ln dP/dQ. Everything that hockey-stick divergences see of it is the law of L under P, and
compositions add losses. Proofs: docs/theory/privacy/composition.md.
"""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats

UNIT = 2.0**-53  # the largest relative error of one rounding


class Tails(NamedTuple):
    """Probabilities of half-lines under both laws, with their relative error.

    The true event may differ from the half-line {L > l} by moving l by at most the law's `slack`.
    """

    p: Floats
    q: Floats
    error: Floats


class Atoms(NamedTuple):
    """Finite losses, increasing, with their probabilities and relative error."""

    losses: Floats
    p: Floats
    q: Floats
    error: float


class LossLaw(ABC):
    """Law of the privacy loss L = ln dP/dQ of one ordered pair.

    infinite: P(L = inf); vanishing: Q(L = -inf); both to one rounding.
    lowest, highest: finite losses lie between them; infinite where nothing is known.
    spacing: all finite losses are `anchor` plus multiples of it; None when they are not on such a lattice.
    anchor: a loss that should lie on a grid; the greatest or else the least one, where it is finite.
    """

    infinite: float = 0.0
    vanishing: float = 0.0
    lowest: float = -np.inf
    highest: float = np.inf
    spacing: float | None = None

    @property
    def anchor(self) -> float:
        """Loss that should lie on a grid: the greatest or else the least, if finite."""
        ends = [end for end in (self.highest, self.lowest) if math.isfinite(end)]
        return ends[0] if ends else 0.0

    @property
    def whole(self) -> float:
        """Upper bound on the probability of a finite loss."""
        return (1 - self.infinite) * (1 + 4 * UNIT)

    @abstractmethod
    def above(self, losses: Floats) -> Tails:
        """Return P(l < L < inf) and Q(L > l) for each l."""

    @abstractmethod
    def below(self, losses: Floats) -> Tails:
        """Return P(L <= l) and Q(-inf < L <= l) for each l."""

    def atoms(self) -> Atoms | None:
        """Return all finite losses, where they are few; None otherwise."""
        return None

    def likely(self) -> tuple[Atoms, float] | None:
        """Return the likely finite losses, and a bound on the probability of all others.

        None where they are not few.
        """
        atoms = self.atoms()
        return None if atoms is None else (atoms, 0.0)

    def slack(self, magnitude: float) -> float:
        """Return the error of event thresholds that are at most `magnitude` in size."""
        return 0.0

    def slacks(self, losses: Floats) -> Floats:
        """Return the error of each threshold; at most `slack` of the largest."""
        return np.full(losses.shape, self.slack(float(np.abs(losses).max(initial=0.0))))

    def moment_above(self, order: float, loss: float) -> float:
        """Return the logarithm of a bound on E_Q[(P/Q)^order; L > loss].

        Infinite where none is known.
        """
        return -math.inf if self.highest <= loss else math.inf


class Pairs(NamedTuple):
    """Laws of a mechanism in both directions: (with the unit, without), and reversed.

    upper: pairs that dominate the mechanism for every two neighbours, so that they may be composed and sampled.
    lower: pairs that it attains for some two neighbours; often the same objects.
    """

    upper: tuple[LossLaw, LossLaw]
    lower: tuple[LossLaw, LossLaw]

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions have one law."""
        return self.upper[0] is self.upper[1] and self.lower[0] is self.lower[1]

    @classmethod
    def symmetric(cls, upper: LossLaw, lower: LossLaw | None = None) -> "Pairs":
        """Return the pairs with one law for both directions."""
        both = (upper, upper)
        return cls(both, both if lower is None else (lower, lower))


class ReversedLaw(LossLaw):
    """Law of the pair (Q, P), whose loss is -L."""

    def __init__(self, base: LossLaw) -> None:
        self.base = base
        self.infinite = base.vanishing
        self.vanishing = base.infinite
        self.lowest, self.highest = -base.highest, -base.lowest
        self.spacing = base.spacing

    @property
    def anchor(self) -> float:
        """Anchor of the base, negated, where the greatest loss is infinite."""
        return -self.base.anchor if math.isinf(self.highest) else self.highest

    def above(self, losses: Floats) -> Tails:
        """Return the lower tails of the base, with P and Q exchanged."""
        tails = self.base.below(-losses)
        return Tails(tails.q, tails.p, tails.error)

    def below(self, losses: Floats) -> Tails:
        """Return the upper tails of the base, with P and Q exchanged."""
        tails = self.base.above(-losses)
        return Tails(tails.q, tails.p, tails.error)

    def atoms(self) -> Atoms | None:
        """Return the atoms of the base, negated, with P and Q exchanged."""
        atoms = self.base.atoms()
        return None if atoms is None else Atoms(-atoms.losses[::-1], atoms.q[::-1], atoms.p[::-1], atoms.error)

    def slack(self, magnitude: float) -> float:
        """Return the slack of the base."""
        return self.base.slack(magnitude)

    def slacks(self, losses: Floats) -> Floats:
        """Return the slacks of the base at the negated thresholds."""
        return self.base.slacks(-losses)


class FiniteLaw(LossLaw):
    """Law with finitely many finite losses, each probability known to a few roundings.

    Args:
        losses: increasing; each within 4 roundings of the truth, relatively.
        p: P(L = loss), each relatively within `roundings`.
        q: Q(L = loss), likewise.
        infinite: P(L = inf).
        vanishing: Q(L = -inf).
        spacing: the step of a lattice that holds all losses; None if there is none.
        roundings: relative error of p and q, in units of one rounding.
    """

    def __init__(
        self,
        losses: Floats,
        p: Floats,
        q: Floats,
        *,
        infinite: float = 0.0,
        vanishing: float = 0.0,
        spacing: float | None = None,
        roundings: float = 4.0,
    ) -> None:
        self.losses = losses
        self.infinite = infinite
        self.vanishing = vanishing
        self.spacing = spacing
        self.lowest, self.highest = (float(losses[0]), float(losses[-1])) if losses.size else (0.0, 0.0)
        self._above = np.array([_sums_from_the_right(p), _sums_from_the_right(q)])
        self._below = np.array([_sums_from_the_right(p[::-1])[::-1], _sums_from_the_right(q[::-1])[::-1]])
        self._atoms = Atoms(losses, p, q, (roundings + 2) * UNIT)
        terms = losses.size * float(np.finfo(np.longdouble).eps)
        self._error = (roundings + 2) * UNIT + 2 * terms

    def above(self, losses: Floats) -> Tails:
        """Return sums of the probabilities above each loss."""
        index = np.searchsorted(self.losses, losses, side="right")
        p, q = self._above[:, index]
        return Tails(p, q, np.full(p.shape, self._error))

    def below(self, losses: Floats) -> Tails:
        """Return sums of the probabilities up to each loss."""
        index = np.searchsorted(self.losses, losses, side="right")
        p, q = self._below[:, index]
        return Tails(p, q, np.full(p.shape, self._error))

    def atoms(self) -> Atoms:
        """Return all losses with their probabilities."""
        return self._atoms

    def slack(self, magnitude: float) -> float:
        """Return 8 roundings of the magnitude."""
        return 8 * UNIT * magnitude


def _sums_from_the_right(masses: Floats) -> Floats:
    """Return the sums of masses[i:], for i = 0 ... n.

    They are made in extended precision where the machine has it.
    """
    sums = np.zeros(masses.size + 1, dtype=np.longdouble)
    np.cumsum(masses[::-1], dtype=np.longdouble, out=sums[1:])
    return sums[::-1].astype(np.float64)
