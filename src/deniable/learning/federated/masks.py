"""Masks that cancel in a sum: keys that two clients agree on, streams, shares of secrets, and who is whose neighbour.

Shares are Shamir's (1979), in the field of P elements: the value at x + 1 of a polynomial whose constant is the secret
and whose other coefficients are uniform, within 2^-128. Fewer than `threshold` of them tell nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits

if TYPE_CHECKING:
    from flint import fmpz_mod_poly

P = 2**256 + 297  # a prime
LENGTH = 33  # bytes of a share
_MOST_SUBSETS = 200  # of shares that are tried one by one, where there are too few to correct them


def seed(bits: Bits) -> bytes:
    """32 secret bytes."""
    return bits.words(4).tobytes()


key_of = X25519PrivateKey.from_private_bytes


def public(private: X25519PrivateKey) -> bytes:
    """Its public half."""
    return private.public_key().public_bytes_raw()


def agreed(private: X25519PrivateKey, other: bytes, purpose: bytes) -> bytes:
    """32 bytes that only the owners of both private keys can compute."""
    try:
        found = private.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError as error:
        raise InvalidParameterError("this is no public key of X25519") from error
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"deniable secure sum " + purpose).derive(found)


def stream(key: bytes, size: int, width: int) -> NDArray[np.unsignedinteger]:
    """`size` words of `width` bytes of the AES-256-CTR keystream of a key, which is used for nothing else."""
    drawn = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(_zeros(size * width))
    return np.frombuffer(drawn, dtype=f"<u{width}")


_zeros = lru_cache(maxsize=4)(bytes)


def ring(numbers: Sequence[int], neighbours: int, bits: Bits) -> dict[int, list[int]]:
    """Whose masks each client shares: the nearest on a ring in random order, or all others if there are too few.
    Source: Bell, Bonawitz, Gascón, Lepoint, Raykova (2020), CCS: O(log n) neighbours of n clients are enough.
    """
    count = len(numbers)
    if count <= neighbours + 1:
        return {each: [other for other in numbers if other != each] for each in numbers}
    order = np.array(numbers)[np.argsort(bits.words(count), kind="stable")]
    reach = [step for far in range(1, neighbours // 2 + 1) for step in (far, -far)]
    around = np.stack([np.roll(order, -step) for step in reach], axis=1)
    return dict(zip(order.tolist(), around.tolist(), strict=True))


def shares(secret: bytes, holders: Iterable[int], *, threshold: int, bits: Bits) -> dict[int, bytes]:
    """One share for each holder."""
    words = bits.words(6 * (threshold - 1)).astype("<u8").tobytes()
    drawn = [int.from_bytes(words[at : at + 48], "little") % P for at in range(0, len(words), 48)]
    found = {}
    for holder in holders:
        value = 0
        for coefficient in drawn:
            value = (value + coefficient) * (holder + 1) % P
        found[holder] = ((value + int.from_bytes(secret, "little")) % P).to_bytes(LENGTH, "little")
    return found


def secrets(held: Mapping[int, bytes], *, threshold: int) -> Iterator[bytes]:
    """Candidates for the secret of shares of which some may be wrong: compare each with what was promised.

    Among them is the secret where up to (shares - threshold) // 2 are wrong, or one while there is a share to spare.
    """
    points = [(holder + 1, int.from_bytes(share, "little") % P) for holder, share in held.items()]
    spare = len(points) - threshold
    if spare < 0:
        return
    yield _bytes(_through(points[:threshold])[1](0))
    corrected = _corrected(points, threshold)
    if corrected is not None:
        yield _bytes(corrected)
    if math.comb(len(points), spare) <= _MOST_SUBSETS:
        yield from (_bytes(_through(subset)[1](0)) for subset in combinations(points, threshold))


def _through(points: Sequence[tuple[int, int]]) -> tuple["fmpz_mod_poly", "fmpz_mod_poly"]:
    """The product of x - at over all points, and the polynomial of least degree through them, by Newton's formula."""
    ring = _ring()
    nodes, found = ring([1]), ring([0])
    for at, value in points:
        found += nodes * ((value - found(at)) / nodes(at))
        nodes *= ring([-at, 1])
    return nodes, found


def _corrected(points: Sequence[tuple[int, int]], threshold: int) -> Any:
    """The value at 0 of a polynomial of degree below `threshold` through all points but (points - threshold) // 2.

    None if there is none. Source: Gao (2003), "A new algorithm for decoding Reed-Solomon codes".
    """
    larger, smaller = _through(points)
    before, factor = _ring()([0]), _ring()([1])
    while 2 * smaller.degree() >= len(points) + threshold:  # Euclid's algorithm, stopped half-way
        quotient, rest = divmod(larger, smaller)
        larger, smaller, before, factor = smaller, rest, factor, before - quotient * factor
    found, rest = divmod(smaller, factor)
    return found(0) if rest == 0 and found.degree() < threshold else None


def _bytes(secret: Any) -> bytes:
    return (int(secret) % 2**256).to_bytes(32, "little")


@cache
def _ring() -> Any:
    """Polynomials over the field."""
    from flint import fmpz_mod_ctx, fmpz_mod_poly_ctx

    return fmpz_mod_poly_ctx(fmpz_mod_ctx(P))
