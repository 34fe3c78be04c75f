"""Laws: points of the simplex, and what they are turned into."""

import math
from fractions import Fraction as F

import pytest
from scipy import stats

from deniable.audit import draw_outputs, read_law
from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval


def test_what_is_no_law_is_refused() -> None:
    for wrong in ({0: "1/2", 1: "1/3"}, {0: 1.5, 1: -0.5}, {0: math.nan}, {}, [0.5, 0.5], {0: Interval(0.1, 0.2)}):
        with pytest.raises(InvalidParameterError):
            read_law(wrong)


def test_outputs_that_are_no_number_are_one_output() -> None:
    assert read_law({float("nan"): "1/2", math.nan: "1/4", 0: "1/4"}) == {"NaN": F(3, 4), 0: F(1, 4)}


def test_intervals_are_added_outward() -> None:
    both = read_law({math.nan: Interval(0.1, 0.2), float("nan"): Interval(0.2, 0.3), 0: "0.6"})
    assert both["NaN"].contains(F(3, 10))  # type: ignore[union-attr]
    assert both["NaN"].contains(F(1, 2))  # type: ignore[union-attr]


def test_draws_follow_the_law() -> None:
    """A chi-squared test, wrong once in 10^6 seeds; the twin draws from another law."""
    law = {"a": "1/2", "b": "1/3", "c": "1/6"}
    drawn = draw_outputs(law, runs=6000, seed=1)
    counts = [drawn.count(output) for output in law]
    assert stats.chisquare(counts, [3000, 2000, 1000]).pvalue > 1e-6
    assert stats.chisquare(counts, [2000, 3000, 1000]).pvalue < 1e-6
    assert drawn == draw_outputs(law, runs=6000, seed=1)
