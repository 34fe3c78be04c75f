"""Poisson sampling under replace, from a loss under add/remove.

Proofs in docs/theory/privacy/sampling.md.

With R the release without the unit, P and P' those with its two values, the pair is (1 - rate) R + rate P against
(1 - rate) R + rate P'. It is worst when one set is the best to tell P from R and the worst to tell P' from R: then all
three are laws on [0, 1], R is uniform, P has the falling density x(s) and P' its mirror image x(1 - s).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from deniable.arguments import read_fields
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, exact_rational
from deniable.privacy.amplification.sampling.poisson import SampledStatement, checked_base, checked_rate, known_laws
from deniable.privacy.amplification.sampling.sampled_law import mixed_pairs
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.pld.law import UNIT, FiniteLaw, LossLaw, Pairs, Tails
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.pilot import span
from deniable.privacy.relation import AddRemove, Replace
from deniable.privacy.statement import Stated, Statement

_PARTS = 2**13  # of a law that is not a list of atoms
_MAX_LOSS = 300.0  # of a base; greater losses are joined


class ExchangedNormalLaw(LossLaw):
    """Mixtures of N(0, 1) with N(mu, 1) and with N(-mu, 1), one against the other.

    (1 - rate) N(0, 1) + rate N(mu, 1) against (1 - rate) N(0, 1) + rate N(-mu, 1), with rate < 1.

    The loss rises with x, and is l at mu x = l/2 + asinh((1 - rate)/rate exp(mu^2/2) sinh(l/2)).
    """

    def __init__(self, mu: float, rate: Fraction) -> None:
        self.mu = mu
        self.rate = float(rate)
        self.rest = float(1 - rate)
        self._log = math.log(self.rest) - math.log(self.rate) + mu * mu / 2

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss, which rises with x."""
        x = self._position(losses)
        return self._tails(-x)

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails: mirror images of the upper ones."""
        tails = self._tails(self._position(losses))
        return Tails(tails.q, tails.p, tails.error)

    def slack(self, magnitude: float) -> float:
        """Return the slack: the position is off by a few roundings of its terms, over mu.

        The loss moves by at most 2 mu for each unit of it.
        """
        return UNIT * (64 + 64 * magnitude + 64 * abs(self._log) + 16 * self.mu**2)

    def moment_above(self, order: float, loss: float) -> float:
        """Return a bound on the moment above a loss, against a share of N(0, 1).

        Q is at least its share (1 - q) of N(0, 1), against which the ratio is 1 + q/(1 - q) exp(mu x - mu^2/2).
        """
        from scipy.special import log_ndtr

        mu = self.mu
        start = float(self._position(np.array([loss]))[0]) - 1e-6
        ratio = self.rate / self.rest + math.exp(min(mu * mu / 2 - mu * start, 700.0))
        value = order * math.log(ratio) + order * (order - 1) * mu * mu / 2 + float(log_ndtr(order * mu - start))
        return math.log(self.rest) + value + 1e-9 * (1 + abs(value))

    def _position(self, losses: Floats) -> Floats:
        """Return the x at which each loss is taken."""
        size = np.maximum(np.abs(losses), 1e-300)
        log = self._log + size / 2 + np.log(-np.expm1(-size)) - math.log(2)
        angle = np.where(log < 20, np.arcsinh(np.exp(np.minimum(log, 20.0))), log + math.log(2))
        return np.asarray(np.sign(losses) * (size / 2 + angle) / self.mu)

    def _tails(self, y: Floats) -> Tails:
        """Return probabilities below y, where the means are 0 and -mu under P, mu under Q."""
        from scipy.special import ndtr

        size = np.minimum(np.abs(y), 1e3)
        lowest = np.clip(y - self.mu, -1e3, 1e3)
        hazard = np.where(lowest < 0, 1 - lowest, np.exp(-lowest * np.maximum(lowest, 0.0) / 2))
        p = self.rest * ndtr(y) + self.rate * ndtr(y + self.mu)
        q = self.rest * ndtr(y) + self.rate * ndtr(y - self.mu)
        return Tails(p, q, (24 + 8 * (size + self.mu) * hazard) * UNIT)


class StepFunction(NamedTuple):
    """Step function on [0, 1]: values[i] up to ends[i]."""

    ends: Floats
    values: Floats

    def at(self, positions: Floats) -> Floats:
        """Return the value just above each position."""
        return np.asarray(self.values[np.searchsorted(self.ends[:-1], positions, side="right")])


class ExchangedLaw(FiniteLaw):
    """Pair of step densities on [0, 1/2], mirrored to [1/2, 1].

    `high` falls from an atom `infinite` at 0, `low` rises.
    """

    def __init__(self, high: StepFunction, low: StepFunction, rate: Fraction, infinite: float, slack: float) -> None:
        chance, rest = float(rate), float(1 - rate)
        ends = np.unique(np.minimum(np.concatenate((high.ends, low.ends, [0.5])), 0.5))
        ends = ends[ends > 0]
        starts = np.concatenate(([0.0], ends[:-1]))
        top = high.at(starts)
        bottom = low.at(starts)
        p = (ends - starts) * (rest + chance * top)
        q = (ends - starts) * (rest + chance * bottom)
        some = q > 0
        infinite = chance * infinite + float(p[~some].sum())
        p, q, top, bottom = p[some], q[some], top[some], bottom[some]
        logs = _log_mixed(top, chance, rest), _log_mixed(bottom, chance, rest)
        losses = logs[0] - logs[1]
        losses = np.maximum.accumulate(np.maximum(losses, 0.0)[::-1])
        super().__init__(
            np.concatenate((-losses[::-1], losses)),
            np.concatenate((q, p[::-1])),
            np.concatenate((p, q[::-1])),
            infinite=infinite,
            vanishing=infinite,
            roundings=16,
        )
        self._middle = max((abs(float(log[-1])) for log in logs if log.size), default=0.0)
        self._chance = chance
        self._slack = slack + 8 * UNIT

    def slack(self, magnitude: float) -> float:
        """Return the slack of a loss of this magnitude.

        Both logarithms together are at most |l| + 2 |that in the middle|; the base's slack counts by P's share.
        """
        share = min(1.0, self._chance + magnitude + self._middle)
        return 32 * UNIT * (magnitude + 2 * self._middle) + 2 * self._slack * share

    def slacks(self, losses: Floats) -> Floats:
        """Return the slack of each loss."""
        size = np.abs(losses)
        share = np.minimum(1.0, self._chance + size + self._middle)
        return np.asarray(32 * UNIT * (size + 2 * self._middle) + 2 * self._slack * share)


def _log_mixed(density: Floats, chance: float, rest: float) -> Floats:
    """Return ln(rest + chance density), accurate also near 0."""
    change = chance * (density - 1)
    far = np.abs(change) > 0.5
    return np.asarray(np.where(far, np.log(rest + chance * density), np.log1p(np.where(far, 0.0, change))))


def exchanged_laws(base: LossLaw, rate: Fraction) -> tuple[LossLaw, LossLaw]:
    """Return laws above and below the worst pair, from the law of (with, without)."""
    if isinstance(base, NormalLaw):
        law = ExchangedNormalLaw(base.mu, rate) if rate < 1 else NormalLaw(2 * base.mu)
        return law, law
    return _exchanged(base, rate, upper=True), _exchanged(base, rate, upper=False)


def _exchanged(base: LossLaw, rate: Fraction, *, upper: bool) -> ExchangedLaw:
    """Return the worst pair from parts of the law, above or below."""
    cuts, single = _cuts(base)
    high, low, infinite = densities(base, cuts, single, upper=upper)
    return ExchangedLaw(high, low, rate, infinite, base.slack(float(np.abs(cuts).max())))


def densities(
    base: LossLaw, cuts: Floats, single: Floats | None, *, upper: bool
) -> tuple[StepFunction, StepFunction, float]:
    """Return step bounds on the density x(s) of P, high and low, and its atom at 0.

    The pair reveals more when the high density is larger and when the low one is smaller.

    Args:
        base: the law of (with the unit, without it).
        cuts: rising losses that part the law.
        single: the one loss in each part, where there is only one.
        upper: whether the pair shall reveal more, or less.
    """
    ratios = np.exp(cuts)
    values = None if single is None else np.exp(single)
    tails = base.above(cuts)
    side = 1 if upper else -1
    infinite = base.infinite * (1 + 4 * side * UNIT)
    if upper:
        infinite += float(tails.p[-1]) * (1 + float(tails.error[-1]))
    masses = _Masses(tails.p[::-1], tails.q[::-1], tails.error[::-1] + 8 * UNIT)
    high = _steps(masses, ratios[::-1], None if values is None else values[::-1], float(ratios[-1]), side)
    tails = base.below(cuts)
    gone = base.vanishing * (1 + 4 * side * UNIT)
    lowest = 0.0 if upper and cuts[0] > base.lowest else float(ratios[0])
    masses = _Masses(tails.p, tails.q + gone, tails.error + 8 * UNIT)
    low = _steps(masses, ratios, values, lowest, side)
    if gone:
        low = StepFunction(np.append(gone, low.ends), np.append(0.0, low.values))
    return high, low, infinite


class _Masses(NamedTuple):
    """Probabilities beyond each cut, outermost first, and their relative error."""

    p: Floats
    q: Floats
    error: Floats


def _steps(masses: _Masses, ratios: Floats, single: Floats | None, first: float, side: int) -> StepFunction:
    """Return densities by position, from the outside.

    `first` is the density beyond all cuts, side +1 reveals more and -1 less. Where a part between two cuts has one
    density, it is given. Otherwise, to reveal more, the part is moved to the densities of its cuts, both masses kept;
    to reveal less, it is joined at its mean.

    Where a part between two cuts has one density, it is given. Otherwise, to reveal more, the part is moved to the
    densities of its cuts, both masses kept; to reveal less, it is joined at its mean.
    """
    reached = masses.q * (1 + side * masses.error)
    worst = np.maximum(masses.error[:-1], masses.error[1:])
    a = np.maximum(np.diff(masses.p), 0.0)
    b = np.maximum(np.diff(masses.q), 0.0)
    doubt_a, doubt_b = 2 * worst * masses.p[1:], 2 * worst * masses.q[1:]
    outer, inner = ratios[:-1], ratios[1:]
    if single is not None:
        ends = reached
        values = np.concatenate(([first], single))
    elif side > 0:
        share = np.clip((a - b * inner) / (outer - inner), 0.0, b)
        doubt = (doubt_a + doubt_b * np.maximum(outer, inner)) / np.abs(outer - inner)
        ends = np.append(reached[0], np.minimum(reached[:-1] + share + doubt, reached[1:]))
        values = np.concatenate(([first, outer[0]], inner[:-1]))
    else:
        inward = np.sign(inner - outer)
        joined = np.where(inward > 0, np.maximum(outer, inner), np.minimum(outer, inner))
        a = np.maximum(a + inward * doubt_a, 0.0)
        b = b - inward * doubt_b
        np.divide(a, b, out=joined, where=b > np.maximum(a, 1.0) * 1e-300)
        ends = reached
        values = np.append(first, np.clip(joined, np.minimum(outer, inner), np.maximum(outer, inner)))
    ends = np.maximum.accumulate(np.append(ends, 1.0))
    return StepFunction(ends, np.append(values, inner[-1]))


def _cuts(law: LossLaw) -> tuple[Floats, Floats | None]:
    """Return rising losses that part the law, and the one loss in each part.

    None for the latter where a part has more than one.
    """
    atoms = law.atoms()
    if atoms is not None:
        between = (atoms.losses[1:] + atoms.losses[:-1]) / 2
        return np.concatenate(([atoms.losses[0] - 1], between, [atoms.losses[-1] + 1])), atoms.losses
    low, high = span(law, 1e-280, 1e-280)
    low = max(low, -_MAX_LOSS)
    high = min(high, _MAX_LOSS)
    if law.spacing is not None and (high - low) / law.spacing < 4 * _PARTS:
        first = math.floor((low - law.anchor) / law.spacing)
        last = math.ceil((high - law.anchor) / law.spacing)
        indices = np.arange(first, last + 1, dtype=np.float64)
        cuts = law.anchor + law.spacing * (np.append(indices, last + 1) - 0.5)
        return np.asarray(cuts), np.asarray(law.anchor + law.spacing * indices)
    middle = max(span(law, 0.2, 0.2)[1], 1e-3 * (high - low))
    cuts = middle * np.sinh(np.linspace(math.asinh(low / middle), math.asinh(high / middle), _PARTS))
    margin = 1e-9 * middle
    return np.unique(np.concatenate((np.clip(cuts, low, high), [low, low + margin, high - margin, high]))), None


@dataclass(frozen=True, init=False)
class PoissonReplacedStatement(SampledStatement):
    """Loss of a mechanism on a Poisson sample, under replace.

    One unit has either of two values, or is not in the sample. `base` is stated for add/remove, so that `GaussianLoss`
    counts noise in the sensitivity under add/remove: for vectors of norm at most c that are summed, the standard
    deviation divided by c.

    Args:
        base: the loss of the mechanism on all units, under add/remove.
        rate: the sampling probability, in (0, 1].

    Guarantee: with R uniform on [0, 1], P of the best trade-off that `base` allows against R, and P' its mirror image,
        the pair (1 - rate) R + rate P, (1 - rate) R + rate P'. For Gaussian noise means 0 and +-1. An epsilon-DP
        mechanism becomes ln((1 + rate (e^epsilon - 1)) / (1 + rate (e^-epsilon - 1)))-DP. Attained by noisy sums whose
        unit may count with either sign; for losses whose two directions differ the lower bound is that of add/remove.
    Source: docs/theory/privacy/sampling.md; for Gaussian noise also Lebeda, Regehr, Kamath, Steinke (2024),
        arXiv:2405.20769.
    """

    kind: ClassVar[str] = "poisson_replaced"
    base: Statement
    rate: Fraction
    failure = Fraction(0)
    relations = frozenset({Replace})

    def __init__(self, base: Stated, rate: Real) -> None:
        known_laws(base)
        read_fields(
            self, rate=checked_rate(rate), base=checked_base(base, AddRemove, "Poisson sampling", "poisson_sampled")
        )

    def __repr__(self) -> str:
        return f"{self.base.operand}.poisson_sampled(rate={self.rate!r}, relation=Replace)"

    def laws(self) -> Pairs:
        """Return the worst pair above, and a pair that is attained."""
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """Return delta for Gaussian noise; None for other bases."""
        moved = self.base.normal_mu_squared
        return None if moved is None else exchanged_normal_delta(moved, self.rate, epsilon)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon ln((1 + rate (e^e - 1)) / (1 + rate (e^-e - 1))), rounded up."""
        limit = self.base.pure_epsilon
        if limit is None:
            return None
        if self.rate == 1:
            return 2 * limit

        def formula() -> Arb:
            rate = ball(self.rate)
            return ((1 + rate * ball(limit).expm1()) / (1 + rate * ball(-limit).expm1())).log()

        return decimal_above(Fraction(certified(formula, within=NONNEGATIVE).upper), DIGITS)


@lru_cache(maxsize=64)
def _pairs(loss: PoissonReplacedStatement) -> Pairs:
    """Return the worst pair above, and attained pairs."""
    base = known_laws(loss.base)
    upper, lower = exchanged_laws(base.upper[0], loss.rate)
    if not base.is_symmetric:
        lower_pairs = mixed_pairs(base, loss.rate).lower if loss.rate < 1 else base.lower
        return Pairs((upper, upper), lower_pairs)
    if base.lower[0] is not base.upper[0]:
        lower = exchanged_laws(base.lower[0], loss.rate)[1]
    return Pairs.symmetric(upper) if lower is upper else Pairs.symmetric(upper, lower)


def exchanged_normal_delta(mu_squared: Fraction, rate: Fraction, epsilon: Fraction) -> Interval:
    """Return delta of the pair of mixtures of `ExchangedNormalLaw`."""
    if mu_squared == 0:
        return Interval(0.0, 0.0)

    def formula() -> Arb:
        from flint import arb

        mu = ball(mu_squared).sqrt()
        q = ball(rate)
        e = ball(epsilon).exp()
        angle = ((1 / q - 1) * (mu**2 / 2).exp() * (ball(epsilon) / 2).sinh()).asinh()
        x = (ball(epsilon) / 2 + angle) / mu
        root = arb(2).sqrt()
        middle, ahead, behind = ((y / root).erfc() / 2 for y in (x, x - mu, x + mu))
        return (1 - q) * (1 - e) * middle + q * ahead - e * q * behind

    return certified(formula)


def poisson_replaced(loss: Statement, rate: Real) -> Statement:
    """Return the loss under replace on a Poisson sample.

    Earlier sampling multiplies the rate.
    """
    share = exact_rational("rate", rate)
    base, rate = loss.as_sample if 0 < share <= 1 else (loss, 1)
    return PoissonReplacedStatement(base, rate * share)
