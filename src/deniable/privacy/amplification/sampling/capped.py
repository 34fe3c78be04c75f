"""Poisson samples cut to a fixed batch size (truncated Poisson sampling).

Proofs in docs/theory/privacy/sampling.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval, round_up
from deniable.numbers.rationals import Real, exact_root, positive_integer, root_above
from deniable.privacy.amplification.sampling.poisson import (
    SampledStatement,
    amplified_limit,
    checked_base,
    checked_rate,
    known_laws,
    removed_delta,
    sampled_delta,
)
from deniable.privacy.amplification.sampling.poisson_replace import (
    PoissonReplacedStatement,
    exchanged_laws,
    exchanged_normal_delta,
)
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw, mixed_pairs
from deniable.privacy.amplification.sampling.subsets import MirroredLaw
from deniable.privacy.amplification.sampling.triangle import law_of_cells, normal_cells
from deniable.privacy.composition.mixture import MixedLaw
from deniable.privacy.losses.dominated import curve_of
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.pld.law import LossLaw, Pairs, ReversedLaw
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Stated, Statement

_LAST_RANGE_DIVISOR = 256  # sizes of the data are grouped in ranges; the last holds 1/256 of them, others more
_RANGE_DIVISOR = 16  # no range holds more than 1/16 of the sizes up to its end
_NEGLIGIBLE_FULL = 1e-25  # probability of a full sample below which all sizes are one range
_RANGE_GROUPS = 8  # components of one pair above all sizes
_LARGE_MU = 4  # above it one range does as well as many
_MU_DIGITS = 15  # of an irrational mu, rounded up
_MAX_ROOM = 1e-4  # probability that a sample is not full, in data that a lower bound assumes
_CLEAR_RATIO = 1.25  # of mean losses, above which a full sample reveals more
_CELL_WIDTH = 2.0**-5  # in standard deviations
_MAX_CELLS = 2e7  # of all centres together
_NORMAL_RANGE = 8.0  # standard deviations of noise that cells cover


@dataclass(frozen=True, init=False)
class CappedPoissonStatement(SampledStatement):
    """Loss of a mechanism on a Poisson sample that is cut to a largest size.

    The data have at most `population` units; if more than `cap` are sampled, a random `cap` of them are kept.

    Args:
        base: the loss of the mechanism on all units, under add/remove.
        rate: the sampling probability, in (0, 1).
        cap: the largest sample size.
        population: the largest size of the data, public.
        relation: the neighbouring relation of the result.

    Guarantee: with f the probability that `cap` or more other units are in the sample, r <= rate the probability that
        the unit is then in the sample and kept, and D the pair of one unit in place of another, the public mixture, of
        weights 1 - f and f, of Poisson sampling of `base` and, under add/remove, of ((1 - r) D_2 + r D_1, D_2) or its
        reverse; under replace of the one pair above both. The greatest of these over all sizes of the data up to
        `population`: for one run of Gaussian noise as it is, otherwise by a pair above all: a mixture over sizes where
        the noise is Gaussian (add/remove), else with r = `rate` and the weight max f r / rate. At least Poisson
        sampling of `base`, attained by data of at most `cap` units, or a full sample of units that are all alike.
    Source: Ganesh et al. (2025), arXiv:2508.15089, treat the same samples; the bound is proved in
        docs/theory/privacy/sampling.md.
    """

    kind: ClassVar[str] = "capped_poisson"
    base: Statement
    rate: Fraction
    cap: int
    population: int
    relation: Relation
    failure = Fraction(0)

    def __init__(
        self,
        base: Stated,
        rate: Real,
        cap: object,
        population: object,
        relation: Relation | str = AddRemove,
    ) -> None:
        limit = positive_integer("cap", cap)
        whole = positive_integer("population", population)
        read_fields(
            self,
            base=checked_base(base, AddRemove, "Poisson sampling", "capped_poisson_sampled"),
            rate=checked_rate(rate, below_one=True),
            cap=limit,
            population=whole,
            relation=Relation(relation),
        )

    def __repr__(self) -> str:
        size = f"rate={self.rate!r}, cap={self.cap}, population={self.population}"
        relation = ", relation=Replace" if self.relation is Replace else ""
        return f"{self.base.operand}.capped_poisson_sampled({size}{relation})"

    @property
    def full(self) -> Interval:
        """Probability that the other units fill the sample."""
        return Interval(0.0, 0.0) if self.cap >= self.population else self._full(self.population)

    @cached_property
    def cuts(self) -> list[tuple[Fraction, Fraction]]:
        """Bounds on f and on r for all sizes of the data that may be cut, range by range."""
        bounds = []
        top = self.population
        width = max(self.population // _LAST_RANGE_DIVISOR, 1)
        while top > self.cap:
            full = Fraction(self._full(top).upper)
            smallest_size = max(top - width + 1, self.cap + 1) if full > _NEGLIGIBLE_FULL else self.cap + 1
            bounds.append((full, Fraction(self._kept(smallest_size).upper)))
            width = max(min(2 * width, top // _RANGE_DIVISOR), 1)
            top = smallest_size - 1
        return bounds

    def _full(self, size: int) -> Interval:
        """Return f for `size` units in total; it grows with their number."""
        return certified(lambda: ball(self.rate).beta_lower(self.cap, size - self.cap, 1))

    def _kept(self, size: int) -> Interval:
        """Return r for `size` units in total; it falls with their number.

        cap/size P(Bin(size, rate) > cap) is f r.
        """

        def formula() -> Arb:
            share = ball(self.rate)
            more = share.beta_lower(self.cap + 1, size - self.cap, 1)
            return more * self.cap / size / share.beta_lower(self.cap, size - self.cap, 1)

        kept = certified(formula)
        return Interval(min(kept.lower, self._most_kept), min(kept.upper, self._most_kept))

    @property
    def _most_kept(self) -> float:
        """Bound rate cap / (cap + 1) on r, rounded up: there are `cap` others at least."""
        return Interval.around(self.rate * Fraction(self.cap, self.cap + 1)).upper

    def laws(self) -> Pairs:
        """Return pairs above all sizes, and a pair that is attained."""
        return _pairs(self)

    def _closed_delta(self, epsilon: Fraction) -> Interval | None:
        """Return delta from curves, where the noise is Gaussian; None elsewhere."""
        moved = self.base.normal_mu_squared
        if moved is None:
            return None
        twice = partial(gaussian_delta, 4 * moved)
        if self.relation is Replace:
            alone = exchanged_normal_delta(moved, self.rate, epsilon)
            instead = partial(removed_delta, twice)
        else:
            alone = sampled_delta(partial(gaussian_delta, moved), self.rate, epsilon)
            instead = partial(sampled_delta, twice)
        uncut = Fraction(alone.upper)
        cut = [(1 - f) * uncut + f * Fraction(instead(r, epsilon).upper) for f, r in self.cuts]
        upper = round_up(max([uncut, *cut]))
        full = None if self.relation is Replace else _full_sample(self)[0]
        lower = alone.lower if full is None else max(alone.lower, curve_of(full, epsilon).lower)
        return Interval(min(lower, upper), upper)

    @property
    def filling_size(self) -> int:
        """Smallest size of data that nearly always fills the sample, or `population`."""
        below, above = self.cap, self.population
        while above - below > 1:
            size = (below + above) // 2
            below, above = (below, size) if self._full(size).lower >= 1 - _MAX_ROOM else (size, above)
        return above

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon of sampling an exchanged unit: that of the base twice, amplified."""
        limit = self.base.pure_epsilon
        return None if limit is None else amplified_limit(2 * limit, self.rate)


@lru_cache(maxsize=64)
def _pairs(loss: CappedPoissonStatement) -> Pairs:
    """Return pairs above all sizes of the data, and attained ones."""
    base = known_laws(loss.base)
    full = _weight(loss)
    exchanged = SampledLaw(exchanged_laws(base.upper[0], Fraction(1))[0], loss.rate)
    if loss.relation is Replace:
        free = PoissonReplacedStatement(loss.base, loss.rate).laws()
        upper = MixedLaw([(1 - full, free.upper[0]), (full, MirroredLaw(exchanged))]) if full else free.upper[0]
        return Pairs((upper, upper), free.lower)
    free = mixed_pairs(base, loss.rate)
    if not full:
        return free
    parts = _by_sizes(loss) or [(full, (exchanged, ReversedLaw(exchanged)))]
    rest = 1 - sum((weight for weight, _ in parts), Fraction(0))
    parts = [(rest, free.upper), *parts] if rest else parts
    upper, back = (MixedLaw([(weight, pair[direction]) for weight, pair in parts]) for direction in (0, 1))
    lower, larger = _full_sample(loss)
    return Pairs((upper, back), (lower, ReversedLaw(lower)) if lower and larger else free.lower)


def _weight(loss: CappedPoissonStatement) -> Fraction:
    """Return a bound on f r / rate."""
    return max((f * min(r / loss.rate, Fraction(1)) for f, r in loss.cuts), default=Fraction(0))


def _by_sizes(loss: CappedPoissonStatement) -> list[tuple[Fraction, tuple[LossLaw, LossLaw]]] | None:
    """Return weighted pairs above those of full samples, for Gaussian noise.

    Their mixture is above all sizes.
    """
    moved = loss.base.normal_mu_squared or Fraction(0)
    mu = exact_root(moved) or root_above(moved, _MU_DIGITS)
    if not 0 < moved <= _LARGE_MU**2:
        return None
    sizes = [(f, min(r, loss.rate)) for f, r in reversed(loss.cuts)]
    largest = max(f * r for f, r in sizes)
    groups = dict[int, Fraction]()
    reached = Fraction(0)
    for f, r in sizes:  # the first of each group is kept most often
        reached = max(reached, f * r)
        groups.setdefault(math.ceil(_RANGE_GROUPS * reached / largest), r)
    pairs = []
    below = 0
    for group, r in groups.items():
        mixture = [(1 - loss.rate, 0), (loss.rate - r, mu), (r, 2 * mu)]
        pair = GaussianMixtureStatement(mixture, sigma=1, relation=AddRemove).laws().upper
        pairs.append((largest * (group - below) / _RANGE_GROUPS / r, pair))
        below = group
    return pairs


@lru_cache(maxsize=64)
def _full_sample(loss: CappedPoissonStatement) -> tuple[LossLaw | None, bool]:
    """Return a law below the loss of one unit that differs from all others.

    The unit is at c, the others at -c, in data of `filling_size` units; c is the sensitivity of the noise. None where
    it would have too many cells. Also returns whether its mean loss is clearly above that of Poisson sampling.

    None where it would have too many cells. And whether its mean loss is clearly above that of Poisson sampling.
    """
    moved = loss.base.normal_mu_squared
    if not moved or loss.cap >= loss.population:
        return None, False
    mu = math.sqrt(moved)
    rate = float(loss.rate)
    others = loss.filling_size - 1
    mean = others * rate
    spread = 9 * math.sqrt(mean) + 9
    sizes = np.arange(max(0, int(mean - spread)), min(loss.cap, int(mean + spread)) + 1)
    if sizes.size * (mu * sizes.size + 2 * _NORMAL_RANGE) > _MAX_CELLS * _CELL_WIDTH or sizes[-1] < loss.cap:
        return None, False
    chances = np.array([_chance(others, int(size), loss.rate) for size in sizes[:-1]] + [loss._full(others + 1).upper])
    room = sizes < loss.cap
    joined: Floats = np.where(room, rate, loss._kept(others + 1).upper)
    steps: Floats = np.where(room, mu, 2 * mu)
    capped = _cells(chances, np.asarray(mu * (loss.cap - sizes), dtype=np.float64), joined, steps)
    free = _cells(np.ones(1), np.zeros(1), np.array([rate]), np.array([mu]))
    return law_of_cells(*capped), _mean_loss(*capped) > _CLEAR_RATIO * _mean_loss(*free)


def _chance(others: int, size: int, rate: Fraction) -> float:
    """Return the probability that a sample has this size."""

    def formula() -> Arb:
        from flint import arb, fmpz

        return arb(fmpz.bin_uiui(others, size)) * ball(rate) ** size * (1 - ball(rate)) ** (others - size)

    return certified(formula).upper


def _cells(chances: Floats, centres: Floats, joined: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Return probabilities of cells with the unit and without it.

    The unit moves each centre by its step if it joined.
    """
    edges = np.arange(-_NORMAL_RANGE, centres.max() + steps.max() + _NORMAL_RANGE, _CELL_WIDTH)
    there = normal_cells(edges, centres)
    moved = normal_cells(edges, centres + steps)
    return chances * (1 - joined) @ there + chances * joined @ moved, chances @ there


def _mean_loss(p: Floats, q: Floats) -> float:
    """Return the mean loss of cells that both laws can reach."""
    seen = (p > 0) & (q > 0)
    return float(np.sum(p[seen] * np.log(p[seen] / q[seen])))
