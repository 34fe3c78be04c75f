"""The event to test, chosen from runs that do not test it, and its test on fresh runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from deniable.audit.binomial import epsilon_of, upper_rate, wilson
from deniable.audit.outputs import Outputs
from deniable.audit.result import Measured
from deniable.audit.scores import Score
from deniable.numbers.arrays import Floats

_MOST_CUTS = 1024
_POINTS = 16  # of the measured trade-off curve


@dataclass(frozen=True)
class Goal:
    """A delta at which epsilon is bounded, and the epsilon that is claimed there; 0 where nothing is."""

    delta: float
    claimed: float


@dataclass(frozen=True)
class Event:
    """Outputs whose score is at least, or at most, a cut.

    Args:
        swapped: whether the event is more likely on the second input.
        goal: what it is to bound.
        hoped: epsilon beyond the claim that it would show, were the rates as they were when it was chosen.
        doubt: what of epsilon its confidence bounds take away then.
    """

    score: Score
    cut: float
    above: bool
    swapped: bool
    goal: Goal
    hoped: float
    doubt: float

    def __str__(self) -> str:
        return self.score.words(self.cut, self.above)

    def happens(self, outputs: Outputs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Shape (runs,)."""
        scores = self.score.of(outputs)
        return scores >= self.cut if self.above else scores <= self.cut

    def hits(self, ours: Outputs, theirs: Outputs) -> tuple[int, int]:
        """How often it happened on the input where it is more likely, and on the other."""
        counts = int(self.happens(ours).sum()), int(self.happens(theirs).sum())
        return (counts[1], counts[0]) if self.swapped else counts


def choose(
    scores: Sequence[Score], ours: Outputs, theirs: Outputs, *, goals: Sequence[Goal], runs: int, failure: float
) -> Event | None:
    """The event that would show the most, were `runs` fresh runs of either input to repeat these.

    As many runs as choose it are the cautious number: what only more of them would show may be chance.

    An earlier score is left for a later one only where that promises more than chance would.
    """
    best = None
    for score in scores:
        found = _best(score, (ours, theirs), goals, runs, failure)
        if found is not None and (best is None or found.hoped > best.hoped + best.doubt / 6):
            best = found
    return best


def _best(
    score: Score, samples: tuple[Outputs, Outputs], goals: Sequence[Goal], runs: int, failure: float
) -> Event | None:
    first, second = (np.sort(values[~np.isnan(values)]) for values in map(score.of, samples))
    cuts = np.unique(np.concatenate([first, second]))
    if len(cuts) < 2:
        return None
    if len(cuts) > _MOST_CUTS:  # evenly, and closely at both ends
        ends = np.unique(np.geomspace(1, len(cuts) / 2, _MOST_CUTS // 4).astype(np.int64)) - 1
        evenly = np.linspace(0, len(cuts) - 1, _MOST_CUTS // 2).astype(np.int64)
        cuts = cuts[np.unique(np.concatenate([ends, evenly, len(cuts) - 1 - ends]))]
    deviations = float(-special.ndtri(failure / 2))
    best, most = None, -math.inf
    for above in (True, False):
        shares = [_share(values, cuts, above) / len(one) for values, one in zip((first, second), samples, strict=True)]
        bounds = [wilson(share, runs, deviations) for share in shares]
        for swapped in (False, True):
            low, high = bounds[swapped][0], bounds[not swapped][1]
            for goal in goals:
                excess = np.log(np.maximum(low - goal.delta, 1e-300) / high) - goal.claimed
                place = int(np.argmax(excess))
                if excess[place] > most:
                    most = float(excess[place])
                    hits, others = (round(float(shares[k][place]) * runs) for k in (swapped, not swapped))
                    shown = epsilon_of(hits, others, runs, delta=goal.delta, failure=failure)
                    seen = math.log(max(hits / runs - goal.delta, 1e-300) * runs / max(others, 1))
                    best = Event(
                        score, float(cuts[place]), above, swapped, goal, shown - goal.claimed, max(seen - shown, 0.0)
                    )
    return best


def _share(values: Floats, cuts: Floats, above: bool) -> Floats:
    if above:
        return (len(values) - np.searchsorted(values, cuts, side="left")).astype(np.float64)
    return np.searchsorted(values, cuts, side="right").astype(np.float64)


def measured(
    event: Event, chosen: tuple[Outputs, Outputs], tested: tuple[Outputs, Outputs], failure: float
) -> Measured:
    """Upper bounds on the error rates of the event's score at several cuts; all hold at once except with `failure`.

    Args:
        chosen: runs that place the cuts.
        tested: fresh runs on the two inputs, equally many.
    """
    sign = 1.0 if event.above else -1.0
    favoured, other = (1, 0) if event.swapped else (0, 1)
    pool = np.concatenate([sign * event.score.of(one) for one in chosen])
    known = np.sort(pool[~np.isnan(pool)])
    places = (np.linspace(0.02, 0.98, _POINTS - 1) * (len(known) - 1)).astype(np.int64)
    cuts = np.unique(np.append(known[places], sign * event.cut))
    hits, alarms = (sign * event.score.of(tested[place]) for place in (favoured, other))
    runs, each = len(hits), failure / (2 * len(cuts))
    return Measured(
        false_positive=np.array([upper_rate(int((alarms >= cut).sum()), runs, each) for cut in cuts]),
        false_negative=np.array([upper_rate(runs - int((hits >= cut).sum()), runs, each) for cut in cuts]),
    )
