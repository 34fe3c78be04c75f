"""Private learning: plans and estimators; losses, feasible sets, descents, and how near to the best they end."""

from deniable.learning.clips import AdaptiveClip, Clip
from deniable.learning.correlated import Banded, Buffered, Tree, Uses
from deniable.learning.descent.noisy import NoisyDescent
from deniable.learning.descent.projected import Descent, descend, descend_by_samples
from deniable.learning.erm.minimiser import RiskComparison, RiskMinimiser, compare_minimisers
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
from deniable.learning.losses import Hinge, HuberisedHinge, Logistic, Loss, Squared
from deniable.learning.pate.account import VoteAccount
from deniable.learning.pate.teachers import Answers, Teachers
from deniable.learning.pate.vote import Vote
from deniable.learning.plan import TrainingPlan, TrainingRun
from deniable.learning.rates import (
    descent_bound,
    exponential_excess_risk,
    noisy_descent_excess_risk,
    noisy_descent_steps,
    optimal_rate,
)
from deniable.learning.samplers import BallsInBins, CyclicPoisson, FixedSize, Poisson, ShuffledEpochs, TruncatedPoisson
from deniable.learning.sets import Box, FeasibleSet, L1Ball, L2Ball, Simplex

__all__ = [
    "PCA",
    "AdaptiveClip",
    "Answers",
    "BallsInBins",
    "Banded",
    "Box",
    "Buffered",
    "CategoricalNB",
    "Clip",
    "CyclicPoisson",
    "DecisionTreeClassifier",
    "Descent",
    "FeasibleSet",
    "FixedSize",
    "GaussianMixture",
    "GaussianNB",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Hinge",
    "HuberisedHinge",
    "KMeans",
    "L1Ball",
    "L2Ball",
    "LinearRegression",
    "LinearSVM",
    "Logistic",
    "LogisticRegression",
    "Loss",
    "NearestCentroid",
    "NoisyDescent",
    "Poisson",
    "PrivateGridSearch",
    "Ridge",
    "RiskComparison",
    "RiskMinimiser",
    "ShuffledEpochs",
    "Simplex",
    "Squared",
    "StandardScaler",
    "Teachers",
    "TrainingPlan",
    "TrainingRun",
    "Tree",
    "TruncatedPoisson",
    "Uses",
    "Vote",
    "VoteAccount",
    "accuracy_by_group",
    "compare_minimisers",
    "descend",
    "descend_by_samples",
    "descent_bound",
    "exponential_excess_risk",
    "noisy_descent_excess_risk",
    "noisy_descent_steps",
    "optimal_rate",
]


def __dir__() -> list[str]:
    return sorted(__all__)
