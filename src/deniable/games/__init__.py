"""Mechanism design with privacy: auctions, exact truthfulness, matching, and equilibria of large games."""

from deniable.games.auction import DigitalGoods
from deniable.games.billboard import Billboard, billboard
from deniable.games.congestion import CongestionGame, Play
from deniable.games.counters import Counters
from deniable.games.finite import Lie, joint_loss, largest_gain
from deniable.games.imposing import Imposing
from deniable.games.matching import Matched, PrivateMatching
from deniable.games.utility import expected_utility, gain_bound
from deniable.games.vcg import Chosen, public_project, second_price, vcg

__all__ = [
    "Billboard",
    "Chosen",
    "CongestionGame",
    "Counters",
    "DigitalGoods",
    "Imposing",
    "Lie",
    "Matched",
    "Play",
    "PrivateMatching",
    "billboard",
    "expected_utility",
    "gain_bound",
    "joint_loss",
    "largest_gain",
    "public_project",
    "second_price",
    "vcg",
]


def __dir__() -> list[str]:
    return sorted(__all__)
