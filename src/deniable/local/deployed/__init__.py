"""Protocols as they were deployed, with the state of their clients."""

from deniable.local.deployed.longitudinal import LongitudinalUnary
from deniable.local.deployed.rappor import Rappor

DEPLOYED = (LongitudinalUnary, Rappor)

__all__ = ["DEPLOYED", "LongitudinalUnary", "Rappor"]
