"""Bounds that nobody declared: found privately before the question that needs them, charged, kept and shown.

A search is an entry of the ledger by itself, so its bounds serve all later questions for nothing. Each search takes a
quarter of what is left of the price; the answer is then noised for the bounds as they were released, and the losses of
all of them add up, as the composition is adaptive.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor

from deniable.errors import ExecutionError, UnsupportedQueryError
from deniable.ledger import Entry, Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss
from deniable.query.catalog import Table, changed
from deniable.query.declarations import LARGEST_BOUND
from deniable.query.engines.base import Engine
from deniable.query.expression import Kind
from deniable.query.plan import Query
from deniable.query.relation import Scan
from deniable.rows import numbers
from deniable.statistics.bounds import Bounding, resolve
from deniable.statistics.shares import rows_that_count

Pair = tuple[Fraction, Fraction]
WIDE: Pair = (Fraction(-(2**20)), Fraction(2**20))  # stands for bounds that are not known yet


@dataclass(frozen=True)
class Search:
    """One search for the bounds of a column, or its result.

    Args:
        known: the bounds; None before they are found.
        due: whether this question pays for them; else an earlier one did.
        taken: the bounds that the question takes in their place, since it could not be answered with them.
    """

    table: Table
    column: str
    bounding: Bounding
    known: Pair | None = None
    due: bool = True
    taken: Pair | None = None

    @property
    def ends(self) -> Pair:
        """The bounds that the question takes."""
        return self.taken or self.known or WIDE

    def suiting(self) -> "Iterator[Search]":
        """The search with bounds that the question may take, in this order; the last are those it was paid with."""
        yield self
        if self.known is not None:
            cut = max(self.known[0], WIDE[0]), min(self.known[1], WIDE[1])
            yield from (replace(self, taken=ends) for ends in (cut, WIDE) if ends[0] < ends[1])

    @property
    def loss(self) -> PrivacyLoss:
        assert self.bounding.loss is not None
        return self.bounding.loss

    @property
    def question(self) -> str:
        """Its name in the ledger, whatever it cost."""
        table = self.table
        promise = [table.unit.column, table.unit.ids, table.rows, table.total_rows, str(table.relation)]
        said = ["bounds", Scan(table).to_json(), table.column(self.column).to_json(), promise]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def entry(self, *, safe: bool) -> Entry:
        text = f"bounds of {self.table.name}.{self.column}"
        return Entry(question=self.question, text=text, loss=self.loss, mechanisms="bounds", safe=safe)

    def found(self, engine: Engine, bits: Bits) -> str:
        """The bounds, of at most `rows` rows of each unit. Whatever goes wrong here looks the same."""
        ends = None
        try:
            held = engine.columns(Scan(self.table), [self.table.column(self.column)])
            units = None if self.table.unit.column is None else held.column("unit")
            rows = self.table.total_rows or self.table.rows
            values = rows_that_count(numbers(held.column(0)), units, rows=rows, relation=self.table.relation, bits=bits)
            ends = self.bounding.ends(values, bits=bits)
        except Exception:  # noqa: S110 - raised below, so that nothing private is attached to it
            pass
        if ends is None:
            raise ExecutionError
        low, high = min(ends), max(ends)
        if self.table.column(self.column).facts.kind is Kind.INTEGER:
            low, high = floor(low), ceil(high)
        most = LARGEST_BOUND  # no question may be refused for the bounds after they are paid: they stay apart
        return json.dumps([max(min(low, most // 2), -most), min(max(high, -most // 2), most)])

    def settled(self, answer: str) -> "Search":
        lower, upper = json.loads(answer)
        return replace(self, known=(Fraction(lower), Fraction(upper)))

    def __str__(self) -> str:
        if self.known is None:
            return "found privately first; until then, noise is shown for bounds of -1,048,576 and 1,048,576"
        said = f"{float(self.known[0]):g} and {float(self.known[1]):g}, found privately; values beyond are clamped"
        if self.taken is None:
            return said
        ends = " and ".join(f"{int(end):,}" for end in self.taken)
        return f"{said}; this question cannot be answered with them, and takes {ends}"


def searches(
    read: Callable[[Mapping[str, Table]], Query],
    tables: Mapping[str, Table],
    price: Price,
    recall: Callable[[str], str | None],
) -> tuple[tuple[Search, ...], list[Price]]:
    """The searches that a question needs, being refused without them; and what is left of its price after each.

    Raises: UnsupportedQueryError if something else is wrong with the question.
    """
    autos = [(table, name) for table in tables.values() for name, declared in table.columns.items() if declared.auto]
    if not autos or _reads(read, tables):
        return (), [price]
    every = {(table.name, name): WIDE for table, name in autos}
    read(bounded(tables, every))
    found, prices, due = [], [price], 0
    for table, name in autos:
        if _reads(read, bounded(tables, {place: WIDE for place in every if place != (table.name, name)})):
            continue
        rows = table.total_rows or table.rows
        search = Search(table, name, resolve("auto", prices[due], relation=table.relation, rows=rows)[0])
        answer = recall(search.question)
        found.append(search if answer is None else replace(search.settled(answer), due=False))
        prices.append(resolve("auto", prices[-1], relation=table.relation, rows=rows)[1])
        due += answer is None
    return tuple(found), prices


def bounded(tables: Mapping[str, Table], bounds: Mapping[tuple[str, str], Pair]) -> Mapping[str, Table]:
    """The tables with these bounds, by table and column, as if they were declared."""

    def with_bounds(table: Table) -> Table:
        columns = dict(table.columns)
        for (where, name), (lower, upper) in bounds.items():
            if where == table.name:
                columns[name] = replace(columns[name], auto=False, lower=lower, upper=upper)
        return replace(table, columns=columns)

    return changed(tables, with_bounds)


def settle(found: tuple[Search, ...], ledger: Ledger, engine: Engine, bits: Bits) -> tuple[Search, ...]:
    """Search for what is not known: each pays, then looks."""
    return tuple(
        one if one.known else one.settled(ledger.answer(one.entry(safe=bits.safe), partial(one.found, engine, bits))[0])
        for one in found
    )


def _reads(read: Callable[[Mapping[str, Table]], Query], tables: Mapping[str, Table]) -> bool:
    try:
        read(tables)
    except UnsupportedQueryError:
        return False
    return True
