"""The planner: from a question to a priced plan, through a list of rules.

The list is visible.

Nothing here reads a private row. Rows of public tables are read where a question needs them, since they are part of it.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.ledger import Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real
from deniable.privacy import Budget
from deniable.query.auto import PrivateSearch, settle
from deniable.query.canonical import fingerprint, public_tables
from deniable.query.catalog import DeclaredTable
from deniable.query.effort import limited_time, unlimited_time
from deniable.query.engines.base import Engine
from deniable.query.expression import Expression, Value
from deniable.query.naming import named, stored_name
from deniable.query.plan import PricedPlan
from deniable.query.rules import cheapest, price
from deniable.query.rules.check import check
from deniable.query.rules.plan import Plan, Request
from deniable.query.rules.price import PRICING, Rule, applied
from deniable.query.rules.resolve import resolve
from deniable.query.rules.search import search
from deniable.query.rules.state import state
from deniable.query.rules.target import is_relative
from deniable.query.table_expression import Scan, TableExpression

STATING: tuple[Rule, ...] = (state, search)  # the tables and the price of this question
READING: tuple[Rule, ...] = (resolve, check)  # what it asks of them
RULES: tuple[Rule, ...] = (*STATING, *READING, *PRICING)  # PRICING is (bound, split, share, choose)
MAX_KEPT_PLANS = 100  # some kilobytes each

Facts = tuple[Mapping[str, DeclaredTable], Engine, Budget]


class PublicRows:
    """Rows of public tables that one question reads while it is planned."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._fingerprints: dict[str, str] = {}
        self.were_read = False

    def column(self, rows: TableExpression, expression: Expression) -> Sequence[Value]:
        """Return the values of an expression in public rows."""
        self.were_read = True
        return self._engine.columns(rows, [expression]).column(0).to_pylist()  # type: ignore[no-any-return]

    def fingerprints(self, source: TableExpression) -> dict[str, str]:
        """Return a hash of the rows of each public table that a question reads.

        Hashes are listed by the table's name.
        """
        scans = {scan.source.name: scan for scan in public_tables(source)}
        for name, scan in scans.items():
            if name not in self._fingerprints:
                self._fingerprints[name] = self._fingerprint(scan)
        return {name: self._fingerprints[name] for name in scans}

    def _fingerprint(self, scan: Scan) -> str:
        self.were_read = True
        declared = scan.source.columns
        usable = [name for name, kind in scan.source.schema.items() if kind is not None or name in declared]
        held = self._engine.columns(scan, [scan.column(name) for name in usable])
        return fingerprint(held.rename_columns(usable))


@dataclass(frozen=True)
class _Planned:
    """The plan of a question, those of earlier versions, and their public facts."""

    start: Plan
    plans: tuple[PricedPlan, ...]
    public: PublicRows

    @property
    def lasting(self) -> bool:
        """Whether declared facts alone decided: no public row, and no answer of a search."""
        return not (self.start.searches or self.public.were_read)


class Planner:
    """Plans questions over declared tables, for the budget of a ledger.

    It has an engine that can run them.

    Args:
        tables: the declared tables by name.
        engine: that will run the plans.
        ledger: that will pay for them, and has the answers that are paid already.
    """

    def __init__(self, tables: Mapping[str, DeclaredTable], engine: Engine, ledger: Ledger) -> None:
        self._tables = tables
        self._engine = engine
        self._ledger = ledger
        self._kept: dict[Hashable, tuple[Facts, _Planned]] = {}  # the newest last

    def plan(self, request: Request, *, safe: bool) -> PricedPlan:
        """Return the plan of a question; of equal ones, that whose answer is stored.

        Earlier versions made several plans of it.

        Args:
            request: the question as it is asked.
            safe: whether answers with noise of cryptographic strength are looked up in the ledger, or test answers.

        Raises: UnsupportedQueryError, InvalidParameterError, CatalogError or UnprovedError.
        """
        return self._answered(self._plans(request, safe).plans, safe)

    def searched_plan(self, request: Request, *, bits: Bits) -> PricedPlan:
        """Return the plan of a question after searches for its undeclared bounds.

        The searches are charged here.

        Args:
            request: the question as it is asked.
            bits: randomness of the searches.

        Raises: as `plan`; BudgetExceededError before anything is charged; ExecutionError if a search fails.
        """
        planned = self._plans(request, bits.safe)
        plan = self._answered(planned.plans, bits.safe)
        searches = planned.start.searches
        if not planned.start.due:
            return plan
        for each in searches:
            self._ledger.check_unit(f"a search for the {each.subject}", units=True)
        self._ledger.check_affordable(plan.total)
        with unlimited_time():
            known = settle(searches, self._ledger, self._engine, bits)
            return self._priced(replace(planned.start, searches=known), planned.public)

    def is_stored(self, plan: PricedPlan, asked: Price, weights: Mapping[str, Real] | None, *, safe: bool) -> bool:
        """Whether the question of a plan has an answer at another price."""
        try:
            other = price(plan.query, asked, self._ledger.budget, weights or {})
        except InvalidParameterError:
            return False
        return stored_name(named(replace(other, public=plan.public)), self._ledger, safe=safe) is not None

    def price_of(self, plan: PricedPlan, asked: Price) -> PricedPlan:
        """Return the plan of the same question at another price."""
        return price(plan.query, asked, self._ledger.budget)

    def public_column(self, rows: TableExpression, expression: Expression) -> Sequence[Value]:
        """Return the values of an expression in public rows."""
        return PublicRows(self._engine).column(rows, expression)

    def _answered(self, plans: Sequence[PricedPlan], safe: bool) -> PricedPlan:
        """Return the plan whose answer is in the ledger; the first, if there is none."""
        others = (plan for plan in plans[1:] if stored_name(plan, self._ledger, safe=safe) is not None)
        return next(others, plans[0])

    def _plans(self, request: Request, safe: bool) -> "_Planned":
        """Return the plans of a question, made anew or kept.

        They are kept where they were made from the same public facts.
        """
        facts = (self._tables, self._engine, self._ledger.budget)
        key = request.key
        kept_facts, planned = self._kept.get(key, (None, None))
        if planned is not None and kept_facts == facts and self._engine.unchanged():
            return planned
        planned = self._planned(request, safe)
        if key is not None and planned.lasting:
            if len(self._kept) >= MAX_KEPT_PLANS:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = facts, planned
        return planned

    @limited_time()
    def _planned(self, request: Request, safe: bool) -> "_Planned":
        """Return the plan of a question, and those that earlier versions made of it."""
        public = PublicRows(self._engine)
        plan = applied(STATING, self._start(request, public, safe))
        prices = [plan.cost] if plan.due else plan.prices  # an answer may have been paid before a search was free
        plans = [self._priced(replace(plan, price=each), public) for each in prices]
        if len(plans[0].parts) > 1 and not request.weights and not _seeks_price(plan):
            # Earlier versions split the price equally. To the engine it is the same question, unless bounds differ.
            equal = [replace(plan, price=each, weights=None) for each in prices]
            plans += [self._priced(each, public, run=bool(plan.searches)) for each in equal]
        return _Planned(plan, tuple(plans), public)

    def _start(self, request: Request, public: PublicRows, safe: bool) -> Plan:
        recall = partial(self._ledger.recall, safe=safe)
        return Plan(request=request, budget=self._ledger.budget, tables=self._tables, look=public.column, recall=recall)

    def _priced(self, plan: Plan, public: PublicRows, *, run: bool = True) -> PricedPlan:
        """Return the priced plan under the first bounds that allow an answer.

        The bounds are those of its searches.
        """
        *others, last = _with_suiting_bounds(plan)
        for each in others:
            with suppress(UnsupportedQueryError, InvalidParameterError):
                return self._finished(each, public, run=run)
        return self._finished(last, public, run=run)

    def _finished(self, plan: Plan, public: PublicRows, *, run: bool) -> PricedPlan:
        """Return the plan after all rules, with its name.

        The engine has seen that it can run it.
        """
        plan = applied(READING, plan)
        priced = _priced_at_least_cost(plan) if _seeks_price(plan) else applied(PRICING, plan).priced[0]
        if run:
            for each in (priced, *(searching for one in plan.searches for searching in one.plans)):
                self._engine.check(each)
        fingerprints = public.fingerprints(priced.query.question.source)
        return named(replace(priced, searches=plan.searches, public=fingerprints))


def _with_suiting_bounds(plan: Plan) -> Iterator[Plan]:
    """Yield the plan with each combination of bounds that its searches allow.

    The last are those that were paid.
    """
    combinations: Iterator[tuple[PrivateSearch, ...]] = product(*(each.suiting() for each in plan.searches))
    for searches in combinations:
        yield replace(plan, searches=searches)


def _seeks_price(plan: Plan) -> bool:
    """Whether the price follows from the accuracy that is wanted."""
    assert plan.request is not None
    return plan.request.error is not None and not is_relative(plan.request.error)


def _priced_at_least_cost(plan: Plan) -> PricedPlan:
    """Return the plan at the least price that gives the wanted accuracy.

    The rules of PRICING run at one price after another.
    """
    request, (query,) = plan.request, plan.queries
    assert request is not None
    assert request.error is not None
    return cheapest(query, request.error, confidence=request.confidence, delta=plan.cost.delta, budget=plan.budget)
