from fractions import Fraction
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest

from deniable.mechanisms import ExponentialMechanism, PermuteAndFlip
from deniable.privacy import AddRemove, of_count
from deniable.privacy.constructors import PermuteAndFlipLoss
from tests.mechanisms.laws import chances


def by_subsets(rate: float, scores: list[int]) -> list[float]:
    """McKenna and Sheldon: p_i times the sum over sets S without i of (-1)^|S| / (|S| + 1) times the product of p_j."""
    p = [mp.exp(rate * (s - max(scores))) for s in scores]
    found = []
    for i in range(len(p)):
        others = [x for j, x in enumerate(p) if j != i]
        total = sum(
            (-1) ** size / mp.mpf(size + 1) * mp.fsum(mp.fprod(part) for part in combinations(others, size))
            for size in range(len(others) + 1)
        )
        found.append(float(p[i] * total))
    return found


def test_published_probability() -> None:
    # golden value G45: scores (3, 2, 0), epsilon 1, sensitivity 1
    found = chances(PermuteAndFlip(rate=Fraction(1, 2)), [3, 2, 0])
    assert found[0] == pytest.approx(0.63028135114833927103, abs=1e-14)


def test_probabilities_agree_with_the_sum_over_subsets() -> None:
    generator = np.random.default_rng(1)
    for size in (1, 2, 3, 5, 9):
        for _ in range(4):
            scores = generator.integers(-6, 6, size).tolist()
            with mp.workdps(40):
                expected = by_subsets(0.5, scores)
            assert chances(PermuteAndFlip(rate=Fraction(1, 2)), scores) == pytest.approx(expected, abs=1e-14)


def test_probabilities_of_many_candidates_sum_to_one() -> None:
    scores = np.random.default_rng(2).integers(-3000, 0, 300)
    assert chances(PermuteAndFlip(rate=Fraction(1, 10)), scores).sum() == pytest.approx(1, abs=1e-12)


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    """Any set of the best scores is chosen at least as often: stochastic dominance."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        scores = np.sort(generator.integers(-8, 1, int(generator.integers(2, 12))))[::-1]
        rate = Fraction(int(generator.integers(1, 20)), 10)
        ours = chances(PermuteAndFlip(rate=rate), scores).cumsum()
        assert (ours >= chances(ExponentialMechanism(rate=rate), scores).cumsum() - 1e-13).all()


def largest_loss(rate: Fraction, scores: list[int], others: list[int]) -> float:
    p, q = (chances(PermuteAndFlip(rate=rate), s) for s in (scores, others))
    return float(np.abs(np.log(p / q)).max())


def test_the_smaller_scale_is_for_monotone_scores_alone() -> None:
    """E18: at epsilon 1 with scale 1/epsilon, (0, 10) against (1, 9) has loss 2; monotone moves have at most 1."""
    assert largest_loss(Fraction(1), [0, 10], [1, 9]) == pytest.approx(2, abs=1e-3)
    one = of_count(rows=1, groups=1, relation=AddRemove)
    calibrated = {kind: PermuteAndFlip.calibrated(one, epsilon=1, monotone=kind) for kind in (False, True)}
    assert [calibrated[kind].rate for kind in (False, True)] == [Fraction(1, 2), 1]
    assert PermuteAndFlip(rate=1).privacy_loss(one).epsilon(0).lower >= 2 - 1e-9
    generator, worst, monotone = np.random.default_rng(4), 0.0, 0.0
    for _ in range(600):
        scores = generator.integers(0, 12, int(generator.integers(2, 5)))
        moved = scores + generator.integers(-1, 2, scores.size)
        raised = scores + generator.integers(0, 2, scores.size)
        worst = max(worst, largest_loss(Fraction(1, 2), scores.tolist(), moved.tolist()))
        monotone = max(monotone, largest_loss(Fraction(1), scores.tolist(), raised.tolist()))
    assert 0.99 < worst <= 1 + 1e-9
    assert 0.99 < monotone <= 1 + 1e-9


def test_the_curve_is_attained_by_two_candidates() -> None:
    """For every epsilon by the gap for which the better one of two is chosen half the time after the move."""
    for epsilon in (0.0, 0.4, 1.1):
        best = 0.0
        for gap in np.linspace(-2, 6, 161):  # in hundredths, so that scores are integers
            scores = np.array([round(100 * gap), 0])
            moved = scores + np.array([-100, 100])
            p, q = (chances(PermuteAndFlip(rate=Fraction(1, 100)), s) for s in (scores, moved))
            best = max(best, float(np.maximum(p - np.exp(epsilon) * q, 0).sum()))
        claim = PermuteAndFlipLoss(2).delta(epsilon).upper
        assert best <= claim + 1e-12
        assert best > 0.98 * claim
