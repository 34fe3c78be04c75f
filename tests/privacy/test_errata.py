"""Errors of the sources that this room was built from, and items of their inventory: our code follows the correction.

Each test is named after its entry; the numbers are those of the entry, by other arithmetic than ours.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    Replace,
    calibrate,
)
from deniable.privacy.notions.renyi import directed

REVEALED, HIDDEN = ([1, 0], [0, 1]), ([1], [1])


def test_e04_constant_maps_are_private_and_no_other_deterministic_one() -> None:
    for relation in (AddRemove, Replace):
        assert FiniteLoss(*HIDDEN, relation=relation).delta(0).upper == 0
        assert FiniteLoss(*REVEALED, relation=relation).epsilon("0.999").lower == math.inf


def test_e05_replace_follows_from_add_remove_and_not_the_other_way() -> None:
    """(e, d) under add/remove is (2 e, d (1 + e^e)) under replace; the number of rows is 0-DP under replace alone."""
    found = ApproximateLoss(1, "0.01").under(AddRemove).under_replace().delta(2)
    assert found.upper == pytest.approx(0.01 * (1 + math.e), rel=1e-9)
    count = FiniteLoss(*HIDDEN, relation=Replace)
    assert count.epsilon(0).upper == 0
    with pytest.raises(UnprovedError, match="different neighbouring relations"):
        count + FiniteLoss(*REVEALED, relation=AddRemove)
    with pytest.raises(UnprovedError):
        count.poisson_sampled(rate="0.5")


def test_e10_sampling_keeps_a_share_of_delta_and_its_coefficient_has_its_q() -> None:
    """As printed the coefficient is 2.44645; with the missing q it is (1 - q)(1 + q (e^epsilon - 1))."""
    loss, q = ApproximateLoss(1, "0.01").poisson_sampled(rate="0.1"), 0.1
    found = loss.epsilon("0.001")
    assert (1 - q) * math.exp(found.upper) == pytest.approx(1.054645, abs=1e-6)
    assert loss.epsilon("0.000999").lower == math.inf


def test_e36_one_step_of_training_on_one_of_a_thousand() -> None:
    found = PureLoss(1).poisson_sampled(rate="1/1000").epsilon(0)
    assert found.lower <= 0.0017168 + 5e-8
    assert found.upper == pytest.approx(0.0017168, abs=5e-8)


def test_e36_many_steps_cost_more_than_the_root_of_their_number() -> None:
    """T steps of 1/n at T = n^2 / 100: sqrt(T)/n = 0.1 would be claimed; the truth is above."""
    run = PureLoss(1).poisson_sampled(rate="1/100") * 100
    assert run.epsilon("1e-6").lower > 0.1


def test_e39_orders_one_and_infinity() -> None:
    """D_1 is the Kullback-Leibler divergence and D_inf the greatest loss, of P against Q and not the reverse."""
    loss = FiniteLoss(["0.8", "0.2"], ["0.5", "0.5"], relation=AddRemove)
    assert directed(loss.statement, Fraction(1))[0].upper == pytest.approx(0.192745, abs=1e-6)
    assert directed(loss.statement, Fraction(10**6))[0].upper == pytest.approx(0.470004, abs=1e-5)
    assert loss.statement.laws().upper[0].highest == pytest.approx(0.470004, abs=1e-6)  # type: ignore[union-attr]
    assert FiniteLoss(*REVEALED, relation=AddRemove).renyi(1).lower == math.inf


def test_e63_delta_bounds_neither_the_advantage_nor_the_tail() -> None:
    assert ApproximateLoss(2, "1e-6").advantage().upper == pytest.approx(0.761594, abs=1e-6)
    noise = GaussianLoss(calibrate(GaussianLoss, epsilon=2, delta="1e-5", tolerance=1e-6))
    tail = noise.statement.laws().upper[0].above(np.array([2.0])).p[0]
    assert tail == pytest.approx(9.317e-5, rel=1e-3)


def test_e84_a_large_epsilon_as_a_true_positive_rate() -> None:
    """min(0.01 e^epsilon, 1 - 0.99 e^-epsilon) at epsilon = ln 99."""
    found = PureLoss(Fraction(math.log(99))).tradeoff().true_positive_rate(0.01)
    assert found.lower - 1e-9 <= 0.99 <= found.upper + 1e-9


def test_e86_harm_is_bounded_by_the_other_direction() -> None:
    """The least ratio of expected utilities, e^-1, is that of the disfavoured answer, and no less is possible."""
    atoms = PureLoss(1).statement.laws().upper[0].atoms()
    assert atoms is not None
    assert (atoms.p / atoms.q).min() == pytest.approx(0.3679, abs=1e-4)
    uneven = FiniteLoss(["0.5", "0.5"], ["0.8", "0.2"], relation=AddRemove)
    assert uneven.epsilon(0).upper == pytest.approx(math.log(0.5 / 0.2), rel=1e-9)  # not ln(0.8 / 0.5)


def test_e88_the_inequality_is_not_strict() -> None:
    """The empty event has 0 <= 0: a promise that is met exactly is kept."""
    assert PureLoss(1).proves(Fraction(1), Fraction(0))
    assert PureLoss(0).proves(Fraction(0), Fraction(0))
    assert FiniteLoss(*HIDDEN, relation=Replace).proves(Fraction(0), Fraction(0))


@pytest.mark.parametrize("masses", [["0.5", "0.6"], ["1.1", "-0.1"], ["0.3", "0.3", "0.3"], []])
def test_item_2_what_is_no_point_of_the_simplex_is_refused(masses: list[str]) -> None:
    with pytest.raises(InvalidParameterError):
        FiniteLoss(masses, masses, relation=Replace)


@pytest.mark.parametrize("scale", [0.5, 1, 4])
def test_item_18_a_thermometer_errs_alike_on_both_sides(scale: float) -> None:
    """Lap(38, b) against Lap(39, b), threshold 38.5: both errors are exp(-0.5/b)/2, and no test has fewer."""
    error = math.exp(-0.5 / scale) / 2
    found = LaplaceLoss(scale).tradeoff(tolerance=1e-4).false_negative_rate(error)
    assert found.lower - 1e-12 <= error <= found.upper + 1e-12
    assert LaplaceLoss(scale).epsilon(0).upper == pytest.approx(1 / scale)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6),
    st.fractions(1, 5, max_denominator=9),
)
def test_item_28_expected_utilities_are_bounded_in_both_directions(
    rows: list[tuple[int, int, int]], odds: Fraction
) -> None:
    """E_p[u] <= odds E_q[u] + delta max u, for every utility u >= 0 and either order of the tables, exactly."""
    p, q = ([Fraction(row[way] + 1, sum(each[way] + 1 for each in rows)) for row in rows] for way in (0, 1))
    utility = [row[2] for row in rows]
    delta = FiniteLoss(p, q, relation=AddRemove).statement.exact_delta(odds)
    for one, other in ((p, q), (q, p)):
        expected, before = (
            sum((m * u for m, u in zip(law, utility, strict=True)), Fraction(0)) for law in (one, other)
        )
        assert expected <= odds * before + delta * max(utility)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5"])
def test_item_130_the_rate_that_makes_a_unit_of_loss_small(epsilon: str) -> None:
    """q = (e^epsilon - 1)/(e - 1)."""
    found = calibrate(lambda rate: PureLoss(1).poisson_sampled(rate=rate), epsilon=epsilon, over=(0, 1))
    assert float(found) == pytest.approx(math.expm1(float(epsilon)) / math.expm1(1), rel=2e-3)
    assert PureLoss(1).poisson_sampled(rate=found).epsilon(0).upper <= float(epsilon)
