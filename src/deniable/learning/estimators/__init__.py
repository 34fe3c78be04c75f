"""Estimators with the conventions of scikit-learn, which they do not import."""

from deniable.learning.estimators.bayes import CategoricalNB, GaussianNB, NearestCentroid
from deniable.learning.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from deniable.learning.estimators.kmeans import KMeans
from deniable.learning.estimators.logistic import LogisticRegression
from deniable.learning.estimators.mixture import GaussianMixture
from deniable.learning.estimators.regression import LinearRegression, Ridge
from deniable.learning.estimators.scaling import PCA, StandardScaler
from deniable.learning.estimators.search import PrivateGridSearch
from deniable.learning.estimators.svm import LinearSVM
from deniable.learning.estimators.tree import DecisionTreeClassifier

__all__ = [
    "PCA",
    "CategoricalNB",
    "DecisionTreeClassifier",
    "GaussianMixture",
    "GaussianNB",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "KMeans",
    "LinearRegression",
    "LinearSVM",
    "LogisticRegression",
    "NearestCentroid",
    "PrivateGridSearch",
    "Ridge",
    "StandardScaler",
]
