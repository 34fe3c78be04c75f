from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms.ranks import JointQuantiles, Points
from deniable.mechanisms.ranks import joint as module
from deniable.mechanisms.ranks.joint import first_width
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, of_count
from tests.mechanisms.ranks.laws import costs, joint, neighbours

HALVES = (Fraction(1, 2),)
THIRDS = (Fraction(1, 3), Fraction(2, 3))
UNEVEN = (Fraction(0), Fraction(1, 4), Fraction(9, 10))


def made(quantiles: tuple[Fraction, ...], rate: object, points: object = 4) -> JointQuantiles:
    return JointQuantiles(quantiles=quantiles, rate=Fraction(rate), points=Points.of(points))  # type: ignore[arg-type]


def law(records: tuple[int, ...], mechanism: JointQuantiles) -> dict[tuple[int, ...], float]:
    weights = np.diff(mechanism.points.below(np.arange(mechanism.points.size + 1)))
    return joint(records, mechanism.quantiles, float(mechanism.rate), weights)


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
    assert most <= made(shares, 1).rank_sensitivity(relation)
    if shares is not UNEVEN:
        assert most == made(shares, 1).rank_sensitivity(relation)


@pytest.mark.parametrize("shares", [HALVES, THIRDS, UNEVEN])
def test_a_unit_that_exchanges_some_rows_for_fewer_or_more_moves_costs_no_further(shares: tuple[Fraction, ...]) -> None:
    """Brute force: one other row, and units of up to three rows on three points."""
    units = [unit for rows in range(4) for unit in combinations_with_replacement(range(3), rows)]
    for other in range(3):
        found = {unit: costs((other, *unit), 3, shares) for unit in units}
        for before, after in product(units, units):
            most = max(abs(found[after][points] - found[before][points]) for points in found[before])
            assert most <= made(shares, 1).rank_sensitivity(Replace) * max(len(before), len(after))


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 2])
def test_neighbouring_laws_are_within_the_stated_loss(rows: int, relation: Relation) -> None:
    """Ratios of all chances, for tables of up to four rows on four points; for the unit's range it is attained. The
    twin, a fifth less reach, is noticed."""
    unit = of_count(rows=rows, groups=1, cells=1, relation=relation)
    mechanism = JointQuantiles.calibrated(unit, epsilon=1, quantiles=THIRDS, points=4)
    widest = 0.0
    for one, other in neighbours(4, 4, relation):
        before, after = (law(t, mechanism) for t in (one, other))
        ratios = np.log([after[points] / before[points] for points in before])
        widest = max(widest, float(np.ptp(ratios)))
        assert np.abs(ratios).max() <= 1 / rows + 1e-9
    assert widest <= 1 / rows + 1e-9
    assert widest > 0.85 / rows or relation is AddRemove  # the charge is no waste
    assert widest > 0.7 / rows
    assert mechanism.privacy_loss(unit).charge().epsilon == 1


LAWS = [
    ((1, 3, 3, 4, 6, 7), 8, THIRDS, Fraction(1, 3), 0),
    ((1, 1, 1, 3), 5, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), Fraction(1, 2), 0),
    ((0, 3, 9), 12, THIRDS, Fraction(1, 2), 1),
    ((), 5, THIRDS, Fraction(1), 0),
]


@pytest.mark.parametrize(("rows", "size", "shares", "rate", "levels"), LAWS)
def test_releases_have_the_stated_law(
    rows: tuple[int, ...], size: int, shares: tuple[Fraction, ...], rate: Fraction, levels: int
) -> None:
    """Releases, one by one; the contract has those that are listed. Pearson's chi-square at false-alarm rate 10^-4; the
    twin at three times the rate must be rejected."""
    bits, mechanism = DeterministicBits(3), made(shares, rate, Points(size, levels=levels))
    draws = [mechanism.release(rows, bits=bits).value for _ in range(600)]
    assert p_value(draws, law(rows, mechanism)) > 1e-4
    if rows:
        assert p_value(draws, law(rows, made(shares, 3 * rate, mechanism.points))) < 1e-6


@pytest.mark.parametrize("careless", [False, True])
def test_what_the_windows_leave_out_has_the_stated_law(careless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a rank or two, never widened, leave out half of all tuples. The twin forgets them."""
    rows, size, rate = (0, 1, 1, 2, 5, 6, 6, 7, 8, 9, 10, 11), 12, Fraction(1, 4)
    monkeypatch.setattr(module, "first_width", lambda *_: 1)
    monkeypatch.setattr(module._RankedPoints, "outside", lambda *_: -np.inf)
    if careless:
        monkeypatch.setattr(module._RankedPoints, "chance_outside", lambda *_: module.balls.ball(Fraction(0)))
    bits, mechanism = DeterministicBits(1), made(THIRDS, rate, size)
    draws = [mechanism.release(rows, bits=bits).value for _ in range(500)]
    p = p_value(draws, law(rows, mechanism))
    assert p < 1e-6 if careless else p > 1e-4


def test_windows_grow_until_they_hold_nearly_all() -> None:
    """Of a thousand equal rows among 2^59 points; no rank but the first and the last weighs anything."""
    rows = np.full(1000, 2**58, dtype=np.int64)
    codes = np.array(made(THIRDS, "1/4", 2**59).release(rows, bits=DeterministicBits(1)).value)
    assert np.all(np.diff(codes) >= 0)
    assert set(np.searchsorted(rows, codes).tolist()) <= {0, 1000}


def test_expected_errors_are_no_more_than_all_records() -> None:
    for size in (0, 1, 2, 10**12):
        assert np.all(made(UNEVEN, "1/4").expected_errors(size) <= min(size, 10))


def test_steady_and_quick_are_public_facts() -> None:
    def even(count: int, rate: object) -> JointQuantiles:
        return made(tuple(Fraction(place, count + 1) for place in range(1, count + 1)), rate)

    assert even(9, "1/4").is_steady(1000)
    assert even(9, "1/4").is_quick
    assert even(39, "1/4").is_steady(1000)
    assert not even(49, "1/4").is_steady(1000)  # see benchmarks/results/statistics-quantile-methods.md
    assert not even(99, "1/4000").is_quick
    assert first_width(9, Fraction(1, 4), 10**4) < first_width(9, Fraction(1, 40), 10**4)
