from collections.abc import Sequence
from fractions import Fraction
from math import log

import numpy as np
import pytest

from deniable.mechanisms.counts.tree import levels, matrices
from deniable.mechanisms.ranks import Points, SliceQuantiles
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.mechanisms.ranks.slices import SLOPE, counter_weights, draw_around, reaches
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, of_count
from tests.mechanisms.ranks.laws import Table, distances, neighbours, sliced, slices
from tests.mechanisms.ranks.test_joint import p_value

HALVES = (Fraction(1, 2),)
THIRDS = (Fraction(1, 3), Fraction(2, 3))
NEARLY = 10**6  # as good as infinity


def plan(
    quantiles: Sequence[Fraction],
    relation: Relation = AddRemove,
    rows: int = 1,
    epsilon: object = 1,
    points: object = 8,
) -> SliceQuantiles:
    unit = of_count(rows=rows, groups=1, cells=1, relation=relation)
    return SliceQuantiles.calibrated(unit, epsilon=epsilon, quantiles=quantiles, points=points)


def even(count: int) -> list[Fraction]:
    return [Fraction(place, count + 1) for place in range(1, count + 1)]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 9, 99])
def test_the_parts_cost_the_price(count: int, rows: int, relation: Relation) -> None:
    """Noise, draws and what ranks that follow a row cost, added up here for every row that comes or goes."""
    made = plan(even(count), relation, rows)
    steps = rows if relation is AddRemove else 2 * rows
    noise = 2 * levels(count + 1, made.tree[0]) / float(made.scale)
    draws, following = (1 + 1 / SLOPE) * float(made.rate), log(1 + 2 / (2 * made.zone - 1))
    assert steps * (noise + draws + following) <= 1
    assert steps * (noise + draws + following) > 0.97
    unit = of_count(rows=rows, groups=1, cells=1, relation=relation)
    assert made.privacy_loss(unit).charge().epsilon == 1


@pytest.mark.parametrize(("cells", "branch"), [(2, 2), (5, 5), (10, 2), (40, 4), (100, 16)])
def test_a_row_in_all_its_counters_moves_the_running_counts_behind_it_exactly(cells: int, branch: int) -> None:
    weights, (tree, running) = counter_weights(cells, branch), matrices(cells, branch)
    assert np.array_equal(weights @ tree.astype(np.int64), 2**20 * np.tril(np.ones((cells, cells), dtype=np.int64)))
    assert np.allclose(weights / 2**20, running, atol=1e-4)  # and they are those of least squares


# The proof of docs/theory/mechanisms/ranks.md step by step: a row comes at rank p; then noisy rank R' stands for
# R' - s / 2.


def shifts(away: int, zone: int) -> list[int]:
    """By which halves s of a rank the first noisy rank within the zone of the row, or above, may follow it."""
    if away > zone:
        return [2]
    return [1] if away == 0 else [0, 1] if away < 0 else [1, 2]


@pytest.mark.parametrize("zone", [1, 2, 7, 30])
def test_masses_of_noisy_ranks_can_be_moved_as_the_proof_says(zone: int) -> None:
    """Spread 2 zone + 1 places over 2 zone - 1 in order: each is moved by allowed halves, and none gets more."""
    most = Fraction(2 * zone + 1, 2 * zone - 1)
    for place in range(2 * zone + 1):
        for target in range(2 * zone - 1):
            if place < (target + 1) * most and target * most < place + 1:  # their parts of the line overlap
                away, behind = place - zone, target - (zone - 1)
                assert away + 1 - behind in shifts(away, zone)
    assert log(most) <= 2 / (2 * zone - 1)


def moved_range(draw: np.random.Generator, zone: int, kept: int) -> float:
    """How far the scores of all slices move together, in ranks, for random noisy ranks and a row that comes.

    Args:
        kept: the zone that reaches keep; the same in the real method.
    """
    rows, place = int(draw.choice([3, 6, 12, 30])), 0
    place = int(draw.integers(0, rows + 1))
    centre, spread = 2 * int(draw.integers(-5, rows + 6)), int(draw.choice([3, 10, 40]))
    after = (centre + draw.integers(-spread, spread + 1, draw.integers(1, 6))).tolist()
    if draw.random() < 0.6:
        after.sort()
    table = np.array([2 * row + 2 for row in range(place)] + [2 * row + 4 for row in range(place, rows)])
    if draw.random() < 0.3:  # some rows are equal to the new one
        equal = np.arange(max(0, place - int(draw.integers(3))), min(rows, place + int(draw.integers(3))))
        table[equal] = 2 * place + 2
    away = [rank - 2 * place - 1 for rank in after]
    first = next((index for index, halves in enumerate(away) if halves >= -zone), len(after))
    widest = 0.0
    for half in [0] if first == len(after) else shifts(away[first], zone):
        before = [r - (0 if index < first else half if index == first else 2) for index, r in enumerate(after)]
        longer = np.sort(np.append(table, 2 * place + 2))
        size, total = 2 * rows + 8, 0.0
        for own, other, reach, its in zip(after, before, reaches(after, kept), reaches(before, kept), strict=True):
            new = np.minimum(distances(longer, own / 2, size), reach / (2 * SLOPE))
            old = np.minimum(distances(table, other / 2, size), its / (2 * SLOPE))
            total += float(np.ptp(new - old))
        widest = max(widest, total)
    return widest


@pytest.mark.parametrize("careless", [False, True])
def test_a_row_moves_all_draws_by_the_stated_range(careless: bool) -> None:
    """Random noisy ranks, upset or not, and a row anywhere: the bound is attained. The twin keeps no zone."""
    draw = np.random.default_rng(1)
    zones = [20] * 200 if careless else draw.choice([1, 2, 3, 5, 20], 1000)
    widest = max(moved_range(draw, int(zone), 0 if careless else int(zone)) for zone in zones)
    if careless:
        assert widest > 1.5
    else:
        assert widest == pytest.approx(1 + 1 / SLOPE)


def widest_ratio(relation: Relation, shares: tuple[Fraction, ...], **options: float) -> float:
    """Of the logarithms of chances, over all neighbouring tables of up to three rows on three points."""
    laws: dict[Table, np.ndarray] = {}
    widest = 0.0
    for pair in neighbours(3, 3, relation):
        one, other = (laws.setdefault(tuple(t), slices(tuple(t), 3, shares, **options)) for t in pair)  # type: ignore[arg-type]
        widest = max(widest, float(np.abs(np.log(one / other)).max()))
    return widest


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("shares", [HALVES, THIRDS])
def test_neighbouring_laws_are_within_the_stated_loss(shares: tuple[Fraction, ...], relation: Relation) -> None:
    """What is left out of the noise weighs about e^-7, and is the same for neighbours but for one place."""
    scale, rate, zone = 4, 3.0, 1
    row = 2 / scale + rate * (1 + 1 / SLOPE) + log(1 + 2 / (2 * zone - 1))
    steps = 1 if relation is AddRemove else 2
    assert widest_ratio(relation, shares, scale=scale, rate=rate, zone=zone, most=28) <= steps * row


def test_slices_that_overlap_without_noise_would_be_noticed() -> None:
    """The same claim for two slices that reach over each other and hardly any noise."""
    row = 2 / 4 + 3 * (1 + 1 / SLOPE) + log(3)
    assert widest_ratio(AddRemove, THIRDS, scale=0.1, rate=3.0, zone=1, most=4, reach=9) > row


SIXTY = tuple(np.repeat(np.arange(8), [18, 1, 2, 1, 16, 3, 2, 17]).tolist())


@pytest.mark.parametrize(("table", "shares"), [((1, 3, 3, 6), HALVES), (SIXTY, THIRDS), ((), THIRDS)])
def test_answers_have_the_stated_law(table: Table, shares: tuple[Fraction, ...]) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4; the twin at three times the rate of the draws is rejected."""
    made = plan(shares, epsilon=4)
    drawn = made.outcomes(table, 2000, bits=DeterministicBits(5))
    draws = [tuple(int(code) // 8**k % 8 for k in range(len(shares)))[::-1] for code in drawn]
    assert p_value(draws, sliced(made, table)) > 1e-4
    if table:
        listed = slices(table, 8, shares, scale=float(made.scale), rate=3 * float(made.rate), zone=made.zone, most=20)
        chances: dict[Table, float] = {}
        for answer in np.ndindex(listed.shape):
            key = tuple(sorted(answer))
            chances[key] = chances.get(key, 0.0) + float(listed[answer])
        assert p_value(draws, chances) < 1e-6


@pytest.mark.parametrize("place", [-20, -3, 4, 7, 12, 30])
@pytest.mark.parametrize("reach", [0, 5, 13, NEARLY])
def test_a_slice_has_the_law_of_all_rows(place: int, reach: int) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4, with weights, equal rows and ranks beyond all rows."""
    rows, points, rate = np.array([0, 2, 2, 2, 5, 9, 11, 11]), Points(13, levels=1), Fraction(1, 3)
    found = draw_around(
        SortedRecords(rows), place, reach, rate=rate, points=points, runs=400, bits=DeterministicBits(2)
    )
    draws = [(code,) for code in found.tolist()]
    away = np.minimum(distances(rows, place / 2, 13), reach / (2 * SLOPE))
    chances = np.diff(points.below(np.arange(14))) * np.exp(-away / 3)
    assert p_value(draws, {(c,): float(chance) for c, chance in enumerate(chances / chances.sum())}) > 1e-4


def test_few_rows_are_known_not_to_be_enough() -> None:
    made = plan(even(99))
    assert not made.is_steady(10_000)
    assert made.is_steady(100_000)
    assert np.mean(made.expected_errors(1000)) > 300
    assert np.all(made.expected_errors(0) == 0)


def test_noise_that_cannot_be_drawn_is_known_before() -> None:
    assert plan(THIRDS, Replace, rows=1000, epsilon=Fraction(1, 10**6)).is_quick
    assert not plan(THIRDS, Replace, rows=1000, epsilon=Fraction(1, 10**10)).is_quick
