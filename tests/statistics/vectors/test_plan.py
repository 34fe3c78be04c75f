import math
from fractions import Fraction

import pytest

from deniable.statistics.vectors.plan import SMALLEST_SHARE, best_plan


def gaussian(share: Fraction) -> float:
    """Noise of the unit ball for a share of rho = 1/2 under replace."""
    return 2 / math.sqrt(float(share))


@pytest.mark.parametrize("size", [0, 1, 30, 1000, 10**6])
@pytest.mark.parametrize("reach", [1e-3, 70.0, 1e12])
def test_a_plan_spends_the_price_and_no_more(size: float, reach: float) -> None:
    plan = best_plan(size, columns=50, reach=reach, noise=gaussian)
    assert sum(plan.shares) == 1
    assert min(plan.shares) >= SMALLEST_SHARE
    assert sum(plan.weights) == pytest.approx(1)
    assert len(plan.shares) == len(plan.radii) == len(plan.weights)
    assert list(plan.radii) == sorted(plan.radii, reverse=True)


def test_steps_beat_a_single_clipping_by_orders_of_magnitude_under_loose_bounds() -> None:
    loose = best_plan(1000, columns=50, reach=7e5, noise=gaussian)
    tight = best_plan(1000, columns=50, reach=7, noise=gaussian)
    assert loose.deviation < 1.2 * tight.deviation
    assert loose.deviation < 1e-4 * 7e5 * gaussian(Fraction(1)) / 1000


def test_combining_steps_by_precision_has_the_stated_deviation() -> None:
    plan = best_plan(1000, columns=3, reach=20, noise=gaussian)
    variances = [(radius * gaussian(share) / 1000) ** 2 for share, radius in zip(plan.shares, plan.radii, strict=True)]
    total = sum(weight**2 * variance for weight, variance in zip(plan.weights, variances, strict=True))
    assert math.sqrt(total) == pytest.approx(plan.deviation)
    assert plan.deviation < math.sqrt(min(variances))
