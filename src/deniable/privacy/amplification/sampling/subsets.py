"""Losses on a uniformly random set of units of a fixed size, under replace.

Proofs: docs/theory/privacy/sampling.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_integer
from deniable.privacy.amplification.sampling.poisson import (
    SampledLaw,
    SampledStatement,
    checked_base,
    known_laws,
    mixed_pairs,
    removed_delta,
)
from deniable.privacy.amplification.sampling.triangle import triangle_law
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw, Pairs, Tails
from deniable.privacy.relation import Replace
from deniable.privacy.statement import Stated, Statement

_ROUNDING = 1e-9


class MirroredLaw(LossLaw):
    """The law that has the positive losses of `right`, their mirror images, and loss 0 for the rest.

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
        if float(tails.p[0] + tails.q[0]) + right.infinite > 1 + _ROUNDING:
            raise UnprovedError("a law is mirrored only where its positive losses leave room for their mirror images")

    @property
    def anchor(self) -> float:
        return 0.0  # where much of the law lies

    def above(self, losses: Floats) -> Tails:
        low = losses < 0
        far = np.where(low, np.nextafter(-losses, -np.inf), losses)  # {L <= l} is {-L >= -l}
        found = self.right.above(np.maximum(far, 0.0))
        p = np.where(low, self._rest(found.q), found.p)
        q = np.where(low, self._rest(found.p), found.q)
        return Tails(p, q, self._error(found, np.where(low, np.minimum(p, q), 1.0)))

    def moment_above(self, order: float, loss: float) -> float:
        return self.right.moment_above(order, loss) if loss >= 0 else math.inf

    def below(self, losses: Floats) -> Tails:
        low = losses < 0
        far = np.where(low, np.nextafter(-losses, -np.inf), losses)
        found = self.right.above(np.maximum(far, 0.0))
        p = np.where(low, found.q, self._rest(found.p))
        q = np.where(low, found.p, self._rest(found.q))
        return Tails(p, q, self._error(found, np.where(low, 1.0, np.minimum(p, q))))

    def atoms(self) -> Atoms | None:
        found = self.right.atoms()
        if found is None:
            return None
        kept = found.losses > 0
        losses, p, q = found.losses[kept], found.p[kept], found.q[kept]
        middle = self._rest(np.array([p.sum() + q.sum()]))
        error = found.error * (1 + 1 / float(middle[0])) + 8 * UNIT
        places = np.concatenate((-losses[::-1], [0.0], losses))
        joined = [np.concatenate((mirror[::-1], middle, part)) for mirror, part in ((q, p), (p, q))]
        return Atoms(places, joined[0], joined[1], error)

    def slack(self, magnitude: float) -> float:
        return self.right.slack(magnitude)

    def slacks(self, losses: Floats) -> Floats:
        return self.right.slacks(np.abs(losses))

    def _rest(self, tail: Floats) -> Floats:
        return np.asarray(np.maximum(1 - self.infinite - tail, UNIT))

    def _error(self, found: Tails, least: Floats) -> Floats:
        """That of the tails, relative to the rest where it is the rest that is asked for."""
        return np.asarray(found.error / np.maximum(least, UNIT) + 4 * UNIT)


@dataclass(frozen=True, init=False)
class SubsetSampledStatement(SampledStatement):
    """`base` of a mechanism that runs on `size` units drawn without replacement from a public number, `population`.

    `base` is stated for replace, so that `GaussianLoss` counts noise in the sensitivity under replace: for vectors of
    norm at most c that are summed, the standard deviation divided by 2 c. The result holds under replace.

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
        units, whole = positive_integer("size", size), positive_integer("population", population)
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
        object.__setattr__(self, "base", checked)
        object.__setattr__(self, "size", units)
        object.__setattr__(self, "population", whole)

    def __repr__(self) -> str:
        return f"{self.base.operand}.sampled_without_replacement(size={self.size}, population={self.population})"

    @property
    def share(self) -> Fraction:
        return Fraction(self.size, self.population)

    def laws(self) -> Pairs:
        base = known_laws(self.base)
        law = MirroredLaw(SampledLaw(base.upper[0], self.share))
        lower = mixed_pairs(base, self.share).lower
        triangle = triangle_law(self.base, [float(1 - self.share), float(self.share)])
        return Pairs((law, law), lower if triangle is None else (lower[0], triangle))

    def _closed_delta(self, epsilon: Fraction) -> Interval:
        return removed_delta(self.base.curve, self.share, epsilon)


def sampled_without_replacement(loss: Statement, size: object, population: object) -> Statement:
    """`loss` on a random set of units; on all of them it is the loss itself."""
    if positive_integer("size", size) == positive_integer("population", population):
        return loss
    return SubsetSampledStatement(loss, size, population)
