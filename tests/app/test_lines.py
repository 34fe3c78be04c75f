"""Lines of standard input: in the step in which they come, written down as they come, whatever they hold."""

import io
import queue
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from deniable.app.lines import LineFeed
from deniable.errors import InvalidParameterError
from deniable.privacy import PrivacyUnit
from deniable.stream import Counter, StreamPlan

START = datetime(2026, 1, 1)
DAY = timedelta(days=1)
PERSON = PrivacyUnit(column="person", noun="person")


def plan(**facts: Any) -> StreamPlan:
    return StreamPlan(steps=10, rho=10**6, **facts)


def run(made: StreamPlan, text: str, *, days: float = 0, **names: Any) -> Counter:
    feed = LineFeed(made, io.StringIO(text), **{"value": None, "key": None, "unit": None} | names)
    counter = Counter(plan=made)
    list(feed.run(counter, clock=lambda: START + days * DAY, start=START, length=DAY))
    return counter


def waiting(counter: Counter) -> list[float]:
    return [total / counter.plan.size for total in counter._pending]


def test_lines_count_in_the_open_step_and_days_without_lines_are_steps() -> None:
    counter = run(plan(), "a,b\n1,2\n3,4\n", days=2.5)
    assert counter.step == 2
    assert counter.history()["total"] == pytest.approx([0, 0], abs=0.1)
    assert waiting(counter) == [2]


def test_lines_end_with_the_last_step_that_was_paid_for() -> None:
    counter = run(plan(), "a\n1\n", days=99)
    assert counter.step == 10
    assert counter.history()["total"] == pytest.approx([0] * 10, abs=0.1)


def test_odd_lines_raise_nothing() -> None:
    text = 'ward,cost,person\na,1e9,1\nb,nan,2\n"a,2\nc,3,3\n\n,,\na,2,1\na\0,1\na,-7,4,5,6\nb,3,\nb,4,5\n'
    counter = run(plan(keys=["a", "b"], bounds=(0, 10), unit=PERSON), text, value="cost", key="ward", unit="person")
    assert waiting(counter) == pytest.approx([1, 0.4], rel=1e-4)  # person 1 once; 4 at 0, 5 at 4


def test_keys_are_compared_as_text() -> None:
    assert waiting(run(plan(keys=[1, 2]), "k\n1\n2\n2\n3\n", key="k")) == [1, 2]


def test_a_header_without_the_columns_is_refused() -> None:
    for text in ("", "a,b\n1,2\n", "8675309\n"):
        with pytest.raises(InvalidParameterError, match="does not name ward") as error:
            LineFeed(plan(keys=["a"]), io.StringIO(text), value=None, key="ward", unit=None)
        assert "8675309" not in str(error.value)


def test_a_step_ends_while_lines_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that stays open: what came before midnight counts before it."""
    monkeypatch.setattr("deniable.app.lines._WAIT", 0.05)
    pipe: queue.Queue[str] = queue.Queue()
    days = iter([0, 0, 0, 0.5, 1.5, 1.5, 2.5])

    class Pipe(io.StringIO):
        def readline(self, *_: Any) -> str:
            return "a\n"

        def __iter__(self) -> Iterator[str]:  # type: ignore[override]
            return iter(pipe.get, "end")

    for line in ("1\n", "2\n"):
        pipe.put(line)
    made = plan()
    feed, counter = LineFeed(made, Pipe(), value=None, key=None, unit=None), Counter(plan=made)
    for step in feed.run(counter, clock=lambda: START + next(days) * DAY, start=START, length=DAY):
        for line in ("3\n", "end") if step == 1 else ():
            pipe.put(line)
    assert counter.step >= 1
    assert counter.history()["total"][0] == pytest.approx(2, abs=0.1)
    assert sum(counter.history()["total"][-1:]) + waiting(counter)[0] == pytest.approx(3, abs=0.1)
