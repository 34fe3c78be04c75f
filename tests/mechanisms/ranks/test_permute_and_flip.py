from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.ranks import PermuteAndFlipQuantile, Points
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, of_count
from deniable.privacy.constructors import PermuteAndFlipLoss
from deniable.statistics.order.quantile import Quantile
from tests.mechanisms.ranks.laws import LAWS, distances, exponential, neighbours, permute_and_flip

SIZE = 4


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 3), Fraction(0)])
def test_no_neighbours_are_further_apart_than_the_price(relation: Relation, quantile: Fraction) -> None:
    """All tables of up to four rows on four points; the ratio of chances is at most e, and comes near it."""
    unit = of_count(rows=1, groups=1, cells=1, relation=relation)
    made = PermuteAndFlipQuantile.calibrated(unit, epsilon=1, quantile=quantile, points=SIZE, interpolated=True)
    worst = 0.0
    for one, other in neighbours(SIZE, 4, relation):
        ours, theirs = (LAWS["permute_and_flip_quantile"](made, table)[1] for table in (one, other))
        worst = max(worst, float(np.abs(np.log(ours / theirs)).max()))
    assert (0.6 if quantile else 0.45) < worst <= 1 + 1e-9  # at 0 all distances move the same way


def test_only_few_points_of_equal_weight_are_listed() -> None:
    for points in (Points(2**18 + 1), Points(100, levels=1)):
        with pytest.raises(InvalidParameterError, match="points"):
            PermuteAndFlipQuantile(rate=Fraction(1), quantile=Fraction(1, 2), points=points)


def test_small_declared_grids_are_listed() -> None:
    plan = Quantile(share="1/2", bounds=(0, 100), step=1, epsilon=1, interval=None)
    flipped = PermuteAndFlipLoss(1).under(AddRemove)
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
        distance = distances(rows, 2, SIZE, True)
        ours, theirs = permute_and_flip(0.5, distance) @ distance, exponential(0.5, distance) @ distance
        assert ours <= theirs + 1e-12
        ratios.append((ours + 1e-12) / (theirs + 1e-12))
    assert np.mean(ratios) < 0.95
