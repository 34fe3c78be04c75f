"""Deadlines for long computations: set by the caller, checked at each step."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def watched(check: Callable[[], None]) -> Iterator[None]:
    """Let every `checkpoint` inside the block call `check`.

    `check` raises when the computation is to end.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Raise if the caller set a deadline and it has passed."""
    check = _check.get()
    if check is not None:
        check()


def with_checkpoints(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, with a checkpoint before each."""
    for item in items:
        checkpoint()
        yield item
