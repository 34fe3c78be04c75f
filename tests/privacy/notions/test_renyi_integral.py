"""The integral over the two curves of a pair, against closed forms and against sums over all outcomes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import (
    AddRemove,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.notions.renyi import renyi
from deniable.privacy.notions.renyi_integral import chernoff_tail, law_divergence
from deniable.privacy.notions.sampled_normal import sampled_normal_divergence
from deniable.privacy.pld.law import FiniteLaw, LossLaw
from deniable.privacy.pld.laws import NormalLaw

ORDERS = ["1", "3/2", "8"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "loss",
    [PureLoss(2), LaplaceLoss("1/3"), LaplaceLoss(50), GaussianLoss("1/2"), GaussianLoss(20),
     DiscreteLaplaceLoss(2, of_count(rows=3, groups=1, relation=AddRemove))],
    ids=repr,
)  # fmt: skip
def test_it_agrees_with_the_formulas(loss: PrivacyLoss, order: str) -> None:
    pairs = loss.statement.laws()
    assert pairs is not None
    exact, found = renyi(loss.statement, order), law_divergence(pairs.upper[0], Fraction(order))
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= 2e-6 * found.upper


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=2, max_size=6),
    st.sampled_from(["1", "6/5", "2", "5"]),
)
def test_any_finite_pair_is_its_sum(weights: list[tuple[int, int]], order: str) -> None:
    """Asymmetric pairs too, where the two curves differ."""
    p, q = (np.array([pair[i] for pair in weights], dtype=float) for i in (0, 1))
    p, q = p / p.sum(), q / q.sum()
    losses = np.log(p / q)
    place = np.argsort(losses, kind="stable")
    law = FiniteLaw(losses[place], p[place], q[place])
    a = float(Fraction(order))
    excess = float(np.sum(p * losses)) if a == 1 else math.log(float(np.sum(p**a * q ** (1 - a)))) / (a - 1)
    found = law_divergence(law, Fraction(order))
    assert found.lower <= excess + 1e-14
    assert excess <= found.upper + 1e-14
    assert found.width <= 2e-6 * found.upper + 1e-12


@pytest.mark.parametrize("order", ["1", "2", "9/2"])
def test_a_sampled_law_is_the_certified_quadrature(order: str) -> None:
    """The integral over tails against python-flint's integral of the density, with a tail by Chernoff."""
    a, rate = Fraction(order), Fraction(1, 20)
    tail = chernoff_tail(max(float(a), 2.0), rate, lambda b: float(b) / 2)
    found = law_divergence(SampledLaw(NormalLaw(1.0), rate), a, tail)
    exact = sampled_normal_divergence(Fraction(1), rate, a)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= 2e-6 * found.upper


@pytest.mark.parametrize("loss", [0.0, 3.0, 20.0])
def test_moments_above_bound_the_truth(loss: float) -> None:
    """E_Q[(P/Q)^a; L > loss] of N(1, 1) against N(0, 1) is exp(a (a - 1)/2) P(N > loss + 1/2 - a)."""
    from scipy.special import log_ndtr

    for a in (1.5, 3.0):
        truth = a * (a - 1) / 2 + float(log_ndtr(a - loss - 0.5))
        assert truth <= NormalLaw(1.0).moment_above(a, loss) <= truth + 1e-6 * (1 + abs(truth))
        sampled = chernoff_tail(a, Fraction(1, 10), lambda b: float(b) / 2)(loss)
        place = np.log(np.expm1(loss) / 0.1 + 1) + 0.5  # x above which the sampled loss exceeds `loss`
        grid = np.linspace(place, place + 30, 60001)
        values = np.log(0.9 + 0.1 * np.exp(grid - 0.5)) * a - grid**2 / 2 - math.log(2 * math.pi) / 2
        most = float(np.max(values))
        assert most + math.log(float(np.sum(np.exp(values - most))) * 30 / 60000) <= sampled + 1e-3


class _Unbounded(LossLaw):
    """A law of which nothing is known above 1."""

    def above(self, losses):  # type: ignore[no-untyped-def]
        return NormalLaw(1.0).above(losses)

    def below(self, losses):  # type: ignore[no-untyped-def]
        return NormalLaw(1.0).below(losses)


def test_an_unknown_tail_leaves_no_upper_bound() -> None:
    found = law_divergence(_Unbounded(), Fraction(2))
    assert found.upper == math.inf
    assert 0 < found.lower <= 1


def test_an_infinite_loss_diverges() -> None:
    law = FiniteLaw(np.zeros(1), np.array([0.9]), np.array([1.0]), infinite=0.1)
    assert law_divergence(law, Fraction(2)).lower == math.inf


def test_the_integral_without_the_reversed_curve_is_too_small() -> None:
    """The twin: a bound that forgets losses below 0 is refuted by the formula."""
    losses = np.array([-1.0, 1.0])
    kept = 1 / (1 + math.exp(-1.0))
    law = FiniteLaw(losses, np.array([1 - kept, kept]), np.array([kept, 1 - kept]))
    grid = np.linspace(0, 1, 100001)
    found = law.above(grid)
    forward = 2 * float(np.sum(np.exp(grid) * np.maximum(found.p - np.exp(grid) * found.q, 0.0))) * 1e-5
    assert math.log1p(forward) < 0.8 * renyi(PureLoss(1).statement, 2).lower
