from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, NoisyMax, PermuteAndFlip, noisy_max
from deniable.privacy import AddRemove, LaplaceLoss, Replace, of_count
from tests.mechanisms.laws import chances
from tests.mechanisms.selection.laws import noisy_max_law

COUNT = of_count(rows=1, groups=1, relation=Replace)


def test_probabilities_agree_with_quadrature_by_another_way() -> None:
    for scores in ((0,), (3, 2, 0), (0, 0, 0, 0), (5, -40, 4), (200, 1, 0)):
        found = chances(NoisyMax(rate=Fraction(1, 2)), scores)
        assert found == pytest.approx(noisy_max_law("laplace", Fraction(1, 2), scores), abs=1e-13)


def test_two_candidates_have_the_closed_form() -> None:
    """The difference of two Laplace variables exceeds g with probability (2 + g) e^-g / 4."""
    for gap in (0, 1, 7, 30):
        found = chances(NoisyMax(rate=Fraction(1)), [0, gap])
        assert found[0] == pytest.approx((2 + gap) * np.exp(-gap) / 4, rel=1e-10)


def test_votes_of_teachers_lose_more_than_gamma() -> None:
    """Golden G47: gamma = 1/2, a vote moves from candidate 1 to candidate 0; above gamma, below 2 gamma."""
    mechanism = NoisyMax(rate=Fraction(1, 2))
    before, after = (chances(mechanism, votes)[0] for votes in ([0, 20], [1, 19]))
    assert np.log(after / before) == pytest.approx(0.91298862301037023383, rel=1e-9)
    assert mechanism.privacy_loss(COUNT).epsilon(0).upper == pytest.approx(1)


def test_probabilities_of_many_candidates_sum_to_one() -> None:
    scores = np.random.default_rng(2).integers(-300, 0, 50)
    assert chances(NoisyMax(rate=Fraction(1, 10)), scores).sum() == pytest.approx(1, abs=1e-12)


def test_every_set_of_winners_keeps_to_the_curve_of_laplace_noise() -> None:
    """The theorem of docs/theory/mechanisms/selection.md, for random scores, moves and epsilons; general and monotone.

    The twin: half of the claimed epsilon is exceeded, so the test can fail.
    """
    generator = np.random.default_rng(6)
    broken = False
    for trial in range(300):
        scores = generator.integers(0, 6, int(generator.integers(2, 7)))
        monotone = trial % 2 == 0
        moved = scores + generator.integers(0 if monotone else -1, 2, scores.size)
        mechanism = NoisyMax(rate=Fraction(1), monotone=monotone)
        p, q = chances(mechanism, scores), chances(mechanism, moved)
        limit = 1 if monotone else 2
        for epsilon in (0.0, 0.3, 0.9, 1.6):
            truth = max(float(np.maximum(a - np.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p)))
            assert truth <= LaplaceLoss(Fraction(1, limit)).delta(epsilon).upper + 1e-12
            broken |= truth > LaplaceLoss(Fraction(2, limit)).delta(epsilon).upper + 1e-6
    assert broken


def test_permute_and_flip_chooses_better_at_the_same_cost() -> None:
    """No theorem, but so for all of these: any set of the best is chosen at least as often."""
    generator = np.random.default_rng(8)
    for _ in range(150):
        scores = np.sort(generator.integers(-9, 1, int(generator.integers(2, 10))))[::-1]
        rate = Fraction(int(generator.integers(1, 30)), 10)
        ours, other = (chances(kind(rate=rate), scores).cumsum() for kind in (PermuteAndFlip, NoisyMax))
        assert (ours >= other - 1e-13).all()


def test_all_noises_are_found_under_one_name() -> None:
    assert noisy_max(COUNT, epsilon=1) == PermuteAndFlip(rate=Fraction(1, 2))
    assert noisy_max(COUNT, epsilon=1, noise="gumbel") == ExponentialMechanism(rate=Fraction(1, 2))
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    assert noisy_max(reach, epsilon=1, noise="laplace", monotone=True) == NoisyMax(rate=Fraction(1), monotone=True)
    with pytest.raises(InvalidParameterError, match="noise must be one of"):
        noisy_max(COUNT, epsilon=1, noise="gaussian")  # type: ignore[arg-type]
