"""Local privacy: clients randomise one value each, and a server estimates how many people hold which."""

from deniable.local.deployed import (
    BitFlip,
    CountMeanSketch,
    FragmentPuzzle,
    HadamardSketch,
    LongitudinalUnary,
    OneBitMean,
    Rappor,
)
from deniable.local.deployed.client import Client
from deniable.local.directions import PrivUnit
from deniable.local.frequencies import DirectResponse, HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from deniable.local.means import MeanProtocol
from deniable.local.prefixes import HeavyHitters
from deniable.local.price import LocalPrice, consistent, local_price
from deniable.local.protocol import FrequencyProtocol, Protocol, PureProtocol
from deniable.local.ranges import RangeProtocol
from deniable.local.shuffled import Shuffler, analyse, shuffled_loss
from deniable.local.sums import ShuffledSum
from deniable.local.wire import Collector, best_protocol, pack, protocol_of, send, unpack

__all__ = [
    "BitFlip",
    "Client",
    "Collector",
    "CountMeanSketch",
    "DirectResponse",
    "FragmentPuzzle",
    "FrequencyProtocol",
    "HadamardResponse",
    "HadamardSketch",
    "HeavyHitters",
    "LocalHashing",
    "LocalPrice",
    "LongitudinalUnary",
    "MeanProtocol",
    "OneBitMean",
    "PrivUnit",
    "Protocol",
    "PureProtocol",
    "RangeProtocol",
    "Rappor",
    "ShuffledSum",
    "Shuffler",
    "SubsetSelection",
    "UnaryEncoding",
    "analyse",
    "best_protocol",
    "consistent",
    "local_price",
    "pack",
    "protocol_of",
    "send",
    "shuffled_loss",
    "unpack",
]


def __dir__() -> list[str]:
    return sorted(__all__)
