"""The words and the sums: relations, sensitivities, losses, budgets. No randomness, no data."""

from deniable.privacy.calibration.calibrate import calibrate, gaussian_sigma_squared, laplace_scale, split
from deniable.privacy.compose import Composed, compose
from deniable.privacy.currencies.classical import (
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    simple_gaussian_sigma,
)
from deniable.privacy.currencies.concentrated import largest_rho
from deniable.privacy.currencies.gaussian_dp import largest_mu_squared
from deniable.privacy.currencies.tradeoff import TradeOff
from deniable.privacy.exact import exact_rational
from deniable.privacy.filters import Budget, Charge, Remaining, Rule
from deniable.privacy.group import GroupLoss, under_replace
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses import (
    ApproximateLoss,
    BestOfLoss,
    BestOfPoissonLoss,
    BoundedLaplaceLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    DiscreteTruncatedLaplaceLoss,
    DominatedLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    FunctionLaw,
    GaussianDPLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PermuteAndFlipLoss,
    PureLoss,
    RandomizedResponseLoss,
    RenyiLoss,
    Restricted,
    SparseVectorLoss,
    StaircaseLoss,
    Stated,
    TeachingLoss,
    TruncatedLaplaceLoss,
)
from deniable.privacy.parallel import ParallelLoss, parallel
from deniable.privacy.public_mixture import PublicMixture, mixture
from deniable.privacy.relation import AddRemove, PrivacyUnit, Relation, Replace
from deniable.privacy.sampling.allocation import RandomlyAllocatedLoss
from deniable.privacy.sampling.allocation_replace import AllocatedReplacedLoss
from deniable.privacy.sampling.capped import CappedPoissonLoss
from deniable.privacy.sampling.draws import DrawnLoss
from deniable.privacy.sampling.poisson import PoissonSampledLoss
from deniable.privacy.sampling.poisson_replace import PoissonReplacedLoss
from deniable.privacy.sampling.sampled_group import SampledGaussianGroupLoss
from deniable.privacy.sampling.subsets import SubsetSampledLoss
from deniable.privacy.sensitivity import (
    Sensitivity,
    of_clamped_unit_sum,
    of_clipped_sum,
    of_count,
    of_distinct_units,
    of_spread_sum,
)
from deniable.privacy.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse
from deniable.privacy.shuffling.shuffled import ShuffledLoss
from deniable.privacy.training.correlated import (
    CorrelatedLoss,
    ExplicitStrategy,
    ToeplitzStrategy,
    banded_poisson_sampled,
)
from deniable.privacy.training.iteration import LastIterateLoss

__all__ = [
    "AddRemove",
    "AllocatedReplacedLoss",
    "AnyRandomizer",
    "ApproximateLoss",
    "BestOfLoss",
    "BestOfPoissonLoss",
    "BoundedLaplaceLoss",
    "Budget",
    "CappedPoissonLoss",
    "Channel",
    "Charge",
    "Composed",
    "ConcentratedLoss",
    "CorrelatedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "DiscreteTruncatedLaplaceLoss",
    "DominatedLoss",
    "DrawnLoss",
    "ExplicitStrategy",
    "ExponentialMechanismLoss",
    "FiniteLoss",
    "FunctionLaw",
    "GaussianDPLoss",
    "GaussianLoss",
    "GaussianMixtureLoss",
    "GroupLoss",
    "Interval",
    "KaryResponse",
    "LaplaceLoss",
    "LastIterateLoss",
    "ParallelLoss",
    "PermuteAndFlipLoss",
    "PoissonReplacedLoss",
    "PoissonSampledLoss",
    "PrivacyLoss",
    "PrivacyUnit",
    "PublicMixture",
    "PureLoss",
    "RandomizedResponseLoss",
    "RandomlyAllocatedLoss",
    "Relation",
    "Remaining",
    "RenyiLoss",
    "Replace",
    "Restricted",
    "Rule",
    "SampledGaussianGroupLoss",
    "Sensitivity",
    "ShuffledLoss",
    "SparseVectorLoss",
    "StaircaseLoss",
    "Stated",
    "SubsetSampledLoss",
    "TeachingLoss",
    "ToeplitzStrategy",
    "TradeOff",
    "TruncatedLaplaceLoss",
    "analytic_gaussian_sigma",
    "banded_poisson_sampled",
    "calibrate",
    "classical_gaussian_sigma",
    "compose",
    "exact_rational",
    "gaussian_sigma_squared",
    "laplace_scale",
    "largest_mu_squared",
    "largest_rho",
    "mixture",
    "of_clamped_unit_sum",
    "of_clipped_sum",
    "of_count",
    "of_distinct_units",
    "of_spread_sum",
    "parallel",
    "simple_gaussian_sigma",
    "split",
    "under_replace",
]
