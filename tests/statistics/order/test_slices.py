from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import log

import numpy as np
import pytest

from deniable.mechanisms.counts.tree import levels, matrices
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.measure import Measure
from deniable.statistics.order.rows import Rows
from deniable.statistics.order.slices import SLOPE, Slices, counter_weights, near, reaches
from tests.statistics.order.test_choice import distances, neighbours
from tests.statistics.order.test_joint import p_value

HALVES = (Fraction(1, 2),)
THIRDS = (Fraction(1, 3), Fraction(2, 3))
NEARLY = 10**6  # as good as infinity
Table = tuple[int, ...]


def plan(
    shares: Sequence[Fraction], relation: Relation = AddRemove, rows: int = 1, epsilon: object = 1, rho: object = None
) -> Slices:
    price = Price.of(None if rho else epsilon, None, rho)
    return Slices(shares=tuple(shares), price=price, relation=relation, rows=rows)


def even(count: int) -> list[Fraction]:
    return [Fraction(place, count + 1) for place in range(1, count + 1)]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 9, 99])
def test_the_parts_cost_the_price(count: int, rows: int, relation: Relation) -> None:
    """Noise, draws and what ranks that follow a row cost, added up here for every row that comes or goes."""
    made = plan(even(count), relation, rows)
    steps = rows if relation is AddRemove else 2 * rows
    noise = 2 * levels(count + 1, made._tree[0]) / float(made._scale)
    draws, following = (1 + 1 / SLOPE) * float(made._rate), log(1 + 2 / (2 * made.zone - 1))
    assert steps * (noise + draws + following) <= 1
    assert steps * (noise + draws + following) > 0.97
    assert made.losses[0].charge().epsilon == 1


@pytest.mark.parametrize(("cells", "branch"), [(2, 2), (5, 5), (10, 2), (40, 4), (100, 16)])
def test_a_row_in_all_its_counters_moves_the_running_counts_behind_it_exactly(cells: int, branch: int) -> None:
    weights, (tree, running) = counter_weights(cells, branch), matrices(cells, branch)
    assert np.array_equal(weights @ tree.astype(np.int64), 2**20 * np.tril(np.ones((cells, cells), dtype=np.int64)))
    assert np.allclose(weights / 2**20, running, atol=1e-4)  # and they are those of least squares


# The proof of docs/theory/mechanisms/ranks.md step by step. A row comes at rank p; then noisy rank R' stands for
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


# The law, listed: all draws of the counters of a flat tree, then all answers.


@cache
def noisy_ranks(rows: int, shares: tuple[Fraction, ...], scale: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """All vectors of noisy ranks in halves, shape (vectors, quantiles), and their chances; noise above `most` is
    left out."""
    noise = np.arange(-most, most + 1)
    chances = np.exp(-np.abs(noise) / scale)
    counters = np.meshgrid(*[noise] * (len(shares) + 1), indexing="ij")
    weights = np.array(1.0)
    for _ in counters:
        weights = np.multiply.outer(weights, chances / chances.sum())
    parts, total, places = np.zeros_like(counters[0]), sum(counters), []
    for share, counter in zip(shares, counters, strict=False):
        parts, (top, bottom) = parts + counter, share.as_integer_ratio()
        places.append(((2 * top * (2 * rows - total) + 2 * bottom * parts + bottom) // (2 * bottom)).ravel())
    found, kind = np.unique(np.stack(places, axis=1), axis=0, return_inverse=True)
    return found, np.bincount(kind.ravel(), weights.ravel())


def law(
    table: Table,
    size: int,
    shares: tuple[Fraction, ...],
    *,
    scale: float,
    rate: float,
    zone: int,
    most: int,
    reach: float | None = None,
) -> np.ndarray:
    """The chances of all answers in the order of the quantiles, as one axis for each."""
    places, weights = noisy_ranks(len(table), shares, scale, most)
    far = np.full((len(places), 1), NEARLY)
    below = np.maximum.accumulate(np.hstack([-far, places]), axis=1)[:, :-1]
    above = np.minimum.accumulate(np.hstack([places, far])[:, ::-1], axis=1)[:, ::-1][:, 1:]
    own = np.maximum(0, np.minimum(places - below, above - places) - 2 * zone) / (2 * SLOPE)
    own = own if reach is None else np.full(places.shape, reach)
    least = int(places.min())
    near_all = np.array([distances(table, place / 2, size) for place in range(least, int(places.max()) + 1)])
    chances = weights.reshape(-1, 1)
    for index in range(len(shares)):
        away = near_all[places[:, index] - least]
        answers = np.exp(-rate * np.minimum(away, own[:, index : index + 1]))
        answers /= answers.sum(axis=1, keepdims=True)
        chances = (chances[:, :, np.newaxis] * answers[:, np.newaxis, :]).reshape(len(places), -1)
    return chances.sum(axis=0).reshape((size,) * len(shares))


def widest_ratio(relation: Relation, shares: tuple[Fraction, ...], **options: float) -> float:
    """Of the logarithms of chances, over all neighbouring tables of up to three rows on three points."""
    laws: dict[Table, np.ndarray] = {}
    widest = 0.0
    for pair in neighbours(3, 3, relation):
        one, other = (laws.setdefault(tuple(t), law(tuple(t), 3, shares, **options)) for t in pair)  # type: ignore[arg-type]
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
    """Pearson's chi-square at false-alarm rate 10^-4; the twin at three times the rate must be rejected."""
    made, bits = plan(shares, epsilon=4), DeterministicBits(5)
    assert made._tree[0] == len(shares) + 1  # a flat tree
    ordered = np.array(table, dtype=np.int64)
    draws = [tuple(made.draw(Rows(ordered), 8, measure=Measure(), bits=bits)[0].tolist()) for _ in range(800)]

    def p(rate: float) -> float:
        listed = law(table, 8, shares, scale=float(made._scale), rate=rate, zone=made.zone, most=20)
        chances: dict[tuple[int, ...], float] = {}
        for answer in np.ndindex(listed.shape):
            key = tuple(sorted(answer))
            chances[key] = chances.get(key, 0.0) + float(listed[answer])
        return p_value(draws, chances)

    assert p(float(made._rate)) > 1e-4
    if table:
        assert p(3 * float(made._rate)) < 1e-6


@pytest.mark.parametrize("place", [-20, -3, 4, 7, 12, 30])
@pytest.mark.parametrize("reach", [0, 5, 13, NEARLY])
def test_a_slice_has_the_law_of_all_rows(place: int, reach: int) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4, with weights, equal rows and ranks beyond all rows."""
    rows, measure, rate = np.array([0, 2, 2, 2, 5, 9, 11, 11]), Measure(levels=1), Fraction(1, 3)
    bits = DeterministicBits(2)
    draws = [(near(Rows(rows), 13, place, reach, rate=rate, measure=measure, bits=bits),) for _ in range(400)]
    away = np.minimum(distances(rows, place / 2, 13), reach / (2 * SLOPE))
    chances = np.diff(measure.below(np.arange(14))) * np.exp(-away / 3)
    assert p_value(draws, {(c,): float(chance) for c, chance in enumerate(chances / chances.sum())}) > 1e-4


@pytest.mark.parametrize(("count", "size", "epsilon"), [(1, 2000, "1/2"), (3, 20_000, 1), (9, 20_000, 2)])
def test_rank_errors_are_known_before(count: int, size: int, epsilon: object) -> None:
    """Evenly spread rows: 40 draws, within 30 percent."""
    rows, made, bits = np.arange(size) * 1000 + 500, plan(even(count), epsilon=epsilon), DeterministicBits(count)
    wanted = size * np.array(even(count), dtype=np.float64)
    errors = [made.draw(Rows(rows), size * 1000, measure=Measure(), bits=bits)[1] - wanted for _ in range(40)]
    assert made.is_steady(size)
    expected = np.sqrt(np.mean(made.rank_errors(size) ** 2))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.3)


def test_few_rows_are_known_not_to_be_enough() -> None:
    made = plan(even(99))
    assert not made.is_steady(10_000)
    assert made.is_steady(100_000)
    assert np.mean(made.rank_errors(1000)) > 300
    assert np.all(made.rank_errors(0) == 0)


def test_noise_that_cannot_be_drawn_is_known_before() -> None:
    assert plan(THIRDS, Replace, rows=1000, epsilon=Fraction(1, 10**6)).is_quick
    assert not plan(THIRDS, Replace, rows=1000, epsilon=Fraction(1, 10**10)).is_quick


def test_a_rho_buys_the_epsilon_that_it_bounds() -> None:
    assert float(plan(THIRDS, rho="1/8").losses[0].charge().rho) == pytest.approx(1 / 8)
    assert plan(THIRDS, rho="1/8").losses[0].charge().epsilon == pytest.approx(1 / 2)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1), Fraction(10**9)])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_more_quantiles_than_rows_are_answered(rows: int, epsilon: Fraction, relation: Relation) -> None:
    table = np.arange(rows) * 30 + 20
    codes, ranks = plan(even(40), relation, epsilon=epsilon).draw(
        Rows(table), 100, measure=Measure(), bits=DeterministicBits(1)
    )
    assert codes.size == 40
    assert np.all(np.diff(codes) >= 0)
    assert codes.min() >= 0
    assert codes.max() <= 99
    assert np.array_equal(ranks, np.searchsorted(table, codes))
