"""One run read from tails: closed forms of many laws, the fallback to the engine, and its agreement with it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.numbers.arrays import Floats
from deniable.privacy import GaussianLoss, LaplaceLoss, PureLoss
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.pld.accountant import composed_delta
from deniable.privacy.pld.law import LossLaw, Pairs, Tails
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.search import RepeatedPair
from deniable.privacy.pld.single import read, single_delta, single_epsilon


@given(st.floats(0.02, 8.0), st.floats(0.0, 12.0))
def test_gaussian_tails_hold_the_closed_form(mu: float, epsilon: float) -> None:
    exact = GaussianLoss(1 / Fraction(repr(mu))).delta(epsilon)
    found = read((NormalLaw(mu),) * 2, Fraction(repr(epsilon)))
    assert found.lower <= exact.upper
    assert found.upper >= exact.lower
    assert found.width <= 1e-9 * exact.upper + 1e-250


@pytest.mark.parametrize("epsilon", ["0", "0.5", "0.99", "1", "1.1"])
def test_bounded_laws_hold_the_closed_form(epsilon: str) -> None:
    for loss, law in ((LaplaceLoss(1), LaplaceLaw(1.0)), (PureLoss(1), randomized_response_law(1.0))):
        exact, found = loss.delta(epsilon), read((law, law), Fraction(epsilon))
        assert found.lower <= exact.upper
        assert found.upper >= exact.lower
        assert found.width <= 1e-13


def test_an_infinite_loss_remains_at_any_epsilon() -> None:
    law = randomized_response_law(1.0, failed=0.25)
    for epsilon in (Fraction(2), Fraction(10_000)):
        assert read((law, law), epsilon).contains(0.25)
        assert read((law, law), epsilon).width < 1e-14


def test_epsilon_inverts_delta_and_knows_the_limit() -> None:
    pairs = Pairs.symmetric(SampledLaw(NormalLaw(1.0), Fraction(1, 100)))
    found = single_epsilon(pairs, Fraction(1, 10**5), 1e-6, None)
    assert read(pairs.upper, Fraction(found.upper)).upper <= 1e-5
    assert read(pairs.upper, Fraction(found.lower)).lower >= 1e-5 * (1 - 1e-9)
    bounded = Pairs.symmetric(LaplaceLaw(1.0))
    assert single_epsilon(bounded, Fraction(0), 1e-3, Fraction(1)).upper == 1.0
    assert single_epsilon(bounded, Fraction(0), 1e-3, None).upper == math.inf


class Vague(LossLaw):
    """A normal law that is wrong by up to a millionth in each tail."""

    def __init__(self, side: float) -> None:
        self.exact, self.side = NormalLaw(1.0), side

    def above(self, losses: Floats) -> Tails:
        found = self.exact.above(losses)
        return Tails(found.p * (1 + self.side * 1e-6), found.q * (1 - self.side * 1e-6), np.full(losses.shape, 2e-6))

    def below(self, losses: Floats) -> Tails:
        return self.exact.below(losses)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_stated_errors_are_counted(side: float) -> None:
    """A twin: without the stated error the interval would miss the truth on one side or the other."""
    exact, found = GaussianLoss(1).delta(1), read((Vague(side),) * 2, Fraction(1))
    assert found.lower < exact.lower < exact.upper < found.upper
    tails = Vague(side).above(np.array([1.0]))
    assert abs(float((tails.p - math.e * tails.q)[0]) - exact.lower) > 1e-7


def test_what_tails_do_not_tell_is_computed_on_a_grid() -> None:
    """At a rate of 1e-9 delta is a billionth of the tails; the sum over atoms is then sharper."""
    pairs = Pairs.symmetric(SampledLaw(randomized_response_law(0.5), Fraction(1, 10**9)))
    found = single_delta(pairs, Fraction(0), 1e-3)
    assert found.contains(1e-9 * math.tanh(0.25))
    numeric = composed_delta([[RepeatedPair(pairs.upper[0], 1)]], Fraction(0), 1e-3)
    assert numeric.lower <= found.upper
    assert numeric.upper >= found.lower


def test_the_lower_end_comes_from_the_attained_pair() -> None:
    pairs = Pairs.symmetric(NormalLaw(2.0), NormalLaw(1.0))
    found = single_delta(pairs, Fraction(1), 1e-3)
    assert found.lower == pytest.approx(GaussianLoss(1).delta(1).lower, rel=1e-12)
    assert found.upper == pytest.approx(GaussianLoss("1/2").delta(1).upper, rel=1e-12)
    both = single_epsilon(pairs, Fraction(1, 1000), 1e-6, None)
    assert both.lower == pytest.approx(GaussianLoss(1).epsilon("0.001").lower, rel=1e-9)
    assert both.upper == pytest.approx(GaussianLoss("1/2").epsilon("0.001").upper, rel=1e-9)
