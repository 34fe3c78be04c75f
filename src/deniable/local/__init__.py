"""Local privacy: clients randomise values, a server estimates from reports.

Protocols as they were deployed, and clients that keep their state, are in `deployed`.
"""

from deniable.local import deployed
from deniable.local.directions import PrivUnit
from deniable.local.frequencies import DirectResponse, HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from deniable.local.means import MeanProtocol
from deniable.local.messages import pack, unpack
from deniable.local.prefixes import HeavyHitters
from deniable.local.price import consistent, local_price
from deniable.local.protocol import Protocol
from deniable.local.ranges import RangeProtocol
from deniable.local.shuffled import Shuffler, analyse, shuffled_loss
from deniable.local.sums import ShuffledSum
from deniable.local.wire import Collector, best_protocol, protocol_of, send

__all__ = [
    "Collector",
    "DirectResponse",
    "HadamardResponse",
    "HeavyHitters",
    "LocalHashing",
    "MeanProtocol",
    "PrivUnit",
    "Protocol",
    "RangeProtocol",
    "ShuffledSum",
    "Shuffler",
    "SubsetSelection",
    "UnaryEncoding",
    "analyse",
    "best_protocol",
    "consistent",
    "deployed",
    "local_price",
    "pack",
    "protocol_of",
    "send",
    "shuffled_loss",
    "unpack",
]


def __dir__() -> list[str]:
    return sorted(__all__)
