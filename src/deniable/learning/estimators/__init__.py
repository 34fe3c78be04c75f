"""Estimators with the conventions of scikit-learn, which they do not import."""

from deniable.learning.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from deniable.learning.estimators.kmeans import KMeans
from deniable.learning.estimators.logistic import LogisticRegression
from deniable.learning.estimators.svm import LinearSVM
from deniable.learning.estimators.tree import DecisionTreeClassifier

__all__ = [
    "DecisionTreeClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "KMeans",
    "LinearSVM",
    "LogisticRegression",
]
