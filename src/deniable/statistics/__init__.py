"""Private statistics of arrays, series and frames.

Each has a function, `mean(values, bounds=(0, 100), epsilon=1)`, and behind it a class with the same parameters,
`Mean(bounds=(0, 100), epsilon=1)`, which knows its loss and its expected error before it sees a row.
"""

from deniable.statistics import models
from deniable.statistics.bootstrap import bootstrap
from deniable.statistics.count import Count, count
from deniable.statistics.covariances import Correlation, Covariance, correlation, covariance
from deniable.statistics.histograms import Histogram, histogram
from deniable.statistics.hypothesis import *  # noqa: F403
from deniable.statistics.hypothesis import __all__ as _hypothesis
from deniable.statistics.key_counts import KeyCounts, key_counts
from deniable.statistics.means import Mean, mean
from deniable.statistics.order import *  # noqa: F403
from deniable.statistics.order import __all__ as _order
from deniable.statistics.regression import AdaptiveRidge, SufficientRegression, TheilSen, linear_regression
from deniable.statistics.sums import Sum, sum
from deniable.statistics.top import Mode, TopK, mode, top_k
from deniable.statistics.variances import StandardDeviation, Variance, standard_deviation, variance
from deniable.statistics.vectors import VectorCovariance, VectorMean, vector_covariance, vector_mean

__all__ = [  # noqa: PLE0604 - strings, all of them
    "AdaptiveRidge",
    "Correlation",
    "Count",
    "Covariance",
    "Histogram",
    "KeyCounts",
    "Mean",
    "Mode",
    "StandardDeviation",
    "SufficientRegression",
    "Sum",
    "TheilSen",
    "TopK",
    "Variance",
    "VectorCovariance",
    "VectorMean",
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
