"""A choice among candidates by noisy scores."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.selection.continuous import ContinuousExponential
from deniable.mechanisms.selection.exponential import ExponentialMechanism
from deniable.mechanisms.selection.joint_top_k import JointTopK
from deniable.mechanisms.selection.noisy_max import NoisyMax, noisy_max
from deniable.mechanisms.selection.permute_and_flip import PermuteAndFlip
from deniable.mechanisms.selection.top_k import PeelingTopK

SELECTION: tuple[type[Mechanism], ...] = (
    ExponentialMechanism,
    PermuteAndFlip,
    NoisyMax,
    PeelingTopK,
    JointTopK,
    ContinuousExponential,
)

__all__ = [
    "ContinuousExponential",
    "ExponentialMechanism",
    "JointTopK",
    "NoisyMax",
    "PeelingTopK",
    "PermuteAndFlip",
    "noisy_max",
]
