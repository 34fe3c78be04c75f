"""Order statistics: quantiles, extremes, and the cumulative distribution."""

from deniable.statistics.order.cumulative_distribution import CumulativeDistribution, cumulative_distribution
from deniable.statistics.order.extremes import Maximum, Minimum, maximum, minimum
from deniable.statistics.order.interquartile_range import InterquartileRange, interquartile_range
from deniable.statistics.order.quantile import Median, Quantile, median, quantile
from deniable.statistics.order.quantiles import Quantiles, quantiles

__all__ = [
    "CumulativeDistribution",
    "InterquartileRange",
    "Maximum",
    "Median",
    "Minimum",
    "Quantile",
    "Quantiles",
    "cumulative_distribution",
    "interquartile_range",
    "maximum",
    "median",
    "minimum",
    "quantile",
    "quantiles",
]
