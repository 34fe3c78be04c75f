"""One suite over every mechanism: the law is the claimed one, the loss is that of the law, an audit agrees.

All draws come from a deterministic stream, so a result is the same at every run; the rates below say how seldom a
correct mechanism would fail for a random seed.
"""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.mechanisms import MECHANISMS, Mechanism, WorstCase
from deniable.noise.bits import DeterministicBits

RUNS = 400_000
FALSE_ALARM = 1e-6  # of one audit or one chi-square test
DELTAS = [0.0, 1e-3, 0.05]

# The second route to every law: its weights, written here from the docstring, and the parameter for 0.7 times the
# noise.
WEIGHTS: dict[str, Callable[[Mechanism, NDArray[np.float64]], NDArray[np.float64]]] = {
    "gaussian": lambda mechanism, k: np.exp(-(k**2) / (2 * float(mechanism.sigma_squared))),  # type: ignore[attr-defined]
    "laplace": lambda mechanism, k: np.exp(-np.abs(k) / float(mechanism.scale)),  # type: ignore[attr-defined]
}
LESS_NOISE: dict[str, Callable[[Mechanism], Mechanism]] = {
    "gaussian": lambda mechanism: replace(mechanism, sigma_squared=mechanism.sigma_squared * Fraction(49, 100)),  # type: ignore[attr-defined]
    "laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),  # type: ignore[attr-defined]
}

every = pytest.mark.parametrize("name", sorted(MECHANISMS))


def law(mechanism: Mechanism, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities of k, normalised over a range that misses less than 10^-15."""
    everywhere = np.arange(-4000.0, 4001.0)
    weights = WEIGHTS[mechanism.kind]
    return weights(mechanism, k.astype(np.float64)) / weights(mechanism, everywhere).sum()


def chi_square(mechanism: Mechanism, claimed: Mechanism, seed: int) -> float:
    """p-value of the noise of `mechanism` against the law of `claimed`, tails pooled to at least 50 expected draws."""
    draws = mechanism.release(np.zeros(RUNS, dtype=np.int64), bits=DeterministicBits(seed)).values.astype(np.int64)
    expected = RUNS * law(claimed, np.arange(-2000, 2001))
    reach = int(np.flatnonzero(expected >= 50)[-1]) - 2000
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    pooled = np.concatenate(
        [[expected[: 2001 - reach].sum()], expected[2001 - reach : 2000 + reach], [expected[2000 + reach :].sum()]]
    )
    statistic = ((observed - pooled) ** 2 / pooled).sum()
    return float(stats.chi2.sf(statistic, 2 * reach))


def audited_epsilon(case: WorstCase, delta: float, seed: int) -> float:
    """A lower bound on epsilon at `delta`, wrong with probability FALSE_ALARM.

    Half of the runs choose the event {score >= cut}; Clopper-Pearson bounds of the other half bound its probabilities.
    """
    scores = case.scores(RUNS, bits=DeterministicBits(seed))
    (first, second), (other_first, other_second) = (np.split(part, 2) for part in scores)
    cuts = np.unique(np.concatenate([first, other_first]))
    n = len(first)

    def bounds(hits: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.maximum(hits, 1) / n

    p = 1 - np.searchsorted(np.sort(first), cuts) / n
    q = bounds(n - np.searchsorted(np.sort(other_first), cuts))
    cautious = p - delta - 5 * np.sqrt(p / n), q + 5 * np.sqrt(q / n)
    cut = cuts[np.argmax(cautious[0] / cautious[1])]
    hits, others = int((second >= cut).sum()), int((other_second >= cut).sum())
    low = stats.beta.ppf(FALSE_ALARM / 2, hits, n - hits + 1) if hits else 0.0
    high = stats.beta.isf(FALSE_ALARM / 2, others + 1, n - others) if others < n else 1.0
    return math.log((low - delta) / high) if low > delta else 0.0


@every
def test_a_new_mechanism_brings_its_second_route(name: str) -> None:
    assert name in WEIGHTS
    assert name in LESS_NOISE


@every
def test_the_loss_is_that_of_the_enumerated_law(name: str) -> None:
    """The worst pair attains the curve: sum of (p - e^epsilon q)_+ over all outputs, for twenty epsilons."""
    case = MECHANISMS[name].worst_case()
    loss = case.mechanism.privacy_loss(case.sensitivity)
    k = np.arange(-2000, 2001)
    assert len(case.exact) == 1, "enumerate vectors here when a mechanism needs them"
    p, q = law(case.mechanism, k - case.exact[0]), law(case.mechanism, k - case.neighbour[0])
    for epsilon in np.linspace(0, 3, 20):
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        found = loss.delta(float(epsilon))
        assert found.lower == pytest.approx(truth, rel=1e-9, abs=1e-13)
        assert found.upper == pytest.approx(truth, rel=1e-9, abs=1e-13)


@every
def test_releases_follow_the_law(name: str) -> None:
    """Chi-square over 400,000 draws; a correct mechanism fails for one seed in a million."""
    mechanism = MECHANISMS[name].worst_case().mechanism
    assert chi_square(mechanism, mechanism, seed=11) > FALSE_ALARM


@every
def test_less_noise_than_claimed_is_rejected_by_the_law(name: str) -> None:
    """The twin of the test above: 0.7 times the noise is caught with certainty for all practical purposes."""
    mechanism = MECHANISMS[name].worst_case().mechanism
    assert chi_square(LESS_NOISE[name](mechanism), mechanism, seed=12) < 1e-12


@every
@pytest.mark.parametrize("delta", DELTAS)
def test_an_audit_does_not_exceed_the_claim(name: str, delta: float) -> None:
    """A correct mechanism fails for one seed in a million."""
    case = MECHANISMS[name].worst_case()
    claim = case.mechanism.privacy_loss(case.sensitivity).epsilon(delta)
    assert audited_epsilon(case, delta, seed=13) <= claim.upper


@every
@pytest.mark.parametrize("delta", [0.05])
def test_an_audit_comes_close_to_the_claim(name: str, delta: float) -> None:
    """The pair attains the loss: the audit finds nine tenths of it, and misses that for less than one seed in 10^6."""
    case = MECHANISMS[name].worst_case()
    claim = case.mechanism.privacy_loss(case.sensitivity).epsilon(delta)
    assert audited_epsilon(case, delta, seed=14) >= 0.9 * claim.lower


@every
@pytest.mark.parametrize("delta", [0.05])
def test_an_audit_catches_a_mechanism_with_less_noise(name: str, delta: float) -> None:
    """The twin: 0.7 times the noise under the old claim."""
    case = MECHANISMS[name].worst_case()
    claim = case.mechanism.privacy_loss(case.sensitivity).epsilon(delta)
    broken = replace(case, mechanism=LESS_NOISE[name](case.mechanism))
    assert audited_epsilon(broken, delta, seed=15) > claim.upper


@every
def test_error_bars_hold_the_stated_share_of_the_noise(name: str) -> None:
    """Binomial with 400,000 draws: six standard deviations, one seed in 10^9. At most one atom more than needed."""
    mechanism = MECHANISMS[name].worst_case().mechanism
    noise = mechanism.release(np.zeros(RUNS, dtype=np.int64), bits=DeterministicBits(16)).values.astype(np.int64)
    for level in (0.5, 0.8, 0.95, 0.999):
        t = mechanism.half_width(level)
        slack = 6 * math.sqrt(level * (1 - level) / RUNS)
        assert (np.abs(noise) <= t).mean() >= level - slack
        assert (np.abs(noise) <= t - 2).mean() < level + slack
    spread = mechanism.standard_deviation()
    assert noise.std() == pytest.approx(spread, rel=0.02)
    p = np.array([0.1, 0.5, 0.9])
    assert np.abs(mechanism.quantile(p) - np.quantile(noise, p)).max() <= 1


@every
def test_noise_is_fresh_in_every_cell_and_release(name: str) -> None:
    mechanism = MECHANISMS[name].worst_case().mechanism
    bits = DeterministicBits(17)
    zeros = np.zeros((2, 1000), dtype=np.int64)
    first, second = mechanism.release(zeros, bits=bits).values, mechanism.release(zeros, bits=bits).values
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    correlation = np.corrcoef(np.concatenate([first, second]).astype(np.float64))
    assert np.abs(correlation - np.eye(4)).max() < 0.2  # six standard deviations of 1/sqrt(1000)


@every
def test_parameters_are_public_frozen_rationals(name: str) -> None:
    mechanism = MECHANISMS[name].worst_case().mechanism
    for field in fields(mechanism):
        assert isinstance(getattr(mechanism, field.name), Fraction)
        with pytest.raises(AttributeError):
            setattr(mechanism, field.name, Fraction(1))
    assert MECHANISMS[name].kind == name
    assert MECHANISMS[name].guarantee
    assert MECHANISMS[name].source
