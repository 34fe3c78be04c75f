"""A test of a claim that may stop at any time, because it bets against it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.audit.black_box import read_goals
from deniable.audit.events import Goal, choose
from deniable.audit.outputs import encode, unread
from deniable.audit.result import AuditResult, Number, read_failure
from deniable.audit.running import Runner, Told, one_sample, read_runs
from deniable.audit.scores import fit
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss

BUDGET = 1_000_000
"""Runs on either input after which a claim is left alone, where nothing else is asked for."""

_FIRST = 256  # runs on either input that choose the first event
_LOOKED_AT = 100_000  # latest runs that choose an event
_STAKES = np.array([0.99, 0.9, 0.75, *(2.0 ** -np.arange(1, 11))])  # shares of the largest one that cannot ruin
_GRID = np.concatenate([np.linspace(0, 2, 101), np.linspace(2.05, 16, 280)])  # of the epsilons that are bounded


def refute(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    claim: PrivacyLoss | None = None,
    confidence: float = 0.99,
    runs: int = BUDGET,
    batched: bool = False,
    low_bits: bool = True,
    seconds: float | None = None,
    progress: Told | None = None,
) -> AuditResult:
    """Bet against a claim, with more and more runs, until it is refuted or the runs are over.

    >>> rng = np.random.default_rng(1)
    >>> noisy_sum = lambda rows, runs: sum(rows) + rng.laplace(scale=0.5, size=runs)
    >>> result = refute(noisy_sum, [1, 1], [1], epsilon=1, batched=True, low_bits=False)
    >>> result.violated, result.runs
    (True, 1024)

    Args:
        mechanism: as for `measure`; data and neighbour too.
        runs: on each input, at most. A time limit may end them earlier at no cost in confidence.
        progress: is told the share of runs that is done.

    All others are as for `measure`.

    Guarantee: the bound exceeds the mechanism's epsilon at `delta` with probability at most 1 - confidence, whenever
        one stops. Every batch bets on an event that earlier ones chose; under the claim it wins nothing on average.
    Raises: InvalidParameterError for parameters outside their domain.
    Source: Ville (1939); bets against a bounded mean: Waudby-Smith, Ramdas (2024), arXiv:2010.09686.
    Proof: docs/theory/audit/black_box.md.
    """
    failure = read_failure(confidence)
    most = read_runs(runs, least=2 * _FIRST)
    read, goals = read_goals(claim, epsilon=epsilon, delta=delta)
    runner = Runner(mechanism=mechanism, inputs=(data, neighbour), batched=batched, seconds=seconds)
    seen = runner.draw(_FIRST)
    words, tried, bets = "", dict[str, None](), Bets(goals[0].claimed if read is not None else math.inf)
    while len(seen[0]) >= _FIRST:
        done = len(seen[0])
        fresh = runner.draw(min(done, most - done))
        both = one_sample([seen[0], fresh[0]]), one_sample([seen[1], fresh[1]])
        outputs = encode(*both, low_bits=low_bits)
        old = slice(max(done - _LOOKED_AT, 0), done)
        fitted, chosen = ([one[old][start::2] for one in outputs] for start in (0, 1))
        scores = fit(*fitted)
        tried |= dict.fromkeys(score.family for score in scores)
        event = choose(scores, *chosen, goals=goals, runs=len(chosen[0]), failure=failure)
        if event is not None:
            goals = [event.goal]
            bets.aim(event.goal.claimed if read is not None else math.inf)
            hits = [event.happens(one[done:]) for one in outputs]
            bets.place(hits[event.swapped], hits[not event.swapped], event.goal.delta)
            words = str(event)
        seen = both
        if progress is not None:
            progress(len(seen[0]) / most)
        if bets.won(failure) or len(seen[0]) >= most or len(fresh[0]) == 0:
            break
    betting = np.ones(max(len(seen[0]) - _FIRST, 0), dtype=bool)
    return AuditResult(
        claim=read, epsilon=bets.epsilon(failure), delta=goals[0].delta, confidence=1 - failure, event=words,
        runs=runner.called, tried=tuple(tried),
        limits=("anything more: the time was over",) if runner.stopped else (),
        inconclusive=unread(*seen) or ("" if any(_could_win(goal, read, betting, failure) for goal in goals) else
                                       f"{len(betting):,} runs that bet on an event cannot certify so much"),
    )  # fmt: skip


def _could_win(goal: Goal, claim: PrivacyLoss | None, runs: Any, failure: float) -> bool:
    """Whether an event that happens on one input in every run, and never on the other, would win these bets."""
    best = Bets(goal.claimed if claim is not None else math.inf)
    best.place(runs, ~runs, goal.delta)
    return best.won(failure) if claim is not None else best.epsilon(failure) > 0


class Bets:
    """Wealth of a gambler against every epsilon of a grid, and the most that it ever was.

    Args:
        claimed: epsilon that is to be rejected; infinity for none.
    """

    def __init__(self, claimed: float) -> None:
        self._placed = False
        self.aim(claimed)

    def aim(self, claimed: float) -> None:
        """Put the next number above the claimed epsilon on the grid, unless bets were placed."""
        if self._placed:
            return
        above = [math.nextafter(claimed, math.inf)] if math.isfinite(claimed) else []
        self.epsilons: Floats = np.unique(np.append(_GRID, above))
        self._target = math.inf if not above else above[0]
        self._wealth = np.zeros((len(self.epsilons), len(_STAKES)))  # logarithms
        self._most = np.zeros(len(self.epsilons))

    def place(self, hits: Any, others: Any, delta: float) -> None:
        """Bet on pairs of runs: whether the event happened on the input where it is more likely, and on the other."""
        self._placed = True
        ratio = np.exp(self.epsilons)[:, None]
        stake = _STAKES / (ratio + delta)
        for hit in (False, True):
            for other in (False, True):
                count = int(((hits == hit) & (others == other)).sum())
                self._wealth += count * np.log1p(stake * (hit - ratio * other - delta))
        top = self._wealth.max(axis=1)
        average = top + np.log(np.exp(self._wealth - top[:, None]).mean(axis=1))
        self._most = np.maximum(self._most, average)

    def won(self, failure: float) -> bool:
        """Whether the claim is rejected."""
        return self.epsilon(failure) >= self._target

    def epsilon(self, failure: float) -> float:
        """The largest epsilon that is rejected together with all smaller ones; 0 where none is."""
        kept = np.flatnonzero(self._most < -math.log(failure))
        rejected = len(self.epsilons) if len(kept) == 0 else int(kept[0])
        return float(self.epsilons[rejected - 1]) if rejected else 0.0
