"""Privacy losses, and the sensitivities, budgets and calibration around them.

No randomness, no data. What a user needs stands here. The rest is in folders by kind: `losses` (the statements),
`sensitivity`, `budget`, `calibration`, `notions`, `reports`, and, for what turns losses into losses, `composition` and
`amplification`.

What a user needs stands here. The rest is in folders by kind: `losses` (the statements), `sensitivity`, `budget`,
`calibration`, `notions`, `reports`, and, for what turns losses into losses, `composition` and `amplification`.
"""

from deniable.numbers.interval import Interval
from deniable.privacy.budget import Budget, Filter
from deniable.privacy.calibration.calibrate import calibrate
from deniable.privacy.constructors import (
    ApproximateLoss,
    BestOfLoss,
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
    ShuffledLoss,
    mixture,
    parallel,
)
from deniable.privacy.loss import PrivacyLoss, compose
from deniable.privacy.notions.loss_variable import outcome_loss
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.relation import AddRemove, PrivacyUnit, Relation, Replace
from deniable.privacy.reports.deployments import Deployment, deployments
from deniable.privacy.reports.imports import of_dp_event, of_opacus
from deniable.privacy.sensitivity import Sensitivity, of_clipped_sum, of_count
from deniable.privacy.statement import Statement

__all__ = [
    "AddRemove",
    "ApproximateLoss",
    "BestOfLoss",
    "Budget",
    "ConcentratedLoss",
    "Deployment",
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
    "Statement",
    "TradeOff",
    "calibrate",
    "compose",
    "deployments",
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
