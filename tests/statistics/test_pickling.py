"""Releases of all statistics go through pickle: to another process, into a cache, onto a disk."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from deniable import statistics as dn
from deniable.noise.bits import DeterministicBits
from deniable.release import Release
from deniable.statistics.means import Mean
from deniable.statistics.statistic import Statistic
from deniable.statistics.variances import StandardDeviation

DRAW = np.random.default_rng(1)
VALUES = DRAW.normal(50, 10, 200)
PAIRS = np.stack([VALUES, VALUES + DRAW.normal(0, 5, 200)], axis=1)
KEYS = np.array(["a", "b", "c", "a"] * 50)
BOUNDS = (0, 100)
ONE: dict[str, Any] = {"epsilon": 4, "bits": DeterministicBits(1)}


def _block_test(block: np.ndarray) -> float:
    return float(ttest_1samp(block, 50).pvalue)


def _bootstrapped(kind: Any) -> Release:
    plan = Mean(bounds=BOUNDS, epsilon=4)
    model = dn.models.Normal(mean=50, deviation=10)
    return dn.bootstrap(plan, plan(VALUES), model, size=200, kind=kind, runs=20, bits=DeterministicBits(1))


RELEASES: dict[str, Callable[[], Release]] = {
    "anova": lambda: dn.anova(VALUES, KEYS, bounds=BOUNDS, keys=["a", "b"], simulations=50, **ONE),
    "binomial_test": lambda: dn.binomial_test(VALUES > 50, share=0.5, simulations=50, **ONE),
    "bootstrap_percentile": lambda: _bootstrapped("percentile"),
    "bootstrap_pivotal": lambda: _bootstrapped("pivotal"),
    "chi_squared_fit": lambda: dn.chi_squared_fit(
        KEYS, keys=["a", "b", "c"], shares=[0.4, 0.3, 0.3], simulations=50, **ONE
    ),
    "chi_squared_independence": lambda: dn.chi_squared_independence(
        KEYS, KEYS, keys=["a", "b"], other_keys=["a", "b"], simulations=50, **ONE
    ),
    "correlation": lambda: dn.correlation(PAIRS, bounds=[BOUNDS, BOUNDS], **ONE),
    "count": lambda: dn.count(VALUES, **ONE),
    "covariance": lambda: dn.covariance(PAIRS, bounds=[BOUNDS, "auto"], **ONE),
    "cumulative_distribution": lambda: dn.cumulative_distribution(VALUES, [20, 50, 70], **ONE),
    "histogram": lambda: dn.histogram(VALUES, bins=[0, 40, 60, 100], other=True, **ONE),
    "interquartile_range": lambda: dn.interquartile_range(VALUES, bounds=BOUNDS, **ONE),
    "key_counts": lambda: dn.key_counts(KEYS, delta="1e-6", **ONE),
    "linear_regression": lambda: dn.linear_regression(
        PAIRS[:, :1], PAIRS[:, 1], bounds=[BOUNDS], target_bounds=BOUNDS, **ONE
    ),
    "linear_regression_ada_ssp": lambda: dn.linear_regression(
        PAIRS[:, :1], PAIRS[:, 1], bounds=[BOUNDS], target_bounds=BOUNDS, method="ada_ssp", delta="1e-6", **ONE
    ),
    "linear_regression_theil_sen": lambda: dn.linear_regression(
        PAIRS[:, :1], PAIRS[:, 1], bounds=[BOUNDS], target_bounds=BOUNDS, method="theil_sen", **ONE
    ),
    "mann_whitney": lambda: dn.mann_whitney(VALUES, PAIRS[:, 1], simulations=50, **ONE),
    "maximum": lambda: dn.maximum(VALUES, bounds=BOUNDS, **ONE),
    "mean": lambda: dn.mean(VALUES, bounds=BOUNDS, **ONE),
    "median": lambda: dn.median(VALUES, bounds="auto", **ONE),
    "minimum": lambda: dn.minimum(VALUES, bounds=BOUNDS, **ONE),
    "mode": lambda: dn.mode(KEYS, keys=["a", "b"], **ONE),
    "one_sample_t_test": lambda: dn.one_sample_t_test(VALUES, mean=50, bounds=BOUNDS, simulations=50, **ONE),
    "quantile": lambda: dn.quantile(VALUES, 0.9, bounds=BOUNDS, **ONE),
    "quantiles": lambda: dn.quantiles(VALUES, [0.25, 0.75], bounds=BOUNDS, **ONE),
    "standard_deviation": lambda: dn.standard_deviation(VALUES, bounds=BOUNDS, **ONE),
    "subsampled_test": lambda: dn.subsampled_test(VALUES, test=_block_test, blocks=10, simulations=50, **ONE),
    "sum": lambda: dn.sum(VALUES, bounds=BOUNDS, **ONE),
    "top_k": lambda: dn.top_k(KEYS, k=2, keys=["a", "b", "c"], **ONE),
    "two_sample_t_test": lambda: dn.two_sample_t_test(VALUES, PAIRS[:, 1], bounds=BOUNDS, simulations=50, **ONE),
    "variance": lambda: dn.variance(VALUES, bounds=BOUNDS, **ONE),
    "vector_covariance": lambda: dn.vector_covariance(PAIRS, bounds=[BOUNDS, BOUNDS], deviations=[20, 20], **ONE),
    "vector_mean": lambda: dn.vector_mean(PAIRS, bounds=[BOUNDS, BOUNDS], deviations=[20, 20], **ONE),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_the_same_after_pickle(name: str) -> None:
    release = RELEASES[name]()
    back = pickle.loads(pickle.dumps(release))
    assert isinstance(back, Release)
    assert repr(back) == repr(release)
    assert back.to_dicts() == release.to_dicts()
    for level in (0.5, 0.95):
        for column, bounds in release.intervals(level).items():
            assert np.array_equal(back.intervals(level)[column], bounds, equal_nan=True)


def test_every_statistic_is_among_them() -> None:
    functions = {getattr(dn, name).__name__ for name in dn.__all__ if name.islower() and name not in ("models", "plan")}
    assert functions <= {name.removesuffix("_pivotal") for name in RELEASES}


def test_the_question_is_the_same_after_pickle() -> None:
    plan = StandardDeviation(bounds="auto", epsilon=1, delta="1e-6")
    back = pickle.loads(pickle.dumps(plan))
    assert isinstance(back, Statistic)
    assert (back, back.privacy_loss) == (plan, plan.privacy_loss)
