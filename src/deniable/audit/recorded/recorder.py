"""Record the calls of samplers in one run, and give their results again in another."""

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
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
    """The calls of the run that is going on; in the second run the results are those of the first.

    Args:
        first: the calls of the first run, in the second; None in the first.
        diverged: in words, the first call that does not agree.
    """

    calls: list[Call] = field(default_factory=list)
    first: list[Call] | None = None
    diverged: str | None = None
    _inside: bool = False

    def repeat(self) -> None:
        """Begin the second run."""
        self.first, self.calls = self.calls, []

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
        number, found = len(self.calls), None
        if number > len(self.first):
            found = f"draw {number}, {call.sampler.title}, was asked for on one input only"
        if found or (found := self.first[number - 1].difference(call, number)):
            self.diverged = self.diverged or found
            raise Diverged
        before, centre = self.first[number - 1], call.sampler.centre
        if before.error is not None:
            return fresh()
        if centre is None:
            return before.result
        moved = before.result - np.asarray(before.arguments.get(centre, 0)) + np.asarray(call.arguments.get(centre, 0))
        return moved if isinstance(before.result, np.ndarray) else type(before.result)(moved)


@contextmanager
def recording(samplers: Sequence[Sampler], recorder: Recorder) -> Iterator[None]:
    """Samplers are replaced in their owners, and wherever a loaded module refers to them, until the end."""
    methods = [sampler for sampler in samplers if sampler.owner is np.random.Generator]
    kind = type("Generator", (np.random.Generator,), {one.name: recorder.wrapped(one) for one in methods})
    make, wrapped = np.random.default_rng, {}
    if methods:
        wrapped[make] = lambda seed=None: kind(make(seed).bit_generator)
    with ExitStack() as undo:
        for sampler in samplers:
            if isinstance(sampler.owner, type) and sampler.owner is not np.random.Generator:
                _replace(undo, sampler.owner, sampler.name, recorder.wrapped(sampler))
            elif sampler.owner is not np.random.Generator:
                wrapped[sampler.function] = recorder.wrapped(sampler)
        for module, name, function in _names(sys.modules, id, set(map(id, wrapped))):
            _replace(undo, module, name, wrapped[function])
        for module, name, generator in _names(sys.modules, type, {np.random.Generator} if methods else set()):
            _replace(undo, module, name, kind(generator.bit_generator))
        before = set(sys.modules)
        yield
    originals = {new: old for old, new in wrapped.items()}
    for module, name, function in _names(sys.modules.keys() - before, id, set(map(id, originals))):
        setattr(module, name, originals[function])  # in modules that were imported meanwhile


def _names(modules: Iterable[str], key: Callable[[Any], Any], wanted: Set[Any]) -> list[tuple[ModuleType, str, Any]]:
    """Names in modules that stand for something with one of these keys."""
    held = [(module, getattr(module, "__dict__", {})) for module in [sys.modules[name] for name in modules]]
    with_any = [(module, names) for module, names in held if not wanted.isdisjoint(map(key, names.values()))]
    return [(module, name, one) for module, names in with_any for name, one in names.items() if key(one) in wanted]


def _replace(undo: ExitStack, owner: Any, name: str, value: Any) -> None:
    undo.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)
