"""How much work a question may be to plan: limits that follow from its text and the schema alone, never from rows.

They hold before anything is paid. Other limits stand where a question grows: the number of tables where they meet
(`relation.limited`), the size and depth of one expression where it is made (`operators.call`), the number of aggregates
where they are collected (`clauses`), and the length of the text where it is read (`sql`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import thread_time

from deniable.errors import UnsupportedQueryError

MAX_SECONDS = 10.0  # of work of this thread: waiting for a server, or for other processes, does not count

_end: ContextVar[float] = ContextVar("end", default=inf)


@contextmanager
def limited_time() -> Iterator[None]:
    """Let `check_time` refuse a question whose planning takes longer than `MAX_SECONDS` in here."""
    token = _end.set(thread_time() + MAX_SECONDS)
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Refuse to go on when the time for planning is over; called in every step whose number grows with the question.

    Raises: UnsupportedQueryError.
    """
    end = _end.get()
    if end < inf and thread_time() > end:
        raise too_long()


def too_long() -> UnsupportedQueryError:
    """The refusal of a question whose planning takes longer than `MAX_SECONDS`."""
    return UnsupportedQueryError(
        f"this question takes more than {MAX_SECONDS:g} seconds to plan. Write it with fewer nested expressions, "
        "tables and aggregates."
    )
