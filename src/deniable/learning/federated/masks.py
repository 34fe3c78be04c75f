"""Masks that cancel in a sum: agreed keys, key streams, shares, neighbours.

Shares are Shamir's (1979), in the field of P elements: the value at x + 1 of a polynomial whose constant term is the
secret and whose other coefficients are uniform, within 2^-128. Fewer than `threshold` of them reveal nothing.
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
_MAX_SUBSETS_TRIED = 200  # subsets of shares, where too few are spare to correct errors: 200 take about a second


def seed(bits: Bits) -> bytes:
    """Draw 32 secret bytes."""
    return bits.words(4).tobytes()


key_of = X25519PrivateKey.from_private_bytes


def public(private: X25519PrivateKey) -> bytes:
    """Return the 32 bytes of the public key of a private key."""
    return private.public_key().public_bytes_raw()


def agreed(private: X25519PrivateKey, other: bytes, purpose: bytes) -> bytes:
    """Return 32 bytes that only the owners of both private keys can compute."""
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError as error:
        raise InvalidParameterError("not a valid X25519 public key") from error
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"deniable secure sum " + purpose).derive(shared)


def stream(key: bytes, size: int, width: int) -> NDArray[np.unsignedinteger]:
    """Return words of the AES-256-CTR key stream of a key.

    The key is used for nothing else. There are `size` words of `width` bytes.
    """
    keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(_zeros(size * width))
    return np.frombuffer(keystream, dtype=f"<u{width}")


_zeros = lru_cache(maxsize=4)(bytes)


def ring(numbers: Sequence[int], neighbours: int, bits: Bits) -> dict[int, list[int]]:
    """Choose the neighbours of each client: the nearest on a random ring.

    All other clients, if there are too few for a ring.

    Source: Bell, Bonawitz, Gascón, Lepoint, Raykova (2020), CCS: O(log n) neighbours of n clients are enough.
    """
    count = len(numbers)
    if count <= neighbours + 1:
        return {each: [other for other in numbers if other != each] for each in numbers}
    order = np.array(numbers)[np.argsort(bits.words(count), kind="stable")]
    offsets = [sign * distance for distance in range(1, neighbours // 2 + 1) for sign in (1, -1)]
    nearest = np.stack([np.roll(order, -offset) for offset in offsets], axis=1)
    return dict(zip(order.tolist(), nearest.tolist(), strict=True))


def shares(secret: bytes, holders: Iterable[int], *, threshold: int, bits: Bits) -> dict[int, bytes]:
    """Split a secret into shares, any `threshold` of which recover it."""
    words = bits.words(6 * (threshold - 1)).astype("<u8").tobytes()  # 48 bytes a coefficient: uniform within 2^-128
    coefficients = [int.from_bytes(words[start : start + 48], "little") % P for start in range(0, len(words), 48)]
    shares_by_holder = {}
    for holder in holders:
        value = 0
        for coefficient in coefficients:  # Horner's scheme
            value = (value + coefficient) * (holder + 1) % P
        value = (value + int.from_bytes(secret, "little")) % P
        shares_by_holder[holder] = value.to_bytes(LENGTH, "little")
    return shares_by_holder


def secrets(held: Mapping[int, bytes], *, threshold: int) -> Iterator[bytes]:
    """Yield candidates for the secret of shares of which some may be wrong.

    Compare each with the commitment.

    Among them is the secret if up to (shares - threshold) // 2 are wrong, or one while there is a share to spare.
    """
    points = [(holder + 1, int.from_bytes(share, "little") % P) for holder, share in held.items()]
    spare = len(points) - threshold
    if spare < 0:
        return
    yield _bytes(_through(points[:threshold])[1](0))
    corrected = _corrected(points, threshold)
    if corrected is not None:
        yield _bytes(corrected)
    if math.comb(len(points), spare) <= _MAX_SUBSETS_TRIED:
        yield from (_bytes(_through(subset)[1](0)) for subset in combinations(points, threshold))


def _through(points: Sequence[tuple[int, int]]) -> tuple["fmpz_mod_poly", "fmpz_mod_poly"]:
    """Interpolate points (x_i, y_i) by Newton's formula.

    Returns: the product of all x - x_i, and the polynomial of least degree through the points.
    """
    polynomial = _polynomials()
    nodes = polynomial([1])
    interpolant = polynomial([0])
    for x, y in points:
        interpolant += nodes * ((y - interpolant(x)) / nodes(x))
        nodes *= polynomial([-x, 1])
    return nodes, interpolant


def _corrected(points: Sequence[tuple[int, int]], threshold: int) -> Any:
    """Decode the value at 0 of a polynomial from points, some of them wrong.

    The polynomial has a degree below `threshold`.

    None if no such polynomial passes through all points but (points - threshold) // 2.
    Source: Gao (2003), "A new algorithm for decoding Reed-Solomon codes".
    """
    polynomial = _polynomials()
    larger, smaller = _through(points)
    previous_factor, factor = polynomial([0]), polynomial([1])
    while 2 * smaller.degree() >= len(points) + threshold:  # Euclid's algorithm, stopped half-way
        quotient, remainder = divmod(larger, smaller)
        larger, smaller = smaller, remainder
        previous_factor, factor = factor, previous_factor - quotient * factor
    decoded, remainder = divmod(smaller, factor)
    return decoded(0) if remainder == 0 and decoded.degree() < threshold else None


def _bytes(secret: Any) -> bytes:
    return (int(secret) % 2**256).to_bytes(32, "little")


@cache
def _polynomials() -> Any:
    """Return the constructor of polynomials over the field of P elements."""
    from flint import fmpz_mod_ctx, fmpz_mod_poly_ctx

    return fmpz_mod_poly_ctx(fmpz_mod_ctx(P))
