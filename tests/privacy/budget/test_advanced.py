"""The advanced rule against sums of pairs and against the published rule."""

import math
from fractions import Fraction

from deniable.privacy import ApproximateLoss, Budget, ConcentratedLoss, GaussianLoss, PureLoss


def test_many_small_failing_questions_fit_where_pairs_stop() -> None:
    """(0.01, 1e-9)-DP: 100 by basic sums, 333 by the published rule, 458 with the better conversion of rho."""
    budget = Budget(epsilon=1, delta="1e-6")
    small = ApproximateLoss("0.01", "1e-9").charge()
    pairs, squares = (budget.rule(name=name) for name in ("pairs", "advanced"))
    published = max(
        count
        for count in range(1, 5000)
        if (s := count * 1e-4) / 2 + math.sqrt(2 * s * math.log(1 / 5e-7)) <= 1 and count * 1e-9 <= 5e-7
    )
    assert published == 333
    assert pairs.admits(small * 100)
    assert not pairs.admits(small * 101)
    assert squares.admits(small * 458)
    assert not squares.admits(small * 459)
    assert not squares.admits(ApproximateLoss("0.0001", "1e-9").charge() * 501)  # failures are up


def test_pure_and_gaussian_ways_of_the_advanced_rule() -> None:
    rule = Budget(epsilon=1, delta="1e-6").rule(name="advanced")
    half, gauss = PureLoss("1/2").charge(), GaussianLoss(100).charge()
    assert rule.admits(half * 2)
    assert not rule.admits(half * 2 + PureLoss("1/1000").charge())
    assert not rule.admits(gauss + half)  # Gaussian noise has closed the way of plain sums
    assert rule.left(gauss).epsilon is None
    mixed = half + ConcentratedLoss("0.01").charge() + ApproximateLoss("0.1", "1e-9").charge()
    assert mixed.failing_rho == Fraction(1, 8) + Fraction(1, 100) + Fraction(1, 200)
