"""Arrow tables are made readable, or refused without quoting a row."""

from datetime import datetime

import duckdb
import pyarrow as pa
import pytest

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


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.duration("ms"), pa.timestamp("s", "UTC")])
def test_durations_and_moments_that_duckdb_stops_at_are_missing_in_lists_too(kind: pa.DataType) -> None:
    """One duration of 2^62 seconds made every question about its column fail, after it was paid."""
    column = pa.array([5, 2**62, None, -(2**62)]).cast(kind)
    lists = pa.ListArray.from_arrays(pa.array(range(5), pa.int32()), column)
    made = readable(pa.table({"c": column, "l": lists, "s": pa.StructArray.from_arrays([column], ["a"])}))
    with duckdb.connect() as connection:
        connection.register("made", made)
        found = connection.execute("SELECT count(c::VARCHAR), count(l::VARCHAR), count(s::VARCHAR) FROM made")
        assert found.fetchall() == [(1, 2, 2)]  # a list of NULL is a list
