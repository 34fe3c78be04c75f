"""Laplace numbers inside bounds: draws against enumerated laws, closed forms against sums, coins against mpmath."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise import bernoulli, truncated_laplace
from deniable.noise.bits import DeterministicBits
from deniable.noise.truncated_laplace import _left_share, _one_minus_exp
from tests.noise.streams import ScriptedBits

ALARM = 1e-5
CASES = [
    (Fraction(2), 3),
    (Fraction(1, 3), 4),
    (Fraction(100), 30),
    (Fraction(5), 100),
    (Fraction(2**50), 7),
    (Fraction(3), 1),
]


def law(scale: float, left: int, right: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    k = np.arange(-left, right + 1)
    weights = np.exp(-np.abs(k) / scale)
    return k, weights / weights.sum()


def p_value(draws: NDArray[np.int64], k: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    assert draws.min() >= k[0]
    assert draws.max() <= k[-1]
    counts, hoped = np.bincount(draws - k[0], minlength=k.size), chances * draws.size
    often = hoped > 10
    if not often.all():
        counts, hoped = np.append(counts[often], counts[~often].sum()), np.append(hoped[often], hoped[~often].sum())
    return float(stats.chi2.sf((((counts - hoped) ** 2) / hoped).sum(), counts.size - 1))


@pytest.mark.parametrize(("scale", "bound"), CASES, ids=str)
def test_draws_follow_the_law(scale: Fraction, bound: int) -> None:
    draws = truncated_laplace.sample(scale=scale, bound=bound, size=300_000, bits=DeterministicBits(1))
    assert p_value(draws, *law(float(scale), bound, bound)) > ALARM


def test_the_wrong_scale_or_coin_is_rejected() -> None:
    """Twins: 0.7 and 1.3 times the scale; sides as likely as those of the law that is not cut off."""
    draws = truncated_laplace.sample(scale=3, bound=5, size=300_000, bits=DeterministicBits(2))
    k, chances = law(3.0, 5, 5)
    assert p_value(draws, k, chances) > ALARM
    for twin in (0.7, 1.3):
        assert p_value(draws, *law(3.0 * twin, 5, 5)) < ALARM
    ratio = np.exp(-1 / 3)
    sided = np.where(k < 0, ratio / (1 + ratio) * chances / chances[k < 0].sum(), chances / chances[k >= 0].sum())
    sided[k >= 0] /= 1 + ratio
    assert p_value(draws, k, sided) < ALARM


def test_each_place_has_its_own_bounds() -> None:
    left, right = np.array([0, 3, 5, 100, 0]), np.array([4, 0, 5, 2, 0])
    draws = truncated_laplace.sample_within(
        scale=3, left=np.tile(left, 60_000), right=np.tile(right, 60_000), bits=DeterministicBits(3)
    ).reshape(-1, 5)
    for place in range(4):
        assert p_value(draws[:, place], *law(3.0, left[place], right[place])) > ALARM
    assert p_value(draws[:, 2], *law(2.7, 5, 5)) < ALARM
    assert not draws[:, 4].any()


@pytest.mark.parametrize("scale", [Fraction(1, 3000), Fraction(3), Fraction(2**57)], ids=str)
def test_float_shares_agree_with_enclosures(scale: Fraction) -> None:
    """The margin of the coins is 2^-36; their floats must be nearer than 2^-37, and are nearer than 2^-44."""
    ends = [1, 2, 1000, 2**30, 2**57, 2**62]
    rate = float(1 / scale)
    for left in ends:
        for right in (0, *ends):
            exact = float(_left_share(1 / scale, left, right)())
            first = _one_minus_exp(np.array([left * rate])) * mp.exp(-mp.mpf(rate))
            near = float((first / (first + _one_minus_exp(np.array([(right + 1.0) * rate]))))[0])
            assert near == pytest.approx(exact, rel=2.0**-44, abs=1e-300)


def test_one_minus_exp_is_within_its_bound() -> None:
    x = np.concatenate([2.0 ** np.arange(-60, 9, 0.37), [0.25, np.nextafter(0.25, 0), 700.0]])
    found = _one_minus_exp(x)
    with mp.workdps(40):
        worst = max(abs(mp.mpf(float(f)) / -mp.expm1(-mp.mpf(float(y))) - 1) for f, y in zip(found, x, strict=True))
    assert worst < 2.0**-45


@pytest.mark.parametrize("last", [0, 2**64 - 1])
def test_a_coin_on_its_threshold_is_settled_by_further_words(last: int) -> None:
    with mp.workdps(60):
        q = mp.exp(mp.mpf(-1) / 3)
        share = q * (1 - q**4) / (q * (1 - q**4) + 1 - q**7)
        word = int(mp.floor(share * mp.mpf(2) ** 64))
    goes_left = bernoulli.sample_each(
        probabilities=np.array([float(share)]),
        exact=lambda _: _left_share(Fraction(1, 3), 4, 6),
        bits=ScriptedBits([word, last]),
    )
    assert bool(goes_left[0]) is (last == 0)


@pytest.mark.parametrize(("scale", "bound"), CASES, ids=str)
def test_closed_forms_agree_with_the_summed_law(scale: Fraction, bound: int) -> None:
    k, chances = law(float(scale), bound, bound)
    assert truncated_laplace.standard_deviation(scale, bound) == pytest.approx(np.sqrt((chances * k**2).sum()))
    p = np.linspace(0.0013, 0.9987, 501)
    assert np.array_equal(truncated_laplace.quantile(scale, bound, p), k[np.searchsorted(np.cumsum(chances), p)])
    assert truncated_laplace.quantile(scale, bound, np.array([0.0, 1.0])).tolist() == [-bound, bound]


def test_bound_0_leaves_nothing_to_draw() -> None:
    assert not truncated_laplace.sample(scale=3, bound=0, size=9).any()
    assert truncated_laplace.standard_deviation(3, 0) == 0.0
    assert truncated_laplace.sample(scale=3, bound=4).shape == ()


@pytest.mark.parametrize("bound", [-1, 0.5, True, "3", 2**62 + 1, None])
def test_wrong_bound_is_refused(bound: object) -> None:
    with pytest.raises(InvalidParameterError, match="bound must be"):
        truncated_laplace.sample(scale=1, bound=bound)  # type: ignore[arg-type]


def test_a_float_scale_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="scale must be"):
        truncated_laplace.sample(scale=0.5, bound=3)  # type: ignore[arg-type]
