"""Answers that agree with each other: totals of one table.

They are estimated from the noisy totals of several questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import UnsupportedQueryError
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Floats
from deniable.privacy.sensitivity import of_spread_sum
from deniable.query.aggregates.aggregate import BoundedAggregate, PricedAggregate
from deniable.query.answer import divisors_of
from deniable.query.evaluate import evaluate, numbers
from deniable.query.expression import Column, Expression, bases_of
from deniable.query.plan import Outcome, OutputColumn, PricedPlan, Query, Question
from deniable.release.columns import Bounds, Estimate
from deniable.synthesis.residuals import Measurement, ResidualSpace, Table

MAX_GROUPS = 2**20  # of all consistent questions together, and of their finest groups
_DRAWS = 4096
_GROUPS_PER_BLOCK = 1024  # whose draws are held at a time


@dataclass(frozen=True)
class Consistent:
    """A consistent total of every group, in its unit.

    Args:
        values: of shape (groups,).
        centre: the same before anything was cut at 0.
        draws: of its error, which has one law in all groups, of shape (draws,).
        counted: whether the total is not below 0.
    """

    values: Floats
    centre: Floats
    draws: Floats
    counted: bool


@dataclass(frozen=True)
class QuestionFamily:
    """Questions about the same rows, and the finest groups that make up all theirs.

    They ask for totals.

    A unit is bounded in the finest groups: at most `groups` of them, `rows` rows in each. So in coarser ones it has at
    most rows * groups rows in all, wherever they lie, which is what their noise is for.
    """

    questions: tuple[Question, ...]
    finest: Question

    @classmethod
    def of(cls, queries: Sequence[Query]) -> "QuestionFamily":
        """Raises: UnsupportedQueryError if they are not about the totals of the same rows."""
        questions = tuple(query.question for query in queries)
        first = questions[0]
        keys = tuple(dict.fromkeys(key for each in questions for key in each.keys))
        aggregates = tuple(dict.fromkeys(aggregate for each in questions for aggregate in each.aggregates))
        alike = all(each.source == first.source and not each.joint for each in questions)
        if not alike or not all(aggregate.function in ("count", "sum") for aggregate in aggregates):
            raise UnsupportedQueryError(
                "consistent answers are counts, sums and averages of the same rows: the same FROM and WHERE, in "
                "different groups. Ask for the others in a workload of their own."
            )
        finest = replace(first, keys=keys, aggregates=aggregates)
        groups = sum(each.cells for each in questions)
        if max(finest.cells, groups) > MAX_GROUPS:
            raise UnsupportedQueryError(
                f"consistent answers have at most {MAX_GROUPS:,} groups, also the finest; these have "
                f"{max(finest.cells, groups):,}."
            )
        return cls(questions, finest)

    @property
    def bounded(self) -> list[list[BoundedAggregate]]:
        """The aggregates of each question, bounded in the finest groups."""
        bounded: list[list[BoundedAggregate]] = []
        table = self.finest.table
        max_rows = table.rows * table.groups if table.total_rows is None else table.total_rows
        for question in self.questions:
            parts = [aggregate.bounded(self.finest) for aggregate in question.aggregates]
            totals = [part for part in parts if isinstance(part, BoundedAggregate)]
            if set(question.keys) != set(self.finest.keys):
                sensitivity_of = partial(
                    of_spread_sum,
                    total_rows=max_rows,
                    relation=table.relation,
                    cells=question.cells,
                    ids=table.unit.ids,
                )
                totals = [
                    replace(part, sensitivity=sensitivity_of(lower=part.lower, upper=part.upper)) for part in totals
                ]
            bounded.append(totals)
        return bounded

    def plan(self, plans: Sequence[PricedPlan]) -> PricedPlan:
        """Return the plan by which the engine totals the finest groups.

        Its noise is not drawn.
        """
        parts = [part for plan in plans for part in plan.parts]
        own = tuple(next(part for part in parts if part.aggregate == each) for each in self.finest.aggregates)
        query = Query("", self.finest, Outcome((), None, (), None))
        return replace(plans[0], query=query, parts=own)

    def group_indices(self, question: Question) -> NDArray[np.int64]:
        """The group of a question in which each of the finest groups lies."""
        sizes = [len(values) for values in self.finest.key_values]
        every = np.unravel_index(np.arange(self.finest.cells), sizes) if sizes else ()
        where = dict(zip(self.finest.keys, every, strict=True))
        indices = np.zeros(self.finest.cells, dtype=np.int64)
        for key in question.keys:
            indices = indices * len(key.facts.keys or ()) + where[key]
        return indices

    def summed(self, exact: Sequence[NDArray[Any]]) -> list[list[NDArray[Any]]]:
        """The exact totals of each question from those of the finest groups. SECRET."""
        totals_of = []
        for question in self.questions:
            indices = self.group_indices(question)
            size = question.cells
            parts = []
            for aggregate in question.aggregates:
                total = np.zeros(size, dtype=object)
                np.add.at(total, indices, exact[self.finest.aggregates.index(aggregate)].astype(object))
                parts.append(total if any(abs(each) >= 2**62 for each in total) else total.astype(np.int64))
            totals_of.append(parts)
        return totals_of

    def reconciled(
        self, plans: Sequence[PricedPlan], noisy: Sequence[Sequence[NDArray[Any]]], *, nonnegative: bool
    ) -> list[list[Consistent]]:
        """Return totals that are those of one table.

        They are fitted by least squares over the finest groups, weighted by the variances.

        The errors are known sums of the independent noises, whatever the data, as long as nothing is cut at 0. Tables
        of groups are sums of residuals, on which least squares works one by one: `deniable.synthesis.residuals`.
        """
        bits = DeterministicBits(0)  # of no noise: it draws what errors could be, always the same
        consistent_of: list[dict[int, Consistent]] = [{} for _ in plans]
        for aggregate in self.finest.aggregates:
            held = [
                (at, index, part, plan.query.question)
                for at, plan in enumerate(plans)
                for index, part in enumerate(plan.parts)
                if isinstance(part, PricedAggregate) and part.aggregate == aggregate
            ]
            tables = [self._table(question) for *_, question in held]
            measurements = [
                Measurement(table, part.law, residual=False, step=float(part.lattice.grid))
                for (_, _, part, _), table in zip(held, tables, strict=True)
            ]
            space = ResidualSpace(tuple(len(values) for values in self.finest.key_values), tuple(measurements))
            arrays = [
                self._arranged(part.lattice.to_reals(noisy[at][index]), question) for at, index, part, question in held
            ]
            unbiased = space.estimates(arrays)
            counted = nonnegative and aggregate.function == "count"
            cut = space.nonnegative(tables, unbiased) if counted else unbiased
            for (at, index, _, question), table in zip(held, tables, strict=True):
                centre = self._flattened(space.table(table, unbiased), question)
                values = np.maximum(self._flattened(space.table(table, cut), question), 0.0) if counted else centre
                draws = space.spread_of_counts(table).draws(_DRAWS, bits=bits)[0]
                consistent_of[at][index] = Consistent(values, centre, draws, counted)
        return [[each[index] for index in range(len(each))] for each in consistent_of]

    def _table(self, question: Question) -> Table:
        """Return the keys of a question as ascending indices among the finest keys."""
        return tuple(sorted(self.finest.keys.index(key) for key in question.keys))

    def _axes(self, question: Question) -> list[int]:
        """Return, for each key of a question, its axis in the table of its groups."""
        table = self._table(question)
        return [table.index(self.finest.keys.index(key)) for key in question.keys]

    def _arranged(self, values: Floats, question: Question) -> Floats:
        """Return the numbers of a question's groups with an axis for each key.

        The axes are in the order of the finest keys.
        """
        shaped = np.reshape(values, [len(keys) for keys in question.key_values])
        return shaped.transpose(np.argsort(self._axes(question)))

    def _flattened(self, table: Floats, question: Question) -> Floats:
        """Return what `_arranged` was given."""
        return table.transpose(self._axes(question)).ravel()


def measured(totals: Sequence[Consistent], output: OutputColumn) -> Estimate:
    """A column computed from consistent totals."""
    expression = output.expression
    shown = {f"base {index}": each.values for index, each in enumerate(totals)}
    values = numbers(evaluate(expression, shown)) + np.zeros(len(totals[0].values))
    counted = isinstance(expression, Column) and totals[int(expression.name[5:])].counted
    low = 0.0 if counted else float("-inf") if expression.facts.lower is None else float(expression.facts.lower)
    high = float("inf") if expression.facts.upper is None else float(expression.facts.upper)
    values = np.clip(values, low, high)

    def ends(level: float) -> Bounds:
        """Return quantiles of what the truth could be.

        They lie a little further out than the number of draws asks for.

        Above a level that needs more draws nothing is known.
        """
        tail = _DRAWS * (1 - level) / 2
        outside = max(0, int(tail - tail**0.5))
        if isinstance(expression, Column) and tail >= 1:
            total = totals[int(expression.name[5:])]
            drawn = np.sort(total.draws)
            lower, upper = total.centre - drawn[_DRAWS - 1 - outside], total.centre - drawn[outside]
            return Bounds(np.clip(lower, low, high), np.clip(upper, low, high))
        parts = [
            _ends_of_block(totals, expression, slice(at, at + _GROUPS_PER_BLOCK), outside if tail >= 1 else None)
            for at in range(0, len(values), _GROUPS_PER_BLOCK)
        ]
        lower, upper = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Bounds(np.clip(lower, low, high), np.clip(upper, low, high))

    return Estimate(name=output.name, estimates=values, ends=ends, post_processing="made consistent")


def _ends_of_block(
    totals: Sequence[Consistent], expression: Expression, groups: slice, outside: int | None
) -> tuple[Floats, Floats]:
    """Return the ends of intervals for some groups, from what the truth could be.

    Args:
        outside: number of draws beyond each end; None where there are too few draws.
    """
    names = bases_of(expression)
    centre = {name: totals[int(name[5:])].centre[groups, None] for name in names}
    drawn = {name: centre[name] - totals[int(name[5:])].draws for name in names}
    count = len(next(iter(centre.values())))
    with np.errstate(all="ignore"):
        could = numbers(evaluate(expression, drawn)) + np.zeros((count, _DRAWS))
    undefined = ~np.isfinite(could) | (outside is None)
    for divisor in divisors_of(expression):
        undefined |= ~(numbers(evaluate(divisor, drawn)) * numbers(evaluate(divisor, centre)) > 0)
    first = outside or 0
    lower = np.partition(np.where(undefined, -np.inf, could), first, axis=1)[:, first].copy()
    last = _DRAWS - 1 - first
    upper = np.partition(np.where(undefined, np.inf, could), last, axis=1)[:, last].copy()
    return lower, upper
