"""Replay: record a run, and repeat it on a neighbouring input with the same draws."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

from deniable.audit.recorded.differences import difference, moved
from deniable.audit.recorded.recorder import Diverged, RecordedCall, Recorder, recording
from deniable.audit.recorded.samplers import RecordedSampler
from deniable.audit.result import AuditResult, Number, read_claim
from deniable.audit.running import refuse_coroutine
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import probability
from deniable.privacy import PrivacyLoss

Input = TypeVar("Input")

_ROUNDING = 1e-9  # of floats that are added in another order, as a share of the sensitivity


def replay(
    run: Callable[[Input], object],
    data: Input,
    neighbour: Input,
    *,
    samplers: Sequence[RecordedSampler],
    sensitivity: float | None = None,
    claim: PrivacyLoss | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
) -> AuditResult:
    """Compare runs on two neighbouring inputs with the same draws.

    Every draw of the run on the data is recorded, and repeated in the run on the neighbour. Both runs must call the
    same samplers with the same public parameters in the same order, and return the same types, names, lengths and
    shapes, the same warnings or the same error. Any difference is a violation: epsilon is infinite. The code under
    audit needs no preparation: samplers are replaced where modules refer to them.

    Args:
        run: from an input to its release; called once on each input. State that it keeps must be made anew.
        data: one input.
        neighbour: another input.
        samplers: `numpy_samplers()`, or a `RecordedSampler` for each function or method that draws.
        sensitivity: the largest amount by which released numbers may move in sum with the same draws: 0 where every
            secret goes through a sampler, the declared l1 sensitivity where noise is added outside; None does not
            compare numbers.
        claim: loss that the run claims; or `epsilon` and `delta` of a claim. Draws that cost more by the losses of
            their samplers are a violation. Without a claim, read the epsilon of the result.
        epsilon: claimed; None claims nothing.
        delta: at which epsilon is bounded.

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
    level = float(probability("delta", delta))
    if sensitivity is not None and not sensitivity >= 0:
        raise InvalidParameterError(f"sensitivity must be >= 0, or None to compare no numbers, got {sensitivity!r}")
    recorder = Recorder()
    with recording(samplers, recorder):
        first = _once(run, data, recorder)
        recorder.repeat()
        second = _once(run, neighbour, recorder)
    event = recorder.diverged or _structure(first, second) or _amounts(first, second, sensitivity)
    bound = math.inf if event else 0.0
    if not event and (cost := _cost(first, second)) is not None:
        spent = cost.epsilon(probability("delta", delta)).lower
        if stated is not None and spent > stated.epsilon(probability("delta", delta)).upper:
            bound = spent
            event = "the draws together reveal more than is claimed"
    count = len(first.calls)
    used = len({call.sampler.title for call in first.calls})
    drawn = f"{count} draw{'s' * (count != 1)}"
    return AuditResult(
        claim=stated,
        epsilon=bound,
        delta=level,
        confidence=1.0,
        event=event or f"none: {drawn} and the schema are the same on both inputs",
        runs=2,
        tried=(f"one pair of inputs and {drawn} by {used} sampler{'s' * (used != 1)}",),
        limits=("other inputs and other outcomes of the draws", "draws that no given sampler makes"),
    )  # fmt: skip


@dataclass(frozen=True)
class _Run:
    """Calls of samplers in a run, and its output, error and warnings."""

    calls: list[RecordedCall]
    output: object
    error: Exception | None
    warned: list[tuple[type, str]]


def _once(run: Callable[[Input], object], data: Input, recorder: Recorder) -> _Run:
    """Run once under the recorder."""
    output = None
    error = None
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
    """Return a difference besides numbers, in words, or None."""
    asked = len(first.calls)
    again = len(second.calls)
    if again < asked and first.error is None and second.error is None:
        return f"draw {again + 1}, {first.calls[again].sampler.title}, was asked for on one input only"
    if first.error is not None or second.error is not None:
        return difference(first.error, second.error, where="the error that was raised")
    if first.warned != second.warned:
        return "the warnings"
    for number, call in enumerate(first.calls, 1):
        if name := call.unscaled():
            return f"{name} of draw {number}, {call.sampler.title}, is not above 0: nothing is added"
    return difference(first.output, second.output, where="the output", values=False)


def _amounts(first: _Run, second: _Run, sensitivity: float | None) -> str | None:
    """Return whether released numbers moved too far, in words, or None."""
    if not first.calls:
        differs = difference(first.output, second.output, where="the output")
        return f"{differs}, and no sampler was called" if differs else None
    if sensitivity is None:
        return None
    if sensitivity == 0:
        return difference(first.output, second.output, where="the output")
    if moved(first.output, second.output) > sensitivity * (1 + _ROUNDING):
        return f"released numbers move by more than {sensitivity:g} with the same draws"
    return None


def _cost(first: _Run, second: _Run) -> PrivacyLoss | None:
    """Return the composed loss of all draws whose samplers state one, or None."""
    known = [
        loss
        for mine, theirs in zip(first.calls, second.calls, strict=True)
        if mine.sampler.loss is not None and (loss := mine.sampler.loss(mine.arguments, theirs.arguments)) is not None
    ]
    return reduce(add, known) if known else None
