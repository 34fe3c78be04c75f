"""Metrics, their losses, and the check by enumeration."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.variants import Metric, MetricLoss, measured_epsilon
from deniable.variants.metric import point, ratios_below, satisfies

PLANE = Metric(norm="l2", unit="m")
COORDINATES = st.tuples(*[st.integers(-50, 50)] * 2)


@pytest.mark.parametrize("norm", ["discrete", "hamming", "l1", "l2", "linf"])
@given(x=COORDINATES, y=COORDINATES, z=COORDINATES)
def test_every_norm_is_a_metric_and_the_table_agrees(norm: str, x: tuple, y: tuple, z: tuple) -> None:
    metric = Metric(norm=norm)
    assert metric.distance(x, y) == metric.distance(y, x)
    assert (metric.distance(x, y) == 0) == (x == y)
    assert metric.distance(x, z) <= metric.distance(x, y) + metric.distance(y, z) + Fraction(1, 2**62)
    assert metric.table([point(x)], [point(y)])[0, 0] == pytest.approx(float(metric.distance(x, y)))


def test_a_euclidean_distance_is_rounded_down() -> None:
    root = PLANE.distance((0, 0), (1, 1))
    assert root**2 < 2 < (root + Fraction(1, 2**64)) ** 2


def test_losses_add_and_convert() -> None:
    hour = MetricLoss(epsilon="0.01", metric=PLANE)
    assert (hour * 3 + hour).epsilon == Fraction(4, 100)
    assert hour.within(radius=30).epsilon(delta=0).upper == pytest.approx(0.6)
    with pytest.raises(UnprovedError, match="different metrics"):
        _ = hour + MetricLoss(epsilon=1, metric=Metric(norm="l2", unit="km"))


def test_randomised_response_is_metric_privacy_under_the_discrete_metric() -> None:
    laws = [[3, 1, 1], [1, 3, 1], [1, 1, 3]]
    found = measured_epsilon(laws, [(Fraction(i),) for i in range(3)], Metric(norm="discrete"))
    assert found.lower <= math.log(3) <= found.upper
    assert found.upper - found.lower < 1e-12


def test_differential_privacy_is_metric_privacy_under_the_number_of_records_that_differ() -> None:
    """Counts with two-sided geometric noise of ratio 1/3, clamped to [0, 3]: by enumeration, e^epsilon is 3."""
    tables = list(product((0, 1), repeat=3))
    third = Fraction(1, 3)

    def law(count: int) -> list[Fraction]:
        inner = [(1 - third) / (1 + third) * third ** abs(k - count) for k in (1, 2)]
        return [third**count / (1 + third), *inner, third ** (3 - count) / (1 + third)]

    found = measured_epsilon([law(sum(table)) for table in tables], tables, Metric(norm="hamming"))
    assert found.lower <= math.log(3) <= found.upper
    assert found.upper - found.lower < 1e-12


def test_a_point_that_an_output_rules_out_has_no_epsilon() -> None:
    assert measured_epsilon([[1, 1], [0, 2]], [(Fraction(0),), (Fraction(1),)], PLANE).upper == math.inf


def test_one_weight_too_many_is_found() -> None:
    points = [(Fraction(0),), (Fraction(1),)]
    limits = ratios_below(points, Metric(norm="l1"), Fraction(1))
    most = math.floor(limits[0][1] * 2**50)
    assert satisfies(np.array([[most, 2**50], [2**50, most]]), limits)
    assert not satisfies(np.array([[most + 1, 2**50], [2**50, most]]), limits)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Metric(norm="l3"),
        lambda: PLANE.distance((1,), (1, 2)),
        lambda: PLANE.distance((math.nan,), (1,)),
        lambda: PLANE.distance(3, 4),
        lambda: Metric(unit=7),
        lambda: MetricLoss(epsilon=-1, metric=PLANE),
        lambda: MetricLoss(epsilon=1, metric="m"),
        lambda: measured_epsilon([[1], [1]], [(Fraction(0),)], PLANE),
        lambda: measured_epsilon([[1], [2]], [(Fraction(0),), (Fraction(1),)], PLANE),
        lambda: measured_epsilon([[1], [1]], [(Fraction(0),), (Fraction(0),)], PLANE),
    ],
)
def test_what_is_no_metric_or_loss_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameterError):
        wrong()  # type: ignore[operator]
