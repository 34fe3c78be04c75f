"""The words of a loss law: tails of finite laws are the sums they claim, and reversal is an involution."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.pld.law import FiniteLaw, Pairs, ReversedLaw


def three_values() -> FiniteLaw:
    """P = (1/8, 3/8, 1/2), Q = (1/2, 3/8, 1/8): losses -ln 4, 0, ln 4."""
    p = np.array([0.125, 0.375, 0.5])
    return FiniteLaw(np.array([-math.log(4), 0.0, math.log(4)]), p, p[::-1].copy(), spacing=math.log(4))


def test_the_tails_of_three_values() -> None:
    law = three_values()
    found = law.above(np.array([-2.0, -1.0, 0.0, 1.0, math.log(4)]))
    assert found.p.tolist() == [1.0, 0.875, 0.5, 0.5, 0.0]
    assert found.q.tolist() == [1.0, 0.5, 0.125, 0.125, 0.0]
    found = law.below(np.array([-2.0, -1.0, 0.0, 1.0, math.log(4)]))
    assert found.p.tolist() == [0.0, 0.125, 0.5, 0.5, 1.0]
    assert (law.lowest, law.highest, law.anchor, law.infinite) == (-math.log(4), math.log(4), math.log(4), 0.0)


def test_reversing_twice_changes_nothing() -> None:
    law = three_values()
    again = ReversedLaw(ReversedLaw(law))
    places = np.linspace(-2, 2, 41)
    assert np.array_equal(again.above(places).p, law.above(places).p)
    assert np.array_equal(again.below(places).q, law.below(places).q)
    reverse = ReversedLaw(law)
    assert reverse.above(np.array([0.5])).p[0] == 0.5  # Q(L <= -1/2)
    atoms = reverse.atoms()
    assert atoms is not None
    assert atoms.p.tolist() == [0.125, 0.375, 0.5]


def test_a_reversed_law_exchanges_what_is_infinite() -> None:
    law = FiniteLaw(np.zeros(1), np.array([0.75]), np.array([1.0]), infinite=0.25)
    assert ReversedLaw(law).infinite == 0
    assert ReversedLaw(law).vanishing == 0.25
    assert law.whole >= 0.75


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(0, 29))
def test_sums_of_tails_are_within_the_stated_error(weights: list[int], cut: int) -> None:
    p = np.array(weights) / sum(weights)
    law = FiniteLaw(np.arange(len(weights), dtype=float), p, p)
    found = law.above(np.array([cut - 0.5]))
    truth = Fraction(sum(weights[cut:]), sum(weights))
    assert abs(Fraction(float(found.p[0])) - truth) <= truth * Fraction(float(found.error[0]))


def test_pairs_know_when_both_directions_are_one() -> None:
    law = three_values()
    pairs = Pairs.symmetric(law)
    assert pairs.upper is pairs.lower
    assert Pairs.symmetric(law, three_values()).lower is not pairs.upper
