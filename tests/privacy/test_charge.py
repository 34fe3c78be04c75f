"""Charges: exact sums in every currency, and the text of older and newer ledgers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, ApproximateLoss, Budget, DiscreteLaplaceLoss, GaussianLoss, PureLoss, of_count
from deniable.privacy.charge import Charge

ONE = of_count(rows=1, groups=1, relation=AddRemove)

charges = st.builds(
    lambda e, s: PureLoss(e).charge() + DiscreteLaplaceLoss(s, ONE).charge(), st.fractions(0, 2), st.just(3)
)


@given(charges, charges, st.integers(0, 5))
def test_charges_add_exactly(a: Charge, b: Charge, count: int) -> None:
    assert a + b == b + a
    assert a * count == sum([a] * count, Charge.nothing())
    assert Charge.from_json((a + b).to_json()) == a + b


def test_charges_of_older_ledgers_are_read() -> None:
    """Before failures were counted, a charge had four fields; one of an approximate mechanism had no rho."""
    old = Charge.from_data({"epsilon": "1/10", "delta": "1/1000000000", "rho": None, "mu_squared": None})
    assert (old.failing_epsilon, old.failing_rho, old.failure) == (None, None, 0)
    assert Budget(epsilon=1, delta="1e-6").rule(old).name == "pairs"
    assert Charge.nothing().to_data() == {"epsilon": "0", "delta": "0", "rho": "0", "mu_squared": "0"}
    assert set(PureLoss(1).charge().to_data()) == {"epsilon", "delta", "rho", "mu_squared"}
    new = ApproximateLoss("0.1", "1e-9").charge()
    assert Charge.from_json(new.to_json()) == new
    assert Charge.from_json((new + old).to_json()) == new + old
    with pytest.raises(InvalidParameterError, match="a charge needs"):
        Charge.from_data({"failure": "0"})


def test_a_divergence_is_written_where_a_budget_asked_for_it() -> None:
    price = Budget(renyi=1, order=4).price(GaussianLoss(2))
    assert price.renyi == Fraction(1, 2)
    assert Charge.from_json(price.to_json()) == price
    assert (Charge.nothing() + price).renyi == Fraction(1, 2)
    assert (price + PureLoss(1).charge()).renyi is None  # nobody asked for that one
    assert "renyi" not in GaussianLoss(2).charge().to_data()


def test_a_stated_pair_is_what_fails_only_where_nothing_better_is_known() -> None:
    run = GaussianLoss(2).poisson_sampled(rate="0.01").stated(epsilon="0.2", delta="8e-9").charge()
    assert (run.failing_epsilon, run.failing_rho, run.failure) == (Fraction(1, 5), Fraction(1, 50), Fraction(8, 10**9))
    gauss = GaussianLoss(4).stated(epsilon=1, delta="1e-3").charge()
    assert (gauss.failing_epsilon, gauss.failing_rho, gauss.failure) == (None, Fraction(1, 32), 0)
    pure = PureLoss(1).stated(epsilon="0.9", delta="0.1").charge()
    assert (pure.epsilon, pure.delta, pure.failing_epsilon, pure.failure) == (Fraction(9, 10), Fraction(1, 10), 1, 0)
    for charge in (run, gauss, pure, run + gauss, run + pure):
        assert Charge.from_json(charge.to_json()) == charge


@pytest.mark.parametrize("field", ["delta", "failure", "rho", "epsilon"])
def test_a_charge_is_never_negative(field: str) -> None:
    with pytest.raises(InvalidParameterError, match=field):
        Charge.from_data({"epsilon": "1", "delta": "0", "rho": "1", "mu_squared": "1", "failure": "0", field: "-1"})
