"""Record the calls of samplers in one run, and give their results again in another."""

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from deniable.audit.recorded.differences import difference
from deniable.audit.recorded.samplers import Arguments, Sampler


class Diverged(BaseException):
    """The run on the neighbour asked for a draw that the first run did not ask for; nothing catches it by accident."""


@dataclass
class Call:
    """One call of a sampler: its arguments, and what it returned or raised."""

    sampler: Sampler
    arguments: Arguments
    result: Any = None
    error: BaseException | None = None

    def difference(self, other: "Call", number: int) -> str | None:
        """What two calls with the same number differ in."""
        if self.sampler is not other.sampler:
            return f"draw {number} comes from {self.sampler.title} on one input and {other.sampler.title} on the other"
        for name in dict.fromkeys([*self.arguments, *other.arguments]):
            mine, theirs = (call.arguments.get(name, 0) for call in (self, other))
            place = f"{name} of draw {number}, {self.sampler.title}"
            if name in self.sampler.shaped and np.shape(mine) != np.shape(theirs):
                return f"the shape of {place}"
            if name not in self.sampler.secret and (found := difference(mine, theirs, place=place)):
                return found
        return None

    def unscaled(self) -> str | None:
        """A parameter that is not above 0, though noise needs it to be."""
        given = (name for name in sorted(self.sampler.positive) if name in self.arguments)
        return next((name for name in given if not np.all(np.asarray(self.arguments[name]) > 0)), None)


@dataclass
class Recorder:
    """The calls of one run; with `first`, the results are those of that run, as long as the calls agree.

    Args:
        diverged: in words, the first call that does not agree.
    """

    first: "Recorder | None" = None
    calls: list[Call] = field(default_factory=list)
    diverged: str | None = None
    _inside: bool = False

    def wrapped(self, sampler: Sampler) -> Callable[..., Any]:
        """The sampler, recorded; draws that it makes of others are its own affair."""
        function = sampler.function

        @wraps(function, updated=())
        def draw(*positional: Any, **named: Any) -> Any:
            if self._inside:
                return function(*positional, **named)
            call = Call(sampler, sampler.bound(positional, named))
            self._inside = True
            try:
                self.calls.append(call)
                call.result = self._result(call, lambda: function(*positional, **named))
            except Exception as error:
                call.error = error
                raise
            finally:
                self._inside = False
            return copy.deepcopy(call.result)

        return draw

    def _result(self, call: Call, fresh: Callable[[], Any]) -> Any:
        if self.first is None:
            return fresh()
        number = len(self.calls)
        if number > len(self.first.calls):
            self.diverged = self.diverged or f"draw {number}, {call.sampler.title}, was asked for on one input only"
            raise Diverged
        before = self.first.calls[number - 1]
        if found := before.difference(call, number):
            self.diverged = self.diverged or found
            raise Diverged
        if before.error is not None:
            return fresh()
        centre = call.sampler.centre
        if centre is None:
            return before.result
        moved = before.result - np.asarray(before.arguments.get(centre, 0)) + np.asarray(call.arguments.get(centre, 0))
        return moved if isinstance(before.result, np.ndarray) else type(before.result)(moved)


@contextmanager
def recording(samplers: Sequence[Sampler], recorder: Recorder) -> Iterator[None]:
    """Samplers are replaced in their owners, and wherever a loaded module refers to them, until the end."""
    with ExitStack() as undo:
        everywhere: dict[int, Any] = {}
        for sampler in samplers:
            if sampler.owner is np.random.Generator:
                continue
            wrapped = recorder.wrapped(sampler)
            if isinstance(sampler.owner, type):
                _replace(undo, sampler.owner, sampler.name, wrapped)
            else:
                everywhere[id(sampler.function)] = wrapped
        generators = [sampler for sampler in samplers if sampler.owner is np.random.Generator]
        kind = type("Generator", (np.random.Generator,), {one.name: recorder.wrapped(one) for one in generators})
        if generators:
            make = np.random.default_rng
            everywhere[id(make)] = lambda seed=None: kind(make(seed).bit_generator)
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if id(value) in everywhere:
                    _replace(undo, module, name, everywhere[id(value)])
                elif generators and type(value) is np.random.Generator:
                    _replace(undo, module, name, kind(value.bit_generator))
        yield


def _replace(undo: ExitStack, owner: Any, name: str, value: Any) -> None:
    undo.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)
