"""Combinations of exact answers that few people stand behind."""

import itertools
import json

import numpy as np
import pytest

from deniable.attacks import find_determined_people, find_differences
from deniable.attacks.differencing.log import EVERYBODY
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    dice = np.random.default_rng(seed)
    groups = dice.random((9, 9)) < dice.choice([0.3, 0.5, 0.8])
    named = {query: frozenset(np.flatnonzero(one).tolist()) for query, one in enumerate(groups)}
    named[EVERYBODY] = frozenset(range(9))
    first: dict[frozenset[int], int] = {}
    for query, people in named.items():
        first.setdefault(people, query)
    for fewer_than in (2, 3, 4):
        expected = {(frozenset([query]), rows) for rows, query in first.items() if 0 < len(rows) < fewer_than}
        for (one, a), (other, b) in itertools.combinations(first.items(), 2):
            if min(len(one), len(other)) >= fewer_than and len(one ^ other) < fewer_than:
                expected.add((frozenset([a, b]), one ^ other))
        found = find_differences(groups, fewer_than=fewer_than).differences
        assert {(frozenset({one.plus, one.minus} - {None}), frozenset(one.rows.tolist())) for one in found} == expected
        assert len(found) == len(expected)
        assert all(one.minus is None or len(named[one.plus]) >= len(named[one.minus]) for one in found)


def test_a_pair_above_the_threshold_is_found_below_it() -> None:
    """Item 179: both answers are about five people or more, their difference is about one."""
    found = find_differences([range(6), range(5)], rows=20, suppressed_below=5)  # type: ignore[list-item]
    assert [(one.plus, one.minus, one.rows.tolist()) for one in found.differences] == [(0, 1, [5])]
    withheld = find_differences([range(6), range(5)], rows=20, suppressed_below=6)  # type: ignore[list-item]
    assert withheld.differences == ()
    assert withheld.queries == 1


def test_the_total_completes_a_group_of_all_but_one() -> None:
    found = find_differences([range(1, 20)], rows=20)  # type: ignore[list-item]
    assert found.differences[0].named(["q0"]) == "everybody - q0: 1 person"


def test_what_is_reported_is_counted_without_naming_positions() -> None:
    found = find_differences(~np.eye(30, dtype=bool), max_differences=5)
    assert not found.complete
    assert "at least 5" in found.sentence
    data = json.loads(json.dumps(found.to_data()))
    assert data["found"][0] == {"plus": EVERYBODY, "minus": 0, "people": 1}
    assert "does not prove privacy" in find_differences(np.ones((1, 9), dtype=bool)).sentence


@pytest.mark.parametrize("seed", range(6))
def test_determined_people_are_those_whose_indicator_adds_no_rank(seed: int) -> None:
    dice = np.random.default_rng(seed)
    groups = dice.random((5, 7)) < 0.5
    asked = np.concatenate([groups, np.ones((1, 7), dtype=bool)])
    rank = np.linalg.matrix_rank(asked)
    told = [one for one in range(7) if np.linalg.matrix_rank(np.vstack([asked, np.eye(7)[one]])) == rank]
    assert find_determined_people(groups).tolist() == told


def test_five_answers_can_tell_what_two_do_not() -> None:
    ring = np.zeros((5, 40), dtype=bool)
    for place in range(5):
        ring[place, [place, (place + 1) % 5]] = True
        ring[place, 10:20] = place in (0, 2)  # q0 - q1 + q2 - q3 + q4 = 2 x_0 + 2 sum(x_10..x_19)
        ring[place, 10:20] |= place in (1, 3)
    assert find_differences(ring, fewer_than=2).differences == ()
    assert 0 in find_determined_people(ring)


@pytest.mark.parametrize(
    ("log", "other"),
    [
        ([], {"rows": 5}),
        ([[0]], {}),
        ([[7]], {"rows": 5}),
        ([[0]], {"rows": 5, "fewer_than": 1}),
        ([[0]], {"rows": 5, "max_differences": 0}),
        (np.ones((2, 3), dtype=bool), {"rows": 4}),
        (np.ones((2, 0), dtype=bool), {}),
    ],
)
def test_bad_logs_are_refused(log: list[list[int]], other: dict[str, int]) -> None:
    with pytest.raises(InvalidParameterError):
        find_differences(log, **other)  # type: ignore[arg-type]
