"""DuckDB plans a statement in a thread that is left when its time is over, or on Ctrl-C."""

import _thread
import threading
from typing import Any

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query import effort
from deniable.query.engines.duckdb.trial import PlanningTrial


class Busy:
    """Stands for a DuckDB that binds names without end."""

    def __init__(self) -> None:
        self.left, self.interrupted = threading.Event(), False

    def execute(self, statement: str) -> Any:
        if statement == "EXPLAIN press Ctrl-C":
            _thread.interrupt_main()
        self.left.wait()

    def interrupt(self) -> None:
        self.interrupted = True


@pytest.mark.parametrize(
    ("statement", "raised"), [("wait", UnsupportedQueryError), ("press Ctrl-C", KeyboardInterrupt)]
)
def test_planning_in_the_engine_can_be_left(
    statement: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = [Busy(), Busy()]
    trials = PlanningTrial(iter(opened).__next__, "found")  # type: ignore[arg-type]
    monkeypatch.setattr(effort, "MAX_SECONDS", 0.05 if statement == "wait" else 60)
    for busy in opened:  # another one for the next question
        with pytest.raises(raised):
            trials.admits([statement], None)
        assert busy.interrupted
        busy.left.set()
