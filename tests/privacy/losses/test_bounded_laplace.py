"""Answers in a range: epsilon and curve by enumeration of all pairs of inputs, vectors by all changes, compositions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, PrivacyLoss, Replace, Sensitivity, of_count
from deniable.privacy.constructors import BoundedLaplaceLoss


def laws(scale: float, width: int) -> NDArray[np.float64]:
    """Row x: the law of the answer for x."""
    y = np.arange(width + 1)
    weights = np.exp(-np.abs(y[:, None] - y) / scale)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def neighbours(width: int, shift: int) -> list[tuple[int, int]]:
    return [(a, b) for a, b in product(range(width + 1), repeat=2) if 0 < abs(a - b) <= shift]


@given(st.integers(1, 12), st.integers(1, 15), st.fractions(Fraction(1, 10), 6, max_denominator=10))
def test_epsilon_is_the_worst_of_all_pairs_and_the_curve_is_bracketed(width: int, rows: int, scale: Fraction) -> None:
    loss = BoundedLaplaceLoss(scale, width, of_count(rows=rows, groups=1, relation=AddRemove))
    rows_of = laws(float(scale), width)
    pairs = neighbours(width, rows)
    truth = max(float(np.log(rows_of[a] / rows_of[b]).max()) for a, b in pairs)
    assert float(loss.pure_epsilon) == pytest.approx(truth, rel=1e-9)
    for epsilon in (0.0, truth / 2, truth * 0.95):
        worst = max(float(np.maximum(rows_of[a] - math.exp(epsilon) * rows_of[b], 0).sum()) for a, b in pairs)
        found = loss.delta(epsilon)
        assert found.lower - 1e-12 <= worst <= found.upper + 1e-12
        assert found.lower >= 0.7 * worst - 1e-12


def test_the_scale_of_plain_laplace_is_not_enough() -> None:
    """The twin: bounded-domain noise with scale 1/epsilon is not epsilon-DP (noise.md section 3)."""
    loss = BoundedLaplaceLoss(1, 10, of_count(rows=1, groups=1, relation=AddRemove))
    assert float(loss.pure_epsilon) > 1.2
    rows_of = laws(1.0, 10)
    assert float(np.log(rows_of[0] / rows_of[1]).max()) == pytest.approx(float(loss.pure_epsilon), rel=1e-9)


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 3), st.integers(2, 6))
def test_vectors_are_bounded_by_the_worst_spread_of_the_change(l1: int, linf: int, changed: int, width: int) -> None:
    linf = min(linf, l1)
    reach = Sensitivity(l1=l1, l2_squared=l1**2, linf=linf, relation=AddRemove, coordinates=changed)
    rows_of = laws(1.5, width)
    cost = [0.0] + [float(np.log(rows_of[0] / rows_of[by]).max()) for by in range(1, width + 1)]
    ways = (d for d in product(range(min(linf, width) + 1), repeat=changed) if sum(d) <= l1)
    worst = max(sum(cost[size] for size in d) for d in ways)
    assert float(BoundedLaplaceLoss("3/2", width, reach).pure_epsilon) == pytest.approx(worst, rel=1e-9)
    free = Sensitivity(l1=l1, l2_squared=l1**2, linf=linf, relation=AddRemove)
    assert float(BoundedLaplaceLoss("3/2", width, free).pure_epsilon) == pytest.approx(l1 * cost[1], rel=1e-9)


def test_compositions_are_bracketed() -> None:
    loss = BoundedLaplaceLoss(2, 4, of_count(rows=1, groups=1, relation=AddRemove))
    rows_of = laws(2.0, 4)
    for epsilon in (0.2, 0.8):
        found = (loss * 2).delta(epsilon, tolerance=1e-2)
        for a, b in neighbours(4, 1):
            pair = np.outer(rows_of[a], rows_of[a]), np.outer(rows_of[b], rows_of[b])
            assert np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0).sum() <= found.upper + 1e-12
        assert 0 < found.lower <= found.upper


@pytest.mark.parametrize("scale", [Fraction(1, 2000), Fraction(2**57)], ids=str)
def test_extreme_scales_have_a_finite_epsilon(scale: Fraction) -> None:
    loss = BoundedLaplaceLoss(scale, 2**61, of_count(rows=1, groups=1, relation=AddRemove))
    assert loss.pure_epsilon == pytest.approx(1 / scale + Fraction(1 / float(scale) if scale > 1 else 0), rel=1e-6)


def test_no_change_no_loss() -> None:
    still = BoundedLaplaceLoss(1, 2, Sensitivity(l1=0, l2_squared=0, linf=0, relation=Replace))
    assert still.delta(0).upper == 0
    assert still.pure_epsilon == 0
    assert (still * 3).epsilon("1e-6").upper == 0


def test_it_is_written_charged_and_kept_to_its_relation() -> None:
    loss = BoundedLaplaceLoss("3/2", 9, of_count(rows=2, groups=2, relation=Replace))
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.relations == {Replace}
    assert loss.charge().epsilon == loss.pure_epsilon
    assert loss.charge().rho == loss.pure_epsilon**2 / 2
    assert loss.charge().mu_squared is not None
    assert repr(loss).startswith("BoundedLaplaceLoss(scale=1.5, width=9, ")


def test_wrong_parameters_are_refused() -> None:
    for scale, width in ((0, 3), (1, 0), (1, 2.5)):
        with pytest.raises(InvalidParameterError):
            BoundedLaplaceLoss(scale, width, of_count(rows=1, groups=1, relation=AddRemove))


@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 2), st.integers(1, 9))
@settings(max_examples=12)
def test_epsilon_inverts_delta_and_sums_commute(width: int, rows: int, groups: int, digits: int) -> None:
    loss = BoundedLaplaceLoss("7/4", width, of_count(rows=rows, groups=groups, relation=AddRemove))
    delta = Fraction(1, 10**digits)
    found = loss.epsilon(delta)
    assert Fraction(loss.delta(found.upper).upper) <= delta * (1 + Fraction(1, 2**50))
    if found.lower > 0:
        assert Fraction(loss.delta(found.lower).lower) > delta * (1 - Fraction(1, 2**50))
    assert loss * 2 == loss + loss
    assert (loss * 2).delta(0, tolerance=1e-2).upper >= loss.delta(0).lower
