"""Compositions of losses beyond floats, against closed forms in mpmath and against the engine where both answer."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deniable.privacy import PureLoss
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.pld import rounded
from deniable.privacy.pld.accountant import composed_epsilon
from deniable.privacy.pld.law import FiniteLaw, LossLaw, ReversedLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.rounded import rounded_delta, rounded_epsilon
from deniable.privacy.pld.search import RepeatedPair


def hits(count: int, rate: float, mu: float, epsilon: float) -> mp.mpf:
    """delta of `count` sampled Gaussian runs whose noise is so small that a run is either hit or not.

    A hit has the loss N(mu^2/2, mu^2) + ln rate, any other run ln(1 - rate); both are off by e^-mu^2/4 at most.
    """
    total = mp.mpf(0)
    for hit in range(1, count + 1):
        mean = hit * (mp.mpf(mu) ** 2 / 2 + mp.log(rate)) + (count - hit) * mp.log(1 - rate)
        spread = mu * mp.sqrt(hit)
        above = (mean - epsilon) / spread
        lost = mp.exp(epsilon - mean + spread**2 / 2) * mp.ncdf(above - spread)
        total += (
            mp.binomial(count, hit) * mp.mpf(rate) ** hit * mp.mpf(1 - rate) ** (count - hit) * (mp.ncdf(above) - lost)
        )
    return total


def both(law: LossLaw, count: int) -> list[list[RepeatedPair]]:
    return [[RepeatedPair(law, count)], [RepeatedPair(ReversedLaw(law), count)]]


@pytest.mark.parametrize(("mu", "rate", "count"), [(12.5, 0.01, 10), (50.0, 0.01, 10), (100.0, 0.001, 5)])
def test_rare_large_losses_have_their_closed_form(mu: float, rate: float, count: int) -> None:
    directions = both(SampledLaw(NormalLaw(mu), Fraction(rate)), count)
    with mp.workdps(40):
        for epsilon in (1.0, 0.5 * mu**2 - mu, mu**2 - mu):
            truth = hits(count, rate, mu, epsilon)
            found = rounded_delta(directions, Fraction(epsilon), 1e-3)
            assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)
            assert found.width <= 0.01 * found.upper
            if epsilon > 1:  # at 1 the curve is flat up to the first hit
                back = rounded_epsilon(directions, Fraction(float(truth)), 1e-3)
                assert back.lower <= epsilon * (1 + 1e-9)
                assert epsilon <= back.upper * (1 + 1e-9)
                assert back.width <= 2e-3 * back.upper


def test_losses_that_no_float_exponentiates_are_added_exactly() -> None:
    """Two losses, 900 and -0.1, forty times: a binomial sum. A loss of 900 has probability 0 under Q in floats."""
    p = np.array([0.75, 0.25])
    law = FiniteLaw(np.array([-0.1, 900.0]), p, p * np.exp(-np.array([-0.1, 900.0])), vanishing=0.0)
    for epsilon in (0, 100, 8000, 11_699, 20_000):
        with mp.workdps(30):
            sums = [(mp.binomial(40, k) * mp.mpf(3) ** (40 - k) / mp.mpf(4) ** 40, 900.1 * k - 4.0) for k in range(41)]
            truth = mp.fsum(mass * (1 - mp.exp(epsilon - loss)) for mass, loss in sums if loss > epsilon)
            found = rounded_delta([[RepeatedPair(law, 40)]], Fraction(epsilon), 1e-3)
            assert found.lower <= truth * (1 + mp.mpf("1e-12"))
            assert truth * (1 - mp.mpf("1e-12")) <= found.upper


def test_the_engine_agrees_where_both_answer() -> None:
    for mu, rate, count in ((3.0, 0.01, 100), (1.0, 0.1, 50)):
        directions = both(SampledLaw(NormalLaw(mu), Fraction(rate)), count)
        exact = composed_epsilon(directions, Fraction(1, 10**5), 1e-3)
        found = rounded_epsilon(directions, Fraction(1, 10**5), 1e-3)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_a_twin_that_rounds_to_the_nearest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With losses half a step lower, the upper sum lies below the truth."""
    step_down = rounded._one

    def nearest(law: LossLaw, *, step: float, rest: float, up: bool, extent: float) -> rounded._Sum:
        found = step_down(law, step=step, rest=rest, up=up, extent=extent)
        return rounded._Sum(found.start - step / 2, step, found.masses, found.infinite, found.error)

    directions = both(SampledLaw(NormalLaw(12.5), Fraction(1, 100)), 10)
    rounded._bounds.cache_clear()
    monkeypatch.setattr(rounded, "_one", nearest)
    with mp.workdps(40):
        truth = hits(10, 0.01, 12.5, 62.5)
    bounds = rounded._bounds(tuple(directions[0]), 110.0, 2**8)
    rounded._bounds.cache_clear()
    assert bounds.above(62.5) < truth


def test_an_infinite_loss_stays_infinite() -> None:
    law = FiniteLaw(np.array([500.0]), np.array([0.5]), np.array([0.0]), infinite=0.5)
    directions = [[RepeatedPair(law, 3)]]
    assert rounded_epsilon(directions, Fraction(1, 10), 1e-3).upper == math.inf
    found = rounded_delta(directions, Fraction(2000), 1e-3)
    assert found.lower <= 0.875 <= found.upper
    assert found.width < 1e-9


SUMS = [  # two losses and the probability of the second one, that of an infinite one, how many runs
    (-0.1, 900.0, 0.25, 0.0, 40),
    (-1e-6, 1000.0, 1e-5, 0.0, 1000),  # nearly all runs are alike, and none may be moved by a step
    (-750.0, 0.1, 0.75, 1e-3, 30),
    (-1e9, 500.0, 1 - 1e-200, 0.0, 5),
    (500.0, 1e15, 1e-7, 0.5, 5),
    (0.9, 500.0, 1e-12, 1e-200, 50),  # all runs lie beyond epsilon: no grid of 40 / 1e-9 points
    (0.1, 1e5, 1e-200, 0.0, 3),  # probabilities of 1e-400 are no floats
]


@pytest.mark.parametrize(("least", "greatest", "share", "infinite", "count"), SUMS)
def test_sums_of_two_losses_of_any_size_are_binomial(
    least: float, greatest: float, share: float, infinite: float, count: int
) -> None:
    masses = np.array([1 - share, share]) * (1 - infinite)
    law = FiniteLaw(np.array([least, greatest]), masses, np.zeros(2), infinite=infinite)
    with mp.workdps(50):
        missed, finite = (1 - mp.mpf(share) for share in (share, infinite))
        sums = [
            (finite**count * mp.binomial(count, k) * mp.mpf(share) ** k * missed ** (count - k),
             mp.mpf(least) * (count - k) + mp.mpf(greatest) * k)
            for k in range(count + 1)
        ]  # fmt: skip
        hidden = -mp.expm1(count * mp.log1p(-mp.mpf(infinite)))

        def truth(epsilon: float) -> mp.mpf:
            return hidden + mp.fsum(mass * -mp.expm1(epsilon - loss) for mass, loss in sums if loss > epsilon)

        room = mp.mpf(1e-12) * count
        for epsilon in (0.0, 1.0, greatest / 2, greatest, 1.5 * greatest, 0.9 * greatest * count):
            found, exact = rounded_delta([[RepeatedPair(law, count)]], Fraction(epsilon), 1e-3), truth(epsilon)
            assert found.lower * (1 - room) <= exact <= found.upper * (1 + room)
            assert found.upper > 0
        for delta in (Fraction(1, 10**200), Fraction(1, 100), Fraction(9, 10)):
            back, goal = (
                rounded_epsilon([[RepeatedPair(law, count)]], delta, 1e-3),
                mp.mpf(delta.numerator) / delta.denominator,
            )
            assert back.lower == 0 or truth(back.lower * (1 - 1e-12)) >= goal * (1 - room)
            assert math.isinf(back.upper) or truth(back.upper * (1 + 1e-12)) <= goal * (1 + room)


def test_a_hit_that_is_rare_is_seen_among_many_runs_that_are_alike() -> None:
    """With the grid on the loss of a hit, a run without one moved by up to a step: delta was between 1e-6 and 1."""
    found = (PureLoss(1000).poisson_sampled(rate="1e-6") * 10**5).delta(1)
    assert found.lower <= 1 - (1 - 1e-6) ** 10**5 <= found.upper
    assert found.width < 1e-6
