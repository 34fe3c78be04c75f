"""Background knowledge, against plain Python with the same draws."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from deniable import attacks
from deniable.attacks.anonymity.background import _draw_neighbours, _draw_wrong
from deniable.attacks.anonymity.view import see
from deniable.errors import InvalidParameterError
from tests.attacks.anonymity.plain import tables

NAMED: dict[str, Any] = {"quasi": ["a", "b"], "sensitive": "c"}


def frame(rows: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")


def test_the_guess_is_the_most_frequent_secret_that_is_left() -> None:
    for seed, rows in enumerate(tables(10, 40, secrets="abcdef")):
        table, values = frame(rows), sorted({row[-1] for row in rows})
        number = min(2, len(values) - 1)
        found = attacks.attack_with_background(table, **NAMED, ruled_out=number, neighbours=2, seed=seed)
        view, rng = see(table, **NAMED), np.random.default_rng(seed)
        out, known = _draw_wrong(view, number, rng), _draw_neighbours(view, 2, rng)
        right = certain = 0
        for row, wrong, beside in zip(rows, out, known, strict=True):
            left = Counter(other[-1] for other in rows if other[:2] == row[:2])
            left.subtract(values[code] for code in beside if code >= 0)
            left = +Counter({value: n for value, n in left.items() if value not in [values[code] for code in wrong]})
            right += min(left, key=lambda value: (-left[value], value)) == row[-1]
            certain += len(left) == 1
        assert (found.success.right, found.facts["people with one secret left"]) == (right, certain)
        assert found.facts["of these, right"] == certain


def test_what_is_drawn_is_wrong_and_distinct_and_neighbours_are_others_of_the_class() -> None:
    rows = [(place % 3, 0, "abcdef"[place % 5]) for place in range(40)]
    view, rng = see(frame(rows), **NAMED), np.random.default_rng(0)
    out = _draw_wrong(view, 3, rng)
    assert not (out == view.secret[:, None]).any()
    assert all(len(set(line)) == 3 for line in out.tolist())
    known = _draw_neighbours(view, 12, rng)
    for cell, secret, line in zip(view.cell, view.secret, known, strict=True):
        others = Counter(view.secret[view.cell == cell].tolist())
        others[int(secret)] -= 1
        assert not Counter(line[line >= 0].tolist()) - others
        assert (line >= 0).sum() == min(12, (view.cell == cell).sum() - 1)


def test_a_class_with_more_secrets_than_are_known_leaves_nobody_certain() -> None:
    rows = [(1, 0, secret) for secret in "abcde"]
    for number, certain in ((2, 0), (4, 5)):
        found = attacks.attack_with_background(frame(rows), **NAMED, ruled_out=number)
        assert found.facts["people with one secret left"] == certain


def test_the_guesser_without_the_release_rules_out_the_same() -> None:
    rows = [(1, 0, secret) for secret in "aaabbc"]
    found = attacks.attack_with_background(frame(rows), **NAMED)
    assert found.success.value == found.baseline
    assert not found.succeeded


@pytest.mark.parametrize("given", [{"ruled_out": 3}, {"ruled_out": -1}, {"neighbours": -1}])
def test_knowledge_of_nothing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        attacks.attack_with_background(frame([(1, 0, "a"), (1, 0, "b"), (1, 0, "c")]), **NAMED, **given)
