"""Messages between clients and a server: what is read back, what is refused, and what is counted twice."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.local import Collector, DirectResponse, UnaryEncoding, best_protocol, pack, protocol_of, unpack
from deniable.local.frequencies import PROTOCOLS
from deniable.noise.bits import DeterministicBits
from tests.local.deployed.test_client import ALL as DEPLOYED

BITS = DeterministicBits(2)
PROTOCOL = DirectResponse(values=["a", "b", "c"], epsilon=1)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_protocol_and_its_reports_survive_the_wire(kind: type) -> None:
    protocol = kind(values=[3, 5, 9], epsilon="1/3")
    reports = protocol.encode([3, 9, 5, 5], bits=BITS)
    there = protocol_of(protocol.to_json())
    assert there == protocol
    assert (unpack(there, pack(protocol, reports)) == reports).all()


@pytest.mark.parametrize("protocol", [PROTOCOL, *DEPLOYED], ids=lambda each: each.kind)
@settings(max_examples=30)
@given(noise=st.binary(max_size=60), place=st.integers(0, 30), byte=st.integers(0, 255))
def test_hostile_bytes_are_counted_or_refused_with_a_sentence(
    protocol: Any, noise: bytes, place: int, byte: int
) -> None:
    good = pack(protocol, protocol.encode(["a", 1], bits=BITS))
    changed = bytearray(good)
    changed[place % len(good)] = byte
    for message in (noise, bytes(changed), good[:place], good + noise):
        collector = Collector(protocol_of(protocol.to_json()))
        try:
            collector.add(message)
        except InvalidParameterError:
            assert collector.people == 0
        else:
            assert collector.people == 2


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "too short"),
        ("text", "too short"),
        (b"x" * 40, "no message"),
        (pack(UnaryEncoding(values=["a", "b", "c"], epsilon=1), np.zeros((1, 1), dtype=np.uint8)), "another protocol"),
        (pack(PROTOCOL, np.zeros((2, 1), dtype=np.uint8))[:-1], "should hold 2"),
        (pack(PROTOCOL, np.zeros((1, 1), dtype=np.uint8))[:-1] + b"\x03", "no report"),
    ],
)
def test_messages_that_are_none_are_refused_by_name(message: bytes, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        unpack(PROTOCOL, message)


def test_another_version_is_refused() -> None:
    message = bytearray(pack(PROTOCOL, np.zeros((1, 1), dtype=np.uint8)))
    message[4] += 1
    with pytest.raises(InvalidParameterError, match="version 2"):
        unpack(PROTOCOL, bytes(message))


def test_a_sender_counts_once_and_sends_one_report() -> None:
    collector, one = Collector(PROTOCOL), pack(PROTOCOL, PROTOCOL.encode(["a"], bits=BITS))
    collector.add(one, sender="me")
    for sender, message in (("me", one), ("you", pack(PROTOCOL, PROTOCOL.encode(["a", "a"], bits=BITS)))):
        with pytest.raises(InvalidParameterError, match="one"):
            collector.add(message, sender=sender)
    assert collector.people == 1
    with pytest.raises(InvalidParameterError, match="at least one report"):
        Collector(PROTOCOL).estimate()


def test_a_tally_of_messages_is_that_of_all_reports() -> None:
    reports, collector = PROTOCOL.encode(["a", "b"] * 50, bits=BITS), Collector(PROTOCOL)
    for part in np.array_split(reports, 7):
        collector.add(pack(PROTOCOL, part))
    assert (collector.estimate()["count"] == PROTOCOL.estimate(reports)["count"]).all()


def test_a_client_in_another_process_reports_to_this_server() -> None:
    code = (
        "import sys; from deniable.local import pack, protocol_of; protocol = protocol_of(sys.argv[1]); "
        "sys.stdout.buffer.write(pack(protocol, protocol.encode(['b'] * 3000 + ['c'] * 1000)))"
    )
    protocol = best_protocol(["a", "b", "c"], epsilon=3)
    sent = subprocess.run([sys.executable, "-c", code, protocol.to_json()], capture_output=True, check=True).stdout
    collector = Collector(protocol)
    collector.add(sent)
    ends = collector.estimate().intervals(1 - 1e-9)["count"]
    assert (ends.lower <= [0, 3000, 1000]).all()
    assert (ends.upper >= [0, 3000, 1000]).all()


def test_the_best_protocol_is_that_of_least_variance() -> None:
    for values, epsilon in ((3, 1), (50, 1), (2000, 4)):
        best = best_protocol(values, epsilon=epsilon)
        others = [kind(values=values, epsilon=epsilon) for kind in PROTOCOLS]
        assert float(best.variance(people=1)) <= min(float(each.variance(people=1)) for each in others) * (1 + 1e-8)
    with pytest.raises(InvalidParameterError, match="has 2 bytes"):
        best_protocol(1000, epsilon=1, width=1)
    with pytest.raises(InvalidParameterError, match="a protocol is one of"):
        protocol_of('{"protocol": "x"}')
