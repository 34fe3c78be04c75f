"""Randomised response against its exact channel, golden values and an erratum."""

import math
from fractions import Fraction

import mpmath
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import FiniteLoss, Interval, PrivacyLoss, PureLoss, RandomizedResponseLoss, Replace


def channel(truth: Fraction, choices: int) -> PrivacyLoss:
    """Every true answer as an input, every report as an output."""
    other = (1 - truth) / (choices - 1)
    return FiniteLoss.of_channel([[truth if i == j else other for j in range(choices)] for i in range(choices)])


@pytest.mark.parametrize("choices", [2, 3, 5])
@pytest.mark.parametrize("truth", ["1/10", "1/3", "1/2", "9/10"])
def test_the_curve_is_that_of_the_channel(choices: int, truth: str) -> None:
    loss, exact = RandomizedResponseLoss(truth=truth, choices=choices), channel(Fraction(truth), choices)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4), Fraction(30)):
        assert loss.delta(math.log(odds)).upper == pytest.approx(
            float(exact.statement.exact_delta(odds)), rel=1e-9, abs=1e-15
        )
    assert loss.pure_epsilon == exact.pure_epsilon


@pytest.mark.parametrize("choices", [2, 4])
def test_compositions_are_those_of_the_channel(choices: int) -> None:
    loss, exact = RandomizedResponseLoss(truth="0.7", choices=choices) * 12, channel(Fraction(7, 10), choices) * 12
    for epsilon in (0.5, 4.0, 9.0):
        assert loss.delta(epsilon, tolerance=1e-6).upper == pytest.approx(
            exact.delta(epsilon, tolerance=1e-6).upper, rel=3e-6
        )


@pytest.mark.parametrize(("choices", "limit"), [(2, 1.0), (7, 0.3), (100, 4.0)])
def test_the_epsilon_form(choices: int, limit: float) -> None:
    loss = RandomizedResponseLoss(epsilon=limit, choices=choices)
    with mpmath.workdps(40):
        e = mpmath.exp(mpmath.mpf(str(limit)))
        for share in ("0", "0.5", "0.99"):
            x = mpmath.exp(mpmath.mpf(str(limit)) * mpmath.mpf(share))
            truth = (e - x) / (e + choices - 1)
            found = loss.delta(Fraction(str(limit)) * Fraction(share))
            assert found.lower <= truth <= found.upper
            assert found.width <= 1e-15 * found.upper
    assert loss.epsilon(0).upper == pytest.approx(limit, rel=1e-15)
    assert loss.delta(limit) == Interval(0.0, 0.0)


def test_the_epsilon_form_of_two_choices_is_the_pure_loss() -> None:
    response, pure = RandomizedResponseLoss(epsilon="0.4"), PureLoss("0.4")
    assert response.delta("0.1") == pure.delta("0.1")
    found, expected = (response * 25).epsilon("1e-6"), (pure * 25).epsilon("1e-6")
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


def test_more_choices_reveal_less() -> None:
    many, few = (RandomizedResponseLoss(epsilon=2, choices=k) for k in (50, 2))
    assert many.delta(0).upper < few.delta(0).lower
    assert (many * 5).epsilon("1e-4").upper < (few * 5).epsilon("1e-4").lower


def test_golden_values_and_the_erratum_of_four_gamma() -> None:
    """golden.md G1, G3; errata.md E03: the epsilon is 2 atanh(2 gamma), above 4 gamma for every gamma > 0."""
    assert RandomizedResponseLoss.of_bias("0.1").epsilon(0).upper == pytest.approx(0.40546510810816438198, rel=1e-9)
    assert RandomizedResponseLoss.of_coin("0.5").epsilon(0).upper == pytest.approx(1.0986122886681096914, rel=1e-9)
    for gamma, truth in (("0.1", 0.405465), ("0.3", 1.386294), ("0.45", 2.944439)):
        found = RandomizedResponseLoss.of_bias(gamma).epsilon(0)
        assert found.upper == pytest.approx(truth, abs=1e-6)
        assert found.lower > 4 * float(gamma)


def test_an_even_coin_reveals_nothing() -> None:
    for loss in (RandomizedResponseLoss.of_bias(0), RandomizedResponseLoss(truth="1/5", choices=5)):
        assert loss.epsilon(0).upper == 0
        assert (loss * 4).delta(0).upper == 0


@pytest.mark.parametrize(
    "loss", [RandomizedResponseLoss(truth="2/3", choices=4), RandomizedResponseLoss(epsilon="1/3", choices=3)]
)
def test_json_and_relation(loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.relations == frozenset({Replace})
    assert eval(repr(loss)) == loss


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truth": 0}, "truth must be in"),
        ({"truth": 1}, "truth must be in"),
        ({"truth": "1/2", "choices": 1}, "choices must be >= 2"),
        ({"truth": "1/2", "choices": 2.5}, "choices must be a whole number"),
        ({}, "give either"),
        ({"truth": "1/2", "epsilon": 1}, "give either"),
        ({"epsilon": 0}, "epsilon must be > 0"),
    ],
)
def test_bad_parameters_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        RandomizedResponseLoss(**arguments)


def test_bad_forms_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="gamma"):
        RandomizedResponseLoss.of_bias("0.5")
    with pytest.raises(InvalidParameterError, match="share"):
        RandomizedResponseLoss.of_coin(1)
