"""Mechanisms that answer question after question."""

from deniable.mechanisms.base import Mechanism

INTERACTIVE: tuple[type[Mechanism], ...] = ()

__all__ = ["INTERACTIVE"]
