"""Two workers, one of which is killed in the middle: the same integers, one draw of noise, one payment, whole files."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import ExecutionError, UnsupportedQueryError
from deniable.noise.bits import Streams
from deniable.query.engines.spark import executors
from deniable.query.engines.spark.executors import GroupBlocks, SparkEngine
from tests.query.conftest import SECRET
from tests.query.engines.spark.cluster import Cluster, wait_for
from tests.query.engines.spark.conftest import EXECUTORS
from tests.query.engines.spark.conftest import executors as running
from tests.query.engines.spark.test_executors import Work

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")
GROUPS = 20_000  # two blocks
TEXT = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k"


@pytest.fixture
def workers(cluster: Cluster, spark: Any) -> Iterator[Cluster]:
    """The cluster, which has both workers again afterwards."""
    yield cluster
    for name in cluster.lost():
        cluster.start_worker(name)
    wait_for(lambda: running(spark) == EXECUTORS, "two executors")


def connected(spark: Any, folder: Path, rows: int = 60_000) -> Any:
    rng = np.random.default_rng(4)
    who = rng.integers(0, 9000, rows)
    pq.write_table(pa.table({"who": who, "k": who % 50, "x": rng.integers(0, 9, rows)}), folder / "t.parquet")
    columns = {"k": dn.Keys(range(GROUPS)), "x": dn.Number(lower=0, upper=8)}
    frame = spark.read.parquet(str(folder / "t.parquet"))
    return dn.connect(frame, name="t", unit="who", rows=9, columns=columns, budget=dn.Budget(epsilon=9))


def test_a_worker_killed_in_a_question_changes_no_integer(spark: Any, workers: Cluster, tmp_path: Path) -> None:
    db = connected(spark, tmp_path, rows=400_000)
    plan = db.explain(TEXT, epsilon=1).plan
    expected = [part.tolist() for part in db._engine.exact(plan, secret=SECRET)]
    status = spark.sparkContext.statusTracker()

    def stages() -> list[Any]:
        infos = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        return [info for info in infos if info is not None and info.numActiveTasks]

    spark.conf.set("spark.sql.files.maxPartitionBytes", "100k")  # many tasks
    try:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(partial(db._engine.exact, plan, secret=SECRET))
            wait_for(lambda: asked.done() or any(info.numCompletedTasks for info in stages()), "a task that is done")
            workers.kill("one")
            assert not asked.done()
            found = [part.tolist() for part in asked.result()]
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert found == expected
    answer = db.sql(TEXT, epsilon=1)
    assert answer.to_dicts() == db.sql(TEXT, epsilon=1).to_dicts()
    assert len(db.ledger.entries()) == 1


def test_a_worker_killed_while_noise_is_written_draws_no_other(
    spark: Any, workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt notes what it drew. The first one draws a block, waits, and is killed with its machine."""
    db, notes = connected(spark, tmp_path), tmp_path / "notes"
    notes.mkdir()

    def noting(work: Work, keys: tuple[str, ...], streams: Streams) -> Any:
        def attempt(given: Any) -> Any:
            import time

            from pyspark import TaskContext

            made = list(GroupBlocks(work, keys, streams)(given))
            task = TaskContext.get()
            assert task is not None
            if sum(batch.num_rows for batch in made) > 1:  # no rehearsal
                part, number = task.partitionId(), task.taskAttemptId()
                (notes / f"{part}-{number}").write_text(str([batch.to_pydict() for batch in made]))
                yield from made[:1]
                try:
                    (notes / "stopped").symlink_to(os.getcwd())  # by one task alone
                    time.sleep(300)
                except FileExistsError:
                    made = made[1:]
            yield from made

        return attempt

    monkeypatch.setattr(executors, "GroupBlocks", noting)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(partial(db.write, TEXT, f"{tmp_path}/out", epsilon=1))
        stopped = notes / "stopped"
        wait_for(lambda: written.done() or stopped.is_symlink(), "a task")
        workers.kill(workers.worker_of(os.readlink(stopped)))
        frame = written.result()
    rows = sorted(map(tuple, frame.collect()))
    assert [row[0] for row in rows] == [*range(GROUPS)]
    attempts: dict[str, list[str]] = {}
    for note in notes.glob("*-*"):
        attempts.setdefault(note.name.split("-")[0], []).append(note.read_text())
    assert max(map(len, attempts.values())) > 1
    assert all(len(set(drawn)) == 1 for drawn in attempts.values())
    assert db.write(TEXT, f"{tmp_path}/elsewhere", epsilon=1).inputFiles() == frame.inputFiles()
    assert len(db.ledger.entries()) == 1


def test_an_answer_that_is_not_whole_is_absent(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors fail for good after the payment, or what they wrote is not where the driver reads."""

    def failing(work: Work, keys: tuple[str, ...], streams: Streams) -> Any:
        def attempt(given: Any) -> Any:
            made = list(GroupBlocks(work, keys, streams)(given))
            yield from made
            if sum(batch.num_rows for batch in made) > 1:  # no rehearsal
                raise RuntimeError("lost")

        return attempt

    db, read = connected(spark, tmp_path), SparkEngine.read
    for owner, name, other in (
        (executors, "GroupBlocks", failing),
        (SparkEngine, "read", lambda self, place: read(self, place).where("k <> 7")),
    ):
        with monkeypatch.context() as broken:
            broken.setattr(owner, name, other)
            with pytest.raises(ExecutionError):
                db.write(TEXT, f"{tmp_path}/out", epsilon=1)
        assert not (tmp_path / "out").exists()
    assert len(db.ledger.entries()) == 2
    assert db.write(TEXT, f"{tmp_path}/out", epsilon=1).count() == GROUPS
    with monkeypatch.context() as apart:
        apart.setattr(SparkEngine, "read", lambda self, place: read(self, f"{place}/nowhere"))
        with pytest.raises(UnsupportedQueryError, match="and the driver share"):
            db.write(TEXT, f"{tmp_path}/apart", epsilon=1, fresh=True)
    assert not (tmp_path / "apart").exists()
    assert len(db.ledger.entries()) == 3
