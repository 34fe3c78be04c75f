"""Lower bounds for draws with replacement: pairs of laws that noise attains.

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
from deniable.privacy.amplification.sampling.poisson import known_laws
from deniable.privacy.amplification.sampling.sampled_law import mixed_pairs
from deniable.privacy.amplification.sampling.triangle import laplace_cells, triangle_law
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.pld.law import UNIT, LossLaw, ReversedLaw, Tails
from deniable.privacy.pld.pilot import span
from deniable.privacy.relation import AddRemove
from deniable.privacy.statement import Statement

_MIN_WEIGHT = 1e-30  # smaller weights are left out
_NEGLIGIBLE_TAIL = 1e-22  # probability of great losses that compositions need not see
_MAX_LOSS = 440.0  # that the engine can compose
_LAPLACE_CELLS = 2**11  # of the range of all moves
_MAX_LOSSES = 2**14  # values that are kept apart up to the greatest loss


class TruncatedLaw(LossLaw):
    """Law without its losses above `highest`; it reveals less."""

    def __init__(self, base: LossLaw, highest: float) -> None:
        self.base = base
        self.infinite = base.infinite
        self.vanishing = base.vanishing
        self.lowest = base.lowest
        self.highest = min(base.highest, highest)
        self._cut = base.above(np.array([self.highest]))

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the base, less the tail that is cut off."""
        tails = self.base.above(np.minimum(losses, self.highest))
        p, q = tails.p - self._cut.p, tails.q - self._cut.q
        kept_share = np.minimum(p / np.maximum(tails.p, 1e-320), q / np.maximum(tails.q, 1e-320))
        error = np.divide(3 * tails.error, kept_share, out=np.ones_like(kept_share), where=kept_share > tails.error)
        return Tails(np.maximum(p, 0.0), np.maximum(q, 0.0), np.minimum(error, 1.0))

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails of the base up to the cut."""
        return self.base.below(np.minimum(losses, self.highest))

    def slack(self, magnitude: float) -> float:
        """Return the slack of the base."""
        return self.base.slack(magnitude)

    def slacks(self, losses: Floats) -> Floats:
        """Return the slacks of the base."""
        return self.base.slacks(losses)


def attained_laws(base: Statement, weights: Sequence[Interval]) -> tuple[LossLaw, LossLaw]:
    """Return laws that noise attains, in both directions.

    All other units are at one end, the unit at the other or there too; in either order, or with a third value for it.

    Args:
        base: the loss of the mechanism, under replace.
        weights: the probabilities to be drawn 0, 1, 2, ... times, and at the end that of anything more.
    """
    some = weights[1:-1]
    seen = [Fraction(weight.lower) for weight in some if weight.lower > _MIN_WEIGHT]  # the rest counts as never drawn
    mu = exact_root(base.normal_mu_squared or Fraction(0))
    pure, failed = base.response or (Fraction(0), Fraction(0))
    noise = pure if pure and not failed else base.laplace_epsilon or Fraction(0)
    if mu:
        mixture = [(1 - sum(seen), 0), *((weight, times) for times, weight in enumerate(seen, 1))]
        pairs = GaussianMixtureStatement(mixture, sigma=1 / mu, relation=AddRemove).laws()
        assert pairs is not None  # under add/remove both directions are known
        law: LossLaw = pairs.lower[0]
        law = TruncatedLaw(law, min(span(law, _NEGLIGIBLE_TAIL, 1.0)[1], _MAX_LOSS))
    elif 0 < noise <= _MAX_LOSS:
        limit = float(noise)
        seen = seen[: max(int(_MAX_LOSS / limit), 1)]  # beyond, floats would not hold the outer cells
        cells = (
            _geometric_cells(limit, len(seen))
            if pure
            else laplace_cells(limit, len(seen), max(_LAPLACE_CELLS // len(seen), 8))
        )
        law = _moved_law(cells, seen, limit)
    else:
        drawn = sum((Fraction(weight.lower) for weight in some), Fraction(0))
        return mixed_pairs(known_laws(base), drawn).lower
    return law, triangle_law(base, [weight.upper for weight in weights]) or ReversedLaw(law)


def _moved_law(cells: Floats, weights: Sequence[Fraction], limit: float) -> LossLaw:
    """Return the law of the mixture of moved noise against noise at 0.

    Outcomes are joined, which reveals less.

    Args:
        cells: probabilities of rising cells, a row for each number of moves, 0 first.
    """
    shares = np.array([float(1 - sum(weights)), *(float(weight) for weight in weights)])
    losses = np.log(shares @ cells / cells[0])
    joined = np.flatnonzero(np.diff(np.floor(losses * (_MAX_LOSSES / max(losses[-1], 1e-300))), prepend=-np.inf))
    p = np.add.reduceat(shares @ cells, joined)
    q = np.add.reduceat(cells[0], joined)
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
    """Return probabilities of integers under P(k) ~ exp(-limit |k - move|).

    All below 0 and all above the last move are joined to the ends.
    """
    away = np.abs(np.arange(moves + 1)[:, None] - np.arange(moves + 1))
    whole = 1 + math.exp(-limit)
    cells = np.exp(-limit * away) * (-math.expm1(-limit) / whole)
    cells[:, [0, -1]] = np.exp(-limit * away[:, [0, -1]]) / whole
    return np.asarray(cells)
