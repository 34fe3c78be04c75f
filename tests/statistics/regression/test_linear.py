import numpy as np
import pandas as pd
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace
from deniable.statistics.regression import linear_regression
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.linear import Regression
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen
from tests.statistics.regression.data import GENERATOR, least_squares, rows

KINDS = [SufficientRegression, AdaptiveRidge, TheilSen]
PRICES = [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": "0.5"}]
PUBLIC = {"bounds": [(0, 10)], "target_bounds": (-10, 30)}


def ask(kind: type[Regression], values: object, *, units: object = None, seed: int = 1, **options: object):  # type: ignore[no-untyped-def]
    return kind(**{**PUBLIC, **options})(values, units=units, bits=DeterministicBits(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_much_data_and_a_high_price_give_the_least_squares_line(kind: type[Regression]) -> None:
    x, y = rows(20_000, 1)
    answer = ask(kind, (x, y), rho=1000)
    assert answer["term"].tolist() == ["intercept", "x0"]
    # least squares and medians of 20,000 rows: deviations of intercept and slope about 0.014 and 0.0025
    assert answer["coefficient"] == pytest.approx(least_squares(x, y), abs=0.06)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_ledger_is_charged_the_price(kind: type[Regression], price: dict[str, object], relation) -> None:  # type: ignore[no-untyped-def]
    budget = Budget(rho=1) if "rho" in price else Budget(epsilon=2, delta=1e-5)
    ledger = Ledger.open(None, budget=budget, relation=relation, unit=PrivacyUnit(), dataset="test")
    plan = kind(**PUBLIC, relation=relation, **price)  # type: ignore[arg-type]
    plan(([1.0, 2], [1.0, 2]), ledger=ledger, bits=DeterministicBits(1))
    spent, price_named = ledger.spent(), plan.price
    if price_named.rho is None:
        assert spent.epsilon <= price_named.epsilon
        assert float(spent.epsilon) == pytest.approx(float(price_named.epsilon), rel=1e-6)
    else:
        assert float(spent.rho) == pytest.approx(float(price_named.rho), rel=1e-6)
        assert spent.rho <= price_named.rho


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize(
    "values",
    [
        ([], []),
        ([1.0], [2.0]),
        ([5.0] * 9, [5.0] * 9),
        ([np.nan] * 3, [1.0, np.inf, -np.inf]),
        ([1e300, -1e300], [0.0, np.nan]),
    ],
)
def test_whatever_the_rows_are_the_answer_is_well_formed(kind, relation, values) -> None:  # type: ignore[no-untyped-def]
    answer = ask(kind, values, relation=relation, epsilon="0.1")
    assert len(answer) == 2
    assert np.isfinite(answer["coefficient"]).all()
    lower, upper = answer.intervals()["coefficient"]
    assert (lower <= upper).all()


@pytest.mark.parametrize("kind", [SufficientRegression, AdaptiveRidge])
def test_the_order_of_rows_changes_nothing(kind: type[Regression]) -> None:
    x, y = rows(300, 1)
    assert np.array_equal(
        ask(kind, (x, y), epsilon=1)["coefficient"], ask(kind, (x[::-1], y[::-1]), epsilon=1)["coefficient"]
    )


def test_names_and_units_of_columns_are_kept() -> None:
    frame = pd.DataFrame({"age": GENERATOR.uniform(20, 60, 5000), "rooms": GENERATOR.integers(1, 7, 5000)})
    income = 1000 * frame["age"] + 5000 * frame["rooms"]
    options = {"bounds": [(0, 100), (0, 10)], "target_bounds": (0, 100_000), "rho": 5}
    answer = ask(SufficientRegression, (frame, income), **options)
    assert answer["term"].tolist() == ["intercept", "age", "rooms"]
    assert answer["coefficient"][1:] == pytest.approx([1000, 5000], rel=0.1)
    assert ask(SufficientRegression, (frame["age"], income), epsilon=1)["term"].tolist() == ["intercept", "age"]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_found_where_they_are_not_declared(kind: type[Regression]) -> None:
    x, y = rows(5000, 1)
    answer = ask(kind, (x, y), bounds=["auto"], target_bounds="auto", epsilon=4)
    assert answer["coefficient"][1] == pytest.approx(1.5, abs=0.3)
    assert sum("estimated privately" in note for note in answer.notes) == 1
    plan = kind(bounds=["auto"], target_bounds=(0, 1), epsilon=1, delta=1e-6)
    assert plan.privacy_loss.charge().epsilon <= 1
    concentrated = kind(bounds=["auto"], target_bounds="auto", rho="0.5").privacy_loss.rho
    assert concentrated is not None
    assert 0.499 < concentrated <= 0.5


def test_rows_of_one_unit_are_bounded() -> None:
    x, y = rows(900, 1)
    for kind in KINDS:
        answer = ask(kind, (x, y), units=np.repeat(np.arange(300), 3), rows=2, rho=1)
        assert len(answer) == 2
    one, two = (SufficientRegression(**PUBLIC, rho=1, rows=count) for count in (1, 2))  # type: ignore[arg-type]
    assert two.expected_error(1000) == pytest.approx(2 * one.expected_error(1000), rel=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": (0, 1)},
        {"bounds": []},
        {"bounds": "auto"},
        {"bounds": [(1, 0)]},
        {"target_bounds": (1, 1)},
        {"target_bounds": None},
        {"epsilon": 1e-40},
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_parameters_are_refused_before_anything_is_read(kind: type[Regression], wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        kind(**{**PUBLIC, "epsilon": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [([1, 2], [1]), (np.ones((2, 2)), [1, 2]), [1, 2, 3], 5])
def test_shapes_are_checked(values: object) -> None:
    with pytest.raises(InvalidParameterError):
        ask(SufficientRegression, values, epsilon=1)


@pytest.mark.parametrize("values", [(np.ones((2, 2)), [1, 2]), (pd.DataFrame({"a": [1], "b": [1]}), [1]), [1, 2, 3]])
def test_what_is_seen_before_the_rows_are_read_costs_nothing(values: object) -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError):
        SufficientRegression(**PUBLIC, epsilon=1)(values, ledger=ledger)  # type: ignore[arg-type]
    assert ledger.spent().epsilon == 0


def test_one_pair_of_bounds_is_no_list_of_pairs() -> None:
    with pytest.raises(InvalidParameterError, match=r"a pair \(lower, upper\) or .*for each|for each column, a pair"):
        linear_regression([1], [2], bounds=(0, 9), target_bounds=(0, 9), epsilon=1)
