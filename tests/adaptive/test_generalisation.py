"""Bounds between sample and population, each against a mechanism that comes near it and respects it."""

import math

import numpy as np
import pytest

from deniable.adaptive import (
    described_gap,
    expected_gap,
    posterior_gap,
    selected_gap,
    stable_gap,
    uniform_stability,
)
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import ApproximateLoss, ConcentratedLoss, GaussianLoss, PrivacyLoss, PureLoss
from deniable.privacy.constructors import SparseVectorLoss

EPSILONS = ("0.1", "0.5", "1")


def remembered(epsilon: float, rows: int, runs: int, seed: int) -> np.ndarray:
    """q(S) - q(P) where q says of each value of a huge domain whether it was in the sample, by randomized response.

    A replaced row changes two memberships, so each response keeps epsilon / 2. All rows are different values.
    """
    keep = 1 / (1 + math.exp(-epsilon / 2))
    return np.random.default_rng(seed).binomial(rows, keep, runs) / rows - (1 - keep)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_in_expectation_a_mechanism_attains_the_bound(epsilon: str) -> None:
    """4000 runs; a bound smaller by a twentieth would be broken, and that of the notes is four times as large."""
    bound, found = expected_gap(PureLoss(epsilon)), remembered(float(epsilon), 1000, 4000, 1).mean()
    assert bound == pytest.approx(math.tanh(float(epsilon) / 4))
    assert found == pytest.approx(bound, rel=0.02)
    assert bound < math.expm1(float(epsilon)) / 4


def test_in_expectation_a_loss_with_delta_has_its_total_variation() -> None:
    for loss in (ApproximateLoss("0.2", "1e-6"), GaussianLoss(noise_multiplier=1)):
        assert expected_gap(loss) == uniform_stability(loss)


def test_stability_is_attained_and_the_bound_of_the_notes_is_above() -> None:
    """The erratum E78: at (0.2, 1e-6) e^epsilon - 1 + delta = 0.221404; the distance is half of that."""
    assert math.expm1(0.2) + 1e-6 == pytest.approx(0.221404, abs=1e-6)
    loss = ApproximateLoss("0.2", "1e-6")
    assert uniform_stability(loss) == pytest.approx(math.tanh(0.1) * (1 - 1e-6) + 1e-6, rel=1e-6)
    keep = 1 / (1 + math.exp(-0.2))  # randomized response: the value of the outcome "one" on a row of 1 or 0
    assert keep - (1 - keep) == pytest.approx(uniform_stability(PureLoss("0.2")))
    assert uniform_stability(GaussianLoss(noise_multiplier=1)) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_with_high_probability_a_mechanism_comes_within_half_of_the_bound(epsilon: str) -> None:
    """400 runs; the share of failures allowed is 1%."""
    rows = 200_000
    bound, found = selected_gap(PureLoss(epsilon), rows=rows, failure="0.01"), remembered(float(epsilon), rows, 400, 2)
    assert (found > bound).mean() <= 0.01
    assert bound < 1.5 * np.quantile(found, 0.5)
    assert bound < 18 * float(epsilon) / 40


def test_selection_from_noise_keeps_the_bound() -> None:
    """The largest of 2000 means of coins, chosen with epsilon = 0.05 by the exponential mechanism."""
    rows, random = 5000, np.random.default_rng(3)
    bound = selected_gap(PureLoss("0.05"), rows=rows, failure="0.05")
    scores = random.binomial(rows, 0.5, (300, 2000))
    chosen = (scores * 0.025 + random.gumbel(size=scores.shape)).argmax(axis=1)
    gaps = np.abs(scores[np.arange(300), chosen] / rows - 0.5)
    assert (gaps > bound).mean() <= 0.05
    assert bound < 0.2


def test_the_posterior_is_near_the_population_for_pure_answers_always() -> None:
    """All samples of two coins, all answers of a mechanism of random likelihood ratios: Bayes by enumeration."""
    random, samples = np.random.default_rng(4), [(0, 0), (0, 1), (1, 0), (1, 1)]
    near, gaps = 0.0, {epsilon: posterior_gap(PureLoss(epsilon), failure="0.05") for epsilon in (0.125, 0.5, 2)}
    for epsilon, gap in list(gaps.items()) * 100:
        law = np.exp(np.cumsum(random.choice([-epsilon, epsilon], size=3)))  # by number of ones
        answer = {sample: law[sum(sample)] for sample in samples}  # probability of one answer, up to a constant
        for share in (0.5, 1 / (1 + math.exp(epsilon / 2))):  # of ones in the population; the latter is the worst
            weights = {s: answer[s] * math.prod(share if one else 1 - share for one in s) for s in samples}
            mean = sum(weight * sum(s) / 2 for s, weight in weights.items()) / sum(weights.values())
            assert abs(mean - share) <= gap
            near = max(near, abs(mean - share) / gap)
    assert near > 1 - 1e-6


def test_the_posterior_with_delta_pays_for_what_is_published_outright() -> None:
    """With probability delta the sample is published: any gap is exceeded that often, and failure must be above."""
    loss = ApproximateLoss(0, "0.001")
    assert posterior_gap(loss, failure="0.001") == 1
    assert posterior_gap(loss, failure="0.1") < 0.03
    assert posterior_gap(ConcentratedLoss(rho="0.001"), failure="0.01") > posterior_gap(
        PureLoss("0.05"), failure="0.01"
    )


def test_finitely_many_questions_come_within_a_quarter_of_the_bound() -> None:
    """The farthest of 100,000 independent means of 4000 coins."""
    random = np.random.default_rng(5)
    gaps = [np.abs(random.binomial(4000, 0.5, 100_000) / 4000 - 0.5).max() for _ in range(40)]
    bound = described_gap(100_000, rows=4000, failure="0.05")
    assert (np.array(gaps) > bound).mean() <= 0.05
    assert bound < 1.25 * np.mean(gaps)


def test_a_stable_algorithm_keeps_its_bound() -> None:
    """The mean of numbers in [0, 1], loss (h - z)^2: a replaced row moves h by 1/n and a loss by 2/n at most."""
    rows, random = 500, np.random.default_rng(6)
    bound = stable_gap(2 / rows, rows=rows, failure="0.05")
    drawn = random.random((2000, rows)) < 0.5
    means = drawn.mean(axis=1)
    gaps = ((means - 0.5) ** 2 + 0.25) - means * (1 - means)
    assert (gaps > bound).mean() <= 0.05
    moves = 2 * 2 / rows + 1 / rows  # one row's loss counts 1 / rows, and both errors move by beta
    bounded_differences = math.sqrt(rows * moves**2 * math.log(20) / 2)  # McDiarmid's inequality
    assert bound == pytest.approx(2 / rows + bounded_differences, rel=1e-6)
    assert stable_gap(0, rows=10_000, failure="0.05") == pytest.approx(math.sqrt(math.log(20) / 20_000))


def test_what_cannot_be_promised_is_refused() -> None:
    for failure in (0, 1, -1, "x"):
        with pytest.raises(InvalidParameterError, match="failure"):
            described_gap(5, rows=10, failure=failure)
    with pytest.raises(UnprovedError, match="replace"):
        uniform_stability(SparseVectorLoss(threshold_multiplier=1, query_multiplier=1, answers=1, monotone=True))
    with pytest.raises(InvalidParameterError, match="PureLoss"):
        uniform_stability(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "loss", [ConcentratedLoss("0.1"), ApproximateLoss("0.2", "1e-6"), GaussianLoss(noise_multiplier=1)]
)
def test_losses_that_are_not_pure_have_a_gap_in_expectation_too(loss: PrivacyLoss) -> None:
    assert expected_gap(loss) == uniform_stability(loss) < 1
