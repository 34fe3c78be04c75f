"""Local privacy: clients randomise one value each, and a server estimates how many people hold which."""

from deniable.local.deployed import LongitudinalUnary, Rappor
from deniable.local.deployed.client import Client
from deniable.local.frequencies import DirectResponse, HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from deniable.local.means import MeanProtocol, VectorMean
from deniable.local.protocol import FrequencyProtocol, Protocol, PureProtocol
from deniable.local.ranges import RangeProtocol
from deniable.local.wire import Collector, best_protocol, pack, protocol_of, unpack

__all__ = [
    "Client",
    "Collector",
    "DirectResponse",
    "FrequencyProtocol",
    "HadamardResponse",
    "LocalHashing",
    "LongitudinalUnary",
    "MeanProtocol",
    "Protocol",
    "PureProtocol",
    "RangeProtocol",
    "Rappor",
    "SubsetSelection",
    "UnaryEncoding",
    "VectorMean",
    "best_protocol",
    "pack",
    "protocol_of",
    "unpack",
]


def __dir__() -> list[str]:
    return sorted(__all__)
