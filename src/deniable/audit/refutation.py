"""Test of a claim by bets, which may stop at any time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deniable.audit.black_box import read_goals
from deniable.audit.events import AuditGoal, OutputEvent, choose
from deniable.audit.outputs import Outputs, encode, unread
from deniable.audit.result import AuditResult, Number, read_failure
from deniable.audit.running import MechanismRunner, Progress, one_sample, read_runs
from deniable.audit.scores import fit
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss

BUDGET = 1_000_000
"""Default largest number of runs on each input."""

_FIRST_RUNS = 256  # on each input, which choose the first event
_MAX_CHOOSING = 100_000  # latest runs that choose an event
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
    progress: Progress | None = None,
) -> AuditResult:
    """Bet against a claim with more and more runs, until it is refuted or they end.

    >>> rng = np.random.default_rng(1)
    >>> noisy_sum = lambda rows, runs: sum(rows) + rng.laplace(scale=0.5, size=runs)
    >>> result = refute(noisy_sum, [1, 1], [1], epsilon=1, batched=True, low_bits=False)
    >>> result.violated, result.runs
    (True, 1024)

    Args:
        mechanism, data, neighbour, epsilon, delta, claim, confidence, batched, low_bits, seconds: as for `measure`.
        runs: largest number of runs on each input. A time limit may end them earlier at no cost in confidence.
        progress: called with the share of runs that is done.

    Guarantee: the bound exceeds the mechanism's epsilon at `delta` with probability at most 1 - confidence, whenever
        it stops. Every batch bets on an event that earlier ones chose; under the claim it wins nothing on average.
    Raises: InvalidParameterError for parameters outside their domain.
    Source: Ville (1939); bets against a bounded mean: Waudby-Smith, Ramdas (2024), arXiv:2010.09686.
    Proof: docs/theory/audit/black_box.md.
    """
    failure = read_failure(confidence)
    max_runs = read_runs(runs, minimum=2 * _FIRST_RUNS)
    read, goals = read_goals(claim, epsilon=epsilon, delta=delta)
    runner = MechanismRunner(mechanism=mechanism, inputs=(data, neighbour), batched=batched, seconds=seconds)
    seen = runner.draw(_FIRST_RUNS)
    words = ""
    tried = dict[str, None]()
    bets = Bets(goals[0].claimed if read is not None else math.inf)
    while len(seen[0]) >= _FIRST_RUNS:
        done = len(seen[0])
        fresh = runner.draw(min(done, max_runs - done))
        both = (one_sample([seen[0], fresh[0]]), one_sample([seen[1], fresh[1]]))
        outputs = encode(*both, low_bits=low_bits)
        old = slice(max(done - _MAX_CHOOSING, 0), done)
        event, families = _chosen_event([one[old] for one in outputs], goals, failure)
        tried |= dict.fromkeys(families)
        if event is not None:
            goals = [event.goal]
            bets.aim(event.goal.claimed if read is not None else math.inf)
            hits = [event.happens(one[done:]) for one in outputs]
            bets.bet(hits[event.swapped], hits[not event.swapped], event.goal.delta)
            words = str(event)
        seen = both
        if progress is not None:
            progress(len(seen[0]) / max_runs)
        if bets.won(failure) or len(seen[0]) >= max_runs or len(fresh[0]) == 0:
            break
    betting = np.ones(max(len(seen[0]) - _FIRST_RUNS, 0), dtype=bool)
    return AuditResult(
        claim=read, epsilon=bets.epsilon(failure), delta=goals[0].delta, confidence=1 - failure, event=words,
        runs=runner.called, tried=tuple(tried),
        limits=("anything more: the time was over",) if runner.stopped else (),
        inconclusive=unread(*seen) or ("" if any(_could_win(goal, read, betting, failure) for goal in goals) else
                                       f"{len(betting):,} runs that bet on an event cannot certify so much"),
    )  # fmt: skip


def _chosen_event(
    outputs: Sequence[Outputs], goals: list[AuditGoal], failure: float
) -> tuple[OutputEvent | None, list[str]]:
    """Return the event that separates two inputs best, and what was tried.

    Families of scores were tried. Scores are fitted on every second run, and the event is chosen on the others.
    """
    fitted, chosen = ([one[start::2] for one in outputs] for start in (0, 1))
    scores = fit(*fitted)
    event = choose(scores, *chosen, goals=goals, runs=len(chosen[0]), failure=failure)
    return event, [score.family for score in scores]


def _could_win(goal: AuditGoal, claim: PrivacyLoss | None, runs: Any, failure: float) -> bool:
    """Whether an event that separates the inputs in every run would win these bets."""
    best = Bets(goal.claimed if claim is not None else math.inf)
    best.bet(runs, ~runs, goal.delta)
    return best.won(failure) if claim is not None else best.epsilon(failure) > 0


class Bets:
    """Wealth of a gambler against every epsilon of a grid, and its maximum so far.

    Args:
        claimed: epsilon that is to be rejected; infinity for none.
    """

    def __init__(self, claimed: float) -> None:
        self._placed = False
        self.aim(claimed)

    def aim(self, claimed: float) -> None:
        """Put the next number above a claimed epsilon on the grid, before any bet."""
        if self._placed:
            return
        above = [math.nextafter(claimed, math.inf)] if math.isfinite(claimed) else []
        self.epsilons: Floats = np.unique(np.append(_GRID, above))
        self._target = math.inf if not above else above[0]
        self._wealth = np.zeros((len(self.epsilons), len(_STAKES)))  # logarithms
        self._greatest = np.zeros(len(self.epsilons))

    def bet(self, hits: Any, others: Any, delta: float) -> None:
        """Bet on pairs of runs on the two inputs.

        Args:
            hits: whether the event happened on the input where it is more likely, shape (runs,).
            others: likewise on the other input.
            delta: of the goal.
        """
        self._placed = True
        ratio = np.exp(self.epsilons)[:, None]
        stake = _STAKES / (ratio + delta)
        for hit in (False, True):
            for other in (False, True):
                count = int(((hits == hit) & (others == other)).sum())
                self._wealth += count * np.log1p(stake * (hit - ratio * other - delta))
        top = self._wealth.max(axis=1)
        average = top + np.log(np.exp(self._wealth - top[:, None]).mean(axis=1))
        self._greatest = np.maximum(self._greatest, average)

    def won(self, failure: float) -> bool:
        """Whether the claim is rejected."""
        return self.epsilon(failure) >= self._target

    def epsilon(self, failure: float) -> float:
        """Return the largest epsilon rejected together with all smaller ones, or 0."""
        kept = np.flatnonzero(self._greatest < -math.log(failure))
        rejected = len(self.epsilons) if len(kept) == 0 else int(kept[0])
        return float(self.epsilons[rejected - 1]) if rejected else 0.0
