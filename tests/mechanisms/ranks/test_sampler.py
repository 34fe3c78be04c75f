from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from deniable.mechanisms.ranks import Points
from deniable.mechanisms.ranks.records import RankWindow
from deniable.mechanisms.ranks.sampler import PointSampler, _coin, window
from deniable.noise.bits import DeterministicBits
from deniable.statistics.order.grid import ValueGrid
from tests.mechanisms.ranks.laws import distances


def known(records: object) -> RankWindow:
    return RankWindow.of(np.asarray(records, dtype=np.int64), 2**62)


@given(
    rows=some.lists(some.integers(0, 30), max_size=60),
    target=some.fractions(-5, 70, max_denominator=12),
    rate=some.sampled_from([Fraction(1, 50), Fraction(1, 7), Fraction(1, 3), Fraction(2), Fraction(100), 10**6]),
    cut=some.booleans(),
    between=some.booleans(),
)
def test_pieces_tile_the_grid_and_never_promise_too_little(
    rows: list[int], target: Fraction, rate: Fraction, cut: bool, between: bool
) -> None:
    ranks = known(rows)
    if cut and rows:  # as if only a window were known
        low, high = (min(max(end, 0), len(rows) - 1) for end in (int(target) - 3, int(target) + 3))
        ordered = ranks.known
        ranks = RankWindow(ordered[low : high + 1], low, len(rows), lambda code: int(np.searchsorted(ordered, code)))
    pieces = PointSampler(ranks, target=target, rate=Fraction(rate), points=Points(31), interpolated=between)
    truth = distances(rows, float(target), 31, between) * target.denominator * pieces.parts
    covered = []
    for bound, weight, first, exact in zip(pieces.bounds, pieces.weights, pieces.firsts, pieces.exact, strict=True):
        inside = truth[first : first + weight]
        assert np.all(bound <= inside + 1e-3)
        if exact:
            assert np.allclose(bound, inside, atol=1e-3)
        covered += range(first, first + weight)
    assert sorted(covered) == list(range(31))


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
    sampler = PointSampler(known(rows), target=target, rate=rate, points=Points(size), interpolated=between)
    counts = np.bincount(sampler.draws(2000, DeterministicBits(7)), minlength=size)
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
    points, rows, rate = Points(45, levels=1), np.repeat([23, 25, 28, 41], 3), Fraction(1, 3)
    sampler = PointSampler(known(rows), target=Fraction(5), rate=rate, points=points, span=(20, 44))
    law = np.exp(-float(rate) * distances(rows - 20, 5, 25)) * np.where(np.arange(20, 45) % 10 == 0, 2, 1)
    counts = np.bincount(sampler.draws(2000, DeterministicBits(7)), minlength=45)[20:]
    assert stats.chisquare(counts, law / law.sum() * 2000).pvalue > 1e-4


def test_a_window_gives_the_same_answers() -> None:
    rows = np.random.default_rng(1).normal(500, 100, 20_000)
    grid = ValueGrid.between((0, 1000), 1)
    target, rate = Fraction(9000), Fraction(1, 2)
    ranks = grid.ranked(rows, *window(target, rate=rate, size=grid.size))
    assert ranks.count_below is not None
    for seed in range(50):
        one, other = (
            PointSampler(r, target=target, rate=rate, points=Points(grid.size)).draws(1, DeterministicBits(seed))
            for r in (ranks, known(grid.codes(rows)))
        )
        assert one == other


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1), Fraction(50), Fraction(3000), Fraction(10**9)])
@pytest.mark.parametrize("rows", [[], [0, 2**40], [1, 2, 3], [7] * 9, [5, 5 + 2**39, 2**40 - 6]])
def test_any_rate_ends_soon(rate: Fraction, rows: list[int]) -> None:
    """A point is proposed three times on average, or so, whatever the gaps are."""
    size, target, bits = 2**40, Fraction(len(rows), 3), DeterministicBits(1)
    codes = np.minimum(np.array(rows, dtype=np.int64), size - 1)
    sampler = PointSampler(known(codes), target=target, rate=rate, points=Points(size), interpolated=True)
    chosen = np.random.default_rng(1).choice(sampler.weights.size, 60, p=shares(sampler))
    accepted = [_coin(sampler.rate * sampler._within(int(piece), 0)[1], bits) for piece in chosen]
    assert sum(accepted) >= 8  # at one in three, fewer has chance 2e-4


def shares(sampler: PointSampler) -> np.ndarray:
    """How often each piece is proposed."""
    logs = np.log(sampler.weights.astype(float)) - float(sampler.rate) * sampler.bounds
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def test_more_epsilon_finds_the_middle_between_two_rows() -> None:
    rows, size = [100, 10**9, 3 * 10**9, 4 * 10**9], 5 * 10**9
    for rate, off in ((Fraction(20), 10**9), (Fraction(10**4), 10**7)):
        sampler = PointSampler(known(rows), target=Fraction(2), rate=rate, points=Points(size), interpolated=True)
        (code,) = sampler.draws(1, DeterministicBits(1))
        assert abs(code - 2 * 10**9) < off


def test_many_equal_rows_win() -> None:
    rows = np.concatenate([np.full(800_000, 7), np.random.default_rng(2).integers(0, 2**40, 200_000)])
    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(7, 10)):
        sampler = PointSampler(known(rows), target=q * 10**6, rate=Fraction(1, 10), points=Points(2**40))
        assert sampler.draws(1, DeterministicBits(1)) == [7]


def test_what_the_window_leaves_out_can_be_chosen() -> None:
    """With a window much too small the rest is chosen often, and still with the stated chance."""
    rows, rate = np.repeat(np.arange(10), 2), Fraction(1, 100)
    for between in (False, True):
        gaps = rows * 3 if between else rows

        def nearest(code: int, gaps: np.ndarray = gaps) -> tuple[int | None, int | None]:
            return max(gaps[gaps < code], default=None), min(gaps[gaps > code], default=None)

        size = gaps.max() + 1
        ranks = RankWindow(gaps[9:11], 9, 20, lambda code, gaps=gaps: int(np.searchsorted(gaps, code)), nearest)
        points = Points(int(size))
        sampler = PointSampler(ranks, target=Fraction(10), rate=rate, points=points, interpolated=between)
        draws = sampler.draws(1000, DeterministicBits(3))
        law = np.exp(-0.01 * distances(gaps, 10, size, between))
        counts = np.bincount(draws, minlength=size)
        assert stats.chisquare(counts, law / law.sum() * 1000).pvalue > 1e-4


def test_chances_of_large_exponents_are_coins_one_after_the_other() -> None:
    assert _coin(Fraction(0), DeterministicBits(1))
    assert not _coin(Fraction(2**45), DeterministicBits(1))
    script = [_coin(Fraction(1, 2), DeterministicBits(seed)) for seed in range(2000)]
    assert np.mean(script) == pytest.approx(np.exp(-0.5), abs=0.055)  # five standard errors
