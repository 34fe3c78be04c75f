"""The front door: a private table, a budget, and questions."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deniable.arguments import in_words
from deniable.errors import BudgetExceededError, CatalogError, InvalidParameterError
from deniable.ledger import Ledger, Source
from deniable.ledger.entry import Record
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation
from deniable.query.answer import build_release, found_of, noisy_of
from deniable.query.catalog import Table
from deniable.query.declarations import Declaration
from deniable.query.declared import declared_table
from deniable.query.effort import limited_time
from deniable.query.engines.base import Engine, Progress
from deniable.query.explanation import Explanation
from deniable.query.frames import Ask, Frame
from deniable.query.policy import limits, read_policy
from deniable.query.promise import declared_tables, of_one_table
from deniable.query.rules import price
from deniable.query.rules.target import Target, approached, is_relative
from deniable.query.source import noted, open_policy, open_source, open_sources, table_name
from deniable.query.workload import Workloads
from deniable.release import Release
from deniable.release.display import price as price_text
from deniable.release.listing import BudgetStatus, LazyRows, Listing, pairs_as_html


@in_words
def connect(
    source: object,
    *,
    name: str | None = None,
    unit: str | tuple[str, str] | PrivacyUnit | None = None,
    budget: Budget | None = None,
    columns: Mapping[str, Declaration] | Mapping[str, Mapping[str, Declaration]] | None = None,
    public: Collection[str] = (),
    paths: Mapping[str, Sequence[str]] = MappingProxyType({}),
    rows: int | str | None = None,
    groups: int | str | None = None,
    total_rows: int | None = None,
    relation: Relation | str = AddRemove,
    ledger: str | Path | None = None,
    moved: bool = False,
    table: str | Mapping[str, str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    analyst: str | None = None,
) -> "Database":
    """Open a private table for questions.

    Args:
        source: a dataframe (pandas, Polars, Arrow, Spark), the URL of a PostgreSQL server, or the path of a .parquet or
            .duckdb file, of a .csv file that was imported (`import_csv`), of a folder or pattern of .parquet files, or
            of a policy (.toml), which says the rest; or several of these by table, {"orders": ..., "customers": ...}.
        name: the table's name in SQL; by default that of the file. Beside a ledger in a file, a frame or several
            tables need one.
        unit: the column that says whose row it is, or `each_row("person")` if every row is one person; or the column
            and one of dates, ("user", "day"), to protect one user's rows of one day, which is much weaker.
        budget: what may ever be spent; needed unless the ledger exists.
        columns: public facts by column: `Number(lower=0, upper=120)`, `Keys(["a", "b"])`, ...; of several tables, such
            a mapping for each: {"orders": {"amount": ...}, "customers": {"region": ...}}.
        public: of several tables, those whose rows are nobody's secret. All others hold the column `unit` or a path.
        paths: of tables that reach the unit through another table, their column and that table, {"items": ("order_id",
            "orders")}; then the column there, if it has another name. A row belongs to every unit that holds its key.
        rows: the most rows of one unit that count in one group; 1 by default, and answers then say so.
        groups: the most groups of one GROUP BY in which a unit counts; likewise.
            "auto" has either found privately, for a quarter of the price of the first question that needs it.
        total_rows: in place of `rows` and `groups`: the most rows of one unit that count, in whatever groups.
        relation: what neighbouring tables are: dn.AddRemove, or dn.Replace where the number of units is public.
        ledger: the file that remembers what was spent, or for many hosts a schema of a PostgreSQL database:
            "postgresql://user@host/database?schema=visits". None keeps it in memory: it ends with this process.
        moved: the same data lie at another place now, or have other columns: note that in the ledger, and go on.
        table: the table inside a .duckdb file or on a server; several of a server by the names that they get here, as
            in {"orders": "shop.orders"}.
        memory: a limit such as "2GB"; beyond it intermediate results go to disk.
        threads: of the engine; all cores by default.
        analyst: who asks, "owner" by default: a name for the history. All analysts spend one budget, and none gets the
            stored answers of another.

    Reads the schema of the source and no row.
    Raises: SourceError, CatalogError or LedgerError, in the user's words.

    >>> import deniable as dn
    >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, budget=dn.Budget(epsilon=1))
    >>> answer = db.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    >>> print(db.budget)
    budget epsilon=1; left epsilon=0.5
    """
    bounding = {"rows": rows, "groups": groups, "total_rows": total_rows}
    if isinstance(source, str | Path) and str(source).endswith(".toml"):
        given = {"unit": unit, "budget": budget, "columns": columns, "name": name, "ledger": ledger, "table": table}
        extra = [word for word, value in (given | bounding).items() if value is not None]
        if extra or relation is not AddRemove:
            raise InvalidParameterError(f"a policy says it all: put {', '.join(extra) or 'relation'} into the file.")
        return _connect_policy(Path(source), moved, memory, threads, analyst)
    related = Relation(relation)
    if unit is None:
        raise CatalogError(
            'say who is protected: unit="column" for the column that says whose row it is, or '
            'unit=dn.each_row("person") if every row is one person.'
        )
    if name is None and not isinstance(source, str | Path):
        if ledger is not None:
            raise CatalogError(
                'a ledger knows a frame, or several tables, by one name: give it, such as name="visits", and the same '
                "one ever after."
            )
        name = "data"
    if isinstance(table, Mapping):
        source, table = {each: (source, there) for each, there in table.items()}, None
    whose = unit if isinstance(unit, PrivacyUnit) else _whose(unit)
    promise = {"relation": related, **limits(bounding)}
    declared: Mapping[str, Any] = columns or {}
    if isinstance(source, Mapping):
        engine = open_sources(source, columns=declared, unit=whose.column, memory=memory, threads=threads)
        tables = declared_tables(
            source, schema=engine.schema, columns=declared, public=public, unit=whose, promise=promise, paths=paths
        )
        held = noted(engine, tables)
    else:
        known = name or table or (table_name(Path(source)) if isinstance(source, str | Path) else "")
        declared = of_one_table(declared, known)
        engine = open_source(source, table=table, columns=declared, unit=whose.column, memory=memory, threads=threads)
        called = name or engine.table or table_name(Path(str(source)))
        tables = {called: declared_table(name=called, schema=engine.schema(), unit=whose, columns=declared, **promise)}
        held = noted(engine)
    first = next(each for each in tables.values() if not each.public)
    return Database(engine, tables, _open_ledger(first, budget, ledger, held, moved=moved, name=name, analyst=analyst))


def _whose(unit: str | tuple[str, str]) -> PrivacyUnit:
    if not isinstance(unit, str) and (not isinstance(unit, tuple | list) or len(unit) != 2):
        raise CatalogError(f'unit is a column, or a column and one of dates, as in ("user", "day"), got {unit!r}.')
    column, period = (unit, None) if isinstance(unit, str) else unit
    return PrivacyUnit(column=column, noun=column, period=period)


def _connect_policy(
    path: Path, moved: bool, memory: str | None, threads: int | None, analyst: str | None
) -> "Database":
    policy = read_policy(path)
    engine, tables, source = open_policy(policy, memory=memory, threads=threads)
    first = tables[policy.name]
    return Database(
        engine, tables, _open_ledger(first, policy.budget, policy.ledger, source, moved=moved, analyst=analyst)
    )


def _open_ledger(
    table: Table,
    budget: Budget | None,
    path: str | Path | None,
    source: Source,
    *,
    moved: bool,
    name: str | None = None,
    analyst: str | None = None,
) -> Ledger:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameterError(
            f"budget must be a Budget, got {type(budget).__name__}. Write dn.Budget(epsilon=1)."
        )
    opened = Ledger.open(
        path,
        budget=budget,
        relation=table.relation,
        unit=table.unit,
        dataset=name or table.name,
        source=source,
        moved=moved,
    )
    return opened if analyst is None else opened.asked_by(analyst)


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


class Database(Workloads):
    """Private tables with their budget. Made by `connect`."""

    def __init__(self, engine: Engine, tables: Mapping[str, Table], ledger: Ledger, *, bits: Bits = SECURE) -> None:
        self._engine = engine
        self._bits = bits
        self._plans = {}
        self.tables = tables
        self._table = next(table for table in tables.values() if not table.public)
        self.ledger = ledger

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
        found = [finding for finding in findings if finding.odd or finding.normal is None]
        rows = [(each.subject, each.what, "-" if each.count is None else f"{each.count:,}") for each in found]
        sys.stdout.write(f"{WARNING}\n{Listing(('about', 'what', 'count'), tuple(rows))}\n")
        if not any(each.odd for each in found):
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
        how: dict[str, Any] = {"error": error, "weights": weights, "confidence": confidence, "dialect": dialect}
        how |= {"columns": columns, "limits": {"rows": rows, "groups": groups, "total_rows": total_rows}}
        plan, further, refused = self._plan(text, epsilon, delta, rho, **how), "", ""
        loss, stored = plan.total, self._named(plan)[1]
        if is_relative(error):
            most = Price.of(epsilon, delta, rho)
            further = f"{error}, by further answers, as long as all cost {most} at most"
            loss = price(plan.query, most, self.ledger.budget).loss
        if not stored:
            try:
                self.ledger.check_affordable(loss)
            except BudgetExceededError as error_of_budget:
                refused = str(error_of_budget)
        return Explanation(plan=plan, left=self.ledger.left(), stored=stored, further=further, refused=refused)

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
        how: dict[str, Any] = {"error": error, "weights": weights, "confidence": confidence, "dialect": dialect}
        limits = {"rows": rows, "groups": groups, "total_rows": total_rows}
        how |= {"columns": columns, "limits": limits}
        if error is not None and is_relative(error):
            plan, most = self._plan(text, epsilon, delta, rho, **how), Price.of(epsilon, delta, rho)
            rest: dict[str, Any] = {"fresh": fresh, "progress": progress, "dialect": dialect, "columns": columns}
            rest |= {"weights": weights, **limits}
            ask: Any = partial(self.sql, text, **rest)
            return approached(
                plan,
                lambda part: ask(**part.words),
                most,
                error,
                confidence=confidence,
                stored=lambda part: not fresh and self._is_stored(plan, part, weights),
                check=lambda left: self.ledger.check_affordable(price(plan.query, left, self.ledger.budget).loss),
            )
        with limited_time():
            plan = self._plan(text, epsilon, delta, rho, **how, pay=True)
            name = self._named(plan)[0]
            entry = self._entry(plan, name)
        bounds = tuple(f"The {each.subject} are {each}." for each in plan.searches)
        answer, stored = self.ledger.answer(entry, lambda: self._exact(plan, name, progress), fresh=fresh)
        searched = () if plan.key_search is None else (plan.key_search.note,)
        release = build_release(
            plan.on(found_of(answer, plan)),
            noisy_of(answer, name),
            left=self.ledger.left(),
            safe=self._bits.safe,
            stored=stored,
            notes=(
                *searched,
                *bounds,
                *self._notes(grouped=bool(plan.query.question.keys), question=plan.query.question),
            ),
        )
        return self._with_provenance(release, name.key, answer, plan.query.question.table, stored=stored)
