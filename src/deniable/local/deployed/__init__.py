"""Local protocols as they were deployed, and clients that keep their state."""

from deniable.local.deployed.client import Client
from deniable.local.deployed.fragments import FragmentPuzzle
from deniable.local.deployed.longitudinal import LongitudinalUnary
from deniable.local.deployed.microsoft import BitFlip, OneBitMean
from deniable.local.deployed.rappor import Rappor
from deniable.local.deployed.sketches import CountMeanSketch, HadamardSketch

DEPLOYED = (BitFlip, CountMeanSketch, FragmentPuzzle, HadamardSketch, LongitudinalUnary, OneBitMean, Rappor)

__all__ = [
    "BitFlip",
    "Client",
    "CountMeanSketch",
    "FragmentPuzzle",
    "HadamardSketch",
    "LongitudinalUnary",
    "OneBitMean",
    "Rappor",
]
