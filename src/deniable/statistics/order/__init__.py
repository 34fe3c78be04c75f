"""Order statistics: quantiles, extremes, and the cumulative distribution."""

from deniable.statistics.order.cumulative_distribution import cumulative_distribution
from deniable.statistics.order.extremes import maximum, minimum
from deniable.statistics.order.interquartile_range import interquartile_range
from deniable.statistics.order.quantile import median, quantile
from deniable.statistics.order.quantiles import quantiles

__all__ = [
    "cumulative_distribution",
    "interquartile_range",
    "maximum",
    "median",
    "minimum",
    "quantile",
    "quantiles",
]
