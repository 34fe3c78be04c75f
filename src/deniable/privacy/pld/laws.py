"""Laws of classical noise, in closed form; errors are tested against 60 digits."""

import math

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, FiniteLaw, LossLaw, Tails

_MAX_ATOMS = 2**12  # of a law whose losses are listed


class NormalLaw(LossLaw):
    """N(mu, 1) against N(0, 1); mu may be wrong by two roundings.

    The loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q.

    mu may be wrong by two roundings.
    """

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def above(self, losses: Floats) -> Tails:
        """Return normal tails of the loss."""
        return self._tails(-losses / self.mu, self.mu / 2)

    def below(self, losses: Floats) -> Tails:
        """Return normal distribution functions of the loss."""
        return self._tails(losses / self.mu, -self.mu / 2)

    def moment_above(self, order: float, loss: float) -> float:
        """Return ln of exp(a (a - 1) mu^2/2) P(N > loss/mu - (a - 1/2) mu), rounded up."""
        from scipy.special import log_ndtr

        quantile = loss / self.mu - (order - 0.5) * self.mu
        value = order * (order - 1) * self.mu**2 / 2 + float(log_ndtr(-quantile + 1e-9 * (1 + abs(quantile))))
        return value + 1e-9 * (1 + abs(value))

    def _tails(self, centre: Floats, shift: float) -> Tails:
        """Return normal probabilities with the error that errors in the argument cause.

        An error in the argument x counts times phi(x)/Phi(x), at most 1 - x for x < 0 and exp(-x^2/2) for x > 0.
        """
        from scipy.special import ndtr

        size = np.minimum(np.abs(centre), 1e3)
        lowest = np.clip(centre - abs(shift), -1e3, 1e3)
        hazard = np.where(lowest < 0, 1 - lowest, np.exp(-lowest * np.maximum(lowest, 0.0) / 2))
        return Tails(ndtr(centre + shift), ndtr(centre - shift), (16 + 8 * (size + abs(shift)) * hazard) * UNIT)


class LaplaceLaw(LossLaw):
    """Real Laplace noise, moved by `limit` scales.

    There are atoms at the two ends, of mass 1/2 and exp(-limit)/2 under P.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.lowest, self.highest = limit, -limit, limit

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss, which is bounded by `limit`."""
        inside = np.clip(losses, -self.limit, self.limit)
        low, high = losses < -self.limit, losses >= self.limit
        p = 1 - np.exp((inside - self.limit) / 2) / 2
        q = np.exp(-(inside + self.limit) / 2) / 2
        p, q = (np.where(low, 1.0, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (8 + 2 * self.limit) * UNIT))

    def below(self, losses: Floats) -> Tails:
        """Return lower tails: -L has under Q the law of L under P."""
        mirrored = self.above(np.nextafter(-losses, -np.inf))  # {L <= l} is {-L >= -l}, and -L has this law under Q
        return Tails(mirrored.q, mirrored.p, mirrored.error)

    def slack(self, magnitude: float) -> float:
        """Return 4 roundings of the magnitude or of the limit."""
        return 4 * UNIT * max(magnitude, self.limit)


class BoundedRangeLaw(LossLaw):
    """Least pair above all pairs with bounded range: the exponential mechanism.

    Their loss lies in [t - limit, t] for some t. With E = exp(limit): P(L > l) = sqrt(E) (sqrt(E) - exp(l/2)) / (E - 1)
    for l in [-limit, limit].

    With E = exp(limit): P(L > l) = sqrt(E) (sqrt(E) - exp(l/2)) / (E - 1) for l in [-limit, limit].
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.lowest, self.highest = limit, -limit, limit

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss, which is bounded by `limit`."""
        inside = np.clip(losses, -self.limit, self.limit)
        share = np.expm1((inside - self.limit) / 2) / math.expm1(-self.limit)
        q = share * np.exp(-(inside + self.limit) / 2)
        low = losses < -self.limit
        return Tails(np.where(low, 1.0, share), np.where(low, 1.0, q), np.full(q.shape, (24 + 4 * self.limit) * UNIT))

    def below(self, losses: Floats) -> Tails:
        """Return lower tails: -L has under Q the law of L under P."""
        mirrored = self.above(-losses)
        return Tails(mirrored.q, mirrored.p, mirrored.error)

    def slack(self, magnitude: float) -> float:
        """Return 8 roundings of the magnitude or of the limit."""
        return 8 * UNIT * max(magnitude, self.limit)


class DiscreteLaplaceLaw(LossLaw):
    """P(k) ~ exp(-|k| / scale) on integers, moved by `shift` >= 1."""

    def __init__(self, scale: float, shift: int) -> None:
        self.scale, self.shift = scale, shift
        self.highest, self.lowest = shift / scale, -shift / scale
        self.spacing = 2 / scale

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss: {L > l} is {y <= m} while l is inside.

        m is the greatest integer below (shift - l scale) / 2.
        """
        inside = np.clip(losses, self.lowest - 1, self.highest + 1)
        last = np.clip(np.ceil((self.shift - inside * self.scale) / 2) - 1, 0, self.shift)
        rate = 1 / self.scale
        whole = 1 + math.exp(-1 / self.scale)
        p = 1 - np.exp(-(last + 1) * rate) / whole
        q = np.exp(-(self.shift - last) * rate) / whole
        low, high = losses < self.lowest, losses >= self.highest
        p, q = (np.where(low, 1.0, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (16 + 4 * self.highest) * UNIT))

    def below(self, losses: Floats) -> Tails:
        """Return lower tails: -L has under Q the law of L under P."""
        mirrored = self.above(np.nextafter(-losses, -np.inf))
        return Tails(mirrored.q, mirrored.p, mirrored.error)

    def atoms(self) -> Atoms | None:
        """Return the shift + 1 losses, where they are few."""
        if self.shift > _MAX_ATOMS:
            return None
        losses = (2 * np.arange(self.shift + 1) - self.shift) / self.scale
        whole = 1 + math.exp(-1 / self.scale)
        inner = -math.expm1(-1 / self.scale) / whole  # of noise 0
        distances = np.arange(self.shift, -1, -1) / self.scale
        p = inner * np.exp(-distances)
        p[-1] = 1 / whole
        p[0] = math.exp(-self.shift / self.scale) / whole
        return Atoms(losses, p, p[::-1], (32 + 4 * self.highest) * UNIT)

    def slack(self, magnitude: float) -> float:
        """Return 16 roundings of the magnitude or of the greatest loss."""
        return 16 * UNIT * max(magnitude, self.highest)


class DiscreteGaussianLaw(LossLaw):
    """P(k) ~ exp(-k^2 / (2 sigma_squared)) on integers, moved by `shift` >= 1.

    A table holds 72 sigma. total: the sum of exp(-k^2 / (2 sigma_squared)) over all integers. What lies beyond the
    table has a probability below 1e-270; it is added, and the stated error covers it.

    total: the sum of exp(-k^2 / (2 sigma_squared)) over all integers.
    What lies beyond the table has a probability below 1e-270; it is added, and the stated error covers it.
    """

    def __init__(self, sigma_squared: float, total: float, shift: int) -> None:
        radius = math.ceil(36 * math.sqrt(sigma_squared)) + 1
        values = np.arange(radius + shift, -radius - 1, -1, dtype=np.float64)  # losses increase as y decreases
        losses = (shift - 2 * values) * (shift / (2 * sigma_squared))
        p = np.exp(-(values**2) / (2 * sigma_squared)) / total
        q = np.exp(-((values - shift) ** 2) / (2 * sigma_squared)) / total
        self._table = FiniteLaw(losses, p, q, roundings=8000)
        present = np.flatnonzero(p > _MIN_MASS)
        self._kept = slice(int(present[0]), int(present[-1]) + 1)
        self.spacing = shift / sigma_squared
        self._anchor = float(losses[np.argmax(p)])

    @property
    def anchor(self) -> float:
        """Loss of the likeliest value."""
        return self._anchor

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the table, with what lies beyond it."""
        return _with_rest(self._table.above(losses))

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails of the table, with what lies beyond it."""
        return _with_rest(self._table.below(losses))

    def likely(self) -> tuple[Atoms, float] | None:
        """Return the losses of the table, if few, and a bound on all others.

        Beyond 36 sigma lies less than 2 exp(-36^2/2) < 1e-280; and 4,096 of at most 1e-285 are left out.
        """
        losses, p, q, error = self._table.atoms()
        kept = Atoms(losses[self._kept], p[self._kept], q[self._kept], error)
        return (kept, _BEYOND_TABLE) if losses.size <= _MAX_ATOMS else None

    def slack(self, magnitude: float) -> float:
        """Return 16 roundings of the magnitude."""
        return 16 * UNIT * magnitude


_BEYOND_TABLE = 1e-270  # more than the probability beyond the table and of small masses
_MIN_MASS = 1e-285  # smaller masses are left out of a list of losses


def _with_rest(tails: Tails) -> Tails:
    """Return tails that include what lies beyond the table."""
    p, q = tails.p + _BEYOND_TABLE, tails.q + _BEYOND_TABLE
    return Tails(p, q, np.minimum(tails.error + 2 * _BEYOND_TABLE / np.minimum(p, q), 1.0))


def randomized_response_law(limit: float, *, failed: float = 0.0) -> FiniteLaw:
    """Return the worst pair of a (limit, failed)-DP mechanism.

    Its losses are +-limit, and infinite with probability `failed`.
    """
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
