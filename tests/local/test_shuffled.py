"""Encode, shuffle, analyse: orders, refusals, accounting, and four processes."""

import subprocess
import sys
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import (
    DirectResponse,
    HadamardResponse,
    MeanProtocol,
    Shuffler,
    analyse,
    pack,
    shuffled_loss,
    unpack,
)
from deniable.noise import uniform
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(15)
PROTOCOL = DirectResponse(values=4, epsilon=1)


def shuffler(min_reports: int = 3) -> Shuffler:
    found = Shuffler(PROTOCOL, min_reports=min_reports)
    for sender, code in (("a", 0), ("b", 1), ("c", 2)):
        found.add(pack(PROTOCOL, np.array([[code]], dtype=np.uint8)), sender=sender)
    return found


def test_every_order_is_as_likely() -> None:
    """Chi-square of 24 orders of 12,000 draws at level 1e-6, and of a shuffler's six."""
    orders = [tuple(uniform.permutation(4, bits=BITS).tolist()) for _ in range(12_000)]
    assert stats.chisquare([orders.count(each) for each in permutations(range(4))]).pvalue > 1e-6
    told = [unpack(PROTOCOL, shuffler().release(bits=BITS)).ravel().tobytes() for _ in range(1200)]
    assert stats.chisquare([told.count(bytes(each)) for each in permutations(range(3))]).pvalue > 1e-6


def test_equal_words_are_drawn_anew() -> None:
    class Tied(DeterministicBits):
        def fill(self, out: Any) -> None:
            out[:] = 7 if not hasattr(self, "asked") else np.arange(len(out))[::-1]
            self.asked = True

    assert uniform.permutation(3, bits=Tied(1)).tolist() == [2, 1, 0]


def test_a_shuffler_refuses_and_forgets() -> None:
    found = shuffler(min_reports=4)
    with pytest.raises(InvalidParameterError, match="4 reports are needed"):
        found.release()
    for message, sender in ((np.zeros((1, 1)), "a"), (np.zeros((2, 1)), "d"), (np.zeros((0, 1)), "e")):
        with pytest.raises(InvalidParameterError, match="one report, once"):
            found.add(pack(PROTOCOL, message.astype(np.uint8)), sender=sender)
    with pytest.raises(InvalidParameterError, match="too short"):
        found.add(b"x", sender="f")
    found = shuffler()
    message = found.release(bits=BITS)
    with pytest.raises(InvalidParameterError, match="needed"):
        found.release()
    with pytest.raises(InvalidParameterError, match="reveal more"):
        analyse(PROTOCOL, message, min_reports=4)
    assert analyse(PROTOCOL, message, min_reports=3).cost == shuffled_loss(PROTOCOL, 3)


def test_the_loss_is_that_of_the_protocol() -> None:
    at = 1e-6
    duchi = MeanProtocol(bounds=(0, 1), epsilon=1, share=0)
    assert shuffled_loss(duchi, 1000) == shuffled_loss(DirectResponse(values=2, epsilon=1), 1000)
    small = MeanProtocol(bounds=(0, 1), epsilon=1, share=1, steps=3)
    known, unknown = shuffled_loss(small, 1000), shuffled_loss(HadamardResponse(values=9, epsilon=1), 1000)
    assert known.epsilon(at).upper < unknown.epsilon(at).upper < 1


def test_a_vector_is_known_by_its_epsilon_alone() -> None:
    """Its place hides nothing: as k-RR over places and bits it would seem to hide far too much."""
    for share in (0, 1):
        vector = MeanProtocol(bounds=(0, 1), epsilon=1, share=share, steps=2, columns=3)
        assert shuffled_loss(vector, 100) == shuffled_loss(HadamardResponse(values=9, epsilon=1), 100)
    with pytest.raises(InvalidParameterError, match="pure epsilon"):
        shuffled_loss(object(), 100)  # type: ignore[arg-type]


CLIENT = """
import sys
from deniable.local import pack, protocol_of
protocol = protocol_of(sys.argv[1])
sys.stdout.buffer.write(pack(protocol, protocol.encode([int(sys.argv[2])])))
"""
SHUFFLE = """
import sys
from deniable.local import Shuffler, protocol_of
shuffler = Shuffler(protocol_of(sys.argv[1]), min_reports=2)
for sender, message in enumerate(sys.argv[2:]):
    shuffler.add(bytes.fromhex(message), sender=str(sender))
sys.stdout.buffer.write(shuffler.release())
"""


def test_two_clients_and_a_shuffler_are_processes_beside_the_analyser() -> None:
    def run(code: str, *words: str) -> bytes:
        command = [sys.executable, "-c", code, PROTOCOL.to_json(), *words]
        return subprocess.run(command, capture_output=True, check=True).stdout

    sent = [run(CLIENT, value).hex() for value in ("1", "3")]
    assert analyse(PROTOCOL, run(SHUFFLE, *sent), min_reports=2)["count"].sum() == pytest.approx(2)
