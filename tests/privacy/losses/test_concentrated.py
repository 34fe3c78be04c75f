import math
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import ConcentratedLoss, GaussianLoss, Interval, PrivacyLoss, PureLoss, RenyiLoss
from deniable.privacy.notions.renyi import renyi


def test_golden_values() -> None:
    """golden.md G21 and G23."""
    assert ConcentratedLoss("0.5").epsilon("1e-5").upper == pytest.approx(4.7283869849433139, rel=1e-6)
    assert ConcentratedLoss("2.63").epsilon("1e-10").upper == pytest.approx(17.430584487345112315, rel=1e-6)


def test_the_gaussian_mechanism_is_one_of_them() -> None:
    assert ConcentratedLoss("1/2").delta(2).lower == GaussianLoss(1).delta(2).lower
    assert ConcentratedLoss("1/2").delta(2).upper > GaussianLoss(1).delta(2).upper


def test_the_edges() -> None:
    assert ConcentratedLoss(0).epsilon(0).upper == 0
    assert ConcentratedLoss(1).epsilon(0).lower == math.inf
    assert ConcentratedLoss(1).charge().rho == 1
    assert ConcentratedLoss(1).charge().epsilon is None
    assert repr(ConcentratedLoss("0.5")) == "ConcentratedLoss(rho=0.5)"
    assert (ConcentratedLoss("0.25") * 2).rho == Fraction(1, 2)


def test_a_shift_moves_epsilon() -> None:
    shifted, plain = ConcentratedLoss("1/2", shift=1), ConcentratedLoss("1/2")
    assert shifted.delta(3).upper == plain.delta(2).upper
    assert shifted.delta("1/2").upper == 1.0
    assert shifted.delta(3).lower == plain.delta(3).lower
    assert shifted.rho is None
    assert renyi(shifted.statement, 2) == Interval(1.0, 2.0)


def test_without_rho_the_shift_bounds_the_loss() -> None:
    loss = ConcentratedLoss(0, shift="1/2")
    assert loss.pure_epsilon == Fraction(1, 2)
    assert loss.delta(0).upper == PureLoss("1/2").delta(0).upper
    assert loss.epsilon(0).upper == 0.5
    assert renyi(loss.statement, 3).upper == renyi(PureLoss("1/2").statement, 3).upper


def test_a_failure_is_mixed_in() -> None:
    """Bun, Steinke (2016): delta-approximate rho-zCDP is (epsilon, delta + (1 - delta) delta')-DP."""
    loss, plain = ConcentratedLoss("1/2", delta="1/100"), ConcentratedLoss("1/2")
    assert loss.delta(2).upper == pytest.approx(0.01 + 0.99 * plain.delta(2).upper, rel=1e-14)
    assert loss.epsilon("1/200").lower == float("inf")
    both = loss + ConcentratedLoss("1/2", delta="1/50")
    assert both.delta(3).upper == pytest.approx(0.03 + 0.97 * ConcentratedLoss(1).delta(3).upper, rel=1e-12)
    assert renyi(loss.statement, 2).upper == float("inf")


def test_it_is_written_and_read_with_all_of_it() -> None:
    loss = ConcentratedLoss("1/2", shift="1/3", delta="1/100")
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert repr(loss) == "ConcentratedLoss(rho=0.5, shift='1/3', delta=0.01)"


@pytest.mark.parametrize("bad", [{"shift": -1}, {"delta": 1}, {"delta": -1}, {"shift": "x"}])
def test_bad_parts_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        ConcentratedLoss(1, **bad)


def test_a_failure_above_delta_has_no_epsilon_in_a_sum_either() -> None:
    """Found at once, and exactly; before, the search for the lower end stopped at 2.7e300."""
    failing = ConcentratedLoss("1/2", delta="1/50") + RenyiLoss([2], ["1/4"])
    assert failing.epsilon("1e-3") == Interval(math.inf, math.inf)
