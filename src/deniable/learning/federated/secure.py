"""Sums of integer vectors modulo 2^b of which the server sees nothing but the sum, though clients vanish on the way.

Client i sends its vector plus a stream of its own plus, for each neighbour j, a stream that i and j agree on, which
one adds and the other takes away. Neighbours hold shares of both secrets of i, and reveal the one or the other, never
both: the seed of its own stream where its vector arrived, its key where it did not.
Source: Bonawitz et al. (2017), CCS; Bell et al. (2020), CCS, for few neighbours; docs/theory/learning/federated.md.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.clips import Part
from deniable.learning.federated import masks
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_HEAD = struct.Struct("<II")  # number of a part, and its length
_KEYS, _CLOSED = 64, 2 * masks.LENGTH + 16  # bytes: two public keys; two shares and a tag
_CHECKED = 16  # bytes behind each vector, of entries 1, whose sums must be the number of clients who arrived


@dataclass(frozen=True, kw_only=True)
class SecureSum(Part):
    """The public agreement about a secure sum.

    Args:
        survivors: the fewest clients whose vectors must arrive; a round with fewer is given up.
        colluding: the most clients among them who may tell the server what they know: their noise counts for nobody.
        neighbours: with whom a client shares masks; an even number. All others, if there are no more.
        width: bytes of an integer, 2, 4 or 8: sums are modulo 256^width.

    Guarantee: a server that follows the protocol, with clients who collude, learns the sum over those who arrived and
        who they are, unless a key or the ring fails (`risks`). It hands out the keys: who cannot check by another way
        whose they are must trust it in that.

    >>> SecureSum(survivors=3).threshold(10)
    6
    """

    survivors: Annotated[int, partial(whole_number, lower=2, upper=2**20)]
    colluding: Annotated[int, partial(whole_number, lower=0)] = 0
    neighbours: Annotated[int, partial(whole_number, lower=2, upper=2**16)] = 40
    width: Annotated[int, partial(whole_number, lower=2, upper=8)] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width not in (2, 4, 8) or self.neighbours % 2:
            raise InvalidParameterError("width must be 2, 4 or 8 bytes, and neighbours an even number")
        if self.colluding >= self.survivors - 1:
            raise InvalidParameterError("survivors must be more than those who collude by two at least")

    def threshold(self, neighbours: int) -> int:
        """Shares that give a secret back: more than half, so that no two halves give both secrets."""
        return neighbours // 2 + 1

    def risks(self, clients: int, *, vanish: int = 0) -> tuple[float, float]:
        """Chances, at most, that a round tells more than the sum, and that masks stay and it is given up.

        Args:
            clients: who share masks, `colluding` of them; vanish: how many of them vanish.

        >>> SecureSum(survivors=900, colluding=50).risks(1000, vanish=100) < (1e-12, 1e-7)
        True
        """
        from scipy.stats import hypergeom

        count, gone = whole_number("clients", clients, lower=3), whole_number("vanish", vanish, lower=0, upper=clients)
        near, bad = min(self.neighbours, count - 1), min(self.colluding, count - 1)
        needed = self.threshold(near)
        parted = ((bad + gone) / count) ** (near // 2) * (near < count - 1)  # the ring falls apart
        told = count * (hypergeom.sf(needed - 1, count - 1, bad, near) + parted)
        stuck = count * hypergeom.sf(near - needed, count - 1, min(gone, count - 1), near)
        return float(min(told, 1)), float(min(stuck, 1))


class SecureClient:
    """One client in one round of a secure sum, with a secret vector of integers; its stages are called in order."""

    def __init__(self, agreed: SecureSum, number: int, vector: Integers, *, bits: Bits = SECURE) -> None:
        self._agreed, self._number, self._bits, self._stage = agreed, number, bits, 0
        self._vector = np.append(vector, np.ones(_CHECKED // agreed.width, dtype=np.int64)).astype(f"<u{agreed.width}")
        self._seed, self._secret = masks.seed(bits), masks.seed(bits)
        self._post, self._mask = masks.key_of(masks.seed(bits)), masks.key_of(self._secret)
        self._own = masks.public(self._post) + masks.public(self._mask)
        self._seals: dict[int, ChaCha20Poly1305] = {}
        self._keys: dict[int, bytes] = {}
        self._held: dict[int, bytes] = {}  # by neighbour: its shares, or nothing where they came broken

    def hello(self) -> bytes:
        """Two public keys: for post between clients, and for masks."""
        self._next(1)
        return self._own

    def share(self, message: bytes) -> bytes:
        """Sealed shares for every neighbour, from the keys of all of them; and a promise of the own seed."""
        self._next(2)
        keys = unpack(message, length=_KEYS)
        distinct = len({self._own, *keys.values()}) == len(keys) + 1
        if self._number in keys or not distinct or len(keys) < 2:
            raise InvalidParameterError("neighbours must be two at least, others than this client, each with its keys")
        shared = partial(masks.shares, threshold=self._agreed.threshold(len(keys)), bits=self._bits)
        seeds, secrets = shared(self._seed, keys), shared(self._secret, keys)
        sealed = {}
        for each, theirs in keys.items():
            self._seals[each] = self._sealed(theirs)
            sealed[each] = self._seals[each].encrypt(_nonce(self._number, each), seeds[each] + secrets[each], None)
        self._keys = keys
        return pack({self._number: hashlib.sha256(self._seed).digest()} | sealed)

    def masked(self, message: bytes) -> bytes:
        """The vector under its masks, from the sealed shares of those neighbours who are still there."""
        self._next(3)
        for each, sealed in unpack(message, length=_CLOSED).items():
            if each not in self._keys:
                raise InvalidParameterError("shares came from a client who is no neighbour")
            self._held[each] = b""
            with suppress(InvalidTag):
                self._held[each] = self._seals[each].decrypt(_nonce(each, self._number), sealed, None)
        if len(self._held) < self._agreed.threshold(len(self._keys)):
            raise InvalidParameterError("too few neighbours are left to hide among")
        total = self._vector + masks.stream(self._seed, self._vector.size, self._agreed.width)
        for each in self._held:
            _add(total, self._mask, self._keys[each][32:], each > self._number)
        return bytes(total.tobytes())

    def unmask(self, message: bytes) -> bytes:
        """For each neighbour a share of one secret: of its seed if its vector arrived (1), else of its key (0)."""
        self._next(4)
        asked = unpack(message, length=1)
        arrived = sum(flag == b"\1" for flag in asked.values())
        if not set(asked) <= set(self._held) or arrived + 1 < self._agreed.threshold(len(self._keys)):
            raise InvalidParameterError("too few vectors arrived, or shares of strangers are asked for")
        parts = {True: slice(masks.LENGTH), False: slice(masks.LENGTH, None)}
        return pack({each: held[parts[flag == b"\1"]] for each, flag in asked.items() if (held := self._held[each])})

    @property
    def state(self) -> bytes:
        """What this client has to keep between stages, as secret as its vector; never sent."""
        held = [self._seed, self._secret, self._post.private_bytes_raw(), pack(self._keys), pack(self._held)]
        return pack(dict(enumerate([bytes([self._stage]), self._vector.tobytes(), *held])))

    @classmethod
    def restored(cls, agreed: SecureSum, number: int, state: bytes, *, bits: Bits = SECURE) -> "SecureClient":
        """The client of this state."""
        made, parts = cls(agreed, number, np.zeros(0, dtype=np.int64), bits=bits), unpack(state)
        made._stage, made._vector = parts[0][0], np.frombuffer(parts[1], dtype=f"<u{agreed.width}")
        made._seed, made._secret, made._post = parts[2], parts[3], masks.key_of(parts[4])
        made._mask, made._keys, made._held = masks.key_of(made._secret), unpack(parts[5]), unpack(parts[6])
        made._own = masks.public(made._post) + masks.public(made._mask)
        made._seals = {each: made._sealed(theirs) for each, theirs in made._keys.items()}
        return made

    def _sealed(self, theirs: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(masks.agreed(self._post, theirs[:32], b"post"))

    def _next(self, stage: int) -> None:
        if self._stage != stage - 1:
            raise InvalidParameterError("every stage of a round is answered once, in order")
        self._stage = stage


class SecureServer:
    """The server in one round of a secure sum: call its stages in order, with the replies that came.

    A reply that no honest client sends counts as none. A round that is lost is an InvalidParameterError.
    """

    def __init__(self, agreed: SecureSum, size: int, *, bits: Bits = SECURE) -> None:
        self._agreed, self._size, self._bits = agreed, size + _CHECKED // agreed.width, bits
        self.survivors: list[int] = []

    def keys(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """From the keys of all, the message of the next stage to each: keys of its neighbours."""
        self._keys = {number: reply for number, reply in replies.items() if len(reply) == _KEYS}
        self._enough(len(self._keys))
        self._near = masks.ring(sorted(self._keys), self._agreed.neighbours, self._bits)
        return {number: pack({each: self._keys[each] for each in near}) for number, near in self._near.items()}

    def shares(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """From sealed shares, the messages that carry them to their holders."""
        post = {}
        for number, reply in replies.items():
            lengths = {each: len(part) for each, part in _read(reply, None).items()}
            if lengths == dict.fromkeys(self._near.get(number, ()), _CLOSED) | {number: 32}:
                post[number] = unpack(reply)
        self._enough(len(post))
        self._promised = {number: parts[number] for number, parts in post.items()}
        near = {number: [each for each in self._near[number] if each in post] for number in post}
        return {number: pack({each: post[each][number] for each in near[number]}) for number in post}

    def vectors(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """From masked vectors, the question of which secrets to give away."""
        width = self._agreed.width
        found = {each: replies[each] for each in self._promised if len(replies.get(each, b"")) == width * self._size}
        self.survivors = sorted(found)
        self._enough(len(found))
        self._total = np.zeros(self._size, dtype=f"<u{width}")
        for reply in found.values():
            self._total += np.frombuffer(reply, dtype=f"<u{width}")
        flags = {number: b"\1" if number in found else b"\0" for number in self._promised}
        return {number: pack({each: flags[each] for each in self._near[number] if each in flags}) for number in found}

    def result(self, replies: Mapping[int, bytes]) -> Integers:
        """The sum of the vectors that arrived, between -M/2 and M/2, from shares of secrets."""
        held: dict[int, dict[int, bytes]] = {number: {} for number in self._promised}
        for holder, reply in replies.items():
            for owner, share in _read(reply, masks.LENGTH).items():
                if holder in self._near.get(owner, ()):
                    held.setdefault(owner, {})[holder] = share
        total, arrived = self._total, set(self.survivors)
        for number, promise in self._promised.items():
            if number in arrived:
                total -= masks.stream(self._secret(held[number], number, promise), self._size, self._agreed.width)
            elif left := arrived.intersection(self._near[number]):
                own = masks.key_of(self._secret(held[number], number, self._keys[number][32:]))
                for each in left:  # what `each` added for this one, this one would have taken away
                    _add(total, own, self._keys[each][32:], each > number)
        if (total[-_CHECKED // self._agreed.width :] != len(arrived)).any():
            raise InvalidParameterError("masks do not cancel: a client did not keep to the protocol; the round is lost")
        return total[: -_CHECKED // self._agreed.width].astype(f"<i{self._agreed.width}").astype(np.int64)

    def _secret(self, held: dict[int, bytes], number: int, promise: bytes) -> bytes:
        """The seed or key that fits its hash or public half, from shares of which some may be wrong."""
        for found in masks.secrets(held, threshold=self._agreed.threshold(len(self._near[number]))):
            if promise in (hashlib.sha256(found).digest(), masks.public(masks.key_of(found))):
                return found
        raise InvalidParameterError("too few right shares came for a client of the round, so masks stay: it is lost")

    def _enough(self, count: int) -> None:
        if count < (needed := self._agreed.survivors):
            raise InvalidParameterError(f"{count} clients are left, the noise needs {needed}: the round is given up")


def split(vector: Integers, *, servers: int, width: int = 8, bits: Bits = SECURE) -> list[bytes]:
    """A secret vector in additive shares, one for each server, all but one of which are uniform and tell nothing.

    Servers add up what they get, of vectors and of parts of a noise that nobody knows, and `joined` adds up servers.
    Integers, and their sums, are below 256^width / 2 in size, or wrap around; width is 2, 4 or 8 bytes.
    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor (2006), EUROCRYPT.

    >>> joined(split(np.array([7, -2]), servers=3))
    array([ 7, -2])
    """
    vector = np.asarray(vector)
    if vector.dtype.kind not in "iu" or vector.ndim != 1:
        raise InvalidParameterError("vector must be a row of integers: round it to a lattice first, as a clip does")
    size = vector.size * width
    drawn = bits.words(-(-size * (whole_number("servers", servers, lower=2) - 1) // 8)).tobytes()
    parts = [drawn[at * size : (at + 1) * size] for at in range(servers - 1)]
    rest = vector - joined(parts, width=width)
    return [*parts, rest.astype(f"<u{width}").tobytes()]


def joined(shares: Iterable[bytes], *, width: int = 8) -> Integers:
    """The sum of shares of one length, modulo 256^width, between -256^width / 2 and 256^width / 2."""
    parts, width = list(shares), SecureSum(survivors=2, width=width).width
    if {type(part) for part in parts} != {bytes} or len({len(part) for part in parts}) != 1 or len(parts[0]) % width:
        raise InvalidParameterError(f"shares must be of one length, one from every server, in numbers of {width} bytes")
    total = np.sum([np.frombuffer(part, dtype=f"<u{width}") for part in parts], axis=0, dtype=f"<u{width}")
    return np.asarray(total.astype(f"<i{width}"), dtype=np.int64)


def _nonce(sender: int, receiver: int) -> bytes:
    """One message goes each way under the key of a pair."""
    return bytes([sender < receiver]) + bytes(11)


def _add(total: NDArray[np.unsignedinteger], private: X25519PrivateKey, other: bytes, plus: bool) -> None:
    """Add or take away the stream of a pair."""
    drawn = masks.stream(masks.agreed(private, other, b"mask"), total.size, total.itemsize)
    (np.add if plus else np.subtract)(total, drawn, out=total)


def _read(reply: bytes, length: int | None) -> dict[int, bytes]:
    with suppress(InvalidParameterError):
        return unpack(reply, length=length)
    return {}


def pack(parts: Mapping[int, bytes]) -> bytes:
    """The parts one after the other, each behind its number and length: {7: b"a"} as 7, 1, a."""
    return b"".join(_HEAD.pack(number, len(part)) + part for number, part in parts.items())


def unpack(message: bytes, *, length: int | None = None) -> dict[int, bytes]:
    """The parts by their numbers, all of one `length` if it is given; anything else is an InvalidParameterError."""
    found: dict[int, bytes] = {}
    padded, place = message + b"\xff" * _HEAD.size, 0  # where a head is cut off, its length is too large
    while place < len(message):
        number, size = _HEAD.unpack_from(padded, place)
        begin, place = place + _HEAD.size, place + _HEAD.size + size
        if place > len(message) or number in found or length not in (None, size):
            raise InvalidParameterError("a part of a message has a wrong length, or came twice")
        found[number] = message[begin:place]
    return found
