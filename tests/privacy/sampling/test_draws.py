"""Draws with replacement: every data set of a small grid, quadrature of the attained pair, and compositions."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import DrawnLoss, GaussianLoss, LaplaceLoss, PrivacyLoss, Replace
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.sampling.draws import CutLaw

AXIS = np.linspace(-14, 14, 5601)


def release(values: tuple[int, ...], draws: int, sigma: float) -> np.ndarray:
    """The density of a noisy sum of draws, all sequences of draws written out."""
    total = np.zeros(AXIS.size)
    for sequence in itertools.product(values, repeat=draws):
        total += np.exp(-((AXIS - sum(sequence)) ** 2) / (2 * sigma**2))
    return total / total.sum()


@pytest.mark.parametrize(("draws", "population"), [(1, 2), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_no_data_exceed_the_bound_and_some_reach_the_lower_end(draws: int, population: int, epsilon: float) -> None:
    """Values -1, 0, 1; noise multiplier 3/4 of the sensitivity 2, so sigma = 1.5."""
    worst = 0.0
    for rest in itertools.combinations_with_replacement((-1, 0, 1), population - 1):
        laws = [release((value, *rest), draws, 1.5) for value in (-1, 0, 1)]
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    found = GaussianLoss("3/4").sampled_with_replacement(draws=draws, population=population).delta(epsilon)
    assert found.lower * (1 - 1e-5) <= worst <= found.upper * (1 + 1e-5)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_lower_end_is_the_attained_pair(epsilon: str) -> None:
    draws, population, mu = 20, 100, 2
    with mpmath.workdps(30):
        weights = [
            mpmath.binomial(draws, j) * mpmath.mpf(99) ** (draws - j) / mpmath.mpf(100) ** draws for j in range(21)
        ]
        e = mpmath.exp(mpmath.mpf(epsilon))

        def ratio(x: mpmath.mpf) -> mpmath.mpf:
            return sum(w * mpmath.exp(j * mu * x - (j * mu) ** 2 / 2) for j, w in enumerate(weights)) - e

        place = mpmath.findroot(ratio, (mpmath.mpf(-5), mpmath.mpf(6)), solver="bisect")
        truth = sum(w * mpmath.ncdf(j * mu - place) for j, w in enumerate(weights)) - e * mpmath.ncdf(-place)
    found = GaussianLoss("1/2").sampled_with_replacement(draws=draws, population=population).delta(epsilon)
    assert found.lower == pytest.approx(float(truth), rel=1e-9)
    assert found.upper <= found.lower * 1.05


def test_one_draw_is_a_sample_of_one() -> None:
    """With a single draw both schemes are the same, and so are both ends."""
    drawn = GaussianLoss(1).sampled_with_replacement(draws=1, population=10)
    sampled = GaussianLoss(1).sampled_without_replacement(size=1, population=10)
    for epsilon in ("0", "0.5", "2"):
        assert drawn.delta(epsilon).upper == pytest.approx(sampled.delta(epsilon).upper, rel=1e-9)
        assert drawn.delta(epsilon).lower == pytest.approx(sampled.delta(epsilon).lower, rel=1e-9)


def test_forgetting_that_a_unit_may_be_drawn_twice_is_seen() -> None:
    """A twin, the bound without replacement, is below what is attained."""
    drawn = GaussianLoss(1).sampled_with_replacement(draws=10, population=100)
    sampled = GaussianLoss(1).sampled_without_replacement(size=10, population=100)
    assert sampled.delta(2).upper < drawn.delta(2).lower


def test_compositions_are_bounded_from_both_sides() -> None:
    step = GaussianLoss(1).sampled_with_replacement(draws=100, population=10_000)
    run = (step * 100).epsilon("1e-5")
    without = (GaussianLoss(1).sampled_without_replacement(size=100, population=10_000) * 100).epsilon("1e-5")
    assert step.relations == {Replace}
    assert without.lower < run.lower
    assert run.width < 0.15 * run.upper
    assert step.epsilon("1e-5").lower <= run.upper
    assert PrivacyLoss.from_json(step.to_json()) == step
    assert repr(step) == "GaussianLoss(noise_multiplier='1').sampled_with_replacement(draws=100, population=10000)"


def test_a_cut_law_lacks_its_top() -> None:
    law, cut = NormalLaw(1.0), CutLaw(NormalLaw(1.0), 2.0)
    at = np.array([-1.0, 1.0, 1.9, 2.0, 5.0])
    whole, part = law.above(at), cut.above(at)
    gone = law.above(np.array([2.0]))
    assert np.allclose(part.p, np.maximum(whole.p - gone.p, 0), atol=1e-15)
    assert np.allclose(part.q, np.maximum(whole.q - gone.q, 0), atol=1e-15)
    assert np.all(part.error >= whole.error)
    assert cut.below(at).p[0] == law.below(at).p[0]


def test_unproved_uses_are_refused() -> None:
    with pytest.raises(UnprovedError, match="Gaussian noise"):
        LaplaceLoss(1).sampled_with_replacement(draws=1, population=2)
    with pytest.raises(InvalidParameterError, match="draws must be"):
        GaussianLoss(1).sampled_with_replacement(draws=0, population=2)
    with pytest.raises(InvalidParameterError, match="population at least 2"):
        DrawnLoss(GaussianLoss(1), 1, 1)
    assert DrawnLoss(GaussianLoss(1), 3, 10).share > 1 - Fraction(9, 10) ** 3 - Fraction(1, 10**12)
