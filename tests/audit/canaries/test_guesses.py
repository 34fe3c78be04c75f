"""Guesses are made from scores alone."""

import numpy as np
import pytest

from deniable.audit.canaries.guesses import read_guesses
from deniable.errors import InvalidParameterError


def test_the_surest_guesses_come_first() -> None:
    scores, coins = [0.1, 5.0, -4.0, 2.0, 0.3], [1, 1, 0, 0, 1]
    top = read_guesses(scores, coins, both_ends=False, seed=0)
    assert top.right.tolist() == [True, False, True, True, False]
    ends = read_guesses(scores, coins, both_ends=True, seed=0)  # 5 in, -4 out, 2 in, 0.1 out, 0.3 in
    assert ends.right.tolist() == [True, True, False, False, True]
    assert ends.canaries == 5
    assert ends.perfect.right.all()


@pytest.mark.parametrize("both_ends", [True, False])
def test_equal_scores_do_not_guess_by_the_order_of_the_list(both_ends: bool) -> None:
    """A list with all included canaries first would otherwise be guessed rightly from scores that say nothing."""
    coins = np.repeat([1, 0], 500)
    right = read_guesses(np.zeros(1000), coins, both_ends=both_ends, seed=0).right
    assert abs(int(right[:500].sum()) - 250) < 60  # misses 1e-7
    listed = read_guesses(-np.arange(1000), coins, both_ends=both_ends, seed=0).right  # what ties by place would give
    assert listed[:500].all()


def test_what_is_no_list_of_coins_is_refused() -> None:
    for scores, coins, said in [
        ([1.0], [1, 0], "same length"), ([], [], "at least one"), ([np.nan, 1], [0, 1], "NaN"),
        ([1.0, 2.0], [0, 2], "True or False"), (np.arange(100.0), np.ones(100), "fair coins"),
    ]:  # fmt: skip
        with pytest.raises(InvalidParameterError, match=said):
            read_guesses(scores, coins, both_ends=True, seed=0)
