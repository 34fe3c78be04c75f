"""Estimators with the conventions of scikit-learn, which they do not import."""

from deniable.learning.estimators.kmeans import KMeans
from deniable.learning.estimators.logistic import LogisticRegression

__all__ = ["KMeans", "LogisticRegression"]
