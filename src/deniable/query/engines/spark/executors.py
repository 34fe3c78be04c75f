"""Answers with too many groups for one machine, written by Spark's executors.

They add the noise, and what they write is the answer.

Exact rows are cut into blocks by public numbers. What becomes of a block is a function of its rows and of a key of the
release, so a task that Spark repeats writes the same again. Proof: docs/theory/query/repeats.md.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, groupby, pairwise
from math import prod
from operator import itemgetter
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import deniable
from deniable.errors import ExecutionError, UnsupportedQueryError, redacted
from deniable.mechanisms import Gaussian, Laplace
from deniable.noise.bits import Bits, DeterministicBits, Streams
from deniable.query.aggregates.aggregate import integers
from deniable.query.answer import build_release, key_columns
from deniable.query.engines.base import arrow_schema
from deniable.query.engines.duckdb.sql import FOUND, Generator
from deniable.query.engines.remote import RemoteEngine, generator_of
from deniable.query.engines.spark.runner import SparkRunner
from deniable.query.keys import KeySearch
from deniable.query.plan import PricedPlan

GROUPS = 2**14  # of a block
BUCKETS = 2**10  # of keys that occur, however many there are
COMMIT = "mapreduce.fileoutputcommitter.algorithm.version"
TRIALS = 2**12  # rows of a table whose tasks, one for each core, say which copy of deniable they run

WORKERS = (
    "On every worker, the Python that PYSPARK_PYTHON names (the driver's minor version) needs deniable, pyarrow and "
    "pandas as the driver has them."
)


@cache
def copy_of_deniable() -> str:
    """Return the version of deniable, and a fingerprint of its draws.

    They are drawn from a key that everybody knows.
    """
    stream = Streams(DeterministicBits(0)).stream(1)
    drawn = hashlib.sha256()
    for mechanism in (Laplace(scale=Fraction(1000)), Gaussian(sigma_squared=Fraction(10**6))):
        noise = mechanism.release(np.zeros(64, dtype=np.int64), bits=stream).value
        drawn.update(str([int(value) for value in noise]).encode())
    return f"{deniable.__version__} with noise {drawn.hexdigest()[:8]}"


def tell_copy(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the version of an executor's copy."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"copy": [copy_of_deniable()]})


@dataclass(frozen=True)
class GroupBlocks:
    """Yield the noisy blocks of an executor's part of a table.

    Args:
        work: from the rows of a block, sorted, and its stream to what is released of them.
        keys: the columns by which rows are sorted; no two rows of a block have the same there.
        copy: of deniable, on the driver. Another one on an executor could draw other noise, and a repeat would tell.
    """

    work: Callable[[pa.Table, Bits], pa.Table]
    keys: tuple[str, ...]
    streams: Streams
    copy: str = field(default_factory=copy_of_deniable)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if copy_of_deniable() != self.copy:
            raise ExecutionError
        for number, pieces in groupby(_pieces(batches), key=itemgetter(0)):
            rows = pa.Table.from_batches([piece for _, piece in pieces])
            ordered = rows.sort_by([(name, "ascending") for name in self.keys])
            yield from self.work(ordered, self.streams.stream(number)).to_batches()


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield rows of one block, in one piece or several, with its number.

    They follow each other.
    """
    for batch in batches:
        numbers = batch.column("block").to_numpy()
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        yield from ((int(numbers[one]), batch.slice(one, end - one)) for one, end in pairwise([*starts, len(numbers)]))


def shown(search: KeySearch, rows: pa.Table, bits: Bits) -> pa.Table:
    """The keys of a bucket that are shown, and the place of each among them."""
    keys = search.shown(rows.drop_columns("weight"), _integers(rows["weight"]), bits=bits)
    return keys.append_column("place", pa.array(np.arange(len(keys))))


def answered(
    plan: PricedPlan, rows: pa.Table, bits: Bits, *, intervals: bool, schema: pa.Schema | None = None
) -> pa.Table:
    """The groups of a block with their noisy numbers."""
    totals = (_integers(rows[f"a{index}"]) for index in range(len(plan.parts)))
    noisy = [part.release(total, bits=bits) for part, total in zip(plan.parts, totals, strict=True)]
    keys = key_columns(plan.query.question, rows["cell"].to_numpy())
    for index in plan.query.question.unknown:
        keys[f"key {index}"] = np.array([*rows[f"k{index}"].to_pylist(), None], dtype=object)[:-1]
    release = build_release(plan, noisy, left=None, safe=bits.safe, stored=False, keys=keys)
    table = release.to_arrow(intervals=intervals)
    return table if schema is None else table.cast(schema)


def _integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Whole numbers, which Spark has in up to 128 bits."""
    if pc.all(pc.less(pc.abs(column), 2**62), min_count=0).as_py():
        return np.asarray(column.cast(pa.int64()))
    return integers([*map(int, column.to_pylist())])


class SparkEngine(RemoteEngine):
    """Holds tables of a Spark session; large answers are written beside it."""

    _runner: SparkRunner

    def prepare(self, plan: PricedPlan, folder: str, *, intervals: bool, bits: Bits) -> Callable[[bytes], str]:
        """Return a function that writes the answer and returns its path.

        It takes the secret of `exact`, and writes to a new folder.

        A group that nobody is in is written there now, under a name that Spark hides and the answer replaces. No row is
        read before the call of what is returned.
        Raises: UnsupportedQueryError if executors have another copy of deniable, or cannot write there; the call raises
            ExecutionError for any reason.
        """
        session = self._runner.session
        folder_made = f"{folder.rstrip('/')}/{token_hex(8)}"
        sample, row = _sample(plan)
        schema = answered(sample, row, bits, intervals=intervals).schema
        work = partial(answered, intervals=intervals, schema=schema)
        self._compare()
        new = _new_folders(session, folder_made)

        def write(secret: bytes) -> str:
            with suppress(Exception):
                if not self.unchanged():
                    raise ExecutionError
                generator = generator_of(self._runners, secret)
                asked = plan
                try:
                    if plan.key_search is not None:
                        asked = self._find(plan, generator, folder_made, secret, bits)
                    exact = session.sql(_exact(asked, generator, secret, _view(folder_made)))
                    blocks = GroupBlocks(partial(work, asked), ("cell",), Streams(bits))
                    self._write(exact, folder_made, blocks, schema, 1 + (asked.query.question.cells - 1) // GROUPS)
                finally:
                    session.catalog.dropTempView(_view(folder_made))
                if self.unchanged():
                    return folder_made
            _remove(new)
            raise ExecutionError  # here, so that no other text is attached to it

        with suppress(Exception):
            made = session.createDataFrame(row)
            blocks = GroupBlocks(partial(work, sample), ("cell",), Streams(bits))
            self._noisy(made, blocks, schema, 1).collect()  # what fails here has made no folder
            self._write(made, f"{folder_made}/_rehearsal/0", blocks, schema, 1)
            return write
        _remove(new)
        raise UnsupportedQueryError(
            f"Spark's executors cannot write to {redacted(folder)}. They need the right to, and a storage that "
            "they and the driver share."
        )

    def _compare(self) -> None:
        """Ask tasks, as many as may meet every executor, which copy of deniable they run.

        Raises: UnsupportedQueryError if one has none, or another than the driver.
        """
        session = self._runner.session
        reported = None
        with suppress(Exception):
            rows = session.range(TRIALS).mapInArrow(tell_copy, "copy string").collect()  # a task for each core
            reported = sorted({str(copy) for (copy,) in rows})
        if reported is None:
            raise UnsupportedQueryError(f"Spark's executors cannot run deniable. {WORKERS}")
        if others := [copy for copy in reported if copy != copy_of_deniable()]:
            raise UnsupportedQueryError(
                f"an executor has deniable {others[0]}, and the driver {copy_of_deniable()}. {WORKERS}"
            )

    def read(self, folder: str) -> Any:
        """Return a DataFrame of a folder that was written."""
        return self._runner.session.read.parquet(folder)

    def _find(self, plan: PricedPlan, generator: Generator, folder: str, secret: bytes, bits: Bits) -> PricedPlan:
        """Return the plan for the keys that are shown.

        They are numbered in a view; the driver knows how many they are.
        """
        question, search, session = plan.query.question, plan.key_search, self._runner.session
        assert search is not None
        names = list(question.sought)
        block = f"pmod(xxhash64({', '.join(names)}), {BUCKETS}) AS block"
        keys = session.sql(generator.keys(question, search, secret=secret)).selectExpr(block, *names, "weight")
        schema = pa.schema([("block", pa.int64()), *arrow_schema(question.sought), ("place", pa.int64())])
        blocks = GroupBlocks(partial(shown, search), tuple(names), Streams(bits))
        self._write(keys, f"{folder}-keys", blocks, schema, BUCKETS)
        kept = session.read.parquet(f"{folder}-keys")
        counts = dict(kept.groupBy("block").count().collect())
        starts = [*accumulate((counts.get(block, 0) for block in range(BUCKETS)), initial=0)]
        position = f"CAST(array({', '.join(map(str, starts))})[CAST(block AS INT)] + place AS INT) AS position"
        kept.selectExpr(*names, position).createOrReplaceTempView(_view(folder))
        return plan.on(range(starts[-1]))  # type: ignore[arg-type]

    def _write(self, exact: Any, folder: str, blocks: GroupBlocks, schema: pa.Schema, count: int) -> None:
        """Noise once, and files: all of them, or an exception.

        The first way to commit that Hadoop knows shows no file before the job is done. A storage that loses files, or
        that the driver does not share, is seen by the number of rows.
        """
        from pyspark.sql import Observation
        from pyspark.sql.functions import count as rows_of
        from pyspark.sql.functions import lit

        made = Observation()
        noisy = self._noisy(exact, blocks, schema, count).observe(made, rows_of(lit(1)).alias("rows"))
        noisy.write.mode("overwrite").option(COMMIT, "1").parquet(folder)
        if self.read(folder).count() != made.get["rows"]:
            raise ExecutionError

    def _noisy(self, exact: Any, blocks: GroupBlocks, schema: pa.Schema, count: int) -> Any:
        """Return exact rows of `count` blocks with noise.

        A number of partitions that is given does not change with them.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        parts = exact.repartition(max(1, min(count, self._shuffled())), "block").sortWithinPartitions("block")
        return parts.mapInArrow(blocks, from_arrow_schema(schema))

    def _shuffled(self) -> int:
        return int(self._runner.session.conf.get("spark.sql.shuffle.partitions"))


def _new_folders(session: Any, folder: str) -> list[tuple[Any, Any, bool]]:
    """Return the missing folders of an answer, each with its file system.

    The innermost comes first, those around it follow.

    Also whether it is deleted with what is in it. None on Spark Connect.
    """
    folders: list[tuple[Any, Any, bool]] = []
    with suppress(Exception):
        keys, path = map(session.sparkContext._jvm.org.apache.hadoop.fs.Path, (f"{folder}-keys", folder))
        files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
        folders = [(files, keys, True), (files, path, True)]
        while (path := path.getParent()) is not None and not files.exists(path):
            folders.append((files, path, False))
    return folders


def _remove(new: list[tuple[Any, Any, bool]]) -> None:
    for files, path, whole in new:
        with suppress(Exception):  # which has something in it: of somebody else
            files.delete(path, whole)


def _view(folder: str) -> str:
    return f"deniable_{folder.rpartition('/')[2]}"


def _sample(plan: PricedPlan) -> tuple[PricedPlan, pa.Table]:
    """Return the plan where a search gave one tuple of unknown values.

    Its first group comes with it; there is nothing in that group.
    """
    keys = arrow_schema(plan.query.question.sought)
    numbers = ["block", "cell", *(f"a{index}" for index in range(len(plan.parts)))]
    row = {name: pa.array([0]) for name in numbers} | {key.name: pa.nulls(1, key.type) for key in keys}
    return plan.on([(None,) * len(keys)] if len(keys) else None), pa.table(row)


def _exact(plan: PricedPlan, generator: Generator, secret: bytes, view: str) -> str:
    """Return the statement whose rows are all the groups.

    (block, cell, keys from the search, exact integers).
    """
    question = plan.query.question
    columns = [f"cell DIV {GROUPS} AS block", "cell"]
    joins = ""
    layers = ""
    if question.unknown:
        after = question.axes[[axis.indices for axis in question.axes].index(question.unknown) + 1 :]
        inner = prod(len(axis.values or ()) for axis in after)
        layers = f"WITH {FOUND} AS (SELECT * FROM {view}) "
        joins = f" JOIN {FOUND} ON position = cell DIV {inner} % {max(1, len(question.found_keys or ()))}"
        columns += question.sought
    for number, (indices, statement) in enumerate(generator.statements(plan, secret=secret)):
        names = [f"a{index}" for index in indices]
        joins += f" LEFT JOIN ({statement}) AS s{number}(cell, {', '.join(names)}) USING (cell)"
        columns += [f"coalesce({name}, 0) AS {name}" for name in names]
    cells = f"(SELECT CAST(id AS INT) AS cell FROM range({question.cells})) AS cells"
    return f"{layers}SELECT {', '.join(columns)} FROM {cells}{joins}"
