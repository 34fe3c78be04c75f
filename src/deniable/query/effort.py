"""Limits on the work of planning, which follow from text and schema alone.

They hold before anything is paid, for plans and for prices: what calibrates noise and proves losses calls
`deniable.privacy.deadline.checkpoint`. Other limits stand where a question grows: the number of tables where they meet
(`table_expression.count_tables`), the size and depth of one expression where it is made (`operators.call`), the number
of aggregates where they are collected (`clauses`), and the length of the text where it is parsed (`statement`).
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import thread_time
from typing import TypeVar

from deniable.errors import UnsupportedQueryError
from deniable.privacy.deadline import watched

MAX_SECONDS = 10.0  # of work of this thread: waiting for a server, or for other processes, does not count

T = TypeVar("T")
_end: ContextVar[float] = ContextVar("end", default=inf)


@contextmanager
def limited_time() -> Iterator[None]:
    """Let `check_time` refuse a question that takes longer than `MAX_SECONDS`.

    Planning and pricing inside this context count.

    Inside another one it adds nothing: the time of that one holds.
    """
    if _end.get() < inf:
        yield
        return
    token = _end.set(thread_time() + MAX_SECONDS)
    try:
        with watched(check_time):
            yield
    finally:
        _end.reset(token)


@contextmanager
def unlimited_time() -> Iterator[None]:
    """Let nothing in here be refused for the time it takes.

    A part of the question is paid already.
    """
    token = _end.set(inf)
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Refuse to go on when the time for planning is over.

    Called in every step whose number grows with the question.

    Raises: UnsupportedQueryError.
    """
    end = _end.get()
    if end < inf and thread_time() > end:
        raise too_long()


def in_time(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return the result of an engine's work, which is left when time is over.

    The work, which nothing interrupts, runs in a thread, left after `MAX_SECONDS` or Ctrl-C.

    Args:
        stop: is called where it is left.

    Raises: UnsupportedQueryError if it takes too long; what `work` raises.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    try:
        threading.Thread(target=run, daemon=True).start()
        return result.result(MAX_SECONDS)
    except TimeoutError:
        if result.done():
            raise
    finally:
        if not result.done():
            stop()
    raise too_long()


def too_long() -> UnsupportedQueryError:
    """The refusal of a question whose planning takes longer than `MAX_SECONDS`."""
    return UnsupportedQueryError(
        f"this question takes more than {MAX_SECONDS:g} seconds to plan. Write it with fewer nested expressions, "
        "tables and aggregates."
    )
