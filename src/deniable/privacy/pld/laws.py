"""Losses of classical noise, in closed form. Their stated relative errors are tested against 60 digits."""

import math

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, FiniteLaw, LossLaw, Tails

_MOST_ATOMS = 2**12


class NormalLaw(LossLaw):
    """N(mu, 1) against N(0, 1): the loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q.

    mu may be wrong by two roundings.
    """

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def above(self, losses: Floats) -> Tails:
        return self._tails(-losses / self.mu, self.mu / 2)

    def below(self, losses: Floats) -> Tails:
        return self._tails(losses / self.mu, -self.mu / 2)

    def moment_above(self, order: float, loss: float) -> float:
        """exp(a (a - 1) mu^2/2) P(N > loss/mu - (a - 1/2) mu)."""
        from scipy.special import log_ndtr

        place = loss / self.mu - (order - 0.5) * self.mu
        value = order * (order - 1) * self.mu**2 / 2 + float(log_ndtr(-place + 1e-9 * (1 + abs(place))))
        return value + 1e-9 * (1 + abs(value))

    def _tails(self, centre: Floats, shift: float) -> Tails:
        """An error in the argument x counts times phi(x)/Phi(x), at most 1 - x for x < 0 and exp(-x^2/2) for x > 0."""
        from scipy.special import ndtr

        size = np.minimum(np.abs(centre), 1e3)
        least = np.clip(centre - abs(shift), -1e3, 1e3)
        hazard = np.where(least < 0, 1 - least, np.exp(-least * np.maximum(least, 0.0) / 2))
        return Tails(ndtr(centre + shift), ndtr(centre - shift), (16 + 8 * (size + abs(shift)) * hazard) * UNIT)


class LaplaceLaw(LossLaw):
    """Real Laplace noise, moved by `limit` scales; atoms at the two ends, of mass 1/2 and exp(-limit)/2 under P."""

    def __init__(self, limit: float) -> None:
        self.limit, self.lowest, self.highest = limit, -limit, limit

    def above(self, losses: Floats) -> Tails:
        inside = np.clip(losses, -self.limit, self.limit)
        low, high = losses < -self.limit, losses >= self.limit
        p = 1 - np.exp((inside - self.limit) / 2) / 2
        q = np.exp(-(inside + self.limit) / 2) / 2
        p, q = (np.where(low, 1.0, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (8 + 2 * self.limit) * UNIT))

    def below(self, losses: Floats) -> Tails:
        found = self.above(np.nextafter(-losses, -np.inf))  # {L <= l} is {-L >= -l}, and -L has this law under Q
        return Tails(found.q, found.p, found.error)

    def slack(self, reach: float) -> float:
        return 4 * UNIT * max(reach, self.limit)


class BoundedRangeLaw(LossLaw):
    """The least pair above all pairs whose loss lies in [t - limit, t] for some t: the exponential mechanism.

    With E = exp(limit): P(L > l) = sqrt(E) (sqrt(E) - exp(l/2)) / (E - 1) for l in [-limit, limit].
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.lowest, self.highest = limit, -limit, limit

    def above(self, losses: Floats) -> Tails:
        inside = np.clip(losses, -self.limit, self.limit)
        share = np.expm1((inside - self.limit) / 2) / math.expm1(-self.limit)
        q = share * np.exp(-(inside + self.limit) / 2)
        low = losses < -self.limit
        return Tails(np.where(low, 1.0, share), np.where(low, 1.0, q), np.full(q.shape, (24 + 4 * self.limit) * UNIT))

    def below(self, losses: Floats) -> Tails:
        found = self.above(-losses)
        return Tails(found.q, found.p, found.error)

    def slack(self, reach: float) -> float:
        return 8 * UNIT * max(reach, self.limit)


class DiscreteLaplaceLaw(LossLaw):
    """P(k) ~ exp(-|k| / scale) on integers, moved by `shift` >= 1."""

    def __init__(self, scale: float, shift: int) -> None:
        self.scale, self.shift = scale, shift
        self.highest, self.lowest = shift / scale, -shift / scale
        self.spacing = 2 / scale

    def above(self, losses: Floats) -> Tails:
        """{L > l} is {y <= m}, m the greatest integer below (shift - l scale) / 2, while l is inside."""
        inside = np.clip(losses, self.lowest - 1, self.highest + 1)
        last = np.clip(np.ceil((self.shift - inside * self.scale) / 2) - 1, 0, self.shift)
        rate, whole = 1 / self.scale, 1 + math.exp(-1 / self.scale)
        p = 1 - np.exp(-(last + 1) * rate) / whole
        q = np.exp(-(self.shift - last) * rate) / whole
        low, high = losses < self.lowest, losses >= self.highest
        p, q = (np.where(low, 1.0, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (16 + 4 * self.highest) * UNIT))

    def below(self, losses: Floats) -> Tails:
        found = self.above(np.nextafter(-losses, -np.inf))
        return Tails(found.q, found.p, found.error)

    def atoms(self) -> Atoms | None:
        if self.shift > _MOST_ATOMS:
            return None
        losses = (2 * np.arange(self.shift + 1) - self.shift) / self.scale
        whole = 1 + math.exp(-1 / self.scale)
        inner = -math.expm1(-1 / self.scale) / whole  # of noise 0
        places = np.arange(self.shift, -1, -1) / self.scale
        p = inner * np.exp(-places)
        p[-1] = 1 / whole
        p[0] = math.exp(-self.shift / self.scale) / whole
        return Atoms(losses, p, p[::-1], (32 + 4 * self.highest) * UNIT)

    def slack(self, reach: float) -> float:
        return 16 * UNIT * max(reach, self.highest)


class DiscreteGaussianLaw(LossLaw):
    """P(k) ~ exp(-k^2 / (2 sigma_squared)) on integers, moved by `shift` >= 1; a table of 72 sigma.

    total: the sum of exp(-k^2 / (2 sigma_squared)) over all integers.
    What lies beyond the table has a probability below 1e-270; it is added, and the stated error covers it.
    """

    def __init__(self, sigma_squared: float, total: float, shift: int) -> None:
        reach = math.ceil(36 * math.sqrt(sigma_squared)) + 1
        places = np.arange(reach + shift, -reach - 1, -1, dtype=np.float64)  # losses increase as y decreases
        losses = (shift - 2 * places) * (shift / (2 * sigma_squared))
        p = np.exp(-(places**2) / (2 * sigma_squared)) / total
        q = np.exp(-((places - shift) ** 2) / (2 * sigma_squared)) / total
        self._table = FiniteLaw(losses, p, q, roundings=8000)
        present = np.flatnonzero(p > _LEAST_KEPT)
        self._kept = slice(int(present[0]), int(present[-1]) + 1)
        self.spacing = shift / sigma_squared
        self._anchor = float(losses[np.argmax(p)])

    @property
    def anchor(self) -> float:
        return self._anchor

    def above(self, losses: Floats) -> Tails:
        return _with_rest(self._table.above(losses))

    def below(self, losses: Floats) -> Tails:
        return _with_rest(self._table.below(losses))

    def likely(self) -> tuple[Atoms, float] | None:
        """Beyond 36 sigma lies less than 2 exp(-36^2/2) < 1e-280; and 4,096 of at most 1e-285 are left out."""
        losses, p, q, error = self._table.atoms()
        kept = Atoms(losses[self._kept], p[self._kept], q[self._kept], error)
        return (kept, _REST) if losses.size <= _MOST_ATOMS else None

    def slack(self, reach: float) -> float:
        return 16 * UNIT * reach


_REST = 1e-270
_LEAST_KEPT = 1e-285


def _with_rest(found: Tails) -> Tails:
    p, q = found.p + _REST, found.q + _REST
    return Tails(p, q, np.minimum(found.error + 2 * _REST / np.minimum(p, q), 1.0))


def randomized_response_law(limit: float, *, failed: float = 0.0) -> FiniteLaw:
    """The worst pair of an (limit, failed)-DP mechanism: losses +-limit, infinite with probability `failed`."""
    if limit == 0:
        rest = np.array([1 - failed])
        return FiniteLaw(np.zeros(1), rest, rest, infinite=failed, vanishing=failed)
    high = (1 - failed) / (1 + math.exp(-limit))
    low = (1 - failed) * math.exp(-limit) / (1 + math.exp(-limit))
    return FiniteLaw(
        np.array([-limit, limit]),
        np.array([low, high]),
        np.array([high, low]),
        infinite=failed,
        vanishing=failed,
        spacing=2 * limit,
        roundings=8 + 2 * limit,
    )


NOTHING = randomized_response_law(0.0)  # the law of a mechanism that reveals nothing
