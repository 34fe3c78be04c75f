"""Messages of reports: a header that names the protocol, then checked bytes."""

import struct

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.local.protocol import Protocol

VERSION = 1
HEADER = struct.Struct("<4sB8sI")  # magic, version, fingerprint of the protocol, number of reports
_MAGIC = b"dnlr"
_MAX_REPORTS = 2**32 - 1  # the header has four bytes for their number


def pack(protocol: Protocol, reports: NDArray[np.uint8]) -> bytes:
    """Return a message with reports of one protocol.

    It has 17 bytes, then `protocol.width` bytes a report.

    Args:
        protocol: of all reports.
        reports: bytes of shape (people, width).

    >>> from deniable.local import DirectResponse, pack, unpack
    >>> protocol = DirectResponse(values=300, epsilon=1)
    >>> message = pack(protocol, protocol.encode([5, 299]))
    >>> len(message), len(unpack(protocol, message))
    (21, 2)
    """
    protocol.check_shape(reports)
    if len(reports) > _MAX_REPORTS:
        raise InvalidParameterError(f"a message holds at most {_MAX_REPORTS} reports")
    return HEADER.pack(_MAGIC, VERSION, protocol.fingerprint, len(reports)) + reports.tobytes()


def unpack(protocol: Protocol, message: bytes) -> NDArray[np.uint8]:
    """Return the reports of a message, bytes of shape (people, width).

    Args:
        protocol: of all reports.
        message: as `pack` makes it.

    Raises: InvalidParameterError for bytes of another version, length or protocol, and invalid reports.

    >>> from deniable.local import HadamardResponse, pack, unpack
    >>> protocol = HadamardResponse(values=7, epsilon=1)
    >>> unpack(protocol, pack(protocol, protocol.encode([1, 2, 3]))).shape
    (3, 1)
    """
    if not isinstance(message, bytes) or len(message) < HEADER.size:
        raise InvalidParameterError("a message must be bytes with a header; this one is too short")
    count = announced(protocol, message)
    if len(message) != HEADER.size + count * protocol.width:
        raise InvalidParameterError(f"the message should hold {count} reports of {protocol.width} bytes, and does not")
    reports = np.frombuffer(message, dtype=np.uint8, offset=HEADER.size).reshape(count, protocol.width)
    if not protocol.sound(reports):
        raise InvalidParameterError("the message holds an invalid report for this protocol")
    return reports


def announced(protocol: Protocol, message: bytes) -> int:
    """Return the number of reports that the header of a message states.

    Raises: InvalidParameterError for a header of another version or protocol.
    """
    magic, version, fingerprint, count = HEADER.unpack_from(message)
    if magic != _MAGIC:
        raise InvalidParameterError("these bytes are not a valid message of reports")
    if version != VERSION:
        raise InvalidParameterError(f"the message has version {version}, and this server reads version {VERSION}")
    if fingerprint != protocol.fingerprint:
        raise InvalidParameterError("the message is of another protocol: other values, another epsilon or kind")
    return int(count)
