from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianLoss, Interval, LaplaceLoss, PrivacyLoss, RenyiLoss
from deniable.privacy.notions.conversion import renyi_epsilon
from deniable.privacy.notions.renyi import renyi

ORDERS = [2, 4, 8, 16, 32]


def known_points(loss: PrivacyLoss) -> PrivacyLoss:
    return RenyiLoss(ORDERS, [Fraction(renyi(loss.statement, order).upper) for order in ORDERS])


@pytest.mark.parametrize(
    "loss", [GaussianLoss(2), LaplaceLoss(2), GaussianLoss(1).poisson_sampled(rate="1/100")], ids=repr
)
def test_the_bound_is_never_below_the_curve_of_the_loss_itself(loss: PrivacyLoss) -> None:
    points = known_points(loss)
    for epsilon in ("0", "1/4", "1", "3"):
        assert loss.delta(epsilon).lower <= points.delta(epsilon).upper
    for delta in ("1e-5",):
        assert loss.epsilon(delta).lower <= points.epsilon(delta).upper


def test_published_value() -> None:
    """accounting.md 13: divergence 1.1 at orders 2 ... 32 is epsilon 1.32783806176 at delta 1e-5."""
    loss = RenyiLoss(range(2, 33), ["1.1"] * 31)
    assert renyi_epsilon(32, "1.1", "1e-5") == pytest.approx(1.32783806176, rel=1e-10)
    assert loss.epsilon("1e-5").upper <= 1.32783806176 * (1 + 1e-9)
    assert loss.epsilon("1e-5").upper > 1.2


def test_orders_between_are_bounded_by_convexity() -> None:
    """Gaussian noise has (order - 1) divergence = order (order - 1)/2, strictly convex."""
    loss = known_points(GaussianLoss(1))
    for order in ("1", "3/2", "3", "5", "20"):
        found = loss.statement.divergence(Fraction(order))
        assert found.lower <= float(Fraction(order)) / 2 <= found.upper
        assert renyi(loss.statement, order) == found
    assert loss.statement.divergence(Fraction(4)).upper == 2.0
    assert loss.statement.divergence(Fraction(3)).upper == pytest.approx((1 / 2 * 1 + 1 / 2 * 6) / 2)
    assert loss.statement.divergence(Fraction(33)).upper == float("inf")


def test_a_divergence_is_at_most_that_of_greater_orders() -> None:
    loss = RenyiLoss([4, 2], ["1/2", "3"])
    assert loss.statement.divergence(Fraction(2)) == Interval(0.25, 0.5)
    assert loss.statement.orders == (2, 4)


def test_far_epsilons_are_no_error() -> None:
    loss = RenyiLoss([2, 8], ["0.3", "1.1"])
    assert loss.delta(10_000).upper < 1e-300
    assert (loss + loss).delta(10_000).upper <= 1


def test_it_is_written_and_read() -> None:
    loss = RenyiLoss(["3/2", 2], ["0.1", "0.2"])
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.charge().epsilon is None
    assert RenyiLoss([2], [0]).pure_epsilon == 0
    assert loss.pure_epsilon is None


@pytest.mark.parametrize(
    ("orders", "values"), [([], []), ([2], []), ([1], [1]), ([2, 2], [1, 1]), ([2], [-1]), (["x"], [1])]
)
def test_bad_points_are_refused(orders: list[object], values: list[object]) -> None:
    with pytest.raises(InvalidParameterError):
        RenyiLoss(orders, values)
