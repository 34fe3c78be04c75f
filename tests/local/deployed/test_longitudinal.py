"""Unary encoding in two steps: both guarantees by enumeration, and the variance that a library has wrong."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local.deployed import LongitudinalUnary
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(8)
PROTOCOL = LongitudinalUnary(values=3, epsilon=2, report_epsilon=1)


def laws(one: Fraction, zero: Fraction) -> list[dict[tuple[int, ...], Fraction]]:
    found = []
    for own in range(3):
        parts = [one if place == own else zero for place in range(3)]
        found.append(
            {
                row: math.prod((p if bit else 1 - p for p, bit in zip(parts, row, strict=True)), start=Fraction(1))
                for row in product((0, 1), repeat=3)
            }
        )
    return found


def test_both_guarantees_hold_over_all_pairs_and_are_attained() -> None:
    flip = PROTOCOL.flips
    answers = laws(Fraction(1, 2), PROTOCOL.permanent.q)
    flipped = {
        (answer, report): math.prod(
            (flip if a != b else 1 - flip for a, b in zip(answer, report, strict=True)), start=Fraction(1)
        )
        for answer in answers[0]
        for report in answers[0]
    }
    reports = [{y: sum(law[m] * flipped[m, y] for m in law) for y in law} for law in answers]
    assert reports == laws(PROTOCOL.p, PROTOCOL.q)
    for found, epsilon in ((answers, 2), (reports, 1)):
        worst = max(one[y] / other[y] for one in found for other in found for y in one)
        assert math.log(worst) == pytest.approx(epsilon, rel=1e-8)
        assert worst <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**14))


def test_the_variance_at_one_half_is_that_of_the_chain() -> None:
    """400 runs of 400 people, half with each of two values: variance within 5 of its standard errors (35%), and far
    from what a published library computes for two unequal steps only if it is 12% too small there."""
    people, runs = 400, 400
    values = np.arange(people) % 2
    found = np.array([PROTOCOL.estimate(PROTOCOL.encode(values, bits=BITS))["count"] / people for _ in range(runs)])
    expected = PROTOCOL.variance([0.5, 0.5, 0.0], people=people)
    assert found.var(axis=0) == pytest.approx(expected, rel=0.35)
    assert found.mean(axis=0) == pytest.approx([0.5, 0.5, 0], abs=5 * math.sqrt(expected.max() / runs))
    s1, s0 = float(PROTOCOL.p), float(PROTOCOL.q)
    q1, p2 = float(PROTOCOL.permanent.q), 1 - float(PROTOCOL.flips)
    by_hand = (s1 * (1 - s1) + s0 * (1 - s0)) / 2 / people / ((0.5 - q1) ** 2 * (2 * p2 - 1) ** 2)
    assert expected[0] == pytest.approx(by_hand, rel=1e-12)


def test_the_flip_is_that_of_the_paper() -> None:
    e1, ei = math.e, math.e**2
    assert 1 - float(PROTOCOL.flips) == pytest.approx((1 - e1 * ei) / (e1 - ei - e1 * ei + 1), abs=1e-8)


def test_one_report_costs_less_than_all() -> None:
    with pytest.raises(InvalidParameterError, match="below epsilon"):
        LongitudinalUnary(values=3, epsilon=1, report_epsilon=1)
