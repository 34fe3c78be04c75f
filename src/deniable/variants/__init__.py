"""Guarantees beyond differential privacy: for places, by distance, and for correlated data, by Pufferfish."""

from deniable.variants.kernel import Kernel
from deniable.variants.metric import Metric, MetricLoss, measured_epsilon
from deniable.variants.places import Journey, PlanarLaplace

__all__ = ["Journey", "Kernel", "Metric", "MetricLoss", "PlanarLaplace", "measured_epsilon"]


def __dir__() -> list[str]:
    return sorted(__all__)
