"""Calls with the usual slips: the message names the slip and the parameters that exist."""

import copy
import inspect
import pickle
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from deniable.arguments import CallSignature, InWords, in_words, read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import positive_integer
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Sensitivity, of_count

COUNT = {"rows": 1, "groups": 1, "relation": AddRemove}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {**COUNT, "cell": 1},
            "of_count takes no cell. Did you mean cells? It takes: rows, groups, relation, cells, ids",
        ),
        ({"rows": 1, "relation": AddRemove}, "of_count needs groups. It takes: rows, groups"),
        ({**COUNT, "rows": "many"}, "rows must be a whole number, got 'many'"),
        ({**COUNT, "groups": None}, "groups must be a whole number, got None"),
        ({**COUNT, "rows": [1]}, "rows must be a whole number, got [1]"),
        ({**COUNT, "relation": "replace"}, "relation must be AddRemove or Replace, got 'replace'"),
    ],
)
def test_slips_in_a_sensitivity_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        of_count(**arguments)
    assert str(caught.value).startswith(said)
    with pytest.raises(InvalidParameterError, match="of_count takes nothing by position"):
        of_count(1, 1, AddRemove)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"epsilom": 1},
            "Budget takes no epsilom. Did you mean epsilon? It takes: epsilon, delta, rho, mu, renyi, order, failure.",
        ),
        ({"epsilon": None}, "a budget needs exactly one of epsilon"),
        ({"epsilon": "one"}, "epsilon must be a number, got 'one'"),
        ({"epsilon": [1]}, r"epsilon must be a number, got [1]"),
    ],
)
def test_slips_in_a_budget_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        Budget(**arguments)
    assert str(caught.value).startswith(said)
    with pytest.raises(InvalidParameterError, match="Budget takes nothing by position, and all else by name"):
        Budget(1)  # type: ignore[misc]


@pytest.mark.parametrize("made", [Budget(epsilon=1), PrivacyUnit(), of_count(rows=1, groups=1, relation=AddRemove)])
def test_classes_that_check_calls_are_classes_as_before(made: object) -> None:
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert "self" not in inspect.signature(type(made)).parameters
    with pytest.raises(InvalidParameterError, match=f"{type(made).__name__} takes no colour"):
        type(made)(colour=1)
    with pytest.raises(InvalidParameterError, match="Sensitivity needs l1 and l2_squared and linf and relation"):
        Sensitivity()  # type: ignore[call-arg]


def test_functions_may_take_any_further_names_and_values_of_a_class() -> None:
    def f(first: int, *, second: int = 0, **further: object) -> int:
        return first + second

    guarded = in_words(f, kinds={"second": int, "absent": str})
    assert guarded(1, second=2, third=3) == 3
    assert guarded(1, third=3) == 1
    assert inspect.signature(guarded) == inspect.signature(f)
    with pytest.raises(InvalidParameterError, match="second must be of class int, got one of str"):
        guarded(1, second="2")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="f needs first"):
        guarded(third=3)  # type: ignore[call-arg]
    with pytest.raises(InvalidParameterError, match="f got first twice"):
        guarded(1, first=3)  # type: ignore[misc]
    with pytest.raises(InvalidParameterError, match="f takes nothing by position"):
        CallSignature("f", inspect.signature(lambda: 0)).check((1,), {})


def test_an_error_of_the_body_stays_what_it_is() -> None:
    @in_words
    def broken() -> None:
        raise TypeError("inside")

    class Broken(metaclass=InWords):
        def __init__(self, value: object) -> None:
            len(value)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="inside"):
        broken()
    with pytest.raises(TypeError, match="has no len"):
        Broken(1)
    with pytest.raises(InvalidParameterError, match="Broken needs value"):
        Broken()  # type: ignore[call-arg]


def test_fields_are_read_by_the_reader_in_their_type() -> None:
    @dataclass(frozen=True, init=False)
    class Box:
        size: Annotated[int, positive_integer]
        limit: Annotated[int | None, positive_integer]
        name: str | None

        def __init__(self, size: object, limit: object = None, name: str | None = None) -> None:
            read_fields(self, size=size, limit=limit, name=name)

    assert (Box(3).size, Box(3).limit, Box(3).name, Box(3, 4, "x").limit) == (3, None, None, 4)
    with pytest.raises(InvalidParameterError, match="size must be a whole number, got None"):
        Box(None)
    with pytest.raises(InvalidParameterError, match="limit must be >= 1, got 0"):
        Box(3, 0)
