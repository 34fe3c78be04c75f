"""Points chosen by their ranks among secret records: quantiles and extremes."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.ranks.exponential import ExponentialQuantile
from deniable.mechanisms.ranks.extreme import ExponentialExtreme
from deniable.mechanisms.ranks.joint import JointQuantiles
from deniable.mechanisms.ranks.matched_quantile import MatchedQuantile
from deniable.mechanisms.ranks.permute_and_flip import PermuteAndFlipQuantile
from deniable.mechanisms.ranks.points import Points
from deniable.mechanisms.ranks.quartiles import Quartiles
from deniable.mechanisms.ranks.recursive import RecursiveQuantiles
from deniable.mechanisms.ranks.slices import SliceQuantiles

RANKS: tuple[type[Mechanism], ...] = (
    ExponentialQuantile,
    PermuteAndFlipQuantile,
    ExponentialExtreme,
    Quartiles,
    MatchedQuantile,
    RecursiveQuantiles,
    JointQuantiles,
    SliceQuantiles,
)

__all__ = [
    "ExponentialExtreme",
    "ExponentialQuantile",
    "JointQuantiles",
    "MatchedQuantile",
    "PermuteAndFlipQuantile",
    "Points",
    "Quartiles",
    "RecursiveQuantiles",
    "SliceQuantiles",
]
