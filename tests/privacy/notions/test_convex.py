"""Corners and lines, against convex curves that are known everywhere and in exact rationals."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.notions.convex import Point, corners, hits, misses, polygon

masses = st.lists(
    st.tuples(st.fractions(Fraction(1, 4), 8, max_denominator=16), st.integers(1, 9)), min_size=1, max_size=5
)
levels = st.fractions(0, 1, max_denominator=64)


def curve_of(atoms: list[tuple[Fraction, int]], x: Fraction) -> Fraction:
    """E (1 - x/ratio)_+ made symmetric: half of the law and half of its mirror image."""
    whole = sum(weight for _, weight in atoms)
    return sum(weight * max(1 - x / ratio, Fraction(0)) for ratio, weight in atoms) / Fraction(whole)


def pair(atoms: list[tuple[Fraction, int]]) -> list[tuple[Fraction, int]]:
    """Ratios that make a pair with its mirror: each ratio r of weight w r is met by 1/r of weight w."""
    return [(ratio, weight * ratio) for ratio, weight in atoms] + [
        (1 / ratio, Fraction(weight)) for ratio, weight in atoms
    ]


@given(
    masses, st.lists(st.fractions(Fraction(17, 16), 9, max_denominator=16), min_size=1, max_size=5, unique=True), levels
)
def test_lines_through_points_enclose_the_truth(
    atoms: list[tuple[Fraction, int]], places: list[Fraction], level: Fraction
) -> None:
    """The truth is the maximum over all x; those that matter are the ratios themselves and 1."""
    law = pair(atoms)
    points: list[Point] = [(x, curve_of(law, x)) for x in [Fraction(1), *sorted(places)]]
    exact = [(x, curve_of(law, x)) for x in {Fraction(1), *(ratio for ratio, _ in law if ratio > 1)}]
    truth = max(max(1 - d - x * level, (1 - d - level) / x, Fraction(0)) for x, d in exact)
    rates = np.array([float(level)])
    lower = misses(points, rates, side=-1)[0]
    edges = [(corner.x, corner.delta) for corner in corners(points, points, Fraction(0))]
    upper = misses(edges, rates, side=+1)[0]
    slack = 4e-16  # of the level as a float
    assert lower <= float(truth) + slack
    assert float(truth) <= upper + slack
    assert hits(edges, rates, side=-1)[0] <= 1 - float(truth) + slack
    assert 1 - float(truth) <= hits(points, rates, side=+1)[0] + slack


def test_corners_are_where_extended_chords_meet() -> None:
    points: list[Point] = [
        (Fraction(1), Fraction(1, 2)),
        (Fraction(2), Fraction(3, 10)),
        (Fraction(4), Fraction(1, 10)),
    ]
    found = corners(points, points, Fraction(0))
    inner = {corner.segment: corner for corner in found if corner.segment >= 0}
    assert [corner.segment for corner in found].count(-1) == 3
    assert inner[0][:2] == (Fraction(3, 2), Fraction(35, 100))  # the chord from the mirrored point meets that from 4
    assert inner[1][:2] == (Fraction(3), Fraction(1, 10))
    assert inner[2].delta == 0


def test_points_that_roundings_make_one_are_no_chord() -> None:
    """A third point where the second is: the curve ends there all the same."""
    points: list[Point] = [(Fraction(1), Fraction(1, 2)), (Fraction(2), Fraction(0)), (Fraction(2), Fraction(0))]
    found = corners(points, points, Fraction(0))
    assert {corner[:2] for corner in found} == {corner[:2] for corner in corners(points[:2], points[:2], Fraction(0))}


def test_without_corners_the_upper_bound_would_be_wrong() -> None:
    """The twin: points alone miss a curve that dips between them."""
    law = pair([(Fraction(2), 1)])
    points: list[Point] = [(x, curve_of(law, x)) for x in (Fraction(1), Fraction(3, 2), Fraction(4))]
    rate = np.array([0.1])
    truth = 1 - curve_of(law, Fraction(2)) - Fraction(2) / 10
    assert misses(points, rate, side=+1)[0] < float(truth) - 0.01
    edges = [(corner.x, corner.delta) for corner in corners(points, points, Fraction(0))]
    assert misses(edges, rate, side=+1)[0] >= float(truth)


def test_tiny_hits_keep_their_digits() -> None:
    lines: list[Point] = [(Fraction(3), Fraction(1, 10**200))]
    found = hits(lines, np.array([0.0, 1e-250]), side=+1)
    np.testing.assert_allclose(found, [1e-200, 1e-200], rtol=1e-12)
    assert np.all(hits(lines, np.array([0.0]), side=-1) <= 1e-200)


def test_the_polygon_has_the_corners_of_its_highest_lines() -> None:
    """Three lines, one of which is the highest nowhere; in exact rationals."""
    lines: list[Point] = [(Fraction(1), Fraction(1, 2)), (Fraction(2), Fraction(2, 5)), (Fraction(4), Fraction(0))]
    assert polygon(lines, Fraction(0)) == [(Fraction(1, 6), Fraction(1, 3))]
    lines[1] = (Fraction(2), Fraction(3, 10))
    assert polygon(lines, Fraction(0)) == [(Fraction(1, 5), Fraction(3, 10)), (Fraction(3, 20), Fraction(2, 5))]
    assert polygon(lines, Fraction(1, 10)) == [*polygon(lines, Fraction(0)), (Fraction(1, 10), Fraction(3, 5))]
    assert polygon(lines[:2], Fraction(0)) == [(Fraction(1, 5), Fraction(3, 10)), (Fraction(0), Fraction(7, 10))]
    assert polygon([(Fraction(1), Fraction(0))], Fraction(0)) == []
