"""Hypothesis tests with controlled error rates."""

from deniable.statistics.hypothesis.anova import anova
from deniable.statistics.hypothesis.binomial import binomial_test
from deniable.statistics.hypothesis.chi_squared import (
    chi_squared_fit,
    chi_squared_independence,
)
from deniable.statistics.hypothesis.mann_whitney import mann_whitney
from deniable.statistics.hypothesis.subsampled import subsampled_test
from deniable.statistics.hypothesis.t_tests import (
    one_sample_t_test,
    two_sample_t_test,
)

__all__ = [
    "anova",
    "binomial_test",
    "chi_squared_fit",
    "chi_squared_independence",
    "mann_whitney",
    "one_sample_t_test",
    "subsampled_test",
    "two_sample_t_test",
]
