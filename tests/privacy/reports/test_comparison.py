"""Other accountants: their published values, and never below the certified one."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.privacy import (
    ApproximateLoss,
    ConcentratedLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    RenyiLoss,
)
from deniable.privacy.notions.conversion import ORDERS, epsilon_by_renyi
from deniable.privacy.reports import comparison
from deniable.privacy.reports.comparison import accounts


def by_name(loss: PrivacyLoss, delta: object) -> dict[str, float | None]:
    return {account.name: account.epsilon for account in accounts(loss.statement, Fraction(str(delta)))}


def test_published_sums_of_a_hundred_tenths() -> None:
    """sqrt(2 k ln(1/slack)) e + k e (exp(e) - 1) with slack = delta / 2, and k e tanh(e / 2), by mpmath."""
    import mpmath

    found = by_name(PureLoss("0.1") * 100, "1e-6")
    root = mpmath.sqrt(2 * 100 * mpmath.log(2e6)) / 10
    assert found["basic composition"] == pytest.approx(10, rel=1e-6)
    assert found["advanced composition"] == pytest.approx(float(root + 10 * mpmath.expm1(0.1)), rel=1e-6)
    assert found["advanced, tanh form"] == pytest.approx(float(root + 10 * mpmath.tanh(0.05)), rel=1e-6)


def test_many_gaussians_by_the_three_currencies() -> None:
    """Ten times noise 3: mu^2 = 10/9 and rho = 5/9; the Gaussian accountant is the truth itself."""
    loss = GaussianLoss(3) * 10
    found = by_name(loss, "1e-5")
    assert found["Gaussian (GDP)"] == pytest.approx(loss.epsilon("1e-5").upper, rel=1e-9)
    assert found["concentrated (zCDP)"] == pytest.approx(5.0235, abs=2e-3)
    assert found["basic composition"] == pytest.approx(10 * GaussianLoss(3).epsilon("1e-6").upper, rel=1e-9)


LOSSES = st.one_of(
    st.integers(1, 40).map(lambda n: PureLoss(Fraction(n, 40))),
    st.integers(1, 40).map(lambda n: ApproximateLoss(Fraction(n, 40), Fraction(1, 10**8))),
    st.integers(1, 40).map(lambda n: GaussianLoss(Fraction(n, 4))),
    st.integers(1, 40).map(lambda n: ConcentratedLoss(Fraction(n, 100))),
)


@given(st.lists(st.tuples(LOSSES, st.integers(1, 30)), min_size=1, max_size=3), st.sampled_from(["1e-3", "1e-6"]))
@settings(max_examples=12)
def test_none_is_below_the_truth(parts: list[tuple[PrivacyLoss, int]], delta: str) -> None:
    loss = sum((part * count for part, count in parts[1:]), parts[0][0] * parts[0][1])
    least = loss.epsilon(delta, tolerance=0.01).lower
    for account in accounts(loss.statement, Fraction(delta)):
        assert account.epsilon is None or not account.bound or account.epsilon >= least, account.name


def test_renyi_of_training_is_loose_and_the_central_limit_too_small() -> None:
    """errata E70: the truth is 2.3816; the limit lies below it and is marked."""
    loss = GaussianLoss("1.1").poisson_sampled(rate="256/60000") * 14063
    found = {account.name: account for account in accounts(loss.statement, Fraction(1, 10**5))}
    assert found["Rényi (RDP)"].epsilon == pytest.approx(2.597, abs=1e-3)
    limit = found["central limit of GDP"]
    assert not limit.bound
    assert limit.epsilon is not None
    assert 2.2 < limit.epsilon < 2.3816


def test_what_an_accountant_does_not_know_is_empty() -> None:
    found = by_name(GaussianLoss(1).poisson_sampled(rate="0.1") * 3, "1e-5")
    assert found["concentrated (zCDP)"] is None
    assert found["basic composition"] is not None
    assert by_name(ApproximateLoss(1, "0.1"), "1e-5") == dict.fromkeys(found)
    assert by_name(LaplaceLoss(1) * 2000, "1e-5")["basic composition"] == pytest.approx(2000)


@pytest.mark.parametrize(
    "loss",
    [
        GaussianLoss(3) * 10,
        GaussianLoss(40),
        GaussianLoss("1.1").poisson_sampled(rate="0.01") * 1000,
        LaplaceLoss(10) * 300,
        PureLoss("0.001") * 10,
        ConcentratedLoss("0.1"),
        RenyiLoss([2, 8], ["0.1", "0.5"]),
    ],
)
def test_the_orders_that_are_tried_hold_the_best_of_all(loss: PrivacyLoss) -> None:
    assert by_name(loss, "1e-6")["Rényi (RDP)"] == epsilon_by_renyi(loss, "1e-6")


def test_a_dozen_orders_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 81 took 14 s of CPU for a capped sample."""
    tried = []
    monkeypatch.setattr(comparison, "epsilon_by_renyi", lambda *_, orders: tried.append(orders) or math.inf)
    assert by_name(LaplaceLoss(1), "1e-6")["Rényi (RDP)"] is None
    assert len(tried) == 1  # infinite at the least order, and so at all
    tried.clear()
    monkeypatch.setattr(comparison, "epsilon_by_renyi", lambda *_, orders: tried.append(orders) or float(orders[0]))
    assert by_name(LaplaceLoss(1), "1e-6")["Rényi (RDP)"] == float(ORDERS[0])
    assert len(tried) <= 12
    assert sum(comparison._FIBONACCI) > len(ORDERS)


def test_divergences_that_only_sums_bound_are_left_out() -> None:
    """The law of this group is known up to an infinite loss of 1e-42, so that its divergences are those of its rho."""
    found = by_name(GaussianLoss(1).poisson_sampled(rate="0.01").group(3), "1e-5")
    assert found["Rényi (RDP)"] is None
    assert found["concentrated (zCDP)"] is not None
