"""Random allocation (balls in bins): a unit takes part in one of many runs, chosen at random; proofs in
docs/theory/allocation.md.

With X the ratio of densities of one run under the law without the unit, the ratio of all runs is the mean of t
independent X. Its law is found by repeated doubling on a geometric grid, with numbers >= 0 alone, so that errors stay
relative. Splitting masses, means kept, reveals more; joining them at their mean reveals less.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.compose import compose
from deniable.privacy.exact import positive_integer
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import UNIT, FiniteLaw, Floats, LossLaw, Pairs, ReversedLaw
from deniable.privacy.pld.pilot import span
from deniable.privacy.relation import AddRemove, Relation
from deniable.privacy.sampling.poisson import SampledLoss, known_laws
from deniable.privacy.sampling.poisson_replace import poisson_replaced

_POINTS = 2**13
_ROOM = 2**12  # a grid of so few points is made finer
_FINE = 1e-3  # a step of this many standard deviations is fine enough for one value
_MOST_RUNS = 10**6
_NEGLIGIBLE = 1e-50
_FARTHEST = 300.0
_DOUBTFUL = 1e-8  # masses and means that are not known to this relative accuracy are left out of lower bounds


class AllocatedLaw(FiniteLaw):
    """A law of the mean on a grid, whose losses are off by at most `doubt`."""

    def __init__(
        self, losses: Floats, p: Floats, q: Floats, *, ends: tuple[float, float], roundings: float, doubt: float
    ) -> None:
        super().__init__(losses, p, q, infinite=ends[0], vanishing=ends[1], roundings=roundings)
        self._doubt = doubt

    def slack(self, reach: float) -> float:
        return super().slack(reach) + self._doubt


class _Sum(NamedTuple):
    """A law on 0 and on scale * exp(step * (first + i)): mass and mean * mass there, mass at 0.

    lost: what the mean of values that were moved to 0 is; it counts as probability of an infinite loss.
    """

    first: int
    masses: Floats
    moments: Floats
    zero: float
    lost: float

    @property
    def total(self) -> float:
        return float(self.masses.sum()) + self.zero


class _Grid:
    """exp(step * i), i whole; where sums of two of its values lie between others."""

    def __init__(self, step: float, *, upper: bool) -> None:
        self.step, self.upper = step, upper
        reach = np.arange(math.ceil(2.2 * _FARTHEST / step))  # beyond all differences of two places
        grown = np.log1p(np.exp(-step * reach))
        self.rises: NDArray[np.int64] = np.floor(grown / step).astype(np.int64)
        self.shares = np.clip(np.expm1(grown - step * self.rises) / math.expm1(step), 0.0, 1.0)
        self.edges = np.concatenate(([0], np.flatnonzero(np.diff(self.rises)) + 1, [reach.size]))

    def added(self, one: _Sum, other: _Sum) -> _Sum:
        """The law of the sum of two independent values; above or below it."""
        first = min(one.first, other.first)
        size = max(one.first + one.masses.size, other.first + other.masses.size) - first
        a, b = _aligned(one, first, size), _aligned(other, first, size)
        out = np.zeros((2, size + int(self.rises[0]) + 2))
        self._pairs(a, b, 0, out)
        self._pairs(b, a, 1, out)
        out[:, :size] += a * other.zero + b * one.zero
        lost = one.lost * other.total + other.lost * one.total
        return self._trimmed(first, out, one.zero * other.zero, lost)

    def _pairs(self, larger: Floats, smaller: Floats, least: int, out: Floats) -> None:
        """Adds all pairs whose places differ by at least `least` to `out`."""
        size = larger.shape[1]
        for start, end in zip(self.edges[:-1], self.edges[1:], strict=True):
            begin = max(int(start), least)
            if begin >= min(size, int(end)):
                continue
            rise, left = int(self.rises[start]), size - begin
            mass, moment = larger[:, begin:]
            if self.upper:
                share = self.shares[begin : min(int(end), size)]
                near = mass * np.convolve(smaller[0, :left], 1 - share)[:left]
                far = mass * np.convolve(smaller[0, :left], share)[:left]
                out[0, begin + rise : size + rise] += near
                out[0, begin + rise + 1 : size + rise + 1] += far
            else:
                ones = np.ones(min(int(end), size) - begin)
                beside = np.convolve(smaller[0, :left], ones)[:left]
                out[0, begin + rise : size + rise] += mass * beside
                out[1, begin + rise : size + rise] += moment * beside
                out[1, begin + rise : size + rise] += mass * np.convolve(smaller[1, :left], ones)[:left]

    def _trimmed(self, first: int, out: Floats, zero: float, lost: float) -> _Sum:
        """Without the ends that cannot matter."""
        values = np.exp(self.step * (first + np.arange(out.shape[1])))
        if self.upper:
            out[1] = out[0] * values
        tail = np.cumsum(out[1][::-1])[::-1]
        last = int(np.count_nonzero(tail > _NEGLIGIBLE * tail[0]))
        begin = int(np.count_nonzero(np.cumsum(out[0]) <= _NEGLIGIBLE))
        if self.upper:
            below, edge = out[:, :begin], float(values[begin])
            zero += float(out[0, last:].sum()) + float(below[0].sum())
            lost += float(tail[last]) if last < tail.size else 0.0
            out[0, begin] += float(below[1].sum()) / edge
            out[1, begin] = out[0, begin] * edge
        return _Sum(first + begin, out[0, begin:last].copy(), out[1, begin:last].copy(), zero, lost)


def _aligned(given: _Sum, first: int, size: int) -> Floats:
    padded = np.zeros((2, size))
    start = given.first - first
    padded[:, start : start + given.masses.size] = given.masses, given.moments
    return padded


def allocated_law(base: LossLaw, runs: int, *, upper: bool) -> AllocatedLaw:
    """A law above or below that of one run in `runs`, from the law of (with, without) of each."""
    step, low, high = _extent(base)
    one, shift, doubt = _ratios(base, step, low, high, upper=upper)
    total, step = _repeated(one, runs, step, upper=upper)
    values = np.exp(step * (total.first + np.arange(total.masses.size)))
    levels = 2 * runs.bit_length()
    kept = total.masses > 0
    q = total.masses[kept]
    moments = (q * values[kept]) if upper else total.moments[kept]
    losses = np.log(moments / q) + (shift - math.log(runs))
    p = moments * (math.exp(shift) / runs)
    if not upper:
        order = np.argsort(losses)
        losses, p, q = losses[order], p[order], q[order]
    side = 1 if upper else -1
    return AllocatedLaw(
        losses,
        p,
        q,
        ends=(base.infinite * (1 + 4 * side * UNIT) + total.lost * math.exp(shift) / runs, total.zero),
        roundings=64 + 4.0 * runs * (4 * total.masses.size + 64),
        doubt=base.slack(_FARTHEST) + doubt + UNIT * (64 + 16 * levels),
    )


def _extent(base: LossLaw) -> tuple[float, int, int]:
    """The step of the grid, and the first and last place; on the lattice of the base, if it has one."""
    end = min(span(base, _NEGLIGIBLE, 1.0)[1], _FARTHEST)
    start = max(-span(ReversedLaw(base), _NEGLIGIBLE, 1.0)[1], -_FARTHEST)
    step = max((end - start) / _POINTS, _FINE * _spread(base, start, end))
    if base.spacing is not None:
        step = base.spacing / math.ceil(base.spacing / step)
    shift = _shift(base, step)
    return step, math.floor((start - shift) / step - 1e-9), math.ceil((end - shift) / step + 1e-9)


def _spread(base: LossLaw, start: float, end: float) -> float:
    """About the standard deviation of X, at most 1."""
    losses = np.linspace(start, end, 257)
    a = np.where(losses[1:] > 0, -np.diff(base.above(losses).p), np.diff(base.below(losses).p))
    return min(math.sqrt(max(float((np.maximum(a, 0.0) * np.expm1(losses[1:])).sum()), 1e-12)), 1.0)


def _shift(base: LossLaw, step: float) -> float:
    """What to add to multiples of the step so that the anchor of the base is among them."""
    return base.anchor - step * round(base.anchor / step)


def _ratios(base: LossLaw, step: float, low: int, high: int, *, upper: bool) -> tuple[_Sum, float, float]:
    """One X, over exp(shift); and by how much, relatively, its values may be wrong."""
    shift = _shift(base, step)
    losses: Floats = shift + step * np.arange(low, high + 1, dtype=np.float64)
    above, below = base.above(losses), base.below(losses)
    right = losses[:-1] >= 0
    a = np.where(right, above.p[:-1] - above.p[1:], below.p[1:] - below.p[:-1])
    b = np.where(right, above.q[:-1] - above.q[1:], below.q[1:] - below.q[:-1])
    error = 8 * UNIT + np.where(right, above.error[:-1] + above.error[1:], below.error[1:] + below.error[:-1])
    doubt_a = error * np.where(right, above.p[:-1], below.p[1:])
    doubt_b = error * np.where(right, above.q[:-1], below.q[1:])
    scale = math.exp(-shift)
    a, b = np.maximum(a, 0.0) * scale, np.maximum(b, 0.0)
    doubt_a *= scale
    values = np.exp(step * np.arange(low, high + 1))
    gone = base.vanishing
    if upper:
        gap = np.diff(values)
        left = np.clip((b * values[1:] - a) / gap, 0.0, b) + (doubt_a + doubt_b * values[1:]) / gap
        far = np.clip((a - b * values[:-1]) / gap, 0.0, b) + (doubt_a + doubt_b * values[:-1]) / gap
        masses = np.append(left, 0.0) + np.append(0.0, far)
        masses[0] += float(below.p[0] * (1 + below.error[0])) * scale / values[0]
        zero = gone * (1 + 4 * UNIT) + float(below.q[0] * (1 + below.error[0]) + above.q[-1] * (1 + above.error[-1]))
        lost = float(above.p[-1] * (1 + above.error[-1])) * scale
        return _Sum(low, masses, masses * values, zero, lost), shift, 0.0
    doubtful = np.divide(doubt_b, b, out=np.ones_like(b), where=b > doubt_b)
    wrong = doubtful + np.divide(doubt_a, a, out=np.ones_like(a), where=a > doubt_a)
    kept = wrong <= _DOUBTFUL
    masses, moments = np.where(kept, b - doubt_b, 0.0), np.where(kept, a * (1 - doubtful), 0.0)
    most = float(wrong[kept].max()) if kept.any() else 0.0
    return _Sum(low, masses, moments, gone * (1 - 4 * UNIT), 0.0), shift, most


def _repeated(one: _Sum, runs: int, step: float, *, upper: bool) -> tuple[_Sum, float]:
    """The sum of `runs` independent values, by doubling; and its step, which is halved when there is room."""
    power, total, count = one, None, 1
    enough = step**2  # of the square of the step, for one value
    grid = _Grid(step, upper=upper)
    while True:
        if runs & 1:
            total = power if total is None else grid.added(total, power)
        runs >>= 1
        if not runs:
            assert total is not None  # the last bit is 1
            return total, grid.step
        count *= 2
        while count * grid.step**2 > enough and max(power.masses.size, total.masses.size if total else 0) <= _ROOM:
            grid = _Grid(grid.step / 2, upper=upper)
            power, total = _refined(power), None if total is None else _refined(total)
        power = grid.added(power, power)


def _refined(given: _Sum) -> _Sum:
    """The same law on a grid of half the step."""
    masses, moments = np.zeros((2, 2 * given.masses.size - 1))
    masses[::2], moments[::2] = given.masses, given.moments
    return _Sum(2 * given.first, masses, moments, given.zero, given.lost)


@dataclass(frozen=True, init=False)
class RandomlyAllocatedLoss(SampledLoss):
    """`base` run `runs` times, where each unit takes part in exactly one run, chosen uniformly at random.

    Guarantee: under add/remove, if (P, Q) dominates the pair (with, without) of each run, all together are dominated by
        the mean over i of Q x ... x P x ... x Q, P in place i, against Q x ... x Q. Attained where (P, Q) is.
    Error: the laws are computed on a grid; the width grows with `runs` and is seen in the answer.
    Source: Feldman, Shenfeld (2025), arXiv:2502.08202; (2026), arXiv:2602.17284; Chua et al. (2024), arXiv:2412.16802;
        proof in docs/theory/allocation.md.
    """

    kind: ClassVar[str] = "randomly_allocated"
    base: PrivacyLoss
    runs: int

    def __init__(self, base: PrivacyLoss, runs: object) -> None:
        count = positive_integer("runs", runs)
        if not 2 <= count <= _MOST_RUNS:
            raise InvalidParameterError(f"runs must be from 2 to {_MOST_RUNS}, got {count}")
        known_laws(base)
        if AddRemove not in base.relations:
            raise UnprovedError(
                f"random allocation is proved for losses under add/remove; {base!r} is stated for replace. State the "
                "loss for AddRemove; randomly_allocated(..., relation=Replace) then gives the guarantee under replace."
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "runs", count)

    def __repr__(self) -> str:
        return f"{self.base!r}.randomly_allocated(of={self.runs})"

    @property
    def share(self) -> Fraction:
        return Fraction(1)

    def laws(self) -> Pairs:
        return _pairs(self)

    @property
    def pure_epsilon(self) -> Fraction | None:
        return self.base.pure_epsilon

    @property
    def rho(self) -> Fraction | None:
        return self.base.rho

    @property
    def mu_squared(self) -> Fraction | None:
        return self.base.mu_squared

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({AddRemove})


@lru_cache(maxsize=32)
def _pairs(loss: RandomlyAllocatedLoss) -> Pairs:
    base = known_laws(loss.base)
    upper = allocated_law(base.upper[0], loss.runs, upper=True)
    lower = allocated_law(base.lower[0], loss.runs, upper=False)
    return Pairs((upper, ReversedLaw(upper)), (lower, ReversedLaw(lower)))


def randomly_allocated(loss: PrivacyLoss, of: object, uses: object, relation: Relation) -> PrivacyLoss:
    """`of` runs of `loss` in `uses` blocks of equal length; each unit takes part once in each block, at random.

    Under replace it has either of two values there.
    """
    from deniable.privacy.sampling.allocation_replace import AllocatedReplacedLoss

    runs, blocks = positive_integer("of", of), positive_integer("uses", uses)
    if runs % blocks:
        raise InvalidParameterError(
            f"of={runs} must be a multiple of uses={blocks}: the runs are cut into that many blocks. A bound for any "
            f"{blocks} runs of {runs} is that for of={runs - runs % blocks}."
        )
    if runs == blocks:
        return compose(loss if relation is AddRemove else poisson_replaced(loss, 1), blocks)
    block = RandomlyAllocatedLoss if relation is AddRemove else AllocatedReplacedLoss
    return compose(block(loss, runs // blocks), blocks)
