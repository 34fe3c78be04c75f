"""A choice among candidates by noisy scores."""

from deniable.mechanisms.base import Mechanism

SELECTION: tuple[type[Mechanism], ...] = ()

__all__ = ["SELECTION"]
