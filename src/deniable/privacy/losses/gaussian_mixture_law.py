"""Law of the loss between two normal mixtures with an increasing likelihood ratio."""

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, LossLaw, Tails

_MARGIN = 45.0  # standard deviations beyond the centres; the rest has a probability below 1e-430
_TABLE_POINTS = 2049  # at which the loss is tabulated
_NEWTON_STEPS = 4  # before bisection
_BISECTIONS = 64  # to the precision of floats
_TERMS_PER_BLOCK = 2**18  # components times outcomes that are computed at a time, which bounds memory
_BEYOND = 1e-290  # more than the probability that underflows


class MixtureLaw(LossLaw):
    """Law of sum w_j N(a_j, 1) against sum v_i N(b_i, 1).

    The loss increases with the outcome x. An event {L > l} is {x > t} with t found by Newton's method and bisection.
    Whatever t is found, {x > t} is {L > l(t)}, and l(t) is within the slack of l: that is all that the contract of a
    law asks for.

    Args:
        p: weights' logarithms and centres of the first mixture, shape (2, components). Centres may be wrong by two
            roundings, logarithms by four.
        q: the same of the second mixture.
        lowest: the lower limit of the loss.
        highest: the upper limit of the loss.
    """

    def __init__(self, p: Floats, q: Floats, *, lowest: float, highest: float) -> None:
        self.p, self.q, self.lowest, self.highest = p, q, lowest, highest
        self._wide = float(np.abs(np.concatenate((p[1], q[1]))).max())
        end = self._wide + _MARGIN
        terms = np.concatenate([np.abs(logs) + np.abs(a) * end + a**2 for logs, a in (p, q)])
        self._noise = UNIT * (32 + 4 * terms.size + 16 * float(terms.max()))
        self._table_xs = np.linspace(-end, end, _TABLE_POINTS)
        self._table = np.maximum.accumulate(self._loss(self._table_xs)[0])

    def above(self, losses: Floats) -> Tails:
        """Return the probabilities above the x at which the loss is as given."""
        return self._tails(losses, 1.0)

    def below(self, losses: Floats) -> Tails:
        """Return the probabilities below the x at which the loss is as given."""
        return self._tails(losses, -1.0)

    def position_of(self, loss: float) -> float:
        """Return the x at which the loss is about this; an edge of the table if outside."""
        return float(self._where(np.array([loss]))[0])

    def slack(self, magnitude: float) -> float:
        """Return the slack from roundings of the loss at x.

        On both sides of the equation, and from the step between neighbouring floats.
        """
        return 8 * self._noise + 8 * UNIT * min(magnitude, 1e6)

    def _tails(self, losses: Floats, sign: float) -> Tails:
        """Return probabilities on one side of x, with the error that errors in x cause.

        An error in an argument y counts times phi(y)/Phi(y), at most 1 - y for y < 0 and exp(-y^2/2) for y > 0.
        """
        xs = self._where(losses)
        p, q = (_mass(xs, law, sign) for law in (self.p, self.q))
        nearest = np.minimum((sign * self.p[1]).min(), (sign * self.q[1]).min())
        lowest = nearest - sign * xs
        hazard = np.where(lowest < 0, 1 - lowest, np.exp(-lowest * np.maximum(lowest, 0.0) / 2))
        error = UNIT * (32 + 2 * (self.p.size + self.q.size) + 8 * (np.abs(xs) + self._wide) * hazard)
        p, q = p + _BEYOND, q + _BEYOND
        error = np.minimum(error + 2 * _BEYOND / np.minimum(p, q), 1.0)
        all_of_it, none = (losses < self.lowest, losses >= self.highest)[:: int(sign)]
        p, q = (np.where(all_of_it, 1.0, np.where(none, 0.0, mass)) for mass in (p, q))
        return Tails(p, q, error)

    def _where(self, losses: Floats) -> Floats:
        """Return the x at which the loss is as given, to about its rounding.

        The edge for losses beyond the edge.
        """
        spot = np.clip(np.searchsorted(self._table, losses), 1, _TABLE_POINTS - 1)
        low, high = self._table_xs[spot - 1], self._table_xs[spot]
        x = np.clip(np.interp(losses, self._table, self._table_xs), low, high)
        rest = np.flatnonzero((losses > self._table[0]) & (losses < self._table[-1]))
        for step in range(_NEWTON_STEPS + _BISECTIONS):
            value, slope = self._loss(x[rest])
            off = losses[rest] - value
            far = np.abs(off) > self._noise
            rest, off, slope = rest[far], off[far], slope[far]
            if rest.size == 0:
                break
            at = x[rest]
            below = off > 0
            start, end = np.where(below, at, low[rest]), np.where(below, high[rest], at)
            low[rest], high[rest] = start, end
            middle = (start + end) / 2
            if step < _NEWTON_STEPS:
                middle = np.clip(at + np.divide(off, slope, out=middle - at, where=slope > 0), start, end)
            x[rest] = middle
        return x

    def _loss(self, xs: Floats) -> tuple[Floats, Floats]:
        """Return the loss at each x, and its slope."""
        above, below = _log_density(xs, self.p), _log_density(xs, self.q)
        return above[0] - below[0], above[1] - below[1]


def _log_density(xs: Floats, law: Floats) -> tuple[Floats, Floats]:
    """Return ln sum w exp(a x - a^2/2), and its derivative, the mean of a.

    In blocks, since there is a term per component.
    """
    logs, centres = law
    constants = logs - centres**2 / 2
    if centres.size == 1:
        return centres[0] * xs + constants[0], np.full_like(xs, centres[0])
    value, slope = np.empty_like(xs), np.empty_like(xs)
    block = max(_TERMS_PER_BLOCK // centres.size, 1)
    for start in range(0, xs.size, block):
        part = slice(start, start + block)
        terms = centres[:, None] * xs[part] + constants[:, None]  # (components, places)
        top = terms.max(axis=0)
        weights = np.exp(terms - top)
        total = weights.sum(axis=0)
        value[part] = top + np.log(total)
        slope[part] = (centres @ weights) / total
    return value, slope


def _mass(xs: Floats, law: Floats, sign: float) -> Floats:
    """Return the probability of values above each x, or below for sign = -1."""
    from scipy.special import ndtr

    masses = np.empty_like(xs)
    block = max(_TERMS_PER_BLOCK // law.shape[1], 1)
    weights = np.exp(law[0])
    for start in range(0, xs.size, block):
        part = slice(start, start + block)
        masses[part] = weights @ ndtr(sign * (law[1][:, None] - xs[part]))
    return masses
