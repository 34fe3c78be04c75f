"""Reports on the wire: a versioned header that names the protocol, then bytes that are checked before they count."""

import struct
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.local.deployed import DEPLOYED
from deniable.local.directions import PrivUnit
from deniable.local.frequencies import PROTOCOLS
from deniable.local.means import MeanProtocol
from deniable.local.prefixes import HeavyHitters
from deniable.local.protocol import FrequencyProtocol, Protocol, PureProtocol
from deniable.local.ranges import RangeProtocol
from deniable.local.sums import ShuffledSum
from deniable.local.values import of_data
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, read_json, shown
from deniable.release import Release
from deniable.rows import Container

_OTHERS = (MeanProtocol, PrivUnit, ShuffledSum, RangeProtocol, HeavyHitters)
KINDS: dict[str, Any] = {each.kind: each for each in (*PROTOCOLS, *DEPLOYED, *_OTHERS)}
VERSION = 1
_HEADER = struct.Struct("<4sB8sI")  # magic, version, fingerprint of the protocol, reports
_MAGIC = b"dnlr"
_MOST = 2**32 - 1
_SENT, _READ = 2**22, 2**26  # bytes of a message that `send` writes, and that a collector reads, at most


def pack(protocol: Protocol, reports: NDArray[np.uint8]) -> bytes:
    """A message with reports of one protocol: 17 bytes, then `protocol.width` bytes a report.

    >>> from deniable.local import DirectResponse, pack, unpack
    >>> protocol = DirectResponse(values=300, epsilon=1)
    >>> message = pack(protocol, protocol.encode([5, 299]))
    >>> len(message), len(unpack(protocol, message))
    (21, 2)
    """
    protocol.check_shape(reports)
    if len(reports) > _MOST:
        raise InvalidParameterError(f"a message holds at most {_MOST} reports")
    return _HEADER.pack(_MAGIC, VERSION, protocol.fingerprint, len(reports)) + reports.tobytes()


def unpack(protocol: Protocol, message: bytes) -> NDArray[np.uint8]:
    """The reports of a message, of shape (people, width).

    Raises: InvalidParameterError for bytes of another version, length or protocol, and reports that no client sends.

    >>> from deniable.local import HadamardResponse, pack, unpack
    >>> protocol = HadamardResponse(values=7, epsilon=1)
    >>> unpack(protocol, pack(protocol, protocol.encode([1, 2, 3]))).shape
    (3, 1)
    """
    if not isinstance(message, bytes) or len(message) < _HEADER.size:
        raise InvalidParameterError("a message must be bytes with a header; this one is too short")
    count = _announced(protocol, message)
    if len(message) != _HEADER.size + count * protocol.width:
        raise InvalidParameterError(f"the message should hold {count} reports of {protocol.width} bytes, and does not")
    reports = np.frombuffer(message, dtype=np.uint8, offset=_HEADER.size).reshape(count, protocol.width)
    if not protocol.sound(reports):
        raise InvalidParameterError("some bytes of the message are no report of this protocol")
    return reports


def _announced(protocol: Protocol, message: bytes) -> int:
    """How many reports a message says it holds."""
    magic, version, fingerprint, count = _HEADER.unpack_from(message)
    if magic != _MAGIC:
        raise InvalidParameterError("these bytes are no message of reports")
    if version != VERSION:
        raise InvalidParameterError(f"the message has version {version}, and this server reads version {VERSION}")
    if fingerprint != protocol.fingerprint:
        raise InvalidParameterError("the message is of another protocol: other values, another epsilon or kind")
    return int(count)


def send(
    protocol: Protocol, values: Container, *, to: BinaryIO, ledger: Ledger | None = None, bits: Bits = SECURE
) -> None:
    """Encode one value a person, and write the reports to a stream as messages, for `Collector.read`.

    Args:
        values: secret; a list or a column.
        to: a binary stream: a pipe, a socket's `makefile("wb")`, a file.
        ledger: as for `encode`.
        bits: leave it out, except in tests.

    >>> import io
    >>> from deniable.local import Collector, DirectResponse, send
    >>> protocol, wire = DirectResponse(values=["no", "yes"], epsilon=1), io.BytesIO()
    >>> send(protocol, ["yes", "no", "yes"], to=wire)
    >>> collector = Collector(protocol)
    >>> collector.read(io.BytesIO(wire.getvalue()))
    3
    """
    reports = protocol.encode(values, ledger=ledger, bits=bits)
    step = max(_SENT // protocol.width, 1)
    for start in range(0, len(reports), step):
        to.write(pack(protocol, reports[start : start + step]))
    to.flush()


class Collector:
    """Counts reports as they come in, in memory that does not grow with their number.

    Args:
        protocol: of all reports.

    >>> from deniable.local import Collector, DirectResponse, pack
    >>> protocol = DirectResponse(values=["no", "yes"], epsilon=1)
    >>> collector = Collector(protocol)
    >>> collector.add(pack(protocol, protocol.encode(["yes"])), sender="device 7")
    >>> collector.people
    1
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.people = 0
        self._tally = protocol.supports(np.zeros((0, protocol.width), dtype=np.uint8))
        self._senders: set[str] = set()

    def add(self, message: bytes, *, sender: str | None = None) -> None:
        """Count a message, all of it or nothing.

        Args:
            sender: who sent it, where a second message of one sender is to be refused.

        Raises: InvalidParameterError for a message that is none, and for a second one of one sender.
        """
        reports = unpack(self.protocol, message)
        if sender is not None:
            if sender in self._senders:
                raise InvalidParameterError("this sender has sent a message already; one is counted")
            if len(reports) != 1:
                raise InvalidParameterError(f"a sender sends one report, got {len(reports)}")
            self._senders.add(sender)
        self.protocol._add(self._tally, reports)  # which `unpack` found sound
        self.people += len(reports)

    def read(self, stream: BinaryIO) -> int:
        """Count the messages of a stream until it ends, each one whole or not at all; returns how many reports came.

        Raises: InvalidParameterError for a message that is none, is longer than 64 MiB, or breaks off; those before it
            are counted, and nothing after it is read.
        """
        before = self.people
        while header := _taken(stream, _HEADER.size):
            if len(header) < _HEADER.size:
                raise InvalidParameterError("the stream broke off in a message; its reports are not counted")
            length = _announced(self.protocol, header) * self.protocol.width
            if length > _READ:
                raise InvalidParameterError(f"a message must have at most {_READ} bytes; send several")
            self.add(header + _taken(stream, length))
        return self.people - before

    def merge(self, other: "Collector") -> None:
        """Add what another server has counted; servers that trust each other send a collector as a pickle.

        Raises: InvalidParameterError for another protocol, and where both have counted one sender.
        """
        if not isinstance(other, Collector) or other is self or other.protocol.fingerprint != self.protocol.fingerprint:
            raise InvalidParameterError("collectors are merged that are two, and of one protocol")
        if self._senders & other._senders:
            raise InvalidParameterError("both collectors have counted one sender; a sender is counted once")
        self._tally += other._tally
        self.people += other.people
        self._senders |= other._senders

    def estimate(self, **asked: Any) -> Release:
        """What the protocol estimates from these reports: see its `estimate`, which takes what is asked beside them.

        Raises: InvalidParameterError before the first report.
        """
        return self.protocol.estimate(self._tally, people=self.people, **asked)


def _taken(stream: BinaryIO, length: int) -> bytes:
    """The next bytes of a stream, fewer if it ends; a stream may hand out less than it is asked for."""
    parts = []
    while length and (part := stream.read(min(length, _SENT))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def protocol_of(text: str, *, epsilon: Real | None = None) -> Protocol:
    """The protocol that a server announced: the inverse of `to_json`.

    Args:
        epsilon: the most that one report may tell, which a client says who does not trust the server. A protocol with
            more is refused, and so is a `ShuffledSum`, which without a shuffler tells a server everything.

    Raises: InvalidParameterError if the text is no protocol, or asks for more.

    >>> from deniable.local import LocalHashing, protocol_of
    >>> protocol = LocalHashing(values=["red", "blue"], epsilon=1)
    >>> protocol_of(protocol.to_json(), epsilon=1) == protocol
    True
    """
    data = read_json(text, "a protocol")
    if not isinstance(data, dict) or (kind := KINDS.get(str(data.pop("protocol", None)))) is None:
        raise InvalidParameterError(f"a protocol is one of {', '.join(KINDS)}, got {shown(text)}")
    if isinstance(values := data.get("values"), list):
        data["values"] = [*map(of_data, values)]
    protocol: Protocol = kind(**data)
    most = None if epsilon is None else positive_rational("epsilon", epsilon)
    if most is not None and not (isinstance(protocol, PureProtocol) and protocol.epsilon <= most):
        raise InvalidParameterError(f"one report of this {protocol.kind} protocol tells more than epsilon={most}")
    return protocol


def best_protocol(
    values: Iterable[object] | int, *, epsilon: Real, share: float = 0.0, width: int | None = None
) -> FrequencyProtocol:
    """The protocol with the least exact variance, from public facts alone; of equally good ones the shortest reports.

    Args:
        values: as in the protocols.
        epsilon: of one report.
        share: for which the variance counts; 0: of rare values.
        width: the most bytes of a report.

    Raises: InvalidParameterError if no protocol has such short reports.

    >>> from deniable.local import best_protocol
    >>> type(best_protocol(4, epsilon=2)).__name__, best_protocol(10**5, epsilon=1, width=4).kind
    ('DirectResponse', 'hadamard')
    """
    given = values if isinstance(values, int) else tuple(values)
    positive_rational("epsilon", epsilon)
    found = [kind(values=given, epsilon=epsilon) for kind in PROTOCOLS]  # type: ignore[arg-type]
    short = [each for each in found if width is None or each.width <= width]
    if not short:
        raise InvalidParameterError(
            f"the shortest report of these values has {min(each.width for each in found)} bytes; allow as many"
        )
    return min(short, key=lambda each: (round(float(each.variance(share, people=1)), 9), each.width))
