"""Distances between secrets of a class and of the table, beside linear programs and the published example."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from deniable import attacks
from deniable.attacks.anonymity.closeness import distances
from deniable.attacks.anonymity.measures import count_secrets
from deniable.errors import InvalidParameterError
from tests.attacks.anonymity.plain import Rows, tables, transport

TREE = {1: "low", 2: "low", 5: "high", 9: "high", "low": "any", "high": "any"}
UNEVEN = {1: "low", 2: "low", "low": "lower", 5: "lower", "lower": "any", 9: "any"}


def closeness(rows: Rows, ground: Any) -> float:
    table = pd.DataFrame(rows, columns=list("abc"))
    return attacks.t_closeness(table, quasi=["a", "b"], sensitive="c", ground=ground)


def climb(value: Any, tree: dict[Any, Any]) -> list[Any]:
    return [value, *climb(tree[value], tree)] if value in tree else [value]


def apart(tree: dict[Any, Any], height: dict[Any, int]) -> Callable[[Any, Any], float]:
    def distance(one: Any, other: Any) -> float:
        met = next(node for node in climb(one, tree) if node in climb(other, tree))
        return height.get(met, 0) / max(height.values())

    return distance


GROUNDS: dict[str, tuple[Any, Callable[[Any, Any], float]]] = {
    "equal": ("equal", lambda one, other: float(one != other)),
    "numeric": ("numeric", lambda one, other: abs(one - other)),  # in parts of the range, below
    "tree": (TREE, apart(TREE, {"low": 1, "high": 1, "any": 2})),
    "uneven tree": (UNEVEN, apart(UNEVEN, {"low": 1, "lower": 2, "any": 3})),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_closeness_is_the_value_of_the_transport_problem(name: str) -> None:
    ground, distance = GROUNDS[name]
    for rows in tables(4, 25, secrets=[1, 2, 5, 9]):
        held = [row[-1] for row in rows]
        length = max(max(held) - min(held), 1) if name == "numeric" else 1
        assert closeness(rows, ground) == pytest.approx(transport(rows, distance) / length, abs=1e-9)


def test_ordered_closeness_goes_by_ranks_of_the_values_that_occur() -> None:
    for rows in tables(5, 25, secrets=[1, 2, 5, 9]):
        rank = {value: place for place, value in enumerate(sorted({row[-1] for row in rows}))}
        steps = max(len(rank) - 1, 1)
        expected = transport(rows, lambda one, other: abs(rank[one] - rank[other]) / steps)  # noqa: B023
        assert closeness(rows, "auto") == pytest.approx(expected, abs=1e-9)


def test_the_published_example_of_salaries() -> None:
    """Li, Li, Venkatasubramanian (2007), section 4.1: classes {3, 4, 5} and {6, 8, 11} of 3 to 11 thousand."""
    salaries = [(0, 0, 3), (0, 0, 4), (0, 0, 5), (1, 0, 6), (1, 0, 11), (1, 0, 8), (2, 0, 7), (2, 0, 9), (2, 0, 10)]
    assert closeness(salaries, "ordered") == closeness(salaries, "numeric") == pytest.approx(0.375)
    others = [(1 if row[-1] in (6, 8, 11) else row[-1] + 10, 0, row[-1]) for row in salaries]
    held = count_secrets(pd.DataFrame(others, columns=list("abc")), "a", "c")
    assert distances(held.secret, held.counts, "ordered")[0] == pytest.approx(1 / 6)


def test_missing_secrets_come_first_in_the_order_and_have_no_number() -> None:
    rows = [(1, 0, None), (1, 0, 7.0), (2, 0, 9.0), (2, 0, 8.0)]
    assert closeness(rows, "auto") == closeness([(*row[:2], row[2] or 6.0) for row in rows], "auto")
    with pytest.raises(InvalidParameterError, match="no missing values"):
        closeness(rows, "numeric")


def test_ordered_categories_keep_their_order() -> None:
    size = pd.Categorical(["small", "large", "medium", "small"], categories=["small", "medium", "large"], ordered=True)
    table = pd.DataFrame({"a": [1, 1, 2, 2], "c": size})
    numbers = table.assign(c=[0, 2, 1, 0])
    given: dict[str, Any] = {"quasi": "a", "sensitive": "c"}
    assert attacks.t_closeness(table, **given) == attacks.t_closeness(numbers, **given) != 0.5


@pytest.mark.parametrize(
    ("ground", "said"),
    [
        ("near", "auto"),
        ([1, 2], "or a tree"),
        ({1: "any", 2: "any"}, "not leaves"),
        ({1: "x", 2: "x", 5: "y"}, "one root"),
        ({1: 2, 2: "any", 5: "any"}, "not leaves"),
        ({1: "x", 2: "x", 5: "x", "x": "y", "y": "x"}, "cycle"),
    ],
)
def test_a_ground_that_does_not_fit_is_refused(ground: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        closeness([(1, 0, 1), (1, 0, 2), (2, 0, 5)], ground)
