"""Mechanism design with privacy: auctions, exact truthfulness, matching, and equilibria of large games."""

from deniable.games.auction import BestLie, DigitalGoods
from deniable.games.utility import expected_utility, gain_bound

__all__ = [
    "BestLie",
    "DigitalGoods",
    "expected_utility",
    "gain_bound",
]


def __dir__() -> list[str]:
    return sorted(__all__)
