"""Private statistics of arrays, series and frames.

`mean(values, bounds=(0, 100), epsilon=1)` is the answer; `plan(mean, bounds=(0, 100), epsilon=1)` is the question
without rows: its loss, mechanism and expected error.
"""

from deniable.statistics import models
from deniable.statistics.bootstrap import bootstrap
from deniable.statistics.call import plan
from deniable.statistics.count import count
from deniable.statistics.covariances import correlation, covariance
from deniable.statistics.histograms import histogram
from deniable.statistics.hypothesis import *  # noqa: F403
from deniable.statistics.hypothesis import __all__ as _hypothesis
from deniable.statistics.key_counts import key_counts
from deniable.statistics.means import mean
from deniable.statistics.order import *  # noqa: F403
from deniable.statistics.order import __all__ as _order
from deniable.statistics.regression import linear_regression
from deniable.statistics.sums import sum
from deniable.statistics.top import mode, top_k
from deniable.statistics.variances import standard_deviation, variance
from deniable.statistics.vectors import vector_covariance, vector_mean

__all__ = [  # noqa: PLE0604 - strings, all of them
    "bootstrap",
    "correlation",
    "count",
    "covariance",
    "histogram",
    "key_counts",
    "linear_regression",
    "mean",
    "mode",
    "models",
    "plan",
    "standard_deviation",
    "sum",
    "top_k",
    "variance",
    "vector_covariance",
    "vector_mean",
    *_hypothesis,
    *_order,
]


def __dir__() -> list[str]:
    return sorted(__all__)
