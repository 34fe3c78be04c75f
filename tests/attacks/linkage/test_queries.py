"""Names that people type themselves."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from deniable.attacks import link_queries, make_query_log
from deniable.errors import InvalidParameterError


def test_claims_are_those_of_scores_person_by_person(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_query_log(people=60, queries=40, own=0.1, seed=4)
    share = {word: sum(word in one.split() for one in log.roll) for one in log.roll for word in one.split()}
    expected = []
    for user in sorted(set(log.users)):
        asked = {word for who, text in zip(log.users, log.texts, strict=True) if who == user for word in text.split()}
        scores = [sum(math.log2(60 / share[word]) for word in one.split() if word in asked) for one in log.roll]
        best, second = sorted(scores)[-1:-3:-1]
        expected.append(scores.index(best) if best - second > 3 else -1)
    found = link_queries(log.users, log.texts, log.roll, truth=log.truth)
    assert found.learned is not None
    assert found.learned.tolist() == expected
    monkeypatch.setattr("deniable.attacks.linkage.queries._CELLS", 1)
    assert np.array_equal(np.asarray(link_queries(log.users, log.texts, log.roll).learned), found.learned)


def test_people_who_search_for_themselves_are_found_and_others_are_not() -> None:
    log = make_query_log(people=400, queries=100, own=0.05)
    found = link_queries(log.users, log.texts, log.roll, truth=log.truth)
    assert found.success.value > 0.6
    assert found.facts is not None
    assert int(str(found.facts["wrong claims"])) < 10
    silent = make_query_log(people=400, queries=100, own=0.0)
    assert link_queries(silent.users, silent.texts, silent.roll, truth=silent.truth).success.right == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: link_queries([1], [], ["a", "b"]),
        lambda: link_queries([], [], ["a", "b"]),
        lambda: link_queries([1], ["x"], ["a"]),
        lambda: link_queries([1], ["x"], ["a", "b"], truth=[0, 1]),
        lambda: link_queries([1], ["x"], ["a", "b"], bits=math.nan),
        lambda: make_query_log(people=1, queries=3),
        lambda: make_query_log(people=9, queries=3, own=1.5),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameterError):
        call()
