"""Arrow tables are made readable, or refused without quoting a row."""

from datetime import datetime

import pyarrow as pa

from deniable.query.engines.duckdb.arrow import readable


def test_moments_outside_every_calendar_are_missing() -> None:
    table = pa.table(
        {
            "s": pa.array([0, 2**62, None], type=pa.int64()).cast(pa.timestamp("s")),
            "ms": pa.array([1000, -(2**62), 5], type=pa.int64()).cast(pa.timestamp("ms", "Europe/Berlin")),
            "us": pa.array([1, 2, 3], type=pa.timestamp("us")),
        }
    )
    made = readable(table)
    assert made["s"].to_pylist() == [datetime(1970, 1, 1), None, None]
    assert made["ms"].null_count == 1
    assert made["us"].equals(table["us"])


def test_values_that_their_type_does_not_allow_are_missing_alone() -> None:
    """One row with broken text, which anybody may own, made all other rows unreadable."""
    broken = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\6\0\0\0\7\0\0\0"), pa.py_buffer(b"secret\xff"))
    days = pa.array([86_400_000, 5]).view(pa.date64())
    made = readable(pa.table({"a": broken, "b": days, "c": [[1], [2]]}))
    assert made["a"].to_pylist() == ["secret", None]
    assert made["b"].null_count == 1
    assert made["c"].to_pylist() == [[1], [2]]
