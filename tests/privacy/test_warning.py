from fractions import Fraction

import pytest

from deniable.privacy import Budget, GaussianLoss, LaplaceLoss, PureLoss
from deniable.privacy.warning import warning_about
from deniable.release.display import price


@pytest.mark.parametrize(
    ("amounts", "word"),
    [
        ({"epsilon": "1e9"}, "protects nobody"),
        ({"epsilon": 1, "delta": "0.1"}, "delta=0.1 lets the data"),
        ({"epsilon": "1e-300"}, "so small that answers are noise alone"),
        *(({name: 30}, "protects nobody") for name in ("rho", "mu")),
        ({"renyi": 30, "order": 8}, "protects nobody"),
    ],
)
def test_a_budget_of_an_odd_size_says_so(amounts: dict[str, object], word: str) -> None:
    budget = Budget(**amounts)  # type: ignore[arg-type]
    assert "caution" in str(budget)
    assert word in str(budget)
    assert Budget.from_json(budget.to_json()) == budget


def test_a_budget_of_an_ordinary_size_needs_no_words() -> None:
    for amounts in (
        {"epsilon": 1, "delta": "1e-6"},
        {"epsilon": "0.01"},
        {"epsilon": 20},
        {"rho": "0.5"},
        {"mu": 1},
        {"renyi": "0.5", "order": 8},
    ):
        assert not Budget(**amounts).warning  # type: ignore[arg-type]
    assert warning_about(epsilon=Fraction(0), delta=Fraction(0)) == ""


def test_a_report_says_it_too() -> None:
    assert "protects nobody" in str(LaplaceLoss("1/100").report(0))
    assert "Caution" not in str(LaplaceLoss(1).report("1e-6"))


def test_a_charge_says_it_too_and_so_does_the_price_of_a_release() -> None:
    assert "noise alone" in price(PureLoss("1e-300"))
    assert "protects nobody" in price(PureLoss(30))
    assert "protects nobody" in price(GaussianLoss("1/30"))
    assert price(PureLoss(1)) == "epsilon=1"


@pytest.mark.parametrize(("population", "warned"), [(50_000, True), (1_000, False), (10**7, True), (None, False)])
def test_a_delta_of_the_order_of_one_in_the_population_is_told(population: int | None, warned: bool) -> None:
    """golden: delta should be well below 1/n; n^-1.1 is 6.8e-6 for 50,000 people and 5e-4 for 1,000."""
    text = warning_about(epsilon=Fraction(1), delta=Fraction(1, 10**5), population=population)
    assert ("is of the order of" in text) == warned
    report = PureLoss(1).report("1e-5", population=population)
    assert ("is of the order of" in str(report)) == warned
