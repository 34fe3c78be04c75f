"""Sums in fixed widths: errata E93, textbook sums that break, and ours, which do not."""

import itertools
import operator
from collections.abc import Callable
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.attacks.implementation import distinguish_by_sum
from deniable.attacks.implementation.sums import pair_tables
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits

DICE = np.random.default_rng(93)
LOWER, UPPER = 2.0**52, 2.0**52 + 1024


def noisy(total: Callable[[list[float]], float], scale: float) -> Callable[[list[float]], float]:
    return lambda rows: total(rows) + DICE.laplace(scale=scale)


def in_order(rows: list[float]) -> float:
    return reduce(operator.add, rows, 0.0)


def shuffled(rows: list[float]) -> float:
    return in_order(list(DICE.permutation(rows)))


def test_errata_e93_a_large_row_swallows_the_ones_that_follow() -> None:
    rows = [2.0**53, *[1.0] * 1000]
    assert in_order(rows) == 2**53
    assert in_order(rows[::-1]) == 2**53 + 1000


def test_true_sums_of_a_pair_are_a_row_apart() -> None:
    """By exact integers: no pair asks more of a sum than the replacement of one row."""
    for lower, upper in ((0, 8), (-5, 5), (int(LOWER), int(UPPER)), (0, 2**24)):
        for name, (first, second) in pair_tables(lower, upper, 200).items():
            assert len(first) == len(second) <= 200, name
            assert abs(sum(map(int, first)) - sum(map(int, second))) <= upper - lower


def test_the_order_of_rows_shows_in_a_float_sum() -> None:
    """The tables have the same rows. The noise is that of epsilon = 0.1 under replacement."""
    result = distinguish_by_sum(noisy(in_order, 10 * 1024), bounds=(LOWER, UPPER), epsilon=0.1, rows=4000, runs=30)
    assert result.success.value == 1
    assert "order" in result.attack
    assert result.succeeded


def test_a_shuffled_sum_hides_the_order_and_an_exact_one_too() -> None:
    """The twin. False alarm: 5 pairs at 99.99%, below 1e-3 before the seed was fixed."""
    for total in (shuffled, lambda rows: float(sum(map(int, rows)))):
        answer = noisy(total, 10 * 2**20)  # as much as rounding moves a shuffled sum
        assert not distinguish_by_sum(answer, bounds=(LOWER, UPPER), epsilon=0.1, rows=4000, runs=8).succeeded


@pytest.mark.parametrize(("width", "upper"), [(np.int16, 2**10), (np.int32, 2**24), (np.int64, 2**56)])
def test_whole_numbers_wrap(width: type, upper: int) -> None:
    answer = noisy(lambda rows: float(np.array(rows).astype(width).sum(dtype=width)), scale=10 * upper)
    result = distinguish_by_sum(answer, bounds=(0, upper), epsilon=0.1, rows=300, runs=30)
    assert result.success.value > 0.8
    assert "one replaced" in result.attack


def test_our_sums_are_exact() -> None:
    """By the statistic, in order; epsilon is doubled where a replaced row is a row added and a row removed."""
    bits = DeterministicBits(3)

    def ours(rows: list[float]) -> float:
        return dn.statistics.sum(rows, bounds=(LOWER, UPPER), epsilon=0.05, bits=bits).scalar(unsafe=True)

    result = distinguish_by_sum(ours, bounds=(LOWER, UPPER), epsilon=0.1, rows=4000, runs=8)
    assert not result.succeeded
    assert result.facts is not None
    assert result.facts["answers that were errors"] == 0


def test_our_queries_are_exact() -> None:
    """Up to 1,024 rows of 2^53, the largest bound that a table may have: their sum is 2^63."""
    open_tables: dict[tuple[float, ...], dn.Database] = {}
    asked = itertools.count()

    def ours(rows: list[float]) -> float:
        if tuple(rows) not in open_tables:
            table = pa.table({"person": range(len(rows)), "x": pa.array(map(int, rows), pa.int64())})
            given = {"budget": dn.Budget(epsilon=1), "columns": {"x": dn.Number(lower=0, upper=2**53)}}
            open_tables[tuple(rows)] = dn.connect(table, name="t", unit="person", **given)
            open_tables[tuple(rows)]._bits = DeterministicBits(len(open_tables))
        text = f"SELECT SUM(x) AS s FROM t WHERE x > -{next(asked)}.5"  # a new question each time
        return open_tables[tuple(rows)].sql(text, epsilon=0.1).scalar(unsafe=True)

    result = distinguish_by_sum(ours, bounds=(0, 2**53), epsilon=0.2, rows=1024, runs=4)
    assert not result.succeeded
    assert result.facts is not None
    assert result.facts["answers that were errors"] == 0


@pytest.mark.parametrize(
    "given",
    [
        {"bounds": (1, 1)},
        {"bounds": 1},
        {"bounds": (0, np.inf)},
        {"rows": 3},
        {"runs": 3},
        {"epsilon": 0},
        {"epsilon": np.nan},
    ],
)
def test_what_cannot_be_compared_is_refused(given: dict[str, object]) -> None:
    settings: dict[str, object] = {"bounds": (0, 1), "epsilon": 1, **given}
    with pytest.raises(InvalidParameterError, match=r"(bounds|rows|runs|epsilon) must"):
        distinguish_by_sum(in_order, **settings)  # type: ignore[arg-type]
