"""One family of privacy losses per file."""

from deniable.privacy.composition.restricted import RestrictedLoss
from deniable.privacy.composition.stated import StatedLoss
from deniable.privacy.composition.tuning import BestOfLoss, BestOfPoissonLoss
from deniable.privacy.losses.approximate import ApproximateLoss
from deniable.privacy.losses.bounded_laplace import BoundedLaplaceLoss
from deniable.privacy.losses.concentrated import ConcentratedLoss
from deniable.privacy.losses.discrete_gaussian import DiscreteGaussianLoss
from deniable.privacy.losses.discrete_laplace import DiscreteLaplaceLoss
from deniable.privacy.losses.dominated import DominatedLoss, FunctionLaw
from deniable.privacy.losses.exponential import ExponentialMechanismLoss, PermuteAndFlipLoss
from deniable.privacy.losses.finite import FiniteLoss
from deniable.privacy.losses.gaussian import GaussianLoss
from deniable.privacy.losses.gaussian_dp import GaussianDPLoss
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureLoss
from deniable.privacy.losses.laplace import LaplaceLoss
from deniable.privacy.losses.pure import PureLoss
from deniable.privacy.losses.randomized_response import RandomizedResponseLoss
from deniable.privacy.losses.renyi import RenyiLoss
from deniable.privacy.losses.sparse_vector import SparseVectorLoss
from deniable.privacy.losses.staircase import StaircaseLoss
from deniable.privacy.losses.teaching import TeachingLoss
from deniable.privacy.losses.truncated_laplace import DiscreteTruncatedLaplaceLoss, TruncatedLaplaceLoss

__all__ = [
    "ApproximateLoss",
    "BestOfLoss",
    "BestOfPoissonLoss",
    "BoundedLaplaceLoss",
    "ConcentratedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "DiscreteTruncatedLaplaceLoss",
    "DominatedLoss",
    "ExponentialMechanismLoss",
    "FiniteLoss",
    "FunctionLaw",
    "GaussianDPLoss",
    "GaussianLoss",
    "GaussianMixtureLoss",
    "LaplaceLoss",
    "PermuteAndFlipLoss",
    "PureLoss",
    "RandomizedResponseLoss",
    "RenyiLoss",
    "RestrictedLoss",
    "SparseVectorLoss",
    "StaircaseLoss",
    "StatedLoss",
    "TeachingLoss",
    "TruncatedLaplaceLoss",
]
