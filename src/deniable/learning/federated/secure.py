"""Secure aggregation of integer vectors from clients who may drop out.

The server learns the sum of the vectors modulo 2^b, and nothing else.

Client i sends its vector plus a mask of its own plus, for each neighbour j, a mask that i and j agree on, which one
adds and the other subtracts. Neighbours hold shares of both secrets of i, and reveal one of them, never both: the seed
of its own mask if its vector arrived, its private key if it did not.
Source: Bonawitz et al. (2017), CCS; Bell et al. (2020), CCS, for few neighbours; docs/theory/learning/federated.md.
"""

import hashlib
import struct
from collections.abc import Mapping
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
from deniable.learning.federated import masks
from deniable.mechanisms.parts import Part
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_PART_HEADER = struct.Struct("<II")  # the number of a part, and its length in bytes
_KEY_BYTES = 32  # an X25519 public key
_KEYS_BYTES = 2 * _KEY_BYTES  # one key for messages between clients, one for masks
_SEALED_BYTES = 2 * masks.LENGTH + 16  # two shares and an authentication tag
_CHECK_BYTES = 16  # behind each vector: entries of 1, whose sums must be the number of clients who arrived
_ARRIVED = b"\1"  # the flag of a client whose vector arrived; b"\0" marks one who dropped out


@dataclass(frozen=True, kw_only=True)
class SecureSum(Part):
    """The public parameters of a secure sum, on which server and clients agree.

    Args:
        survivors: the fewest clients whose vectors must arrive; a round with fewer is aborted.
        colluding: the most clients among them who may reveal what they know to the server: their noise is not counted.
        neighbours: the number of clients with whom a client shares masks, even; all others, if there are no more.
        width: bytes of an integer, 2, 4 or 8: sums are modulo 256^width.

    Guarantee: a server that follows the protocol, with the colluding clients, learns the sum over those who arrived and
        who they are, unless a key or the ring fails (`risks`). It hands out the keys: a client that cannot verify by
        another channel whose they are must trust it in that.

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
            raise InvalidParameterError(
                f"width must be 2, 4 or 8 bytes and neighbours even, got {self.width} and {self.neighbours}"
            )
        if self.colluding >= self.survivors - 1:
            raise InvalidParameterError(f"survivors must be at least colluding + 2, got {self.survivors}")

    def threshold(self, neighbours: int) -> int:
        """Return the number of shares that recover a secret.

        More than half of the neighbours, so that no two disjoint sets of them recover both secrets of a client.
        """
        return neighbours // 2 + 1

    def risks(self, clients: int, *, dropouts: int = 0) -> tuple[float, float]:
        """Bound the probabilities that a round reveals too much, or is aborted.

        It reveals too much if the server learns more than the sum.

        Args:
            clients: the number of clients who share masks, `colluding` of them included.
            dropouts: how many of them drop out.

        >>> SecureSum(survivors=900, colluding=50).risks(1000, dropouts=100) < (1e-12, 1e-7)
        True
        """
        from scipy.stats import hypergeom

        count = whole_number("clients", clients, lower=3)
        gone = whole_number("dropouts", dropouts, lower=0, upper=count)
        neighbours = min(self.neighbours, count - 1)
        colluding = min(self.colluding, count - 1)
        needed = self.threshold(neighbours)
        # Two runs of missing clients, each as long as half of the neighbours, cut the ring in two.
        ring_splits = ((colluding + gone) / count) ** (neighbours // 2) * (neighbours < count - 1)
        enough_collude = hypergeom.sf(needed - 1, count - 1, colluding, neighbours)
        too_few_shares = hypergeom.sf(neighbours - needed, count - 1, min(gone, count - 1), neighbours)
        revealed = count * (enough_collude + ring_splits)
        aborted = count * too_few_shares
        return float(min(revealed, 1)), float(min(aborted, 1))


class SecureClient:
    """One client in one round of a secure sum.

    Its stages are called once each, in order.

    Args:
        agreement: the parameters of the sum.
        number: of this client, different for all clients of the round.
        vector: integers of shape (size,); secret.
        bits: leave it out, except in tests.

    >>> agreement = SecureSum(survivors=2)
    >>> clients = {number: SecureClient(agreement, number, np.array([number, 10])) for number in range(3)}
    >>> server = SecureServer(agreement, 2)
    >>> messages = server.keys({number: client.advertise_keys() for number, client in clients.items()})
    >>> messages = server.shares({number: clients[number].share_keys(body) for number, body in messages.items()})
    >>> messages = server.vectors({number: clients[number].mask(body) for number, body in messages.items()})
    >>> server.result({number: clients[number].unmask(body) for number, body in messages.items()})
    array([ 3, 30])
    """

    def __init__(self, agreement: SecureSum, number: int, vector: Integers, *, bits: Bits = SECURE) -> None:
        self._agreement = agreement
        self._number = number
        self._bits = bits
        self._stage = 0
        checks = np.ones(_CHECK_BYTES // agreement.width, dtype=np.int64)
        self._vector = np.append(vector, checks).astype(f"<u{agreement.width}")
        self._seed = masks.seed(bits)
        self._mask_secret = masks.seed(bits)
        self._message_key = masks.key_of(masks.seed(bits))
        self._mask_key = masks.key_of(self._mask_secret)
        self._public_keys = masks.public(self._message_key) + masks.public(self._mask_key)
        self._ciphers: dict[int, ChaCha20Poly1305] = {}
        self._neighbour_keys: dict[int, bytes] = {}
        self._held_shares: dict[int, bytes] = {}  # by neighbour; empty if they did not decrypt

    def advertise_keys(self) -> bytes:
        """Return two public keys: one for messages between clients, one for masks."""
        self._enter(1)
        return self._public_keys

    def share_keys(self, message: bytes) -> bytes:
        """Return sealed shares of both secrets, and a commitment to the seed.

        Args:
            message: the public keys of all neighbours, as `SecureServer.keys` sends them.
        """
        self._enter(2)
        keys = unpack(message, length=_KEYS_BYTES)
        distinct = len({self._public_keys, *keys.values()}) == len(keys) + 1
        if self._number in keys or not distinct or len(keys) < 2:
            raise InvalidParameterError("a client needs at least two neighbours, other clients with keys of their own")
        split_secret = partial(masks.shares, threshold=self._agreement.threshold(len(keys)), bits=self._bits)
        seed_shares = split_secret(self._seed, keys)
        key_shares = split_secret(self._mask_secret, keys)
        sealed = {}
        for neighbour, public_keys in keys.items():
            self._ciphers[neighbour] = self._cipher(public_keys)
            both = seed_shares[neighbour] + key_shares[neighbour]
            sealed[neighbour] = self._ciphers[neighbour].encrypt(_nonce(self._number, neighbour), both, None)
        self._neighbour_keys = keys
        return pack({self._number: hashlib.sha256(self._seed).digest()} | sealed)

    def mask(self, message: bytes) -> bytes:
        """Return the masked vector.

        Args:
            message: the sealed shares of the neighbours who are still there, as `SecureServer.shares` sends them.
        """
        self._enter(3)
        for neighbour, sealed in unpack(message, length=_SEALED_BYTES).items():
            if neighbour not in self._neighbour_keys:
                raise InvalidParameterError("shares came from a client who is not a neighbour")
            self._held_shares[neighbour] = b""
            with suppress(InvalidTag):
                nonce = _nonce(neighbour, self._number)
                self._held_shares[neighbour] = self._ciphers[neighbour].decrypt(nonce, sealed, None)
        if len(self._held_shares) < self._agreement.threshold(len(self._neighbour_keys)):
            raise InvalidParameterError("fewer neighbours than the threshold remain; the round is aborted")
        total = self._vector + masks.stream(self._seed, self._vector.size, self._agreement.width)
        for neighbour in self._held_shares:
            public_key = self._neighbour_keys[neighbour][_KEY_BYTES:]
            _add_mask(total, self._mask_key, public_key, plus=neighbour > self._number)
        return bytes(total.tobytes())

    def unmask(self, message: bytes) -> bytes:
        """Return one share for each neighbour, of its seed or of its private key.

        It is of the seed if the vector of the neighbour arrived, else of the key.

        Args:
            message: a flag for each neighbour, as `SecureServer.vectors` sends them.
        """
        self._enter(4)
        flags = unpack(message, length=1)
        arrived = sum(flag == _ARRIVED for flag in flags.values())
        needed = self._agreement.threshold(len(self._neighbour_keys))
        if not set(flags) <= set(self._held_shares) or arrived + 1 < needed:
            raise InvalidParameterError(
                "too few vectors arrived, or shares of a client that is not a neighbour are asked"
            )
        seed_share = slice(masks.LENGTH)
        key_share = slice(masks.LENGTH, None)
        revealed = {}
        for neighbour, flag in flags.items():
            shares = self._held_shares[neighbour]
            if shares:
                revealed[neighbour] = shares[seed_share if flag == _ARRIVED else key_share]
        return pack(revealed)

    @property
    def state(self) -> bytes:
        """State to keep between stages, as secret as the vector; never sent."""
        parts = [
            bytes([self._stage]),
            self._vector.tobytes(),
            self._seed,
            self._mask_secret,
            self._message_key.private_bytes_raw(),
            pack(self._neighbour_keys),
            pack(self._held_shares),
        ]
        return pack(dict(enumerate(parts)))

    @classmethod
    def restored(cls, agreement: SecureSum, number: int, state: bytes, *, bits: Bits = SECURE) -> "SecureClient":
        """Return the client that has this state.

        Args:
            agreement, number, bits: as in the constructor.
            state: what `state` was.
        """
        client = cls(agreement, number, np.zeros(0, dtype=np.int64), bits=bits)
        parts = unpack(state)
        client._stage = parts[0][0]
        client._vector = np.frombuffer(parts[1], dtype=f"<u{agreement.width}")
        client._seed = parts[2]
        client._mask_secret = parts[3]
        client._message_key = masks.key_of(parts[4])
        client._mask_key = masks.key_of(client._mask_secret)
        client._neighbour_keys = unpack(parts[5])
        client._held_shares = unpack(parts[6])
        client._public_keys = masks.public(client._message_key) + masks.public(client._mask_key)
        client._ciphers = {neighbour: client._cipher(keys) for neighbour, keys in client._neighbour_keys.items()}
        return client

    def _cipher(self, public_keys: bytes) -> ChaCha20Poly1305:
        """Return the cipher of messages to and from the client with these keys."""
        return ChaCha20Poly1305(masks.agreed(self._message_key, public_keys[:_KEY_BYTES], b"post"))

    def _enter(self, stage: int) -> None:
        if self._stage != stage - 1:
            raise InvalidParameterError("every stage of a round is answered once, in order")
        self._stage = stage


class SecureServer:
    """The server in one round of a secure sum.

    Its stages are called in order, with the replies that came.

    A reply that no honest client sends counts as missing. A round that is lost is an InvalidParameterError.

    Args:
        agreement: the parameters of the sum.
        size: the number of integers in a vector.
        bits: leave it out, except in tests.

    >>> agreement = SecureSum(survivors=2)
    >>> clients = {number: SecureClient(agreement, number, np.array([1])) for number in range(4)}
    >>> server = SecureServer(agreement, 1)
    >>> messages = server.keys({number: client.advertise_keys() for number, client in clients.items()})
    >>> messages = server.shares({number: clients[number].share_keys(body) for number, body in messages.items()})
    >>> replies = {number: clients[number].mask(body) for number, body in messages.items() if number != 3}
    >>> messages = server.vectors(replies)  # client 3 dropped out
    >>> server.result({number: clients[number].unmask(body) for number, body in messages.items()})
    array([3])
    """

    def __init__(self, agreement: SecureSum, size: int, *, bits: Bits = SECURE) -> None:
        self._agreement = agreement
        self._size = size + _CHECK_BYTES // agreement.width
        self._bits = bits
        self.survivors: list[int] = []

    def keys(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return a message to each client with the public keys of its neighbours."""
        self._keys = {number: reply for number, reply in replies.items() if len(reply) == _KEYS_BYTES}
        self._check_enough(len(self._keys))
        self._neighbours = masks.ring(sorted(self._keys), self._agreement.neighbours, self._bits)
        return {
            number: pack({neighbour: self._keys[neighbour] for neighbour in neighbours})
            for number, neighbours in self._neighbours.items()
        }

    def shares(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return messages that carry sealed shares to their holders."""
        outboxes = {}
        for number, reply in replies.items():
            lengths = {receiver: len(part) for receiver, part in _parts_or_none(reply, None).items()}
            if lengths == dict.fromkeys(self._neighbours.get(number, ()), _SEALED_BYTES) | {number: 32}:
                outboxes[number] = unpack(reply)
        self._check_enough(len(outboxes))
        self._commitments = {number: outbox[number] for number, outbox in outboxes.items()}
        messages = {}
        for number in outboxes:
            senders = [neighbour for neighbour in self._neighbours[number] if neighbour in outboxes]
            messages[number] = pack({sender: outboxes[sender][number] for sender in senders})
        return messages

    def vectors(self, replies: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return messages that ask for one secret of each neighbour, from masked vectors."""
        width = self._agreement.width
        length = width * self._size
        masked = {number: replies[number] for number in self._commitments if len(replies.get(number, b"")) == length}
        self.survivors = sorted(masked)
        self._check_enough(len(masked))
        self._total = np.zeros(self._size, dtype=f"<u{width}")
        for reply in masked.values():
            self._total += np.frombuffer(reply, dtype=f"<u{width}")
        flags = {number: _ARRIVED if number in masked else b"\0" for number in self._commitments}
        return {
            number: pack({neighbour: flags[neighbour] for neighbour in self._neighbours[number] if neighbour in flags})
            for number in masked
        }

    def result(self, replies: Mapping[int, bytes]) -> Integers:
        """Return the sum of the vectors that arrived, from shares of secrets.

        Its entries are in [-256^width / 2, 256^width / 2).
        """
        held_shares: dict[int, dict[int, bytes]] = {number: {} for number in self._commitments}
        for holder, reply in replies.items():
            for owner, share in _parts_or_none(reply, masks.LENGTH).items():
                if holder in self._neighbours.get(owner, ()):
                    held_shares.setdefault(owner, {})[holder] = share
        width = self._agreement.width
        total = self._total
        arrived = set(self.survivors)
        for number, commitment in self._commitments.items():
            if number in arrived:
                seed = self._secret(held_shares[number], number, commitment)
                total -= masks.stream(seed, self._size, width)
            elif remaining := arrived.intersection(self._neighbours[number]):
                secret = self._secret(held_shares[number], number, self._keys[number][_KEY_BYTES:])
                private_key = masks.key_of(secret)
                for neighbour in remaining:  # this client would have subtracted what the neighbour added for it
                    _add_mask(total, private_key, self._keys[neighbour][_KEY_BYTES:], plus=neighbour > number)
        checks = _CHECK_BYTES // width
        if (total[-checks:] != len(arrived)).any():
            raise InvalidParameterError("masks do not cancel: a client broke the protocol; the round is lost")
        return total[:-checks].astype(f"<i{width}").astype(np.int64)

    def _secret(self, shares: dict[int, bytes], number: int, commitment: bytes) -> bytes:
        """Recover a seed or private key from shares of which some may be wrong.

        It is the one that fits its hash or its public key.
        """
        for secret in masks.secrets(shares, threshold=self._agreement.threshold(len(self._neighbours[number]))):
            if commitment in (hashlib.sha256(secret).digest(), masks.public(masks.key_of(secret))):
                return secret
        raise InvalidParameterError("too few valid shares came for a client, so masks stay: the round is lost")

    def _check_enough(self, count: int) -> None:
        needed = self._agreement.survivors
        if count < needed:
            raise InvalidParameterError(f"{count} clients are left, the noise needs {needed}: the round is aborted")


def _nonce(sender: int, receiver: int) -> bytes:
    """Return the nonce of a message: one goes each way under the key of a pair."""
    return bytes([sender < receiver]) + bytes(11)


def _add_mask(total: NDArray[np.unsignedinteger], private: X25519PrivateKey, other: bytes, *, plus: bool) -> None:
    """Add the mask that a pair agrees on to a total in place, or subtract it."""
    mask = masks.stream(masks.agreed(private, other, b"mask"), total.size, total.itemsize)
    (np.add if plus else np.subtract)(total, mask, out=total)


def _parts_or_none(reply: bytes, length: int | None) -> dict[int, bytes]:
    """Return the parts of a reply; none for one that is malformed."""
    with suppress(InvalidParameterError):
        return unpack(reply, length=length)
    return {}


def pack(parts: Mapping[int, bytes]) -> bytes:
    """Return a message of numbered parts, each behind its number and length.

    {7: b"a"} becomes 7, 1, a.
    """
    return b"".join(_PART_HEADER.pack(number, len(part)) + part for number, part in parts.items())


def unpack(message: bytes, *, length: int | None = None) -> dict[int, bytes]:
    """Return the parts of a message by their numbers.

    Args:
        length: of every part, in bytes; any by default.

    Raises: InvalidParameterError for bytes that `pack` does not make, or parts of another length.
    """
    parts: dict[int, bytes] = {}
    padded = message + b"\xff" * _PART_HEADER.size  # a header that is cut off then states a length that is too large
    end = 0
    while end < len(message):
        number, size = _PART_HEADER.unpack_from(padded, end)
        begin = end + _PART_HEADER.size
        end = begin + size
        if end > len(message) or number in parts or length not in (None, size):
            raise InvalidParameterError("a part of the message has a wrong length, or came twice")
        parts[number] = message[begin:end]
    return parts
