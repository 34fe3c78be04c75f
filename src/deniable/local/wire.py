"""Reports on the wire: streams of messages, and collectors."""

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.local.deployed import DEPLOYED
from deniable.local.directions import PrivUnit
from deniable.local.frequencies import PROTOCOLS
from deniable.local.means import MeanProtocol
from deniable.local.messages import HEADER, announced, pack, unpack
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
KINDS: dict[str, type[Protocol]] = {each.kind: each for each in (*PROTOCOLS, *DEPLOYED, *_OTHERS)}
_SENT_BYTES = 2**22  # of a message that `send` writes
_MAX_READ_BYTES = 2**26  # of a message that a collector reads: it bounds memory


def send(
    protocol: Protocol, values: Container, *, to: BinaryIO, ledger: Ledger | None = None, bits: Bits = SECURE
) -> None:
    """Encode one value a person, and write the reports to a stream as messages.

    `Collector.read` counts them at the other end.

    Args:
        protocol: of all reports.
        values: secret; a list or a column.
        to: a binary stream: a pipe, the `makefile("wb")` of a socket, a file.
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
    step = max(_SENT_BYTES // protocol.width, 1)
    for start in range(0, len(reports), step):
        to.write(pack(protocol, reports[start : start + step]))
    to.flush()


class Collector:
    """Counter of reports as they come in.

    Its memory does not grow with their number.

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
            message: as `pack` makes it.
            sender: who sent it, if a second message of one sender is to be refused.

        Raises: InvalidParameterError for an invalid message, and for a second one of one sender.
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
        """Count the messages of a stream until it ends, each one whole or not at all.

        Args:
            stream: binary, as `send` writes it.

        Returns: the number of reports.
        Raises: InvalidParameterError for a message that is invalid, longer than 64 MiB, or breaks off; those before it
            are counted, and nothing after it is read.
        """
        before = self.people
        while header := _taken(stream, HEADER.size):
            if len(header) < HEADER.size:
                raise InvalidParameterError("the stream broke off in a message; its reports are not counted")
            length = announced(self.protocol, header) * self.protocol.width
            if length > _MAX_READ_BYTES:
                raise InvalidParameterError(f"a message must have at most {_MAX_READ_BYTES} bytes; send several")
            self.add(header + _taken(stream, length))
        return self.people - before

    def merge(self, other: "Collector") -> None:
        """Add the counts of another server.

        Servers that trust each other send a collector as a pickle.

        Args:
            other: of the same protocol.

        Raises: InvalidParameterError for another protocol, and where both have counted one sender.
        """
        if not isinstance(other, Collector) or other is self or other.protocol.fingerprint != self.protocol.fingerprint:
            raise InvalidParameterError("other must be another collector of the same protocol")
        if self._senders & other._senders:
            raise InvalidParameterError("both collectors have counted one sender; a sender is counted once")
        self._tally += other._tally
        self.people += other.people
        self._senders |= other._senders

    def estimate(self, **options: Any) -> Release:
        """Return the estimate of the protocol from these reports.

        Args:
            options: further arguments of the protocol's `estimate`, such as candidates.

        Raises: InvalidParameterError before the first report.
        """
        return self.protocol.estimate(self._tally, people=self.people, **options)


def _taken(stream: BinaryIO, length: int) -> bytes:
    """Read the next bytes of a stream, fewer if it ends.

    One `read` of a stream may return less than it is asked for.
    """
    parts = []
    while length and (part := stream.read(min(length, _SENT_BYTES))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def protocol_of(text: str, *, epsilon: Real | None = None) -> Protocol:
    """Return the protocol that a server announced: the inverse of `to_json`.

    Args:
        text: JSON.
        epsilon: the largest loss of one report that a client accepts from a server that it does not trust. A protocol
            with more is refused, and so is a `ShuffledSum`, which without a shuffler reveals everything to a server.

    Raises: InvalidParameterError if the text is not a valid protocol, or has more than epsilon.

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
    protocol = kind.from_data(data)
    if epsilon is not None:
        largest = positive_rational("epsilon", epsilon)
        if not (isinstance(protocol, PureProtocol) and protocol.epsilon <= largest):
            raise InvalidParameterError(
                f"one report of this {protocol.kind} protocol reveals more than epsilon={largest}"
            )
    return protocol


def best_protocol(
    values: Iterable[object] | int, *, epsilon: Real, share: float = 0.0, width: int | None = None
) -> FrequencyProtocol:
    """Return the frequency protocol with the least exact variance.

    Of equally good ones that with the shortest reports.

    Args:
        values: as in the protocols.
        epsilon: of one report.
        share: of people, whose estimate has the variance; 0 for rare values.
        width: the largest number of bytes of a report.

    Raises: InvalidParameterError if no protocol has such short reports.

    >>> from deniable.local import best_protocol
    >>> type(best_protocol(4, epsilon=2)).__name__, best_protocol(10**5, epsilon=1, width=4).kind
    ('DirectResponse', 'hadamard')
    """
    given = values if isinstance(values, int) else tuple(values)
    positive_rational("epsilon", epsilon)
    candidates = [kind(values=given, epsilon=epsilon) for kind in PROTOCOLS]  # type: ignore[arg-type]
    short = [each for each in candidates if width is None or each.width <= width]
    if not short:
        shortest = min(each.width for each in candidates)
        raise InvalidParameterError(f"the shortest report of these values has {shortest} bytes; allow as many")
    return min(short, key=lambda each: (round(float(each.variance(share, people=1)), 9), each.width))
