import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.statistics import binomial_test
from deniable.statistics.hypothesis.base import directed, multinomials, p_value


def test_a_p_value_counts_the_observed_one() -> None:
    assert p_value(2.0, np.array([1.0, 2.0, 3.0])) == 3 / 4
    assert p_value(9.0, np.array([1.0, 2.0, 3.0])) == 1 / 4


def test_alternatives_say_what_is_extreme() -> None:
    values = np.array([-3.0, 1.0])
    assert directed(values, "two-sided").tolist() == [3, 1]
    assert directed(values, "greater").tolist() == [-3, 1]
    assert directed(values, "less").tolist() == [3, -1]


def test_tables_are_multinomial() -> None:
    """Chi-square of all 15 tables of 4 rows in 3 cells; a correct sampler fails for one seed in a million."""
    chances = np.array([0.2, 0.5, 0.3])
    tables = multinomials(4, chances, 20_000, DeterministicBits(1))
    assert (tables.sum(axis=1) == 4).all()
    kinds, counts = np.unique(tables, axis=0, return_counts=True)
    assert len(kinds) == 15
    expected = 20_000 * stats.multinomial(4, chances).pmf(kinds)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 14) > 1e-6
    other = 20_000 * stats.multinomial(4, [0.23, 0.47, 0.3]).pmf(kinds)
    assert stats.chi2.sf(((counts - other) ** 2 / other).sum(), 14) < 1e-6


def test_impossible_cells_stay_empty() -> None:
    assert multinomials(5, np.array([0.0, 1.0, 0.0]), 3, DeterministicBits(1)).tolist() == [[0, 5, 0]] * 3


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_simulations_are_a_positive_number(wrong: object) -> None:
    with pytest.raises(InvalidParameterError, match="simulations"):
        binomial_test([1], share="1/2", epsilon=1, simulations=wrong)
