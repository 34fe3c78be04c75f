"""Mechanisms made of mechanisms."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.wrappers.best_of import BestOf
from deniable.mechanisms.wrappers.best_of_poisson import BestOfPoisson
from deniable.mechanisms.wrappers.grouped import Grouped
from deniable.mechanisms.wrappers.mixed import Mixed
from deniable.mechanisms.wrappers.poisson_sampled import PoissonSampled
from deniable.mechanisms.wrappers.post_processed import PostProcessed, define
from deniable.mechanisms.wrappers.subset_sampled import SubsetSampled

WRAPPERS: tuple[type[Mechanism], ...] = (
    PostProcessed,
    Mixed,
    Grouped,
    PoissonSampled,
    SubsetSampled,
    BestOf,
    BestOfPoisson,
)

__all__ = [
    "BestOf",
    "BestOfPoisson",
    "Grouped",
    "Mixed",
    "PoissonSampled",
    "PostProcessed",
    "SubsetSampled",
    "define",
]
