"""Polygons against the definition: sums over outcomes in exact rationals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.losses.polygon import Polygon

Masses = list[int]


@st.composite
def masses(draw: st.DrawFn, largest: int = 12) -> tuple[Masses, Masses]:
    """Two lists of whole numbers with one sum, zeros and ties included."""
    size = draw(st.integers(1, 7))
    lists = [draw(st.lists(st.integers(0, largest), min_size=size, max_size=size)) for _ in range(2)]
    p, q = ([*found, 0] for found in lists)
    total = max(sum(p), sum(q), 1)
    p[-1], q[-1] = total - sum(p), total - sum(q)
    return p, q


def defined(p: Masses, q: Masses, odds: Fraction) -> Fraction:
    return sum((max(a - odds * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0)) / sum(p)


odds = st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=30)


@given(masses(), odds)
def test_the_curve_is_its_definition_both_ways(pair: tuple[Masses, Masses], x: Fraction) -> None:
    found = Polygon.of_masses(*pair)
    assert found.exact_delta(x) == defined(*pair, x)
    assert found.reversed().exact_delta(x) == defined(pair[1], pair[0], x)
    assert found.reversed().equals(Polygon.of_masses(pair[1], pair[0]))
    assert (found.infinite, found.vanishing) == (found.exact_delta(Fraction(10**6)), found.reversed().infinite)


@given(masses(largest=10**20), odds)
def test_numbers_that_no_float_holds_are_exact(pair: tuple[Masses, Masses], x: Fraction) -> None:
    assert Polygon.of_masses(*pair).exact_delta(x) == defined(*pair, x)


def test_ratios_that_floats_cannot_tell_apart_are_put_in_order() -> None:
    big = 10**30
    p, q = [big, big + 2, big + 1, 3], [big, big, big, 6]
    assert sum(p) == sum(q)
    found = Polygon.of_masses(p, q)
    assert [found.ratio(edge) for edge in range(4)] == [1 + Fraction(n, big) for n in (2, 1, 0)] + [Fraction(1, 2)]


@given(st.lists(masses(), min_size=1, max_size=4), odds)
def test_the_hull_is_the_greatest_curve(pairs: list[tuple[Masses, Masses]], x: Fraction) -> None:
    total = math.lcm(*(sum(p) for p, _ in pairs))
    scaled = [tuple([mass * (total // sum(side)) for mass in side] for side in pair) for pair in pairs]
    polygons = [Polygon.of_masses(p, q) for p, q in scaled]
    hull = Polygon.hull(polygons)
    assert hull.exact_delta(x) == max(polygon.exact_delta(x) for polygon in polygons)
    slopes = [hull.ratio(edge) for edge in range(hull.q.size - 1)]
    assert slopes == sorted(slopes, reverse=True)
    assert hull.p[-1] == total


@given(masses(), st.fractions(0, 5, max_denominator=50))
def test_delta_is_the_definition_in_fifty_digits(pair: tuple[Masses, Masses], epsilon: Fraction) -> None:
    p, q = pair
    found = Polygon.of_masses(p, q).delta(epsilon)
    with mpmath.workdps(50):
        x = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        truth = mpmath.fsum(max(a - x * b, 0) for a, b in pair_up(p, q)) / sum(p)
        assert found.lower - mpmath.mpf(10) ** -40 <= truth <= found.upper + mpmath.mpf(10) ** -40
    assert found.width <= 3e-15 * found.upper


def pair_up(p: Masses, q: Masses) -> list[tuple[int, int]]:
    return list(zip(p, q, strict=True))


def test_the_law_has_the_losses_and_masses() -> None:
    law = Polygon.of_masses([4, 2, 1, 1, 0], [1, 2, 1, 2, 2]).law()
    atoms = law.atoms()
    assert atoms is not None
    assert atoms.losses == pytest.approx([math.log(1 / 2), 0, math.log(4)])
    assert (list(atoms.p), list(atoms.q)) == ([1 / 8, 3 / 8, 4 / 8], [2 / 8, 3 / 8, 1 / 8])
    assert (law.infinite, law.vanishing, law.spacing) == (0, 0.25, None)


def test_losses_on_a_lattice_are_noticed() -> None:
    law = Polygon.of_masses([9, 6, 3, 2, 1, 0], [1, 2, 3, 6, 9, 0]).law()  # 9, 3, 1, 1/3, 1/9
    assert law.spacing == pytest.approx(math.log(3))


@pytest.mark.parametrize(
    ("p", "q"), [(3, 2), (10**16 + 1, 10**16), (1, 10**9), (7 * 10**320, 1), (2**2000 + 1, 2**900)]
)
def test_logarithms_are_within_four_roundings(p: int, q: int) -> None:
    rest = max(p, q)
    found = Polygon.of_masses([p, rest + q - min(p, q)], [q, rest + p - min(p, q)]).losses
    with mpmath.workdps(60):
        truths = [mpmath.log(mpmath.mpf(p) / q), mpmath.log(mpmath.mpf(rest + q - min(p, q)) / (rest + p - min(p, q)))]
        for loss, truth in zip(found, sorted(truths, reverse=True), strict=True):
            assert abs(mpmath.mpf(float(loss)) - truth) <= 4 * 2.0**-53 * abs(truth)


def test_a_hundred_thousand_outcomes_take_part_at_once() -> None:
    stream = np.random.default_rng(5)
    p, q = (stream.integers(1, 10**6, 100_000).tolist() for _ in range(2))
    p[0], q[0] = p[0] + sum(q), q[0] + sum(p)
    found = Polygon.of_masses(p, q)
    truth = math.fsum(max(a - math.exp(0.25) * b, 0.0) for a, b in pair_up(p, q)) / sum(p)
    assert found.delta(Fraction(1, 4)).upper == pytest.approx(truth, rel=1e-9)
