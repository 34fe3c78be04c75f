"""Noise that is fitted to the data at hand, with its guarantee for all data."""

from deniable.mechanisms.base import Mechanism

INSTANCE: tuple[type[Mechanism], ...] = ()

__all__ = ["INSTANCE"]
