"""Protocols with a memory: what is drawn anew, and which histories are protected, by enumeration of all of them."""

import math
from collections import Counter
from functools import reduce
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.local import DirectResponse, unpack
from deniable.local.deployed import DEPLOYED, BitFlip, Client, LongitudinalUnary, OneBitMean, Rappor
from deniable.local.deployed.memo import Memoised
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(21)


def test_reports_of_one_answer_differ_and_average_to_it() -> None:
    """A memo that were drawn anew with each report (as a published library does) would average to the value itself:
    2,000 reports of one answer tell the answer, bit by bit, and the answers of 50 clients differ."""
    protocol, bits = Rappor(cells=20), DeterministicBits(5)
    settled = protocol.settle(1, bits=bits)
    answer = protocol.remember(protocol.keys(protocol._indices([1]), settled), settled, bits=bits)
    many = (np.repeat(answer, 2000, axis=0), np.repeat(settled, 2000, axis=0))
    told = np.unpackbits(protocol.report(*many, bits=bits)[:, settled.shape[1] :], axis=1, bitorder="little").mean(
        axis=0
    )
    kept = np.unpackbits(answer, axis=1, bitorder="little")[0].astype(bool)
    assert told[:20][kept[:20]].min() > told[:20][~kept[:20]].max()
    assert len(np.unique(protocol.encode([1] * 50, bits=bits), axis=0)) > 25


CASES: list[tuple[Any, list[Any]]] = [
    *((BitFlip(values=3, epsilon=1, chosen=chosen), [0, 1, 2]) for chosen in (1, 2, 3)),
    (BitFlip(values=2, epsilon=1, chosen=2), [0, 1]),
    (OneBitMean(bounds=(0, 2), epsilon=1, steps=2), [0, 0.5, 1, 1.5, 2]),
    (OneBitMean(bounds=(0, 2), epsilon=1), [0, 1, 2]),
    (Rappor(cells=2, hashes=1, cohorts=2), ["a", "b", "c"]),
    (Rappor(cells=4, hashes=2, cohorts=1, p=0, q="1/2", f="1/3"), ["b", "e"]),
    (LongitudinalUnary(values=2, epsilon=2, report_epsilon=1), [0, 1]),
    (LongitudinalUnary(values=3, epsilon=1, report_epsilon="1/4"), [0, 1, 2]),
]


def states(protocol: Any) -> list[tuple[float, Any]]:
    """What a client can draw once, with its probability; offsets of a number in steps, between all that matter here."""
    if isinstance(protocol, OneBitMean):
        return [(0.25, eighth / 8) for eighth in (0, 3, 5, 7)]  # numbers here are halves of a step
    count = protocol.groups if isinstance(protocol, BitFlip | Rappor) else 1
    return [(1 / count, group) for group in range(count)]


def key(protocol: Any, value: Any, state: Any) -> Any:
    if isinstance(protocol, OneBitMean):
        return math.floor(value / (2 / protocol.steps) + state)
    if isinstance(protocol, BitFlip):
        place = (value - state) % protocol.groups
        return place if place < protocol.chosen else protocol.chosen
    return value


def chances(protocol: Any, own: Any, state: Any) -> tuple[list[float], tuple[float, float]]:
    """The chance that each bit of a permanent answer is 1, and that a report has 1 where it is 0, and 1."""
    if isinstance(protocol, OneBitMean):
        share = own / protocol.steps
        return [(share * math.e + 1 - share) / (math.e + 1)], (0, 1)
    if isinstance(protocol, BitFlip):
        r = math.exp(protocol.epsilon / 2)
        return [(r if place == own else 1) / (r + 1) for place in range(protocol.chosen + 1)], (0, 1)
    if isinstance(protocol, Rappor):
        held = protocol._filters(np.array([state]), protocol._indices([own]))[0]
        f = float(protocol.f)
        return [1 - f / 2 if bit else f / 2 for bit in held], (float(protocol.p), float(protocol.q))
    q, flip = 1 / (math.exp(protocol.epsilon) + 1), float(protocol.flips)
    return [0.5 if place == own else q for place in range(protocol.size)], (flip, 1 - flip)


def sent(answer: Any, report: Any, low: float, high: float) -> float:
    """The probability of a report from a permanent answer."""
    ones = [high if bit else low for bit in answer]
    return math.prod(p if bit else 1 - p for p, bit in zip(ones, report, strict=True))


def law(protocol: Any, history: tuple[Any, ...]) -> Any:
    """The exact law of all reports, from the definition: a list over states that are sent, else their mixture."""
    found = []
    for mass, state in states(protocol):
        keys = [key(protocol, value, state) for value in history]
        blocks, order = [], []
        for own in dict.fromkeys(keys):
            ones, (low, high) = chances(protocol, own, state)
            rows = list(product((0, 1), repeat=len(ones)))
            answers = [math.prod(p if bit else 1 - p for p, bit in zip(ones, row, strict=True)) for row in rows]
            told = np.array([[sent(row, out, low, high) for out in rows] for row in rows])
            times = [at for at, each in enumerate(keys) if each == own]
            joint = sum(
                p * reduce(np.multiply.outer, [part] * len(times)) for p, part in zip(answers, told, strict=True)
            )
            blocks.append(joint)
            order += times
        found.append(mass * reduce(np.multiply.outer, blocks).transpose(np.argsort(order)).ravel())
    return sum(found) if isinstance(protocol, OneBitMean) else np.concatenate(found)


def exact(one: Any, other: Any) -> float:
    """The least epsilon of two laws."""
    either = (one > 0) | (other > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(one[either]) - np.log(other[either])).max())


def test_every_protocol_with_a_memory_is_enumerated() -> None:
    assert {type(protocol) for protocol, _ in CASES} == {kind for kind in DEPLOYED if issubclass(kind, Memoised)}


@pytest.mark.parametrize(("protocol", "values"), CASES, ids=lambda each: getattr(each, "kind", ""))
def test_no_pair_of_histories_loses_more_than_is_stated(protocol: Any, values: list[Any]) -> None:
    """All pairs of histories of one, two and three donations. BitFlip attains what is stated, infinity included."""
    attained = []
    for donations in (1, 2, 3) if len(values) < 5 else (1, 2):
        histories = list(product(values, repeat=donations))
        laws = {history: law(protocol, history) for history in histories}
        for history, other in combinations(histories, 2):
            stated, found = protocol.epsilon_between(history, other), exact(laws[history], laws[other])
            assert found <= float(stated) + 1e-8, (history, other)
            if isinstance(protocol, BitFlip):
                assert found == pytest.approx(float(stated), abs=1e-8), (history, other)
            attained.append((donations, float(stated), found))
            if len({*history}) == len({*other}) == 1:
                assert stated <= Client(protocol).loss_of(donations, constant=True).epsilon(0).upper * (1 + 1e-9)
    most = float(getattr(protocol, "report_epsilon", protocol.epsilon))
    assert max(found for count, _, found in attained if count == 1) == pytest.approx(most, abs=1e-8)  # a single report
    assert all(protocol.epsilon_between(each, each) == 0 for each in histories)
    assert max(stated for _, stated, _ in attained) == math.inf


def test_the_pairs_of_the_old_claim_are_not_protected() -> None:
    """Two values at T days were said to lose 2 T epsilon, or 2 epsilon if they change together."""
    mean = OneBitMean(bounds=(0, 2), epsilon=1, steps=2)
    assert exact(law(mean, (0, 0.5)), law(mean, (2, 0))) > 2  # finite, and 2.073: more than two answers
    for protocol, one, other in (
        (BitFlip(values=2, epsilon=1, chosen=2), (0, 0), (0, 1)),
        (BitFlip(values=3, epsilon=1, chosen=1), (0, 1), (0, 2)),
        (mean, (0, 0.5, 1), (0, 0.5, 1.5)),
    ):
        assert exact(law(protocol, one), law(protocol, other)) == protocol.epsilon_between(one, other) == math.inf
    small = Rappor(cells=2, hashes=1, cohorts=1)
    grown = [exact(law(small, ("a",) * 2 * half), law(small, ("a",) * half + ("b",) * half)) for half in (1, 2, 3, 4)]
    assert (np.diff(grown) > 0.2).all()
    assert small.epsilon_between(list("aaaa"), list("aabb")) == math.inf


def test_a_client_books_a_value_that_stays_and_refuses_to_state_a_change() -> None:
    for protocol, values in CASES:
        client = Client(protocol, donations=2)
        for _ in range(2):
            client.donate(values[0], day=1, bits=BITS)
        assert client.epsilon == protocol.epsilon
        client.donate(values[-1], day=2, bits=BITS)
        if protocol.kind != "bitflip" or protocol.chosen > 1:  # else both may be buckets that were not drawn
            assert client.epsilon == math.inf
        assert client.loss_of(30, constant=True) == Client(protocol).loss_of(1) == protocol.privacy_loss
        with pytest.raises(UnprovedError, match="no epsilon holds for 60 reports"):
            client.loss_of(30)
        with pytest.raises(InvalidParameterError):
            client.loss_of(30, constant=1)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match="of one length"):
            protocol.epsilon_between(values[:1], values[:2])
    fresh = Client(DirectResponse(values=2, epsilon=1), donations=2)
    assert fresh.loss_of(3) == fresh.loss_of(3, constant=True)


@pytest.mark.parametrize(("protocol", "history"), [
    (BitFlip(values=3, epsilon=1, chosen=1), (0, 1, 0)),
    (OneBitMean(bounds=(0, 2), epsilon=1, steps=2), (0, 0.5, 2)),
    (LongitudinalUnary(values=2, epsilon=2, report_epsilon=1), (1, 0, 1)),
])  # fmt: skip
def test_clients_donate_by_the_enumerated_law(protocol: Any, history: tuple[Any, ...]) -> None:
    """600 clients of a history; the total variation to the law is below what 99.9% of draws from it have."""
    runs, width = 600, {"bitflip": 2, "onebit": 1, "longitudinal": 2}[protocol.kind]
    drawn: Counter[int] = Counter()
    for _ in range(runs):
        client, place = Client(protocol, donations=9), 0
        reports = [unpack(protocol, client.donate(value, day=1, bits=BITS))[0] for value in history]
        for report in reports:
            code = np.unpackbits(report[-1:], bitorder="little")[:width]
            place = (place << width) + int("".join(map(str, code)), 2)
        group = int(reports[0][0]) if protocol.kind == "bitflip" else 0
        drawn[group << width * len(history) | place] += 1
    expected = law(protocol, history)
    assert set(drawn) <= set(np.flatnonzero(expected))
    source = np.random.default_rng(3)
    limits = np.abs(source.multinomial(runs, expected / expected.sum(), 1000) / runs - expected).sum(axis=1)
    found = np.array([drawn[place] for place in range(len(expected))]) / runs
    assert np.abs(found - expected).sum() < np.sort(limits)[-2]
