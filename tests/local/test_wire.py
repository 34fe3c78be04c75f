"""Messages between clients and a server: what is read back, what is refused, and what is counted twice."""

import io
import pickle
import subprocess
import sys
from contextlib import suppress
from dataclasses import MISSING, fields
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.local import (
    Collector,
    DirectResponse,
    MeanProtocol,
    PrivUnit,
    ShuffledSum,
    best_protocol,
    pack,
    protocol_of,
    send,
    unpack,
)
from deniable.local.deployed import CountMeanSketch
from deniable.local.frequencies import PROTOCOLS
from deniable.local.protocol import FrequencyProtocol
from deniable.local.wire import KINDS
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(2)
PROTOCOL = DirectResponse(values=["a", "b", "c"], epsilon=1)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_protocol_and_its_reports_survive_the_wire(kind: type) -> None:
    protocol = kind(values=[3, 5, 9], epsilon="1/3")
    reports = protocol.encode([3, 9, 5, 5], bits=BITS)
    there = protocol_of(protocol.to_json())
    assert there == protocol
    assert (unpack(there, pack(protocol, reports)) == reports).all()


FACTS = {"epsilon": 2, "values": 9, "alphabet": "ab", "length": 4, "bounds": (0, 1), "report_epsilon": 1}
FACTS |= {"columns": 2, "delta": "1e-3", "min_people": 2, "people": 2}
SMALL = {"cells": 9, "hashes": 3, "cohorts": 3}


def example(kind: Any) -> Any:
    """A small protocol of any kind that a server can announce."""
    needed = {each.name for each in fields(kind) if each.init and each.default is MISSING}
    wanted = {name: FACTS[name] for name in needed}
    return kind(**wanted, **{name: SMALL[name] for name in SMALL if name in kind.__dataclass_fields__})


EVERY = [example(kind) for kind in KINDS.values()]


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.kind)
@settings(max_examples=25)
@given(noise=st.binary(max_size=60), place=st.integers(0, 30), byte=st.integers(0, 255))
def test_hostile_bytes_are_counted_or_refused_with_a_sentence(
    protocol: Any, noise: bytes, place: int, byte: int
) -> None:
    good = pack(protocol, protocol.encode(["a", 1], bits=BITS))
    changed = bytearray(good)
    changed[place % len(good)] = byte
    for message in (noise, bytes(changed), good[:place], good + noise):
        one, streamed = Collector(protocol), Collector(protocol)
        before = one._tally.copy()
        try:
            one.add(message)
        except InvalidParameterError:
            assert one.people == 0
            assert (one._tally == before).all()
        else:
            assert one.people == 2
        with suppress(InvalidParameterError):
            streamed.read(io.BytesIO(message))
        assert streamed.people in (0, 2)
        assert streamed.people >= one.people


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.kind)
def test_every_protocol_refuses_what_is_not_its_own_and_an_estimate_from_nothing(protocol: Any) -> None:
    there = protocol_of(protocol.to_json())
    assert there == protocol
    assert protocol.sound(protocol.encode([None, "a", 0.5, 10**40, -1], bits=BITS))
    message = pack(protocol, protocol.encode([1], bits=BITS))
    for other in EVERY:
        if other is not protocol:
            with pytest.raises(InvalidParameterError, match="another protocol"):
                unpack(other, message)
    collector = Collector(there)
    for asked in ({}, {"candidates": ["a"]}):
        with pytest.raises((InvalidParameterError, TypeError)):
            collector.estimate(**asked)
    collector.add(message, sender="me")
    with pytest.raises(InvalidParameterError, match="already"):
        collector.add(message, sender="me")
    assert collector.people == 1
    asked = {"candidates": ["a"]} if "candidates" in signature(protocol.estimate).parameters else {}
    with suppress(InvalidParameterError):  # from one report: refused, exact, or with a sentence
        answer = collector.estimate(**asked)
        assert isinstance(protocol, FrequencyProtocol | MeanProtocol | PrivUnit) or "1 reports are too few" in str(
            answer.notes
        )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"protocol": []}', '{"protocol": "direct"}', '{"protocol": "direct", "x": 1}']
)
def test_text_that_announces_no_protocol_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError):
        protocol_of(text)


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.kind)
def test_a_client_agrees_to_no_more_than_its_own_epsilon(protocol: Any) -> None:
    """A server that is not trusted may ask for any epsilon, or for messages that hide nothing from it."""
    text, most = protocol.to_json(), protocol.epsilon
    assert protocol_of(text) == protocol
    if not isinstance(protocol, ShuffledSum):
        assert protocol_of(text, epsilon=most) == protocol
        most = most * Fraction(99, 100)
    with pytest.raises(InvalidParameterError, match="reveals more than epsilon"):
        protocol_of(text, epsilon=most)


class Slow(io.BytesIO):
    """A stream that hands out five bytes at once, as a socket may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, 5))


def test_a_stream_of_messages_counts_as_they_do_and_stops_at_the_first_that_is_none() -> None:
    wire, alone = io.BytesIO(), Collector(PROTOCOL)
    for values in (["a", "b"] * 50, [], ["c"]):
        reports = PROTOCOL.encode(values, bits=DeterministicBits(7))
        alone.add(pack(PROTOCOL, reports))
        send(PROTOCOL, values, to=wire, bits=DeterministicBits(7))
    sent = wire.getvalue()
    collector = Collector(PROTOCOL)
    assert collector.read(Slow(sent)) == 101
    assert (collector._tally == alone._tally).all()
    huge = sent[:13] + (2**32 - 1).to_bytes(4, "little")
    for bad, said in ((sent[:-1], "should hold"), (sent + sent[:9], "broke off"), (sent + huge, "send several")):
        collector = Collector(PROTOCOL)
        with pytest.raises(InvalidParameterError, match=said):
            collector.read(Slow(bad))
        assert collector.people == (100 if said == "should hold" else 101)


def test_servers_put_together_what_they_counted() -> None:
    for protocol in (PROTOCOL, CountMeanSketch(epsilon=1, hashes=3, cells=9)):
        reports = protocol.encode(["a", "b"] * 50, bits=BITS)
        one, other, whole = (Collector(protocol) for _ in range(3))
        for collector, part in ((one, reports[:30]), (other, reports[30:]), (whole, reports)):
            collector.add(pack(protocol, part))
        one.merge(pickle.loads(pickle.dumps(other)))
        assert (one.people, other.people) == (100, 70)
        assert (one._tally == whole._tally).all()
        one.add(pack(protocol, reports[:1]), sender="me")
        again = Collector(protocol)
        again.add(pack(protocol, reports[:1]), sender="me")
        for wrong, said in (
            (again, "one sender"),
            (one, "same protocol"),
            (Collector(example(KINDS["unary"])), "same protocol"),
        ):
            with pytest.raises(InvalidParameterError, match=said):
                one.merge(wrong)
        assert one.people == 101


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
        "import sys; from deniable.local import protocol_of, send; "
        "send(protocol_of(sys.argv[1]), ['b'] * 3000 + ['c'] * 1000, to=sys.stdout.buffer)"
    )
    protocol = best_protocol(["a", "b", "c"], epsilon=3)
    collector = Collector(protocol)
    with subprocess.Popen([sys.executable, "-c", code, protocol.to_json()], stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        assert collector.read(client.stdout) == 4000
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
