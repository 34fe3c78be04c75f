import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.statistics.vectors.schedule import COUNT, SMALLEST_SHARE, Miss, Scheduler
from deniable.statistics.vectors.tail_bound import RadiusSearch


def gaussian(share: Fraction) -> float:
    """Noise of the unit ball for a share of rho = 1/2 under replace."""
    return 2 / math.sqrt(float(share))


def scheduler(size: float, reach: float, columns: int = 50, miscount: float = 0.0) -> Scheduler:
    return Scheduler(
        size=size,
        columns=columns,
        mean_radius=reach,
        counted=gaussian(COUNT) / 2,
        miscount=miscount,
        noise=gaussian,
        search=lambda share: RadiusSearch(size, Fraction(math.sqrt(2 * share)) / 2),  # half of the share in each draw
    )


@pytest.mark.parametrize("size", [1, 30, 1000, 10**6])
@pytest.mark.parametrize("reach", [1e-3, 70.0, 1e12])
def test_a_plan_spends_the_price_and_no_more(size: float, reach: float) -> None:
    plan = scheduler(size, reach).best()
    assert sum(share for share, _ in plan.rough) + plan.search + plan.count + plan.last == 1
    assert (plan.search > 0) != (plan.count > 0)
    assert all(share >= SMALLEST_SHARE for share, _ in plan.rough)
    radii = [radius for _, radius in plan.rough]
    assert radii == sorted(radii, reverse=True)


def test_steps_beat_a_single_clipping_by_orders_of_magnitude_under_loose_bounds() -> None:
    loose, tight = (scheduler(1000, reach).best() for reach in (7e5, 7))
    assert loose.deviation < 1.3 * tight.deviation
    assert loose.deviation < 1e-4 * 7e5 * gaussian(Fraction(1)) / 1000


def test_few_rows_are_not_searched() -> None:
    assert scheduler(50, 1.0).best().search == 0
    assert scheduler(10_000, 1.0).best().search > 0


def test_rows_are_searched_around_a_centre_alone() -> None:
    """From two deviations away, the near side hides how the far side thins out: a step comes first."""
    assert not scheduler(10_000, 0.1, columns=1).best().rough
    assert scheduler(10_000, 2.0, columns=1).best().rough


def test_a_number_of_rows_that_is_hardly_known_asks_for_a_better_centre() -> None:
    """What a wrong number of rows does is proportional to the distance of the mean from the last centre."""
    known = scheduler(10_000, 1e4, columns=1)
    shares = [sum(share for share, _ in each.best().rough) for each in (known, replace(known, miscount=300.0))]
    assert shares[1] >= shares[0]
    assert replace(known, miscount=300.0).best().cost > known.best().cost


@pytest.mark.parametrize("columns", [1, 5, 50])
def test_rows_are_no_further_from_a_noisy_centre_than_is_said(columns: int) -> None:
    """Rows at t sqrt(columns) from the mean in one direction, and a centre that is off by Laplace noise.

    In 2,000 draws a bound that fails once in 300 fails 7 times, and hardly 25; a bound for half of the noise often.
    """
    generator = np.random.default_rng(1)
    noise = generator.laplace(size=(2000, columns)) * 3 / math.sqrt(2)
    row = np.full(columns, 2.0)
    distances = np.linalg.norm(row - noise, axis=1)
    assert np.sum(distances > Miss(columns, 0.0, 3.0).distance(2.0)) < 25
    assert np.sum(distances > Miss(columns, 0.0, 1.0).distance(2.0)) > 25
    assert Miss(columns, 7.0, 3.0).distance(2.0) == pytest.approx(Miss(columns, 0.0, 3.0).distance(2.0) + 7)
