"""CSV lines of standard input, added to a stream as they come in.

The clock closes its steps.
"""

import csv
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from deniable.app.terminal import hint
from deniable.errors import CatalogError, InvalidParameterError

if TYPE_CHECKING:
    from deniable.query.policy import Policy
    from deniable.release import Release
    from deniable.stream import Counter, StreamPlan

_LINES_PER_BATCH = 10_000
_WAIT = 0.5  # seconds for further lines before those that came are written down


def plan_of_lines(
    policy: "Policy", *, every: str, start: datetime, key: str | None, value: str | None, facts: Mapping[str, Any]
) -> "StreamPlan":
    """Return the plan of a stream of lines, from a policy and its own facts.

    Args:
        policy: whose unit, relation, keys and bounds hold.
        every, start: length of a step, and the start of the first.
        key, value: names of columns; None for one counter, and to count rows.
        facts: of `StreamPlan`.

    Raises: CatalogError for a column without keys or bounds; InvalidParameterError for a wrong fact.
    """
    from deniable.query.streamed import LENGTHS
    from deniable.stream import StreamPlan

    if every not in LENGTHS:
        raise InvalidParameterError(f"--every takes {', '.join(LENGTHS)}, got {every!r}")
    keys = None if key is None else getattr(policy.columns.get(key), "keys", None)
    if key is not None and keys is None:
        raise CatalogError(f"{key} has no declared keys. Declare them in the policy: keys = [...].")
    bounds = policy.columns.get(value) if value is not None else None
    if value is not None and (bounds is None or bounds.lower is None or bounds.upper is None):
        raise CatalogError(f"{value} has no bounds. Declare them in the policy: lower and upper.")
    parts = [
        f"lines by {every} from {start.isoformat()}",
        f"sum of {value}" if value else "",
        f"by {key}" if key else "",
    ]
    return StreamPlan(
        name=f"{policy.name}, {', '.join(part for part in parts if part)}",
        keys=None if keys is None else tuple(each for each in keys if each is not None),
        bounds=None if bounds is None else (float(bounds.lower or 0), float(bounds.upper or 0)),
        unit=None if policy.unit.column is None else policy.unit,
        relation=policy.relation,
        **facts,
    )


def follow(
    policy: "Policy",
    plan: "StreamPlan",
    state: Path,
    *,
    every: str,
    start: datetime,
    key: str | None,
    value: str | None,
    now: datetime | None,
) -> "Release | None":
    """Add lines of standard input to a stream; return all steps released.

    Args:
        policy: whose ledger pays.
        plan: of the stream.
        state: its file.
        every, start, key, value: as for `plan_of_lines`.
        now: a clock that stands still; None for that of this machine, in UTC.
    """
    from deniable.ledger import Ledger
    from deniable.query.streamed import LENGTHS
    from deniable.stream import Counter

    feed = LineFeed(plan, sys.stdin, value=value, key=key, unit=policy.unit.column)
    clock = _clock if now is None else lambda: now
    if plan.steps is not None and not state.exists() and clock() >= start + plan.steps * LENGTHS[every]:
        raise InvalidParameterError(
            f"all {plan.steps} steps of this stream have ended, so it would release empty ones. Give a later --start, "
            "or more --steps."
        )
    ledger = Ledger.open(
        policy.ledger, budget=policy.budget, relation=policy.relation, unit=policy.unit, dataset=policy.name
    )
    with Counter(state, ledger=ledger, plan=plan) as counter:
        for step in feed.run(counter, clock=clock, start=start, length=LENGTHS[every]):
            hint(f"step {step} released")
        return counter.history() if counter.step else None


def _clock() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


class LineFeed:
    """Lines of a stream: a header, then one row a line.

    Args:
        plan: of the stream.
        lines: with a header that names the columns.
        value, key, unit: names of the columns that the stream takes; None for those it does not.

    Raises: InvalidParameterError if the header lacks one of them.
    """

    def __init__(
        self, plan: "StreamPlan", lines: TextIO, *, value: str | None, key: str | None, unit: str | None
    ) -> None:
        self._lines = lines
        header = _fields(lines.readline())
        missing = [name for name in (value, key, unit) if name is not None and name not in header]
        if missing:
            raise InvalidParameterError(f"the first line must name the columns, and does not name {', '.join(missing)}")
        self._value, self._key, self._unit = (
            None if name is None else header.index(name) for name in (value, key, unit)
        )
        self._keys = {str(each): each for each in plan.keys or ()}

    def run(
        self, counter: "Counter", *, clock: Callable[[], datetime], start: datetime, length: timedelta
    ) -> Iterator[int]:
        """Add rows until the lines end; yield the number of each released step.

        A row counts in the step in which it comes in. At the end of the lines the open step stays open. After the last
        step of the plan no line is read any more.

        Args:
            counter: of the plan, open.
            clock: public; the moment now.
            start: of the first step.
            length: of a step.
        """
        waiting: queue.Queue[str | None] = queue.Queue(4 * _LINES_PER_BATCH)
        threading.Thread(target=self._read, args=(waiting,), daemon=True).start()
        batch: list[str] = []
        ended = False
        horizon = sys.maxsize if counter.plan.steps is None else counter.plan.steps
        while not ended:
            closed = min(int((clock() - start) / length), horizon)
            if closed > counter.step:
                self._add(counter, batch)
                counter.release(closed)
                yield closed
            if counter.step >= horizon:
                return
            line: str | None = ""
            with suppress(queue.Empty):
                line = waiting.get(timeout=_WAIT)
            ended = line is None
            batch += [line] if line else []
            if ended or not line or len(batch) >= _LINES_PER_BATCH:
                self._add(counter, batch)

    def _read(self, waiting: "queue.Queue[str | None]") -> None:
        try:
            for line in self._lines:
                waiting.put(line)
        finally:
            waiting.put(None)

    def _add(self, counter: "Counter", batch: list[str]) -> None:
        """Write down rows in the open step, and forget them here."""
        if not batch:
            return
        from deniable.rows import silence

        with silence():
            rows = [_fields(line) for line in batch]
            values = (
                [1.0] * len(rows) if self._value is None else [_number(each) for each in _column(rows, self._value)]
            )
            keys = None if self._key is None else [self._keys.get(each or "") for each in _column(rows, self._key)]
            units = None if self._unit is None else [each or None for each in _column(rows, self._unit)]
        counter.add_rows(values, keys=keys, units=units)
        batch.clear()


def _fields(line: str) -> list[str]:
    """Return the fields of one line; none where it is not CSV."""
    with suppress(csv.Error, StopIteration):
        return next(csv.reader([line.rstrip("\r\n")]))
    return []


def _column(rows: Sequence[Sequence[str]], index: int) -> list[str | None]:
    return [row[index] if index < len(row) else None for row in rows]


def _number(text: str | None) -> float | None:
    with suppress(ValueError, TypeError):
        return float(text or "")
    return None
