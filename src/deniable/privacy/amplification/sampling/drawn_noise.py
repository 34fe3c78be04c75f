"""What draws with replacement reveal at least: pairs of laws that noise attains.

Proofs: docs/theory/privacy/sampling.md.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import exact_root
from deniable.privacy.amplification.sampling.allocated_law import AllocatedLaw
from deniable.privacy.amplification.sampling.poisson import known_laws, mixed_pairs
from deniable.privacy.amplification.sampling.triangle import laplace_cells, triangle_law
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.pld.law import UNIT, LossLaw, ReversedLaw, Tails
from deniable.privacy.pld.pilot import span
from deniable.privacy.relation import AddRemove
from deniable.privacy.statement import Statement

_SMALL = 1e-30  # weights below this are left out
_UNSEEN = 1e-22  # of the probability of losses so great that compositions need not see them
_MAX_LOSS = 440.0  # of losses that the engine can compose
_CELLS = 2**11
_FINE = 2**14  # losses nearer than this part of the greatest are joined


class TruncatedLaw(LossLaw):
    """A law without its losses above `highest`: it reveals less."""

    def __init__(self, base: LossLaw, highest: float) -> None:
        self.base, self.infinite, self.vanishing = base, base.infinite, base.vanishing
        self.lowest, self.highest = base.lowest, min(base.highest, highest)
        self._cut = base.above(np.array([self.highest]))

    def above(self, losses: Floats) -> Tails:
        found = self.base.above(np.minimum(losses, self.highest))
        p, q = found.p - self._cut.p, found.q - self._cut.q
        least = np.minimum(p / np.maximum(found.p, 1e-320), q / np.maximum(found.q, 1e-320))
        error = np.divide(3 * found.error, least, out=np.ones_like(least), where=least > found.error)
        return Tails(np.maximum(p, 0.0), np.maximum(q, 0.0), np.minimum(error, 1.0))

    def below(self, losses: Floats) -> Tails:
        return self.base.below(np.minimum(losses, self.highest))

    def slack(self, magnitude: float) -> float:
        return self.base.slack(magnitude)

    def slacks(self, losses: Floats) -> Floats:
        return self.base.slacks(losses)


def attained_laws(base: Statement, weights: Sequence[Interval]) -> tuple[LossLaw, LossLaw]:
    """All other units at one end, the unit at the other or there too; in either order, or with a third place for it.

    Args:
        weights: the probabilities to be drawn 0, 1, 2, ... times, and at the end that of anything more.
    """
    some = weights[1:-1]
    seen = [Fraction(weight.lower) for weight in some if weight.lower > _SMALL]  # the rest counts as never drawn
    mu = exact_root(base.normal_mu_squared or Fraction(0))
    pure, failed = base.response or (Fraction(0), Fraction(0))
    noise = pure if pure and not failed else base.laplace_epsilon or Fraction(0)
    if mu:
        mixture = [(1 - sum(seen), 0), *((weight, times) for times, weight in enumerate(seen, 1))]
        pairs = GaussianMixtureStatement(mixture, sigma=1 / mu, relation=AddRemove).laws()
        assert pairs is not None  # under add/remove both directions are known
        law: LossLaw = pairs.lower[0]
        law = TruncatedLaw(law, min(span(law, _UNSEEN, 1.0)[1], _MAX_LOSS))
    elif 0 < noise <= _MAX_LOSS:
        limit = float(noise)
        seen = seen[: max(int(_MAX_LOSS / limit), 1)]  # beyond, floats would not hold the outer cells
        cells = (
            _geometric_cells(limit, len(seen)) if pure else laplace_cells(limit, len(seen), max(_CELLS // len(seen), 8))
        )
        law = _moved_law(cells, seen, limit)
    else:
        drawn = sum((Fraction(weight.lower) for weight in some), Fraction(0))
        return mixed_pairs(known_laws(base), drawn).lower
    return law, triangle_law(base, [weight.upper for weight in weights]) or ReversedLaw(law)


def _moved_law(cells: Floats, weights: Sequence[Fraction], limit: float) -> LossLaw:
    """The law of the mixture of moved noise against noise at 0; to join outcomes is to reveal less.

    Args:
        cells: probabilities of rising cells, a row for each number of moves, 0 first.
    """
    shares = np.array([float(1 - sum(weights)), *(float(weight) for weight in weights)])
    losses = np.log(shares @ cells / cells[0])
    joined = np.flatnonzero(np.diff(np.floor(losses * (_FINE / max(losses[-1], 1e-300))), prepend=-np.inf))
    p, q = np.add.reduceat(shares @ cells, joined), np.add.reduceat(cells[0], joined)
    top = len(weights) * (1 + limit)
    return AllocatedLaw(
        np.maximum.accumulate(np.log(p / q)),
        p,
        q,
        ends=(0.0, 0.0),
        roundings=64 + 16 * top,
        doubt=UNIT * (64 + 32 * top),
    )


def _geometric_cells(limit: float, moves: int) -> Floats:
    """P(k) ~ exp(-limit |k - move|) on integers, all below 0 and all above the last move joined to the ends."""
    away = np.abs(np.arange(moves + 1)[:, None] - np.arange(moves + 1))
    whole = 1 + math.exp(-limit)
    found = np.exp(-limit * away) * (-math.expm1(-limit) / whole)
    found[:, [0, -1]] = np.exp(-limit * away[:, [0, -1]]) / whole
    return np.asarray(found)
