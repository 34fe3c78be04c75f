"""Mechanisms made of mechanisms."""

from deniable.mechanisms.base import Mechanism

WRAPPERS: tuple[type[Mechanism], ...] = ()

__all__ = ["WRAPPERS"]
