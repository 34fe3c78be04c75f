"""What does privacy cost in time? Every aggregate beside the fastest query of DuckDB without it.

python benchmarks/query/aggregates.py TABLE.parquet [UNITS.parquet] [--only PART] [--like TEXT] and others, see --help

The tables are made by table.py. Every round asks ours and then DuckDB's, so that a slow spell of the machine
meets both; figures are medians. Ours is all of `db.sql`: the plan, the ledger in memory, the engine and
the noise. Both have two threads, and files in the system's cache. CPU seconds, of all threads, tell more on a machine
that others use too.

DuckDB's query computes what ours does: the same clamp, and where users are bounded, the same numbers of rows and
groups, in two ways, of which the faster counts: a window function over the groups of each user, or over all rows, and
the largest hash that still counts.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator

import duckdb

import deniable as dn

ROWS, GROUPS = 2, 3
VALUE, COLUMNS = "least(greatest(value, 0), 200)", ("region", "category")
# ours, DuckDB's with the clamped value v, and whether sums a user and group suffice for it
AGGREGATES = {
    "COUNT(*)": ("count(*)", True),
    "SUM(value)": ("sum(v)", True),
    "SUM(quantity)": ("sum(quantity)", True),
    "AVG(value)": ("avg(v)", True),
    "COUNT(*) FILTER (WHERE value > 50)": ("count(*) FILTER (WHERE value > 50)", True),
    "COUNT(DISTINCT product)": ("count(DISTINCT product)", False),
    "VAR_POP(value)": ("var_pop(v)", False),
    "CORR(value, quantity)": ("corr(v, quantity)", False),
    "MEDIAN(value)": ("quantile_cont(v, 0.5)", False),
    "QUANTILE_CONT(value, 0.9)": ("quantile_cont(v, 0.9)", False),
    "MAX(value)": ("max(v)", False),
    "MODE(product)": ("mode(product)", False),
}
OF_PAIRS = {  # by what stands in a pair (n rows, s their sum, f those that pass)
    "COUNT(*)": "sum(least(n, 2))",
    "SUM(value)": "sum(s * least(1, 2 / n))",
    "SUM(quantity)": "sum(q * least(1, 2 / n))",
    "AVG(value)": "sum(s * least(1, 2 / n)) / sum(least(n, 2))",
    "COUNT(*) FILTER (WHERE value > 50)": "sum(f * least(1, 2 / n))",
}
IN_PAIRS = {
    "COUNT(*)": "",
    "SUM(value)": ", sum(v) AS s",
    "SUM(quantity)": ", sum(quantity) AS q",
    "AVG(value)": ", sum(v) AS s",
    "COUNT(*) FILTER (WHERE value > 50)": ", count(*) FILTER (WHERE value > 50) AS f",
}
Case = tuple[str, dn.Database, str, dict[str, object], list[str]]  # name, ours, text, price, DuckDB's


MEMORY: list[str] = []


def database(tables: object, *, user: bool, **bounds: int) -> dn.Database:
    facts = {
        "region": dn.Keys(range(50)),
        "category": dn.Keys(range(1000)),
        "product": dn.Keys(range(100)),
        "value": dn.Number(lower=0, upper=200),
        "quantity": dn.Number(lower=0, upper=50),
    }
    many = {"paths": {}, "columns": {"t": facts, "u": {"plan": dn.Keys(range(50))}}} if isinstance(tables, dict) else {}
    given = many or {"name": "t", "columns": facts}
    unit = "user_id" if user else dn.each_row("visit")
    limit = MEMORY[0] if MEMORY else None
    budget = dn.Budget(epsilon=10**6, delta="0.5")
    return dn.connect(tables, unit=unit, budget=budget, threads=2, memory=limit, **given, **bounds)


def by_rows(table: str) -> Iterator[Case]:
    db = database(table, user=False)
    for group in COLUMNS:
        for ours, (theirs, _) in AGGREGATES.items():
            text = f"SELECT {group}, {ours} AS a FROM t GROUP BY {group}"
            sql = f"SELECT {group}, {theirs.replace('(v', f'({VALUE}')} FROM '{table}' GROUP BY 1"
            yield f"{ours} by {group}", db, text, {"epsilon": 1}, [sql]


def by_users(table: str) -> Iterator[Case]:
    db = database(table, user=True, rows=ROWS, groups=GROUPS)
    for group in COLUMNS:
        for ours, (theirs, _) in AGGREGATES.items():
            text = f"SELECT {group}, {ours} AS a FROM t GROUP BY {group}"
            yield f"{ours} by {group}", db, text, {"epsilon": 1}, list(bounded(ours, theirs, group, f"'{table}'"))


def bounded(ours: str, theirs: str, group: str, source: str) -> Iterator[str]:
    if ours in OF_PAIRS:
        pairs = (
            f"WITH pairs AS (SELECT user_id, {group} AS g, count(*) AS n{IN_PAIRS[ours].replace('(v)', f'({VALUE})')} "
            f"FROM {source} GROUP BY 1, 2), "
        )
        yield (
            f"{pairs} ranked AS (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY hash(user_id, g)) AS r "
            f"FROM pairs) SELECT g, {OF_PAIRS[ours]} FROM ranked WHERE r <= {GROUPS} GROUP BY 1"
        )
        yield (
            f"{pairs} hashed AS (SELECT *, hash(user_id, g) AS h FROM pairs), "
            f"marks AS (SELECT user_id, list_last(min(h, {GROUPS})) AS mark FROM hashed GROUP BY 1 "
            f"HAVING count(*) > {GROUPS}) SELECT g, {OF_PAIRS[ours]} FROM hashed LEFT JOIN marks USING (user_id) "
            "WHERE mark IS NULL OR h <= mark GROUP BY 1"
        )
    else:
        yield (
            f"WITH rows AS (SELECT user_id, {group} AS g, value, quantity, product, {VALUE} AS v FROM {source}), "
            f"kept AS (SELECT * FROM rows "
            f"QUALIFY row_number() OVER (PARTITION BY user_id, g ORDER BY hash(value)) <= {ROWS}), "
            f"ranked AS (SELECT *, dense_rank() OVER (PARTITION BY user_id ORDER BY hash(g)) AS place FROM kept) "
            f"SELECT g, {theirs} FROM ranked WHERE place <= {GROUPS} GROUP BY 1"
        )


def by_join(table: str, units: str) -> Iterator[Case]:
    joined = f"(SELECT * FROM '{table}' JOIN '{units}' USING (user_id))"
    for ours, theirs in (("COUNT(*)", "count(*)"), ("SUM(value)", f"sum({VALUE})")):
        db = database({"t": table, "u": units}, user=True, rows=10, groups=1)
        text = f"SELECT plan, {ours} AS a FROM t JOIN u USING (user_id) GROUP BY plan"
        own = f"SELECT user_id, plan AS g, count(*) AS n, {theirs} AS s FROM {joined} GROUP BY 1, 2"
        total = "sum(least(n, 10))" if ours == "COUNT(*)" else "sum(s * least(1, 10 / n))"
        marks = "SELECT user_id, min(hash(g)) AS mark FROM pairs GROUP BY 1 HAVING count(*) > 1"
        same = (
            f"WITH pairs AS ({own}), marks AS ({marks}) SELECT g, {total} FROM pairs LEFT JOIN marks USING (user_id) "
            "WHERE mark IS NULL OR hash(g) <= mark GROUP BY 1"
        )
        yield f"{ours} by plan of the joined user", db, text, {"epsilon": 1}, [same]


def by_keys(table: str) -> Iterator[Case]:
    """Five million keys at 20 million rows: a number that a quarter of the rows share with others."""
    rows = duckdb.sql(f"SELECT count(*) FROM '{table}'").fetchall()[0][0]
    key = f"FLOOR(value * 1000003.0) % {rows // 4}"
    sql = f"SELECT CAST(floor(value * 1000003.0) AS BIGINT) % {rows // 4} AS k, count(*) AS n FROM '{table}' GROUP BY 1"
    text = f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY k"
    price: dict[str, object] = {"epsilon": 1, "delta": "1e-6"}
    many = sql.replace(", count(*) AS n", ", count(DISTINCT user_id) AS n")
    yield "unknown keys, a row is a unit", database(table, user=False), text, price, [sql]
    yield "unknown keys, one of a user", database(table, user=True, rows=1, groups=1), text, price, [sql]
    yield "the same beside COUNT(DISTINCT user_id)", database(table, user=True, rows=1, groups=1), text, price, [many]


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and CPU seconds."""
    began, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - busy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("units", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("rows", "users", "join", "keys"))
    parser.add_argument("--like", default="")
    parser.add_argument("--memory", help="what deniable may use; beyond it, rows go to disk")
    parser.add_argument("--alone", action="store_true", help="without DuckDB's queries, to see the peak of ours")
    options = parser.parse_args()
    MEMORY.extend([options.memory] if options.memory else [])
    parts = {
        "rows": lambda: by_rows(options.table),
        "users": lambda: by_users(options.table),
        "join": lambda: by_join(options.table, options.units) if options.units else iter(()),
        "keys": lambda: by_keys(options.table),
    }
    plain = duckdb.connect(config={"threads": 2})
    plain.execute("SET preserve_insertion_order = false")
    print("| part | question | deniable s | DuckDB s | ratio | of CPU seconds |\n|---|---|---|---|---|---|")
    for part, cases in parts.items():
        if options.only not in (None, part):
            continue
        for name, db, text, price, others in cases():
            if options.like not in name:
                continue
            works = [lambda: db.sql(text, fresh=True, **price)]  # noqa: B023
            works += [lambda sql=sql: plain.execute(sql).fetchnumpy() for sql in others if not options.alone]
            times = list(zip(*([clocked(work) for work in works] for _ in range(options.rounds)), strict=True))
            (own, busy), *rest = ([statistics.median(one) for one in zip(*each, strict=True)] for each in times)
            best, least = (min(each) for each in zip(*rest, strict=True)) if rest else (float("nan"),) * 2
            print(
                f"| {part} | {name} | {own:.2f} | {best:.2f} | {own / best:.2f} | {busy / least:.2f} |",
                flush=True,
            )
    print(f"\npeak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
