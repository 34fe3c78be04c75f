"""Workloads: many questions that are priced together, paid as one, and made consistent with each other on request."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.noise.simulation import uniforms
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real
from deniable.privacy.sensitivity import of_spread_sum
from deniable.query.aggregates.aggregate import BoundedAggregate, PricedAggregate
from deniable.query.answer import answer_text, build_release, divisors_of, noisy_of
from deniable.query.effort import limited_time
from deniable.query.evaluate import evaluate, numbers
from deniable.query.explanation import Explanation
from deniable.query.expression import Column, bases_of
from deniable.query.frames import Ask
from deniable.query.naming import named
from deniable.query.plan import Name, Outcome, Output, PricedPlan, Query, Question
from deniable.query.rules import together
from deniable.query.written import Written
from deniable.release import Estimate, Release
from deniable.release.columns import Bounds
from deniable.release.display import price as price_text

MOST_GROUPS = 1_000  # of all consistent questions together, and of their finest groups
_DRAWS = 4096
NOTE = (
    "The answers of the workload are consistent: each is computed from one estimate of the finest groups, in which "
    "units were bounded once."
)


class Workloads(Written):
    """What a database answers together."""

    def workload(
        self,
        questions: Sequence[str | Ask],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        consistent: bool = False,
        nonnegative: bool = False,
        fresh: bool = False,
        dialect: str = "duckdb",
        columns: Mapping[str, Any] | None = None,
    ) -> list[Release]:
        """Answer several questions that are paid together, as one entry of the ledger.

        Args:
            questions: as `sql` takes them; their groups and bounds are declared.
            epsilon, delta, rho: what all of them cost, composed by the certified accountant. They share it by the
                errors that are expected, as aggregates of one question do.
            consistent: let the answers agree: totals are the sums of their parts. For counts and sums, and what is
                computed from them, of the same rows in different groups. A unit is bounded once, in the finest groups.
                SUM(x) and what AVG(x) sums are two totals, unless COUNT(x) is asked for beside the sum.
            nonnegative: consistent counts are not below 0.
            fresh, dialect, columns: as for `sql`.

        Returns: a release for each question; the cost that each shows is that of all.
        Guarantee: as of `sql`. Consistent intervals hold the truth about the rows as they were bounded; see
            docs/guide/query.md.
        Raises: as `sql`.
        """
        made = self._shared(questions, epsilon, delta, rho, consistent, nonnegative, dialect, columns)
        family, plans, finest, names, entry = made.family, made.plans, made.finest, made.names, made.entry

        def compute() -> str:
            secret = self.ledger.secret("groups of a unit")
            if family is None or finest is None:
                exact = [self._engine.exact(plan, secret=secret) for plan in plans]
            else:
                exact = family.summed(self._engine.exact(finest, secret=secret))
            kept = []
            for plan, name, values in zip(plans, names, exact, strict=True):
                noisy = [part.release(value, bits=self._bits) for part, value in zip(plan.parts, values, strict=True)]
                kept.append(answer_text(noisy, plan.query.question, name))
            return json.dumps(kept)

        answer, stored = self.ledger.answer(entry, compute, fresh=fresh)
        noisy: list[Any] = [noisy_of(each, name) for each, name in zip(json.loads(answer), names, strict=True)]
        columns_of = [None] * len(plans) if family is None else family.reconciled(plans, noisy, nonnegative=nonnegative)
        releases = []
        for plan, values, found in zip(plans, noisy, columns_of, strict=True):
            asked = (finest or plan).query.question
            notes: list[str] = [f"One of {len(plans)} questions that were paid together."]
            notes += self._notes(grouped=bool(asked.keys), question=asked)
            how: dict[str, Any] = {"left": self.ledger.left(), "safe": self._bits.safe, "stored": stored}
            if found is not None:
                notes.append(NOTE)
                how["measured"] = partial(_measured, found)
            reals = values if found is None else [each.values for each in found]
            release = build_release(plan, reals, notes=tuple(notes), **how)
            releases.append(self._with_provenance(release, entry.question, answer, asked.table, stored=stored))
        return releases

    def explain_workload(
        self,
        questions: Sequence[str | Ask],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        consistent: bool = False,
        dialect: str = "duckdb",
        columns: Mapping[str, Any] | None = None,
    ) -> list[Explanation]:
        """Say what `workload` would do and cost, a question at a time. Spends nothing, and reads no private row.

        Consistent answers are at least as exact as these say: least squares never adds variance.
        """
        made = self._shared(questions, epsilon, delta, rho, consistent, False, dialect, columns)
        stored, left = self._recall(made.entry.question) is not None, self.ledger.left()
        further = f"{len(made.plans)} questions that are paid together: {price_text(made.entry.loss, every=True)}"
        return [Explanation(plan=plan, left=left, stored=stored, further=further) for plan in made.plans]

    @limited_time()
    def _shared(  # noqa: PLR0917 - as `workload` has them
        self,
        questions: Sequence[str | Ask],
        epsilon: Real | None,
        delta: Real | None,
        rho: Real | None,
        consistent: bool,
        nonnegative: bool,
        dialect: str,
        columns: Mapping[str, Any] | None,
    ) -> "_Shared":
        """The plans of all questions, at one price."""
        if isinstance(questions, str | Ask) or not questions:
            raise InvalidParameterError("a workload is a list of questions: db.workload([text, text], epsilon=1).")
        price = Price.of(epsilon, delta, rho)
        alone = [self._plan(each, epsilon, delta, rho, dialect=dialect, columns=columns) for each in questions]
        if any(plan.searches or plan.key_search is not None for plan in alone):
            raise UnsupportedQueryError(
                "a workload needs declared groups and bounds: ask by itself what must be found."
            )
        family = Family.of([plan.query for plan in alone]) if consistent else None
        if nonnegative and family is None:
            raise InvalidParameterError("nonnegative=True is for consistent=True.")
        queries, bounded = [plan.query for plan in alone], None if family is None else family.bounded
        made, loss = together(queries, price, self.ledger.budget, {}, parts=bounded)
        plans = [named(replace(plan, public=each.public)) for plan, each in zip(made, alone, strict=True)]
        finest = None if family is None else family.plan(plans)
        for plan in plans if finest is None else [finest]:
            self._engine.check(plan)
        names = [plan.names[0] for plan in plans]
        question = hashlib.sha256(
            json.dumps(["workload", [each.key for each in names], consistent]).encode()
        ).hexdigest()
        text = f"{len(plans)} questions: {'; '.join(query.text for query in queries)}"
        described: Any = [part.entry() for plan in plans for part in plan.parts]
        entry = Entry(question=question, text=text, loss=loss, mechanisms=described, safe=self._bits.safe)
        return _Shared(family, tuple(plans), finest, tuple(names), entry)


@dataclass(frozen=True)
class _Shared:
    """A workload before it is paid."""

    family: "Family | None"
    plans: tuple[PricedPlan, ...]
    finest: PricedPlan | None
    names: tuple[Name, ...]
    entry: Entry


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
class Family:
    """Questions about the totals of the same rows, and the finest groups, of which all of theirs are made.

    A unit is bounded in the finest groups: at most `groups` of them, `rows` rows in each. So in coarser ones it has at
    most rows * groups rows in all, wherever they lie, which is what their noise is for.
    """

    questions: tuple[Question, ...]
    finest: Question

    @classmethod
    def of(cls, queries: Sequence[Query]) -> "Family":
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
        found: list[list[BoundedAggregate]] = []
        table = self.finest.table
        most = table.rows * table.groups if table.total_rows is None else table.total_rows
        for question in self.questions:
            parts = [aggregate.bounded(self.finest) for aggregate in question.aggregates]
            totals = [part for part in parts if isinstance(part, BoundedAggregate)]
            if set(question.keys) != set(self.finest.keys):
                reach = partial(
                    of_spread_sum, total_rows=most, relation=table.relation, cells=question.cells, ids=table.unit.ids
                )
                totals = [replace(part, sensitivity=reach(lower=part.lower, upper=part.upper)) for part in totals]
            found.append(totals)
        return found

    def plan(self, plans: Sequence[PricedPlan]) -> PricedPlan:
        """The plan by which the engine computes the totals of the finest groups; its noise is not drawn."""
        parts = [part for plan in plans for part in plan.parts]
        own = tuple(next(part for part in parts if part.aggregate == each) for each in self.finest.aggregates)
        query = Query("", self.finest, Outcome((), None, (), None))
        return replace(plans[0], query=query, parts=own)

    def places(self, question: Question) -> NDArray[np.int64]:
        """The group of a question in which each of the finest groups lies."""
        sizes = [len(values) for values in self.finest.key_values]
        every = np.unravel_index(np.arange(self.finest.cells), sizes) if sizes else ()
        where = dict(zip(self.finest.keys, every, strict=True))
        found = np.zeros(self.finest.cells, dtype=np.int64)
        for key in question.keys:
            found = found * len(key.facts.keys or ()) + where[key]
        return found

    def summed(self, exact: Sequence[NDArray[Any]]) -> list[list[NDArray[Any]]]:
        """The exact totals of each question from those of the finest groups. SECRET."""
        found = []
        for question in self.questions:
            places, size = self.places(question), question.cells
            parts = []
            for aggregate in question.aggregates:
                total = np.zeros(size, dtype=object)
                np.add.at(total, places, exact[self.finest.aggregates.index(aggregate)].astype(object))
                parts.append(total if any(abs(each) >= 2**62 for each in total) else total.astype(np.int64))
            found.append(parts)
        return found

    def reconciled(
        self, plans: Sequence[PricedPlan], noisy: Sequence[Sequence[NDArray[Any]]], *, nonnegative: bool
    ) -> list[list[Consistent]]:
        """Totals that are those of one table: by least squares over the finest groups, weighted by the variances.

        The errors are known sums of the independent noises, whatever the data, as long as nothing is cut at 0.
        """
        from scipy.optimize import nnls

        bits = DeterministicBits(0)  # of no noise: it draws what errors could be, always the same
        found: list[dict[int, Consistent]] = [{} for _ in plans]
        for aggregate in self.finest.aggregates:
            held = [
                (at, place, part, plan.query.question)
                for at, plan in enumerate(plans)
                for place, part in enumerate(plan.parts)
                if isinstance(part, PricedAggregate) and part.aggregate == aggregate
            ]
            sizes = [question.cells for *_, question in held]
            made = np.concatenate([np.eye(question.cells)[:, self.places(question)] for *_, question in held])
            spread = np.repeat([part.law.standard_deviation() for _, _, part, _ in held], sizes)
            known = np.concatenate([part.lattice.to_reals(noisy[at][place]) for at, place, part, _ in held])
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
            for (at, place, *_), (value, middle, error) in zip(held, parts, strict=True):
                found[at][place] = Consistent(value, middle, error, counted)
        return [[each[place] for place in range(len(each))] for each in found]


def _measured(found: Sequence[Consistent], output: Output) -> Estimate:
    """A column computed from consistent totals."""
    expression = output.expression
    shown = {f"base {place}": each.values for place, each in enumerate(found)}
    centre = {f"base {place}": each.centre for place, each in enumerate(found)}
    values = numbers(evaluate(expression, shown)) + np.zeros(len(found[0].values))
    counted = isinstance(expression, Column) and found[int(expression.name[5:])].counted
    low = 0.0 if counted else float("-inf") if expression.facts.lower is None else float(expression.facts.lower)
    high = float("inf") if expression.facts.upper is None else float(expression.facts.upper)
    values = np.clip(values, low, high)

    def ends(level: float) -> Bounds:
        """Quantiles of what the truth could be, a little further out than the number of draws asks for.

        Above a level that needs more draws nothing is known.
        """
        names = bases_of(expression)
        drawn = {name: centre[name][:, None] - found[int(name[5:])].draws for name in names}
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
