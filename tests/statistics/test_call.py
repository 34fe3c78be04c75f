"""Calls with the usual slips: the message names the slip and the parameters that exist."""

import copy
import inspect
import pickle
import re
from functools import partial
from typing import Any

import pytest

import deniable.statistics as statistics
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget
from deniable.statistics import mean
from deniable.statistics.call import asks, plan, without_arguments
from deniable.statistics.count import Count
from deniable.statistics.means import Mean

ROWS = [1.0, 2.0]
FUNCTIONS = {name: getattr(statistics, name) for name in statistics.__all__ if name.islower()}
ASKING = sorted(name for name, each in FUNCTIONS.items() if hasattr(each, "statistic"))


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
    with pytest.raises(InvalidParameterError, match="mean takes values by position, and all else by name"):
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
    spending = {word: shown.parameters[word].default for word in ("epsilon", "delta", "rho", "rows", "units", "ledger")}
    assert spending == {"epsilon": None, "delta": 0, "rho": None, "rows": 1, "units": None, "ledger": None}
    assert shown.parameters["relation"].default is AddRemove
    told = inspect.getdoc(FUNCTIONS[name]) or ""
    for word in shown.parameters:
        assert len(re.findall(rf"^    {word}: ", told, re.MULTILINE)) == 1, word
    with pytest.raises(
        InvalidParameterError, match=f"{FUNCTIONS[name].__name__} takes no epsilom. Did you mean epsilon"
    ):
        FUNCTIONS[name](ROWS, epsilom=1)


def test_an_error_of_the_body_stays_what_it_is() -> None:
    def broken(values: object, **options: Any) -> None:
        raise TypeError("inside")

    broken.__annotations__["options"] = statistics.count.__annotations__["options"]
    with pytest.raises(TypeError, match="inside"):
        asks(Count)(broken)(ROWS)


@pytest.mark.parametrize("wrong", [Budget(epsilon=1), "survey.ledger", True])
def test_who_pays_must_be_a_ledger(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"ledger must be a Ledger, as Ledger\.open gives it"):
        mean(ROWS, bounds=(0, 9), epsilon=1, ledger=wrong)


def test_a_seed_is_no_source_of_bits() -> None:
    with pytest.raises(InvalidParameterError, match=r"bits must be a source of random bits, got 3\. Leave it out\."):
        mean(ROWS, bounds=(0, 9), epsilon=1, bits=3)  # type: ignore[arg-type]


OWN: dict[str, dict[str, Any]] = {
    "anova": {"bounds": (0, 9), "keys": ["a", "b"]},
    "binomial_test": {"share": "1/2"},
    "chi_squared_fit": {"keys": ["a", "b"], "shares": [1, 2]},
    "chi_squared_independence": {"keys": ["a", "b"], "other_keys": [1, 2]},
    "correlation": {"bounds": [(0, 9), (0, 9)]},
    "count": {},
    "covariance": {"bounds": [(0, 9), (0, 9)]},
    "cumulative_distribution": {"at": [1, 2]},
    "histogram": {"bins": 3, "bounds": (0, 9)},
    "key_counts": {"delta": "1e-6"},
    "linear_regression": {"bounds": [(0, 9)], "target_bounds": (0, 9), "method": "theil_sen", "matchings": 4},
    "mann_whitney": {},
    "mode": {"keys": ["a", "b"]},
    "one_sample_t_test": {"mean": 3, "bounds": (0, 9)},
    "quantile": {"share": 0.9, "bounds": (0, 9)},
    "quantiles": {"shares": [0.1, 0.9], "bounds": (0, 9)},
    "subsampled_test": {"test": max, "blocks": 3},
    "top_k": {"k": 1, "keys": ["a", "b"]},
    "vector_covariance": {"bounds": [(0, 9), (0, 9)], "deviations": 3},
    "vector_mean": {"bounds": [(0, 9), (0, 9)], "deviations": 3},
}


@pytest.mark.parametrize("name", ASKING)
def test_a_plan_knows_its_loss_and_error_and_is_shown_as_its_call(name: str) -> None:
    asked = plan(FUNCTIONS[name], epsilon=1, **OWN.get(name, {"bounds": (0, 9)}))
    assert asked.privacy_loss.epsilon(asked.price.delta).upper == pytest.approx(1)
    assert asked.expected_error(1000) > 0
    assert repr(asked).startswith(f"{asked.name}(epsilon=1")
    with pytest.raises(InvalidParameterError, match=f"^{FUNCTIONS[name].__name__} takes no ledger"):
        plan(FUNCTIONS[name], epsilon=1, ledger=None)


def test_a_plan_answers_as_its_function_does() -> None:
    asked = plan(mean, bounds=(0, 9), epsilon=1)
    answers = [given(ROWS, bits=DeterministicBits(1)) for given in (asked, partial(mean, bounds=(0, 9), epsilon=1))]
    assert answers[0].scalar(unsafe=True) == answers[1].scalar(unsafe=True)
    assert asked == Mean(bounds=(0, 9), epsilon=1)


@pytest.mark.parametrize("wrong", [3, len, statistics.bootstrap, Mean])
def test_what_asks_for_no_statistic_has_no_plan(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"function must be one of deniable\.statistics"):
        plan(wrong, epsilon=1)


def test_entries_of_arguments_are_left_out() -> None:
    text = "One.\n\nArgs:\n    a: first,\n        and more.\n    b: second.\n\nRaises: never."
    assert without_arguments(text, ["a"]) == "One.\n\nArgs:\n    b: second.\n\nRaises: never."
    assert without_arguments(text, []) == text


def test_the_text_in_ledgers_stays_whatever_is_printed() -> None:
    """An answer is stored under the text of its question: another text would be charged again."""
    asked = plan(statistics.quantiles, shares=["1/3", 0.5], bounds=(0, 9), epsilon=1, relation="replace")
    assert str(asked) == (
        "quantiles(epsilon=1, relation=replace, bounds=(0, 9), shares=(Fraction(1, 3), Fraction(1, 2)))"
    )
    assert repr(asked) == "quantiles(epsilon=1, relation=replace, bounds=(0, 9), shares=('1/3', 0.5))"
    one = plan(statistics.chi_squared_fit, keys=["a", "b"], shares=[1, 2], epsilon="0.5")
    assert str(one) == "chi_squared_fit(epsilon='0.5', keys=('a', 'b'), shares=(Fraction(1, 1), Fraction(2, 1)))"
