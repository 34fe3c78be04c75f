"""Streams of a table: rows of each step that has ended go into a counter."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import CatalogError, ExecutionError, InvalidParameterError
from deniable.numbers.rationals import shown
from deniable.query.expression import Expression, Kind
from deniable.query.responder import Responder, Responding
from deniable.query.statistics import condition_of
from deniable.query.table_expression import Scan, filtered
from deniable.release import Release
from deniable.stream import Counter, StreamPlan

LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


@dataclass(frozen=True, kw_only=True)
class StreamedTable:
    """A table whose rows come in over time, and the stream that is released of them.

    Args:
        responder: answers for the table.
        path: of the file that keeps the stream.
        moment: column of dates or moments, which says in which step a row belongs.
        start: first day of the first step.
        every: "minute", "hour", "day" or "week".
        key: column with declared keys, for a counter of each; None for one counter.
        value: column with declared bounds whose values are added up; None counts rows.
        where: condition on rows, as in SQL; None for all.
        facts: of `StreamPlan`: steps, epsilon, delta, rho, windows, rows, steps_per_unit, separation, strategy.
    """

    responder: Responder
    path: Path
    moment: str
    start: date
    every: str = "day"
    key: str | None = None
    value: str | None = None
    where: str | None = None
    facts: dict[str, Any]

    @cached_property
    def plan(self) -> StreamPlan:
        """Plan of the stream: the declared facts of the table and those of the stream.

        Raises: CatalogError for a column without keys or bounds; InvalidParameterError for a wrong fact.
        """
        table = self.responder.table
        key = None if self.key is None else table.column(self.key).facts
        value = None if self.value is None else table.column(self.value).facts
        parts = [f"by {self.every} of {self.moment} from {self.start.isoformat()}"]
        parts += [f"sum of {self.value}"] if self.value else []
        parts += [f"by {self.key}"] if self.key else []
        parts += [f"where {self.where}"] if self.where else []
        name = f"{table.name}, {', '.join(parts)}"
        if key is not None and key.keys is None and key.kind is not Kind.BOOLEAN:
            raise CatalogError(
                f"{self.key} has no declared keys. Declare them: dn.Keys([...]), in a policy keys = [...]."
            )
        if value is not None and not (value.bounded and value.kind.is_number):
            raise CatalogError(f"{self.value} has no bounds. Declare them: lower and upper in the policy.")
        keys = None
        if key is not None:
            keys = (False, True) if key.keys is None else tuple(each for each in key.keys if each is not None)
        return StreamPlan(
            name=name,
            keys=keys,
            bounds=None if value is None else (float(value.ends[0]), float(value.ends[1])),
            unit=None if table.unit.column is None else table.unit,
            relation=table.relation,
            **self.facts,
        )

    def open(self) -> Counter:
        """Return the counter of the stream, which is charged if it is new."""
        return Counter(self.path, ledger=self.responder.ledger, bits=self.responder.bits, plan=self.plan)

    def advance(self, until: date | None = None) -> Release | None:
        """Release all steps that have ended, and return all so far; None if none has.

        Each step is read once, after it has ended: rows that come later do not count.

        Args:
            until: the moment now, by a public clock, or the day that begins; None for the clock of this machine. A time
                zone is converted to UTC.

        Raises: InvalidParameterError for another moment, before anything is paid; ExecutionError if rows cannot be
            read, and the step stays open; StreamError; what the ledger raises.
        """
        now = datetime.now(UTC) if until is None else until
        if isinstance(now, datetime):
            now = now if now.tzinfo is None else now.astimezone(UTC).replace(tzinfo=None)
        elif isinstance(now, date):
            now = datetime.combine(now, time())
        else:
            raise InvalidParameterError(f"until must be a moment, such as datetime(2026, 1, 31), got {shown(until)}")
        with self.open() as counter:
            return self._advanced(counter, now)

    def _advanced(self, counter: Counter, until: datetime) -> Release | None:
        steps = int((until - datetime.combine(self.start, time())) / LENGTHS[self.every])
        last = steps if counter.plan.steps is None else min(steps, counter.plan.steps)
        for step in range(counter.step + 1, last + 1):
            values, keys, units = self._rows(step)
            counter.add_rows(values, keys=keys, units=units, batch=f"step {step}")
            counter.release()
        return counter.history() if counter.step else None

    def check(self) -> None:
        """Refuse what cannot be read, before anything is paid.

        Raises: InvalidParameterError for a column that is no date or moment, or a step that is too short for dates.
        """
        if not isinstance(self.start, date) or isinstance(self.start, datetime):
            raise InvalidParameterError(f"start must be a day, such as date(2026, 1, 1), got {shown(self.start)}")
        if self.every not in LENGTHS:
            raise InvalidParameterError(f"every must be one of {', '.join(LENGTHS)}, got {self.every!r}")
        kind = self.responder.table.column(self.moment).facts.kind
        if kind not in (Kind.DATE, Kind.TIMESTAMP) or (kind is Kind.DATE and self.every in ("minute", "hour")):
            raise InvalidParameterError(
                f"{self.moment} must be a column of dates, or of moments for steps of less than a day"
            )
        self._condition(1)
        self.plan.chosen()

    def _condition(self, step: int) -> Expression | None:
        """Return the condition on rows of one step."""
        kind = self.responder.table.column(self.moment).facts.kind
        begin = datetime.combine(self.start, time()) + (step - 1) * LENGTHS[self.every]
        ends = [moment.date() if kind is Kind.DATE else moment for moment in (begin, begin + LENGTHS[self.every])]
        word = "DATE" if kind is Kind.DATE else "TIMESTAMP"
        name = self.moment.replace('"', '""')
        texts = [f"\"{name}\" {sign} {word} '{end}'" for sign, end in zip((">=", "<"), ends, strict=True)]
        texts += [f"({self.where})"] if self.where else []
        return condition_of(" AND ".join(texts), self.responder)

    def _rows(self, step: int) -> tuple[Any, Any, Any]:
        """Return values, keys and units of rows of one step; None where not taken."""
        table = self.responder.table
        names = [name for name in (self.value, self.key) if name is not None]
        columns: list[Expression] = [table.column(name) for name in names] or [table.column(self.moment)]
        held = None
        with suppress(Exception):  # raised below, so that nothing private is attached to it
            held = self.responder.engine.columns(filtered(Scan(table), self._condition(step)), columns)
        if held is None:
            raise ExecutionError
        # Engines may hand out rows of one unit in an order that hangs on those of others, so chance orders them.
        held = held.take(np.argsort(self.responder.bits.words(held.num_rows), kind="stable"))
        by_name = {name: held.column(index) for index, name in enumerate(names)}
        units = None if table.unit.column is None else held.column("unit")
        if not names and units is None:
            return np.ones(held.num_rows), None, None
        return by_name.get(self.value or ""), by_name.get(self.key or ""), units


class StreamMethods(Responding):
    """Methods of a database that release what its table adds over time."""

    def stream(
        self,
        path: Path | str,
        *,
        moment: str,
        start: date,
        every: str = "day",
        key: str | None = None,
        value: str | None = None,
        where: str | None = None,
        **facts: Any,
    ) -> StreamedTable:
        """Declare a stream: totals of the rows so far, released once in every step.

        Nothing is read or paid yet: `advance` opens the stream, which is charged once, and releases the steps that have
        ended.

        Args:
            path: of the file that keeps the stream, as private as the rows.
            moment: column of dates or moments, which says in which step a row belongs.
            start: first day of the first step.
            every: "minute", "hour", "day" or "week".
            key: column with declared keys, for a counter of each; None for one counter.
            value: column with declared bounds whose values are added up; None counts rows.
            where: condition on rows that count, as in SQL: "age > 30".
            facts: of `deniable.stream.StreamPlan`: steps, epsilon, delta, rho, windows, rows, steps_per_unit,
                separation, strategy.

        Raises: CatalogError for a column without keys or bounds, InvalidParameterError for a wrong fact.
        """
        own = sorted(facts.keys() & {"name", "keys", "bounds", "unit", "relation"})
        if own:
            raise InvalidParameterError(f"{' and '.join(own)} of a stream are those of the table; give key= or value=")
        streamed = StreamedTable(
            responder=self._responder,
            path=Path(path),
            moment=moment,
            start=start,
            every=every,
            key=key,
            value=value,
            where=where,
            facts=facts,
        )
        streamed.check()
        return streamed
