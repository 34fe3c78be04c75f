"""Makes the benchmark table: `python benchmarks/query/table.py 20000000 OUT.parquet`.

Visits of power-law users (a tenth as many users as rows, exponent 0.8), 50 regions, lognormal values, in random order.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_AT_ONCE = 2_000_000
SCHEMA = pa.schema([("user_id", pa.int64()), ("region", pa.int32()), ("value", pa.float64())])


def make(rows: int, path: Path) -> None:
    rng = np.random.default_rng(20261121)
    users, power = max(10, rows // 10), 0.2
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for start in range(0, rows, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, rows - start)
            rank = (1 + rng.random(size) * (users**power - 1)) ** (1 / power) - 1
            columns = [
                rank.astype(np.int64) * 2_654_435_761 % 2**40,
                rng.integers(0, 50, size, dtype=np.int32),
                rng.lognormal(3.0, 1.0, size),
            ]
            writer.write_table(pa.table(columns, schema=SCHEMA), row_group_size=500_000)


if __name__ == "__main__":
    make(int(float(sys.argv[1])), Path(sys.argv[2]))
