"""Recording of the calls of samplers in one run, and their replay in another."""

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
from deniable.audit.recorded.samplers import Arguments, RecordedSampler


class Diverged(BaseException):
    """Raised where the run on the neighbour makes a draw that the first did not make.

    It derives from BaseException, so that the code under audit does not catch it.
    """


@dataclass
class RecordedCall:
    """Call of a sampler: its arguments, and its result or error."""

    sampler: RecordedSampler
    arguments: Arguments
    result: Any = None
    error: BaseException | None = None

    def difference(self, other: "RecordedCall", number: int) -> str | None:
        """Return the difference of two calls with the same number, in words."""
        if self.sampler is not other.sampler:
            return f"draw {number} comes from {self.sampler.title} on one input and {other.sampler.title} on the other"
        for name in dict.fromkeys([*self.arguments, *other.arguments]):
            mine, theirs = (call.arguments.get(name, 0) for call in (self, other))
            where = f"{name} of draw {number}, {self.sampler.title}"
            if name in self.sampler.shaped and np.shape(mine) != np.shape(theirs):
                return f"the shape of {where}"
            if name in self.sampler.secret:
                continue
            if differs := difference(mine, theirs, where=where):
                return differs
        return None

    def unscaled(self) -> str | None:
        """Return a parameter that is not above 0 and must be, or None."""
        given = (name for name in sorted(self.sampler.positive) if name in self.arguments)
        return next((name for name in given if not np.all(np.asarray(self.arguments[name]) > 0)), None)


@dataclass
class Recorder:
    """Recorder of the calls of a run; the second run gets the results of the first.

    Args:
        calls: of the current run.
        first: calls of the first run, during the second; None during the first.
        diverged: the first call that differs, in words.
    """

    calls: list[RecordedCall] = field(default_factory=list)
    first: list[RecordedCall] | None = None
    diverged: str | None = None
    _inside: bool = False

    def repeat(self) -> None:
        """Begin the second run."""
        self.first = self.calls
        self.calls = []

    def wrapped(self, sampler: RecordedSampler) -> Callable[..., Any]:
        """Return the sampler with its calls recorded; calls inside it are not."""
        function = sampler.function

        @wraps(function, updated=())
        def draw(*positional: Any, **named: Any) -> Any:
            if self._inside:
                return function(*positional, **named)
            call = RecordedCall(sampler, sampler.bound(positional, named))
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

    def _result(self, call: RecordedCall, fresh: Callable[[], Any]) -> Any:
        """Return a fresh result in the first run, that of the first in the second."""
        if self.first is None:
            return fresh()
        number = len(self.calls)
        if number > len(self.first):
            differs: str | None = f"draw {number}, {call.sampler.title}, was asked for on one input only"
        else:
            differs = self.first[number - 1].difference(call, number)
        if differs:
            self.diverged = self.diverged or differs
            raise Diverged
        before = self.first[number - 1]
        centre = call.sampler.centre
        if before.error is not None:
            return fresh()
        if centre is None:
            return before.result
        moved = before.result - np.asarray(before.arguments.get(centre, 0)) + np.asarray(call.arguments.get(centre, 0))
        return moved if isinstance(before.result, np.ndarray) else type(before.result)(moved)


@contextmanager
def recording(samplers: Sequence[RecordedSampler], recorder: Recorder) -> Iterator[None]:
    """Replace samplers in their owners, and in all loaded modules, until the end."""
    methods = [sampler for sampler in samplers if sampler.owner is np.random.Generator]
    kind = type("Generator", (np.random.Generator,), {one.name: recorder.wrapped(one) for one in methods})
    make = np.random.default_rng
    wrapped = {}
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
    """Return names in modules whose values have one of some keys."""
    held = [(module, getattr(module, "__dict__", {})) for module in [sys.modules[name] for name in modules]]
    with_any = [(module, names) for module, names in held if not wanted.isdisjoint(map(key, names.values()))]
    return [(module, name, one) for module, names in with_any for name, one in names.items() if key(one) in wanted]


def _replace(undo: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Replace a name, until the stack is closed."""
    undo.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)
