"""Random allocation under replace, from a loss under add/remove.

Proofs in docs/theory/privacy/allocation.md.

With X and X' the ratios of densities of one run with the first and with the second value of the unit, under the law
without it, delta is the mean positive part of the sum of `runs` independent X - exp(epsilon) X', over `runs`. The
worst X' falls where X rises.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import positive_integer
from deniable.privacy.amplification.sampling.allocation import RandomlyAllocatedStatement
from deniable.privacy.amplification.sampling.poisson import SampledStatement, known_laws
from deniable.privacy.amplification.sampling.poisson_replace import StepFunction, densities, poisson_replaced
from deniable.privacy.composition.compose import composed
from deniable.privacy.composition.group import GroupStatement
from deniable.privacy.pld.curve_law import exp_epsilon_grid, heights_above, law_above
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs, ReversedLaw
from deniable.privacy.pld.pilot import span
from deniable.privacy.pld.positive_part import StepBounds, positive_part_above
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.statement import Stated, Statement

_MAX_RATIOS = 64  # values of the likelihood ratio of one run
_CURVE_POINTS = 32  # values of epsilon at which the curve is computed
_CURVE_TOLERANCE = 0.05  # relative, of delta at each point
_NEGLIGIBLE_PROBABILITY = 1e-6  # of small ratios, which are joined
_MAX_TRIALS = 12  # of a cut of the law for one point
_MAX_TERMS = 2**18  # of the Fourier sum in each trial
_LOST_SHARE = 1e-2  # of delta that may be lost to ratios that are too large
_MIN_DELTA = 1e-12  # below it rounding dominates and the group bound is used


@dataclass(frozen=True, init=False)
class AllocatedReplacedStatement(SampledStatement):
    """Loss of many runs, under replace, where a unit takes part in one at random.

    It has either of two values there. `base` is stated for add/remove, the result holds under replace.

    Args:
        base: the loss of one run, under add/remove.
        runs: the number of runs, from 2 to 10^6.

    Guarantee: with x the falling density of the best trade-off that `base` allows on [0, 1], the pair (mean of x(s_i),
        mean of x(1 - s_i)) for independent uniform s_i; and what follows from removing a unit and adding another one.
        At least random allocation under add/remove: the new value may change nothing.
    Error: the curve is computed at some 40 points, and is a polygon between them: within some percent of delta.
    Source: docs/theory/privacy/allocation.md.
    """

    kind: ClassVar[str] = "allocated_replaced"
    base: Statement
    runs: int
    share = Fraction(1)
    relations = frozenset({Replace})

    def __init__(self, base: Stated, runs: object) -> None:
        checked = RandomlyAllocatedStatement(base, runs)
        read_fields(self, base=checked.base, runs=checked.runs)

    def __repr__(self) -> str:
        return f"{self.base.operand}.randomly_allocated(of={self.runs}, relation=Replace)"

    @property
    def _twice(self) -> GroupStatement:
        """Loss of one unit removed, and one added."""
        return GroupStatement(RandomlyAllocatedStatement(self.base, self.runs), 2, Replace)

    def laws(self) -> Pairs:
        """Return a pair above the curve; below it, that of add/remove."""
        return _pairs(self)

    @property
    def failure(self) -> Fraction:
        return self._twice.failure

    @property
    def failing_epsilon(self) -> Fraction | None:
        return self._twice.failing_epsilon

    @property
    def failing_rho(self) -> Fraction | None:
        return self._twice.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        return self._twice.mu_squared


@lru_cache(maxsize=32)
def _pairs(loss: AllocatedReplacedStatement) -> Pairs:
    """Return a pair above points of the curve, and that of add/remove below."""
    twice = loss._twice
    above = _Curve(known_laws(loss.base).upper[0], loss.runs)
    limit = loss.pure_epsilon

    def upper(epsilon: Fraction) -> float:
        return min(above.upper(float(epsilon) * (1 - 4 * UNIT)), twice.curve(epsilon).upper)

    grid = exp_epsilon_grid(lambda epsilon: max(upper(epsilon) - _MIN_DELTA, 0.0), limit, _CURVE_POINTS)
    coarse_grid = exp_epsilon_grid(lambda epsilon: twice.curve(epsilon).upper, limit, _CURVE_POINTS // 3)
    points = heights_above(upper, [*grid, *(x for x in coarse_grid if x > grid[-1])])
    law = law_above(points, points)
    return Pairs((law, law), RandomlyAllocatedStatement(loss.base, loss.runs).laws().lower)


class _Cells(NamedTuple):
    """Parts of [0, 1/2]: their lengths, and x in them and in their mirror images.

    lost: the mass that x has at 0.
    """

    lengths: Floats
    high: Floats
    low: Floats
    lost: float
    doubt: float

    def steps(self, growth: float) -> StepBounds:
        """Return x(s) - growth x(1 - s), from both sides."""
        values = np.concatenate((self.high - growth * self.low, self.low - growth * self.high, [0.0]))
        sizes = np.concatenate((self.high + growth * self.low, self.low + growth * self.high, [0.0]))
        doubt = self.doubt * sizes
        return StepBounds(values - doubt, values + doubt, np.concatenate((self.lengths, self.lengths, [0.0])))

    def missing(self, growth: float) -> float:
        """Return the loss by sets of more than half, which rounding of the cells may hide.

        By rounding the cells may hold more than 1.
        """
        total = self.lost + float(self.lengths @ (self.high + self.low)) - 1
        return (growth - 1) * (max(total, 0.0) + 16 * UNIT)


class _Curve:
    """Delta of one block, from the law of (with, without) of a run.

    Ratios that are too large are lost.
    """

    def __init__(self, law: LossLaw, runs: int) -> None:
        self._law = law
        self._runs = runs
        self._guess = 1.0
        self._cells = lru_cache(self._cut)

    def upper(self, epsilon: float) -> float:
        """Return an upper bound on delta.

        How much may be lost is guessed from the last one, and corrected.
        """
        growth = math.exp(epsilon) * (1 + 4 * UNIT)
        best = 1.0
        for _ in range(_MAX_TRIALS):
            cells = self._cells(self._unlikely(self._guess))
            with np.errstate(over="ignore", invalid="ignore"):
                total = positive_part_above(cells.steps(growth), self._runs, _CURVE_TOLERANCE, effort=_MAX_TERMS)
            mean = total.value / self._runs
            best = min(best, (cells.lost + mean + cells.missing(growth)) * (1 + 8 * UNIT))
            if cells.lost <= 0.05 * best or best < _MIN_DELTA:
                break
            self._guess = best
        self._guess = best
        return best

    def _unlikely(self, seen: float) -> float:
        """Return the probability that may be lost, a power of ten."""
        return float(10.0 ** math.floor(math.log10(_LOST_SHARE * max(seen, _MIN_DELTA))))

    def _cut(self, unlikely: float) -> _Cells:
        """Return the cells of the law whose unlikely ratios are lost."""
        law = self._law
        atoms = law.atoms()
        if atoms is not None and atoms.losses.size <= _MAX_RATIOS:
            between = (atoms.losses[1:] + atoms.losses[:-1]) / 2
            cuts = np.concatenate(([law.lowest - 1], between, [law.highest + 1]))
            single = atoms.losses
        else:
            low = -span(ReversedLaw(law), _NEGLIGIBLE_PROBABILITY, 1.0)[1]
            high = span(law, unlikely, 1.0)[1]
            cuts = np.linspace(low, high, _MAX_RATIOS)
            single = None
        high_steps, low_steps, lost = densities(law, cuts, single, upper=True)
        ends = high_steps.ends[1:] - high_steps.ends[0]
        values = high_steps.values[1:]
        high_steps = StepFunction(ends, values)  # what is lost needs no room of its own
        ends = np.unique(np.minimum(np.concatenate((high_steps.ends, low_steps.ends, [0.5])), 0.5))
        ends = ends[ends > 0]
        starts = np.concatenate(([0.0], ends[:-1]))
        doubt = 16 * UNIT + 2 * law.slack(float(np.abs(cuts).max()))
        return _Cells(ends - starts, high_steps.at(starts), low_steps.at(starts), lost, doubt)


def randomly_allocated(loss: Statement, of: object, uses: object, relation: Relation) -> Statement:
    """Return the loss of `of` runs in `uses` blocks, each unit once in each block.

    Blocks have equal length, and the run in each is random. Under replace the unit has either of two values there.

    Under replace it has either of two values there.
    """
    runs, blocks = positive_integer("of", of), positive_integer("uses", uses)
    if blocks > runs:
        raise InvalidParameterError(
            f"uses must be at most of={runs}, got {blocks}: a unit takes part at most once in each run. Where it takes "
            f"part in every run, compose: loss * {runs}."
        )
    if runs % blocks:
        raise InvalidParameterError(
            f"of={runs} must be a multiple of uses={blocks}: the runs are cut into that many blocks. A bound for any "
            f"{blocks} runs of {runs} is that for of={runs - runs % blocks}."
        )
    if runs == blocks:
        return composed([loss if relation is AddRemove else poisson_replaced(loss, 1)], blocks)
    block = RandomlyAllocatedStatement if relation is AddRemove else AllocatedReplacedStatement
    return composed([block(loss, runs // blocks)], blocks)
