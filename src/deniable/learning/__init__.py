"""Private learning: training plans, estimators, empirical risk minimisation, PATE.

Losses, feasible sets and error rates are in `losses`, `sets` and `rates`.
"""

from deniable.learning import losses, rates, sets
from deniable.learning.clips import AdaptiveClip, Clip
from deniable.learning.descent.noisy import NoisyDescent
from deniable.learning.descent.projected import descend, descend_by_samples
from deniable.learning.erm.minimiser import RiskMinimiser, compare_minimisers
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
from deniable.learning.groups import accuracy_by_group
from deniable.learning.pate.account import VoteAccount
from deniable.learning.pate.teachers import Teachers
from deniable.learning.pate.vote import Vote
from deniable.learning.plan import TrainingPlan
from deniable.learning.samplers import BallsInBins, CyclicPoisson, FixedSize, Poisson, ShuffledEpochs, TruncatedPoisson

__all__ = [
    "PCA",
    "AdaptiveClip",
    "BallsInBins",
    "CategoricalNB",
    "Clip",
    "CyclicPoisson",
    "DecisionTreeClassifier",
    "FixedSize",
    "GaussianMixture",
    "GaussianNB",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "KMeans",
    "LinearRegression",
    "LinearSVM",
    "LogisticRegression",
    "NearestCentroid",
    "NoisyDescent",
    "Poisson",
    "PrivateGridSearch",
    "Ridge",
    "RiskMinimiser",
    "ShuffledEpochs",
    "StandardScaler",
    "Teachers",
    "TrainingPlan",
    "TruncatedPoisson",
    "Vote",
    "VoteAccount",
    "accuracy_by_group",
    "compare_minimisers",
    "descend",
    "descend_by_samples",
    "losses",
    "rates",
    "sets",
]


def __dir__() -> list[str]:
    return sorted(__all__)
