"""Estimators with the conventions of scikit-learn, which they do not import."""

from deniable.learning.estimators.kmeans import KMeans
from deniable.learning.estimators.logistic import LogisticRegression
from deniable.learning.estimators.svm import LinearSVM

__all__ = ["KMeans", "LinearSVM", "LogisticRegression"]
