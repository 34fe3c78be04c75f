"""Counts and sums that are released step by step, under one price.

See docs/guide/streams.md.
"""

from deniable.stream.alarm import Alarm
from deniable.stream.counter import Counter
from deniable.stream.plan import StreamPlan

__all__ = ["Alarm", "Counter", "StreamPlan"]


def __dir__() -> list[str]:
    return sorted(__all__)
