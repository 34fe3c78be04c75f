"""Exact uniform integers below public or secret limits.

Guarantee: each integer of [0, limit) has exactly the probability 1 / limit. A word w is taken if it lies below the
largest multiple of the limit that 2^64 holds, and gives w mod limit; else a fresh word is drawn. Words that are taken
are uniform below that multiple, so their remainders are uniform.
"""

import math

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import SECURE, Bits, Size, shape_of

LARGEST_LIMIT = 2**63


def sample(limits: NDArray[np.integer], *, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Return one integer of [0, limit) for each limit, independently.

    The shape is that of `limits`.

    Args:
        limits: integers in [1, 2^63].
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if limits are no integers or out of range.
    """
    if not isinstance(limits, np.ndarray) or limits.dtype.kind not in "iu":
        raise InvalidParameterError("limits must be an integer array")
    if limits.size and (limits.min() < 1 or limits.max() > LARGEST_LIMIT):
        raise InvalidParameterError("limits must be in [1, 2^63]")
    limit = limits.astype(np.uint64).ravel()
    integers = np.empty(limit.size, dtype=np.uint64)
    waiting = np.arange(limit.size)
    while waiting.size:
        words = bits.words(waiting.size)
        divisor = limit[waiting]
        excess = (np.uint64(2**64 - 1) % divisor + np.uint64(1)) % divisor  # 2^64 mod limit
        taken = words <= np.uint64(2**64 - 1) - excess
        integers[waiting[taken]] = words[taken] % divisor[taken]
        waiting = waiting[~taken]
    return integers.astype(np.int64).reshape(limits.shape)


def below(limit: int, *, size: Size = None, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Draw independent integers of [0, limit), one limit for all of them.

    Args:
        limit: in [1, 2^63].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if limit is not an int of its range.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LARGEST_LIMIT:
        raise InvalidParameterError(f"limit must be an int in [1, 2^63], got {limit!r}")
    shape = shape_of(size)
    words = bits.words(math.prod(shape))
    last = np.uint64(2**64 // limit * limit - 1)
    while (refused := np.flatnonzero(words > last)).size:
        words[refused] = bits.words(refused.size)
    return (words % np.uint64(limit)).view(np.int64).reshape(shape)


def permutation(count: int, *, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Return an order of 0, ..., count - 1, all orders alike.

    That of as many words, drawn anew until no two are equal.
    """
    while True:
        words = bits.words(count)
        order = np.argsort(words)
        if (words[order][1:] != words[order][:-1]).all():
            return order
