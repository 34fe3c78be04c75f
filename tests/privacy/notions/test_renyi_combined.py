"""Divergences of groups, mixtures and disjoint parts: random chains of laws, closed forms, and what they give."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import (
    AddRemove,
    ConcentratedLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    RenyiLoss,
    Replace,
    mixture,
    parallel,
)
from deniable.privacy.composition.group import GroupStatement
from deniable.privacy.notions.renyi_combined import group_divergence, mixture_divergence

CURVE = RenyiLoss([2, 8], ["0.1", "0.5"])


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Of masses, by its definition."""
    if order == 1:
        return float(p @ np.log(p / q))
    return float(np.log(q @ (p / q) ** order) / (order - 1))


@given(
    st.lists(st.lists(st.integers(1, 60), min_size=4, max_size=4), min_size=3, max_size=6),
    st.sampled_from(["1", "1.2", "2", "4.5"]),
)
def test_no_chain_of_laws_exceeds_the_bound(rows: list[list[int]], order: str) -> None:
    """Random laws on four points; one unit may do what the worst two successive ones of them do."""
    laws = [np.array(row) / sum(row) for row in rows]
    steps = [pair for p, q in itertools.pairwise(laws) for pair in ((p, q), (q, p))]

    def single(a: Fraction) -> float:
        return max(divergence(p, q, float(a)) for p, q in steps)

    bound = group_divergence(single, len(laws) - 1, Fraction(order))
    for p, q in ((laws[0], laws[-1]), (laws[-1], laws[0])):
        assert divergence(p, q, float(order)) <= bound * (1 + 1e-9) + 1e-12


def test_adding_the_divergences_up_would_be_no_bound() -> None:
    """The twin: three laws whose ends diverge by more than twice as much as neighbours, at the same order."""
    laws = [np.array([1 - x, x]) for x in (0.01, 0.1, 0.5)]
    apart = divergence(laws[2], laws[0], 2)
    assert apart > divergence(laws[2], laws[1], 2) + divergence(laws[1], laws[0], 2)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("order", ["1.5", "2", "10"])
def test_a_group_of_noise_has_size_squared_times_the_divergence(size: int, order: str) -> None:
    """Exact for divergences that are a multiple of the order, where fractions of 64 hold the exponent."""
    found = PrivacyLoss(GroupStatement(GaussianLoss(3), size)).renyi(order)
    exact = GaussianLoss(3).group(size).renyi(order)
    assert exact.lower <= found.upper * (1 + 1e-12)
    assert found.upper <= exact.upper * (1 + 1e-3)


def test_a_group_of_a_renyi_curve_is_within_the_rule_of_the_source() -> None:
    """Mironov (2017), Proposition 2: of order 8 and 0.5 for one unit, order 4 and 1.5 for two."""
    pair = CURVE.group(2)
    assert pair.renyi(4).upper <= 1.06
    assert pair.renyi(2).upper <= pair.renyi(4).upper
    assert pair.renyi(1).upper <= pair.renyi(2).upper
    assert pair.renyi(8).upper == math.inf
    assert CURVE.group(65).renyi(2).upper == math.inf
    assert 1.0 < pair.epsilon("1e-5").upper < 4


def test_a_bounded_loss_keeps_what_its_laws_say() -> None:
    found = PureLoss(1).group(2).renyi(4)
    assert found.lower <= found.upper <= PureLoss(2).renyi(4).upper
    assert found.width < 1e-3


@pytest.mark.parametrize("order", ["1", "1.5", "7"])
def test_the_divergence_of_a_mixture_is_that_of_coin_and_answer(order: str) -> None:
    p, q = np.array([0.75, 0.25]), np.array([0.9, 0.1])
    mixed = divergence(np.concatenate((0.3 * p, 0.7 * q)), np.concatenate((0.3 * p[::-1], 0.7 * q[::-1])), float(order))
    ends = [
        (Fraction("0.3"), divergence(p, p[::-1], float(order))),
        (Fraction("0.7"), divergence(q, q[::-1], float(order))),
    ]
    assert mixture_divergence(ends, Fraction(order)).lower == pytest.approx(mixed, rel=1e-12)
    assert mixture_divergence([(Fraction(1), math.inf)], Fraction(order)).upper == math.inf


def test_a_mixture_of_laws_is_exact_and_of_bounds_is_bounded() -> None:
    noise = mixture([("1/2", GaussianLoss(1)), ("1/2", GaussianLoss(2))]).renyi(2)
    assert noise.contains(math.log((math.e + math.exp(0.25)) / 2)) or noise.width < 1e-5
    known = mixture([("1/2", ConcentratedLoss("0.1")), ("1/2", PureLoss(1))])
    assert known.renyi(2).lower < known.renyi(2).upper
    assert known.renyi(2).upper <= PureLoss(1).renyi(2).upper


def test_compositions_keep_the_curves_of_their_parts() -> None:
    """Disjoint parts, as one part alone: 2.715, was infinite; a mixture: 5.71, was 12.3."""
    curve = RenyiLoss([2, 8], ["0.1", "0.3"])
    apart = (parallel([curve] * 2, relation=AddRemove) * 5).epsilon("1e-5")
    assert apart.upper == pytest.approx((curve * 5).epsilon("1e-5").upper, rel=1e-12)
    moved = parallel([curve, LaplaceLoss(1)], inside=[curve, LaplaceLoss(1)], relation=Replace).renyi(2)
    assert moved.upper == pytest.approx(0.1 + LaplaceLoss(1).renyi(2).upper, rel=1e-6)
    drawn = mixture([("1/2", ConcentratedLoss("0.1")), ("1/2", PureLoss(1))])
    assert (drawn * 5).epsilon("1e-5").upper < 5.71
    assert (ConcentratedLoss("0.1") * 5 + PureLoss(1)).epsilon("1e-5").upper < 5.7
