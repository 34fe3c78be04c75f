"""Noise on executors: one draw for one exact number, however often Spark computes it. Under `make spark`, for real."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import ExecutionError, UnsupportedQueryError
from deniable.mechanisms import Gaussian, StabilityHistogram
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits, DeterministicBits, Streams
from deniable.privacy import AddRemove, of_count
from deniable.query.catalog import DeclaredTable
from deniable.query.engines.spark import executors
from deniable.query.engines.spark.executors import GroupBlocks, answered, copy_of_deniable, shown, tell_copy
from deniable.query.expression import Kind
from deniable.query.keys import KeySearch
from tests.query.conftest import plan_of

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")
SIZE = 7  # groups of a block
UNIT = dn.PrivacyUnit(column="who", noun="person")
TABLE = DeclaredTable(
    name="t",
    schema={"who": Kind.INTEGER, "k": Kind.INTEGER, "x": Kind.INTEGER},
    unit=UNIT,
    columns={"k": dn.Keys(range(20)), "x": dn.Number(lower=0, upper=2**53)},
)
PLAN = plan_of(TABLE, "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k")
EXACT = pa.table(
    {
        "block": [cell // SIZE for cell in range(20)],
        "cell": [*range(20)],
        "a0": [100 * cell for cell in range(20)],
        "a1": pa.array([2**100 if cell == 3 else cell for cell in range(20)], pa.decimal128(38, 0)),
    }
)
OCCUR = pa.table(
    {"block": [0] * 40 + [1] * 60, "k0": [f"w{n:02}" for n in range(100)], "weight": [n % 50 for n in range(100)]}
)
SEARCH = KeySearch(
    mechanism=StabilityHistogram(noise=Gaussian(sigma_squared=Fraction(25)), threshold=20, failure=Fraction(1, 10)),
    sensitivity=of_count(rows=1, groups=1, relation=AddRemove),
    steps=1,
    groups=1,
    noun="person",
    price=Price(epsilon=1),
)
BOTH = [(EXACT, ("cell",), partial(answered, PLAN, intervals=True)), (OCCUR, ("k0",), partial(shown, SEARCH))]
Work = Callable[[pa.Table, Bits], pa.Table]


def batches(table: pa.Table, rng: np.random.Generator) -> Iterator[Iterator[pa.RecordBatch]]:
    """The table as Spark may have it: whole blocks on two executors, their rows in any order and any batches."""
    blocks = table.column("block").to_numpy()
    for part in np.array_split(rng.permutation(np.unique(blocks)), 2):
        rows = np.concatenate([rng.permutation(np.flatnonzero(blocks == block)) for block in part])
        ends = np.sort(rng.integers(0, len(rows) + 1, 6))
        yield (piece for cut in np.split(rows, ends) for piece in (table.take(cut).combine_chunks().to_batches()))


def released(table: pa.Table, blocks: GroupBlocks, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return sorted(str(row) for part in batches(table, rng) for made in blocks(part) for row in made.to_pylist())


@pytest.mark.parametrize(("table", "keys", "work"), BOTH)
def test_a_repeat_is_the_same_release(table: pa.Table, keys: tuple[str, ...], work: Work) -> None:
    """Executors, orders, batches and attempts decide nothing; another key, or another release, decides all."""
    streams = Streams(SECURE)
    blocks = GroupBlocks(work, keys, streams)
    first = released(table, blocks, 0)
    assert all(released(table, blocks, seed) == first for seed in range(1, 6))
    next(blocks(next(batches(table, np.random.default_rng(9)))), None)  # a task that dies in the middle
    assert released(table, blocks, 7) == first
    assert released(table, GroupBlocks(work, keys, Streams(SECURE)), 0) != first


@pytest.mark.parametrize(("table", "keys", "work"), BOTH)
def test_without_its_guards_a_repeat_is_another_draw(table: pa.Table, keys: tuple[str, ...], work: Work) -> None:
    """Twins: bits of the executor's own, one stream for all blocks of a task, and rows as they come."""
    streams = Streams(DeterministicBits(5))

    class One(Streams):
        def stream(self, number: int, whole: Bits = streams.stream(0)) -> Bits:  # noqa: B008 - one for all
            return whole

    block = {"cell": "block", "k0": "block"}[keys[0]]
    broken = [
        GroupBlocks(lambda rows, bits: work(rows, SECURE), keys, streams),
        GroupBlocks(work, keys, One(DeterministicBits(5))),
        GroupBlocks(work, (block,), streams),
    ]
    for blocks in broken:
        assert len({str(released(table, blocks, seed)) for seed in range(4)}) > 1


def test_each_group_has_the_noise_of_its_block_and_of_the_law() -> None:
    """By another route: mechanisms on the exact numbers of a block, in the order of the groups."""
    streams = Streams(DeterministicBits(3))
    rows = [row for part in batches(EXACT, np.random.default_rng(0)) for made in GroupBlocks(
        partial(answered, PLAN, intervals=True), ("cell",), streams)(part) for row in made.to_pylist()]  # fmt: skip
    found = {row["k"]: (row["n"], row["s"]) for row in rows}
    assert sorted(found) == [*range(20)]
    assert all(row["unsafe_test_noise"] for row in rows)
    for block in range(3):
        cells = range(block * SIZE, min(20, (block + 1) * SIZE))
        bits = streams.stream(block)
        noisy = [
            part.mechanism.release(
                [int(row[f"a{place}"]) for row in EXACT.to_pylist() if row["cell"] in cells], bits=bits
            )
            for place, part in enumerate(PLAN.parts)  # type: ignore[attr-defined]
        ]
        assert [found[cell][0] for cell in cells] == noisy[0].value.tolist()
        assert [float(found[cell][1]) for cell in cells] == [*map(float, noisy[1].value)]
    draws = Counter(found[cell][0] - 100 * cell for cell in range(20))
    assert len(draws) > 5  # of Laplace noise of scale 2: no two blocks share their draws


def test_keys_below_the_threshold_never_leave() -> None:
    rows = [row for part in batches(OCCUR, np.random.default_rng(0)) for made in GroupBlocks(
        partial(shown, SEARCH), ("k0",), Streams(DeterministicBits(1)))(part) for row in made.to_pylist()]  # fmt: skip
    weight = dict(zip(OCCUR["k0"].to_pylist(), OCCUR["weight"].to_pylist(), strict=True))
    assert 20 < len(rows) < 80
    assert all(set(row) == {"block", "k0", "place"} and weight[row["k0"]] > 0 for row in rows)
    for block in (0, 1):
        places = [row["place"] for row in rows if row["block"] == block]
        assert sorted(places) == [*range(len(places))]


def test_another_copy_of_deniable_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an executor would draw decides, and its version: a guard in each task, whatever the rehearsal met."""
    blocks, mine = GroupBlocks(partial(answered, PLAN, intervals=True), ("cell",), Streams(SECURE)), copy_of_deniable()
    sent, stream = pickle.dumps(blocks), type(Streams(SECURE).stream(0))
    words = stream.words
    for owner, name, other in (
        (dn, "__version__", "0.0.9"),
        (stream, "words", lambda self, count: words(self, count) ^ np.uint64(1 << 63)),
    ):
        with monkeypatch.context() as executor:
            executor.setattr(owner, name, other)
            copy_of_deniable.cache_clear()
            assert next(tell_copy([EXACT.to_batches()[0]]))["copy"].to_pylist() != [mine]
            with pytest.raises(ExecutionError):
                released(EXACT, pickle.loads(sent), 0)
        copy_of_deniable.cache_clear()
    assert len(released(EXACT, pickle.loads(sent), 0)) == 20


# On Spark, by hand ------------------------------------------------------------------------------------------------


def connected(spark: Any, folder: Path, **how: Any) -> Any:
    rng = np.random.default_rng(3)
    who = rng.integers(0, 3000, 20_000)
    table = pa.table({"who": who, "k": who % 2000, "w": [f"w{n}" for n in who % 60], "x": rng.random(20_000)})
    pq.write_table(table, folder / "t.parquet")
    columns = {"k": dn.Keys(range(50_000)), "x": dn.Number(lower=0, upper=1)}
    frame = spark.read.parquet(str(folder / "t.parquet"))
    return dn.connect(frame, name="t", unit="who", columns=columns, budget=dn.Budget(epsilon=2000, delta=1e-6), **how)


TEXT = "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k"


def test_spark_writes_every_group_once_and_pays_first(spark: Any, tmp_path: Path) -> None:
    db = connected(spark, tmp_path, rows=5)
    frame = db.write(TEXT, f"{tmp_path}/out", epsilon=900, intervals=True)
    rows = {row["k"]: row for row in frame.collect()}
    assert sorted(rows) == [*range(50_000)]
    small = db.sql(TEXT, epsilon=900)  # beside which the noise is nothing
    assert max(abs(rows[row["k"]]["n"] - row["n"]) for row in small) <= 2
    assert set(frame.columns) == {"k", "n", "n_lower", "n_upper", "m", "m_lower", "m_upper"}
    again = db.write(TEXT, f"{tmp_path}/elsewhere", epsilon=900, intervals=True)
    assert again.inputFiles() == frame.inputFiles()
    assert len(db.ledger.entries()) == 2
    for text, folder, words in (
        (f"{TEXT} ORDER BY n", "out", "no ORDER BY"),
        ("SELECT MEDIAN(x) FROM t", "out", "counts, sums"),
        ("SELECT COUNT(*) FROM t", "t.parquet/under", "cannot write"),
    ):
        with pytest.raises(UnsupportedQueryError, match=words):
            db.write(text, f"{tmp_path}/{folder}", epsilon=1)
    assert len(db.ledger.entries()) == 2


def test_what_is_refused_on_spark_leaves_no_folder(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(work: Work, keys: tuple[str, ...], streams: Streams) -> Any:
        def attempt(given: Any) -> Any:
            raise RuntimeError("no right")
            yield from given

        return attempt

    db = connected(spark, tmp_path)
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr(executors, "GroupBlocks", failing)
    for folder in ("out/deep", "mine"):
        with pytest.raises(UnsupportedQueryError, match="cannot write"):
            db.write(TEXT, f"{tmp_path}/{folder}", epsilon=1)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["mine"]
    monkeypatch.setattr(executors, "copy_of_deniable", lambda: "0.0.9 with noise 12345678")
    with pytest.raises(UnsupportedQueryError, match=r"and the driver 0\.0\.9.*PYSPARK_PYTHON"):
        db.write(TEXT, f"{tmp_path}/out", epsilon=1)
    assert not db.ledger.entries()
    assert not (tmp_path / "out").exists()


def test_spark_finds_keys_and_counts_in_them(spark: Any, tmp_path: Path) -> None:
    """A unit has one word, so nothing is cut; a word of nobody but one unit does not leave."""
    db = connected(spark, tmp_path, rows=20)
    text = "SELECT w, k % 2 AS odd, COUNT(*) AS n, COUNT(DISTINCT who) AS units FROM t GROUP BY w, k % 2"
    frame = db.write(text, f"{tmp_path}/out", epsilon=900, delta=1e-7)
    written = {(row["w"], row["odd"]): (row["n"], row["units"]) for row in frame.collect()}
    views = {each.name for each in spark.catalog.listTables()}
    assert f"deniable_{Path(frame.inputFiles()[0]).parent.name}" not in views
    small = {(row["w"], row["odd"]): (row["n"], row["units"]) for row in db.sql(text, epsilon=900, delta=1e-7)}
    assert written.keys() == small.keys()
    assert {word for word, _ in written} == {f"w{n}" for n in range(60)}
    assert max(abs(one - other) for key in small for one, other in zip(written[key], small[key], strict=True)) <= 4


def test_a_task_that_failed_draws_the_same_again(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the attempts of each task drew is noted; the first fails in the middle, and the frame is computed twice."""
    db = connected(spark, tmp_path)
    notes = tmp_path / "notes"
    notes.mkdir()

    def failing(work: Work, keys: tuple[str, ...], streams: Streams) -> Any:
        def attempt(given: Any) -> Any:
            from pyspark import TaskContext

            task = TaskContext.get()
            assert task is not None
            made = list(GroupBlocks(work, keys, streams)(given))
            if sum(batch.num_rows for batch in made) > 1:  # no rehearsal
                name = notes / f"{task.partitionId()}-{task.attemptNumber()}-{task.taskAttemptId()}"
                name.write_text(str([batch.to_pydict() for batch in made]))
                if task.attemptNumber() == 0:
                    yield from islice(made, 1)
                    raise RuntimeError("lost")
            yield from made

        return attempt

    monkeypatch.setattr(executors, "GroupBlocks", failing)
    frame = db.write("SELECT k, COUNT(*) AS n FROM t GROUP BY k", f"{tmp_path}/out", epsilon=1)
    first = sorted(map(tuple, frame.collect()))
    assert sorted(map(tuple, frame.collect())) == first
    assert len(first) == 50_000
    attempts: dict[str, set[str]] = {}
    for note in notes.iterdir():
        attempts.setdefault(note.name.split("-")[0], set()).add(note.read_text())
    assert len(list(notes.iterdir())) == 2 * len(attempts) > 2
    assert all(len(drawn) == 1 for drawn in attempts.values())
