"""Counts of a hierarchy: declared units, one payment, exact tallies of the engine."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from deniable.errors import CatalogError, ExecutionError, InvalidParameterError, UnsupportedQueryError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real, nonnegative_rational, quotient_text, shown
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.query.aggregates.aggregate import BoundedAggregate
from deniable.query.answer import check_outcome, key_columns
from deniable.query.effort import limited_time
from deniable.query.plan import PricedPlan, Query, Question
from deniable.query.responder import Responder, Responding
from deniable.query.rules import price as priced
from deniable.query.sql import parse
from deniable.query.statistics import condition_of
from deniable.query.tables import KINDS_OF_KEYS
from deniable.synthesis.hierarchy import HierarchicalCounts
from deniable.synthesis.hierarchy.cells import CELLS, TOTAL, CountedCells
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.plan import HierarchyMeasurements, HierarchyPlan
from deniable.synthesis.hierarchy.stated import read_constraints

VERSION = 1  # of the way to measure: another one is another question
MANY_UNITS = 1_000  # beyond which a statement that lists them is slow
Columns = Sequence[str] | Mapping[str, str]
Shares = Mapping[str, Real | Mapping[str, Real]]


@dataclass(frozen=True)
class HierarchyQuestion:
    """A request for the counts of a hierarchy, checked before anything is paid.

    Args:
        question: counts rows in every cell of every leaf.
        finest: the plan by which the engine counts them; its own noise is not drawn.
        plan: what is measured, and what it costs.
        constraints: what the counts must meet.
    """

    question: Question
    finest: PricedPlan
    plan: HierarchyPlan
    constraints: Constraints

    @classmethod
    def of(
        cls,
        responder: Responder,
        levels: Sequence[str],
        columns: Columns,
        price: Price,
        *,
        queries: Sequence[str] | Mapping[str, Real] | None,
        shares: Shares | None,
        constraints: Mapping[str, object],
        where: str | None,
    ) -> "HierarchyQuestion":
        """Return the question of `Database.hierarchy`.

        Nothing is charged, and no private row is read.

        Args:
            responder: answers for the table.
            constraints: tables of public numbers, as `read_constraints` takes them.
        """
        query, geography, cells = _counted(responder, levels, columns, where)
        question = query.question
        finest = priced(replace(query, question=_in_a_table(question, geography)), Price(epsilon=Fraction(1)))
        responder.engine.check(finest)
        part = question.aggregates[0].bounded(question)
        assert isinstance(part, BoundedAggregate)
        plan = HierarchyPlan.of(
            geography,
            cells,
            weights=_weights(queries, shares, geography, cells),
            price=price,
            sensitivity_of=partial(_sensitivity, question, part),
            lattice=part.lattice,
            budget=responder.ledger.budget,
        )
        return cls(question, finest, plan, read_constraints(geography, cells, **constraints))

    def entry(self, safe: bool) -> Entry:
        """Return what the ledger keeps of the question."""
        plan, question = self.plan, self.question
        canonical = {
            "hierarchy": VERSION,
            "question": question.to_json(),
            "relation": str(question.table.relation),
            "levels": plan.geography.levels,
            "tables": plan.tables,
            "shares": [[quotient_text(share) for share in row] for row in plan.shares],
            "price": {name: quotient_text(value) for name, value in plan.price.words.items()},
        }
        name = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()
        queries = ", ".join(map(plan.cells.said, plan.tables))
        text = f"hierarchy of {question.table.name}: {' > '.join(plan.geography.levels)}; {queries}; {plan.price}"
        return Entry(question=name, text=text, loss=plan.loss, mechanisms="hierarchy", safe=safe)

    def answer(self, responder: Responder, *, fresh: bool) -> HierarchicalCounts:
        """Return counts from the stored tables, or charge the ledger and measure new ones.

        Args:
            responder: answers for the table.
            fresh: whether to charge again for new noise although an answer is stored.
        """
        entry, table = self.entry(responder.bits.safe), self.question.table
        notes = responder.notes(grouped=True, question=self.question)
        text, said = responder.paid_text(entry, lambda: self._measured(responder), table, notes, fresh=fresh)
        measured = HierarchyMeasurements.from_text(text, self.plan)
        return HierarchicalCounts(measured=measured, constraints=self.constraints, **said)

    def _measured(self, responder: Responder) -> str:
        """Return noisy tables of the private rows, as the ledger keeps them.

        Raises: ExecutionError, with one text for all failures, since they may depend on private rows.
        """
        text = ""
        with suppress(Exception):  # raised below, so that nothing private is attached to it
            (exact,) = responder.engine.exact(self.finest, secret=responder.secret())
            text = self.plan.measure(exact, responder.bits).to_text()
        if not text:
            raise ExecutionError
        return text


class HierarchyMethods(Responding):
    """Methods of a database that count rows in a hierarchy."""

    def hierarchy(
        self,
        levels: Sequence[str],
        columns: Columns = (),
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        queries: Sequence[str] | Mapping[str, Real] | None = None,
        shares: Shares | None = None,
        invariants: object = None,
        at_least: object = None,
        where: str | None = None,
        fresh: bool = False,
    ) -> HierarchicalCounts:
        """Count rows in every unit of a hierarchy, in whole numbers that add up.

        Measures tables of every unit of every level with exact noise, and makes whole numbers of all of them together.
        Rows of undeclared units, and rows with undeclared keys, do not count.

        Args:
            levels: columns with declared units, the coarsest first: ["state", "county"]. Keys that are declared for
                several levels together, {"state, county": dn.Keys([...])}, say which units there are; else all
                combinations. Above them stands "all".
            columns: that are counted in every unit, each with declared keys; or expressions by name, {"adult": "age >=
                18"}.
            epsilon, delta, rho: cost of all tables together.
            queries: tables that are measured in every unit, or their weights: "total", "cells" (all columns), or
                columns joined by *, "age * sex". The total and the cells by default, alike.
            shares: weights of the levels, {"all": 1, "state": 2}; 0 for levels that are not named. Equal by default.
                In place of a number, the weights of a level's own queries, {"state": {"total": 3, "cells": 1}}.
            invariants: public totals that the counts keep, {"state": [...], "count": [...]} or a frame, or a list of
                them. They are outside of the guarantee: see docs/guide/hierarchies.md.
            at_least: likewise, least totals; or, with all columns, least counts of cells.
            where: condition on rows that count, as in SQL: "age > 30".
            fresh: as for `sql`.

        Guarantee: the cost holds for one unit of privacy, of which at most rows * groups rows count, or total_rows.
        Raises: CatalogError for undeclared units or keys, InvalidParameterError for constraints that contradict each
            other, BudgetExceededError; all before anything is charged.
        """
        constraints = {"invariants": invariants, "at_least": at_least}
        price = Price.of(epsilon, delta, rho)
        asked = {"queries": queries, "shares": shares, "where": where, "constraints": constraints}
        return self._hierarchy(levels, columns, price, **asked).answer(self._responder, fresh=fresh)

    def explain_hierarchy(
        self,
        levels: Sequence[str],
        columns: Columns = (),
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        queries: Sequence[str] | Mapping[str, Real] | None = None,
        shares: Shares | None = None,
        where: str | None = None,
    ) -> HierarchyPlan:
        """Say what `hierarchy` would measure and cost, and how accurate it would be.

        Charges nothing, and reads no private row.

        Args:
            levels, columns, epsilon, delta, rho, queries, shares, where: as for `hierarchy`.

        Returns: the plan; printed, it shows noise and standard deviations of every level.
        Raises: as `hierarchy`, but BudgetExceededError.
        """
        price = Price.of(epsilon, delta, rho)
        asked = {"queries": queries, "shares": shares, "where": where, "constraints": {}}
        return self._hierarchy(levels, columns, price, **asked).plan

    @limited_time()
    def _hierarchy(self, levels: Sequence[str], columns: Columns, price: Price, **asked: Any) -> HierarchyQuestion:
        return HierarchyQuestion.of(self._responder, levels, columns, price, **asked)


def _counted(
    responder: Responder, levels: Sequence[str], columns: Columns, where: str | None
) -> tuple[Query, Geography, CountedCells]:
    """Return the question that counts rows in every cell of every leaf.

    Leaves and cells come with it, in its order.

    Raises: CatalogError if units or keys are not declared; UnsupportedQueryError for what is not a list of columns.
    """
    for word, given in (("levels", levels), ("columns", list(columns))):
        if isinstance(given, str) or not all(isinstance(name, str) for name in given):
            raise InvalidParameterError(f'{word} is a list of names, such as ["region", "town"], got {shown(given)}.')
    if isinstance(columns, str) or len({*levels, *columns}) < len(levels) + len(columns):
        raise InvalidParameterError(
            "levels and columns are lists of different names, such as ['age', 'sex'], got "
            f"{shown([*levels, *columns])}."
        )
    table = responder.table
    if table.auto:
        raise InvalidParameterError("rows='auto' is for SQL and frames; a hierarchy needs rows=... of the table.")
    condition_of(where, responder)
    names = list(columns)
    of_columns = [_quoted(name) for name in names] if not isinstance(columns, Mapping) else list(columns.values())
    keys = [*map(_quoted, levels), *of_columns]
    said = f"SELECT COUNT(*) AS n FROM {_quoted(table.name)}" + (f" WHERE (\n{where}\n)" if where else "")  # noqa: S608
    query = parse(said + " GROUP BY " + ", ".join(f"(\n{key}\n)" for key in keys), {table.name: table}, find=True)
    question, outcome = query.question, query.outcome
    if len(question.keys) != len(keys) or outcome.having is not None or outcome.order or outcome.limit is not None:
        raise UnsupportedQueryError("levels and columns of a hierarchy are one column or expression each.")
    geography, cells = _declared(question, levels, names)
    check_outcome(query)
    return query, geography, cells


def _declared(question: Question, levels: Sequence[str], names: Sequence[str]) -> tuple[Geography, CountedCells]:
    """Return the declared units and cells of a question, in the order of its groups."""
    for index in question.unknown:
        name = [*levels, *names][index]
        raise CatalogError(
            f"{name} has no declared keys. Declare them: columns={{{name!r}: dn.Keys([...])}}, or those of several "
            'levels together: columns={"region, town": dn.Keys([("north", "a"), ...])}.'
        )
    of_levels = [axis for axis in question.axes if set(axis.indices) & set(range(len(levels)))]
    if any(index >= len(levels) for axis in of_levels for index in axis.indices):
        raise CatalogError("the keys of a level are declared together with those of a counted column. Separate them.")
    leaves = int(np.prod([len(axis.values or ()) for axis in of_levels]))
    size = question.cells // leaves
    units = key_columns(question, np.arange(leaves) * size)
    paths = list(zip(*(units[f"key {index}"].tolist() for index in range(len(levels))), strict=True))
    cells = key_columns(question, np.arange(size))
    keys = [tuple(dict.fromkeys(cells[f"key {len(levels) + index}"].tolist())) for index in range(len(names))]
    if any(len(axis.indices) > 1 for axis in question.axes if axis not in of_levels):
        raise CatalogError("counted columns are declared one by one, not as pairs.")
    return Geography(tuple(levels), paths), CountedCells(tuple(names), tuple(keys))


def _in_a_table(question: Question, geography: Geography) -> Question:
    """Return the question with many units in a table of the engine, not its text.

    Found keys stand in such a table too.
    """
    levels, others = question.keys[: len(geography.levels)], question.keys[len(geography.levels) :]
    if len(geography.paths) < MANY_UNITS or any(key.facts.kind not in KINDS_OF_KEYS for key in levels):
        return question
    unlisted = tuple(replace(key, facts=replace(key.facts, keys=None)) for key in levels)
    return replace(question, keys=(*unlisted, *others), found_keys=tuple(geography.paths), joint=())


def _sensitivity(question: Question, part: BoundedAggregate, groups: int) -> Sensitivity:
    """Return the sensitivity of a table with `groups` cells in all units.

    Rows are bounded in the finest ones.
    """
    if groups == question.cells:
        return part.sensitivity
    bounded = question.table
    return of_spread_sum(
        lower=part.lower,
        upper=part.upper,
        total_rows=bounded.rows * bounded.groups if bounded.total_rows is None else bounded.total_rows,
        relation=bounded.relation,
        cells=groups,
        ids=bounded.unit.ids,
    )


def _weights(
    queries: Sequence[str] | Mapping[str, Real] | None, shares: Shares | None, geography: Geography, cells: CountedCells
) -> dict[str, dict[str, Real]]:
    """Return the weight of every query of every level; equal where none are given."""
    if queries is None:
        queries = [TOTAL, CELLS] if cells.size > 1 else [TOTAL]
    if isinstance(queries, str) or len(set(queries)) < len(queries):
        raise InvalidParameterError(
            f'queries is a list of different tables, such as ["total", "cells"]; got {queries!r}.'
        )
    of_queries = {
        query: nonnegative_rational("weight", weight)
        for query, weight in (queries.items() if isinstance(queries, Mapping) else dict.fromkeys(queries, 1).items())
    }
    whole = sum(of_queries.values()) or 1
    of_levels: Shares = dict.fromkeys(geography.all_levels, 1) if shares is None else shares
    weights: dict[str, dict[str, Real]] = {}
    for level, share in of_levels.items():
        if isinstance(share, Mapping):
            weights[level] = dict(share)
        else:
            of_level = nonnegative_rational("weight", share)
            weights[level] = {query: of_level * weight / whole for query, weight in of_queries.items()}
    return weights


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
