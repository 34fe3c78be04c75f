"""The front door: private tables with their budget, and questions about them.

A `Database` has a planner, an engine and a ledger. From `Database.sql`, a text goes to `Planner.searched_plan`, which
applies `planner.RULES` one after another, and its plan to `Responder.answer`, which charges the ledger before the
engine reads a row, and makes the `Release`.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from deniable.errors import BudgetExceededError, CatalogError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real
from deniable.query.asking import StatisticMethod, StatisticQuestion
from deniable.query.catalog import DeclaredTable
from deniable.query.effort import limited_time
from deniable.query.engines.base import Engine, Progress
from deniable.query.explanation import Explanation
from deniable.query.frames import Ask, Frame
from deniable.query.hierarchical import HierarchyMethods
from deniable.query.listings import list_columns, list_facts, list_history, print_findings
from deniable.query.naming import stored_name
from deniable.query.planner import Planner
from deniable.query.responder import Responder
from deniable.query.rules.plan import Request, Target
from deniable.query.rules.target import approached, is_relative
from deniable.query.statistics import answer_statistic
from deniable.query.streamed import StreamMethods
from deniable.query.synthetic import TableMethods
from deniable.query.workload import Workload, plan_workload
from deniable.query.written import check_writes, write
from deniable.release import Release
from deniable.release.listing import BudgetStatus, Listing, pairs_as_html


class Database(TableMethods, HierarchyMethods, StreamMethods):
    """Private tables with a budget, and questions about them. Made by `connect`.

    Args:
        engine: has the rows.
        tables: the declared tables by name.
        ledger: is charged before a row is read, and keeps the answers.
        bits: randomness of the noise.

    >>> import deniable as dn
    >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
    >>> db
    <Database visits: protects one patient of visits (add/remove); budget epsilon=1; left epsilon=1>
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
        """Answer a SELECT with noise, and charge its cost.

        Args:
            text: one SELECT of COUNT, SUM, AVG over the tables, or a frame's `Ask`; see docs/guide/query.md.
            epsilon: the cost, alone for pure differential privacy, or with `delta`.
            delta: of the cost, below 1; it allows Gaussian noise, and groups that are not declared.
            rho: the cost in place of epsilon and delta, for zero-concentrated differential privacy (zCDP).
            error: in place of a cost: half the width that the interval of every noisy column may have, in its unit, or
                a mapping for the columns that matter, {"n": 100}. The least price that achieves it is charged. Or a
                share of the answer, "5%"; the price is then the most that it may cost. A cheap answer shows how large
                the numbers are, and more is charged until all are known to be that accurate, or too little is left.
                The answer then says how much is missing; a call at that price uses the answers that are paid already.
            weights: of columns, {"n": 1, "mean": 4}, 1 by default: aggregates share the price so that the sum of the
                squares of the expected relative errors, each times its weight, is least; `explain` shows the shares.
            confidence: of the intervals that `error` is about, between 0 and 1.
            fresh: whether to charge again for new noise although an answer is stored.
            progress: a function that is called with the share that is done, from 0 to 1, after each pass over a file
                that takes several passes for want of `memory`. Where it would reveal something about the rows, it is
                not called.
            dialect: of the text, "duckdb" or "postgres". Either may state the price as Google's SQL does, SELECT WITH
                DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5).
            columns: public facts for this question, in place of those declared; as `connect` takes them.
            rows: limit on the rows of one unit in a group for this question, at most that of `connect`. Smaller limits
                give less noise. Limits may stand in OPTIONS too; the answer names them.
            groups: limit on the groups of one unit for this question, likewise.
            total_rows: limit on all rows of one unit for this question, likewise.

        The cost is charged before any row is read and never refunded. An identical question gets its stored answer.
        Raises: UnsupportedQueryError, InvalidParameterError or BudgetExceededError, before anything is charged;
            ExecutionError, with a constant text, if the engine stops.

        >>> import deniable as dn
        >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
        >>> answer = db.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
        >>> print(answer.cost.charge().epsilon, db.budget)
        0.5 budget epsilon=1; left epsilon=0.5
        """
        if progress is not None and not callable(progress):
            raise InvalidParameterError(f"progress must be a function of the share that is done, got {progress!r}")
        limits = {"rows": rows, "groups": groups, "total_rows": total_rows}
        shared: dict[str, Any] = {"weights": weights, "confidence": confidence, "dialect": dialect, "columns": columns}
        request = Request(question=text, epsilon=epsilon, delta=delta, rho=rho, error=error, limits=limits, **shared)
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
        """Say what `sql` would do and cost, and how accurate it would be.

        Also says whether it would be refused. Charges nothing. Reads the schema, and the rows of public tables that the
        question names; no private row.

        Args:
            text: as `sql` takes it.
            epsilon: the cost, alone or with `delta`.
            delta: of the cost.
            rho: the cost in place of epsilon and delta.
            error: the accuracy in place of a cost, or within it, as `sql` takes it.
            weights: of columns, by which aggregates share the price.
            confidence: of the intervals that `error` is about.
            dialect: of the text, "duckdb" or "postgres".
            columns: public facts for this question.
            rows: limit on the rows of one unit in a group for this question.
            groups: limit on the groups of one unit for this question.
            total_rows: limit on all rows of one unit for this question.

        Raises: UnsupportedQueryError or InvalidParameterError, as `sql` would.

        >>> import deniable as dn
        >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
        >>> print(db.explain("SELECT COUNT(*) AS n FROM visits", epsilon=0.5))
        protects  one patient of visits (add/remove)
        bounding  at most 2 rows of one patient count
        groups    none: one number each
        COUNT(*)  Laplace noise of standard deviation 5.642, 95% within ±12 (sensitivity l1=2, l2=2)
        cost      epsilon=0.5, rho=0.125
        left      epsilon=1, before this question
        """
        limits = {"rows": rows, "groups": groups, "total_rows": total_rows}
        shared: dict[str, Any] = {"weights": weights, "confidence": confidence, "dialect": dialect, "columns": columns}
        request = Request(question=text, epsilon=epsilon, delta=delta, rho=rho, error=error, limits=limits, **shared)
        plan, further, refused = self._planner.plan(request, safe=self._bits.safe), "", ""
        stored = stored_name(plan, self.ledger, safe=self._bits.safe) is not None
        loss = plan.total
        if is_relative(error):
            price = Price.of(epsilon, delta, rho)
            further = f"{error}, by further answers, as long as all cost {price} at most"
            loss = self._planner.price_of(plan, price).loss
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
        """Answer several questions that are charged together, as one entry of the ledger.

        Args:
            questions: as `sql` takes them; their groups and bounds are declared.
            epsilon: the cost of all of them, alone or with `delta`, composed by the certified accountant. They share it
                by the errors that are expected, as aggregates of one question do.
            delta: of the cost.
            rho: the cost in place of epsilon and delta.
            consistent: whether the answers agree: totals are then the sums of their parts. For counts and sums, and
                what is computed from them, of the same rows in different groups. A unit is bounded once, in the finest
                groups. SUM(x) and the sum in AVG(x) are two totals, unless COUNT(x) is asked for beside the sum.
            nonnegative: whether consistent counts are not below 0.
            fresh: whether to charge again for new noise although answers are stored.
            dialect: of the texts, "duckdb" or "postgres".
            columns: public facts for these questions.

        Returns: a release for each question; each shows the cost of all.
        Guarantee: as of `sql`. Consistent intervals hold the truth about the rows as they were bounded; see
            docs/guide/query.md.
        Raises: as `sql`.

        >>> import deniable as dn
        >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
        >>> texts = ["SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(DISTINCT patient) AS n FROM visits"]
        >>> [answer.columns for answer in db.workload(texts, epsilon=0.5)]
        [('n',), ('n',)]
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
        """Say what `workload` would do and cost, question by question.

        Charges nothing, and reads no private row. Consistent answers are at least as exact as these say: least squares
        never adds variance.

        Args:
            questions: as `workload` takes them.
            epsilon: the cost of all of them, alone or with `delta`.
            delta: of the cost.
            rho: the cost in place of epsilon and delta.
            consistent: whether the answers agree.
            dialect: of the texts, "duckdb" or "postgres".
            columns: public facts for these questions.

        Raises: as `workload`.
        """
        shared = {"epsilon": epsilon, "delta": delta, "rho": rho, "dialect": dialect, "columns": columns}
        return self._workload(questions, shared, consistent=consistent, nonnegative=False).explanations(self._responder)

    def _workload(
        self, questions: Sequence[str | Ask], shared: Mapping[str, Any], *, consistent: bool, nonnegative: bool
    ) -> Workload:
        """Return the plans of several questions of one price, dialect and columns."""
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
        """Answer a SELECT for up to 2^30 groups with Parquet files, on Spark.

        Its aggregates are counts, sums and averages.

        Args:
            text: as `sql` takes it, without ORDER BY and LIMIT.
            folder: where Spark's executors can write; a folder with a new name is made in it.
            epsilon: the cost, alone or with `delta`.
            delta: of the cost.
            rho: the cost in place of epsilon and delta.
            intervals: whether the files hold the ends of intervals of 95%. Those of counts and sums are as wide in all
                groups as `explain` says; those of averages take half a millisecond each.
            fresh: whether to charge again for new noise although files are there.
            dialect: of the text, "duckdb" or "postgres".

        Returns: a DataFrame that reads the files, with the columns of `Release.to_arrow`.
        Guarantee: as of `sql`. Noise is added by the executors, and what was written is never drawn again.
        Raises: as `sql`; UnsupportedQueryError on other engines.
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

    def table(self, name: str) -> Frame:
        """Return a table as a frame, for questions in Python; see docs/guide/frames.md.

        Args:
            name: of the table.

        Raises: UnsupportedQueryError if there is none of this name.
        """
        return Frame.of(self, name)

    def __getitem__(self, name: str) -> "Database":
        """Return the same database with methods that ask about another private table.

        Args:
            name: of the table, as in db["customers"].median("age", ...).

        Raises: CatalogError if there is no private table of this name.
        """
        if name not in self.tables or self.tables[name].public:
            private = ", ".join(each.name for each in self.tables.values() if not each.public)
            raise CatalogError(f"there is no private table {name!r}. Private tables: {private}.")
        other = copy(self)
        other._table = self.tables[name]
        return other

    @property
    def budget(self) -> BudgetStatus:
        """Budget with what was spent and what is left."""
        return BudgetStatus(self.ledger.budget, self.ledger.spent(), self.ledger.left())

    @property
    def columns(self) -> Listing:
        """Columns with what is declared about them. All of it is public."""
        return list_columns(self.tables)

    def history(self) -> Listing:
        """Return the questions that were charged, oldest first.

        Stored answers are free, and not listed again.
        """
        return list_history(self.ledger)

    def doctor(self) -> None:
        """Print exact counts of irregular rows, for the owner alone.

        The numbers are not private. Charges nothing, and returns nothing that could be passed on by mistake.
        """
        print_findings(self._engine, self.tables)

    def __repr__(self) -> str:
        return f"<Database {self._table.name}: protects {self._table.protects}; {self.budget}>"

    def _repr_html_(self) -> str:
        return pairs_as_html(list_facts(self._table, self.columns, self.ledger))
