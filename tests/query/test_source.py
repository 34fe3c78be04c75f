"""Sources: frames of every library, files, and clear refusals."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import SourceError
from deniable.query.expression import Kind
from deniable.query.source import open_source

WANTED = {"a": Kind.INTEGER, "b": Kind.REAL, "c": Kind.TEXT}
DATA = {"a": [1, 2], "b": [0.5, None], "c": ["x", None]}


@pytest.mark.parametrize(
    "source",
    [pa.table(DATA), pd.DataFrame(DATA), pl.DataFrame(DATA), pl.DataFrame(DATA).lazy()],
    ids=["arrow", "pandas", "polars", "lazy polars"],
)
def test_frames_are_taken_with_their_types(source: object) -> None:
    assert open_source(source).schema() == WANTED


@pytest.mark.parametrize("source", [{"a": [1]}, [1], 3, None, pd.Series([1])])
def test_what_is_no_table_is_refused(source: object) -> None:
    with pytest.raises(SourceError):
        open_source(source)


def test_a_frame_of_mixed_values_is_refused_without_quoting_one() -> None:
    mixed = pd.DataFrame({"a": [1, "secret-value", 2.5]}, dtype=object)
    with pytest.raises(SourceError) as caught:
        open_source(mixed)
    assert "secret-value" not in str(caught.value)
    assert caught.value.__context__ is None


def test_servers_are_for_later_and_say_so() -> None:
    with pytest.raises(SourceError, match="not supported yet"):
        open_source("postgresql://localhost/x")
