"""Staircase noise: the curve by enumeration over all shifts, vectors by enumeration of all changes, compositions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, DiscreteLaplaceLoss, PrivacyLoss, Replace, Sensitivity, of_count
from deniable.privacy.constructors import StaircaseLoss


def moved(rows: int, groups: int = 1) -> Sensitivity:
    return of_count(rows=rows, groups=groups, relation=AddRemove)


def law(rate: float, step: int, centre: int) -> NDArray[np.float64]:
    reach = int(45 / rate * step) + 50
    weights = np.exp(-rate * ((np.abs(np.arange(-reach, reach + 1)) + step - centre) // step))
    return weights / weights.sum()


def shifted_delta(p: NDArray[np.float64], shift: int, epsilon: float) -> float:
    ours, theirs = np.append(p, np.zeros(shift)), np.append(np.zeros(shift), p)
    return float(np.maximum(ours - math.exp(epsilon) * theirs, 0).sum())


@given(st.integers(1, 9), st.data(), st.fractions(Fraction(1, 20), 3, max_denominator=20), st.floats(0, 1.1))
def test_the_curve_is_the_worst_of_all_shifts(step: int, data: st.DataObject, rate: Fraction, share: float) -> None:
    centre, shift = data.draw(st.integers(1, step)), data.draw(st.integers(1, step))
    loss = StaircaseLoss(rate, step, centre, moved(shift))
    p, epsilon = law(float(rate), step, centre), share * float(rate)
    truth = max(shifted_delta(p, by, epsilon) for by in range(1, shift + 1))
    found = loss.delta(epsilon)
    assert found.upper == pytest.approx(truth, rel=1e-9, abs=1e-13)
    assert found.lower == pytest.approx(truth, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("shift", [4, 6, 7])
def test_larger_changes_are_bounded(shift: int) -> None:
    """A change by more than a step: the truth lies in the interval, and epsilon is met and not halved."""
    loss = StaircaseLoss("1/2", 3, 2, moved(shift))
    p = law(0.5, 3, 2)
    crossed = -(-shift // 3)
    assert loss.pure_epsilon == Fraction(crossed, 2)
    for epsilon in np.linspace(0, 2, 9):
        found = loss.delta(float(epsilon))
        assert found.lower - 1e-12 <= shifted_delta(p, shift, float(epsilon)) <= found.upper + 1e-12
    assert shifted_delta(p, shift, (crossed - 0.5) / 2) > 1e-6


@given(st.integers(1, 4), st.integers(1, 8), st.integers(1, 8), st.integers(1, 3))
def test_steps_that_a_vector_crosses_are_the_most_of_all_changes(step: int, l1: int, linf: int, changed: int) -> None:
    linf = min(linf, l1)
    reach = Sensitivity(l1=l1, l2_squared=l1**2, linf=linf, relation=AddRemove, coordinates=changed)
    ways = (d for d in product(range(linf + 1), repeat=changed) if sum(d) <= l1)
    most = max(sum(-(-size // step) for size in d) for d in ways)
    assert most <= StaircaseLoss(1, step, 1, reach).statement.crossed <= most + 1
    free = Sensitivity(l1=l1, l2_squared=l1**2, linf=linf, relation=AddRemove)
    assert StaircaseLoss(1, step, 1, free).statement.crossed == l1


@pytest.mark.parametrize("coordinates", [None, 2, 3])
def test_a_change_that_may_be_spread_is_not_one_step(coordinates: int | None) -> None:
    """l1 = linf = step does not say that one coordinate takes it all: (1, 1) crosses two steps at once."""
    reach = Sensitivity(l1=3, l2_squared=9, linf=3, relation=AddRemove, coordinates=coordinates)
    loss, p = StaircaseLoss(1, 3, 1, reach), law(1, 3, 1)
    ours, theirs = np.append(p, 0), np.append(0, p)
    for epsilon in (0.0, 1.0, 1.5):
        truth = float(np.maximum(np.outer(ours, ours) - math.exp(epsilon) * np.outer(theirs, theirs), 0).sum())
        assert truth > 0.02
        assert loss.delta(epsilon).upper >= truth
        assert (loss + loss).delta(epsilon).upper >= truth


def test_one_integer_to_a_step_is_laplace_noise() -> None:
    """The two-sided geometric mechanism."""
    stairs, laplace = StaircaseLoss("2/3", 1, 1, moved(1)), DiscreteLaplaceLoss("3/2", moved(1))
    for epsilon in ("0", "1/5", "0.6"):
        assert stairs.delta(epsilon).upper == pytest.approx(laplace.delta(epsilon).upper, rel=1e-12)
    assert (stairs * 5).epsilon("1e-6").upper == pytest.approx((laplace * 5).epsilon("1e-6").upper, rel=1e-3)


@pytest.mark.parametrize(("step", "centre", "shift"), [(3, 2, 3), (4, 1, 2), (5, 5, 4), (3, 2, 2)])
def test_compositions_agree_with_enumeration(step: int, centre: int, shift: int) -> None:
    loss = StaircaseLoss(1, step, centre, moved(shift))
    p = law(1.0, step, centre)
    ours, theirs = np.append(p, np.zeros(shift)), np.append(np.zeros(shift), p)
    keep = (ours > 1e-17) & (theirs > 1e-17)
    pair = np.outer(ours[keep], ours[keep]), np.outer(theirs[keep], theirs[keep])
    for epsilon in (0.3, 1.2):
        truth = np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0).sum()
        found = (loss * 2).delta(epsilon, tolerance=1e-4)
        assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


def test_no_change_no_loss() -> None:
    still = StaircaseLoss(1, 2, 1, Sensitivity(l1=0, l2_squared=0, linf=0, relation=Replace))
    assert still.delta(0).upper == 0
    assert (still * 3).epsilon("1e-6").upper == 0


def test_it_is_written_charged_and_kept_to_its_relation() -> None:
    for loss in (StaircaseLoss("1/3", 3, 2, moved(2)), StaircaseLoss(1, 3, 2, moved(2, groups=4))):
        assert PrivacyLoss.from_json(loss.to_json()) == loss
        assert loss.relations == {AddRemove}
        charge = loss.charge()
        assert charge.epsilon == loss.pure_epsilon
        assert charge.rho == loss.pure_epsilon**2 / 2
        assert charge.mu_squared is not None
        assert Fraction(loss.delta(loss.pure_epsilon).upper) == 0
        assert (loss * 2).epsilon("1e-5").upper <= 2 * loss.pure_epsilon
        assert repr(loss).startswith("StaircaseLoss(rate=")


def test_a_centre_wider_than_the_step_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="centre must be at most step=3"):
        StaircaseLoss(1, 3, 4, moved(1))
    with pytest.raises(InvalidParameterError, match="sensitivity must be"):
        StaircaseLoss(1, 3, 3, 1)  # type: ignore[arg-type]


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 2), st.integers(1, 9))
def test_epsilon_inverts_delta_and_sums_commute(step: int, rows: int, groups: int, digits: int) -> None:
    loss = StaircaseLoss("3/4", step, (step + 1) // 2, moved(rows, groups))
    delta = Fraction(1, 10**digits)
    found = loss.epsilon(delta)
    assert Fraction(loss.delta(found.upper).upper) <= delta * (1 + Fraction(1, 2**50))
    if found.lower > 0:
        assert Fraction(loss.delta(found.lower).lower) > delta * (1 - Fraction(1, 2**50))
    other = DiscreteLaplaceLoss(2, moved(1))
    assert loss + other == other + loss
    assert (loss + other).delta(0).upper >= loss.delta(0).lower
