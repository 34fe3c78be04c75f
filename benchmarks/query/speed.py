"""How fast is a private answer beside the same question without privacy, and beside other libraries?

python benchmarks/query/speed.py TABLE.parquet [--opendp-python PATH] [--rounds 5] [--output FILE.md]

Every figure is the median over rounds; each round goes through all rows of the table in turn, so that a slow spell of
the machine meets all of them, and gives each a process of its own, which warms up with one answer. The two slowest
are asked once, cold. The table is made by table.py.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

ROWS, GROUPS, CLIP = 2, 3, 200
AVERAGE = "SELECT region, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM t GROUP BY region"
BOUNDED = "SELECT region, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY region"
TOTAL = "SELECT COUNT(*) AS n, SUM(value) AS s FROM t"
Work = Callable[[], object]


def ours(path: str, *, text: str, user: bool, memory: str | None = None, **bounds: int) -> Work:
    import deniable as dn

    db = dn.connect(
        path,
        name="t",
        unit="user_id" if user else dn.each_row("visit"),
        budget=dn.Budget(epsilon=1000),
        columns={"region": dn.Keys(range(50)), "value": dn.Number(lower=0, upper=CLIP)},
        memory=memory,
        threads=2,
        **bounds,
    )
    return lambda: db.sql(text, epsilon=1, fresh=True)


def duckdb_sql(text: str) -> Work:
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    return lambda: connection.execute(text).fetchall()


def duckdb_plain(path: str) -> Work:
    value = f"least(greatest(value, 0), {CLIP})"
    return duckdb_sql(f"SELECT region, count(*), sum({value}), avg({value}) FROM '{path}' GROUP BY 1")


def duckdb_windows(path: str) -> Work:
    """The way of the manual: two window functions."""
    return duckdb_sql(
        f"WITH kept AS (SELECT user_id, region, value FROM '{path}' "
        f"QUALIFY row_number() OVER (PARTITION BY user_id, region ORDER BY hash(value)) <= {ROWS}), "
        f"ranked AS (SELECT *, dense_rank() OVER (PARTITION BY user_id ORDER BY hash(region)) AS place FROM kept) "
        f"SELECT region, count(*), sum(least(greatest(value, 0), {CLIP})) "
        f"FROM ranked WHERE place <= {GROUPS} GROUP BY 1"
    )


def polars_plain(path: str) -> Work:
    import polars as pl

    value = pl.col("value").clip(0, CLIP)
    lazy = pl.scan_parquet(path).group_by("region").agg(pl.len(), value.sum().alias("s"), value.mean().alias("m"))
    return lambda: lazy.collect(engine="streaming")


def polars_rows_and_groups(path: str) -> Work:
    """Random rows of a user in a region, then random regions of a user: what the bounds mean, to the letter."""
    import polars as pl

    value = pl.col("value").clip(0, CLIP)
    kept = pl.scan_parquet(path).filter(pl.int_range(pl.len()).shuffle().over("user_id", "region") < ROWS)
    pairs = kept.group_by("user_id", "region").agg(pl.len().alias("c"), value.sum().alias("s"))
    chosen = pairs.filter(pl.int_range(pl.len()).shuffle().over("user_id") < GROUPS)
    lazy = chosen.group_by("region").agg(pl.col("c").sum(), pl.col("s").sum())
    return lazy.collect


def polars_means_and_groups(path: str) -> Work:
    """Our own plan, written in Polars without privacy: means of a user's rows, then random regions of a user."""
    import polars as pl

    value = pl.col("value").clip(0, CLIP)
    pairs = pl.scan_parquet(path).group_by("user_id", "region").agg(pl.len().alias("c"), value.sum().alias("s"))
    chosen = pairs.filter(pl.int_range(pl.len()).shuffle().over("user_id") < GROUPS)
    share = pl.col("s") * (ROWS / pl.col("c")).clip(upper_bound=1)
    lazy = chosen.group_by("region").agg(pl.col("c").clip(0, ROWS).sum(), share.sum())
    return lazy.collect


def polars_rows(path: str) -> Work:
    """Ten random rows of a user."""
    import polars as pl

    kept = pl.scan_parquet(path).filter(pl.int_range(pl.len()).shuffle().over("user_id") < 10)
    lazy = kept.select(pl.len(), pl.col("value").clip(0, CLIP).sum())
    return lazy.collect


def polars_rows_by_region(path: str) -> Work:
    import polars as pl

    kept = pl.scan_parquet(path).filter(pl.int_range(pl.len()).shuffle().over("user_id") < 10)
    lazy = kept.group_by("region").agg(pl.len(), pl.col("value").clip(0, CLIP).sum())
    return lazy.collect


def opendp(path: str) -> Work:
    """Ten rows of a user. (Bounding regions too, by truncate_num_groups, stops in version 0.16 with a name clash.)"""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    value = pl.col("value").fill_nan(0.0).fill_null(0.0)
    keys = pl.LazyFrame({"region": list(range(50))}, schema={"region": pl.Int32})
    margins = [dp.polars.Margin(by=["region"], max_length=40_000_000, max_groups=50, invariant="keys")]

    def answer() -> object:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=margins,
        )
        query = context.query()
        query = query.truncate_per_group(10)
        query = query.group_by("region").agg(dp.len(signed=True), value.dp.sum((0.0, float(CLIP))))
        return query.with_keys(keys).release().collect()

    return answer


CASES: dict[str, tuple[str, str, Callable[[str], Work]]] = {
    # name: (question, who, work)
    "plain-duckdb": ("count, sum, average by region; a row is a unit", "DuckDB, not private", duckdb_plain),
    "plain-polars": ("count, sum, average by region; a row is a unit", "Polars, not private", polars_plain),
    "plain-ours": (
        "count, sum, average by region; a row is a unit",
        "deniable",
        lambda path: ours(path, text=AVERAGE, user=False),
    ),
    "bounded-ours": (
        f"count, sum by region; {ROWS} rows, {GROUPS} regions a user",
        "deniable",
        lambda path: ours(path, text=BOUNDED, user=True, rows=ROWS, groups=GROUPS),
    ),
    "bounded-ours-1gb": (
        f"count, sum by region; {ROWS} rows, {GROUPS} regions a user",
        'deniable, memory="1GB"',
        lambda path: ours(path, text=BOUNDED, user=True, rows=ROWS, groups=GROUPS, memory="1GB"),
    ),
    "bounded-polars": (
        f"count, sum by region; {ROWS} rows, {GROUPS} regions a user",
        "Polars, not private, random rows",
        polars_rows_and_groups,
    ),
    "bounded-polars-means": (
        f"count, sum by region; {ROWS} rows, {GROUPS} regions a user",
        "Polars, not private, our plan",
        polars_means_and_groups,
    ),
    "bounded-duckdb": (
        f"count, sum by region; {ROWS} rows, {GROUPS} regions a user",
        "DuckDB, not private, windows",
        duckdb_windows,
    ),
    "ten-ours": (
        "count, sum; 10 rows a user",
        "deniable",
        lambda path: ours(path, text=TOTAL, user=True, rows=10),
    ),
    "ten-polars": ("count, sum; 10 rows a user", "Polars, not private, random rows", polars_rows),
    "spread-ours": (
        "count, sum by region; 10 rows a user in all",
        "deniable",
        lambda path: ours(path, text=BOUNDED, user=True, total_rows=10),
    ),
    "spread-polars": (
        "count, sum by region; 10 rows a user in all",
        "Polars, not private, random rows",
        polars_rows_by_region,
    ),
    "spread-opendp": (
        "count, sum by region; 10 rows a user in all",
        "OpenDP with Polars",
        opendp,
    ),
}
ONCE = {"bounded-duckdb", "bounded-polars"}  # slow: one round


def serve(case: str, path: str) -> None:
    """Answer once to warm up and once for the record; print the seconds and the peak memory in megabytes."""
    work = CASES[case][2](path)
    if case not in ONCE:
        work()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def measure(path: str, rounds: int, opendp_python: str | None) -> dict[str, tuple[float, float]]:
    """Median seconds and peak megabytes by case; one process at a time, in turn."""
    found: dict[str, list[list[float]]] = {}
    for turn in range(rounds):
        for case in CASES:
            python = opendp_python if case.endswith("opendp") else sys.executable
            if python is None or (turn and case in ONCE):
                continue
            command = [python, "-W", "ignore", __file__, path, "--serve", case]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode == 0:
                found.setdefault(case, []).append(json.loads(done.stdout))
    return {
        case: (statistics.median(row[0] for row in rows), max(row[1] for row in rows)) for case, rows in found.items()
    }


def start_up(rounds: int) -> list[tuple[str, float, float]]:
    """(what, wall seconds, CPU seconds) of whole processes, medians."""
    small = Path(__file__).with_name("small.csv")
    small.write_text("age\n" + "\n".join(str(20 + number % 50) for number in range(1000)) + "\n")
    first = (
        "import deniable as dn\n"
        f"db = dn.connect({str(small)!r}, name='t', unit=dn.each_row(), budget=dn.Budget(epsilon=1), "
        "columns={'age': dn.Number(lower=0, upper=100, integer=True)})\n"
        "print(db.sql('SELECT COUNT(*) AS n, AVG(age) AS a FROM t', epsilon=1))"
    )
    found = []
    for what, code in (("import deniable", "import deniable"), ("first answer, from process start to print", first)):
        walls, cpus = [], []
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            walls.append(time.perf_counter() - began)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found.append((what, statistics.median(walls), statistics.median(cpus)))
    small.unlink()
    return found


def report(measured: dict[str, tuple[float, float]], starts: list[tuple[str, float, float]], path: str) -> str:
    import pyarrow.parquet as pq

    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("duckdb", "polars", "pyarrow"))
    lines = [
        "# Queries: speed",
        "",
        f"{pq.read_metadata(path).num_rows:,} rows of Parquet, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {versions}. "
        "Median seconds of one run; the ratio is to deniable on the same question.",
        "",
        "| question | who | seconds | ratio | peak MB |",
        "|---|---|---|---|---|",
    ]
    for case, (seconds, memory) in measured.items():
        question, who, _ = CASES[case]
        own = measured[f"{case.split('-')[0]}-ours"][0]
        lines.append(f"| {question} | {who} | {seconds:.2f} | {seconds / own:.2f} | {memory:,.0f} |")
    lines += ["", "| start | seconds | CPU seconds |", "|---|---|---|"]
    lines += [f"| {what} | {wall:.2f} | {cpu:.2f} |" for what, wall, cpu in starts]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--opendp-python", help="an interpreter that has opendp[polars]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.table)
        return
    text = report(measure(options.table, options.rounds, options.opendp_python), start_up(5), options.table)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
