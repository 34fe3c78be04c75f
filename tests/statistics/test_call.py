"""Calls with the usual slips: the message names the slip and the parameters that exist."""

import copy
import inspect
import pickle
from typing import Any

import pytest

import deniable.statistics as statistics
from deniable.errors import InvalidParameterError
from deniable.privacy import Budget
from deniable.statistics import Mean, mean
from deniable.statistics.call import in_words

ROWS = [1.0, 2.0]
FUNCTIONS = {name: getattr(statistics, name) for name in statistics.__all__ if name.islower()}
ASKING = sorted(name for name, each in FUNCTIONS.items() if inspect.isfunction(each) and name != "bootstrap")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"bound": (0, 9), "epsilon": 1}, "mean takes no bound. Did you mean bounds?"),
        ({"bounds": (0, 9), "eps": 1}, "mean takes no eps. Did you mean epsilon?"),
        ({"bounds": (0, 9), "epsilon": 1, "unit": ROWS}, "mean takes no unit. Did you mean units?"),
        ({"bounds": (0, 9), "epsilon": 1, "colour": 1}, "mean takes no colour. It takes: values, bounds, epsilon"),
        ({"epsilon": 1}, "mean needs bounds. It takes: values, bounds, epsilon"),
        ({"bounds": (0, 9), "epsilon": 1, "values": ROWS}, "mean got values twice"),
    ],
)
def test_slips_in_names_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        mean(ROWS, **arguments)
    assert str(caught.value).startswith(said)


def test_what_is_to_be_named_is_not_taken_by_place() -> None:
    with pytest.raises(InvalidParameterError, match="mean takes values by place, and all else by name"):
        mean(ROWS, (0, 9), 1)  # type: ignore[misc]
    with pytest.raises(InvalidParameterError, match="mean needs values and bounds"):
        mean(epsilon=1)  # type: ignore[call-arg]


def test_classes_name_slips_too() -> None:
    for wrong in ({"bound": (0, 9), "epsilon": 1}, {"bounds": (0, 9), "eps": 1}, {"epsilon": 1}):
        with pytest.raises(InvalidParameterError, match=r"Mean .*takes: epsilon, delta, rho, relation, rows, bounds"):
            Mean(**wrong)  # type: ignore[arg-type]
    plan = Mean(bounds=(0, 9), epsilon=1)
    assert pickle.loads(pickle.dumps(plan)) == copy.deepcopy(plan) == plan


@pytest.mark.parametrize("name", ASKING)
def test_every_function_shows_its_options(name: str) -> None:
    shown = inspect.signature(FUNCTIONS[name])
    assert {"epsilon", "delta", "rho", "relation", "rows", "units", "ledger"} <= set(shown.parameters)
    assert repr(shown.parameters["epsilon"].default) == "..."
    with pytest.raises(
        InvalidParameterError, match=f"{FUNCTIONS[name].__name__} takes no epsilom. Did you mean epsilon"
    ):
        FUNCTIONS[name](ROWS, epsilom=1)


def test_an_error_of_the_body_stays_what_it_is() -> None:
    def broken(values: object, **options: Any) -> None:
        raise TypeError("inside")

    broken.__annotations__["options"] = statistics.count.__annotations__["options"]
    with pytest.raises(TypeError, match="inside"):
        in_words(broken)(ROWS)


@pytest.mark.parametrize("wrong", [Budget(epsilon=1), "survey.ledger", True])
def test_who_pays_must_be_a_ledger(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"ledger must be a Ledger, as Ledger\.open gives it"):
        mean(ROWS, bounds=(0, 9), epsilon=1, ledger=wrong)


def test_a_seed_is_no_source_of_bits() -> None:
    with pytest.raises(InvalidParameterError, match=r"bits must be a source of random bits, got 3\. Leave it out\."):
        mean(ROWS, bounds=(0, 9), epsilon=1, bits=3)  # type: ignore[arg-type]
