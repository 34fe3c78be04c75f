"""Protocols as they were deployed, with the state of their clients."""

from deniable.local.deployed.fragments import FragmentPuzzle
from deniable.local.deployed.longitudinal import LongitudinalUnary
from deniable.local.deployed.microsoft import BitFlip, OneBitMean
from deniable.local.deployed.rappor import Rappor
from deniable.local.deployed.sketches import CountMeanSketch, HadamardSketch

DEPLOYED = (BitFlip, CountMeanSketch, FragmentPuzzle, HadamardSketch, LongitudinalUnary, OneBitMean, Rappor)

__all__ = [
    "DEPLOYED",
    "BitFlip",
    "CountMeanSketch",
    "FragmentPuzzle",
    "HadamardSketch",
    "LongitudinalUnary",
    "OneBitMean",
    "Rappor",
]
