"""From a question to a priced plan, and from a paid plan to what the ledger keeps."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.ledger import Entry
from deniable.ledger.entry import Json
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real
from deniable.query.answer import answer_text, check_outcome
from deniable.query.auto import Found, searches, settle
from deniable.query.canonical import check_parts, fingerprint, public_tables
from deniable.query.catalog import Table
from deniable.query.declared import stated
from deniable.query.effort import limited_time, unlimited_time
from deniable.query.engines.base import Progress
from deniable.query.expression import Expression, Value
from deniable.query.frames import Ask
from deniable.query.naming import named
from deniable.query.options import stricter, without_options
from deniable.query.plan import Name, PricedPlan, Query, Question
from deniable.query.rules import cheapest, price
from deniable.query.rules.target import Target, first_step, is_relative
from deniable.query.sql import parse
from deniable.query.statistics import Statistics
from deniable.query.table_expression import Scan, TableExpression

MAX_PLANS = 100  # that are kept
PLAIN = (str, int, float, Fraction, Decimal)
BEYOND = "Rows beyond that do not count: counts and sums can be far below those of all rows."
FRACTIONS = "The rows of one {noun} with more share the limit, each as a part of one, so counts may be fractions."


class Planning(Statistics):
    """Plans, names and pays for questions in SQL and frames."""

    tables: Mapping[str, Table]
    _plans: dict[Hashable, tuple[tuple[Any, ...], Sequence[PricedPlan]]]  # made last, with what they follow from

    def _plan(self, text: str | Ask, *price: Real | None, **how: Any) -> PricedPlan:
        """The plan of a question: made anew, or as it was made before, where it follows from the same public facts."""
        key, facts = self._key(text, price, how), (self.tables, self._engine, self.ledger.budget)
        known, plans = self._plans.get(key, ((), ()))
        if not plans or known != facts or not self._engine.unchanged():
            plans, kept = self._planned(text, *price, **how)
            if key is not None and kept:
                if len(self._plans) >= MAX_PLANS:
                    self._plans.pop(next(iter(self._plans)), None)
                self._plans[key] = facts, plans
        return self._stored(plans)

    def _key(self, text: str | Ask, price: tuple[Real | None, ...], how: Mapping[str, Any]) -> Hashable:
        """What a plan follows from beside the tables, where that is text and numbers alone; else None."""
        given = {**how, **how.get("limits", {})}
        said = {word: value for word, value in given.items() if word not in ("pay", "limits") and value is not None}
        flat = (text, *price, *said.values())
        if not all(value is None or type(value) in PLAIN for value in flat):
            return None
        return (*((type(value), value) for value in flat), *said)

    def _stored(self, plans: Sequence[PricedPlan]) -> PricedPlan:
        """Return the plan whose answer is in the ledger; the first, if there is none."""
        return next((each for each in plans[1:] if self._named(each)[1]), plans[0])

    @limited_time()
    def _planned(
        self,
        text: str | Ask,
        epsilon: Real | None,
        delta: Real | None,
        rho: Real | None,
        *,
        error: Target | None = None,
        weights: Mapping[str, Real] | None = None,
        confidence: float = 0.95,
        dialect: str = "duckdb",
        columns: Mapping[str, Any] | None = None,
        limits: Mapping[str, int | str | None] = MappingProxyType({}),
        pay: bool = False,
        many: bool = False,
    ) -> tuple[Sequence[PricedPlan], bool]:
        """The plan, then others of the same question at the same price; and whether no row of a public table was read.

        Of each the engine has seen that it can run it.
        """
        looked = False

        def look(rows: TableExpression, expression: Expression) -> Sequence[Value]:
            nonlocal looked
            looked = True
            return self._look(rows, expression)

        plain, options = (text, {}) if isinstance(text, Ask) else without_options(text)
        if options:
            if (epsilon, delta, rho, error) != (None, None, None, None):
                raise InvalidParameterError("the price stands in OPTIONS already: leave epsilon=... out.")
            epsilon, delta = options["epsilon"], options.get("delta")
        tables = stricter(stated(self.tables, columns), options, limits)
        relative = is_relative(error)
        if error is not None and not relative and (epsilon is not None or rho is not None):
            percent = f" A share of the answer is written error='{error}%'." if str(error).isdecimal() else ""
            raise InvalidParameterError(
                f"say what the answer may cost, or how far it may be off (error=), not both.{percent}"
            )
        if relative and epsilon is None and rho is None:
            raise InvalidParameterError(f"an error of {error!r} needs a price, the most that it may cost: epsilon=0.5.")
        asked = Price.of(1 if error is not None and not relative and rho is None else epsilon, delta, rho)
        asked = first_step(asked) if relative else asked
        find = bool(asked.delta)

        def read(tables: Mapping[str, Table]) -> Query:
            if isinstance(plain, Ask):
                query = plain.query(tables, find=find)
            else:
                query = parse(plain, tables, look, dialect, find=find)
            check_parts(query.question)
            return query

        def priced(found: tuple[Found, ...], asked: Price, weights: Mapping[str, Real] | None) -> PricedPlan:
            """The plan; with bounds that were found, the first that it can have."""
            ways: list[Any] = [*product(*(each.suiting() for each in found))]
            for way in ways[:-1]:
                with suppress(UnsupportedQueryError, InvalidParameterError):
                    return made(way, asked, weights)
            return made(ways[-1], asked, weights)

        public: dict[str, str] = {}

        checked = True

        def made(found: tuple[Found, ...], asked: Price, weights: Mapping[str, Real] | None) -> PricedPlan:
            query = read(reduce(lambda held, each: each.applied(held), found, tables))
            check_outcome(query, many=many)
            if error is None or relative:
                plan = price(query, asked, self.ledger.budget, weights)
            else:
                plan = cheapest(query, error, confidence=confidence, delta=asked.delta, budget=self.ledger.budget)
            for each in (plan, *(searched for one in found for searched in one.plans)) if checked else ():
                self._engine.check(each)
            scans = {scan.source.name: scan for scan in public_tables(query.question.source)}
            public.update({name: self._fingerprint(scan) for name, scan in scans.items() if name not in public})
            return named(replace(plan, searches=found, public={name: public[name] for name in scans}))

        found, prices = searches(read, tables, asked, self._recall)
        if found and error is not None:
            raise InvalidParameterError(
                "error= needs declared bounds and rows: how far an answer is off depends on them."
            )
        due = sum(each.due for each in found)
        lefts, way = prices if not due else [prices[due]], weights or {}
        plans = [priced(found, left, way) for left in lefts]
        if len(plans[0].parts) > 1 and not weights and (error is None or relative):
            checked = bool(found)  # else it is the same question for the engine
            plans += [priced(found, left, None) for left in lefts]  # equal shares, as earlier versions priced
        if pay and due:
            for each in found:
                self.ledger.check_unit(f"a search for the {each.subject}", units=True)
            self.ledger.check_affordable(self._stored(plans).total)
            with unlimited_time():
                plans = [priced(settle(found, self.ledger, self._engine, self._bits), prices[due], way)]
        return plans, not (found or looked or public)

    def _look(self, rows: TableExpression, expression: Expression) -> Sequence[Value]:
        """Return a column of public rows."""
        return self._engine.columns(rows, [expression]).column(0).to_pylist()  # type: ignore[no-any-return]

    def _fingerprint(self, scan: Scan) -> str:
        """A hash of the rows of a public table, which are part of the question."""
        usable = [name for name, kind in scan.source.schema.items() if kind is not None or name in scan.source.columns]
        held = self._engine.columns(scan, [scan.column(name) for name in usable])
        return fingerprint(held.rename_columns(usable))

    def _named(self, plan: PricedPlan) -> tuple[Name, bool]:
        """The name of a question in this ledger, and whether its answer is there."""
        stored = next((name for name in plan.names if self._recall(name.key) is not None), None)
        return stored or plan.names[0], stored is not None

    def _is_stored(self, plan: PricedPlan, asked: Price, weights: Mapping[str, Real] | None) -> bool:
        """Whether the question of a plan was answered at another price."""
        try:
            other = price(plan.query, asked, self.ledger.budget, weights or {})
        except InvalidParameterError:
            return False
        return self._named(named(replace(other, public=plan.public)))[1]

    def _recall(self, question: str) -> str | None:
        return self.ledger.recall(question, safe=self._bits.safe)

    def _entry(self, plan: PricedPlan, name: Name) -> Entry:
        searched = () if plan.key_search is None else (plan.key_search,)
        described: Json = [part.entry() for part in (*searched, *plan.parts)]
        return Entry(
            question=name.key, text=plan.query.text, loss=plan.loss, mechanisms=described, safe=self._bits.safe
        )

    def _exact(self, plan: PricedPlan, name: Name, progress: Progress | None) -> str:
        """Look and add noise: after the payment."""
        secret = self.ledger.secret("groups of a unit")
        if plan.key_search is not None:
            plan = plan.on(plan.key_search.release(*self._engine.keys(plan, secret=secret), bits=self._bits))
        question = plan.query.question
        noisy: list[NDArray[Any]] = [np.zeros(0, dtype=np.int64) for _ in plan.parts]
        if plan.parts and question.cells:
            parts = zip(plan.parts, self._engine.exact(plan, secret=secret, progress=progress), strict=True)
            noisy = [part.release(value, bits=self._bits) for part, value in parts]
        return answer_text(noisy, question, name)

    def _notes(self, *, grouped: bool, question: Question | None = None) -> tuple[str, ...]:
        """What a reader of any answer must know: how rows were bounded, and how long the budget lasts.

        question: in SQL, whose rows of one unit share the limit; a statistic draws among them.
        """
        table = self._table if question is None else question.table
        bounding = table.bounding(grouped=grouped)
        notes = [] if bounding is None else [f"{bounding[0].upper()}{bounding[1:]}."]
        unit = self._table.unit
        asked = () if question is None else question.aggregates
        if bounding is not None and (question is None or any(each.function != "units" for each in asked)):
            notes.append(BEYOND)
        if question is not None and any(each.in_fractions(question) for each in asked):
            notes.append(FRACTIONS.format(noun=unit.noun))
        if unit.period is not None:
            notes.append(f"Protected is {unit} and no more: over k values of {unit.period}, k times the cost adds up.")
        if not self.ledger.is_lasting:
            notes.append(
                "The budget is kept in memory and ends with this process; "
                f'ledger="{self._table.name}.ledger" keeps it for good.'
            )
        return tuple(notes)
