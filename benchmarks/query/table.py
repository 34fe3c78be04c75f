"""Makes the benchmark tables: `python benchmarks/query/table.py 20000000 OUT.parquet [UNITS.parquet]`.

Visits of power-law users (a tenth as many users as rows, exponent 0.8), 50 regions, 1,000 categories, 100 products,
whole quantities and lognormal values, in random order; and a row for each user, with the plan that he pays for.
Should OUT end in /, it is a folder, with a file for every 20 million rows.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_AT_ONCE, ROWS_OF_FILE = 2_000_000, 20_000_000
SCHEMA = pa.schema(
    [
        ("user_id", pa.int64()),
        ("region", pa.int32()),
        ("value", pa.float64()),
        ("category", pa.int32()),
        ("product", pa.int32()),
        ("quantity", pa.int32()),
    ]
)
UNITS = pa.schema([("user_id", pa.int64()), ("plan", pa.int32())])


def ids(ranks: "np.typing.NDArray[np.int64]") -> "np.typing.NDArray[np.int64]":
    """Numbers that look like no order at all."""
    return ranks * 2_654_435_761 % 2**40


def make(rows: int, path: Path, *, users: int, seed: int = 20261121) -> None:
    rng = np.random.default_rng(seed)
    power = 0.2
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for start in range(0, rows, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, rows - start)
            rank = (1 + rng.random(size) * (users**power - 1)) ** (1 / power) - 1
            columns = [
                ids(rank.astype(np.int64)),
                rng.integers(0, 50, size, dtype=np.int32),
                rng.lognormal(3.0, 1.0, size),
                rng.integers(0, 1000, size, dtype=np.int32),
                (100 * rng.random(size) ** 2).astype(np.int32),
                rng.integers(0, 50, size, dtype=np.int32),
            ]
            writer.write_table(pa.table(columns, schema=SCHEMA), row_group_size=500_000)


def make_units(users: int, path: Path) -> None:
    rng = np.random.default_rng(7)
    columns = [ids(np.arange(users)), rng.integers(0, 50, users, dtype=np.int32)]
    pq.write_table(pa.table(columns, schema=UNITS), path, compression="zstd")


def main(rows: int, out: str, units: str | None = None) -> None:
    users = max(10, rows // 10)
    if not out.endswith("/"):
        make(rows, Path(out), users=users)
    else:
        Path(out).mkdir(parents=True, exist_ok=True)
        for number in range(-(-rows // ROWS_OF_FILE)):
            make(min(ROWS_OF_FILE, rows), Path(out) / f"{number:03}.parquet", users=users, seed=number)
    if units:
        make_units(users, Path(units))


if __name__ == "__main__":
    main(int(float(sys.argv[1])), *sys.argv[2:])
