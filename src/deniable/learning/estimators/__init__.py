"""Estimators with the conventions of scikit-learn, which they do not import."""

from deniable.learning.estimators.logistic import LogisticRegression

__all__ = ["LogisticRegression"]
