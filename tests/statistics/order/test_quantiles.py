from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.ranks import JointQuantiles, RecursiveQuantiles, SliceQuantiles
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import quantiles
from deniable.statistics.order.quantiles import Quantiles, add_digits

DECILES = [k / 10 for k in range(1, 10)]
NORMAL = np.random.default_rng(1).normal(50, 10, 5000)


def rank_error(values: np.ndarray, shares: np.ndarray, found: np.ndarray) -> float:
    ordered = np.sort(values)
    return float(np.mean(np.abs(np.searchsorted(ordered, found) - shares * len(values))))


def test_quantiles_come_in_the_order_that_was_asked() -> None:
    answer = quantiles(NORMAL, [0.9, 0.1, 0.5, 0.1], bounds=(0, 100), epsilon=5, bits=DeterministicBits(1))
    assert answer["share"].tolist() == [0.9, 0.1, 0.5, 0.1]
    assert np.allclose(answer["value"], np.quantile(NORMAL, [0.9, 0.1, 0.5, 0.1]), atol=0.5)
    assert answer["value"][1] == answer["value"][3]


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_ninety_nine_quantiles_of_a_thousand_rows(law: str) -> None:
    """At epsilon 1, on [-100, 100]: at most 24 ranks of mean error. Measured: 13."""
    shares = np.arange(1, 100) / 100
    errors = []
    plan = Quantiles(shares=shares, bounds=(-100, 100), epsilon=1, interval=None)
    for seed in range(6):
        draw = np.random.default_rng(seed)
        values = draw.normal(0, 5, 1000) if law == "normal" else draw.uniform(-5, 5, 1000)
        errors.append(rank_error(values, shares, plan(values, bits=DeterministicBits(seed))["value"]))
    assert np.mean(errors) < 18


def test_the_error_grows_slower_than_the_number() -> None:
    plans = [Quantiles(shares=np.arange(1, m + 1) / (m + 1), bounds=(0, 1), epsilon=1) for m in (1, 3, 15, 63, 255)]
    errors = [plan.expected_error(10**6) for plan in plans]
    assert errors == sorted(errors)
    assert errors[-1] < 40 * errors[0]  # 255 times at equal shares of epsilon


def test_the_expected_error_is_known_before() -> None:
    plan = Quantiles(shares=DECILES, bounds=(0, 2000), epsilon=1, interval=None, step=0.001)
    values = np.arange(2000) + 0.5
    errors = [
        np.searchsorted(values, plan(values, bits=DeterministicBits(seed))["value"]) - 2000 * np.array(DECILES)
        for seed in range(50)
    ]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(plan.expected_error(2000), rel=0.18)


@pytest.mark.parametrize(
    ("count", "relation", "price", "method"),
    [
        (1, Replace, {"epsilon": 1}, RecursiveQuantiles),
        (2, AddRemove, {"epsilon": 1}, JointQuantiles),
        (3, AddRemove, {"epsilon": 1}, RecursiveQuantiles),  # two full levels
        (3, Replace, {"epsilon": 1}, JointQuantiles),
        (9, AddRemove, {"epsilon": 1}, JointQuantiles),
        (19, AddRemove, {"epsilon": 1}, RecursiveQuantiles),  # a gain of 6% is not worth it
        (9, AddRemove, {"rho": "1/10"}, RecursiveQuantiles),  # levels add up as squares
        (9, Replace, {"epsilon": "1e-6"}, RecursiveQuantiles),  # too slow
        (99, Replace, {"epsilon": 1}, RecursiveQuantiles),  # too many for 1,000 rows
    ],
)
def test_the_method_is_the_better_one(
    count: int, relation: Relation, price: dict[str, object], method: type[object]
) -> None:
    shares = [Fraction(place, count + 1) for place in range(1, count + 1)]
    plan = Quantiles(shares=shares, bounds=(0, 1), relation=relation, **price)  # type: ignore[arg-type]
    assert isinstance(plan.chosen, method)


@pytest.mark.parametrize(
    ("count", "size", "relation", "method"),
    [
        (19, 200, Replace, RecursiveQuantiles),  # both err by 20 ranks, and the joint draw is not steady
        (9, 1000, AddRemove, JointQuantiles),
        (9, 10**5, AddRemove, SliceQuantiles),
        (49, 1000, Replace, RecursiveQuantiles),
        (49, 10**4, Replace, JointQuantiles),
        (99, 10**6, Replace, SliceQuantiles),
        (1, 10**6, Replace, RecursiveQuantiles),
    ],
)
def test_the_method_is_the_better_one_for_a_public_number_of_rows(
    count: int, size: int, relation: Relation, method: type[object]
) -> None:
    shares = [Fraction(place, count + 1) for place in range(1, count + 1)]
    plan = Quantiles(shares=shares, bounds=(0, 1), relation=relation, epsilon=1, size=size)
    assert isinstance(plan.chosen, method)


def test_under_replace_the_rows_are_counted_where_they_are_public() -> None:
    few, many = np.arange(200.0), np.arange(100_000.0)
    options = {"bounds": (0, 10**6), "epsilon": 1, "interval": None, "bits": DeterministicBits(1)}
    texts = [str(quantiles(v, DECILES, relation=Replace, **options).text) for v in (few, many)]  # type: ignore[arg-type]
    assert "size=200" in texts[0]
    assert "size=100000" in texts[1]
    assert "size" not in quantiles(few, DECILES, **options).text  # type: ignore[arg-type]
    owners = quantiles(few, DECILES, relation=Replace, units=np.arange(200), **options)  # type: ignore[arg-type]
    assert "size" not in owners.text  # who has no rows is not known


@pytest.mark.parametrize("name", ["recursion", "joint", "slices"])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_a_method_can_be_asked_for(name: str, relation: Relation) -> None:
    plan = Quantiles(shares=DECILES, bounds=(0, 100), epsilon=20, relation=relation, method=name)
    assert plan.chosen.name == name
    assert plan.privacy_loss.charge().epsilon == 20
    found = plan(NORMAL, bits=DeterministicBits(1))["value"]
    assert np.allclose(found, np.quantile(NORMAL, DECILES), atol=1)


def test_wrong_methods_and_sizes_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="method must be"):
        Quantiles(shares=DECILES, bounds=(0, 1), epsilon=1, method="slice")
    with pytest.raises(InvalidParameterError, match="too long"):
        Quantiles(shares=DECILES, bounds=(0, 1), epsilon="1e-6", method="joint")
    with pytest.raises(InvalidParameterError, match="size"):
        Quantiles(shares=DECILES, bounds=(0, 1), epsilon=1, size=0)


def test_slices_beat_the_other_methods_on_many_rows() -> None:
    """99 quantiles of 10^5 rows: 9 ranks, the recursion 14. Each is a mean of 3 x 99 dependent errors."""
    values, shares = np.random.default_rng(1).normal(0, 5, 10**5), np.arange(1, 100) / 100
    errors = [
        np.mean(
            [
                rank_error(values, shares, plan(values, bits=DeterministicBits(seed))["value"])
                for plan in [Quantiles(shares=shares, bounds=(-100, 100), epsilon=1, interval=None, size=size)]
                for seed in range(3)
            ]
        )
        for size in (10**5, None)
    ]
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize(
    ("bounds", "step", "method"),
    [
        ((0, 1), None, JointQuantiles),
        ("auto", None, JointQuantiles),
        ((0, 2**60), 1, RecursiveQuantiles),
        ("auto", 1, RecursiveQuantiles),
    ],
)
def test_one_draw_needs_a_grid_with_room_for_digits(bounds: object, step: object, method: type[object]) -> None:
    plan = Quantiles(shares=DECILES, bounds=bounds, step=step, epsilon=1, relation=Replace)
    assert isinstance(plan.chosen, method)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_all_intervals_hold_together(relation: Relation) -> None:
    """At level 0.8: fewer than 32 of 60 has chance 1e-6. Each must be narrower than the bounds."""
    plan = Quantiles(shares=DECILES, bounds=(0, 100), epsilon=2, interval=0.8, relation=relation)
    covered, widths = 0, []
    for seed in range(60):
        values = np.random.default_rng(seed).exponential(10, 600)
        lower, upper = plan(values, bits=DeterministicBits(seed)).intervals(0.8)["value"]
        truth = np.quantile(values, DECILES)
        covered += bool(np.all((lower <= truth) & (truth <= upper)))
        widths.append(np.median(upper - lower))
    assert covered >= 32
    assert np.median(widths) < 20


@pytest.mark.parametrize("shares", [[0.2, 0.5, 0.89, 0.92, 0.95, 0.99], [0.2, 0.4, 0.6, 0.8, 0.85, 0.95]])
def test_many_equal_rows_take_one_draw_too(shares: list[float]) -> None:
    values = np.concatenate([np.zeros(18_000), np.random.default_rng(1).uniform(10, 100, 2000)])
    plan = Quantiles(shares=shares, bounds=(0, 100), epsilon=2, interval=None, relation=Replace)
    assert isinstance(plan.chosen, JointQuantiles)
    answer = plan(values, bits=DeterministicBits(1))["value"]
    assert np.allclose(answer, np.quantile(values, shares), atol=3)


def test_ties_do_not_spread_errors() -> None:
    """90% zeros and a tail: random digits keep the shares right. Without them the tail is off by hundreds of rows."""
    values = np.concatenate([np.zeros(18_000), np.random.default_rng(1).uniform(10, 100, 2000)])
    shares = [0.2, 0.5, 0.89, 0.92, 0.95, 0.99]
    answer = quantiles(values, shares, bounds=(0, 100), epsilon=2, interval=None, bits=DeterministicBits(1))
    assert answer["value"][:3].tolist() == [0, 0, 0]
    assert np.allclose(answer["value"][3:], np.quantile(values, shares[3:]), atol=3)


@pytest.mark.parametrize("shares", [[0.25, 0.5], DECILES])
@pytest.mark.parametrize("interval", [None, 0.95])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/10"}])
@pytest.mark.parametrize("method", [None, "recursion", "joint", "slices"])
def test_the_charge_is_the_price(
    price: dict[str, object], interval: float | None, relation: Relation, shares: list[float], method: str | None
) -> None:
    options = {"interval": interval, "relation": relation, "method": method, **price}
    plan = Quantiles(shares=shares, bounds=(0, 1), **options)  # type: ignore[arg-type]
    charge = plan.privacy_loss.charge()
    if "rho" in price:
        assert Fraction(1, 10) * Fraction(99, 100) <= charge.rho <= Fraction(1, 10)
    else:
        assert Fraction(99, 100) <= charge.epsilon <= 1
        assert charge.delta in (0, Fraction(str(price.get("delta", 0))))  # noise that needs no delta costs none


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 3000, [np.nan, np.inf, -np.inf]])
@pytest.mark.parametrize(("epsilon", "method"), [("1e-6", None), (1, None), (1000, None), (5, "slices")])
def test_few_or_equal_rows_give_an_answer(values: list[float], epsilon: object, method: str | None) -> None:
    answer = quantiles(
        values, DECILES, bounds=(0, 10), epsilon=epsilon, interval=0.95, method=method, bits=DeterministicBits(1)
    )
    assert len(answer) == 9
    assert answer["value"].min() >= 0
    assert answer["value"].max() <= 10
    lower, upper = answer.intervals()["value"]
    assert np.all(lower <= upper)


@pytest.mark.parametrize("method", ["recursion", "joint", "slices"])
def test_only_the_rows_near_the_wanted_ranks_are_sorted(method: str) -> None:
    """Of many rows, in parts: small errors, and ends that are near."""
    values = np.random.default_rng(1).permutation((np.arange(60_000) + 0.5) / 600)
    wanted = 60_000 * np.array([0.25, 0.5, 0.75])
    plan = Quantiles(shares=[0.25, 0.5, 0.75], bounds=(0, 100), epsilon=10, method=method, interval=0.95)
    ordered, errors = np.sort(values), []
    for seed in range(20):
        column, grid = plan._on_grid(values, None, DeterministicBits(seed))
        rows, _ = plan._rows(column, grid, DeterministicBits(seed))
        assert not rows._ordered.any()
        answer = plan(values, bits=DeterministicBits(seed))
        errors.append(np.searchsorted(ordered, answer["value"]) - wanted)
        lower, upper = answer.intervals()["value"]
        assert ((lower <= answer["value"]) & (answer["value"] <= upper)).all()
        assert np.all(np.searchsorted(ordered, upper) - np.searchsorted(ordered, lower) < 200)
    assert np.abs(errors).max() < 15  # at rates above 1 a rank; a part that is out of order errs by thousands


def test_the_order_of_rows_changes_no_bit() -> None:
    one, other = (
        quantiles(v, DECILES, bounds=(0, 100), step=1, epsilon=1, bits=DeterministicBits(1))
        for v in (NORMAL, NORMAL[::-1])
    )
    assert one.to_dicts() == other.to_dicts()


@pytest.mark.parametrize("q", [[], 0.5, "0.5", [0.5, 1.5], [k / 1024 for k in range(1024)], None])
def test_wrong_lists_are_refused(q: object) -> None:
    with pytest.raises(InvalidParameterError, match="share"):
        Quantiles(shares=q, bounds=(0, 1), epsilon=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("shares", [[0.5], [0.25, 0.5, 0.75], [0.1, 0.3, 0.5, 0.7, 0.9]])
def test_few_quantiles_have_ends_of_their_own(shares: list[float], relation: Relation) -> None:
    """One share of 10,000 rows came as 50 +- 50, quartiles as 43 [0, 50]: the bounds, and the next quantile. At level
    0.9 fewer than 26 of 40 has a chance of 10^-5; ends are bounds, so nearly all hold. The twin: a tenth of
    the width."""
    plan = Quantiles(shares=shares, bounds=(0, 100), epsilon=1, interval=0.9, relation=relation)
    held, narrow, widths = 0, 0, []
    for seed in range(40):
        values = np.random.default_rng(seed).normal(50, 10, 10_000)
        answer = plan(values, bits=DeterministicBits(seed))
        lower, upper = answer.intervals(0.9)["value"]
        truth, middle = np.quantile(values, shares), (lower + upper) / 2
        held += bool(np.all((lower <= truth) & (truth <= upper)))
        narrow += bool(np.all(np.abs(truth - middle) <= (upper - lower) / 20))
        assert ((lower <= answer["value"]) & (answer["value"] <= upper)).all()
        widths.append(np.max(upper - lower))
    assert held >= 36
    assert narrow < 26
    assert np.median(widths) < (0.5, 2, 6)[len(shares) // 2]


def test_equal_rows_are_told_apart_evenly() -> None:
    codes = np.sort(np.repeat([3, 900], 1000))
    fine = codes.copy()
    digits = add_digits(fine, 2**32, bits=DeterministicBits(1))
    assert digits == 27
    assert np.array_equal(fine >> digits, codes)
    inside = (fine & (2**digits - 1)) / 2**digits
    assert np.abs(np.sort(inside[:1000]) - np.linspace(0, 1, 1000)).max() < 0.07  # Kolmogorov-Smirnov, 10^-4
    assert add_digits(fine, 2**60, bits=DeterministicBits(1)) == 0
