"""Hypothesis tests with controlled error rates."""

from deniable.statistics.hypothesis.anova import Anova, anova
from deniable.statistics.hypothesis.binomial import BinomialTest, binomial_test
from deniable.statistics.hypothesis.chi_squared import (
    ChiSquaredFit,
    ChiSquaredIndependence,
    chi_squared_fit,
    chi_squared_independence,
)
from deniable.statistics.hypothesis.mann_whitney import MannWhitney, mann_whitney
from deniable.statistics.hypothesis.subsampled import SubsampledTest, subsampled_test
from deniable.statistics.hypothesis.t_tests import (
    OneSampleTTest,
    TwoSampleTTest,
    one_sample_t_test,
    two_sample_t_test,
)

__all__ = [
    "Anova",
    "BinomialTest",
    "ChiSquaredFit",
    "ChiSquaredIndependence",
    "MannWhitney",
    "OneSampleTTest",
    "SubsampledTest",
    "TwoSampleTTest",
    "anova",
    "binomial_test",
    "chi_squared_fit",
    "chi_squared_independence",
    "mann_whitney",
    "one_sample_t_test",
    "subsampled_test",
    "two_sample_t_test",
]
