"""Tables of every container, entry by entry."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import read, table, width

ROWS = [[1.0, 2.0], [3.0, None]]
EXPECTED = [[1, 2], [3, np.nan]]


@pytest.mark.parametrize(
    "values",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        [np.array(row, dtype=object) for row in ROWS],
        [pl.Series(row) for row in ROWS],
        [pa.array(row) for row in ROWS],
        np.array(ROWS, dtype=float),
        np.array(ROWS, dtype=object),
        np.ma.masked_array([[1, 2], [3, 7]], mask=[[0, 0], [0, 1]]),
        np.asfortranarray(np.array(ROWS, dtype=float)),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS, dtype=object),
        pl.DataFrame(ROWS, orient="row"),
        pa.table({"a": [1.0, 3.0], "b": pa.array([2, None]).dictionary_encode()}),
    ],
    ids=lambda values: type(values).__name__,
)
def test_a_table_is_the_same_in_every_container(values: object) -> None:
    assert np.array_equal(table(values, columns=2)[0], EXPECTED, equal_nan=True)
    found, spoilt = read("rows", values, columns=2)  # type: ignore[arg-type]
    assert found[0].tolist() == [1, 2]
    assert spoilt.tolist() == [False, True]
    assert width(values) == (None if isinstance(values, list | tuple) else 2)


def test_what_is_no_table_is_refused() -> None:
    for wrong in (np.ones(3), pd.Series([1.0]), pa.array([1.0]), 3, "ab", np.ones((1, 1, 1))):
        with pytest.raises(InvalidParameterError, match="must be a table"):
            table(wrong, columns=2)
    assert table(pd.DataFrame(index=[1, 2]), columns=0)[0].shape == (2, 0)
