"""Arrow tables are made readable, or refused without quoting a row."""

from datetime import datetime

import pyarrow as pa
import pytest

from deniable.errors import SourceError
from deniable.query.backends.duckdb_arrow import readable


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


def test_broken_text_is_refused_without_quoting_it() -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\6\0\0\0"), pa.py_buffer(b"secret\xff"[1:]))
    with pytest.raises(SourceError) as caught:
        readable(pa.table({"a": broken}))
    assert "ecret" not in str(caught.value)
    assert caught.value.__context__ is None
