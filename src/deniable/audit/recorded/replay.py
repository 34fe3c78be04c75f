"""Record a run, repeat it on a neighbouring input with the same draws, and tell what else differed."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

from deniable.audit.recorded.differences import difference, moved
from deniable.audit.recorded.recorder import Call, Diverged, Recorder, recording
from deniable.audit.recorded.samplers import Sampler
from deniable.audit.result import AuditResult, Number, read_claim
from deniable.audit.running import refuse_coroutine
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import probability
from deniable.privacy import PrivacyLoss

Data = TypeVar("Data")

_ROUNDING = 1e-9  # of floats that are added in another order, as a share of the sensitivity


def replay(
    run: Callable[[Data], object],
    data: Data,
    neighbour: Data,
    *,
    samplers: Sequence[Sampler],
    sensitivity: float | None = None,
    claim: PrivacyLoss | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
) -> AuditResult:
    """Run on the data and record every draw; run on the neighbour with the same draws; compare.

    Both runs must call the same samplers with the same public parameters in the same order, and return the same types,
    names, lengths and shapes, the same warnings or the same error. Any difference is a violation: epsilon is infinite.
    No place in the code under audit needs to be prepared: samplers are replaced where modules refer to them.

    Args:
        run: from the data to what is released; called once on each input. State that it keeps must be made anew.
        samplers: what draws: `numpy_samplers()`, or a `Sampler` for each function or method.
        sensitivity: the most that released numbers may move in sum when draws are the same: 0 where every secret goes
            through a sampler, the declared l1 sensitivity where noise is added outside; None does not compare numbers.
        claim: what the run claims, or `epsilon` and `delta` of a claim; draws that cost more by the losses of their
            samplers are a violation. Without a claim, read the epsilon of the result.

    Guarantee: confidence 1: with the same draws a private run does the same, on every pair of inputs, except for draws
        that have probability delta in all.
    Raises: InvalidParameterError if a sampler cannot be found.
    Source: the method of record and replay, arXiv:2602.17454.

    >>> import numpy as np
    >>> from deniable.audit import numpy_samplers, replay
    >>> def leaky(rows):
    ...     return sum(rows) / len(rows) + np.random.default_rng().laplace(scale=100 / len(rows))
    >>> print(replay(leaky, [1.0, 2.0, 3.0], [1.0, 2.0], samplers=numpy_samplers()).event)
    the value of scale of draw 1, Generator.laplace
    """
    stated = read_claim(claim, epsilon=epsilon, delta=delta)
    least = float(probability("delta", delta))
    if sensitivity is not None and not sensitivity >= 0:
        raise InvalidParameterError(f"sensitivity must be >= 0, or None to compare no numbers, got {sensitivity!r}")
    recorder = Recorder()
    with recording(samplers, recorder):
        first = _once(run, data, recorder)
        recorder.repeat()
        second = _once(run, neighbour, recorder)
    event = recorder.diverged or _structure(first, second) or _amounts(first, second, sensitivity)
    found = math.inf if event else 0.0
    if not event and (cost := _cost(first, second)) is not None:
        spent = cost.epsilon(probability("delta", delta)).lower
        if stated is not None and spent > stated.epsilon(probability("delta", delta)).upper:
            found, event = spent, "the draws together reveal more than is claimed"
    count, used = len(first.calls), len({call.sampler.title for call in first.calls})
    drawn = f"{count} draw{'s' * (count != 1)}"
    return AuditResult(
        claim=stated,
        epsilon=found,
        delta=least,
        confidence=1.0,
        event=event or f"none: {drawn} and the schema are the same on both inputs",
        runs=2,
        tried=(f"one pair of inputs and {drawn} by {used} sampler{'s' * (used != 1)}",),
        limits=("other inputs and other outcomes of the draws", "draws that no given sampler makes"),
    )  # fmt: skip


@dataclass(frozen=True)
class _Run:
    calls: list[Call]
    output: object
    error: Exception | None
    warned: list[tuple[type, str]]


def _once(run: Callable[[Data], object], data: Data, recorder: Recorder) -> _Run:
    output, error = None, None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            output = run(data)
        except Diverged:
            pass
        except Exception as raised:  # an error is an output too
            error = raised
    refuse_coroutine(output)
    return _Run(recorder.calls, output, error, [(one.category, str(one.message)) for one in heard])


def _structure(first: _Run, second: _Run) -> str | None:
    """What differs besides numbers."""
    asked, again = len(first.calls), len(second.calls)
    if again < asked and first.error is None and second.error is None:
        return f"draw {again + 1}, {first.calls[again].sampler.title}, was asked for on one input only"
    if first.error is not None or second.error is not None:
        return difference(first.error, second.error, place="the error that was raised")
    if first.warned != second.warned:
        return "the warnings"
    for number, call in enumerate(first.calls, 1):
        if name := call.unscaled():
            return f"{name} of draw {number}, {call.sampler.title}, is not above 0: nothing is added"
    return difference(first.output, second.output, place="the output", values=False)


def _amounts(first: _Run, second: _Run, sensitivity: float | None) -> str | None:
    """Whether released numbers moved more than they may."""
    if not first.calls:
        found = difference(first.output, second.output, place="the output")
        return f"{found}, and no sampler was called" if found else None
    if sensitivity is None:
        return None
    if sensitivity == 0:
        return difference(first.output, second.output, place="the output")
    if moved(first.output, second.output) > sensitivity * (1 + _ROUNDING):
        return f"released numbers move by more than {sensitivity:g} with the same draws"
    return None


def _cost(first: _Run, second: _Run) -> PrivacyLoss | None:
    """The composition of what all draws reveal, as far as their samplers tell."""
    known = [
        loss
        for mine, theirs in zip(first.calls, second.calls, strict=True)
        if mine.sampler.loss is not None and (loss := mine.sampler.loss(mine.arguments, theirs.arguments)) is not None
    ]
    return reduce(add, known) if known else None
