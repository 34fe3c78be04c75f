"""Protocols for the shares of declared values, one a file."""

from deniable.local.frequencies.direct import DirectResponse
from deniable.local.frequencies.hadamard import HadamardResponse
from deniable.local.frequencies.hashing import LocalHashing
from deniable.local.frequencies.subset import SubsetSelection
from deniable.local.frequencies.unary import UnaryEncoding

PROTOCOLS = (DirectResponse, HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding)

__all__ = ["PROTOCOLS", "DirectResponse", "HadamardResponse", "LocalHashing", "SubsetSelection", "UnaryEncoding"]
