"""Runs of any mechanism, which may raise, hang, or change its input."""

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

MAX_RUNS = 10**9
"""Largest number of runs on one input."""

Progress = Callable[[float], None]
_RUNS_PER_REPORT = 1024  # of progress


@dataclass
class MechanismRunner:
    """Runner of one mechanism on two inputs by turns, within a time limit.

    A coin decides which of the two comes first each time, so that a mechanism that drifts or counts its calls does not
    separate them, unless it is batched.

    Args:
        mechanism: called with a copy of the input in each run; if `batched`, with the number of runs too, for an array
            or list with one entry for each run.
        inputs: the two inputs.
        batched: whether one call makes all runs.
        seconds: time for all calls together; None sets no limit. A call that does not return by then is left behind in
            a thread of its own, which ends with the process at the latest.
        progress: called with the share of runs that is done.
        called: number of runs so far.
        stopped: whether the time limit was exceeded.
    """

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    batched: bool = False
    seconds: float | None = None
    progress: Progress | None = None
    called: int = 0
    stopped: bool = False
    _started: float = field(default_factory=time.monotonic)
    _dice: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret depends on it

    def __post_init__(self) -> None:
        yes_or_no("batched", self.batched)
        self.seconds = None if self.seconds is None else float(positive_rational("seconds", self.seconds))

    def draw(self, runs: int) -> tuple[Sample, Sample]:
        """Return the same number of outputs on both inputs, at most `runs`.

        There are fewer if the time is over.
        """
        blocks_of: tuple[list[Any], list[Any]] = ([], [])
        if self.seconds is None:
            self._fill(blocks_of, runs)
        else:
            worker = threading.Thread(target=self._caught, args=(blocks_of, runs), daemon=True)
            worker.start()
            worker.join(max(self.seconds - (time.monotonic() - self._started), 0))
            self.stopped = self.stopped or worker.is_alive()
            if isinstance(self._error, BaseException):
                raise self._error
        whole = [list(blocks) for blocks in blocks_of]  # a thread that was left behind may still add some
        even = min(len(blocks) for blocks in whole)
        ours, theirs = (one_sample(blocks[:even]) for blocks in whole)
        self.called += len(ours) + len(theirs)
        return ours, theirs

    _error: BaseException | None = None

    def _caught(self, blocks_of: tuple[list[Any], list[Any]], runs: int) -> None:
        """Fill blocks, and keep an error for the calling thread."""
        try:
            self._fill(blocks_of, runs)
        except BaseException as error:
            self._error = error

    def _fill(self, blocks_of: tuple[list[Any], list[Any]], runs: int) -> None:
        """Run the mechanism on both inputs, and append the outputs in blocks."""
        block = runs if self.batched else 1
        for done in range(0, runs, block):
            for index in (0, 1) if self.batched or self._dice.random() < 0.5 else (1, 0):
                outputs = self._block(self.inputs[index], block)
                if outputs is None:
                    return
                blocks_of[index].append(outputs)
            if self.progress is not None and ((done + block) % _RUNS_PER_REPORT == 0 or done + block == runs):
                self.progress((done + block) / runs)

    def _over(self) -> bool:
        """Whether the time is over."""
        self.stopped = self.stopped or (self.seconds is not None and time.monotonic() - self._started > self.seconds)
        return self.stopped

    def _block(self, data: Any, runs: int) -> Any | None:
        """Return one block of outputs; None when the time is over."""
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
                        f"a batched mechanism must return one entry for each of the {runs} runs"
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
    """Refuse the coroutine that an asynchronous function returns."""
    if inspect.iscoroutine(output):
        output.close()
        raise InvalidParameterError("mechanism must not be asynchronous. Give a function that runs it to its end")


def read_runs(runs: object, *, minimum: int) -> int:
    """Return a number of runs on one input, in minimum..10^9."""
    return whole_number("runs", runs, lower=minimum, upper=MAX_RUNS)


def one_sample(blocks: list[Any]) -> Sample:
    """Return all outputs in one list, or in one array for numbers of one shape."""
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
