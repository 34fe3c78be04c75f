from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.choice import EQUAL, _coin, _Pieces, choose, reach, window
from deniable.statistics.order.grid import Grid
from deniable.statistics.order.measure import Measure
from deniable.statistics.order.place import PARTS
from deniable.statistics.order.ranks import Ranks, around


def distances(rows: object, target: float, size: int, between: bool = False) -> np.ndarray:
    """D of every point, from the definition."""
    rows = np.sort(np.asarray(rows, dtype=np.int64))
    points = np.arange(size)
    low, high = (np.array([(rows < c).sum() for c in points + more], dtype=np.float64) for more in (0, 1))
    if between:
        known = np.concatenate([[0], rows, [size - 1]])
        free = (low == high) & (points > 0) & (points < size - 1)
        places = np.interp(points, np.unique(known), np.arange(np.unique(known).size))
        parts = np.floor((places - np.floor(places)) * PARTS + 1e-9) / PARTS
        low, high = np.where(free, low - 0.5 + parts, low + 0.5), np.where(free, low - 0.5 + parts, high - 0.5)
    low[0], high[-1] = -np.inf, np.inf
    return np.maximum(0, np.maximum(low - target, target - high))


def known(rows: object) -> Ranks:
    codes = np.sort(np.asarray(rows, dtype=np.int64))
    return Ranks(codes, 0, codes.size)


@given(
    rows=some.lists(some.integers(0, 30), max_size=60),
    target=some.fractions(-5, 70, max_denominator=12),
    rate=some.sampled_from([Fraction(1, 50), Fraction(1, 7), Fraction(1, 3), Fraction(2), Fraction(100), 10**6]),
    cut=some.booleans(),
    between=some.booleans(),
)
@settings(deadline=None, max_examples=250)
def test_pieces_tile_the_grid_and_never_promise_too_little(
    rows: list[int], target: Fraction, rate: Fraction, cut: bool, between: bool
) -> None:
    ranks = known(rows)
    if cut and rows:  # as if only a window were known
        low, high = (min(max(end, 0), len(rows) - 1) for end in (int(target) - 3, int(target) + 3))
        ordered = ranks.window
        ranks = Ranks(ordered[low : high + 1], low, len(rows), lambda code: int(np.searchsorted(ordered, code)))
    pieces = _Pieces(ranks, target, Fraction(rate), (0, 30), measure=EQUAL, between=between)
    truth = distances(rows, float(target), 31, between) * target.denominator * pieces.parts
    covered = []
    for bound, weight, first, exact in zip(pieces.bounds, pieces.weights, pieces.firsts, pieces.exact, strict=True):
        inside = truth[first : first + weight]
        assert np.all(bound <= inside + 1e-3)
        if exact:
            assert np.allclose(bound, inside, atol=1e-3)
        covered += range(first, first + weight)
    assert sorted(covered) == list(range(31))


def chosen(rows: object, runs: int, *, target: Fraction, rate: Fraction, size: int, between: bool) -> np.ndarray:
    bits, ranks, ends = DeterministicBits(7), known(rows), (0, size - 1)
    return np.bincount(
        [choose(ranks, target=target, rate=rate, codes=ends, between=between, bits=bits) for _ in range(runs)],
        minlength=size,
    )


@pytest.mark.parametrize(
    ("rate", "between"),
    [
        (Fraction(1, 40), False),
        (Fraction(2, 7), False),
        (Fraction(3, 2), False),
        (Fraction(3, 2), True),
        (Fraction(5), True),
    ],
)
def test_points_have_the_stated_law(rate: Fraction, between: bool) -> None:
    """Pearson's chi-square at false-alarm rate 10^-4; the twin at 1.5 times the rate must be rejected."""
    rows, target, size = [3, 3, 3, 4, 9, 9, 12, 15, 15, 15, 15, 18], Fraction(31, 4), 20
    if between:
        rows, target, size = [10 * row for row in rows], Fraction(29, 5), 200
    counts = chosen(rows, 1000 if between else 2000, target=target, rate=rate, size=size, between=between)
    for factor, wanted in ((1.0, True), (1.5, False)):
        law = np.exp(-float(rate) * factor * distances(rows, float(target), size, between))
        law /= law.sum()
        rare = law * counts.sum() < 8
        observed = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(law[~rare], law[rare].sum()) * counts.sum()
        held = expected > 0
        p = stats.chisquare(observed[held], expected[held]).pvalue
        if wanted:
            assert p > 1e-4
        elif rate > Fraction(1, 10):  # 2000 draws cannot tell rates near 0 apart
            assert p < 1e-6


def test_weights_and_other_first_codes_enter_the_law() -> None:
    measure, rows, rate = Measure(levels=1), np.repeat([23, 25, 28, 41], 3), Fraction(1, 3)
    bits, ranks = DeterministicBits(7), known(rows)
    draws = [
        choose(ranks, target=Fraction(5), rate=rate, codes=(20, 44), measure=measure, bits=bits) for _ in range(2000)
    ]
    law = np.exp(-float(rate) * distances(rows - 20, 5, 25)) * np.where(np.arange(20, 45) % 10 == 0, 2, 1)
    counts = np.bincount(draws, minlength=45)[20:]
    assert stats.chisquare(counts, law / law.sum() * 2000).pvalue > 1e-4


def test_a_window_gives_the_same_answers() -> None:
    rows = np.random.default_rng(1).normal(500, 100, 20_000)
    grid = Grid.between((0, 1000), 1)
    target, rate = Fraction(9000), Fraction(1, 2)
    ranks = around(rows, grid, *window(target, rate=rate, size=grid.size))
    assert ranks.count_below is not None
    everything = known(grid.codes(rows))
    for seed in range(50):
        one, other = (
            choose(r, target=target, rate=rate, codes=(0, grid.size - 1), bits=DeterministicBits(seed))
            for r in (ranks, everything)
        )
        assert one == other


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1), Fraction(50), Fraction(3000), Fraction(10**9)])
@pytest.mark.parametrize("rows", [[], [0, 2**40], [1, 2, 3], [7] * 9, [5, 5 + 2**39, 2**40 - 6]])
def test_any_rate_ends_soon(rate: Fraction, rows: list[int]) -> None:
    """A point is proposed three times on average, or so, whatever the gaps are."""
    size, target, bits = 2**40, Fraction(len(rows), 3), DeterministicBits(1)
    codes = np.minimum(np.array(rows, dtype=np.int64), size - 1)
    pieces = _Pieces(known(codes), target, rate, (0, size - 1), measure=EQUAL, between=True)
    unit = rate / (target.denominator * PARTS)
    accepted = [_coin(unit * pieces.propose(unit, bits)[1], bits) for _ in range(60)]
    assert sum(accepted) >= 8  # at one in three, fewer has chance 2e-4


def test_more_epsilon_finds_the_middle_between_two_rows() -> None:
    rows, size = [100, 10**9, 3 * 10**9, 4 * 10**9], 5 * 10**9
    for rate, off in ((Fraction(20), 10**9), (Fraction(10**4), 10**7)):
        code = choose(
            known(rows), target=Fraction(2), rate=rate, codes=(0, size), between=True, bits=DeterministicBits(1)
        )
        assert abs(code - 2 * 10**9) < off


def test_many_equal_rows_win() -> None:
    rows = np.concatenate([np.full(800_000, 7), np.random.default_rng(2).integers(0, 2**40, 200_000)])
    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(7, 10)):
        assert (
            choose(known(rows), target=q * 10**6, rate=Fraction(1, 10), codes=(0, 2**40 - 1), bits=DeterministicBits(1))
            == 7
        )


def test_what_the_window_leaves_out_can_be_chosen() -> None:
    """With a window much too small the rest is chosen often, and still with the stated chance."""
    rows, rate = np.repeat(np.arange(10), 2), Fraction(1, 100)
    for between in (False, True):
        gaps = rows * 3 if between else rows

        def nearest(code: int, gaps: np.ndarray = gaps) -> tuple[int | None, int | None]:
            return max(gaps[gaps < code], default=None), min(gaps[gaps > code], default=None)

        size = gaps.max() + 1
        ranks = Ranks(gaps[9:11], 9, 20, lambda code, gaps=gaps: int(np.searchsorted(gaps, code)), nearest)
        bits, ends = DeterministicBits(3), (0, size - 1)
        draws = np.array(
            [choose(ranks, target=Fraction(10), rate=rate, codes=ends, between=between, bits=bits) for _ in range(1000)]
        )
        law = np.exp(-0.01 * distances(gaps, 10, size, between))
        counts = np.bincount(draws, minlength=size)
        assert stats.chisquare(counts, law / law.sum() * 1000).pvalue > 1e-4


def test_chances_of_large_exponents_are_coins_one_after_the_other() -> None:
    assert _coin(Fraction(0), DeterministicBits(1))
    assert not _coin(Fraction(2**45), DeterministicBits(1))
    script = [_coin(Fraction(1, 2), DeterministicBits(seed)) for seed in range(2000)]
    assert np.mean(script) == pytest.approx(np.exp(-0.5), abs=0.055)  # five standard errors


def neighbours(size: int, rows: int, relation: Relation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    tables = [t for n in range(rows + 1) for t in product(range(size), repeat=n) if list(t) == sorted(t)]
    if relation is AddRemove:
        return [(t, tuple(sorted((*t, x)))) for t in tables for x in range(size)]
    return [(t, tuple(sorted((*t[:i], x, *t[i + 1 :])))) for t in tables for i in range(len(t)) for x in range(size)]


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_a_row_moves_distances_by_the_reach_and_no_further(q: Fraction, relation: Relation) -> None:
    """All tables of up to four rows on four points, with the rank as it is and moved by constants."""
    most, span = 0.0, 0.0
    for one, other in neighbours(4, 4, relation):
        for constant in (-2, 0, 1.5):
            moved = distances(one, float(q) * len(one) + constant, 4) - distances(
                other, float(q) * len(other) + constant, 4
            )
            most, span = max(most, np.abs(moved).max()), max(span, float(np.ptp(moved)))
    assert most == pytest.approx(float(reach(q, relation)))
    assert span == pytest.approx(2 * float(reach(q, relation)))  # the whole of the bounded range is attained


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_between_rows_distances_move_no_further(q: Fraction, relation: Relation) -> None:
    """All tables of up to three rows on five points, with the constant that numpy's quantile needs among others."""
    most = 0.0
    for one, other in neighbours(5, 3, relation):
        for constant in (-2, 0, float(Fraction(1, 2) - q)):
            moved = distances(one, float(q) * len(one) + constant, 5, True) - distances(
                other, float(q) * len(other) + constant, 5, True
            )
            most = max(most, np.abs(moved).max())
    assert most == pytest.approx(float(reach(q, relation)))


def test_the_quartiles_together_have_less_than_twice_the_range() -> None:
    worst = 0.0
    for one, other in neighbours(4, 5, AddRemove):
        spans = [np.ptp(distances(one, q * len(one), 4) - distances(other, q * len(other), 4)) for q in (0.25, 0.75)]
        worst = max(worst, float(sum(spans)))
    assert worst == pytest.approx(2.5)
