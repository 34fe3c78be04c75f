"""Ranges of one column: published optima, exact sensitivities, and intervals that hold."""

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Integers
from deniable.privacy import AddRemove, Relation
from deniable.synthesis.domain import Binned, DeclaredDomain, Listed
from deniable.synthesis.ranges import RangeCounts, RangePlan, strategy_sensitivity
from tests.synthesis.tables import drawn_by


def plan(levels: int = 16, workload: str = "ranges", **known: Any) -> RangePlan:
    price = Price.of(known.pop("epsilon", None), known.pop("delta", None), known.pop("rho", None))
    options = {"relation": AddRemove, "rows": 1, **known}
    column = Binned("age", "int64", Fraction(0), Fraction(levels - 1), levels)
    return RangePlan(domain=DeclaredDomain((column,)), workload=workload, price=price, **options)


def rows(count: int, levels: int = 16) -> Integers:
    return (np.arange(count)[None] ** 2 + 3) % levels


def answer(made: RangePlan, levels: Integers, seed: int) -> RangeCounts:
    text = made.measured_text(levels, None, DeterministicBits(seed))
    return RangeCounts(plan=made, counts=made.counts_of(text), cost=made.privacy_loss)


@pytest.mark.parametrize(
    ("levels", "workload", "published"),
    [(256, "ranges", 2.901436), (256, "prefixes", 2.5244), (512, "ranges", 3.207254)],
)
def test_errors_are_the_certified_optima(levels: int, workload: str, published: float) -> None:
    """Fixed points with a duality gap, per unit of noise multiplier; HDMM has 2.90217 and 3.20992 for ranges."""
    made = plan(levels, workload, rho="1/2")
    assert made.error == pytest.approx(published, rel=1e-4)
    assert made.lower_bound <= made.error <= made.lower_bound * 1.0002


def test_errors_are_those_of_all_ranges_one_by_one() -> None:
    made = plan(12, rho="1/2")
    ranges = np.array([[first <= level <= last for level in range(13)] for first, last in
                       combinations_with_replacement(range(12), 2)], dtype=np.float64)  # fmt: skip
    deviations = made.spread(ranges).deviations
    assert made.error == pytest.approx(np.sqrt((deviations**2).mean()), rel=1e-9)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 9}], ids=str)
@pytest.mark.parametrize("limit", [1, 3])
def test_answers_draw_what_proves_their_loss(relation: Relation, price: dict[str, Any], limit: int) -> None:
    made = plan(relation=relation, rows=limit, **price)
    least = 0.95 if relation is AddRemove else 0.5
    assert least <= drawn_by(made, rows(90), [[level] for level in range(17)]) <= 1 + 1e-12


@pytest.mark.parametrize("relation", Relation)
def test_sensitivities_are_those_of_the_worst_rows(relation: Relation) -> None:
    strategy = np.array([[3, -1, 0], [1, 2, 0], [0, 0, 2]])
    columns = [*strategy.T, np.zeros(3, dtype=np.int64)]
    moves = np.array([one - other for one in columns for other in columns])
    if relation is AddRemove:
        moves = np.array(columns)
    stated = strategy_sensitivity(strategy, 2, relation)
    assert stated.l2_squared == 4 * (moves**2).sum(axis=1).max()
    assert stated.l1 >= 2 * np.abs(moves).sum(axis=1).max()


@pytest.mark.parametrize("price", [{"epsilon": "1/2"}, {"rho": "1/50"}], ids=str)
def test_intervals_hold_as_often_as_they_say(price: dict[str, Any]) -> None:
    """400 answers: the share at 95% is within 3.5 standard errors; wrong once in 10^3 keys."""
    made, private = plan(**price), rows(500)
    truth = np.array([(private < 5).sum(), ((private >= 3) & (private < 12)).sum(), 0])
    held = []
    for seed in range(400):
        release = answer(made, private, seed).between([(0, 5), (3, 12), (0, 0)])
        bounds = release.measures[0].bounds(0.95)  # type: ignore[union-attr]
        held.append((bounds.lower <= truth) & (truth <= bounds.upper))
    shares = np.mean(held, axis=0)
    assert np.abs(shares[:2] - 0.95).max() <= 3.5 * (0.95 * 0.05 / 400) ** 0.5
    assert shares[2] == 1


def test_ranges_are_sums_of_counts_and_end_where_bins_do() -> None:
    made = answer(plan(rho=5), rows(2_000), 1)
    counts = made.release()
    assert list(counts["age"]) == [*range(16), None]
    ranges = made.between([(0, 4), (4, 16), (0, 100)])
    assert ranges["count"][0] + ranges["count"][1] == pytest.approx(ranges["count"][2])
    assert ranges["count"][2] == pytest.approx(counts["count"][:16].sum())
    weights = np.zeros((1, 17))
    weights[0, 16] = 1
    assert made.linear(weights)["count"].item() == pytest.approx(counts["count"][16])
    for wrong in ([(0.5, 4)], [(0, 7.5)], [(-3, 4)]):
        with pytest.raises(InvalidParameterError, match="begin and end as bins do"):
            made.between(wrong)
    wrong_pairs: list[Any] = [
        ((5, 3), "below its end"),
        (5, "pairs"),
        (("a", 3), "as bins do"),
        ((0, "b"), "bins do"),
    ]
    for pair, said in wrong_pairs:
        with pytest.raises(InvalidParameterError, match=said):
            made.between([pair])
    assert made.plan.edges == list(range(16))
    for shape in ([1.0] * 17, [[1.0] * 16], [[float("nan")] * 17]):
        with pytest.raises(InvalidParameterError, match=r"shape \(sums, 17\)"):
            made.linear(shape)


def test_other_columns_and_workloads_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="workload must be ranges or prefixes"):
        plan(workload="suffixes", rho=1)
    with pytest.raises(InvalidParameterError, match="levels; ranges need 2 to 1,025"):
        plan(5_000, rho=1)
    two = DeclaredDomain(tuple(Listed(name, "int64", (1, 2)) for name in "ab"))
    with pytest.raises(InvalidParameterError, match="ranges are of one column"):
        RangePlan(domain=two, workload="ranges", price=Price.of(1, None, None), relation=AddRemove, rows=1)


def test_a_plan_says_its_error_and_the_bound_of_all_others() -> None:
    assert "by any Gaussian strategy" in str(plan(rho=1))
    pure = plan(epsilon=1)
    assert pure.lower_bound == 0
    assert "cost epsilon=1" in str(answer(pure, rows(9), 1))
