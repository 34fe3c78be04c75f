"""The words and the sums: relations, sensitivities, losses, budgets. No randomness, no data.

What a user needs stands here. The rest is in folders by kind: `losses`, `sensitivity`, `budget`, `calibration`,
`notions`, `reports`, and, for what turns losses into losses, `composition` and `amplification`.
"""

from deniable.numbers.interval import Interval

# Losses that methods make; imported so that `PrivacyLoss.from_data` finds them.
from deniable.privacy.amplification.sampling import (  # noqa: F401
    allocation,
    allocation_replace,
    capped,
    draws,
    poisson,
    poisson_replace,
    sampled_group,
    subsets,
)
from deniable.privacy.amplification.shuffling.shuffled import ShuffledLoss
from deniable.privacy.amplification.training import correlated, iteration  # noqa: F401
from deniable.privacy.budget import Budget, Filter
from deniable.privacy.calibration.calibrate import calibrate
from deniable.privacy.composition.compose import compose
from deniable.privacy.composition.mixture import mixture
from deniable.privacy.composition.parallel import parallel
from deniable.privacy.composition.tuning import BestOfLoss
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses import (
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianDPLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PureLoss,
    RandomizedResponseLoss,
    RenyiLoss,
)
from deniable.privacy.notions.loss_variable import outcome_loss
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.relation import AddRemove, PrivacyUnit, Relation, Replace
from deniable.privacy.reports.imports import of_dp_event, of_opacus
from deniable.privacy.sensitivity import Sensitivity, of_clipped_sum, of_count

__all__ = [
    "AddRemove",
    "ApproximateLoss",
    "BestOfLoss",
    "Budget",
    "ConcentratedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "ExponentialMechanismLoss",
    "Filter",
    "FiniteLoss",
    "GaussianDPLoss",
    "GaussianLoss",
    "GaussianMixtureLoss",
    "Interval",
    "LaplaceLoss",
    "PrivacyLoss",
    "PrivacyUnit",
    "PureLoss",
    "RandomizedResponseLoss",
    "Relation",
    "RenyiLoss",
    "Replace",
    "Sensitivity",
    "ShuffledLoss",
    "TradeOff",
    "calibrate",
    "compose",
    "mixture",
    "of_clipped_sum",
    "of_count",
    "of_dp_event",
    "of_opacus",
    "outcome_loss",
    "parallel",
]


def __dir__() -> list[str]:
    return sorted(__all__)
