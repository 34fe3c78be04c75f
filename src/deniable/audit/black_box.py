"""Lower bounds on the epsilon of a black box, from its runs on two inputs."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.audit.binomial import epsilon_of, lower_rate, runs_for
from deniable.audit.events import AuditGoal, choose, measured
from deniable.audit.outputs import RATIO, UNREAD, Failed, Outputs, Sample, encode, kind_of, unread
from deniable.audit.result import AuditResult, Number, read_claim, read_failure
from deniable.audit.running import MechanismRunner, Progress, read_runs
from deniable.audit.scores import fit
from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import round_up
from deniable.numbers.rationals import probability, whole_number
from deniable.privacy import PrivacyLoss

RUNS = 50_000
"""Default number of runs on each input."""

_MAX_FITTED = 50_000  # runs on which scores are fitted
_MAX_CHOOSING = 100_000  # runs on which the event is chosen
_DELTAS = (0.0, 1e-3, 1e-2, 0.03, 0.1, 0.2)  # at which a whole curve is tested, besides its own
_MIN_RUNS = 8  # on each input: fewer leave no run to test

LogDensity = Callable[[Any, Any], Floats]


def measure(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    claim: PrivacyLoss | None = None,
    confidence: float = 0.99,
    runs: int = RUNS,
    batched: bool = False,
    log_density: LogDensity | None = None,
    low_bits: bool = True,
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditResult:
    """Bound epsilon by the outputs of a mechanism on two neighbouring inputs.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> noisy_sum = lambda rows, runs: sum(rows) + rng.laplace(scale=0.5, size=runs)
    >>> result = measure(noisy_sum, [1, 1], [1], epsilon=1, batched=True, low_bits=False)
    >>> print(result.sentence)
    The claim of epsilon=1 is false: epsilon is at least 1.887, at confidence 0.99.

    Args:
        mechanism: called with a copy of an input in each run. Numbers, tuples, arrays, text, None and NaN are outputs,
            and so is an error, by its type.
        data: one input.
        neighbour: another input, which the claim makes hard to distinguish from it.
        epsilon: claimed; None or infinity claims nothing, and the result is a bound alone.
        delta: at which epsilon is bounded. By default it is 0 beside `epsilon`; beside `claim` it is chosen, the
            claim's own delta among others.
        claim: a loss with its whole curve, in place of epsilon.
        confidence: probability with which the bound holds, for a mechanism whose runs are independent.
        runs: number of runs on each input.
        batched: whether to call mechanism(data, runs) for an array or list with one entry for each run.
        log_density: takes the outputs (an array where they are numbers, else a list) and an input; returns the log
            density of each output on it, shape (runs,). It may be wrong: it only chooses the event.
        low_bits: whether to read the low bits of floats too, which often reveal noise that is drawn as a float.
        seconds: time limit for all runs; None sets none.
        seed: of the choice which runs choose the event and which test it.
        progress: called with the share of runs that is done.

    Returns: a bound on epsilon at one delta for this pair of inputs, in the worse direction. It is never infinite:
        runs cannot show that an output is impossible.

    Guarantee: the bound exceeds the mechanism's epsilon at `delta` with probability at most 1 - confidence. One event
        is chosen on half of the runs or fewer, and tested once on the others.
    Error: below ln(runs / 10) in any case; `limits` says so where it matters.
    Raises: InvalidParameterError for parameters outside their domain.
    Source: Clopper-Pearson bounds on a chosen event: Jagielski, Ullman, Oprea (2020), arXiv:2006.07709.
    Proof: docs/theory/audit/black_box.md.
    """
    failure = read_failure(confidence)
    count = read_runs(runs, minimum=_MIN_RUNS)
    whole_number("seed", seed, lower=0)
    read, goals = read_goals(claim, epsilon=epsilon, delta=delta)
    runner = MechanismRunner(
        mechanism=mechanism, inputs=(data, neighbour), batched=batched, seconds=seconds, progress=progress
    )
    drawn = runner.draw(count)
    result = AuditResult(
        claim=read, epsilon=0.0, delta=goals[0].delta, confidence=1 - failure, event="", runs=runner.called, tried=(),
        limits=_limits_of_runs(drawn, count),
    )  # fmt: skip
    if len(drawn[0]) < _MIN_RUNS:
        return replace(result, inconclusive=f"an audit needs at least {_MIN_RUNS} runs that end, on each input")
    if all(isinstance(one, Failed) for outputs in drawn for one in outputs):
        return replace(result, inconclusive="all runs failed")
    outputs = encode(*drawn, low_bits=low_bits)
    if log_density is not None:
        ratios = log_ratios(log_density, drawn, (data, neighbour), seed)
        outputs = outputs[0].joined(RATIO, ratios[: len(drawn[0])]), outputs[1].joined(RATIO, ratios[len(drawn[0]) :])
    return _tested(result, drawn, _split(outputs, seed), goals, failure)


def _tested(
    result: AuditResult, drawn: tuple[Sample, Sample], parts: list[tuple[Outputs, Outputs]], goals: list[AuditGoal],
    failure: float,
) -> AuditResult:  # fmt: skip
    """Return the result of a test of one event.

    Args:
        result: of the runs alone.
        drawn: outputs of the runs, as they came.
        parts: outputs on which scores are fitted, the event is chosen, and it is tested.
        goals: what the audit may show.
        failure: the probability with which the bound may be wrong.
    """
    fitted, chosen, tested = parts
    scores = fit(*fitted)
    tests = len(tested[0])
    result = replace(result, tried=tuple(dict.fromkeys(score.family for score in scores)))
    event = choose(scores, *chosen, goals=goals, runs=len(chosen[0]), failure=failure)
    if event is None:
        return replace(
            result, limits=result.limits + _limits_of_test(goals[0], 0.0, tests, failure),
            inconclusive=unread(*drawn) or _too_few(goals[0], tests, failure),
        )  # fmt: skip
    hits, others = event.hits(*tested)
    bound = epsilon_of(hits, others, tests, delta=event.goal.delta, failure=failure)
    limits = result.limits
    if not others and lower_rate(hits, tests, failure) > event.goal.delta:
        limits += (
            f"whether epsilon is infinite: the event was never seen on the other input in {tests:,} runs, and sampling "
            "cannot show that it is impossible; an exact audit can",
        )
    return replace(
        result, epsilon=bound, delta=event.goal.delta, event=str(event),
        limits=limits + _limits_of_test(event.goal, bound, tests, failure),
        measured=measured(event, chosen, tested, failure),
        inconclusive=unread(*drawn) or _too_few(event.goal, tests, failure),
    )  # fmt: skip


def read_goals(
    claim: PrivacyLoss | None, *, epsilon: Number | None, delta: Number | None
) -> tuple[PrivacyLoss | None, list[AuditGoal]]:
    """Return the claim, and the deltas at which it may be tested."""
    read = read_claim(claim, epsilon=epsilon, delta=0 if delta is None else delta)
    deltas = [float(probability("delta", 0 if delta is None else delta))]
    if delta is None and claim is not None:
        deltas = sorted({*_DELTAS, round_up(claim.infinite_mass)})
    if read is None:
        return None, [AuditGoal(one, 0.0) for one in deltas]
    claimed = [float(read.epsilon(one).upper) for one in deltas]
    goals = [AuditGoal(one, bound) for one, bound in zip(deltas, claimed, strict=True) if math.isfinite(bound)]
    return read, goals or [AuditGoal(one, 0.0) for one in deltas]


def log_ratios(log_density: LogDensity, drawn: tuple[Sample, Sample], inputs: tuple[Any, Any], seed: int) -> Floats:
    """Return log likelihood ratios of all outputs, computed in random order.

    So a density that reads them together cannot distinguish the inputs.
    """
    order = np.random.default_rng(seed).permutation(2 * len(drawn[0]))
    arrays = all(isinstance(one, np.ndarray) for one in drawn)
    pair: Any = drawn
    listed: Any = np.concatenate(pair) if arrays else [*drawn[0], *drawn[1]]
    both = listed[order] if arrays else [listed[index] for index in order]
    ours, theirs = (np.asarray(log_density(both, one), dtype=np.float64) for one in inputs)
    if not ours.shape == theirs.shape == order.shape:
        raise InvalidParameterError("log_density must return one number for each output")
    ratios = np.empty(len(order))
    with np.errstate(invalid="ignore"):
        ratios[order] = ours - theirs
    return ratios


def _split(outputs: tuple[Outputs, Outputs], seed: int) -> list[tuple[Outputs, Outputs]]:
    """Split runs at random: some fit scores, some choose the event, others test it.

    So a mechanism that changes as it runs is the same in all three.
    """
    runs = len(outputs[0])
    dice = np.random.default_rng(seed)
    one, other = (dice.permutation(runs) for _ in outputs)
    first = min(runs // 4, _MAX_FITTED)
    second = first + min(runs // 4, _MAX_CHOOSING)
    cuts = (slice(first), slice(first, second), slice(second, None))
    return [(outputs[0][one[cut]], outputs[1][other[cut]]) for cut in cuts]


def _limits_of_runs(drawn: tuple[Sample, Sample], wanted: int) -> tuple[str, ...]:
    """Return the questions that the runs themselves leave open."""
    limits = []
    runs = len(drawn[0])
    if runs < wanted:
        limits.append(
            f"the time was over after {runs:,} of {wanted:,} runs on each input; confidence assumes that how long a "
            "run takes does not depend on its output"
        )
    listed = [one for outputs in drawn if not isinstance(outputs, np.ndarray) for one in outputs]
    if errors := {one.error for one in listed if isinstance(one, Failed)}:
        which = "all" if sum(isinstance(one, Failed) for one in listed) == 2 * runs else "some"
        limits.append(f"{which} runs raised {', '.join(sorted(errors))}; an error is an output here")
    kinds = {kind_of(one) for one in {type(one): one for one in listed}.values()}
    if hidden := sorted(kind.removeprefix(UNREAD) for kind in kinds if kind.startswith(UNREAD)):
        limits.append(f"what outputs of type {', '.join(hidden)} hold: they cannot be read")
    if any(isinstance(one, dict) and _is_law(one) for one in listed[:1]):
        limits.append("a law, if this mapping is one: `measure_exactly` and `deniable audit exact` read it")
    return tuple(limits)


def _is_law(output: dict[object, Any]) -> bool:
    """Whether a mapping looks like a distribution."""
    try:
        return math.isclose(sum(map(float, output.values())), 1) and all(value >= 0 for value in output.values())
    except (TypeError, ValueError, OverflowError):
        return False


def _too_few(goal: AuditGoal, runs: int, failure: float) -> str:
    """Return the reason why these runs could not refute any claim, if there is one."""
    if goal.claimed < epsilon_of(runs, 0, runs, delta=goal.delta, failure=failure):
        return ""
    needed = runs_for(goal.claimed, delta=goal.delta, failure=failure)
    more = f"it takes more than {needed:,}" if needed < 2**50 else "no number of runs would do"
    return f"{runs:,} runs that test cannot certify so much; {more}"


def _limits_of_test(goal: AuditGoal, bound: float, runs: int, failure: float) -> tuple[str, ...]:
    """Return the largest epsilon that could have been certified, where it matters."""
    largest = epsilon_of(runs, 0, runs, delta=goal.delta, failure=failure)
    limit = f"any epsilon above {largest:.3g}: {runs:,} runs that test cannot certify more"
    return (limit,) if goal.claimed >= largest or bound > largest / 2 else ()
