"""Written-out sums against exact rationals."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.losses.discrete_gaussian import shift_law
from deniable.privacy.pld.enumeration import enumeration
from deniable.privacy.pld.law import FiniteLaw
from deniable.privacy.pld.laws import NormalLaw, randomized_response_law

pairs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=4, unique_by=lambda w: w)


def law_of(weights: list[tuple[int, int]]) -> FiniteLaw:
    p = np.array([a for a, _ in weights]) / sum(a for a, _ in weights)
    q = np.array([b for _, b in weights]) / sum(b for _, b in weights)
    (a, b), (all_a, all_b) = np.array(weights).T, np.sum(weights, axis=0)
    losses = np.log1p((a * all_b - b * all_a) / (b * all_a))  # good to a rounding near 0 too
    order = np.argsort(losses)
    return FiniteLaw(losses[order], p[order], q[order])


@given(st.lists(pairs, min_size=1, max_size=3), st.floats(0.0, 4.0))
def test_products_of_finite_pairs_hold_the_exact_delta(parts: list[list[tuple[int, int]]], epsilon: float) -> None:
    truth = mpmath.mpf(0)
    with mpmath.workdps(40):
        for outcome in itertools.product(*parts):
            p = math.prod(Fraction(a, sum(w for w, _ in part)) for (a, _), part in zip(outcome, parts, strict=True))
            q = math.prod(Fraction(b, sum(w for _, w in part)) for (_, b), part in zip(outcome, parts, strict=True))
            gain = mpmath.mpf(p.numerator) / p.denominator
            gain -= mpmath.exp(epsilon) * q.numerator / q.denominator
            truth += max(gain, mpmath.mpf(0))
        found = enumeration([(law_of(part), 1) for part in parts])
        assert found is not None
        assert found.below(epsilon) <= truth <= found.above(epsilon)
        assert found.above(epsilon) - found.below(epsilon) <= 1e-11


def test_a_lattice_is_convolved() -> None:
    """A hundred responses of 0.1: 101 values, delta as Kairouz, Oh and Viswanath have it."""
    found = enumeration([(randomized_response_law(0.1), 100)])
    assert found is not None
    assert found.losses.size == 101
    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(-0.1))
        gains = [
            mpmath.binomial(100, j)
            * p**j
            * (1 - p) ** (100 - j)
            * (1 - mpmath.exp(2 - mpmath.mpf(0.1) * (2 * j - 100)))
            for j in range(61, 101)
        ]
        truth = mpmath.fsum(gains)
    assert found.below(2.0) <= truth <= found.above(2.0)
    assert found.above(2.0) - found.below(2.0) < 1e-9


def test_too_many_values_are_left_to_the_grid() -> None:
    assert enumeration([(NormalLaw(1.0), 1)]) is None
    assert enumeration([(randomized_response_law(0.1), 10**6)]) is None
    assert enumeration([(randomized_response_law(0.1 + k / 100), 1) for k in range(20)]) is None


@pytest.mark.parametrize("epsilon", [0.0, 3.0, 14.0, 60.0, 1000.0])
def test_discrete_gaussians_hold_sums_in_many_digits(epsilon: float) -> None:
    """Twice sigma = 1/2 moved by 1, and a response of 1/2; at 1000 all that is left is what was left out."""
    found = enumeration([(shift_law(Fraction(1, 4), 1), 2), (randomized_response_law(0.5), 1)])
    assert found is not None
    with mpmath.workdps(60):
        weights = {k: mpmath.exp(-2 * k * k) for k in range(-40, 41)}
        whole, high = mpmath.fsum(weights.values()), 1 / (1 + mpmath.exp(-0.5))
        truth = mpmath.mpf(0)
        for (a, p), (b, q) in itertools.product(weights.items(), repeat=2):
            for loss, share in ((0.5, high), (-0.5, 1 - high)):
                gain = -mpmath.expm1(epsilon - (2 * (1 - 2 * a) + 2 * (1 - 2 * b) + loss))
                truth += max(gain, 0) * p * q * share / whole**2
    assert found.below(epsilon) <= truth <= found.above(epsilon)
    assert found.above(epsilon) - found.below(epsilon) <= 1e-10 * truth + 1e-269


@pytest.mark.parametrize("epsilon", [0.0, 6.0, 20.0, 130.0])
def test_many_values_on_a_lattice_are_convolved(epsilon: float) -> None:
    """Six times sigma = 1/2 moved by 1: too many multisets, but 200 sums, here in many digits."""
    found = enumeration([(shift_law(Fraction(1, 4), 1), 6)])
    assert found is not None
    with mpmath.workdps(60):
        weights = [mpmath.exp(-2 * k * k) for k in range(-30, 31)]
        one = [w / mpmath.fsum(weights) for w in weights]
        sums = [mpmath.mpf(1)]
        for _ in range(6):
            longer = [mpmath.mpf(0)] * (len(sums) + len(one) - 1)
            for (i, p), (j, q) in itertools.product(enumerate(sums), enumerate(one)):
                longer[i + j] += p * q
            sums = longer
        losses = [2 * (6 - 2 * (place - 180)) for place in range(len(sums))]
        truth = mpmath.fsum(-mpmath.expm1(epsilon - x) * p for x, p in zip(losses, sums, strict=True) if x > epsilon)
    assert found.below(epsilon) <= truth <= found.above(epsilon)
    assert found.above(epsilon) - found.below(epsilon) <= 1e-8 * truth + 1e-268
