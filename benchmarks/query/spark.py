"""What do noisy answers for millions of groups cost on Spark, beside the plain GROUP BY, and does the driver keep out?

PYTHONPATH=src:.spark python benchmarks/query/spark.py [ROWS]

Every setting is a process of its own: ROWS rows on one and on two threads, and four times as many on two. Half of the
rows have a user each, the groups are a million pairs that are declared, or as many keys as a tenth of the rows that are
not. Both questions end in Parquet files; the plain one has no bounds on users and no noise. What the driver does is the
time of its own Python process, and how much memory that has had at most, Java not included.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn

GROUPS = 1000  # declared, on either axis
TEXTS = {
    "declared": "SELECT g, h, COUNT(*) AS n, AVG(x) AS mean FROM t GROUP BY g, h",
    "found": "SELECT w, COUNT(*) AS n FROM t GROUP BY w",
}


def make(rows: int, path: Path) -> None:
    path.mkdir()
    for part in range(4):
        rng, size = np.random.default_rng(part), rows // 4
        table = {"u": rng.integers(0, max(1, rows // 2), size)}
        table |= {"g": rng.integers(0, GROUPS, size), "h": rng.integers(0, GROUPS, size), "x": rng.random(size)}
        names = pa.array(rng.integers(0, max(1, rows // 10), size)).cast(pa.string())
        pq.write_table(pa.table(table).append_column("w", names), path / f"{part}.parquet")


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and those of this process."""
    began, own = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - own


def child(threads: int, rows: int, kind: str) -> dict[str, float]:
    from pyspark.sql import SparkSession

    from deniable.query.engines.spark.runner import SETTINGS

    warnings.simplefilter("ignore")
    own = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "4g"}
    own |= {"spark.sql.shuffle.partitions": "8", "spark.log.level": "ERROR", **SETTINGS}
    spark = SparkSession.builder.master(f"local[{threads}]").config(map=own).getOrCreate()
    folder = Path(tempfile.mkdtemp(prefix="deniable-spark-"))
    try:
        make(rows, folder / "t")
        frame = spark.read.parquet(str(folder / "t"))
        keys = dn.Keys(range(GROUPS))
        db = dn.connect(
            frame,
            name="t",
            unit="u",
            rows=2,
            groups=2,
            columns={"g": keys, "h": keys, "x": dn.Number(lower=0, upper=1)},
            budget=dn.Budget(epsilon=100, delta=1e-5),
        )
        plain = TEXTS[kind].replace("FROM t", f"FROM parquet.`{folder / 't'}`")
        price = {"epsilon": 8} | ({"delta": 1e-6} if kind == "found" else {})
        spark.sql(plain).write.parquet(f"{folder}/warm")
        db.write(f"SELECT COUNT(*) AS n{threads} FROM t", f"{folder}/warm", epsilon=1)
        wide, _ = timed(lambda: spark.sql(plain).write.parquet(f"{folder}/plain"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        noisy, driver = timed(lambda: db.write(TEXTS[kind], f"{folder}/noisy", **price))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        return {"plain": wide, "noisy": noisy, "driver": driver, "grown": grown}
    finally:
        spark.stop()
        shutil.rmtree(folder)


def main(rows: int) -> None:
    print(f"{'groups':9} {'threads':>7} {'rows':>11} {'plain s':>8} {'noisy s':>8} {'ratio':>6} {'us a row':>9}"
          f" {'driver s':>9} {'driver MiB':>11}")  # fmt: skip
    for kind in TEXTS:
        for threads, many in ((1, rows), (2, rows), (2, 4 * rows)):
            call = [sys.executable, __file__, str(threads), str(many), kind]
            where = os.environ | {"PYSPARK_PYTHON": sys.executable}
            done = subprocess.run(call, check=True, capture_output=True, text=True, env=where)
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{kind:9} {threads:7} {many:11,} {found['plain']:8.1f} {found['noisy']:8.1f} "
                f"{found['noisy'] / found['plain']:6.2f} {1e6 * found['noisy'] / many:9.2f} "
                f"{found['driver']:9.2f} {found['grown']:11.0f}",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(child(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000)
