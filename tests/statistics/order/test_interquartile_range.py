from fractions import Fraction

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import interquartile_range
from deniable.statistics.order.interquartile_range import InterquartileRange


def test_the_range_is_near_the_truth() -> None:
    values = np.random.default_rng(1).normal(50, 10, 5000)
    answer = interquartile_range(values, bounds=(0, 100), epsilon=1, interval=0.95, bits=DeterministicBits(1))
    lower, upper = (end[0] for end in answer.intervals()["interquartile_range"])
    truth = np.subtract(*np.quantile(values, [0.75, 0.25]))
    assert answer.scalar(unsafe=True) == pytest.approx(truth, abs=0.5)
    assert truth - 2 < lower <= truth <= upper < truth + 2
    assert answer.intervals(0.99)["interquartile_range"].upper[0] == pytest.approx(100)
    alone = interquartile_range(values, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    assert np.isnan(alone.intervals()["interquartile_range"].lower[0])


def test_intervals_cover_the_truth() -> None:
    """At level 0.8: fewer than 32 of 60 has chance 1e-6; measured are all."""
    covered = 0
    plan = InterquartileRange(bounds=(0, 60), epsilon=4, interval=0.8)
    for seed in range(60):
        values = np.random.default_rng(seed).exponential(5, 200)
        lower, upper = plan(values, bits=DeterministicBits(seed)).intervals(0.8)["interquartile_range"]
        covered += lower[0] <= np.subtract(*np.quantile(values, [0.75, 0.25])) <= upper[0]
    assert covered >= 32


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("interval", [None, 0.95])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/10"}])
def test_the_charge_is_the_price(price: dict[str, object], interval: float | None, relation: Relation) -> None:
    plan = InterquartileRange(bounds=(0, 1), interval=interval, relation=relation, **price)  # type: ignore[arg-type]
    charge = plan.privacy_loss.charge()
    if "rho" in price:
        assert Fraction(1, 10) * (1 - Fraction(1, 10**6)) <= charge.rho <= Fraction(1, 10)
    else:
        assert charge.epsilon == 1
        assert charge.delta in (0, Fraction(str(price.get("delta", 0))))  # noise that needs no delta costs none


def test_the_quartiles_are_paid_together() -> None:
    rates = [
        InterquartileRange(bounds=(0, 1), epsilon=1, interval=None, relation=relation)._draws[0].rate
        for relation in (AddRemove, Replace)
    ]
    assert rates == [Fraction(2, 5), Fraction(1, 4)]
    with_ends = InterquartileRange(bounds=(0, 1), epsilon=1, rows=3, interval=0.95)
    quartiles, end, together = with_ends._draws
    assert end is not None
    assert (quartiles.rate, end.rate, together) == (Fraction(1, 15), Fraction(1, 36), True)


def test_the_expected_error_is_known_before() -> None:
    plan = InterquartileRange(bounds=(0, 1000), epsilon=1, interval=None)
    values = np.arange(1000) + 0.5
    draws = np.array([plan(values, bits=DeterministicBits(seed)).scalar(unsafe=True) for seed in range(400)])
    # in ranks, as values are; relative standard error below sqrt(5 / 4 / 400) = 5.6%; three of them
    assert np.sqrt(np.mean((draws - 500) ** 2)) == pytest.approx(plan.expected_error(1000), rel=0.17)


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 3, [np.nan, np.inf]])
def test_few_rows_give_an_answer(values: list[float]) -> None:
    assert (
        0 <= interquartile_range(values, bounds=(0, 10), epsilon=1, bits=DeterministicBits(1)).scalar(unsafe=True) <= 10
    )


def test_more_epsilon_finds_the_quartiles_between_two_rows() -> None:
    """In whole ranks all points of a gap are equal: quartiles of these rows would be off by 5 to either side."""
    rows = [0.0, 10, 20, 40, 60, 80, 90, 100]
    truth = float(np.subtract(*np.quantile(rows, [0.75, 0.25])))
    for relation in (AddRemove, Replace):
        plan = InterquartileRange(bounds=(-20, 120), epsilon=1000, interval=None, relation=relation)
        assert plan(rows, bits=DeterministicBits(1)).scalar(unsafe=True) == pytest.approx(truth, abs=0.5)
