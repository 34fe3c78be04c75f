"""How long does the import of a CSV file take, and a question after it, beside DuckDB's own reader?

python benchmarks/query/files.py TABLE.parquet [--rounds 3]

The table (made by table.py) is written as CSV; then each round reads it in four ways, in turn. Medians, and ratios to
DuckDB that reads the CSV file for one query, without privacy.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import deniable as dn

FORM = dn.Csv(
    columns={
        "user_id": dn.CsvColumn(type="integer"),
        "region": dn.CsvColumn(type="integer"),
        "value": dn.CsvColumn(type="real"),
    }
)


def ways(source: Path) -> dict[str, Callable[[], object]]:
    def ask() -> object:
        db = dn.connect(
            source,
            name="t",
            unit=dn.each_row("visit"),
            budget=dn.Budget(epsilon=1),
            columns={"region": dn.Keys(range(50)), "value": dn.Number(lower=0, upper=200)},
        )
        return db.sql("SELECT region, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY region", epsilon=1)

    plain = f"SELECT region, count(*), sum(value) FROM read_csv('{source}') GROUP BY 1"
    copy = f"COPY (SELECT * FROM read_csv('{source}')) TO '{source.with_suffix('.copy')}' (FORMAT parquet)"
    return {
        "DuckDB, a query on the CSV file": lambda: duckdb.sql(plain).fetchall(),
        "DuckDB, CSV to Parquet": lambda: duckdb.sql(copy),
        "deniable, import": lambda: dn.import_csv(source, FORM),
        "deniable, a question after the import": ask,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "t.csv"
        duckdb.sql(f"COPY (SELECT * FROM '{options.table}') TO '{source}' (HEADER)")
        print(f"{source.stat().st_size / 1e6:,.0f} MB of CSV, median of {options.rounds} rounds\n")
        print("| way | seconds | ratio |\n|---|---|---|")
        seconds: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for name, work in ways(source).items():
                begin = time.perf_counter()
                work()
                seconds.setdefault(name, []).append(time.perf_counter() - begin)
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        first = next(iter(medians.values()))
        for name, median in medians.items():
            print(f"| {name} | {median:.2f} | {median / first:.1f} |")


if __name__ == "__main__":
    main()
