"""Analysis that reuses data: holdouts, leaderboards, and generalisation bounds."""

from deniable.adaptive.gaussian import GaussianAnswers
from deniable.adaptive.generalisation import (
    described_gap,
    expected_gap,
    posterior_gap,
    selected_gap,
    stable_gap,
    uniform_stability,
)
from deniable.adaptive.ladder import Ladder
from deniable.adaptive.learner import learn_class, learn_interval, learn_threshold
from deniable.adaptive.thresholdout import ReusableHoldout

__all__ = [
    "GaussianAnswers",
    "Ladder",
    "ReusableHoldout",
    "described_gap",
    "expected_gap",
    "learn_class",
    "learn_interval",
    "learn_threshold",
    "posterior_gap",
    "selected_gap",
    "stable_gap",
    "uniform_stability",
]


def __dir__() -> list[str]:
    return sorted(__all__)
