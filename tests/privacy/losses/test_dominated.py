"""Pairs given by functions: known pairs come out as themselves, and nothing passes without an argument."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.privacy import (
    AddRemove,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PrivacyLoss,
    RandomizedResponseLoss,
    Replace,
    of_count,
)
from deniable.privacy.constructors import (
    DiscreteTruncatedLaplaceLoss,
    DominatedLoss,
    PermuteAndFlipLoss,
    SparseVectorLoss,
    TruncatedLaplaceLoss,
)
from deniable.privacy.losses.dominated import FunctionLaw, curve_of
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw

ARGUMENT = "Balle, Wang (2018): the pair of centres at distance 1 dominates"


def gaussian(mu: float, **more: float) -> FunctionLaw:
    def above(losses: Floats) -> tuple[Floats, Floats]:
        return ndtr(mu / 2 - losses / mu), ndtr(-mu / 2 - losses / mu)

    def below(losses: Floats) -> tuple[Floats, Floats]:
        return ndtr(losses / mu - mu / 2), ndtr(losses / mu + mu / 2)

    return FunctionLaw(above, below, **({"error": 1e-12} | more))


def made(law: FunctionLaw, **more: object) -> PrivacyLoss:
    given: dict[str, object] = {"name": "mine", "argument": ARGUMENT, "relation": AddRemove} | more
    return DominatedLoss(law, **given)  # type: ignore[arg-type]


def test_a_known_pair_has_its_known_curve() -> None:
    loss, known = made(gaussian(0.5), attained=True), GaussianLoss(2)
    for epsilon in (0, 0.5, 1.5, 3):
        found, expected = loss.delta(epsilon), known.delta(epsilon)
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper
        assert found.upper == pytest.approx(expected.upper, rel=1e-6)
    assert loss.epsilon("1e-6").upper == pytest.approx(known.epsilon("1e-6").upper, rel=1e-6)


def test_it_composes_and_is_sampled_like_the_known_pair() -> None:
    loss, known = made(gaussian(0.5), attained=True), GaussianLoss(2)
    found, expected = (loss * 20).epsilon("1e-6"), (known * 20).epsilon("1e-6")
    assert found.lower <= expected.upper <= found.upper * (1 + 1e-3)
    found, expected = ((which.poisson_sampled(rate="0.1") * 20).epsilon("1e-6") for which in (loss, known))
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


def test_without_attainment_the_lower_end_is_nothing() -> None:
    loss = made(gaussian(0.5))
    assert loss.delta(0).lower == 0
    assert (loss * 3).epsilon("1e-6").lower == 0
    assert (loss * 3).epsilon("1e-6").upper > 0


def test_a_stated_error_widens_the_answer() -> None:
    exact, rough = made(gaussian(0.5), attained=True), made(gaussian(0.5, error=1e-5, slack=1e-5), attained=True)
    assert rough.delta(1).lower < exact.delta(1).lower <= exact.delta(1).upper < rough.delta(1).upper
    assert (rough * 4).delta(1, tolerance=0.01).upper > (exact * 4).delta(1, tolerance=1e-6).upper


@pytest.mark.parametrize("law", [NormalLaw(0.7), LaplaceLaw(1.1)])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1"])
def test_the_curve_of_a_law_holds_the_certified_curve(law: NormalLaw | LaplaceLaw, epsilon: str) -> None:
    known = GaussianLoss(Fraction(10, 7)) if isinstance(law, NormalLaw) else LaplaceLoss(Fraction(10, 11))
    found, expected = curve_of(law, Fraction(epsilon)), known.delta(epsilon)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    assert found.width <= 1e-12


def test_both_directions_are_kept_under_add_remove_and_one_is_enough_under_replace() -> None:
    """Losses ln 4 and 0 under (P, Q) = ((1/2, 1/2, 0), (1/8, 1/2, 3/8)): infinite the other way round."""
    losses = np.array([0.0, math.log(4)])

    def tail(sign: int) -> object:
        def function(at: Floats) -> tuple[Floats, Floats]:
            kept = (losses > at[:, None]) if sign > 0 else (losses <= at[:, None])
            return kept @ np.array([0.5, 0.5]), kept @ np.array([0.5, 0.125])

        return function

    law = FunctionLaw(tail(1), tail(-1), error=1e-15, vanishing=0.375, lowest=0.0, highest=math.log(4))  # type: ignore[arg-type]
    both, one = (made(law, relation=relation, attained=True) for relation in (AddRemove, Replace))
    assert both.delta(2).contains(0.375)
    assert one.delta(2).upper == 0
    assert one.delta(0).upper == pytest.approx(0.375)
    assert both.pure_epsilon is None


def test_a_bounded_loss_is_pure() -> None:
    plain = LaplaceLaw(0.5)

    def above(at: Floats) -> tuple[Floats, Floats]:
        return plain.above(at).p, plain.above(at).q

    def below(at: Floats) -> tuple[Floats, Floats]:
        return plain.below(at).p, plain.below(at).q

    loss = made(FunctionLaw(above, below, error=1e-14, lowest=-0.5, highest=0.5))
    assert (loss.pure_epsilon, loss.rho) == (Fraction(1, 2), Fraction(1, 8))
    assert loss.mu_squared is not None
    assert loss.epsilon(0).upper == 0.5


SELECTED = [
    FiniteLoss(["1/2", "1/4", "1/4", 0], ["1/8", "1/4", "1/2", "1/8"], relation=AddRemove),
    FiniteLoss.of_channel([["0.6", "0.3", "0.1"], ["0.3", "0.6", "0.1"], ["0.2", "0.2", "0.6"]]),
    RandomizedResponseLoss(truth="0.6", choices=4),
    RandomizedResponseLoss(epsilon="1.5", choices=3),
    ExponentialMechanismLoss("1.3"),
    PermuteAndFlipLoss("0.7"),
    GaussianMixtureLoss([("0.8", 0), ("0.2", 2)], sigma=1, relation=AddRemove),
    GaussianMixtureLoss([("0.8", 0), ("0.2", 2)], against=[("0.8", 0), ("0.2", -2)], sigma=1, relation=Replace),
    TruncatedLaplaceLoss(2, 3),
    DiscreteTruncatedLaplaceLoss(3, 9, of_count(rows=2, groups=1, relation=AddRemove)),
    SparseVectorLoss.for_budget(threshold_epsilon=1, query_epsilon=1, answers=2),
    SparseVectorLoss.for_budget(threshold_epsilon=1, query_epsilon=1, answers=2, monotone=True),
]


@pytest.mark.parametrize("loss", SELECTED, ids=lambda loss: loss.statement.kind)
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.35", "0.9", "2"])
def test_laws_say_the_same_as_certified_curves(loss: PrivacyLoss, epsilon: str) -> None:
    """Floats for tails against ball arithmetic for the curve: two routes to one number, for every mechanism."""
    laws = loss.statement.laws()
    assert laws is not None
    certified = loss.delta(epsilon)
    above = max(curve_of(law, Fraction(epsilon)).upper for law in laws.upper)
    assert above >= certified.upper * (1 - 1e-12)
    assert above <= certified.upper * (1 + 1e-9) + 1e-12
    below = max(curve_of(law, Fraction(epsilon)).lower for law in laws.lower)
    assert below <= certified.upper * (1 + 1e-12)


@pytest.mark.parametrize("loss", SELECTED, ids=lambda loss: loss.statement.kind)
def test_the_second_law_is_that_of_the_reversed_pair(loss: PrivacyLoss) -> None:
    """delta of (Q, P) at x is 1 - e^x + e^x delta of (P, Q) at -x, for pairs that are attained."""
    laws = loss.statement.laws()
    assert laws is not None
    there, back = laws.lower
    if loss.statement.kind in ("exponential_mechanism", "permute_and_flip", "sparse_vector"):
        return  # each direction is attained by neighbours of its own
    for x in (0.2, 0.7):
        found, expected = curve_of(back, Fraction(str(x))), curve_of(there, Fraction(str(-x)))
        assert found.upper == pytest.approx(1 - math.exp(x) + math.exp(x) * expected.upper, abs=1e-10)


@pytest.mark.parametrize("argument", ["", "   ", "trust me", None, 3])
def test_without_an_argument_nothing_is_claimed(argument: object) -> None:
    with pytest.raises(UnprovedError, match="no argument says why"):
        made(gaussian(1.0), argument=argument)


def test_functions_that_contradict_each_other_are_refused() -> None:
    """Twins: tails of another sigma, a forgotten infinite mass, tails of P and Q exchanged."""
    good = gaussian(1.0)
    above, below = good._functions["above"], good._functions["below"]
    other = gaussian(1.01)._functions["below"]
    swapped = lambda at: above(at)[::-1]  # noqa: E731
    for first, second, more in (
        (above, other, {}),
        (above, below, {"infinite": 0.01}),
        (swapped, below, {}),
        (swapped, lambda at: below(at)[::-1], {}),
    ):
        with pytest.raises(InvalidParameterError, match="contradict"):
            FunctionLaw(first, second, error=1e-12, **more)
    with pytest.raises(InvalidParameterError, match="two finite arrays"):
        FunctionLaw(lambda at: (at[:1], at[:1]), below, error=1e-12)


@pytest.mark.parametrize(
    ("name", "value"), [("error", 0.0), ("error", 0.1), ("slack", -1.0), ("infinite", float("nan"))]
)
def test_bad_numbers_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidParameterError, match=name):
        gaussian(1.0, **{name: value})


def test_functions_are_not_read_from_json_and_the_error_says_so() -> None:
    loss = made(gaussian(1.0))
    with pytest.raises(InvalidParameterError, match="'mine' was given by functions"):
        PrivacyLoss.from_json(loss.to_json())
    with pytest.raises(InvalidParameterError, match="'mine' was given by functions"):
        PrivacyLoss.from_json((loss * 2).to_json())
    assert "Balle" in repr(loss)
    assert loss + loss == loss * 2


def test_what_is_no_law_or_name_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="LossLaw"):
        made(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="name"):
        made(gaussian(1.0), name=" ")
    with pytest.raises(InvalidParameterError, match="relation"):
        made(gaussian(1.0), relation="replace")
    with pytest.raises(InvalidParameterError, match="lowest must be below"):
        gaussian(1.0, lowest=1.0, highest=1.0)
