"""Law of the loss on a Poisson sample, from the law of the loss on all units."""

import math
from fractions import Fraction

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw, Pairs, ReversedLaw, Tails


class SampledLaw(LossLaw):
    """Law of ((1 - rate) Q + rate P, Q), from that of (P, Q).

    The loss L becomes ln(1 - rate + rate exp(L)).
    """

    def __init__(self, base: LossLaw, rate: Fraction) -> None:
        self.base = base
        self.rate = float(rate)
        self.rest = float(1 - rate)
        self.infinite = self.rate * base.infinite
        self.floor = _log(1 - rate)
        self.lowest = self._moved(base.lowest) if base.vanishing == 0 else self.floor
        self.highest = self._moved(base.highest)
        atoms = base.atoms()
        if atoms is not None and atoms.losses.size + (base.vanishing > 0) == 2:  # what vanished is at the floor
            self.spacing = self.highest - self.lowest

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the base at the losses that become these."""
        inside = np.maximum(losses, self.floor)
        tails = self.base.above(self._origin(inside))
        p = self.rest * tails.q + self.rate * tails.p
        low = losses < self.floor
        p, q = np.where(low, 1 - self.infinite, p), np.where(low, 1.0, tails.q)
        return Tails(p, q, tails.error + 8 * UNIT)

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails of the base at the losses that become these."""
        tails = self.base.below(self._origin(np.maximum(losses, self.floor)))
        low = losses < self.floor
        q = np.where(low, 0.0, tails.q + self.base.vanishing)
        p = np.where(low, 0.0, self.rest * q + self.rate * tails.p)
        return Tails(p, q, tails.error + 8 * UNIT)

    def atoms(self) -> Atoms | None:
        """Return the losses that the atoms of the base become."""
        atoms = self.base.atoms()
        if atoms is None or self.base.vanishing:
            return None
        losses = np.array([self._moved(float(loss)) for loss in atoms.losses])
        return Atoms(losses, self.rest * atoms.q + self.rate * atoms.p, atoms.q, atoms.error + 8 * UNIT)

    def slack(self, magnitude: float) -> float:
        """Return the slack from roundings and from the base's threshold.

        Roundings of exp(l) - 1 count times 1 - exp(-l); those of the base's threshold are shrunk by the mixing.
        """
        within = max(magnitude - math.log(self.rate), 40.0)
        return UNIT * (16 + 8 * within + 8 * math.exp(min(-self.floor, magnitude, 700.0))) + self.base.slack(within)

    def slacks(self, losses: Floats) -> Floats:
        """Return the slack of each threshold.

        The base's threshold L has an error of roundings; it counts times dl/dL, the share of the sampled part.
        """
        inside = np.maximum(losses, self.floor)
        origin = self._origin(inside)
        within = np.maximum(origin, -1e3)
        share = np.minimum(self.rate * np.exp(np.minimum(within - inside, 600.0)), 1.0)
        rounding = 16 * np.abs(np.expm1(-inside)) + 8 * np.abs(within) * share
        return np.asarray(UNIT * rounding + self.base.slacks(within) * share)

    def moment_above(self, order: float, loss: float) -> float:
        """Return a bound on the moment above a loss, from that of the base.

        Where the loss l exceeds 0 the base's is at least l, and exp(l) <= (rate + exp(-l)) exp(base's loss).
        """
        if self.highest <= loss:
            return -math.inf
        if loss < 0:
            return math.inf
        return order * math.log(min(self.rate + math.exp(-loss), 1.0)) + self.base.moment_above(order, loss) + 1e-9

    def _moved(self, loss: float) -> float:
        """Return the loss that a loss of the base becomes."""
        if math.isinf(loss):
            return self.floor if loss < 0 else math.inf
        return math.log1p(self.rate * math.expm1(loss)) if loss < 500 else loss + math.log(self.rate)

    def _origin(self, losses: Floats) -> Floats:
        """Return the base loss that becomes the given one, -inf at the floor."""
        grown = np.expm1(np.minimum(losses, 600.0)) / self.rate
        small = np.where(grown > -1, np.log1p(np.maximum(grown, -1 + UNIT)), -np.inf)
        return np.where(losses < 500, small, losses - math.log(self.rate))


def mixed_pairs(base: Pairs, rate: Fraction) -> Pairs:
    """Return the pairs of laws after sampling, in both directions.

    ((1 - rate) Q + rate P, Q) for the first direction, and for the second (P, (1 - rate) P + rate Q).
    """
    upper = _mixed(base.upper, rate)
    return Pairs(upper, upper if base.lower is base.upper else _mixed(base.lower, rate))


def _mixed(both: tuple[LossLaw, LossLaw], rate: Fraction) -> tuple[LossLaw, LossLaw]:
    """Return the laws after sampling, of one pair in both directions."""
    return SampledLaw(both[0], rate), ReversedLaw(SampledLaw(ReversedLaw(both[1]), rate))


def _log(share: Fraction) -> float:
    """Return ln(share), accurate near 1."""
    return math.log1p(-float(1 - share)) if share > Fraction(1, 2) else math.log(float(share))
