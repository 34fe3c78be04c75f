"""The search over pairs of inputs finds the one that shows the most, and pays for the search."""

from typing import Any

import numpy as np
import pytest

from deniable.audit import list_pairs, search_pairs
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("kind", ["add-remove", "replace", "answers"])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_pairs_are_neighbours_within_bounds(kind: str, length: int) -> None:
    pairs = list_pairs(kind, length=length, bounds=(-1, 2))
    assert len(pairs) >= 4
    for one, other in pairs.values():
        if kind == "add-remove":
            assert one[:-1] == other
        elif kind == "replace":
            assert len(one) == len(other)
            assert sum(a != b for a, b in zip(one, other, strict=True)) == 1
        else:
            assert max(abs(a - b) for a, b in zip(one, other, strict=True)) == 3
        if kind != "answers":
            assert {*one, *other} <= {-1, 2}


def test_the_pair_that_shows_the_most_is_found() -> None:
    """Only numbers that are large together are protected badly: one of many pairs shows it."""
    rng = np.random.default_rng(1)

    def odd(rows: list[float], runs: int) -> Any:
        return sum(rows) + rng.laplace(scale=0.2 if sum(rows) > 7 else 2, size=runs)

    pairs = {f"{size} ones": ([1.0] * size, [1.0] * (size + 1)) for size in range(9)}
    found = search_pairs(odd, pairs, epsilon=1, batched=True, low_bits=False, runs=5000)
    assert found.violated
    assert found.tried[0].endswith(("7 ones", "8 ones"))
    assert found.runs <= 2 * 2 * 5000
    assert not search_pairs(odd, [pairs["0 ones"]], epsilon=1, batched=True, low_bits=False, runs=5000).violated


def test_a_search_among_many_pairs_raises_no_false_alarm() -> None:
    """60 searches at confidence 0.9 among eight pairs that attain epsilon = 1; more than 14 alarms: one in 1,000."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = search_pairs(
            lambda rows, runs, rng=rng: sum(rows) + rng.laplace(size=runs), [([1], [])] * 8,
            epsilon=1, confidence=0.9, runs=400, batched=True, low_bits=False,
        )  # fmt: skip
        alarms += found.violated
    assert alarms <= 14


def test_time_is_shared_between_the_pairs() -> None:
    found = search_pairs(len, list_pairs("add-remove"), epsilon=1, seconds=0.2, runs=10**8)
    assert found.violated
    assert any("the time was over" in limit for limit in found.limits)


@pytest.mark.parametrize("pairs", [[], [1], {"a": [1, 2, 3]}])
def test_what_holds_no_pairs_is_refused(pairs: Any) -> None:
    with pytest.raises(InvalidParameterError, match="at least one pair"):
        search_pairs(len, pairs)
    with pytest.raises(InvalidParameterError, match="kind must be one of"):
        list_pairs("no such kind")
    with pytest.raises(InvalidParameterError, match="bounds must be two finite numbers"):
        list_pairs("answers", bounds=(2, 1))
