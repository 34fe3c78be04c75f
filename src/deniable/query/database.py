"""The front door: private tables with their budget, and questions about them.

A `Database` has a planner, an engine and a ledger. From `Database.sql`, a text goes to `Planner.searched_plan`, which
applies `planner.RULES` one after another, and its plan to `Responder.answer`, which charges the ledger before the
engine reads a row, and makes the `Release`.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

from deniable.errors import BudgetExceededError, CatalogError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.entry import Record
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real
from deniable.query.asking import StatisticMethod, StatisticQuestion
from deniable.query.catalog import DeclaredTable
from deniable.query.effort import limited_time
from deniable.query.engines.base import Engine, Progress
from deniable.query.explanation import Explanation
from deniable.query.expression import Expression, Value
from deniable.query.frames import Ask, Frame
from deniable.query.naming import stored_name
from deniable.query.planner import Planner
from deniable.query.responder import Responder
from deniable.query.rules.plan import Request, Target
from deniable.query.rules.target import approached, is_relative
from deniable.query.statistics import answer_statistic
from deniable.query.table_expression import TableExpression
from deniable.query.workload import Workload, plan_workload
from deniable.query.written import check_writes, write
from deniable.release import Release
from deniable.release.display import price as price_text
from deniable.release.listing import BudgetStatus, LazyRows, Listing, pairs_as_html


class Database:
    """Private tables with their budget. Made by `connect`.

    Args:
        engine: has the rows.
        tables: the declared tables by name.
        ledger: is charged before a row is read, and keeps the answers.
        bits: randomness of the noise.
    """

    count = StatisticMethod()
    sum = StatisticMethod()
    mean = StatisticMethod()
    variance = StatisticMethod()
    var = StatisticMethod("variance")
    standard_deviation = StatisticMethod()
    std = StatisticMethod("standard_deviation")
    covariance = StatisticMethod()
    correlation = StatisticMethod()
    vector_mean = StatisticMethod()
    vector_covariance = StatisticMethod()
    median = StatisticMethod()
    quantile = StatisticMethod()
    quantiles = StatisticMethod()
    interquartile_range = StatisticMethod()
    iqr = StatisticMethod("interquartile_range")
    minimum = StatisticMethod()
    min = StatisticMethod("minimum")
    maximum = StatisticMethod()
    max = StatisticMethod("maximum")
    cumulative_distribution = StatisticMethod()
    histogram = StatisticMethod()
    key_counts = StatisticMethod()
    top_k = StatisticMethod()
    mode = StatisticMethod()
    linear_regression = StatisticMethod()
    one_sample_t_test = StatisticMethod()
    two_sample_t_test = StatisticMethod()
    anova = StatisticMethod()
    mann_whitney = StatisticMethod()
    binomial_test = StatisticMethod()
    chi_squared_fit = StatisticMethod()
    chi_squared_independence = StatisticMethod()
    subsampled_test = StatisticMethod()

    def __init__(
        self, engine: Engine, tables: Mapping[str, DeclaredTable], ledger: Ledger, *, bits: Bits = SECURE
    ) -> None:
        self.tables = tables
        self.ledger = ledger
        self._engine = engine
        self._bits = bits
        self._planner = Planner(tables, engine, ledger)
        self._table = next(table for table in tables.values() if not table.public)

    def sql(
        self,
        text: str | Ask,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        error: Target | None = None,
        weights: Mapping[str, Real] | None = None,
        confidence: float = 0.95,
        fresh: bool = False,
        progress: Progress | None = None,
        dialect: str = "duckdb",
        columns: Mapping[str, Any] | None = None,
        rows: int | str | None = None,
        groups: int | str | None = None,
        total_rows: int | str | None = None,
    ) -> Release:
        """Answer a SELECT with noise, and pay for it.

        Args:
            text: one SELECT of COUNT, SUM, AVG over the tables, or a frame's `Ask`; see docs/guide/query.md.
            epsilon: the cost, alone for pure differential privacy, or with `delta`; or `rho`, for zCDP.
            error: in place of a cost: half the width that the interval of every noisy column may have, in its unit, or
                a mapping for the columns that matter, {"n": 100}. The least price that does it is charged. Or a share
                of the answer, "5%", and then the price is the most that it may cost: a cheap answer shows how large the
                numbers are, and more is paid until they are known to be that near, or too little is left. Then the
                answer says how much it takes; a call with that as its price uses the answers that were paid before.
            weights: of columns, {"n": 1, "mean": 4}, 1 by default: aggregates share the price so that the expected
                relative errors, each times its weight, have the least sum of squares; `explain` shows the shares.
            confidence: of the intervals that `error` speaks of.
            fresh: pay again for new noise, although the question has an answer already.
            progress: called with the share that is done, after each pass over a file that takes several for want of
                `memory`. It tells nothing about the rows: where it would, it is not called.
            dialect: of the text, "duckdb" or "postgres". Either may write the price as Google's SQL does, SELECT WITH
                DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5).
            columns: public facts for this question, in place of those declared; as `connect` takes them.
            rows, groups, total_rows: smaller limits on a unit for this question than those of `connect`, and less
                noise; larger ones are refused. They may stand in OPTIONS too, and the answer says them.

        The cost is charged before any row is read and never refunded. An identical question gets its stored answer.
        Raises: UnsupportedQueryError, InvalidParameterError or BudgetExceededError, before anything is spent;
            ExecutionError, with a constant text, if the engine stops.
        """
        if progress is not None and not callable(progress):
            raise InvalidParameterError(f"progress must be a function of the share that is done, got {progress!r}")
        request = Request(
            question=text,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            weights=weights,
            confidence=confidence,
            dialect=dialect,
            columns=columns,
            limits={"rows": rows, "groups": groups, "total_rows": total_rows},
        )
        if is_relative(error):
            return self._approached(request, fresh=fresh, progress=progress)
        return self._answer(request, fresh=fresh, progress=progress)

    def _answer(self, request: Request, *, fresh: bool, progress: Progress | None) -> Release:
        """Return the answer to a question at its price."""
        with limited_time():
            plan = self._planner.searched_plan(request, bits=self._bits)
        return self._responder.answer(plan, fresh=fresh, progress=progress)

    def _approached(self, request: Request, *, fresh: bool, progress: Progress | None) -> Release:
        """Return the answer whose error is a share of it, by answers at growing prices."""
        assert request.error is not None
        plan = self._planner.plan(request, safe=self._bits.safe)
        return approached(
            plan,
            lambda part: self._answer(request.at(part), fresh=fresh, progress=progress),
            Price.of(request.epsilon, request.delta, request.rho),
            request.error,
            confidence=request.confidence,
            stored=lambda part: (
                not fresh and self._planner.is_stored(plan, part, request.weights, safe=self._bits.safe)
            ),
            check=lambda rest: self.ledger.check_affordable(self._planner.price_of(plan, rest).loss),
        )

    @limited_time()
    def explain(
        self,
        text: str | Ask,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        error: Target | None = None,
        weights: Mapping[str, Real] | None = None,
        confidence: float = 0.95,
        dialect: str = "duckdb",
        columns: Mapping[str, Any] | None = None,
        rows: int | str | None = None,
        groups: int | str | None = None,
        total_rows: int | str | None = None,
    ) -> Explanation:
        """Say what `sql` would do and cost, how accurate it would be, and whether it would be refused. Spends nothing.

        Reads the schema, and of public tables that the question names the rows; of private ones none.
        """
        request = Request(
            question=text,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            weights=weights,
            confidence=confidence,
            dialect=dialect,
            columns=columns,
            limits={"rows": rows, "groups": groups, "total_rows": total_rows},
        )
        plan, loss, further = self._planner.plan(request, safe=self._bits.safe), None, ""
        stored = stored_name(plan, self.ledger, safe=self._bits.safe) is not None
        loss = plan.total
        if is_relative(error):
            price = Price.of(epsilon, delta, rho)
            further = f"{error}, by further answers, as long as all cost {price} at most"
            loss = self._planner.price_of(plan, price).loss
        refused = ""
        if not stored:
            try:
                self.ledger.check_affordable(loss)
            except BudgetExceededError as error_of_budget:
                refused = str(error_of_budget)
        return Explanation(plan=plan, left=self.ledger.left(), stored=stored, further=further, refused=refused)

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
        shared = {"epsilon": epsilon, "delta": delta, "rho": rho, "dialect": dialect, "columns": columns}
        workload = self._workload(questions, shared, consistent=consistent, nonnegative=nonnegative)
        return workload.answer(self._responder, fresh=fresh)

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
        shared = {"epsilon": epsilon, "delta": delta, "rho": rho, "dialect": dialect, "columns": columns}
        return self._workload(questions, shared, consistent=consistent, nonnegative=False).explanations(self._responder)

    def _workload(
        self, questions: Sequence[str | Ask], shared: Mapping[str, Any], *, consistent: bool, nonnegative: bool
    ) -> Workload:
        """Return the plans of several questions that state the same price, dialect and columns."""
        if isinstance(questions, str | Ask) or not questions:
            raise InvalidParameterError("a workload is a list of questions: db.workload([text, text], epsilon=1).")
        requests = [Request(question=each, **shared) for each in questions]
        return plan_workload(requests, self._planner, self._responder, consistent=consistent, nonnegative=nonnegative)

    def write(
        self,
        text: str | Ask,
        folder: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        intervals: bool = False,
        fresh: bool = False,
        dialect: str = "duckdb",
    ) -> Any:
        """Answer a SELECT of counts, sums and averages for up to 2^30 groups with Parquet files, on Spark.

        Args:
            text: as `sql` takes it, without ORDER BY and LIMIT; so are all others.
            folder: where Spark's executors can write; a folder with a new name is made in it.
            intervals: add the ends of intervals of 95%. Those of counts and sums are as wide in all groups as `explain`
                says; those of averages take half a millisecond each.

        Returns: a DataFrame that reads the files, with the columns of `Release.to_arrow`.
        Guarantee: as of `sql`. Noise is added by the executors, and what was written is never drawn again.
        Raises: as `sql`.
        """
        check_writes(self._responder)
        request = Request(question=text, epsilon=epsilon, delta=delta, rho=rho, dialect=dialect, written=True)
        plan = self._planner.searched_plan(request, bits=self._bits)
        return write(plan, folder, self._responder, intervals=intervals, fresh=fresh)

    def _answer_statistic(self, asked: StatisticQuestion) -> Release:
        """Return the answer to a method that asks for a statistic; see `asking`."""
        return answer_statistic(asked, self._responder, self.tables)

    @property
    def _responder(self) -> Responder:
        """Answers planned questions on this engine and ledger, about this table."""
        return Responder(self._engine, self.ledger, self._bits, self._table)

    def _look(self, rows: TableExpression, expression: Expression) -> Sequence[Value]:
        """Return a column of public rows, which frames ask for when they are made."""
        return self._planner.public_column(rows, expression)

    def table(self, name: str) -> Frame:
        """Return the rows of a table, to ask about in Python; see docs/guide/frames.md."""
        return Frame.of(self, name)

    def __getitem__(self, name: str) -> "Database":
        """The same database, whose methods ask about another private table: db["customers"].median("age", ...)."""
        if name not in self.tables or self.tables[name].public:
            private = ", ".join(each.name for each in self.tables.values() if not each.public)
            raise CatalogError(f"there is no private table {name!r}. Private tables: {private}.")
        other = copy(self)
        other._table = self.tables[name]
        return other

    @property
    def budget(self) -> BudgetStatus:
        """What was spent and what is left."""
        return BudgetStatus(self.ledger.budget, self.ledger.spent(), self.ledger.left())

    @property
    def columns(self) -> Listing:
        """The columns with what is declared about them. All of it is public."""
        prefix = len(self.tables) > 1
        rows = (
            (f"{table.name}.{name}" if prefix else name, *said)
            for table in self.tables.values()
            for name, *said in table.described()
        )
        return Listing(("column", "type", "bounds", "keys", "missing values"), tuple(rows))

    def history(self) -> Listing:
        """What was asked and paid, oldest first. What was asked again is free, and not listed again."""
        history = self.ledger.history()
        heads = ["number", "time (UTC)", "question", "cost", "answer kept"]
        several = bool(history.analysts - {"owner"})  # one person alone needs no column
        if several:
            heads.insert(2, "asked by")
        rows = LazyRows(history.records, partial(_listed, several=several))
        return Listing(tuple(heads), rows, empty="nothing was asked yet")

    def doctor(self) -> None:
        """Print exact counts of what is odd about the rows. For the owner alone: the numbers are not private.

        Charges nothing, and hands nothing back that could be passed on by mistake.
        """
        from deniable.query.engines.doctor import ALL_WELL, WARNING, Doctor

        doctor = Doctor(self._engine)
        findings = (finding for table in self.tables.values() for finding in doctor.examine(table))
        reported = [finding for finding in findings if finding.odd or finding.normal is None]
        rows = [(each.subject, each.what, "-" if each.count is None else f"{each.count:,}") for each in reported]
        sys.stdout.write(f"{WARNING}\n{Listing(('about', 'what', 'count'), tuple(rows))}\n")
        if not any(each.odd for each in reported):
            sys.stdout.write(f"{ALL_WELL}\n")

    def _about(self) -> Iterator[tuple[str, str]]:
        yield "protects", self._table.protects
        bounding = self._table.bounding(grouped=True)
        if bounding is not None:
            yield "bounding", bounding
        yield "columns", ", ".join(row["column"].removesuffix(" (unit)") for row in self.columns)
        yield "budget", str(self.ledger.budget)
        yield "left", str(self.ledger.left())
        yield "ledger", self.ledger.place if self.ledger.is_lasting else "in memory: ends with this process"

    def __repr__(self) -> str:
        return f"<Database {self._table.name}: protects {self._table.protects}; {self.budget}>"

    def _repr_html_(self) -> str:
        return pairs_as_html(self._about())


def _listed(record: Record, *, several: bool) -> tuple[str, ...]:
    """A row of the history; with the analyst if there are several."""
    return (
        str(record.number),
        f"{record.time:%Y-%m-%d %H:%M}",
        *((record.analyst,) if several else ()),
        " ".join(record.text.split()),  # in one line, without the blanks that stand for OPTIONS
        price_text(record.loss),
        ("yes" if record.answered else "no") if record.safe else "test noise",
    )
