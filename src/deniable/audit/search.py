"""The pair of neighbouring inputs that a mechanism tells apart best."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.audit.black_box import RUNS, measure, read_goals
from deniable.audit.events import Goal, choose
from deniable.audit.outputs import encode
from deniable.audit.result import AuditResult, Number, read_failure
from deniable.audit.running import Runner, Told, read_runs
from deniable.audit.scores import fit
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import positive_rational, shown, whole_number
from deniable.privacy import PrivacyLoss

Pair = tuple[Any, Any]

KINDS = ("add-remove", "replace", "answers")

_SCREENED = 0.25  # share of the time for screening
_LEAST, _LONGEST = 16, 10**6


def list_pairs(kind: str, *, length: int = 5, lower: float = 0.0, upper: float = 1.0) -> dict[str, Pair]:
    """Neighbouring lists of numbers to begin with, for a mechanism of which nothing is known.

    >>> list_pairs("replace", length=2)["one number changes, others at the upper end"]
    ([1.0, 0.0], [1.0, 1.0])

    Args:
        kind: "add-remove": one list has a number more. "replace": one number differs. "answers": the numbers are
            answers to queries, and each may differ by upper - lower.
        length: of the longer list, at least 1.
        lower: least value of a number; upper is the greatest.

    Raises: InvalidParameterError for another kind, or bounds out of order.
    Source: the patterns of answers are those of Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277, Table 1.
    """
    count = whole_number("length", length, lower=1, upper=_LONGEST)
    low, high = float(lower), float(upper)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameterError(f"bounds must be finite numbers in order, got {shown(lower)} and {shown(upper)}")
    half = (count - 1) // 2
    others = {
        "at the lower end": [low] * (count - 1),
        "at the upper end": [high] * (count - 1),
        "at either end": [low] * half + [high] * (count - 1 - half),
    }
    if kind == "add-remove":
        ends = {"smallest": low, "largest": high}
        both = [(*one, *other) for one in others.items() for other in ends.items()]
        found = {f"the {name} number more, others {place}": ([*rest, end], rest) for place, rest, name, end in both}
        return found | {f"the {name} number against nothing": ([value], []) for name, value in ends.items()}
    if kind == "replace":
        found = {f"one number changes, others {place}": ([*rest, low], [*rest, high]) for place, rest in others.items()}
        return found | {"one number alone changes": ([low], [high])}
    if kind != "answers":
        raise InvalidParameterError(f"kind must be one of {', '.join(KINDS)}, got {shown(kind)}")
    step = high - low
    base, half = np.full(count, low + step), count // 2
    first, left = np.arange(count) == 0, np.arange(count) < half
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
    pairs: Mapping[str, Pair] | Iterable[Pair],
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
    progress: Told | None = None,
) -> AuditResult:
    """Find the pair of inputs that a mechanism tells apart best, and measure it on that pair.

    >>> rng = np.random.default_rng(1)
    >>> noisy_mean = lambda rows: sum(rows) / len(rows) + rng.laplace(scale=0.5)
    >>> result = search_pairs(noisy_mean, list_pairs("replace"), epsilon=1, runs=4000, low_bits=False)
    >>> result.sentence
    'The claim of epsilon=1 is false: epsilon is at least 1.79, at confidence 0.99.'

    Args:
        mechanism: as for `measure`.
        pairs: (data, neighbour) pairs, each of which the claim says is hard to tell apart; a mapping names them.
        runs: number of runs on each input of the pair that is measured; all pairs together are screened by as many.
        seconds: time limit for everything.

    All others are as for `measure`.

    Guarantee: as for `measure`, for the pair in the result: it is measured on fresh runs.
    Raises: InvalidParameterError without pairs, and for parameters outside their domain.
    """
    named = dict(pairs) if isinstance(pairs, Mapping) else {f"pair {k}": pair for k, pair in enumerate(pairs, 1)}
    if not named or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in named.values()):
        raise InvalidParameterError("pairs must hold at least one pair (data, neighbour), and nothing else")
    count, _ = read_runs(runs, least=_LEAST), whole_number("seed", seed, lower=0)
    failure = read_failure(confidence)
    _, goals = read_goals(claim, epsilon=epsilon, delta=delta)
    limit = None if seconds is None else float(positive_rational("seconds", seconds))
    each = max(count // len(named), _LEAST)
    promises, used = dict.fromkeys(named, 0.0), 0
    for place, (name, pair) in enumerate(named.items() if len(named) > 1 else ()):
        share = None if limit is None else limit * _SCREENED / len(named)
        runner = Runner(mechanism=mechanism, inputs=(pair[0], pair[1]), batched=batched, seconds=share)
        outputs = encode(*runner.draw(each), low_bits=low_bits)
        used += runner.called
        promises[name] = _promise(outputs, goals, count // 2, failure)
        if progress is not None:
            progress((place + 1) / len(named) / 2)
    best = max(promises, key=promises.__getitem__)
    data, neighbour = named[best]
    found = measure(
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
        seconds=None if limit is None else limit * (1 - _SCREENED),
        seed=seed,
        progress=None if progress is None else lambda share: progress((1 + share) / 2),
    )
    tried = (f"{len(named)} pair{'s' * (len(named) > 1)} of inputs, of which this was measured: {best}", *found.tried)
    return replace(found, runs=found.runs + used, tried=tried)


def _promise(outputs: tuple[Any, Any], goals: list[Goal], runs: int, failure: float) -> float:
    """What the best event of this pair would show; as if it had no more doubt than that of a test on `runs` runs."""
    if len(outputs[0]) < _LEAST:
        return -math.inf
    fitted, fresh = ([one[start::2] for one in outputs] for start in (0, 1))
    event = choose(fit(*fitted), *fresh, goals=goals, runs=runs, failure=failure)
    return -math.inf if event is None else event.hoped
