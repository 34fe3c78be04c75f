"""Mixtures with public weights against enumeration, and what is not a public weight."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    compose,
    mixture,
    of_count,
)
from deniable.privacy.composition.mixture import MixedLaw, PublicMixture

Pair = list[tuple[float, float]]
EPSILONS = ["0", "1/4", "1/2", "1", "3/2"]


def response(epsilon: float, failed: float = 0.0) -> Pair:
    p, q = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    rest = [((1 - failed) * p, (1 - failed) * q), ((1 - failed) * q, (1 - failed) * p)]
    return [*rest, (failed, 0.0), (0.0, failed)]


def drawn(parts: list[tuple[float, Pair]]) -> Pair:
    """The pair whose first outcome is the public coin."""
    return [(weight * p, weight * q) for weight, pair in parts for p, q in pair]


def delta_of(pair: Pair, epsilon: float) -> float:
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pair)


COIN = mixture([("1/4", PureLoss(1)), ("3/4", ApproximateLoss("1/2", "1/50"))])
COIN_PAIR = drawn([(0.25, response(1.0)), (0.75, response(0.5, 0.02))])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_that_of_the_coin_and_the_answer_together(epsilon: str) -> None:
    truth = delta_of(COIN_PAIR, float(Fraction(epsilon)))
    found = COIN.delta(epsilon)
    assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
    assert found.width < 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_three_draws_compose_as_three_draws(epsilon: str) -> None:
    """Twin: one coin for all three runs has another delta, which the interval excludes."""
    triple: Pair = [(1.0, 1.0)]
    for _ in range(3):
        triple = [(p * a, q * b) for p, q in triple for a, b in COIN_PAIR]
    found = (COIN * 3).delta(epsilon)
    truth = delta_of(triple, float(Fraction(epsilon)))
    assert found.lower <= truth * (1 + 1e-12)
    assert found.upper >= truth * (1 - 1e-12)
    assert found.width <= 2e-3 * truth
    once = mixture([("1/4", PureLoss(1) * 3), ("3/4", ApproximateLoss("1/2", "1/50") * 3)])
    assert not found.contains(once.delta(epsilon).lower)


def test_sampled_losses_keep_their_directions() -> None:
    sampled = PureLoss(2).poisson_sampled(rate="1/3")
    coin = mixture([("1/2", sampled), ("1/2", PureLoss("1/2"))])
    e = math.exp(2)
    p, q = e / (1 + e), 1 / (1 + e)
    inner: Pair = [((p + 2 * q) / 3, q), ((q + 2 * p) / 3, p)]
    for epsilon in (0.1, 0.4, 0.6):
        both = [drawn([(0.5, pair), (0.5, response(0.5))]) for pair in (inner, [(b, a) for a, b in inner])]
        truth = max(delta_of(pair, epsilon) for pair in both)
        found = coin.delta(epsilon)
        assert found.lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= found.upper <= truth * 1.002
        assert truth <= sum(PrivacyLoss(part).delta(epsilon).upper / 2 for _, part in coin.statement.parts) + 1e-15


def test_continuous_laws_mix() -> None:
    coin = mixture([("1/2", GaussianLoss(1)), ("1/4", LaplaceLoss(2)), ("1/4", PureLoss("1/3"))])
    for epsilon in (0, "1/5", 1, 3):
        single, composed = coin.delta(epsilon), compose([coin, PureLoss(0)]).delta(epsilon)
        assert composed.lower <= single.upper
        assert single.lower <= composed.upper
    laws = coin.statement.laws()
    assert laws is not None
    law = laws.upper[0]
    at = np.array([-1.0, 0.0, 0.2, 2.0])
    above, below = law.above(at), law.below(at)
    assert above.p + below.p == pytest.approx(np.ones(4), abs=1e-12)
    assert above.q + below.q == pytest.approx(np.ones(4), abs=1e-12)
    assert law.atoms() is None
    assert law.slack(1.0) > 0


def test_the_law_of_atoms_is_sorted_and_whole() -> None:
    laws = COIN.statement.laws()
    assert laws is not None
    law = laws.upper[0]
    assert isinstance(law, MixedLaw)
    atoms = law.atoms()
    assert atoms is not None
    assert atoms.losses.tolist() == [-1, -0.5, 0.5, 1]
    assert atoms.p.sum() + law.infinite == pytest.approx(1, abs=1e-15)
    assert atoms.q.sum() + law.vanishing == pytest.approx(1, abs=1e-15)
    assert law.infinite == 0.015
    assert law.spacing == 0.5


def test_equal_losses_of_different_parts_are_one_atom() -> None:
    """A lattice with two atoms at one place would lose one of them in every composition."""
    coin = mixture([("1/2", PureLoss(1)), ("1/2", ApproximateLoss(1, "1/50"))])
    laws = coin.statement.laws()
    assert laws is not None
    atoms = laws.upper[0].atoms()
    assert atoms is not None
    assert atoms.losses.tolist() == [-1, 1]
    whole = ApproximateLoss(1, "1/100")
    assert (coin * 3).delta(1).upper == pytest.approx((whole * 3).delta(1).upper, rel=1e-3)
    assert (coin * 3).delta(1).upper >= (whole * 3).delta(1).lower


def test_losses_on_different_lattices_share_a_finer_one_or_none() -> None:
    def spacing(*losses: PrivacyLoss) -> float | None:
        found = mixture([(Fraction(1, len(losses)), loss) for loss in losses]).statement.laws()
        assert found is not None
        return found.upper[0].spacing

    assert spacing(PureLoss("1/3"), PureLoss("1/5")) == pytest.approx(2 / 15, rel=1e-15)
    assert spacing(PureLoss(1), PureLoss("1/7"), PureLoss(0)) == pytest.approx(1 / 7, rel=1e-15)
    assert spacing(PureLoss(1), PureLoss("0.70710678")) is None
    assert spacing(PureLoss(1), LaplaceLoss(1)) is None


def test_a_loss_that_is_known_by_a_bound_alone_gives_a_bound() -> None:
    coin = mixture([("1/2", ConcentratedLoss("1/8")), ("1/2", GaussianLoss(2))])
    assert coin.statement.laws() is None
    found, gauss = coin.delta(1), GaussianLoss(2).delta(1)
    assert found.lower <= gauss.lower <= found.upper <= ConcentratedLoss("1/8").delta(1).upper


def test_every_currency_is_that_of_the_worst_part() -> None:
    coin = PrivacyLoss(PublicMixture([("1/2", PureLoss(1)), ("1/2", DiscreteLaplaceLoss(4, REACH))]))
    assert (coin.pure_epsilon, coin.rho, coin.relations) == (1, Fraction(1, 2), frozenset({AddRemove}))
    assert coin.mu_squared == PureLoss(1).mu_squared
    assert coin.charge() == PureLoss(1).charge()
    assert COIN.failure == Fraction(3, 200)
    assert COIN.charge().delta == Fraction(3, 200)
    assert mixture([("1/2", GaussianLoss(1)), ("1/2", PureLoss(1))]).pure_epsilon is None


REACH = of_count(rows=1, groups=1, relation=AddRemove)


def test_equal_losses_and_nested_coins_are_one() -> None:
    a, b = PureLoss(1), GaussianLoss(1)
    half = mixture([("1/2", a), ("1/2", b)])
    assert mixture([("1/3", a), ("2/3", a)]) == a
    assert mixture([("1/2", half), ("1/2", a)]) == mixture([("1/4", b), ("3/4", a)])
    assert PrivacyLoss.from_json(half.to_json()) == half
    assert eval(repr(half)) == half


@pytest.mark.parametrize("weights", [("1/2", "1/3"), ("1", "0"), ("3/2", "-1/2"), (0.3, 0.6)])
def test_weights_are_probabilities(weights: tuple[object, object]) -> None:
    with pytest.raises(InvalidParameterError, match="weight"):
        mixture([(weights[0], PureLoss(1)), (weights[1], PureLoss(2))])


def test_weights_that_depend_on_data_are_refused() -> None:
    with pytest.raises(UnprovedError, match="public numbers"):
        mixture([(lambda table: 0.5, PureLoss(1)), ("1/2", PureLoss(2))])
    replaced = DiscreteLaplaceLoss(4, of_count(rows=1, groups=1, relation=Replace))
    with pytest.raises(UnprovedError, match="different neighbouring relations"):
        mixture([("1/2", replaced), ("1/2", DiscreteLaplaceLoss(4, REACH))])
    for wrong in ({"loss": "public_mixture"}, {"loss": "public_mixture", "parts": [3]}):
        with pytest.raises(InvalidParameterError, match="public mixture"):
            PrivacyLoss.from_data(wrong)
    with pytest.raises(InvalidParameterError, match="must be a PrivacyLoss"):
        mixture([("1", 3)])  # type: ignore[list-item]
