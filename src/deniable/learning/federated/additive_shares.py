"""Additive shares of integer vectors, for servers of which one is honest."""

from collections.abc import Iterable

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.federated.secure import SecureSum
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number


def split(vector: Integers, *, servers: int, width: int = 8, bits: Bits = SECURE) -> list[bytes]:
    """Split a secret vector into additive shares, one for each server.

    All shares but one are uniform and reveal nothing. Servers add up the shares of many vectors, and of noise that
    nobody knows; `joined` adds up the servers' sums.
    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor (2006), EUROCRYPT.

    Args:
        vector: integers of shape (size,); they, and their sums, must be below 256^width / 2 in size, or wrap around.
        servers: at least 2.
        width: bytes of an integer: 2, 4 or 8.
        bits: leave it out, except in tests.

    Returns: one string of `size * width` bytes for each server.

    >>> joined(split(np.array([7, -2]), servers=3))
    array([ 7, -2])
    """
    vector = np.asarray(vector)
    if vector.dtype.kind not in "iu" or vector.ndim != 1:
        raise InvalidParameterError("vector must be a row of integers: round it to a lattice first, as a clip does")
    size = vector.size * width
    random_bytes = bits.words(-(-size * (whole_number("servers", servers, lower=2) - 1) // 8)).tobytes()
    uniform_shares = [random_bytes[index * size : (index + 1) * size] for index in range(servers - 1)]
    last = vector - joined(uniform_shares, width=width)
    return [*uniform_shares, last.astype(f"<u{width}").tobytes()]


def joined(shares: Iterable[bytes], *, width: int = 8) -> Integers:
    """Return the sum of additive shares, modulo 256^width.

    Its entries are in [-256^width / 2, 256^width / 2).

    Args:
        shares: one from every server, all of one length.
        width: bytes of an integer: 2, 4 or 8.

    >>> first, second = split(np.array([5]), servers=2)
    >>> joined([second, first])
    array([5])
    """
    parts = list(shares)
    width = SecureSum(survivors=2, width=width).width
    if {type(part) for part in parts} != {bytes} or len({len(part) for part in parts}) != 1 or len(parts[0]) % width:
        raise InvalidParameterError(f"shares must be of one length, one from every server, in numbers of {width} bytes")
    total = np.sum([np.frombuffer(part, dtype=f"<u{width}") for part in parts], axis=0, dtype=f"<u{width}")
    return np.asarray(total.astype(f"<i{width}"), dtype=np.int64)
