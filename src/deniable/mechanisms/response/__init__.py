"""Answers of one person, randomised before anyone sees them."""

from deniable.mechanisms.base import Mechanism

RESPONSE: tuple[type[Mechanism], ...] = ()

__all__ = ["RESPONSE"]
