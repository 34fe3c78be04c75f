"""Guarantees beyond differential privacy, for locations and for correlated data."""

from deniable.variants.journey import Journey
from deniable.variants.kernel import Kernel
from deniable.variants.locations import PlanarLaplace
from deniable.variants.metric import Metric, MetricLoss, measured_epsilon
from deniable.variants.pufferfish import Pufferfish, independent, record_pairs
from deniable.variants.quilts import MarkovChain, MarkovQuilt

__all__ = [
    "Journey",
    "Kernel",
    "MarkovChain",
    "MarkovQuilt",
    "Metric",
    "MetricLoss",
    "PlanarLaplace",
    "Pufferfish",
    "independent",
    "measured_epsilon",
    "record_pairs",
]


def __dir__() -> list[str]:
    return sorted(__all__)
