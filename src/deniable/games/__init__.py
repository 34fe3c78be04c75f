"""Mechanism design with privacy: auctions, truthfulness, matching, equilibria."""

from deniable.games.auction import DigitalGoods
from deniable.games.billboard import Billboard, billboard
from deniable.games.congestion import CongestionGame
from deniable.games.counters import Counters
from deniable.games.finite import joint_loss, largest_gain
from deniable.games.imposing import Imposing
from deniable.games.matching import PrivateMatching
from deniable.games.utility import expected_utility, gain_bound
from deniable.games.vcg import public_project, second_price, vcg

__all__ = [
    "Billboard",
    "CongestionGame",
    "Counters",
    "DigitalGoods",
    "Imposing",
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
