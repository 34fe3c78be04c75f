"""Names that people type themselves."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from deniable.attacks import link_queries
from deniable.errors import InvalidParameterError

PEOPLE, QUERIES = 200, 60
Log = tuple[list[int], list[str], list[str], list[int]]


def search(*, own: float, seed: int = 0) -> Log:
    """Users, texts, roll and truth: half the people search, at times for their own name or town."""
    dice = np.random.default_rng(seed)
    parts = [dice.integers(many, size=PEOPLE) for many in (50, PEOPLE // 3, PEOPLE // 20)]
    roll = [f"given{a} family{b} town{c}" for a, b, c in zip(*parts, strict=True)]
    who = np.repeat(np.sort(dice.choice(PEOPLE, PEOPLE // 2, replace=False)), QUERIES)
    about = np.where(dice.random(len(who)) < own, dice.integers(3, size=len(who)), -1)
    texts = [
        f"topic{topic}" if kind < 0 else roll[one].split()[kind].upper()
        for one, kind, topic in zip(who, about, dice.integers(99, size=len(who)), strict=True)
    ]
    return (who + 1000).tolist(), texts, roll, np.unique(who).tolist()


def test_claims_are_those_of_scores_person_by_person(monkeypatch: pytest.MonkeyPatch) -> None:
    users, texts, roll, truth = search(own=0.1, seed=4)
    share = {word: sum(word in one.split() for one in roll) for one in roll for word in one.split()}
    expected = []
    for user in sorted(set(users)):
        asked = {text.lower() for who, text in zip(users, texts, strict=True) if who == user}
        scores = [sum(math.log2(PEOPLE / share[word]) for word in one.split() if word in asked) for one in roll]
        best, second = sorted(scores)[-1:-3:-1]
        expected.append(scores.index(best) if best - second > 3 + 1e-9 else -1)
    found = link_queries(users, texts, roll, truth=truth)
    assert found.learned.tolist() == expected
    monkeypatch.setattr("deniable.attacks.linkage.queries._MAX_CELLS", 1)
    assert link_queries(users, texts, roll, truth=truth).learned.tolist() == expected


def test_people_who_search_for_themselves_are_found_and_others_are_not() -> None:
    users, texts, roll, truth = search(own=0.1)
    found = link_queries(users, texts, roll, truth=truth)
    assert found.success.value > 0.6
    assert found.facts["wrong claims"] < 5
    users, texts, roll, truth = search(own=0.0)
    assert link_queries(users, texts, roll, truth=truth).success.right == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: link_queries([1], [], ["a", "b"]),
        lambda: link_queries([], [], ["a", "b"]),
        lambda: link_queries([1], ["x"], ["a"]),
        lambda: link_queries([1], ["x"], ["a", "b"], truth=[0, 1]),
        lambda: link_queries([1], ["x"], ["a", "b"], bits=math.nan),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameterError):
        call()
