"""Linear regression, by several methods."""

from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.linear import Regression
from deniable.statistics.regression.method import linear_regression
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen

__all__ = ["AdaptiveRidge", "Regression", "SufficientRegression", "TheilSen", "linear_regression"]
