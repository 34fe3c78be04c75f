"""Search for the pair of neighbouring inputs that a mechanism separates best."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.audit.black_box import RUNS, measure, read_goals
from deniable.audit.events import AuditGoal, choose
from deniable.audit.outputs import encode
from deniable.audit.result import AuditResult, Number, read_failure
from deniable.audit.running import MechanismRunner, Progress, read_runs
from deniable.audit.scores import fit
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import positive_rational, shown, whole_number
from deniable.privacy import PrivacyLoss

InputPair = tuple[Any, Any]

KINDS = ("add-remove", "replace", "answers")

_SCREENING_SHARE = 0.25  # of the time
_MIN_RUNS = 16  # on each input of a pair that is screened
_MAX_LENGTH = 10**6  # of a list of numbers


def list_pairs(kind: str, *, length: int = 5, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, InputPair]:
    """Return pairs of neighbouring lists of numbers, to audit a black box.

    >>> list_pairs("replace", length=2)["one number changes, others at the upper end"]
    ([1.0, 0.0], [1.0, 1.0])

    Args:
        kind: "add-remove": one list has one number more. "replace": one number differs. "answers": the numbers are
            answers to queries, and each may differ by upper - lower.
        length: of the longer list, at least 1.
        bounds: (lower, upper) of a number.

    Returns: name of a pair -> (data, neighbour).
    Raises: InvalidParameterError for another kind, or bounds out of order.
    Source: the patterns of answers are those of Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277, Table 1.
    """
    count = whole_number("length", length, lower=1, upper=_MAX_LENGTH)
    low, high = _read_bounds(bounds)
    half = (count - 1) // 2
    others = {
        "at the lower end": [low] * (count - 1),
        "at the upper end": [high] * (count - 1),
        "at either end": [low] * half + [high] * (count - 1 - half),
    }
    if kind == "add-remove":
        ends = {"smallest": low, "largest": high}
        both = [(*one, *other) for one in others.items() for other in ends.items()]
        pairs = {f"the {name} number more, others {where}": ([*rest, end], rest) for where, rest, name, end in both}
        return pairs | {f"the {name} number against nothing": ([value], []) for name, value in ends.items()}
    if kind == "replace":
        pairs = {f"one number changes, others {where}": ([*rest, low], [*rest, high]) for where, rest in others.items()}
        return pairs | {"one number alone changes": ([low], [high])}
    if kind != "answers":
        raise InvalidParameterError(f"kind must be one of {', '.join(KINDS)}, got {shown(kind)}")
    return _moved_answers(count, low, high - low)


def _read_bounds(bounds: object) -> tuple[float, float]:
    """Return finite bounds in order."""
    try:
        low, high = map(float, bounds)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameterError(f"bounds must be two finite numbers in order, got {shown(bounds)}")
    return low, high


def _moved_answers(count: int, low: float, step: float) -> dict[str, InputPair]:
    """Return pairs of answers to queries, each moved by one step."""
    base = np.full(count, low + step)
    first = np.arange(count) == 0
    left = np.arange(count) < count // 2
    moves = {
        "one answer above": first,
        "one answer below": -1 * first,
        "one above, the others below": 2 * first - 1,
        "one below, the others above": 1 - 2 * first,
        "half above, half below": 2 * left - 1,
        "all above": np.ones(count),
        "all below": -np.ones(count),
    }
    pairs = {name: (base.tolist(), (base + step * move).tolist()) for name, move in moves.items()}
    return pairs | {"crossed": ((base + step * left).tolist(), (base + step * ~left).tolist())}


def search_pairs(
    mechanism: Callable[..., Any],
    pairs: Mapping[str, InputPair] | Iterable[InputPair],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    claim: PrivacyLoss | None = None,
    confidence: float = 0.99,
    runs: int = RUNS,
    batched: bool = False,
    low_bits: bool = True,
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditResult:
    """Find the pair of inputs that a mechanism separates best, and measure it there.

    >>> rng = np.random.default_rng(1)
    >>> noisy_mean = lambda rows: sum(rows) / len(rows) + rng.laplace(scale=0.5)
    >>> result = search_pairs(noisy_mean, list_pairs("replace"), epsilon=1, runs=4000, low_bits=False)
    >>> result.sentence
    'The claim of epsilon=1 is false: epsilon is at least 1.79, at confidence 0.99.'

    Args:
        mechanism, epsilon, delta, claim, confidence, batched, low_bits, seed, progress: as for `measure`.
        pairs: (data, neighbour) pairs, each of which the claim makes hard to distinguish; a mapping names them.
        runs: number of runs on each input of the pair that is measured; all pairs together are screened by as many.
        seconds: time limit for everything.

    Guarantee: as for `measure`, for the pair in the result: it is measured on fresh runs.
    Raises: InvalidParameterError without pairs, and for parameters outside their domain.
    """
    named = dict(pairs) if isinstance(pairs, Mapping) else {f"pair {k}": pair for k, pair in enumerate(pairs, 1)}
    if not named or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in named.values()):
        raise InvalidParameterError("pairs must hold at least one pair (data, neighbour), and nothing else")
    count = read_runs(runs, minimum=_MIN_RUNS)
    whole_number("seed", seed, lower=0)
    failure = read_failure(confidence)
    _, goals = read_goals(claim, epsilon=epsilon, delta=delta)
    limit = None if seconds is None else float(positive_rational("seconds", seconds))
    best = next(iter(named))
    used = 0
    if len(named) > 1:
        share = None if limit is None else limit * _SCREENING_SHARE / len(named)

        def runner_on(pair: InputPair) -> MechanismRunner:
            return MechanismRunner(mechanism=mechanism, inputs=(pair[0], pair[1]), batched=batched, seconds=share)

        best, used = _screened(
            named, runner_on, goals=goals, runs=count, failure=failure, low_bits=low_bits, progress=progress
        )
    data, neighbour = named[best]
    result = measure(
        mechanism,
        data,
        neighbour,
        epsilon=epsilon,
        delta=delta,
        claim=claim,
        confidence=confidence,
        runs=runs,
        batched=batched,
        low_bits=low_bits,
        seconds=None if limit is None else limit * (1 - _SCREENING_SHARE),
        seed=seed,
        progress=None if progress is None else lambda share: progress((1 + share) / 2),
    )
    tried = (f"{len(named)} pair{'s' * (len(named) > 1)} of inputs, of which this was measured: {best}", *result.tried)
    return replace(result, runs=result.runs + used, tried=tried)


def _screened(
    named: Mapping[str, InputPair], runner_on: Callable[[InputPair], MechanismRunner], *, goals: list[AuditGoal],
    runs: int, failure: float, low_bits: bool, progress: Progress | None,
) -> tuple[str, int]:  # fmt: skip
    """Return the name of the pair that looks best, and how many runs that took.

    Args:
        runs: of all pairs together, on each input.
        progress: called with the share of the screening that is done, halved.
    """
    each = max(runs // len(named), _MIN_RUNS)
    hopes = {}
    used = 0
    for index, (name, pair) in enumerate(named.items()):
        runner = runner_on(pair)
        outputs = encode(*runner.draw(each), low_bits=low_bits)
        used += runner.called
        hopes[name] = _hope(outputs, goals, runs // 2, failure)
        if progress is not None:
            progress((index + 1) / len(named) / 2)
    return max(hopes, key=hopes.__getitem__), used


def _hope(outputs: tuple[Any, Any], goals: list[AuditGoal], runs: int, failure: float) -> float:
    """Return the epsilon that the best event of a pair would show in `runs` runs."""
    if len(outputs[0]) < _MIN_RUNS:
        return -math.inf
    fitted, fresh = ([one[start::2] for one in outputs] for start in (0, 1))
    event = choose(fit(*fitted), *fresh, goals=goals, runs=runs, failure=failure)
    return -math.inf if event is None else event.hoped
