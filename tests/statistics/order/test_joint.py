from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from math import factorial

import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import joint as module
from deniable.statistics.order.choice import EQUAL
from deniable.statistics.order.joint import Joint, draw, first_width, rank_errors, reach
from deniable.statistics.order.measure import Measure
from deniable.statistics.order.rows import Rows
from tests.statistics.order.test_choice import neighbours

HALVES = (Fraction(1, 2),)
THIRDS = (Fraction(1, 3), Fraction(2, 3))
UNEVEN = (Fraction(0), Fraction(1, 4), Fraction(9, 10))


@cache
def costs(rows: tuple[int, ...], size: int, shares: tuple[Fraction, ...]) -> dict[tuple[int, ...], Fraction]:
    """sum |N - T| of every ordered tuple of points, by the definition."""
    found = {}
    for points in combinations_with_replacement(range(size), len(shares)):
        ranks = [0, *(sum(row < point for row in rows) for point in points), len(rows)]
        wanted = [share * len(rows) for share in (Fraction(0), *shares, Fraction(1))]
        off = [rank - target for rank, target in zip(ranks, wanted, strict=True)]
        found[points] = sum((abs(b - a) for a, b in pairwise(off)), Fraction(0))
    return found


@cache
def law(
    rows: tuple[int, ...], size: int, shares: tuple[Fraction, ...], rate: float, measure: Measure = EQUAL
) -> dict[tuple[int, ...], float]:
    """The chance of every tuple: independent points by weight, in order, and then by their costs."""
    weights = np.diff(measure.below(np.arange(size + 1)))
    found = {}
    for points, cost in costs(rows, size, shares).items():
        orders = np.prod([factorial(number) for number in Counter(points).values()])
        found[points] = float(np.prod(weights[list(points)]) / orders * np.exp(-rate * float(cost)))
    total = sum(found.values())
    return {points: chance / total for points, chance in found.items()}


def p_value(draws: list[tuple[int, ...]], chances: dict[tuple[int, ...], float]) -> float:
    """Pearson's chi-square, with the rarest tuples put together by fives."""
    counts, order = Counter(draws), sorted(chances, key=chances.__getitem__)
    expected, observed = [0.0], [0]
    for points in order:
        if expected[-1] >= 5:
            expected.append(0.0)
            observed.append(0)
        expected[-1] += chances[points] * len(draws)
        observed[-1] += counts[points]
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("shares", [HALVES, THIRDS, UNEVEN])
def test_a_row_moves_costs_by_the_reach_and_no_further(shares: tuple[Fraction, ...], relation: Relation) -> None:
    """Brute force: all tables of up to four rows on four points. For three even parts the reach is attained."""
    most = Fraction(0)
    for one, other in neighbours(4, 4, relation):
        before, after = costs(one, 4, shares), costs(other, 4, shares)
        most = max(most, *(abs(after[points] - before[points]) for points in before))
    assert most <= reach(shares, relation)
    if shares is not UNEVEN:
        assert most == reach(shares, relation)


@pytest.mark.parametrize("shares", [HALVES, THIRDS, UNEVEN])
def test_a_unit_that_exchanges_some_rows_for_fewer_or_more_moves_costs_no_further(shares: tuple[Fraction, ...]) -> None:
    """Brute force: one other row, and units of up to three rows on three points."""
    units = [unit for rows in range(4) for unit in combinations_with_replacement(range(3), rows)]
    for other in range(3):
        found = {unit: costs((other, *unit), 3, shares) for unit in units}
        for before, after in product(units, units):
            most = max(abs(found[after][points] - found[before][points]) for points in found[before])
            assert most <= reach(shares, Replace) * max(len(before), len(after))


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 2])
def test_neighbouring_laws_are_within_the_stated_loss(rows: int, relation: Relation) -> None:
    """Ratios of all chances, for tables of up to four rows on four points; for the unit's range it is attained."""
    plan = Joint(shares=THIRDS, price=Price.of(1, None, None), relation=relation, rows=rows)
    widest = 0.0
    for one, other in neighbours(4, 4, relation):
        before, after = (law(t, 4, THIRDS, float(plan._rate)) for t in (one, other))
        ratios = np.log([after[points] / before[points] for points in before])
        widest = max(widest, float(np.ptp(ratios)))
        assert np.abs(ratios).max() <= 1 / rows + 1e-9
    assert widest <= 1 / rows + 1e-9
    assert widest > 0.7 / rows  # the charge is no waste
    assert plan.losses[0].charge().epsilon == 1


def test_a_fifth_less_reach_would_be_noticed() -> None:
    widest = 0.0
    for one, other in neighbours(4, 4, Replace):
        before, after = (law(t, 4, THIRDS, 1 / (2 * 0.8 * 2)) for t in (one, other))
        widest = max(widest, float(np.ptp(np.log([after[points] / before[points] for points in before]))))
    assert widest > 1.1


LAWS = [
    ((1, 3, 3, 4, 6, 7), 8, THIRDS, Fraction(1, 3), EQUAL),
    ((1, 1, 1, 3), 5, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), Fraction(1, 2), EQUAL),
    ((0, 3, 9), 12, THIRDS, Fraction(1, 2), Measure(levels=1)),
    ((), 5, THIRDS, Fraction(1), EQUAL),
]


@pytest.mark.parametrize(("rows", "size", "shares", "rate", "measure"), LAWS)
def test_tuples_have_the_stated_law(
    rows: tuple[int, ...], size: int, shares: tuple[Fraction, ...], rate: Fraction, measure: Measure
) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4; the twin at three times the rate must be rejected."""
    bits, ordered = DeterministicBits(3), np.array(rows, dtype=np.int64)
    draws = [tuple(draw(Rows(ordered), size, shares, rate, measure=measure, bits=bits)[0].tolist()) for _ in range(600)]
    assert p_value(draws, law(rows, size, shares, float(rate), measure)) > 1e-4
    if rows:
        assert p_value(draws, law(rows, size, shares, 3 * float(rate), measure)) < 1e-6


@pytest.mark.parametrize("careless", [False, True])
def test_what_the_windows_leave_out_has_the_stated_law(careless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a rank or two, never widened, leave out half of all tuples. The twin forgets them."""
    rows, size, rate = (0, 1, 1, 2, 5, 6, 6, 7, 8, 9, 10, 11), 12, Fraction(1, 4)
    monkeypatch.setattr(module, "first_width", lambda *_: 1)
    monkeypatch.setattr(module._Table, "outside", lambda *_: -np.inf)
    if careless:
        monkeypatch.setattr(module._Table, "chance_outside", lambda *_: module.refine.ball(Fraction(0)))
    bits = DeterministicBits(1)
    draws = [tuple(draw(Rows(np.array(rows)), size, THIRDS, rate, bits=bits)[0].tolist()) for _ in range(500)]
    p = p_value(draws, law(rows, size, THIRDS, float(rate)))
    assert p < 1e-6 if careless else p > 1e-4


def test_windows_grow_until_they_hold_nearly_all() -> None:
    """Of a thousand equal rows among 2^59 points; no rank but the first and the last weighs anything."""
    rows = np.full(1000, 2**58, dtype=np.int64)
    codes, ranks = draw(Rows(rows), 2**59, THIRDS, Fraction(1, 4), bits=DeterministicBits(1))
    assert np.all(np.diff(codes) >= 0)
    assert set(ranks.tolist()) <= {0, 1000}


@pytest.mark.parametrize(
    ("count", "size", "rate"), [(2, 500, "3/8"), (5, 2000, "3/10"), (9, 1000, "1/4"), (9, 200, "1/40")]
)
def test_rank_errors_are_known_before(count: int, size: int, rate: str) -> None:
    """Evenly spread rows, in windows and where the rows are too few for the rate: 40 draws, within 30 percent."""
    rows = np.arange(size) * 1000 + 500
    shares = [Fraction(place, count + 1) for place in range(1, count + 1)]
    wanted = size * np.array(shares, dtype=np.float64)
    bits = DeterministicBits(count)
    errors = [draw(Rows(rows), size * 1000, shares, Fraction(rate), bits=bits)[1] - wanted for _ in range(40)]
    expected = np.sqrt(np.mean(rank_errors(shares, Fraction(rate), size) ** 2))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("size", [0, 1, 2, 10**12])
def test_expected_errors_are_no_more_than_all_rows(size: int) -> None:
    errors = rank_errors(UNEVEN, Fraction(1, 4), size)
    assert np.all(errors <= min(size, 10))


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1), Fraction(10**9)])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_more_quantiles_than_rows_are_answered(rows: int, rate: Fraction) -> None:
    shares = [Fraction(place, 41) for place in range(1, 41)]
    codes, ranks = draw(Rows(np.arange(rows) * 30 + 20), 100, shares, rate, bits=DeterministicBits(1))
    assert np.all(np.diff(codes) >= 0)
    assert codes.min() >= 0
    assert codes.max() <= 99
    assert np.array_equal(ranks, np.searchsorted(np.arange(rows) * 30 + 20, codes))


def test_several_rows_of_a_unit_share_the_rate() -> None:
    one, four = (Joint(shares=THIRDS, price=Price.of(1, None, None), relation=Replace, rows=r) for r in (1, 4))
    assert one._rate == Fraction(1, 4)
    assert four._rate == Fraction(1, 16)


def test_steady_and_quick_are_public_facts_of_the_plan() -> None:
    def plan(count: int, epsilon: object) -> Joint:
        shares = tuple(Fraction(place, count + 1) for place in range(1, count + 1))
        return Joint(shares=shares, price=Price.of(epsilon, None, None), relation=Replace, rows=1)

    assert plan(9, 1).is_steady(1000)
    assert plan(9, 1).is_quick
    assert plan(39, 1).is_steady(1000)
    assert not plan(49, 1).is_steady(1000)  # of 1,000 rows; see benchmarks/results/statistics-quantile-methods.md
    assert not plan(99, "0.001").is_quick
    assert first_width(9, Fraction(1, 4), 10**4) < first_width(9, Fraction(1, 40), 10**4)
