"""The law of the loss between two mixtures of normal laws whose likelihood ratio increases."""

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, LossLaw, Tails

_MARGIN = 45.0  # standard deviations beyond the centres; what lies farther has a probability below 1e-430
_POINTS = 2049
_NEWTON_STEPS, _BISECTIONS = 4, 64
_BLOCK = 2**18
_REST = 1e-290


class MixtureLaw(LossLaw):
    """sum w_j N(a_j, 1) against sum v_i N(b_i, 1), where the loss increases with the outcome x.

    An event {L > l} is {x > t} with t found by Newton's method and bisection. Whatever t is found, {x > t} is
    {L > l(t)}, and l(t) is within the slack of l: that is all that the contract of a law asks for.

    Args:
        p: weights' logarithms and centres of the first mixture, shape (2, components); q: of the second. Centres may be
            wrong by two roundings, logarithms by four.
        lowest, highest: the limits of the loss.
    """

    def __init__(self, p: Floats, q: Floats, *, lowest: float, highest: float) -> None:
        self.p, self.q, self.lowest, self.highest = p, q, lowest, highest
        self._wide = float(np.abs(np.concatenate((p[1], q[1]))).max())
        end = self._wide + _MARGIN
        terms = np.concatenate([np.abs(logs) + np.abs(a) * end + a**2 for logs, a in (p, q)])
        self._noise = UNIT * (32 + 4 * terms.size + 16 * float(terms.max()))
        self._places = np.linspace(-end, end, _POINTS)
        self._table = np.maximum.accumulate(self._loss(self._places)[0])

    def above(self, losses: Floats) -> Tails:
        return self._tails(losses, 1.0)

    def below(self, losses: Floats) -> Tails:
        return self._tails(losses, -1.0)

    def place(self, loss: float) -> float:
        """Where the loss is about this; an edge of the table when that is outside."""
        return float(self._where(np.array([loss]))[0])

    def slack(self, magnitude: float) -> float:
        """Roundings of the loss at a place, on both sides of the equation, and the step between neighbouring floats."""
        return 8 * self._noise + 8 * UNIT * min(magnitude, 1e6)

    def _tails(self, losses: Floats, sign: float) -> Tails:
        """An error in an argument y counts times phi(y)/Phi(y), at most 1 - y for y < 0 and exp(-y^2/2) for y > 0."""
        places = self._where(losses)
        p, q = (_mass(places, law, sign) for law in (self.p, self.q))
        nearest = np.minimum((sign * self.p[1]).min(), (sign * self.q[1]).min())
        least = nearest - sign * places
        hazard = np.where(least < 0, 1 - least, np.exp(-least * np.maximum(least, 0.0) / 2))
        error = UNIT * (32 + 2 * (self.p.size + self.q.size) + 8 * (np.abs(places) + self._wide) * hazard)
        p, q = p + _REST, q + _REST
        error = np.minimum(error + 2 * _REST / np.minimum(p, q), 1.0)
        all_of_it, none = (losses < self.lowest, losses >= self.highest)[:: int(sign)]
        p, q = (np.where(all_of_it, 1.0, np.where(none, 0.0, mass)) for mass in (p, q))
        return Tails(p, q, error)

    def _where(self, losses: Floats) -> Floats:
        """Places at which the loss is as given, to about its rounding; the edge for losses beyond the edge."""
        spot = np.clip(np.searchsorted(self._table, losses), 1, _POINTS - 1)
        low, high = self._places[spot - 1], self._places[spot]
        x = np.clip(np.interp(losses, self._table, self._places), low, high)
        rest = np.flatnonzero((losses > self._table[0]) & (losses < self._table[-1]))
        for step in range(_NEWTON_STEPS + _BISECTIONS):
            value, slope = self._loss(x[rest])
            off = losses[rest] - value
            far = np.abs(off) > self._noise
            rest, off, slope = rest[far], off[far], slope[far]
            if rest.size == 0:
                break
            at, below = x[rest], off > 0
            start, end = np.where(below, at, low[rest]), np.where(below, high[rest], at)
            low[rest], high[rest] = start, end
            middle = (start + end) / 2
            if step < _NEWTON_STEPS:
                middle = np.clip(at + np.divide(off, slope, out=middle - at, where=slope > 0), start, end)
            x[rest] = middle
        return x

    def _loss(self, places: Floats) -> tuple[Floats, Floats]:
        """The loss at each place, and its slope."""
        above, below = _log_density(places, self.p), _log_density(places, self.q)
        return above[0] - below[0], above[1] - below[1]


def _log_density(places: Floats, law: Floats) -> tuple[Floats, Floats]:
    """ln sum w exp(a x - a^2/2), and its derivative, the mean of a; in blocks, since there is a term per component."""
    logs, centres = law
    constants = logs - centres**2 / 2
    if centres.size == 1:
        return centres[0] * places + constants[0], np.full_like(places, centres[0])
    value, slope = np.empty_like(places), np.empty_like(places)
    block = max(_BLOCK // centres.size, 1)
    for start in range(0, places.size, block):
        part = slice(start, start + block)
        terms = centres[:, None] * places[part] + constants[:, None]  # (components, places)
        top = terms.max(axis=0)
        weights = np.exp(terms - top)
        total = weights.sum(axis=0)
        value[part], slope[part] = top + np.log(total), (centres @ weights) / total
    return value, slope


def _mass(places: Floats, law: Floats, sign: float) -> Floats:
    """The probability of values above each place, or below for sign = -1."""
    from scipy.special import ndtr

    found = np.empty_like(places)
    block = max(_BLOCK // law.shape[1], 1)
    weights = np.exp(law[0])
    for start in range(0, places.size, block):
        part = slice(start, start + block)
        found[part] = weights @ ndtr(sign * (law[1][:, None] - places[part]))
    return found
