from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import median, quantile
from deniable.statistics.order.quantile import Median, Quantile

NORMAL = np.random.default_rng(1).normal(50, 10, 1000)


def test_a_quantile_is_near_the_truth_and_inside_its_interval() -> None:
    for q in (0.1, 0.5, 0.75):
        answer = quantile(NORMAL, q, bounds=(0, 100), epsilon=2, interval=0.95, bits=DeterministicBits(1))
        lower, upper = (end[0] for end in answer.intervals()["quantile"])
        assert lower <= np.quantile(NORMAL, q) <= upper
        assert (
            np.quantile(NORMAL, q - 0.05) < lower <= answer.scalar(unsafe=True) <= upper < np.quantile(NORMAL, q + 0.05)
        )


def test_the_interval_is_known_up_to_its_level_only() -> None:
    answer = median(NORMAL, bounds=(0, 100), epsilon=2, interval=0.9, step=1, bits=DeterministicBits(1))
    inner, outer = answer.intervals(0.5)["median"], answer.intervals(0.95)["median"]
    assert inner == answer.intervals(0.9)["median"]
    assert (outer.lower[0], outer.upper[0]) == (0.0, 100.0)
    alone = median(NORMAL, bounds=(0, 100), epsilon=2, interval=None, bits=DeterministicBits(1))
    assert np.isnan(alone.intervals()["median"].lower[0])


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_intervals_cover_the_true_quantile(relation: Relation) -> None:
    """At level 0.8: fewer than 65 of 100 has chance 2e-4 at that coverage, and measured are all: it is a bound."""
    covered = 0
    for seed in range(100):
        values = np.random.default_rng(seed).exponential(5, 150)
        plan = Quantile(share=0.6, bounds=(0, 60), epsilon=2, interval=0.8, relation=relation)
        lower, upper = (end[0] for end in plan(values, bits=DeterministicBits(seed)).intervals(0.8)["quantile"])
        covered += lower <= np.quantile(values, 0.6) <= upper
    assert covered >= 65


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("q", ["1/2", "1/10"])
def test_the_expected_error_is_known_before(q: str, relation: Relation) -> None:
    plan = Quantile(share=q, bounds=(0, 1000), epsilon=1, interval=None, relation=relation, step="0.001")
    values = np.arange(1000) + 0.5  # a row in every gap
    draws = [plan(values, bits=DeterministicBits(seed)).scalar(unsafe=True) for seed in range(600)]
    ranks = np.searchsorted(values, draws)
    # relative standard error of a root mean square with kurtosis 6: sqrt(5 / 4 / 600) = 4.6%; four of them
    assert np.sqrt(np.mean((ranks - 1000 * float(Fraction(q))) ** 2)) == pytest.approx(
        plan.expected_error(1000), rel=0.19
    )


def test_round_numbers_cost_little_where_values_are_spread_evenly() -> None:
    """At random places the mean squared error is about 1.1 times that of equal weights."""
    plan = Median(bounds=(0, 1000), epsilon="1/2", interval=None)
    errors = []
    for seed in range(500):
        draw = np.random.default_rng(seed)
        values = np.sort(draw.uniform(0, 1000, 400))
        errors.append(np.searchsorted(values, plan(values, bits=DeterministicBits(seed)).scalar(unsafe=True)) - 200)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(plan.expected_error(400), rel=0.25)


@pytest.mark.parametrize("step", [None, "0.01"])
@pytest.mark.parametrize("size", [1, 2, 10, 11, 2000])
@pytest.mark.parametrize("q", [0, 0.1, 0.5, 0.9, 1])
def test_more_epsilon_comes_closer_than_the_next_row(q: float, size: int, step: object) -> None:
    """To what numpy gives, a point between two rows for most q, but for the step; on whole ranks answers fill a gap."""
    values = np.sort(np.random.default_rng(size).uniform(0, 100, size))
    truth = np.quantile(values, q)
    for seed in range(3):
        found = quantile(
            values, q, bounds=(0, 100), epsilon=10**6, interval=None, step=step, bits=DeterministicBits(seed)
        ).scalar(unsafe=True)
        gaps = np.diff(values, prepend=0, append=100)
        assert abs(found - truth) < (0.0 if step is None else 0.011) + gaps.max() / 500


@given(
    values=some.lists(some.floats(allow_nan=True, allow_infinity=True), max_size=5),
    q=some.fractions(0, 1),
    epsilon=some.sampled_from(["1e-6", 1, 1000]),
    relation=some.sampled_from(list(Relation)),
    bounds=some.sampled_from([(0, 1), (-1e299, 1e299), (-5, "1e-3"), "auto"]),
    step=some.sampled_from([None, "0.001"]),
)
def test_whatever_the_rows_are_the_answer_is_within_the_bounds(
    values: list[float], q: Fraction, epsilon: object, relation: Relation, bounds: object, step: object
) -> None:
    if bounds == (-1e299, 1e299):
        step = None
    answer = quantile(
        values, q, bounds=bounds, epsilon=epsilon, relation=relation, step=step, bits=DeterministicBits(1)
    )
    lower, upper = (-np.inf, np.inf) if isinstance(bounds, str) else (float(bound) for bound in bounds)  # type: ignore[union-attr]
    assert lower <= answer.scalar(unsafe=True) <= upper
    assert len(answer) == 1


def test_a_million_rows_of_which_most_are_equal() -> None:
    """diffprivlib issue 107: the weights underflow there."""
    rows = np.concatenate([np.full(800_000, 7.0), np.random.default_rng(2).uniform(0, 100, 200_000)])
    answer = median(rows, bounds=(0, 100), epsilon="0.1", interval=0.95, bits=DeterministicBits(1))
    assert answer.scalar(unsafe=True) == 7.0
    assert answer.intervals()["median"] == (7.0, 7.0)


def test_whole_numbers_are_found_without_a_declared_step() -> None:
    """Twelve rows a value, so six ranks from the gaps beside it, each of 10^7 points that no row has."""
    ages = np.repeat(np.arange(20, 61), 12)
    answers = [median(ages, bounds=(0, 100), epsilon=1, interval=None, bits=DeterministicBits(k)) for k in range(40)]
    # other points have chance 2 * 1.6 / 0.11 * e^-6 = 7%: more than 12 of 40 has chance 1e-5
    assert sum(answer.scalar(unsafe=True) == 40 for answer in answers) >= 28


def test_integers_beyond_floats_are_exact() -> None:
    rows = np.full(1000, 2**60 + 3)
    assert (
        median(rows, bounds=(2**60, 2**60 + 1024), step=1, epsilon=1, bits=DeterministicBits(1)).scalar(unsafe=True)
        == 2**60 + 3
    )


def test_the_order_of_rows_changes_no_bit() -> None:
    one = median(NORMAL, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    other = median(NORMAL[::-1].copy(), bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    assert one.to_dicts() == other.to_dicts()


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/10"}])
@pytest.mark.parametrize("bounds", [(0, 100), "auto"])
def test_the_charge_is_the_price(price: dict[str, object], bounds: object) -> None:
    plan = Median(bounds=bounds, **price)  # type: ignore[arg-type]
    charge = plan.privacy_loss.charge()
    if "rho" in price:
        assert Fraction(1, 10) * (1 - Fraction(1, 10**6)) <= charge.rho <= Fraction(1, 10)
    else:
        assert charge.epsilon == 1
        assert charge.delta in (0, Fraction(str(price.get("delta", 0))))  # noise that needs no delta costs none


def test_rates_follow_the_relation_and_the_rows_of_a_unit() -> None:
    def rate(**options: object) -> Fraction:
        plan = Quantile(bounds=(0, 1), epsilon=1, interval=None, **options)  # type: ignore[arg-type]
        return plan._estimate.rate

    assert rate(share="1/2") == 1
    assert rate(share="9/10") == Fraction(5, 9)
    assert rate(share="1/2", relation=Replace) == Fraction(1, 2)
    assert rate(share="1/2", rows=5) == Fraction(1, 5)


def test_of_one_unit_so_many_rows_count() -> None:
    values, units = np.r_[np.zeros(100), np.full(1000, 9.0)], np.r_[np.arange(100), np.full(1000, 200)]
    answer = median(values, units=units, rows=3, bounds=(0, 9), epsilon=50, step=1, bits=DeterministicBits(1))
    assert answer.scalar(unsafe=True) == 0.0


@pytest.mark.parametrize("q", [-0.1, 1.1, "a", None, float("nan"), True])
def test_a_share_outside_is_refused_before_anything_is_spent(q: object) -> None:
    with pytest.raises(InvalidParameterError, match="share"):
        quantile(NORMAL, q, bounds=(0, 1), epsilon=1)


def test_a_quantile_says_what_it_is() -> None:
    assert str(Median(bounds=(0, 1), epsilon=1)) == "median(epsilon=1, bounds=(0, 1))"
