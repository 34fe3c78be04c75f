"""Private empirical risk minimisation."""

from deniable.learning.erm.minimiser import RiskComparison, RiskMinimiser, compare_minimisers

__all__ = ["RiskComparison", "RiskMinimiser", "compare_minimisers"]
