"""Bounds from Rényi divergences for very long compositions, against closed forms and against the transform."""

import math
from fractions import Fraction

import pytest

from deniable.numbers.interval import Interval
from deniable.privacy import GaussianLoss, LaplaceLoss, PrivacyLoss, PureLoss
from deniable.privacy.composition import compose as composition
from deniable.privacy.notions import moments
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.notions.moments import delta_by_moments, epsilon_by_moments

STEPS = [GaussianLoss(1).poisson_sampled(rate="0.01"), LaplaceLoss(2), PureLoss("0.05"), GaussianLoss(5)]


def test_a_gaussian_of_any_size_lies_between() -> None:
    for noise, count in (("1", 10**6), ("100", 10**5), ("1/3", 2)):
        step = GaussianLoss(noise)
        loss = step * count
        for delta in ("1e-2", "1e-9"):
            exact = loss.epsilon(delta)
            found = epsilon_by_moments(loss.statement, [(step.statement, count)], Fraction(delta))
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper
        middle = Fraction(count) / Fraction(noise) ** 2 / 2
        for epsilon in (middle / 2, middle):
            found = delta_by_moments(loss.statement, [(step.statement, count)], epsilon)
            exact = gaussian_delta(Fraction(count) / Fraction(noise) ** 2, epsilon)
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_the_transform_agrees(step: PrivacyLoss) -> None:
    count = 2000
    loss = step * count
    for delta in ("1e-1", "1e-6"):
        known = loss.epsilon(delta)
        found = epsilon_by_moments(loss.statement, [(step.statement, count)], Fraction(delta))
        assert found.lower <= known.upper
        assert known.lower <= found.upper
        seen = delta_by_moments(loss.statement, [(step.statement, count)], Fraction(known.upper))
        assert seen.lower <= float(delta) * 1.01


def test_a_twin_with_a_variance_far_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where delta is 0.9 epsilon is below the mean of the loss."""
    step, delta = PureLoss(1), Fraction(9, 10)
    loss = step * 4000
    exact = loss.epsilon(delta)
    assert epsilon_by_moments(loss.statement, [(step.statement, 4000)], delta).lower <= exact.upper
    second = moments._second_moment
    monkeypatch.setattr(moments, "_second_moment", lambda part, way: second(part, way) / 1e6)
    assert epsilon_by_moments(loss.statement, [(step.statement, 4000)], delta).lower > exact.upper


@pytest.mark.parametrize(
    ("noise", "rate", "count"),
    [("0.3", "0.1", 10**12), ("10", "0.1", 10**12), ("0.05", "0.001", 10**6)],
)
def test_long_compositions_are_known_from_both_sides(noise: str, rate: str, count: int) -> None:
    loss = GaussianLoss(noise).poisson_sampled(rate=rate) * count
    found = loss.epsilon("1e-5")
    mean = loss.renyi(1)
    assert 0.9 * mean.lower <= found.upper < math.inf
    assert found.width <= 0.3 * found.upper
    assert loss.delta(30).lower > 0.99


def test_moments_are_asked_only_where_the_transform_says_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group whose laws above and below differ is no such place, though its answer is wide."""

    def refuse(*given: object) -> Interval:
        raise LookupError

    monkeypatch.setattr(composition, "epsilon_by_moments", refuse)
    monkeypatch.setattr(composition, "delta_by_moments", refuse)
    group = (LaplaceLoss(2).poisson_sampled(rate="0.05") * 7).group(2)
    found = group.epsilon("1e-6")
    assert found.width > 0.3 * found.upper
    assert group.delta(1).upper < 1
    with pytest.raises(LookupError):
        (GaussianLoss("0.3").poisson_sampled(rate="0.1") * 10**12).epsilon("1e-5")


def test_an_unlikely_delta_is_not_said_to_be_up_to_one() -> None:
    """73 standard deviations away: nothing is seen of it, and Rényi divergences bound it."""
    found = (GaussianLoss(1).poisson_sampled(rate="1e-5") * 10**9).delta(30)
    assert found.upper < 1e-100


def test_short_compositions_of_little_noise_are_answered() -> None:
    """At least the sampled step that sees the unit, and at most that any of five does."""
    found = (GaussianLoss("0.01").poisson_sampled(rate="1e-3") * 5).delta(1, tolerance=0.5)
    exact = 1 - 0.999**5
    assert found.lower <= exact * 1.0001
    assert exact * 0.9999 <= found.upper <= Interval.around(Fraction(exact) * Fraction(101, 100)).upper
