import math
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.statistics.vectors.plan import SMALLEST_SHARE, Planner
from deniable.statistics.vectors.tail import Search


def gaussian(share: Fraction) -> float:
    """Noise of the unit ball for a share of rho = 1/2 under replace."""
    return 2 / math.sqrt(float(share))


def planner(size: float, reach: float, columns: int = 50, miscount: float = 0.0) -> Planner:
    return Planner(
        size=size,
        columns=columns,
        reach=reach,
        miscount=miscount,
        noise=gaussian,
        search=lambda share: Search(size, Fraction(math.sqrt(2 * share)) / 2),  # half of the share in each draw
    )


@pytest.mark.parametrize("size", [1, 30, 1000, 10**6])
@pytest.mark.parametrize("reach", [1e-3, 70.0, 1e12])
def test_a_plan_spends_the_price_and_no_more(size: float, reach: float) -> None:
    plan = planner(size, reach).best()
    assert sum(share for share, _ in plan.rough) + plan.search + plan.last == 1
    assert all(share >= SMALLEST_SHARE for share, _ in plan.rough)
    radii = [radius for _, radius in plan.rough]
    assert radii == sorted(radii, reverse=True)


def test_steps_beat_a_single_clipping_by_orders_of_magnitude_under_loose_bounds() -> None:
    loose, tight = (planner(1000, reach).best() for reach in (7e5, 7))
    assert loose.deviation < 1.3 * tight.deviation
    assert loose.deviation < 1e-4 * 7e5 * gaussian(Fraction(1)) / 1000


def test_few_rows_are_not_searched() -> None:
    assert planner(50, 1.0).best().search == 0
    assert planner(10_000, 1.0).best().search > 0


def test_rows_are_searched_around_a_centre_alone() -> None:
    """From two deviations away, the near side hides how the far side thins out: a step comes first."""
    assert not planner(10_000, 0.1, columns=1).best().rough
    assert planner(10_000, 2.0, columns=1).best().rough


def test_a_number_of_rows_that_is_hardly_known_asks_for_a_better_centre() -> None:
    """What a wrong number of rows does is proportional to the distance of the mean from the last centre."""
    known = planner(10_000, 1e4, columns=1)
    shares = [sum(share for share, _ in each.best().rough) for each in (known, replace(known, miscount=300.0))]
    assert shares[1] >= shares[0]
    assert replace(known, miscount=300.0).best().half_width > known.best().half_width
