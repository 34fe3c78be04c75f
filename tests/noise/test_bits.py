"""Secure bits: the keystream against an independent computation, re-keying, forks, threads, and what is refused."""

import copy
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.errors import InvalidParameterError
from deniable.noise import bits as bits_module
from deniable.noise.bits import SECURE, DeterministicBits, SecureBits, Streams, shape_of


def keystream(secret: bytes, count: int) -> bytes:
    """AES-256-CTR by single block encryptions: the route that the code does not take."""
    block = Cipher(algorithms.AES256(secret[:32]), modes.ECB()).encryptor()
    first = int.from_bytes(secret[32:], "big")
    blocks = [(first + i) % 2**128 for i in range(-(-count // 16))]
    return b"".join(block.update(i.to_bytes(16, "big")) for i in blocks)[:count]


def test_words_are_the_keystream_and_each_refill_has_a_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = bytes(range(31, 63)) + b"\xff" * 16  # the counter wraps
    monkeypatch.setattr(os, "urandom", lambda n: secret[:n])
    stream = SecureBits()
    for size in (5000, 3000):  # each is one refill: 48 bytes for the next key, then the words
        expected = keystream(secret, 48 + 8 * size)
        assert stream.words(size).tobytes() == expected[48:]
        secret = expected[:48]
    pool = keystream(secret, 48 + 8 * 1024)[48:]
    assert stream.words(1000).tobytes() == pool[:8000]
    assert stream.words(24).tobytes() == pool[8000:]
    assert stream.words(1).tobytes() == keystream(keystream(secret, 48), 56)[48:]


def test_long_requests_cross_the_chunks_of_the_cipher(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = bytes(48)
    monkeypatch.setattr(os, "urandom", lambda n: secret[:n])
    assert SecureBits().words(70_001).tobytes() == keystream(secret, 48 + 8 * 70_001)[48:]


def test_no_word_is_given_twice() -> None:
    stream = SecureBits()
    sizes = [1, 7, 1023, 1024, 1025, 40_000, 3] * 10
    words = np.concatenate([stream.words(size) for size in sizes])
    assert np.unique(words).size == words.size  # by chance 10^-8


def test_given_words_and_old_keys_are_erased() -> None:
    stream = SecureBits()
    given = stream.words(10)
    (inner,) = stream._idle
    assert not np.isin(given, inner._pool).any()
    before = bytes(inner._secret)
    stream.words(5000)
    assert bytes(inner._secret) != before


def test_threads_share_no_word() -> None:
    stream = SecureBits()
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(stream.words, [3, 500, 2000] * 200))
    words = np.concatenate(parts)
    assert np.unique(words).size == words.size


FORK = """
import json, os
from deniable.noise.bits import SECURE
SECURE.words(10)                      # the parent has a pool before it forks
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, json.dumps(SECURE.words(100).tolist()).encode())
    os._exit(0)
child = json.loads(os.read(reader, 60000))
print(json.dumps([child, SECURE.words(100).tolist()]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_stream() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, check=True, text=True)
    child, parent = json.loads(done.stdout)
    assert len(child) == len(parent) == 100
    assert not set(child) & set(parent)


def test_a_fork_in_the_middle_of_a_request_starts_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SecureBits()
    stream.words(1)
    (old,) = stream._idle
    first_fill = bits_module._Stream.fill
    seen: list[np.ndarray] = []

    def fork_after(self: bits_module._Stream, out: np.ndarray) -> None:
        first_fill(self, out)
        if self is old:
            seen.append(out.copy())
            monkeypatch.setattr(bits_module, "_forks", bits_module._forks + 1)

    monkeypatch.setattr(bits_module._Stream, "fill", fork_after)
    assert not np.isin(stream.words(50), seen[0]).any()
    assert old not in stream._idle


def test_bits_are_balanced() -> None:
    words = SECURE.words(1 << 16)
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0, dtype=np.int64)
    assert np.abs(ones - 2**15).max() < 6 * 2**7  # 6 sigma at 64 positions: by chance 10^-7


def test_a_secure_stream_cannot_be_copied_or_read_from_its_print() -> None:
    assert repr(SECURE) == "SecureBits()"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            attempt(SECURE)


def test_a_test_stream_repeats_itself_however_it_is_asked() -> None:
    whole = DeterministicBits(7).words(1000)
    parts = DeterministicBits(7)
    assert np.array_equal(whole, np.concatenate([parts.words(n) for n in (1, 99, 0, 900)]))
    assert not np.array_equal(whole, DeterministicBits(8).words(1000))


def test_a_test_stream_says_what_it_is() -> None:
    """Who publishes asks `safe`: see the contract over all forms of a release."""
    assert SECURE.safe
    assert not DeterministicBits(3).safe


@pytest.mark.parametrize("seed", [True, 1.0, "1", None])
def test_wrong_seed_is_refused(seed: object) -> None:
    with pytest.raises(InvalidParameterError, match="seed must be"):
        DeterministicBits(seed)  # type: ignore[arg-type]


def test_shapes_from_sizes() -> None:
    assert shape_of(None) == ()
    assert shape_of(3) == shape_of(np.int64(3)) == (3,)  # type: ignore[arg-type]
    assert shape_of((2, 0)) == (2, 0)


def test_numbered_streams_are_disjoint_parts_of_one_keystream() -> None:
    """Beside AES itself: stream n begins at block n * 2**64 of the counter, here and where its copy is."""
    streams = Streams()
    key = streams._key
    assert streams.safe
    assert streams.stream(1).safe
    assert not Streams(DeterministicBits(1)).stream(0).safe
    assert str(key) not in repr(streams)
    for number in (0, 1, 2**64 - 1):
        expected = keystream(key + (number << 64).to_bytes(16, "big"), 9600)
        for copied in (streams, pickle.loads(pickle.dumps(streams))):
            parts = copied.stream(number)
            assert b"".join(parts.words(count).tobytes() for count in (1, 0, 199, 1000)) == expected
    assert Streams()._key != key
    with pytest.raises(OverflowError):
        streams.stream(2**64)
