"""Tables and synthetic rows: a declared domain, one payment, levels of rows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from deniable.errors import ExecutionError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits, DeterministicBits
from deniable.numbers.arrays import MachineIntegers
from deniable.numbers.rationals import Real, quotient_text
from deniable.privacy import PrivacyLoss
from deniable.query.catalog import DeclaredTable
from deniable.query.chosen import scope_of
from deniable.query.domains import domain_of, max_rows_of, named_tables
from deniable.query.expression import Expression
from deniable.query.responder import Responder, Responding
from deniable.query.statistics import condition_of
from deniable.query.table_expression import Scan, filtered
from deniable.rows import silence
from deniable.synthesis import Marginals, Synthesis
from deniable.synthesis.domain import DeclaredDomain
from deniable.synthesis.measurements import Measurements, Measuring
from deniable.synthesis.plan import MarginalPlan
from deniable.synthesis.ranges import RangeCounts, RangePlan

VERSION = 2  # of the way to measure: another one is another question
BINS = 100


class LevelPlan(Protocol):
    """Plan of noisy tables of rows with a declared domain."""

    @property
    def domain(self) -> DeclaredDomain: ...

    @property
    def price(self) -> Price: ...

    @property
    def privacy_loss(self) -> PrivacyLoss: ...

    def measured_text(self, levels: MachineIntegers, units: object, bits: Bits) -> str:
        """Return noisy tables of rows, as a ledger keeps them.

        The rows are given as levels, of shape (attributes, rows).
        """


@dataclass(frozen=True)
class SyntheticQuestion:
    """A request for noisy tables of rows, checked before anything is paid.

    The rows have a declared domain.

    Args:
        table: whose rows are read.
        where: which of them count; None for all.
        plan: what is measured, and what it costs.
        title: what is asked for, in words.
        details: what else tells the question from others, as data.
        left_out: columns without a declared domain.

    Raises: InvalidParameterError for a price that buys no noise.
    """

    table: DeclaredTable
    where: Expression | None
    plan: LevelPlan
    title: str
    details: Mapping[str, object] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        with silence():
            nobody = np.zeros((len(self.plan.domain), 0), dtype=np.int64)
            self.plan.measured_text(nobody, None if self.table.unit.column is None else nobody[0], DeterministicBits(0))

    def entry(self, safe: bool) -> Entry:
        """Return what the ledger keeps of the question."""
        plan = self.plan
        canonical = {
            self.title: VERSION,
            **self.details,
            "domain": [attribute.to_json() for attribute in plan.domain.attributes],
            "price": {name: quotient_text(value) for name, value in plan.price.words.items()},
            **scope_of(self.table, self.where),
        }
        name = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()
        text = f"{self.title} of {self.table.name}: {', '.join(plan.domain.names)}; {plan.price}"
        return Entry(question=name, text=text, loss=plan.privacy_loss, mechanisms=self.title, safe=safe)

    def answer(self, responder: Responder, *, fresh: bool) -> tuple[str, dict[str, Any]]:
        """Return the stored tables as text, or charge the ledger and measure new ones.

        Args:
            responder: answers for the table.
            fresh: whether to charge again for new noise although an answer is stored.

        Returns: the text, and what every result says beside it, by name, as `Responder.paid_text` has it.
        """
        entry = self.entry(responder.bits.safe)
        notes = responder.notes(grouped=True)
        text, said = responder.paid_text(entry, lambda: self._measured(responder), self.table, notes, fresh=fresh)
        if self.left_out:
            said["notes"] += (f"Left out, as they have no declared domain: {', '.join(self.left_out)}.",)
        return text, said

    def _measured(self, responder: Responder) -> str:
        """Return noisy tables of the private rows, as the ledger keeps them.

        Raises: ExecutionError, with one text for all failures, since they may depend on private rows.
        """
        text = ""
        try:
            rows = filtered(Scan(self.table), self.where)
            domain = self.plan.domain
            held = responder.engine.columns(rows, [self.table.column(name) for name in domain.names])
            with silence():
                units = None if self.table.unit.column is None else held.column("unit")
                levels = domain.encode([held.column(index) for index in range(len(domain))])
                text = self.plan.measured_text(levels, units, responder.bits)
        except Exception:  # noqa: S110 - raised below, so that nothing private is attached to it
            pass
        if not text:
            raise ExecutionError
        return text


class TableMethods(Responding):
    """Methods of a database that measure tables of its rows and make synthetic rows."""

    def synthesize(
        self,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        target: str | None = None,
        where: str | None = None,
        bins: int = BINS,
        fresh: bool = False,
    ) -> Synthesis:
        """Measure noisy tables of columns and of all pairs; return rows that fit them.

        Args:
            columns: names, each with a declared domain (else CatalogError); by default all that have one.
            epsilon, delta, rho: cost of all tables together.
            target: name of a column that models shall predict from the others; pairs with it are measured better.
            where: condition on rows that count, as in SQL: "age > 30".
            bins: of numbers, days and moments, at most.
            fresh: whether to charge again for new noise although an answer is stored.

        Guarantee: the cost holds for one unit, of which at most rows * groups rows count, drawn at random from more.
        """
        plan, question = self._synthesis(columns, Price.of(epsilon, delta, rho), target=target, where=where, bins=bins)
        text, said = question.answer(self._responder, fresh=fresh)
        return Synthesis(measured=Measurements.from_text(text, plan), **said)

    def explain_synthesis(
        self,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        target: str | None = None,
        where: str | None = None,
        bins: int = BINS,
    ) -> Measuring:
        """Say what `synthesize` would measure, how exactly, and what it would cost.

        Charges nothing, and reads no private row.

        Args:
            columns, target, where, bins: as `synthesize` takes them.
            epsilon, delta, rho: cost of all tables together.

        Raises: as `synthesize`, but for the budget.
        """
        return self._synthesis(columns, Price.of(epsilon, delta, rho), target=target, where=where, bins=bins)[0]

    def _synthesis(
        self, columns: Sequence[str] | None, price: Price, *, target: str | None, where: str | None, bins: int
    ) -> tuple[Measuring, SyntheticQuestion]:
        """Return the plan of the tables, and the question that asks for them."""
        table, condition, facts = self._checked("synthetic rows", where, price)
        domain, left_out = domain_of(table, columns, bins)
        plan = Measuring(domain=domain, target=target, **facts)
        details = {} if target is None else {"target": target}
        return plan, SyntheticQuestion(table, condition, plan, "synthetic rows", details, left_out)

    def _checked(
        self, title: str, where: str | None, price: Price
    ) -> tuple[DeclaredTable, Expression | None, dict[str, Any]]:
        """Return the table, the condition on its rows, and the facts of every plan.

        Raises: UnprovedError where a unit owns several values of its column; InvalidParameterError.
        """
        responder = self._responder
        table = responder.table
        responder.ledger.check_unit(f"{title} of {table.name}", units=True)
        facts = {"price": price, "relation": table.relation, "rows": max_rows_of(table)}
        return table, condition_of(where, responder), facts

    def marginals(
        self,
        tables: int | Sequence[str | Sequence[str]],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        columns: Sequence[str] | None = None,
        weights: Sequence[Real] | None = None,
        objective: str = "tables",
        where: str | None = None,
        bins: int = BINS,
        fresh: bool = False,
    ) -> Marginals:
        """Measure tables of counts that agree, with the least error for their price.

        Args:
            tables: lists of names of columns with a declared domain, [["ward"], ["ward", "age"]]; or a number k, for
                all tables of at most k columns.
            epsilon, delta, rho: cost of all tables together.
            columns: of which columns, where `tables` is a number; by default all that have a domain.
            weights: of the squared errors of the tables, equal by default.
            objective: what is least: the mean squared error of all "counts", its mean over "tables", or the "largest"
                variance.
            where: condition on rows that count, as in SQL: "age > 30".
            bins: of numbers, days and moments, at most.
            fresh: whether to charge again for new noise although an answer is stored.

        Guarantee: the cost holds for one unit, of which at most rows * groups rows count, drawn at random from more.
        """
        price = Price.of(epsilon, delta, rho)
        shared: dict[str, Any] = {"columns": columns, "weights": weights, "objective": objective}
        plan, question = self._marginals(tables, price, where=where, bins=bins, **shared)
        text, said = question.answer(self._responder, fresh=fresh)
        return Marginals(plan=plan, arrays=plan.from_text(text), **said)

    def explain_marginals(
        self,
        tables: int | Sequence[str | Sequence[str]],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        columns: Sequence[str] | None = None,
        weights: Sequence[Real] | None = None,
        objective: str = "tables",
        where: str | None = None,
        bins: int = BINS,
    ) -> MarginalPlan:
        """Say how exact each table of `marginals` would be, and what they would cost.

        Charges nothing, and reads no private row.

        Args:
            tables, columns, weights, objective, where, bins: as `marginals` takes them.
            epsilon, delta, rho: cost of all tables together.

        Raises: as `marginals`, but for the budget.
        """
        price = Price.of(epsilon, delta, rho)
        shared: dict[str, Any] = {"columns": columns, "weights": weights, "objective": objective}
        return self._marginals(tables, price, where=where, bins=bins, **shared)[0]

    def ranges(
        self,
        column: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        workload: str = "ranges",
        where: str | None = None,
        bins: int = BINS,
        fresh: bool = False,
    ) -> RangeCounts:
        """Measure one column so that counts of all its ranges are as exact as can be.

        Args:
            column: name, with bounds or keys.
            epsilon, delta, rho: cost of all ranges together.
            workload: the sums that matter: all "ranges", or "prefixes".
            where: condition on rows that count, as in SQL: "age > 30".
            bins: of numbers, days and moments, at most.
            fresh: whether to charge again for new noise although an answer is stored.

        Guarantee: the cost holds for one unit, of which at most rows * groups rows count, drawn at random from more.
        """
        plan, question = self._ranges(column, Price.of(epsilon, delta, rho), workload=workload, where=where, bins=bins)
        text, said = question.answer(self._responder, fresh=fresh)
        return RangeCounts(plan=plan, counts=plan.counts_of(text), **said)

    def explain_ranges(
        self,
        column: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        workload: str = "ranges",
        where: str | None = None,
        bins: int = BINS,
    ) -> RangePlan:
        """Say how exact `ranges` would be, and what they would cost.

        Charges nothing, and reads no private row.

        Args:
            column, workload, where, bins: as `ranges` takes them.
            epsilon, delta, rho: cost of all ranges together.

        Raises: as `ranges`, but for the budget.
        """
        return self._ranges(column, Price.of(epsilon, delta, rho), workload=workload, where=where, bins=bins)[0]

    def _ranges(
        self, column: str, price: Price, *, workload: str, where: str | None, bins: int
    ) -> tuple[RangePlan, SyntheticQuestion]:
        """Return the plan of counts for ranges, and the question that asks for them."""
        table, condition, facts = self._checked("ranges", where, price)
        domain, _ = domain_of(table, [column], bins)
        plan = RangePlan(domain=domain, workload=workload, **facts)
        return plan, SyntheticQuestion(table, condition, plan, "ranges", {"workload": workload})

    def _marginals(
        self,
        tables: int | Sequence[str | Sequence[str]],
        price: Price,
        *,
        columns: Sequence[str] | None,
        weights: Sequence[Real] | None,
        objective: str,
        where: str | None,
        bins: int,
    ) -> tuple[MarginalPlan, SyntheticQuestion]:
        """Return the plan of noisy tables, and the question that asks for them."""
        table, condition, facts = self._checked("noisy tables", where, price)
        names, domain, left_out = named_tables(table, tables, columns, bins)
        plan = MarginalPlan.of(domain, names, weights, objective=objective, **facts)
        details = {
            "tables": [list(each) for each in plan.tables],
            "weights": [quotient_text(weight) for weight in plan.weights],
            "objective": objective,
        }
        return plan, SyntheticQuestion(table, condition, plan, "noisy tables", details, left_out)
