"""Uniform 64-bit words: the only place of the project that touches entropy.

Guarantee: the words of `SECURE` are AES-256-CTR keystream under keys that come from the operating system. No byte of
a keystream is used twice, also after a fork and between threads. The first 48 bytes of each refill become the key
and counter of the next one and are never given out (fast key erasure), so a stream that is read out today does not
tell what it gave yesterday.
Source: D. J. Bernstein, "Fast-key-erasure random-number generators" (2017); NIST SP 800-38A for the counter mode.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from operator import index
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError

Size = int | tuple[int, ...] | None

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

_POOL_WORDS = 1024  # requests below this size share one refill
_SECRET_BYTES = 48  # 32 of key, 16 of counter: three blocks of AES
_ZEROS = memoryview(bytes(1 << 18))  # what is encrypted; 256 KiB keeps a refill inside the cache

_forks = 0


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 - one number for the process, written only here
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """Return what tells a process from its child: its id, or a count of forks.

    The count differs where an id came back.
    """
    return os.getpid(), _forks


class Bits(ABC):
    """A stream of independent uniform 64-bit words.

    `safe` says whether what it touched may be released.
    """

    safe: bool = False

    @abstractmethod
    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite the contiguous one-dimensional array `out` with fresh words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return a new array of `count` fresh words."""
        out = np.empty(count, dtype=np.uint64)
        self.fill(out)
        return out


class SecureBits(Bits):
    """Keystream of AES-256 in counter mode, keyed by the operating system.

    The key is taken on first use.

    Streams wait in a list. A call takes one out, so that no other thread can hold it, and gives it back at its end;
    taking and giving are single atomic operations. A stream made before a fork is thrown away by the child.
    """

    safe = True

    def __init__(self) -> None:
        self._idle: list[_Stream] = []

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite `out` with fresh words."""
        while True:
            try:
                stream = self._idle.pop()
            except IndexError:
                stream = _Stream()
            stream.fill(out)
            if stream.process == _process():  # false in a child, also if a signal handler forked in the meantime
                self._idle.append(stream)
                return

    def __repr__(self) -> str:
        return "SecureBits()"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "SecureBits cannot be pickled or copied: two copies would give the same noise. Use SECURE there."
        )


class _Stream:
    """One keystream of one process: a secret, and a pool of words for small requests."""

    __slots__ = ("_pool", "_secret", "_used", "process")

    def __init__(self) -> None:
        self.process = _process()
        self._secret = memoryview(bytearray(os.urandom(_SECRET_BYTES)))
        self._pool = np.zeros(_POOL_WORDS, dtype=np.uint64)
        self._used = _POOL_WORDS

    def fill(self, out: NDArray[np.uint64]) -> None:
        count = out.size
        if count >= _POOL_WORDS:
            self._refill(out)
            return
        if count > _POOL_WORDS - self._used:
            self._refill(self._pool)
            self._used = 0
        fresh = self._pool[self._used : self._used + count]
        self._used += count
        out[:] = fresh
        fresh.fill(0)

    def _refill(self, out: NDArray[np.uint64]) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        secret = self._secret
        keystream = Cipher(algorithms.AES256(secret[:32]), modes.CTR(secret[32:])).encryptor()
        keystream.update_into(_ZEROS[:_SECRET_BYTES], secret)  # the old key is gone from here on
        _encrypt_zeros(keystream, out)


def _encrypt_zeros(keystream: "CipherContext", out: NDArray[np.uint64]) -> None:
    target = out.data.cast("B")
    for start in range(0, len(target), len(_ZEROS)):
        part = target[start : start + len(_ZEROS)]
        keystream.update_into(_ZEROS[: len(part)], part)


class _Keystream(Bits):
    """Keystream of AES-256 in counter mode, from one counter on."""

    def __init__(self, key: bytes, counter: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._keystream = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor()

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite `out` with the next words."""
        _encrypt_zeros(self._keystream, out)


class DeterministicBits(_Keystream):
    """Words that a seed determines, for tests and benchmarks.

    What they touch must not be released.

    The words do not depend on how they are asked for: two requests of 5 give the same ten words as one of 10.
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidParameterError(f"seed must be an int, got {seed!r}")
        super().__init__(hashlib.sha256(f"deniable test stream {seed}".encode()).digest(), bytes(16))
        self._seed = seed

    def __repr__(self) -> str:
        return f"DeterministicBits(seed={self._seed})"


SECURE: Bits = SecureBits()
"""The stream that releases use; keyed when first asked."""


class Streams:
    """Numbered streams of words under one secret key.

    Another machine with the key makes the same words.

    For one release whose draws are made on several machines, one of which may have to begin anew: the same exact
    numbers then get the same noise, and no second draw of it exists. Its copies are as secret as the exact numbers.

    Guarantee: streams of different numbers, below 2^64, share no block of the keystream, which is that of AES-256 in
    counter mode: its counter begins at the number times 2^64.
    """

    def __init__(self, bits: Bits = SECURE) -> None:
        self._key = bits.words(4).tobytes()
        self.safe = bits.safe

    def stream(self, number: int) -> Bits:
        """Return the stream of this number, from its beginning."""
        keystream = _Keystream(self._key, number.to_bytes(8, "big") + bytes(8))
        keystream.safe = self.safe
        return keystream


def shape_of(size: Size) -> tuple[int, ...]:
    """Return the shape of the result; () for None.

    Raises: InvalidParameterError if size holds anything but integers >= 0.
    """
    if size is None:
        return ()
    try:
        dimensions = tuple(index(n) for n in size) if isinstance(size, tuple) else (index(size),)
    except TypeError:
        raise InvalidParameterError(f"size must be an int, a tuple of ints or None, got {size!r}") from None
    if isinstance(size, bool) or any(n < 0 for n in dimensions):
        raise InvalidParameterError(f"size must hold integers >= 0, got {size!r}")
    return dimensions
