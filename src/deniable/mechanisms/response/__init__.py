"""Answers of one person, randomised before anyone sees them."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.response.estimate import Shares, reports_needed, variance_of_shares
from deniable.mechanisms.response.randomized import RandomizedResponse

RESPONSE: tuple[type[Mechanism], ...] = (RandomizedResponse,)

__all__ = ["RandomizedResponse", "Shares", "reports_needed", "variance_of_shares"]
