"""DuckDB, locked down.

It may read one source, spill to one folder, and nothing else.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import ExecutionError, InvalidParameterError, SourceError, UnsupportedQueryError
from deniable.query.aggregates.aggregate import Counted, tallied
from deniable.query.engines.base import CHANGED, Engine, Gathered, Progress, arrow_schema
from deniable.query.engines.duckdb.expression import KINDS, quoted, text
from deniable.query.engines.duckdb.files import Located, check_names, locate
from deniable.query.engines.duckdb.rows import SelectSource
from deniable.query.engines.duckdb.spill import spill_folder
from deniable.query.engines.duckdb.sql import FOUND, Generator
from deniable.query.engines.duckdb.trial import PlanningTrial
from deniable.query.expression import Expression, Kind
from deniable.query.plan import PricedPlan, Question
from deniable.query.table_expression import TableExpression

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Found = TypeVar("Found")
CELL_BYTES = 4  # on disk, about so many a value: what a file's size says about its rows
BATCH = 2**20  # rows that are fetched at a time
ROW_BYTES = 80  # of intermediate results, at most about so many a row of the source
FLOAT_DIGITS = 15  # as many decimal digits as every float has
MOST_PASSES = 4096  # over the source, each for a share of the units, where one pass needs too much memory
SETTLED = 2_000_000_000  # nanoseconds after a change in which a file may change again and look the same
TWIN = "memory.main.twin"  # and a number: a table without rows that has the columns of a source
# The passes of DuckDB's optimiser that look at nothing but the statement. All others stay off, those of later versions
# too: with the statistics of a file or table they fold expressions, skip rows and order joins, so one row could decide
# whether a question can be answered at all. It costs no time: what reads statistics saves little on such statements.
BLIND_PASSES = frozenset(
    {
        "expression_rewriter",
        "unused_columns",
        "common_aggregate",
        "column_lifetime",
        "cte_inlining",
        "in_clause",
    }
)


def _tuples(connection: "duckdb.DuckDBPyConnection", statement: str) -> list[tuple[Any, ...]]:
    return connection.execute(statement).fetchall()


def _records(connection: "duckdb.DuckDBPyConnection", statement: str) -> Counted:
    """Return the tally of the only column.

    Once rows come, Arrow calls every failure an OSError.
    """
    import duckdb

    try:
        return tallied(batch.column(0).to_numpy() for batch in connection.sql(statement).to_arrow_reader(BATCH))
    except OSError as error:
        little = str(error).startswith("Out of Memory")
    raise MemoryError if little else duckdb.FatalException  # here, so that no value is attached to it


def _arrow(connection: "duckdb.DuckDBPyConnection", statement: str) -> "pa.Table":
    return connection.sql(statement).to_arrow_table()


class DuckDBEngine(Engine):
    """Exact aggregates over Parquet, CSV, DuckDB files and tables in memory.

    Tables in memory are Arrow tables.

    Args:
        parts: files and tables in memory, by name; the only one stands under "".
    """

    def __init__(
        self, parts: Mapping[str, "Located | pa.Table"], *, memory: str | None = None, threads: int | None = None
    ) -> None:
        import duckdb

        self._lock = threading.Lock()  # a cursor of its own would not see a registered table
        self._memory, self._threads = memory, threads
        self._files = {name: part for name, part in parts.items() if isinstance(part, Located)}
        self._frames: dict[str, pa.Table] = {}
        sources: dict[str, str] = {}
        for name, part in parts.items():
            if isinstance(part, Located):
                sources[name] = part.source
            else:
                from deniable.query.engines.duckdb.arrow import readable  # loads pyarrow

                check_names(part.column_names)
                sources[name] = f"frame{len(self._frames)}"
                self._frames[sources[name]] = readable(part)
        try:
            self._connection = self._open()
            self._tables: dict[str, SelectSource] = {}
            self._twins: dict[str, SelectSource] = {}
            twins = self._describe(sources)
            self._connection.execute(twins)
        except duckdb.OutOfMemoryException:
            raise InvalidParameterError("memory is too little to open the source. Write it as '1GB' or more.") from None
        except duckdb.Error:
            raise SourceError(
                "the source cannot be opened as a table: it is not of the format that its name says, or it is damaged, "
                "or it has a column of a type that cannot be read. Check the file with the program that wrote it."
            ) from None
        self._unchanged: list[tuple[int, int, int, int]] | None = None
        self._trial = PlanningTrial(lambda: _twin_of(twins, self._memory), FOUND)
        self.paths = {name: part.name for name, part in self._files.items()}
        self.locations = {name: (part.name, part.table) for name, part in self._files.items() if name}
        self.locations |= {name: (None, None) for name in parts if name and name not in self._files}
        if len(self._files) == len(parts) == 1:
            (part,) = self._files.values()
            self.source_name, self.table = part.name, part.table
        size = sum(path.stat().st_size for part in self._files.values() for path in part.paths)
        width = sum(len(self._tables[name].types) for name in self._files)
        self._rows: int = sum(frame.num_rows for frame in self._frames.values())  # about
        self._rows += math.ceil(size / (CELL_BYTES * max(1, width)))

    def _describe(self, sources: Mapping[str, str]) -> str:
        """Enter tables, and their twins without rows; return SQL that makes the twins."""
        twins = ""
        for number, (name, source) in enumerate(sources.items()):
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            columns = ", ".join(f"{quoted(str(row[0]))} {row[1]}" for row in described)
            twins += f"CREATE TABLE {TWIN}{number} ({columns}); "
            types = _types(described)
            self._tables[name] = SelectSource(source, types)
            self._twins[name] = SelectSource(f"{TWIN}{number}", types)
        return twins

    @classmethod
    def from_arrow(cls, table: "pa.Table", *, memory: str | None = None, threads: int | None = None) -> Self:
        """An engine over a table in memory."""
        return cls({"": table}, memory=memory, threads=threads)

    @classmethod
    def from_file(cls, path: Path, *, memory: str | None = None, threads: int | None = None, **how: Any) -> Self:
        """An engine over a file, or a folder or pattern of them; see `locate`."""
        return cls({"": cls.located(path, **how)}, memory=memory, threads=threads)

    @staticmethod
    def located(path: Path, **how: Any) -> Located:
        """Return the source of a path; see `locate`."""
        return locate(path, connect=lambda: _connect(None, None), **how)

    def _open(self) -> "duckdb.DuckDBPyConnection":
        """A connection that may read the parts, and nothing else."""
        connection = _connect(self._memory, self._threads)
        for name, frame in self._frames.items():
            connection.register(name, frame)
        for statement in dict.fromkeys(statement for part in self._files.values() for statement in part.attach):
            connection.execute(statement)
        _lock(connection, [path for part in self._files.values() for path in part.paths])
        return connection

    def schema(self, table: str = "") -> Mapping[str, Kind | None]:
        return {name: KINDS.get(base) for name, base in self._tables[table].types.items()}

    def unchanged(self) -> bool:
        """Whether the sources have the columns and types that they had when opened.

        Files are opened again only if they may have been written since.
        """
        with suppress(Exception):
            seen = _seen(part.paths for part in self._files.values())
            now = time.time_ns()
            if seen == self._unchanged:
                return True
            files = [table for name, table in self._tables.items() if name in self.paths]
            same = all(_types(self._run(f"DESCRIBE SELECT * FROM {each.text}")) == each.types for each in files)
            if same and all(changed < now - SETTLED for _, _, changed, _ in seen):
                self._unchanged = seen
            return same
        return False

    def examiner(self) -> tuple[Generator, Callable[[str], list[tuple[Any, ...]]]]:
        return Generator(self._tables), self._run

    def check(self, plan: PricedPlan) -> None:
        if not self.unchanged():
            raise SourceError(CHANGED)
        statements, plan = Generator(self._twins).trials(plan)
        if not self._trial.admits(statements, _keys_table(plan.query.question)):
            raise UnsupportedQueryError("the engine cannot run this query. Write it with simpler expressions.")

    def exact(self, plan: PricedPlan, *, secret: bytes, progress: Progress | None = None) -> list[Any]:
        """Return the totals, in one pass or in several.

        Each of several passes takes a share of the units, where memory is limited.

        What `progress` is told is turn / passes after each pass. The number of passes follows from the size of the
        file, its columns and the limit, which are public, so the shares are the same whatever the rows are; when they
        come is timing, which an observer of the machine has anyway. Nothing finer is told: DuckDB's own progress counts
        rows and intermediate results, which are private. Nothing is told of frames, whose size is known by their rows
        alone, and of one pass, whose only share would be the end. If a pass needs more memory than allowed, and that is
        up to the rows, silence follows: to begin anew would say so, silence may as well be one long pass.
        """
        generator = Generator(self._tables)
        keys = _keys_table(plan.query.question)

        def turn(gathered: Gathered, share: tuple[int, int]) -> None:
            for indices, statement in generator.statements(plan, secret=secret, share=share):
                if plan.parts[indices[0]].aggregate.additive:
                    gathered.add(indices, self._run(statement, keys_table=keys))
                else:
                    gathered.count(indices[0], self._run(statement, _records, keys_table=keys))

        return self._in_passes(plan, lambda: Gathered(plan), turn, progress).whole()

    def keys(self, plan: PricedPlan, *, secret: bytes) -> "tuple[pa.Table, NDArray[np.int64]]":
        import pyarrow as pa
        import pyarrow.compute as pc

        generator = Generator(self._tables)
        search = plan.key_search
        question = plan.query.question
        assert search is not None
        names = list(question.sought)

        def turn(tables: list[pa.Table], share: tuple[int, int]) -> None:
            tables.append(self._run(generator.keys(question, search, secret=secret, share=share), _arrow))

        parts = self._in_passes(plan, list[pa.Table], turn)
        whole = pa.concat_tables(parts)
        if len(parts) > 1:
            whole = whole.group_by(names).aggregate([("weight", "sum")]).rename_columns([*names, "weight"])
        keys = whole.select(names).cast(arrow_schema(question.sought))
        weights = pc.cast(whole.column("weight"), pa.int64(), safe=False)
        return keys, weights.to_numpy()

    def _in_passes(
        self,
        plan: PricedPlan,
        begin: Callable[[], Found],
        turn: Callable[[Found, tuple[int, int]], object],
        progress: Progress | None = None,
    ) -> Found:
        """Return the result of `begin`, after `turn` has added each share of the units.

        A share is (turn, passes).

        If a turn needs more memory than allowed, all begins anew with more of them.

        Raises: ExecutionError if nothing helps, or for any other cause; it is raised outside of the handler, so that
            the engine's own text, which may quote a value, is not attached to it.
        """
        import duckdb

        turns = plan.query.question.unit is not None  # else nothing to take turns by, and little memory is needed
        passes = self._passes() if turns else 1
        progress = progress if passes > 1 and not self._frames else None  # whose size is private
        while passes <= (MOST_PASSES if turns else 1):
            gathered = begin()
            try:
                for number in range(passes):
                    turn(gathered, (number, passes))
                    with suppress(Exception):  # a paid answer is not lost for want of a bar
                        if progress is not None:
                            progress((number + 1) / passes)
                return gathered
            except (duckdb.OutOfMemoryException, MemoryError):
                passes *= 4
                progress = None
            except Exception:
                break
        raise ExecutionError

    def columns(self, rows: TableExpression, expressions: Sequence[Expression]) -> "pa.Table":
        import pyarrow as pa

        statement = Generator(self._tables).rows(rows, expressions)
        table: pa.Table | None = None
        with suppress(Exception):  # raised below, so that the engine's own text is not attached to it
            table = self._run(statement, _arrow)
            wanted = arrow_schema({f"c{index}": each.facts.kind for index, each in enumerate(expressions)})
            table = table.cast(pa.schema([*wanted, *list(table.schema)[len(expressions) :]]))
        if table is None:
            raise ExecutionError
        return table

    def _passes(self) -> int:
        """Return a number of passes after which the memory should suffice.

        A pass that fails has wasted its time.
        """
        import duckdb

        if self._memory is None:
            return 1
        limit = "1 GiB"
        with suppress(duckdb.Error):
            ((limit,),) = self._run("SELECT current_setting('memory_limit')")
        number, unit = str(limit).split()
        available = 0.6 * float(number) * float(1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))
        return min(max(1, math.ceil(self._rows * ROW_BYTES / available)), MOST_PASSES)

    def _run(
        self,
        statement: str,
        fetch: Callable[["duckdb.DuckDBPyConnection", str], Any] = _tuples,
        keys_table: "pa.Table | None" = None,
    ) -> Any:
        """Return all rows of a statement, which may read the keys of a search.

        An engine that broke down over a private row is replaced: the next question must not learn of it.
        """
        import duckdb

        with self._lock:
            try:
                if keys_table is not None:
                    self._connection.register(FOUND, keys_table)
                return fetch(self._connection, statement)
            except (duckdb.InternalException, duckdb.FatalException):
                self._connection = self._open()
                raise


def _seen(parts: Iterable[Sequence[Path]]) -> list[tuple[int, int, int, int]]:
    """Return identity, time of change and size of files, without reading them."""
    stats = [path.stat() for paths in parts for path in paths]
    return [(each.st_dev, each.st_ino, max(each.st_ctime_ns, each.st_mtime_ns), each.st_size) for each in stats]


def _keys_table(question: Question) -> "pa.Table | None":
    """The keys that were found, with their positions."""
    if not question.found_keys:
        return None
    import pyarrow as pa

    schema = arrow_schema(question.sought)
    table = pa.table(dict(zip(schema.names, zip(*question.found_keys, strict=True), strict=True)), schema)
    return table.append_column("position", pa.array(range(len(question.found_keys)), pa.int32()))


def _types(described: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """The type of each column, as DESCRIBE has them."""
    return {str(row[0]): base_type(str(row[1])) for row in described}


def base_type(name: str) -> str:
    """Return the name of a type without its parameters.

    DECIMAL(10,2) is a DECIMAL, ENUM('a', 'b') an ENUM; arrays and structures keep their name, which is unknown.
    """
    head, _, inside = name.partition("(")
    if head == "DECIMAL" and name.endswith(")") and int(inside.split(",")[0]) > FLOAT_DIGITS:
        return "WIDE DECIMAL"
    return head if name.endswith(")") and head in ("DECIMAL", "ENUM") else name


def _connect(memory: str | None, threads: int | None) -> "duckdb.DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(":memory:")
    passes = {str(row[0]) for row in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    settings = {
        "disabled_optimizers": text(",".join(sorted(passes - BLIND_PASSES))),
        "enable_external_file_cache": "false",  # in 1.5 it reads a file by the footer that it had a moment before
        "preserve_insertion_order": "false",
        "temp_directory": text(spill_folder()),
        "TimeZone": "'UTC'",
    }
    if memory is not None:
        settings["memory_limit"] = text(memory)
    if threads is not None:
        settings["threads"] = str(int(threads))
    for name, value in settings.items():
        try:
            connection.execute(f"SET {name} = {value}")
        except duckdb.Error:
            raise InvalidParameterError(
                f"{name} cannot be set to {value}. Write memory as '4GB', threads as 2."
            ) from None
    return connection


def _twin_of(tables: str, memory: str | None) -> "duckdb.DuckDBPyConnection":
    """Return a connection to tables without rows that can read nothing else.

    The statements `tables` make them.
    """
    connection = _connect(memory, 1)
    connection.execute(tables)
    _lock(connection, [])
    return connection


def _lock(connection: "duckdb.DuckDBPyConnection", paths: list[Path]) -> None:
    """No file but `paths`, no extension, no further change of settings."""
    allowed = ", ".join(text(str(path)) for path in paths)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET lock_configuration = true")
