"""Losses on a uniformly random set of units of a fixed size, under replace.

Proofs: docs/theory/privacy/sampling.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_integer
from deniable.privacy.amplification.sampling.poisson import SampledStatement, checked_base, known_laws, removed_delta
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw, mixed_pairs
from deniable.privacy.amplification.sampling.triangle import triangle_law
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw, Pairs, Tails
from deniable.privacy.relation import Replace
from deniable.privacy.statement import Stated, Statement

_MAX_EXCESS = 1e-9  # of the positive losses over probability 1, from roundings


class MirroredLaw(LossLaw):
    """Law with the positive losses of `right`, their mirror images, and loss 0.

    A loss is mirrored when P and Q are exchanged. The rest, at loss 0, is not negative: `right` has P(L > 0) + Q(L > 0)
    <= 1.

    A loss is mirrored when P and Q are exchanged. The rest is not negative: `right` has P(L > 0) + Q(L > 0) <= 1.
    """

    def __init__(self, right: LossLaw) -> None:
        self.right = right
        self.infinite = self.vanishing = right.infinite
        self.highest, self.lowest = right.highest, -right.highest
        atoms = self.atoms()
        if atoms is not None and atoms.losses.size == 3:
            self.spacing = self.highest
        tails = right.above(np.zeros(1))
        if float(tails.p[0] + tails.q[0]) + right.infinite > 1 + _MAX_EXCESS:
            raise UnprovedError("a law is mirrored only where its positive losses leave room for their mirror images")

    @property
    def anchor(self) -> float:
        """Loss 0, where much of the law lies."""
        return 0.0  # where much of the law lies

    def above(self, losses: Floats) -> Tails:
        """Return the tails of `right`, mirrored for losses below 0."""
        low = losses < 0
        far = np.where(low, np.nextafter(-losses, -np.inf), losses)  # {L <= l} is {-L >= -l}
        tails = self.right.above(np.maximum(far, 0.0))
        p = np.where(low, self._rest(tails.q), tails.p)
        q = np.where(low, self._rest(tails.p), tails.q)
        return Tails(p, q, self._error(tails, np.where(low, np.minimum(p, q), 1.0)))

    def moment_above(self, order: float, loss: float) -> float:
        """Return the moment of `right` above a loss >= 0."""
        return self.right.moment_above(order, loss) if loss >= 0 else math.inf

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails of `right`, mirrored for losses below 0."""
        low = losses < 0
        far = np.where(low, np.nextafter(-losses, -np.inf), losses)
        tails = self.right.above(np.maximum(far, 0.0))
        p = np.where(low, tails.q, self._rest(tails.p))
        q = np.where(low, tails.p, self._rest(tails.q))
        return Tails(p, q, self._error(tails, np.where(low, 1.0, np.minimum(p, q))))

    def atoms(self) -> Atoms | None:
        """Return the positive atoms, their mirror images, and the rest at 0."""
        atoms = self.right.atoms()
        if atoms is None:
            return None
        kept = atoms.losses > 0
        losses, p, q = atoms.losses[kept], atoms.p[kept], atoms.q[kept]
        middle = self._rest(np.array([p.sum() + q.sum()]))
        error = atoms.error * (1 + 1 / float(middle[0])) + 8 * UNIT
        mirrored = np.concatenate((-losses[::-1], [0.0], losses))
        joined = [np.concatenate((mirror[::-1], middle, part)) for mirror, part in ((q, p), (p, q))]
        return Atoms(mirrored, joined[0], joined[1], error)

    def slack(self, magnitude: float) -> float:
        """Return the slack of `right`."""
        return self.right.slack(magnitude)

    def slacks(self, losses: Floats) -> Floats:
        """Return the slacks of `right`."""
        return self.right.slacks(np.abs(losses))

    def _rest(self, tail: Floats) -> Floats:
        """Return the probability that a tail leaves."""
        return np.asarray(np.maximum(1 - self.infinite - tail, UNIT))

    def _error(self, tails: Tails, rest: Floats) -> Floats:
        """Return the error of tails, relative to the rest where that is asked for."""
        return np.asarray(tails.error / np.maximum(rest, UNIT) + 4 * UNIT)


@dataclass(frozen=True, init=False)
class SubsetSampledStatement(SampledStatement):
    """Loss of a mechanism on units drawn without replacement, under replace.

    `base` is stated for replace, so that `GaussianLoss` counts noise in the sensitivity under replace: for vectors of
    norm at most c that are summed, the standard deviation divided by 2 c. The result holds under replace.

    Args:
        base: the loss of the mechanism on all units, under replace.
        size: the sample size.
        population: the number of units, public.

    Guarantee: with g = size / population and e = exp(epsilon), delta = g delta_base(ln(1 + (e - 1)/g)): exactly, if
        some mechanism of the description answers P when a certain value is in the sample and Q otherwise, as noisy sums
        do. Compositions lie between those of pairs that are attained, ((1 - g) Q + g P, Q) and, for Gaussian, Laplace
        and pure losses, that of triangle.py, and those of the one pair whose curve is the larger of both directions: no
        smaller one dominates.
    Source: Balle, Barthe, Gaboardi (2018), arXiv:1807.01647; Zhu, Dong, Wang (2022), arXiv:2106.08567; Lebeda, Regehr,
        Kamath, Steinke (2024), arXiv:2405.20769; proof in docs/theory/privacy/sampling.md.
    """

    kind: ClassVar[str] = "subset_sampled"
    base: Statement
    size: int
    population: int
    relations = frozenset({Replace})

    def __init__(self, base: Stated, size: object, population: object) -> None:
        units = positive_integer("size", size)
        whole = positive_integer("population", population)
        if units >= whole:
            raise InvalidParameterError(
                f"size must be below population={whole}, got {units}. Without sampling use the loss itself."
            )
        checked = checked_base(base, Replace, "a sample of fixed size", "sampled_without_replacement")
        if not known_laws(checked).is_symmetric:
            raise UnprovedError(
                f"a sample of fixed size is proved for losses whose two directions have one law; those of {base!r} "
                "differ. Use a loss that bounds both, such as PureLoss."
            )
        read_fields(self, base=checked, size=units, population=whole)

    def __repr__(self) -> str:
        return f"{self.base.operand}.sampled_without_replacement(size={self.size}, population={self.population})"

    @property
    def share(self) -> Fraction:
        """Probability that a unit is in the sample."""
        return Fraction(self.size, self.population)

    def laws(self) -> Pairs:
        """Return the mirrored law above, and pairs that are attained."""
        base = known_laws(self.base)
        law = MirroredLaw(SampledLaw(base.upper[0], self.share))
        lower = mixed_pairs(base, self.share).lower
        triangle = triangle_law(self.base, [float(1 - self.share), float(self.share)])
        return Pairs((law, law), lower if triangle is None else (lower[0], triangle))

    def _closed_delta(self, epsilon: Fraction) -> Interval:
        """Return delta from the curve of the base."""
        return removed_delta(self.base.curve, self.share, epsilon)


def sampled_without_replacement(loss: Statement, size: object, population: object) -> Statement:
    """Return the loss on a random set of units; on all of them, the loss itself."""
    if positive_integer("size", size) == positive_integer("population", population):
        return loss
    return SubsetSampledStatement(loss, size, population)
