"""Mechanisms that keep a definition and protect nobody; ledgers refuse them."""

from deniable.mechanisms.base import Mechanism

TEACHING: tuple[type[Mechanism], ...] = ()

__all__ = ["TEACHING"]
