"""Combinations of exact answers that few people stand behind."""

import itertools
import json

import numpy as np
import pytest

from deniable.attacks import find_determined_people, find_differences
from deniable.attacks.differencing.log import EVERYBODY, Groups
from deniable.errors import InvalidParameterError

Found = set[tuple[frozenset[int], frozenset[int]]]


def by_brute_force(groups: Groups, fewer_than: int) -> Found:
    """Every signed combination of up to three, smallest first, without those that hold a smaller one."""
    named = {EVERYBODY: np.ones(groups.shape[1], dtype=int)} | dict(enumerate(groups.astype(int)))
    found: Found = set()
    used: list[frozenset[int]] = []
    for size in (1, 2, 3):
        fresh: Found = set()
        for queries in itertools.combinations(named, size):
            if any(other <= set(queries) for other in used):
                continue
            for signs in itertools.product((1, -1), repeat=size):
                total = sum(sign * named[query] for sign, query in zip(signs, queries, strict=True))
                if 0 < np.count_nonzero(total) < fewer_than:
                    plus = frozenset(query for sign, query in zip(signs, queries, strict=True) if sign > 0)
                    minus = frozenset(queries) - plus
                    if (minus, plus) not in fresh:
                        fresh.add((plus, minus))
        found |= fresh
        used += [plus | minus for plus, minus in fresh]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    dice = np.random.default_rng(seed)
    groups = dice.random((7, 9)) < dice.choice([0.3, 0.5, 0.8])
    groups[6] = groups[0] | groups[1]
    groups = np.unique(groups[groups.any(axis=1) & ~groups.all(axis=1)], axis=0)
    for fewer_than in (2, 3):
        found = find_differences(groups, fewer_than=fewer_than)
        ours = {frozenset([frozenset(one.plus), frozenset(one.minus)]) for one in found.found}
        assert ours == {frozenset(pair) for pair in by_brute_force(groups, fewer_than)}
        for one in found.found:
            signs = [(1, query) for query in one.plus] + [(-1, query) for query in one.minus]
            total = sum(sign * (np.ones(9) if query == EVERYBODY else groups[query]) for sign, query in signs)
            assert one.rows.tolist() == np.flatnonzero(total).tolist()


def test_a_pair_above_the_threshold_is_found_below_it() -> None:
    """Item 179: both answers are about five people or more, their difference is about one."""
    found = find_differences([range(6), range(5)], rows=20, suppressed_below=5)  # type: ignore[list-item]
    assert [(one.plus, one.minus, one.rows.tolist()) for one in found.found] == [((0,), (1,), [5])]
    withheld = find_differences([range(6), range(5)], rows=20, suppressed_below=6)  # type: ignore[list-item]
    assert withheld.found == ()
    assert withheld.queries == 1


def test_the_total_completes_a_group_of_all_but_one() -> None:
    found = find_differences([range(1, 20)], rows=20)  # type: ignore[list-item]
    assert str(found.found[0]) == "everybody - q0: 1 person"


def test_three_large_answers_give_one_person_away() -> None:
    men, smokers = np.arange(60) < 30, np.arange(60) % 2 == 0
    log = np.stack([men, men & smokers, men & ~smokers])
    log[2, 5] = False
    found = find_differences(log)
    assert [(one.plus, one.minus, one.rows.tolist()) for one in found.found] == [((0,), (1, 2), [5])]
    assert find_differences(log, combine=2).found == ()


def test_overlapping_pieces_are_searched_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    log = dice.random((20, 200)) < 0.4
    log = np.concatenate([log, log[:6] ^ log[6:12]])
    log[20, 7] ^= True
    whole = find_differences(log, fewer_than=80)
    monkeypatch.setattr("deniable.attacks.differencing.log._CHUNK", 50)
    pieces = find_differences(log, fewer_than=80)
    assert len(whole.found) > 0
    assert [(a.plus, a.minus) for a in whole.found] == [(b.plus, b.minus) for b in pieces.found]


def test_what_is_reported_is_counted_without_naming_positions() -> None:
    found = find_differences(~np.eye(30, dtype=bool), most=5)
    assert not found.complete
    assert "at least 5" in found.sentence
    data = json.loads(json.dumps(found.to_data()))
    assert data["found"][0] == {"plus": [EVERYBODY], "minus": [0], "people": 1}
    assert "no proof of privacy" in find_differences(np.ones((1, 9), dtype=bool)).sentence


@pytest.mark.parametrize("seed", range(6))
def test_determined_people_are_those_whose_indicator_adds_no_rank(seed: int) -> None:
    dice = np.random.default_rng(seed)
    groups = dice.random((5, 7)) < 0.5
    asked = np.concatenate([groups, np.ones((1, 7), dtype=bool)])
    rank = np.linalg.matrix_rank(asked)
    told = [one for one in range(7) if np.linalg.matrix_rank(np.vstack([asked, np.eye(7)[one]])) == rank]
    assert find_determined_people(groups).tolist() == told


def test_four_answers_can_tell_what_three_do_not() -> None:
    ring = np.zeros((5, 40), dtype=bool)
    for place in range(5):
        ring[place, [place, (place + 1) % 5]] = True
        ring[place, 10:20] = place in (0, 2)  # q0 - q1 + q2 - q3 + q4 = 2 x_0 + 2 sum(x_10..x_19)
        ring[place, 10:20] |= place in (1, 3)
    assert find_differences(ring, fewer_than=2).found == ()
    assert 0 in find_determined_people(ring)


@pytest.mark.parametrize(
    ("log", "other"),
    [
        ([], {"rows": 5}),
        ([[0]], {}),
        ([[7]], {"rows": 5}),
        ([[0]], {"rows": 5, "fewer_than": 1}),
        ([[0]], {"rows": 5, "combine": 4}),
        (np.ones((2, 3), dtype=bool), {"rows": 4}),
        (np.ones((2, 0), dtype=bool), {}),
    ],
)
def test_bad_logs_are_refused(log: list[list[int]], other: dict[str, int]) -> None:
    with pytest.raises(InvalidParameterError):
        find_differences(log, **other)  # type: ignore[arg-type]
