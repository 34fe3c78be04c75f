import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.statistics.units import bounded_rows

BITS = DeterministicBits(1)


def everything(count: int) -> np.ndarray:
    return np.ones(count, dtype=bool)


def test_at_most_so_many_rows_of_a_unit_are_kept() -> None:
    units = np.array([1, 1, 1, 2, 2, 3, 1])
    for rows in (1, 2, 3):
        kept = bounded_rows(units, rows=rows, present=everything(7), bits=BITS)
        assert np.array_equal(np.bincount(units[kept])[1:], np.minimum([4, 2, 1], rows))
    assert bounded_rows(["a", None, "b"], rows=1, present=everything(3), bits=BITS).tolist() == [True, False, True]
    assert bounded_rows([], rows=1, present=everything(0), bits=BITS).tolist() == []


def test_rows_without_a_value_take_no_place() -> None:
    present = np.array([False, True, False])
    assert bounded_rows(["a", "a", "b"], rows=1, present=present, bits=BITS).tolist() == [False, True, False]
    assert bounded_rows(None, rows=1, present=present, bits=BITS) is present


def test_every_row_of_a_unit_is_kept_equally_often() -> None:
    """6,000 draws of 2 of 3 rows: 4,000 each, standard deviation 36.5; five of them, one seed in 10^6."""
    units = np.repeat(np.arange(6000), 3)
    kept = bounded_rows(units, rows=2, present=everything(18000), bits=DeterministicBits(3))
    assert np.abs(kept.reshape(-1, 3).sum(axis=0) - 4000).max() < 183


def test_units_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="needs units"):
        bounded_rows(None, rows=2, present=everything(4), bits=BITS)
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        bounded_rows([1, 2], rows=2, present=everything(4), bits=BITS)
