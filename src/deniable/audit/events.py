"""Choice of the event to test, and its test on fresh runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from deniable.audit.binomial import epsilon_of, upper_rate, wilson
from deniable.audit.outputs import Outputs
from deniable.audit.result import Measured
from deniable.audit.scores import OutputScore
from deniable.numbers.arrays import Floats

_MAX_CUTS = 1024  # of a score that are compared
_MEASURED_POINTS = 16  # of the trade-off curve


@dataclass(frozen=True)
class AuditGoal:
    """Delta at which epsilon is bounded, and the claimed epsilon there, or 0."""

    delta: float
    claimed: float


@dataclass(frozen=True)
class OutputEvent:
    """Event that the score of an output is at least, or at most, a cut.

    Args:
        score: of outputs.
        cut: of the score.
        above: whether the event is that the score is at least the cut; else at most.
        swapped: whether the event is more likely on the second input.
        goal: of the bound.
        hoped: epsilon beyond the claim that it would show with the rates at which it was chosen.
        doubt: part of epsilon that its confidence bounds take away then.
    """

    score: OutputScore
    cut: float
    above: bool
    swapped: bool
    goal: AuditGoal
    hoped: float
    doubt: float

    def __str__(self) -> str:
        return self.score.words(self.cut, self.above)

    def happens(self, outputs: Outputs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return whether it happens in each run, shape (runs,)."""
        scores = self.score.of(outputs)
        return scores >= self.cut if self.above else scores <= self.cut

    def hits(self, ours: Outputs, theirs: Outputs) -> tuple[int, int]:
        """Count it on the input where it is more likely, and on the other."""
        counts = (int(self.happens(ours).sum()), int(self.happens(theirs).sum()))
        return (counts[1], counts[0]) if self.swapped else counts


def choose(
    scores: Sequence[OutputScore],
    ours: Outputs,
    theirs: Outputs,
    *,
    goals: Sequence[AuditGoal],
    runs: int,
    failure: float,
) -> OutputEvent | None:
    """Choose the event that would show the largest epsilon in `runs` fresh runs.

    The rates are those of these runs. The number of runs that choose it is a careful `runs`: more might show chance. A
    later score replaces an earlier one only if it shows more than chance would.
    """
    best = None
    for score in scores:
        event = _best(score, (ours, theirs), goals, runs, failure)
        if event is not None and (best is None or event.hoped > best.hoped + best.doubt / 6):
            best = event
    return best


def _best(
    score: OutputScore, samples: tuple[Outputs, Outputs], goals: Sequence[AuditGoal], runs: int, failure: float
) -> OutputEvent | None:
    """Return the best event of one score."""
    first, second = (np.sort(values[~np.isnan(values)]) for values in map(score.of, samples))
    cuts = np.unique(np.concatenate([first, second]))
    if len(cuts) < 2:
        return None
    cuts = _thinned(cuts)
    deviations = float(-special.ndtri(failure / 2))
    best = None
    greatest = -math.inf
    for above in (True, False):
        shares = [_share(values, cuts, above) / len(one) for values, one in zip((first, second), samples, strict=True)]
        bounds = [wilson(share, runs, deviations) for share in shares]
        for swapped in (False, True):
            low = bounds[swapped][0]
            high = bounds[not swapped][1]
            for goal in goals:
                excess = np.log(np.maximum(low - goal.delta, 1e-300) / high) - goal.claimed
                index = int(np.argmax(excess))
                if excess[index] > greatest:
                    greatest = float(excess[index])
                    hits, others = (round(float(shares[k][index]) * runs) for k in (swapped, not swapped))
                    shown = epsilon_of(hits, others, runs, delta=goal.delta, failure=failure)
                    seen = math.log(max(hits / runs - goal.delta, 1e-300) * runs / max(others, 1))
                    best = OutputEvent(
                        score, float(cuts[index]), above, swapped, goal, shown - goal.claimed, max(seen - shown, 0.0)
                    )
    return best


def _thinned(cuts: Floats) -> Floats:
    """Return at most `_MAX_CUTS` cuts: evenly, and closely at both ends."""
    if len(cuts) <= _MAX_CUTS:
        return cuts
    ends = np.unique(np.geomspace(1, len(cuts) / 2, _MAX_CUTS // 4).astype(np.int64)) - 1
    evenly = np.linspace(0, len(cuts) - 1, _MAX_CUTS // 2).astype(np.int64)
    kept = np.unique(np.concatenate([ends, evenly, len(cuts) - 1 - ends]))
    return np.asarray(cuts[kept])


def _share(values: Floats, cuts: Floats, above: bool) -> Floats:
    """Count values at least, or at most, each cut."""
    if above:
        return (len(values) - np.searchsorted(values, cuts, side="left")).astype(np.float64)
    return np.searchsorted(values, cuts, side="right").astype(np.float64)


def measured(
    event: OutputEvent, chosen: tuple[Outputs, Outputs], tested: tuple[Outputs, Outputs], failure: float
) -> Measured:
    """Bound the error rates of an event's score at several cuts.

    All upper bounds hold at once, except with probability `failure`.

    Args:
        event: whose score is measured.
        chosen: runs that set the cuts.
        tested: fresh runs on the two inputs, the same number of each.
        failure: probability that a bound fails.
    """
    sign = 1.0 if event.above else -1.0
    favoured, other = (1, 0) if event.swapped else (0, 1)
    pool = np.concatenate([sign * event.score.of(one) for one in chosen])
    known = np.sort(pool[~np.isnan(pool)])
    indices = (np.linspace(0.02, 0.98, _MEASURED_POINTS - 1) * (len(known) - 1)).astype(np.int64)
    cuts = np.unique(np.append(known[indices], sign * event.cut))
    hits, alarms = (sign * event.score.of(tested[index]) for index in (favoured, other))
    runs = len(hits)
    each = failure / (2 * len(cuts))
    return Measured(
        false_positive=np.array([upper_rate(int((alarms >= cut).sum()), runs, each) for cut in cuts]),
        false_negative=np.array([upper_rate(runs - int((hits >= cut).sum()), runs, each) for cut in cuts]),
    )
