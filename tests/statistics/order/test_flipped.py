import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from scipy import stats

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.privacy.around.restricted import Restricted
from deniable.privacy.losses import PermuteAndFlipLoss
from deniable.statistics import Quantile
from deniable.statistics.order.choice import reach
from deniable.statistics.order.flipped import flip
from deniable.statistics.order.place import PARTS
from tests.statistics.order.test_place import ours as places

SIZE = 4
Rows = tuple[int, ...]


def off(rows: Rows, target: float) -> np.ndarray:
    """The distances of all points: `test_place.py` compares places with their definition."""
    low, high = (end / PARTS for end in places(rows, SIZE))
    low[0], high[-1] = -np.inf, np.inf
    return np.maximum(0, np.maximum(low - target, target - high))


def law(rows: Rows, target: float, rate: float) -> np.ndarray:
    """The chances of all points: McKenna and Sheldon's sum over sets of others, with D from its definition."""
    distance = off(rows, target)
    heads = np.exp(-rate * (distance - distance.min()))
    found = []
    for point in range(SIZE):
        others = [heads[other] for other in range(SIZE) if other != point]
        terms = (
            (-1) ** count / (count + 1) * math.prod(chosen)
            for count in range(SIZE)
            for chosen in combinations(others, count)
        )
        found.append(heads[point] * sum(terms))
    return np.array(found)


def neighbours(rows: Rows, relation: Relation) -> Iterator[Rows]:
    for place in range(len(rows)):
        rest = (*rows[:place], *rows[place + 1 :])
        yield from [rest] if relation is AddRemove else [(*rest, new) for new in range(SIZE)]


@pytest.mark.parametrize("rows", [(), (1,), (0, 1, 1, 3), (2, 2, 2, 2, 0)])
def test_points_are_drawn_by_permute_and_flip(rows: Rows) -> None:
    """Chi-square of 6,000 draws; a correct choice fails for one seed in a million. The twin has another rate."""
    target, rate, bits = Fraction(len(rows), 3), Fraction(3, 4), DeterministicBits(5)
    codes = np.array(rows, dtype=np.int64)
    drawn = [flip(codes, target=target, rate=rate, size=SIZE, bits=bits) for _ in range(6000)]
    expected = 6000 * law(rows, float(target), float(rate))
    assert expected.sum() == pytest.approx(6000)
    counts = np.bincount(drawn, minlength=SIZE)
    assert stats.chisquare(counts, expected).pvalue > 1e-6
    if rows:
        assert stats.chisquare(counts, 6000 * law(rows, float(target), 1.1)).pvalue < 1e-6


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 3), Fraction(0)])
def test_no_neighbours_are_further_apart_than_the_price(relation: Relation, share: Fraction) -> None:
    """All tables of up to four rows on four points; the ratio of chances is at most e, and comes near it."""
    rate = 1 / (2 * float(reach(share, relation)))
    worst = 0.0
    for size in range(1, 5):
        for rows in combinations_with_replacement(range(SIZE), size):
            ours = law(rows, float(share * size), rate)
            for other in neighbours(rows, relation):
                theirs = law(other, float(share * len(other)), rate)
                worst = max(worst, float(np.abs(np.log(ours / theirs)).max()))
    assert (0.6 if share else 0.45) < worst <= 1 + 1e-9  # at share 0 all distances move the same way


def test_small_declared_grids_are_listed() -> None:
    plan = Quantile(share="1/2", bounds=(0, 100), step=1, epsilon=1, interval=None)
    flipped = Restricted(PermuteAndFlipLoss(1), AddRemove)
    assert plan.privacy_loss == flipped
    for other in ({"step": None, "epsilon": 1}, {"step": 1, "rho": 1}, {"step": "1e-5", "epsilon": 1}):
        assert Quantile(share="1/2", bounds=(0, 100), interval=None, **other).privacy_loss != flipped  # type: ignore[arg-type]
    ages = np.arange(1000) % 91
    for values in (ages, ages.astype(float), [], [np.nan, np.inf]):
        answer = plan(values, bits=DeterministicBits(1))["quantile"][0]
        assert 0 <= answer <= 100
    assert abs(plan(ages, bits=DeterministicBits(1))["quantile"][0] - 45) <= 3
    bounded = Quantile(share="1/2", bounds=(0, 100), step=1, epsilon=1, interval=0.95)
    lower, upper = bounded(ages, bits=DeterministicBits(1)).intervals()["quantile"]
    assert lower[0] <= 45 <= upper[0]
    assert bounded.privacy_loss.charge().epsilon == 1


def test_it_errs_less_than_the_exponential_mechanism() -> None:
    """The expected distance in ranks, exactly, for tables of four rows: never more, and on average 5% less."""
    ratios = []
    for rows in combinations_with_replacement(range(SIZE), 4):
        distance = off(rows, 2)
        weights = np.exp(-distance / 2)
        ours, theirs = law(rows, 2, 0.5) @ distance, weights @ distance / weights.sum()
        assert ours <= theirs + 1e-12
        ratios.append((ours + 1e-12) / (theirs + 1e-12))
    assert np.mean(ratios) < 0.95
