"""Rényi filters against the worst analyst, and conversions against 50 digits and a published value."""

import math
from fractions import Fraction

import mpmath
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.rationals import decimal_above
from deniable.privacy import AddRemove, ApproximateLoss, Budget, Filter, FiniteLoss, GaussianLoss, PureLoss
from deniable.privacy.budget.rules import divergence, largest_divergence
from deniable.privacy.notions.conversion import renyi_delta
from tests.privacy.budget.conversation import Mechanism, response, worst_delta, worst_value


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
    budget = Budget(renyi="1/2", order=4)
    found = worst_delta(menu, budget, float(Fraction(epsilon)), 4)
    assert 0 < found <= budget.rule().delta(epsilon).upper


def test_a_published_conversion() -> None:
    """Divergence 1.1 at order 32 and delta 1e-5: epsilon = 1.32783806176 (dp_accounting; accounting.md, section 13)."""
    found = Budget(renyi="1.1", order=32).rule().epsilon("1e-5").upper
    assert found == pytest.approx(1.32783806176, abs=1e-11)


def test_the_order_of_a_pair_promises_the_pair() -> None:
    budget = Budget(epsilon=1, delta="1e-6", order=20)
    rule = budget.rule()
    assert rule.delta(1).upper <= 1e-6
    assert rule.epsilon("1e-6").upper == pytest.approx(1, rel=1e-10)
    gauss = GaussianLoss(20)
    count = next(n for n in range(1, 10**4) if not rule.admits(budget.price(gauss * n))) - 1
    limit = 1 - (mpmath.log(10**6) - mpmath.log(19) + 20 * mpmath.log(0.95)) / 19
    assert count == int(limit / (20 / (2 * 20**2)))
    split = Budget(epsilon=1, delta="1/5", order=4, failure="1/20").rule()
    assert 0.19 < split.delta(1).upper <= 0.2 * (1 + 1e-9)


def test_failures_are_counted_beside_the_divergence() -> None:
    account = Filter(Budget(renyi=1, order=2, failure="1e-6"), relation=AddRemove)
    account.charge(ApproximateLoss("0.1", "1e-9"))
    assert account.spent.renyi == decimal_above(divergence(PureLoss("0.1"), Fraction(2)) or Fraction(0), 12)
    assert account.spent.failure == Fraction(1, 10**9)
    account.charge((GaussianLoss(20) + ApproximateLoss("0.1", "1e-9")).stated(epsilon="0.4", delta="1e-7"))
    assert account.spent.failure == Fraction(2, 10**9)  # its own, and not the stated pair
    account.charge(
        GaussianLoss(1).poisson_sampled(rate="0.01").stated(epsilon="1", delta="1e-3")
    )  # its divergence holds surely
    assert account.spent.failure == Fraction(2, 10**9)
    assert account.admits(GaussianLoss(2) + ApproximateLoss("0.1", "1e-9"))
    with pytest.raises(UnprovedError, match="may fail"):
        account.admits(GaussianLoss(1).poisson_sampled(rate="0.01") + ApproximateLoss("0.1", "1e-9"))


def test_a_divergence_is_at_most_epsilon_and_at_most_order_times_rho() -> None:
    assert 0 < (divergence(PureLoss("1/2"), Fraction(2)) or 0) <= Fraction(1, 4)
    assert 0 < (divergence(PureLoss("1/2"), Fraction(1000)) or 0) <= Fraction(1, 2)
    assert divergence(GaussianLoss(2), Fraction(3)) == Fraction(3, 8)


def test_settings_that_promise_nothing_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="order must be > 1"):
        Budget(renyi=1, order=1)
    with pytest.raises(InvalidParameterError, match="larger order"):
        Budget(epsilon="0.1", delta="1e-9", order=2)
    with pytest.raises(InvalidParameterError, match="never implies"):
        Budget(epsilon=1, delta=0, order=2)
    with pytest.raises(InvalidParameterError, match="failure must be"):
        Budget(epsilon=1, delta="1e-6", order=20, failure="1e-6")


def spike(probability: str, loss: object, *more: tuple[str, int]) -> Mechanism:
    """Answers of given probabilities and losses (rationals close to them), and the rest."""
    marks = [(Fraction(share), Fraction(str(at))) for share, at in ((probability, loss), *more)]
    p = [share for share, _ in marks]
    q = [share / Fraction(math.exp(at)).limit_denominator(10**6) for share, at in marks]
    p, q = [*p, 1 - sum(p)], [*q, 1 - sum(q)]
    return Mechanism(FiniteLoss(p, q, relation=AddRemove), [(float(a), float(b)) for a, b in zip(p, q, strict=True)])


def test_an_order_that_may_be_chosen_late_breaks_the_promise() -> None:
    """The twin: "go on while some order is within its limit for all of delta" gives 1.7 times delta.

    The first answer shows a loss of 5 or, rarely, of 8. Order 2 cares about the former, order 5 about the latter. After
    each the analyst asks for what just fits at that order and is worst there.
    """
    epsilon, delta, orders = Fraction(15), Fraction(15, 10**5), (Fraction(2), Fraction(5))
    limits = {order: largest_divergence(epsilon, delta, order) for order in orders}
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
        budget = Budget(epsilon=epsilon, delta=delta, order=order)
        assert 0.5 * delta < worst_delta(menu, budget, float(epsilon), 2) <= delta
