"""Rényi filters against the worst analyst, and conversions against 50 digits and a published value."""

import math
from fractions import Fraction

import mpmath
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import AddRemove, ApproximateLoss, FiniteLoss, GaussianLoss, PureLoss
from deniable.privacy.around.stated import Stated
from deniable.privacy.budget.renyi import RenyiFilter, RenyiGridFilter, divergence, largest_divergence, renyi_delta
from tests.privacy.budget.conversation import Mechanism, failing, gaussian, response, worst_delta, worst_value

MENU = [response("1/4"), response("1/2"), response("3/4"), gaussian(4, (1,)), gaussian(9, (-2, 4))]


@pytest.mark.parametrize("order", ["3/2", "2", "5"])
@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
def test_one_order_keeps_its_curve(order: str, epsilon: str) -> None:
    rule = RenyiFilter(order=order, limit="3/4", relation=AddRemove)
    assert worst_delta(MENU, rule, float(Fraction(epsilon)), 4) <= rule.delta(epsilon).upper


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/5"), ("3/4", "1/10")])
def test_several_orders_keep_their_pair(epsilon: str, delta: str) -> None:
    rule = RenyiGridFilter(epsilon=epsilon, delta=delta, orders=[3, 4, 5, 8], relation=AddRemove)
    found = worst_delta(MENU, rule, float(Fraction(epsilon)), 4)
    assert 0 < found <= float(Fraction(delta))
    assert rule.delta(epsilon).upper <= float(Fraction(delta)) * (1 + 1e-9)


@pytest.mark.parametrize("order", ["11/10", "2", "32", "1000"])
@pytest.mark.parametrize("delta", ["1/10", "1e-5", "1e-30"])
def test_limits_are_the_largest_that_do(order: str, delta: str) -> None:
    a, epsilon = Fraction(order), Fraction(3)
    limit = largest_divergence(epsilon, Fraction(delta), a)
    with mpmath.workdps(50):
        m = mpmath.mpf(a.numerator) / a.denominator
        d = mpmath.mpf(Fraction(delta).numerator) / Fraction(delta).denominator
        truth = 3 + (mpmath.log(d * (m - 1)) - m * mpmath.log(1 - 1 / m)) / (m - 1)
        gap = truth - mpmath.mpf(limit.numerator) / limit.denominator
        assert 0 <= gap <= abs(truth) * mpmath.mpf(10) ** -11
    if limit > 0:
        assert renyi_delta(a, limit, epsilon) <= Fraction(delta)


def sampled_response(epsilon: str, rate: str) -> Mechanism:
    """A response to one unit, seen with probability `rate`, and to none otherwise."""
    base, share = response(epsilon), float(Fraction(rate))
    outcomes = [(share * p + (1 - share) * q, q) for p, q in base.outcomes]
    return Mechanism(base.loss.poisson_sampled(rate=rate), outcomes)


@pytest.mark.parametrize("epsilon", ["0", "1/4", "1/2", "1"])
def test_sampled_mechanisms_keep_the_curve_of_their_order(epsilon: str) -> None:
    menu = [sampled_response("1", "1/2"), sampled_response("2", "1/8"), sampled_response("3/2", "1/4")]
    for rule in (
        RenyiFilter(order=4, limit="1/2", relation=AddRemove),
        RenyiGridFilter(epsilon="1/2", delta="1/4", orders=[3, 4, 5], relation=AddRemove),
    ):
        found = worst_delta(menu, rule, float(Fraction(epsilon)), 4)
        assert 0 < found <= rule.delta(epsilon).upper


def test_training_with_parameters_that_depend_on_answers() -> None:
    """DP-SGD steps of any noise and rate, chosen on the way: the tight composition of fixed steps is no filter."""
    rule = RenyiFilter.for_pair(epsilon=3, delta="1e-5", order=8, relation=AddRemove)
    steps = [GaussianLoss(s).poisson_sampled(rate=q) for s, q in (("1", "0.01"), ("3/2", "0.01"), ("2", "0.03"))]
    for step in steps:
        for _ in range(100):
            rule.charge(step)
    fixed = sum((step * 100 for step in steps[1:]), steps[0] * 100)
    assert fixed.epsilon("1e-5").upper < rule.epsilon("1e-5").upper <= 3 * (1 + 1e-10)
    assert rule.remaining["renyi"] > 0


def test_a_published_conversion() -> None:
    """Divergence 1.1 at order 32 and delta 1e-5: epsilon = 1.32783806176 (dp_accounting; accounting.md, section 13)."""
    found = RenyiFilter(order=32, limit="1.1", relation=AddRemove).epsilon("1e-5").upper
    assert found == pytest.approx(1.32783806176, abs=1e-11)


def test_the_filter_for_a_pair_promises_the_pair() -> None:
    rule = RenyiFilter.for_pair(epsilon=1, delta="1e-6", order=20, relation=AddRemove)
    assert rule.delta(1).upper <= 1e-6
    assert rule.epsilon("1e-6").upper == pytest.approx(1, rel=1e-10)
    gauss = GaussianLoss(20)
    count = next(n for n in range(1, 10**4) if not rule.admits(gauss * n)) - 1
    limit = 1 - (mpmath.log(10**6) - mpmath.log(19) + 20 * mpmath.log(0.95)) / 19
    assert count == int(limit / (20 / (2 * 20**2)))


def test_failures_are_counted_beside_the_divergence() -> None:
    rule = RenyiFilter(order=2, limit=1, failure="1e-6", relation=AddRemove)
    rule.charge(ApproximateLoss("0.1", "1e-9"))
    assert rule.spent == {"renyi": divergence(PureLoss("0.1"), Fraction(2)), "failure": Fraction(1, 10**9)}
    rule.charge(Stated(GaussianLoss(20) + ApproximateLoss("0.1", "1e-9"), "0.4", "1e-7"))
    assert rule.spent["failure"] == Fraction(101, 10**9)
    assert not RenyiFilter(order=2, limit=1, relation=AddRemove).admits(ApproximateLoss("0.1", "1e-9"))
    with pytest.raises(UnprovedError, match="ApproximateFilter"):
        rule.admits(GaussianLoss(2) + ApproximateLoss("0.1", "1e-9"))
    grid = RenyiGridFilter(epsilon=1, delta="1e-6", orders=[32], relation=AddRemove)
    with pytest.raises(UnprovedError, match="ApproximateFilter"):
        grid.admits(ApproximateLoss("0.1", "1e-9"))


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
def test_an_order_with_failures_keeps_its_curve(epsilon: str) -> None:
    menu = [response("1/2"), failing("1/4", "1/50"), failing("0", "1/25"), gaussian(4, (1,))]
    rule = RenyiFilter(order=3, limit="1/2", failure="1/20", relation=AddRemove)
    found = worst_delta(menu, rule, float(Fraction(epsilon)), 4)
    assert 0.039 < found <= rule.delta(epsilon).upper
    pair = RenyiFilter.for_pair(epsilon=1, delta="1/5", order=4, failure="1/20", relation=AddRemove)
    assert 0.19 < pair.delta(1).upper <= 0.2 * (1 + 1e-9)


def test_a_divergence_is_at_most_epsilon_and_at_most_order_times_rho() -> None:
    assert 0 < (divergence(PureLoss("1/2"), Fraction(2)) or 0) <= Fraction(1, 4)
    assert 0 < (divergence(PureLoss("1/2"), Fraction(1000)) or 0) <= Fraction(1, 2)
    assert divergence(GaussianLoss(2), Fraction(3)) == Fraction(3, 8)


def test_settings_that_promise_nothing_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="order must be > 1"):
        RenyiFilter(order=1, limit=1, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="larger order"):
        RenyiFilter.for_pair(epsilon="0.1", delta="1e-9", order=2, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="larger orders"):
        RenyiGridFilter(epsilon="0.1", delta="1e-9", orders=[2, 3], relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="at least one order"):
        RenyiGridFilter(epsilon="0.1", delta="1e-9", orders=[], relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="never implies"):
        RenyiGridFilter(epsilon=1, delta=0, orders=[2], relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="above failure"):
        RenyiFilter.for_pair(epsilon=1, delta="1e-6", order=20, failure="1e-6", relation=AddRemove)


def spike(probability: str, loss: object, *more: tuple[str, int]) -> Mechanism:
    """Answers of given probabilities and losses (rationals close to them), and the rest."""
    marks = [(Fraction(share), Fraction(str(at))) for share, at in ((probability, loss), *more)]
    p = [share for share, _ in marks]
    q = [share / Fraction(math.exp(at)).limit_denominator(10**6) for share, at in marks]
    p, q = [*p, 1 - sum(p)], [*q, 1 - sum(q)]
    return Mechanism(FiniteLoss(p, q, relation=AddRemove), [(float(a), float(b)) for a, b in zip(p, q, strict=True)])


def test_orders_that_do_not_share_delta_break_the_promise() -> None:
    """The twin: "go on while some order is within its limit for all of delta" gives 1.7 times delta.

    The first answer shows a loss of 5 or, rarely, of 8. Order 2 cares about the former, order 5 about the latter. After
    each the analyst asks for what just fits at that order and is worst there.
    """
    epsilon, delta, orders = Fraction(15), Fraction(15, 10**5), (Fraction(2), Fraction(5))
    limits = {order: largest_divergence(epsilon, delta, order) for order in orders}
    paid = RenyiGridFilter(epsilon=epsilon, delta=delta, orders=orders, relation=AddRemove)
    menu = [
        spike("1/10", 5, ("1/1000", 8)),
        spike("0.0023", "10.6931"),
        spike("0.73", "7.2231"),
    ]
    costs = [{order: divergence(mechanism.loss, order) for order in orders} for mechanism in menu]

    def some_order(total: dict[Fraction, Fraction], index: int) -> dict[Fraction, Fraction] | None:
        after = {order: total[order] + (costs[index][order] or 0) for order in orders}
        return after if any(after[order] <= limits[order] for order in orders) else None

    nothing = dict.fromkeys(orders, Fraction(0))
    assert worst_value(menu, nothing, some_order, float(epsilon), 2) > 1.7 * delta
    for order in orders:  # one order that is fixed in advance keeps the promise in the same game
        rule = RenyiFilter.for_pair(epsilon=epsilon, delta=delta, order=order, relation=AddRemove)
        assert 0.5 * delta < worst_delta(menu, rule, float(epsilon), 2) <= delta
    assert worst_delta(menu, paid, float(epsilon), 2) <= delta
