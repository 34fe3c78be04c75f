from fractions import Fraction

import numpy as np
import pytest

from deniable.mechanisms.ranks.errors import place_error, rank_error


def test_the_rank_error_is_that_of_the_geometric_law() -> None:
    x = np.exp(-0.5)
    assert rank_error(Fraction(1, 2), 500, 1000, truth=500) == pytest.approx(np.sqrt(2 * x) / (1 - x))
    assert rank_error(Fraction(1, 10**9), 500, 1000, truth=500) == pytest.approx(1000 / np.sqrt(12), rel=0.01)
    assert rank_error(Fraction(100), 0, 0, truth=0) == 0


@pytest.mark.parametrize(
    ("rate", "target", "size"), [("3", 15, 30), ("1", 20, 40), ("1/4", 8, 30), ("3", "1/2", 30), ("10", "31/2", 30)]
)
def test_the_place_error_is_that_of_rows_drawn_evenly(rate: str, target: object, size: int) -> None:
    """20,000 tables, each with its exact law: means of squares are known to 3%, and so are roots to 1.5%. The twin, the
    error of evenly spread rows, sqrt(2) / rate, is rejected where the rate is 3 and rows lie to both sides."""
    aim, parts = float(Fraction(target)), 200  # type: ignore[arg-type]
    edges = np.sort(np.random.default_rng(2).uniform(size=(20_000, size)), axis=1)
    gaps = np.diff(edges, axis=1, prepend=0.0, append=1.0)
    away = np.abs((np.arange((size + 1) * parts) + 0.5) / parts - 0.5 - aim).reshape(-1, parts)
    law = np.exp(-float(Fraction(rate)) * away)
    errors = gaps @ (law * away**2).sum(axis=1) / (gaps @ law.sum(axis=1))
    found = place_error(Fraction(rate), aim, size, truth=aim)
    assert found == pytest.approx(np.sqrt(errors.mean()), rel=0.04)
    if (rate, target) == ("3", 15):
        assert np.sqrt(2) / 3 != pytest.approx(np.sqrt(errors.mean()), rel=0.12)


def test_the_place_error_of_many_gaps_is_that_of_even_ones() -> None:
    assert place_error(Fraction(1, 10**3), 50_000, 10**5, truth=50_000) == pytest.approx(np.sqrt(2) * 1000, rel=0.01)
    assert place_error(Fraction(1, 10), 5000, 10**4, truth=5000) == pytest.approx(np.sqrt(2) * 10, rel=0.02)
    assert place_error(Fraction(10**9), 5, 10, truth=5) == pytest.approx(np.sqrt(2) / 10**9, rel=0.001)
    assert place_error(Fraction(1), 0.5, 0, truth=0.5) == 0
