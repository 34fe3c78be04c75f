"""The words and the sums: relations, sensitivities, losses, budgets. No randomness, no data."""

from deniable.numbers.interval import Interval
from deniable.numbers.rationals import exact_rational
from deniable.privacy.around.compose import Composed, compose
from deniable.privacy.around.group import GroupLoss, under_replace
from deniable.privacy.around.mixture import PublicMixture, mixture
from deniable.privacy.around.parallel import ParallelLoss, parallel
from deniable.privacy.around.sampling.allocation import RandomlyAllocatedLoss
from deniable.privacy.around.sampling.allocation_replace import AllocatedReplacedLoss
from deniable.privacy.around.sampling.capped import CappedPoissonLoss
from deniable.privacy.around.sampling.draws import DrawnLoss
from deniable.privacy.around.sampling.poisson import PoissonSampledLoss
from deniable.privacy.around.sampling.poisson_replace import PoissonReplacedLoss
from deniable.privacy.around.sampling.sampled_group import SampledGaussianGroupLoss
from deniable.privacy.around.sampling.subsets import SubsetSampledLoss
from deniable.privacy.around.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse
from deniable.privacy.around.shuffling.shuffled import ShuffledLoss
from deniable.privacy.around.training.correlated import (
    CorrelatedLoss,
    ExplicitStrategy,
    ToeplitzStrategy,
    banded_poisson_sampled,
)
from deniable.privacy.around.training.iteration import LastIterateLoss
from deniable.privacy.budget.budget import Budget, Remaining, Rule
from deniable.privacy.calibration.calibrate import calibrate, gaussian_sigma_squared, laplace_scale, split
from deniable.privacy.charge import Charge
from deniable.privacy.currencies.classical import (
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    simple_gaussian_sigma,
)
from deniable.privacy.currencies.concentrated import largest_rho
from deniable.privacy.currencies.gaussian_dp import largest_mu_squared
from deniable.privacy.currencies.tradeoff import TradeOff
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
from deniable.privacy.relation import AddRemove, PrivacyUnit, Relation, Replace
from deniable.privacy.sensitivity import (
    Sensitivity,
    of_clamped_unit_sum,
    of_clipped_sum,
    of_count,
    of_distinct_units,
    of_spread_sum,
)

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
