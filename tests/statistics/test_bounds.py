from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, PureLoss, Relation, Replace
from deniable.release import Release
from deniable.statistics.bounded import Bounded
from deniable.statistics.bounds import SHARE, _bin_ends, _counts, resolve
from deniable.statistics.means import Mean
from deniable.statistics.order.quantile import Median
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.sums import Sum
from deniable.statistics.variances import Variance

VALUES = [-1e300, -3.0, -(2.0**-50), 0.0, 1.0, 1.5, np.inf]


def found(values: object, epsilon: object, runs: int = 50) -> Counter[tuple[float, float]]:
    bounding, _ = resolve("auto", Price.of(epsilon, 0, None), relation=AddRemove)
    column = np.asarray(values, dtype=np.float64)
    return Counter(bounding.ends(column, bits=DeterministicBits(seed)) for seed in range(runs))


def normal(size: int, centre: float = 0.0, spread: float = 1.0) -> np.ndarray:
    return np.random.default_rng(5).normal(centre, spread, size)


def test_declared_bounds_cost_nothing() -> None:
    price = Price.of(1, 0, None)
    bounding, rest = resolve((0, 10), price, relation=AddRemove)
    assert rest is price
    assert bounding.ends(np.array([99.0]), bits=DeterministicBits(1)) == (0, 10)
    assert bounding.width() == 10
    assert bounding.notes((0, 10)) == ()
    assert bounding.with_loss([PureLoss(1)]) == PureLoss(1)


@pytest.mark.parametrize("wrong", ["automatic", None, 3, (1, 0), (-1.7e308, 1.7e308), (0, float("nan"))])
def test_what_is_neither_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameterError, match="bounds"):
        resolve(wrong, Price.of(1, 0, None), relation=AddRemove)


@pytest.mark.parametrize("price", [Price.of(1, 0, None), Price.of(1, "1e-6", None), Price.of(None, 0, "1/2")])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_search_costs_its_share(price: Price, relation: Relation) -> None:
    bounding, rest = resolve("auto", price, relation=relation, rows=2)
    loss = bounding.loss
    assert loss is not None
    share = price.split(SHARE, 1 - SHARE)[0]
    if price.rho is not None:
        assert loss.rho is not None
        assert loss.rho <= price.rho * SHARE
        assert rest.rho == price.rho * (1 - SHARE)
    else:
        assert share.epsilon is not None
        assert loss.delta(share.epsilon).upper <= share.delta
        assert rest.epsilon == 1 - SHARE
    both = bounding.with_loss([PureLoss(Fraction(1, 8))])
    assert both.rho is not None
    assert loss.rho is not None
    assert both.rho == loss.rho + Fraction(1, 128)


def test_one_row_moves_the_counts_by_what_the_sensitivity_says() -> None:
    """All tables of up to two rows from values of every kind, both relations; l1 = epsilon * scale is paid for."""
    price = Price.of(1, 0, None)
    add, swap = (resolve("auto", price, relation=relation)[0].mechanism for relation in (AddRemove, Replace))
    assert isinstance(add, Laplace)
    assert isinstance(swap, Laplace)
    added = [np.abs(_counts(np.array(t)) - _counts(np.array(t[:-1]))).sum() for t in product(VALUES, VALUES)]
    swapped = [
        np.abs(_counts(np.array([a, b])) - _counts(np.array([a, c]))).sum() for a, b, c in product(VALUES, repeat=3)
    ]
    assert max(added) == add.scale * SHARE == 1
    assert max(swapped) == swap.scale * SHARE == 2


def test_a_value_lies_within_the_ends_of_its_bin() -> None:
    values = np.concatenate([2.0 ** np.arange(-39, 61), 1.5 * 2.0 ** np.arange(-40, 60), [0.0, 1e-13]])
    for value in np.concatenate([values, -values]):
        (place,) = np.flatnonzero(_counts(np.array([value])))
        lower, upper = _bin_ends(int(place))
        assert lower <= value <= upper
        assert upper - lower <= max(abs(value), 2.0**-39)


def test_values_beyond_all_orders_are_in_the_last_bins() -> None:
    counts = _counts(np.array([np.inf, 1e300, -np.inf, -1e300, -(2.0**60), np.nan]))
    assert (counts[0], counts[-1], counts.sum()) == (3, 2, 5)


@pytest.mark.parametrize(
    ("values", "best"),
    [
        (np.tile([0.0, 1.0], 500), (0, 1)),
        (np.arange(18, 94).repeat(13), (0, 128)),
        (-np.arange(18, 94).repeat(13), (-128, 0)),
        (normal(1000), (-4, 4)),
        (normal(1000, 1000), (512, 1024)),
        (np.full(1000, 2.0**-70), (-(2.0**-40), 2.0**-40)),
        (np.full(1000, -np.inf), (-(2.0**60), -(2.0**59))),
    ],
)
def test_usual_data_get_the_right_powers_of_two(values: np.ndarray, best: tuple[float, float]) -> None:
    answers = found(values, 2)
    assert answers.most_common(1)[0][0] == best
    assert answers[best] >= 30


def test_few_rows_are_clamped() -> None:
    """Less than 1% of a heavy-tailed column at epsilon 1 and 10,000 rows, on average over 50 searches."""
    values = np.exp(normal(10_000, spread=2))
    outside = [((values < low) | (values > high)).mean() for low, high in found(values, 1).elements()]
    assert np.mean(outside) < 0.01


def test_noise_alone_never_makes_a_far_range() -> None:
    """1,000 searches at a chance of 10^-4 each: one false alarm has probability 10%."""
    assert max(upper for _, upper in found(np.full(200, 1.0), 2, runs=1000)) <= 32


def test_where_nothing_is_certain_the_guess_is_not_far() -> None:
    for lower, upper in list(found([], 1)) + list(found([np.nan] * 50, 1)):
        assert lower < upper
        assert max(upper, -lower) <= 2**16
    near = found(normal(100), 1, runs=200)
    assert sum(near[-end, end] for end in (1, 2, 4, 8, 16)) > 100
    positive = found(np.full(100, 3.0), "1/2", runs=200)
    assert sum(positive[0, end] + positive[2, end] for end in (4, 8, 16)) > 120
    negative = found(np.full(100, -3.0), "1/2", runs=200)
    assert sum(negative[-end, 0] + negative[-end, -2] for end in (4, 8, 16)) > 120


def test_neighbours_prove_each_other() -> None:
    """Forty rows in each of four bins: at epsilon 1 no bin is above 4 ln(...) = 50 by itself, the four together are."""
    values = np.repeat([3.0, 6.0, 12.0, 24.0], 40)
    assert found(values, 1, runs=100)[2, 32] + found(values, 1, runs=100)[0, 32] > 50


def test_ends_are_told_in_a_note() -> None:
    bounding, _ = resolve("auto", Price.of(1, 0, None), relation=AddRemove)
    assert bounding.width() == 1
    (note,) = bounding.notes((0, 4), (-1, 1))
    assert "[0, 4] and [-1, 1] were estimated privately, for 25% of the price" in note


@pytest.mark.parametrize("statistic", [Mean, Variance, Sum])
@pytest.mark.parametrize(("epsilon", "delta"), [(100, "1/10"), (1000, "1/10"), ("1e-6", "1e-6"), (1, "1e-12")])
def test_search_and_answer_cost_the_price_whatever_it_is(
    statistic: type[Bounded], epsilon: object, delta: object
) -> None:
    """At 100 and 1/10 certified composition is wider than 1/10; the prices of the parts add up exactly."""
    charge = statistic(bounds="auto", epsilon=epsilon, delta=delta).privacy_loss.charge()
    assert charge.epsilon == Fraction(str(epsilon))
    assert charge.delta in (0, Fraction(str(delta)))


def regression(*, bounds: object, epsilon: object) -> Callable[..., Release]:
    plan = SufficientRegression(bounds=[(0, 1)], target_bounds=bounds, epsilon=epsilon)
    return lambda ages, bits: plan((np.linspace(0, 1, len(ages)), ages), bits=bits)


@pytest.mark.parametrize("plan", [Mean, Sum, Variance, Median, regression])
def test_too_few_rows_to_find_bounds_are_told(plan: Callable[..., Callable[..., Release]]) -> None:
    """100 ages at epsilon = 0.1 had a mean of 0.0 [-0.22, 0], and no word of warning. 30 runs: noise alone reaches four
    deviations of a window in one of hundreds."""
    ages = normal(1000, 45, 15)
    few = [plan(bounds="auto", epsilon="0.1")(ages[:100], bits=DeterministicBits(seed)) for seed in range(30)]
    assert sum(any("Declare bounds" in note for note in answer.notes) for answer in few) >= 29
    many = [plan(bounds="auto", epsilon=1)(ages, bits=DeterministicBits(seed)) for seed in range(30)]
    assert not any("Declare bounds" in note for answer in many for note in answer.notes)
