"""Runs of a mechanism that may be anybody's: it may raise, hang, change its input or its shape."""

import copy
import inspect
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deniable.audit.outputs import Failed, Sample
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import positive_rational, whole_number, yes_or_no

MOST_RUNS = 10**9
"""Runs on one input that may be asked for."""

Told = Callable[[float], None]
_TOLD = 1024  # runs between two reports of progress


@dataclass
class Runner:
    """Calls one mechanism on two inputs by turns, until the time is over.

    A coin decides which of the two comes first each time, so that what drifts or counts its calls tells nothing apart,
    unless it is batched.

    Args:
        mechanism: called with a copy of the input once a run; if `batched`, with the number of runs too, for an array
            or list with one entry a run.
        inputs: the two of them.
        seconds: time for all calls together; None sets no limit. A call that does not return by then is left behind in
            a thread of its own, which ends with the process at the latest.
        progress: takes the share that is done.
    """

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    batched: bool = False
    seconds: float | None = None
    progress: Told | None = None
    called: int = 0
    stopped: bool = False
    _started: float = field(default_factory=time.monotonic)
    _dice: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret depends on it

    def __post_init__(self) -> None:
        yes_or_no("batched", self.batched)
        self.seconds = None if self.seconds is None else float(positive_rational("seconds", self.seconds))

    def draw(self, runs: int) -> tuple[Sample, Sample]:
        """Equally many outputs of either input: `runs`, or fewer where the time was over."""
        found: tuple[list[Any], list[Any]] = ([], [])
        if self.seconds is None:
            self._fill(found, runs)
        else:
            worker = threading.Thread(target=self._caught, args=(found, runs), daemon=True)
            worker.start()
            worker.join(max(self.seconds - (time.monotonic() - self._started), 0))
            self.stopped = self.stopped or worker.is_alive()
            if isinstance(self._error, BaseException):
                raise self._error
        whole = [list(blocks) for blocks in found]  # what a thread that was left behind adds later is not seen
        even = min(len(blocks) for blocks in whole)
        ours, theirs = (one_sample(blocks[:even]) for blocks in whole)
        self.called += len(ours) + len(theirs)
        return ours, theirs

    _error: BaseException | None = None

    def _caught(self, found: tuple[list[Any], list[Any]], runs: int) -> None:
        try:
            self._fill(found, runs)
        except BaseException as error:
            self._error = error

    def _fill(self, found: tuple[list[Any], list[Any]], runs: int) -> None:
        block = runs if self.batched else 1
        for done in range(0, runs, block):
            for place in (0, 1) if self.batched or self._dice.random() < 0.5 else (1, 0):
                outputs = self._block(self.inputs[place], block)
                if outputs is None:
                    return
                found[place].append(outputs)
            if self.progress is not None and ((done + block) % _TOLD == 0 or done + block == runs):
                self.progress((done + block) / runs)

    def _over(self) -> bool:
        self.stopped = self.stopped or (self.seconds is not None and time.monotonic() - self._started > self.seconds)
        return self.stopped

    def _block(self, data: Any, runs: int) -> Any | None:
        """One block of outputs; None when the time is over."""
        if self._over():
            return None
        if self.batched:
            try:
                outputs = self.mechanism(copy.copy(data), runs)
            except (Exception, SystemExit):
                outputs = None  # which run failed is not known: one by one
            if outputs is not None:
                refuse_coroutine(outputs)
                if not hasattr(outputs, "__len__") or len(outputs) != runs:
                    raise InvalidParameterError(
                        f"a batched mechanism returns one entry for each of the {runs} runs it was asked for"
                    )
                return copy.copy(outputs)  # a mechanism may write the next ones into the same array
        outputs = []
        for _ in range(runs):
            if self._over():
                return None
            try:
                given = copy.copy(data)
                one = self.mechanism(given, 1)[0] if self.batched else self.mechanism(given)
                outputs.append(copy.copy(one) if isinstance(one, list | dict | set | np.ndarray) else one)
            except (Exception, SystemExit) as error:  # an output like any other
                outputs.append(Failed(type(error).__name__))
            refuse_coroutine(outputs[-1])
        return outputs


def refuse_coroutine(output: object) -> None:
    """Refuse what an asynchronous function returns before it ran."""
    if inspect.iscoroutine(output):
        output.close()
        raise InvalidParameterError("the mechanism is asynchronous: give a function that runs it to its end")


def read_runs(runs: object, *, least: int) -> int:
    """A number of runs on one input, in least..10^9; InvalidParameterError otherwise."""
    return whole_number("runs", runs, lower=least, upper=MOST_RUNS)


def one_sample(blocks: list[Any]) -> Sample:
    """All outputs in one list, or in one array where they are numbers of one shape."""
    if _alike(blocks, first_axis=False):
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    outputs = [output for block in blocks for output in block]
    kinds = {type(output) for output in outputs}
    numbers = kinds in ({float}, {np.float64}, {bool}) or (kinds == {int} and max(map(abs, outputs)) < 2**53)
    return np.array(outputs) if numbers or _alike(outputs, first_axis=True) else outputs


def _alike(arrays: list[Any], *, first_axis: bool) -> bool:
    """Whether these are arrays of one type and shape."""
    if not arrays or not all(isinstance(array, np.ndarray) for array in arrays):
        return False
    return len({(array.shape[0 if first_axis else 1 :], array.dtype) for array in arrays}) == 1
