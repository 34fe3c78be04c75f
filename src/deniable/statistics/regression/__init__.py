"""Linear regression, by several methods."""

from deniable.statistics.regression.method import linear_regression

__all__ = ["linear_regression"]
