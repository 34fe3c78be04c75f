"""Undeclared bounds and limits: searched for privately before a question.

A search is an entry of the ledger by itself, so its bounds serve all later questions for nothing. Each search takes a
quarter of what is left of the price; the answer is then noised for the bounds as they were released, and the losses of
all of them add up, as the composition is adaptive.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, floor, sqrt
from typing import Any

from numpy.typing import NDArray

from deniable.errors import ExecutionError, UnsupportedQueryError
from deniable.ledger import Entry, Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, compose
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.aggregates.counts import CountAggregate, Units
from deniable.query.catalog import DeclaredTable, changed
from deniable.query.declarations import LARGEST_BOUND
from deniable.query.declared import redeclared
from deniable.query.engines.base import Engine
from deniable.query.expression import Kind, literal
from deniable.query.grouped import GroupedRows, Total
from deniable.query.operators import call
from deniable.query.plan import Outcome, PricedPlan, Query, Question
from deniable.query.rules.price import price as priced
from deniable.query.table_expression import Scan
from deniable.rows import numbers
from deniable.statistics.bounds import SHARE, Bounding, resolve
from deniable.statistics.shares import rows_that_count

Pair = tuple[Fraction, Fraction]
WIDE: Pair = (Fraction(-(2**20)), Fraction(2**20))  # stands for bounds that are not known yet
LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096)  # on rows or groups of a unit
LIKELY = 8  # stands for a limit that is not known yet


@dataclass(frozen=True)
class BoundsSearch:
    """One search for the bounds of a column, or its result.

    Args:
        known: the bounds; None before they are found.
        due: whether this question pays for them; else an earlier one did.
        taken: the bounds that the question takes in their place, since it could not be answered with them.
    """

    table: DeclaredTable
    column: str
    bounding: Bounding
    known: Pair | None = None
    due: bool = True
    taken: Pair | None = None
    plans: tuple[PricedPlan, ...] = ()  # that an engine answers: none, the rows are read

    @property
    def subject(self) -> str:
        return f"bounds of {self.column}"

    def applied(self, tables: Mapping[str, DeclaredTable]) -> Mapping[str, DeclaredTable]:
        """The tables with these bounds."""
        return bounded(tables, {(self.table.name, self.column): self.ends})

    @property
    def ends(self) -> Pair:
        """The bounds that the question takes."""
        return self.taken or self.known or WIDE

    def suiting(self) -> "Iterator[BoundsSearch]":
        """Yield the search with bounds to try in order, those it was priced with last."""
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

    def run(self, engine: Engine, bits: Bits) -> str:
        """Return private bounds of a column; all failures raise the same error."""
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
        limit = LARGEST_BOUND  # no question may be refused for the bounds after they are paid: they stay apart
        return json.dumps([max(min(low, limit // 2), -limit), min(max(high, -limit // 2), limit)])

    def settled(self, answer: str) -> "BoundsSearch":
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


@dataclass(frozen=True)
class LimitsSearch:
    """A search for how much of one unit should count, or its result.

    See docs/theory/query/bounding.md.

    Of every unit one row is seen: the rows in its fullest group, and the number of its groups. Units are counted, with
    noise, by the limit that each of these needs; the least limit is taken that few units exceed, as far as noise shows.

    Args:
        asked: the question that needs it. Its conditions do not count, so that others find the same limits.
        words: what is sought: rows, groups, or both.
        known: the limits; None before they are found.
        due: whether this question pays for them; else an earlier one did.
    """

    asked: Question
    words: tuple[str, ...]
    price: Price
    known: tuple[int, ...] | None = None
    due: bool = True

    @classmethod
    def of(cls, question: Question, price: Price) -> "LimitsSearch | None":
        """Return the search for limits that a question needs, if any."""
        useful = {"rows": any(not isinstance(each, Units) for each in question.aggregates), "groups": question.keys}
        words = tuple(word for word in question.table.auto if useful[word])
        return cls(question, words, price) if words else None

    @cached_property
    def plans(self) -> tuple[PricedPlan, ...]:
        """The questions about the units."""
        rows = self.asked.rows
        groups = GroupedRows(rows, (rows.unit_expression, *self.asked.keys), (Total("count", None),))
        totals = {"rows": Total("max", groups.column("total 0")), "groups": Total("count", None)}
        units = GroupedRows(groups, (groups.column("key 0"),), tuple(totals[word] for word in self.words))
        plans = []
        for index, price in enumerate(self.price.split(*(1 for _ in self.words))):
            value = units.column(f"total {index}")
            steps = [(call("le", value, literal(limit)), literal(step)) for step, limit in enumerate(LIMITS[:-1])]
            needed = call("case", *(part for step in steps for part in step), literal(len(LIMITS) - 1))
            question = Question(units, (needed,), (CountAggregate(),))
            plans.append(priced(Query(self.subject, question, Outcome((), None, (), None)), price))
        return tuple(plans)

    @property
    def subject(self) -> str:
        return f"{' and '.join(self.words)} of one {self.asked.table.unit.noun}"

    @property
    def loss(self) -> PrivacyLoss:
        return compose([plan.loss for plan in self.plans])

    @property
    def question(self) -> str:
        """Its name in the ledger, whatever it cost."""
        said = ["limits", *(plan.query.question.to_json() for plan in self.plans), str(self.asked.table.relation)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def applied(self, tables: Mapping[str, DeclaredTable]) -> Mapping[str, DeclaredTable]:
        """The tables with these limits."""
        limits = dict(zip(self.words, self.known or (LIKELY,) * len(self.words), strict=True))
        return changed(tables, lambda table: table if table.public else replace(table, **limits, auto=()))  # type: ignore[arg-type]

    def suiting(self) -> "Iterator[LimitsSearch]":
        yield self

    def entry(self, *, safe: bool) -> Entry:
        text = f"{self.subject} in {self.asked.table.name}"
        return Entry(question=self.question, text=text, loss=self.loss, mechanisms="limits", safe=safe)

    def run(self, engine: Engine, bits: Bits) -> str:
        """Return private limits; all failures raise the same error."""
        limits: list[int] | None = None
        with suppress(Exception):  # raised below, so that nothing private is attached to it
            # One row of each unit counts, so no secret is needed to choose among its rows and groups.
            limits = [_least_limit(plan, engine.exact(plan, secret=bytes(16))[0], bits) for plan in self.plans]
        if limits is None:
            raise ExecutionError
        return json.dumps(limits)

    def settled(self, answer: str) -> "LimitsSearch":
        return replace(self, known=tuple(json.loads(answer)))

    def __str__(self) -> str:
        if self.known is None:
            return f"found privately first; until then, noise is shown for {LIKELY}"
        return f"{' and '.join(f'{each:,}' for each in self.known)}, found privately"


def _least_limit(plan: PricedPlan, exact: NDArray[Any], bits: Bits) -> int:
    """Return the least limit that units exceed no more often than noise suggests."""
    (part,) = plan.parts
    assert isinstance(part, PricedAggregate)
    noisy = part.release(exact, bits=bits)
    doubt = part.law.half_width(0.95)
    above = (int(sum(noisy[step + 1 :])) <= doubt * sqrt(len(LIMITS) - 1 - step) for step in range(len(LIMITS)))
    return next(limit for limit, only_noise in zip(LIMITS, above, strict=True) if only_noise)


PrivateSearch = BoundsSearch | LimitsSearch


def searches(
    read: Callable[[Mapping[str, DeclaredTable]], Query],
    tables: Mapping[str, DeclaredTable],
    price: Price,
    recall: Callable[[str], str | None],
) -> tuple[tuple[PrivateSearch, ...], list[Price]]:
    """Return the searches that a question needs, and the price left after each.

    Raises: UnsupportedQueryError if something else is wrong with the question.
    """
    autos = [(table, name) for table in tables.values() for name, declared in table.columns.items() if declared.auto]
    wanted = LimitsSearch if any(table.auto for table in tables.values()) else None
    if wanted is None and (not autos or _reads(read, tables)):
        return (), [price]
    every = {(table.name, name): WIDE for table, name in autos}
    question = read(bounded(tables, every)).question
    needed: list[PrivateSearch] = []
    prices = [price]
    due = 0

    def add(search: PrivateSearch) -> None:
        nonlocal due
        answer = recall(search.question)
        needed.append(search if answer is None else replace(search.settled(answer), due=False))
        prices.append(prices[-1].split(SHARE, 1 - SHARE)[1])
        due += answer is None

    limits = wanted and wanted.of(question, price.split(SHARE, 1 - SHARE)[0])
    if limits is not None:
        add(limits)
    for table, name in () if _reads(read, tables) else autos:
        others = {column: WIDE for column in every if column != (table.name, name)}
        if _reads(read, bounded(tables, others)):
            continue
        rows = table.total_rows or table.rows
        add(BoundsSearch(table, name, resolve("auto", prices[due], relation=table.relation, rows=rows)[0]))
    return tuple(needed), prices


def bounded(tables: Mapping[str, DeclaredTable], bounds: Mapping[tuple[str, str], Pair]) -> Mapping[str, DeclaredTable]:
    """The tables with these bounds, by table and column, as if they were declared."""

    def with_bounds(table: DeclaredTable) -> DeclaredTable:
        columns = dict(table.columns)
        for (where, name), (lower, upper) in bounds.items():
            if where == table.name:
                columns[name] = replace(columns[name], auto=False, lower=lower, upper=upper)
        return redeclared(table, columns)

    return changed(tables, with_bounds)


def settle(
    searches: tuple[PrivateSearch, ...], ledger: Ledger, engine: Engine, bits: Bits
) -> tuple[PrivateSearch, ...]:
    """Search for what is not known: each pays, then looks."""
    return tuple(
        one if one.known else one.settled(ledger.answer(one.entry(safe=bits.safe), partial(one.run, engine, bits))[0])
        for one in searches
    )


def _reads(read: Callable[[Mapping[str, DeclaredTable]], Query], tables: Mapping[str, DeclaredTable]) -> bool:
    try:
        read(tables)
    except UnsupportedQueryError:
        return False
    return True
