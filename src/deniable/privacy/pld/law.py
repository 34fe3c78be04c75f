"""The law of a privacy loss, as functions of a threshold: what composition and sampling need to know of a pair.

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
    """Probabilities of one family of half-lines under both laws, and a bound on their relative error.

    The true event may differ from the half-line {L > l} by moving l by at most the law's `slack`.
    """

    p: Floats
    q: Floats
    error: Floats


class Atoms(NamedTuple):
    """All finite losses, increasing, with their probabilities and the relative error of these."""

    losses: Floats
    p: Floats
    q: Floats
    error: float


class LossLaw(ABC):
    """The law of the privacy loss L = ln dP/dQ of one ordered pair.

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
        ends = [end for end in (self.highest, self.lowest) if math.isfinite(end)]
        return ends[0] if ends else 0.0

    @property
    def whole(self) -> float:
        """At least the probability of a finite loss."""
        return (1 - self.infinite) * (1 + 4 * UNIT)

    @abstractmethod
    def above(self, losses: Floats) -> Tails:
        """P(l < L < inf) and Q(L > l) for each l."""

    @abstractmethod
    def below(self, losses: Floats) -> Tails:
        """P(L <= l) and Q(-inf < L <= l) for each l."""

    def atoms(self) -> Atoms | None:
        """All finite losses, where they are few."""
        return None

    def likely(self) -> tuple[Atoms, float] | None:
        """Finite losses, where they are few, and a bound on the probability under P of all others."""
        found = self.atoms()
        return None if found is None else (found, 0.0)

    def slack(self, reach: float) -> float:
        """How far the thresholds of events may be from those asked for, when these are at most `reach` in size."""
        return 0.0

    def slacks(self, losses: Floats) -> Floats:
        """The same for each threshold; at most `slack` of the largest."""
        return np.full(losses.shape, self.slack(float(np.abs(losses).max(initial=0.0))))

    def moment_above(self, order: float, loss: float) -> float:
        """The logarithm of a bound on E_Q[(P/Q)^order; L > loss]; infinite where none is known."""
        return -math.inf if self.highest <= loss else math.inf


class Pairs(NamedTuple):
    """The laws of a mechanism in both directions: (with the unit, without it) and (without, with).

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
        """One law for both directions."""
        both = (upper, upper)
        return cls(both, both if lower is None else (lower, lower))


class ReversedLaw(LossLaw):
    """The law of the pair (Q, P), whose loss is -L."""

    def __init__(self, base: LossLaw) -> None:
        self.base = base
        self.infinite, self.vanishing = base.vanishing, base.infinite
        self.lowest, self.highest = -base.highest, -base.lowest
        self.spacing = base.spacing

    @property
    def anchor(self) -> float:
        return -self.base.anchor if math.isinf(self.highest) else self.highest

    def above(self, losses: Floats) -> Tails:
        found = self.base.below(-losses)
        return Tails(found.q, found.p, found.error)

    def below(self, losses: Floats) -> Tails:
        found = self.base.above(-losses)
        return Tails(found.q, found.p, found.error)

    def atoms(self) -> Atoms | None:
        found = self.base.atoms()
        return None if found is None else Atoms(-found.losses[::-1], found.q[::-1], found.p[::-1], found.error)

    def slack(self, reach: float) -> float:
        return self.base.slack(reach)

    def slacks(self, losses: Floats) -> Floats:
        return self.base.slacks(-losses)


class FiniteLaw(LossLaw):
    """Finitely many finite losses with their probabilities, each known to a few roundings.

    Args:
        losses: increasing; each within 4 roundings of the truth, relatively.
        p: P(L = loss), each relatively within `roundings`.
        q: Q(L = loss), likewise.
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
        self.losses, self.infinite, self.vanishing, self.spacing = losses, infinite, vanishing, spacing
        self.lowest, self.highest = (float(losses[0]), float(losses[-1])) if losses.size else (0.0, 0.0)
        self._above = np.array([_sums_from_the_right(p), _sums_from_the_right(q)])
        self._below = np.array([_sums_from_the_right(p[::-1])[::-1], _sums_from_the_right(q[::-1])[::-1]])
        self._atoms = Atoms(losses, p, q, (roundings + 2) * UNIT)
        terms = losses.size * float(np.finfo(np.longdouble).eps)
        self._error = (roundings + 2) * UNIT + 2 * terms

    def above(self, losses: Floats) -> Tails:
        place = np.searchsorted(self.losses, losses, side="right")
        p, q = self._above[:, place]
        return Tails(p, q, np.full(p.shape, self._error))

    def below(self, losses: Floats) -> Tails:
        place = np.searchsorted(self.losses, losses, side="right")
        p, q = self._below[:, place]
        return Tails(p, q, np.full(p.shape, self._error))

    def atoms(self) -> Atoms:
        return self._atoms

    def slack(self, reach: float) -> float:
        return 8 * UNIT * reach


def _sums_from_the_right(masses: Floats) -> Floats:
    """Sums of masses[i:], for i = 0 ... n, in extended precision where the machine has it."""
    sums = np.zeros(masses.size + 1, dtype=np.longdouble)
    np.cumsum(masses[::-1], dtype=np.longdouble, out=sums[1:])
    return sums[::-1].astype(np.float64)
