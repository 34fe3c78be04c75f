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
from deniable.noise.simulation import uniforms
from deniable.numbers.arrays import Floats
from deniable.privacy.sensitivity import of_spread_sum
from deniable.query.aggregates.aggregate import BoundedAggregate, PricedAggregate
from deniable.query.answer import divisors_of
from deniable.query.evaluate import evaluate, numbers
from deniable.query.expression import Column, bases_of
from deniable.query.plan import Outcome, OutputColumn, PricedPlan, Query, Question
from deniable.release.columns import Bounds, Estimate

MOST_GROUPS = 1_000  # of all consistent questions together, and of their finest groups
_DRAWS = 4096


@dataclass(frozen=True)
class Consistent:
    """A consistent total of every group, in its unit.

    Args:
        centre: the same before anything was cut at 0; draws: of its error, of shape (groups, draws).
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
        if max(finest.cells, groups) > MOST_GROUPS:
            raise UnsupportedQueryError(
                f"consistent answers have at most {MOST_GROUPS:,} groups, also the finest; these have "
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

        By least squares over the finest groups, weighted by the variances.

        The errors are known sums of the independent noises, whatever the data, as long as nothing is cut at 0.
        """
        from scipy.optimize import nnls

        bits = DeterministicBits(0)  # of no noise: it draws what errors could be, always the same
        consistent_of: list[dict[int, Consistent]] = [{} for _ in plans]
        for aggregate in self.finest.aggregates:
            held = [
                (at, index, part, plan.query.question)
                for at, plan in enumerate(plans)
                for index, part in enumerate(plan.parts)
                if isinstance(part, PricedAggregate) and part.aggregate == aggregate
            ]
            sizes = [question.cells for *_, question in held]
            made = np.concatenate([np.eye(question.cells)[:, self.group_indices(question)] for *_, question in held])
            spread = np.repeat([part.law.standard_deviation() for _, _, part, _ in held], sizes)
            known = np.concatenate([part.lattice.to_reals(noisy[at][index]) for at, index, part, _ in held])
            uniform = np.split(uniforms((len(made), _DRAWS), bits=bits), np.cumsum(sizes)[:-1])
            drawn = np.concatenate([part.law.quantile(u) for u, (_, _, part, _) in zip(uniform, held, strict=True)])
            scaled = made / spread[:, None]
            left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
            basis = left[:, singular > singular[0] * 1e-9]
            centre = values = spread * (basis @ (basis.T @ (known / spread)))
            errors = spread[:, None] * (basis @ (basis.T @ (drawn / spread[:, None])))
            counted = nonnegative and aggregate.function == "count"
            if counted:
                values = made @ nnls(scaled, known / spread)[0]
            parts = zip(*(np.split(each, np.cumsum(sizes)[:-1]) for each in (values, centre, errors)), strict=True)
            for (at, index, *_), (value, middle, error) in zip(held, parts, strict=True):
                consistent_of[at][index] = Consistent(value, middle, error, counted)
        return [[each[index] for index in range(len(each))] for each in consistent_of]


def measured(totals: Sequence[Consistent], output: OutputColumn) -> Estimate:
    """A column computed from consistent totals."""
    expression = output.expression
    shown = {f"base {index}": each.values for index, each in enumerate(totals)}
    centre = {f"base {index}": each.centre for index, each in enumerate(totals)}
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
        names = bases_of(expression)
        drawn = {name: centre[name][:, None] - totals[int(name[5:])].draws for name in names}
        with np.errstate(all="ignore"):
            could = numbers(evaluate(expression, drawn)) + np.zeros((len(values), _DRAWS))
        tail = _DRAWS * (1 - level) / 2
        undefined = ~np.isfinite(could) | (tail < 1)
        for divisor in divisors_of(expression):
            undefined |= ~(numbers(evaluate(divisor, drawn)) * numbers(evaluate(divisor, centre))[:, None] > 0)
        outside = max(0, int(tail - tail**0.5))
        lower = np.sort(np.where(undefined, -np.inf, could), axis=1)[:, outside]
        upper = np.sort(np.where(undefined, np.inf, could), axis=1)[:, _DRAWS - 1 - outside]
        return Bounds(np.clip(lower, low, high), np.clip(upper, low, high))

    return Estimate(name=output.name, estimates=values, ends=ends, post_processing="made consistent")
