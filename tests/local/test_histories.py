"""Random histories of clients: what they really send, in exact probabilities, reveals no more than is stated.

A client is its state, so the law of its reports follows from the law of one donation of each state: all of them are
enumerated, and clients are restarted from JSON between any two. `make fuzz TESTS=tests/local/test_histories.py` looks
at new ones.
"""

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.local import (
    DirectResponse,
    HadamardResponse,
    HeavyHitters,
    LocalHashing,
    MeanProtocol,
    PrivUnit,
    RangeProtocol,
    Shuffler,
    SubsetSelection,
    UnaryEncoding,
    directions,
    pack,
    protocol_of,
    shuffled_loss,
    unpack,
)
from deniable.local.deployed import (
    BitFlip,
    Client,
    CountMeanSketch,
    FragmentPuzzle,
    HadamardSketch,
    LongitudinalUnary,
    OneBitMean,
    Rappor,
    memo,
    microsoft,
)
from deniable.local.deployed.memo import Memoised
from deniable.local.protocol import PureProtocol
from deniable.local.wire import KINDS
from deniable.noise.bits import Bits, DeterministicBits
from deniable.numbers.balls import exp_below
from tests.noise.enumerated import Ways, delta, law

EXAMPLES = settings.default.max_examples if settings.default else 50  # 50 in the gate, 1000 in make fuzz
BITS = 6 if EXAMPLES < 100 else 9  # of all reports of a permanent answer
TEXTS, NUMBERS = ["a", "b", "ab", None], [0, 0.5, 1, 1.5, 2, math.nan]
EPSILONS = st.sampled_from(["1/8", "1/2", "1", "5/2", "6"]).map(Fraction)


def of(kind: Any, values: Any, /, **facts: Any) -> st.SearchStrategy[tuple[Any, Any]]:
    """Protocols with these facts, or some of them, and the values that their clients may have."""
    varied = {name: fact if isinstance(fact, st.SearchStrategy) else st.just(fact) for name, fact in facts.items()}
    return st.fixed_dictionaries({"epsilon": EPSILONS, **varied}).map(lambda facts: (kind(**facts), values))


def bounded(kind: Any) -> Any:
    """A protocol of numbers that may lie between a lower and an upper end, each of which may vary."""
    return lambda lower, upper, **facts: kind(bounds=(lower, upper), **facts)


def longitudinal(facts: tuple[Fraction, int]) -> tuple[Any, Any]:
    epsilon, values = facts
    return LongitudinalUnary(values=values, epsilon=epsilon, report_epsilon=epsilon / 3), range(values)


FEW = st.integers(2, 3)
KEPT: dict[str, st.SearchStrategy[tuple[Any, Any]]] = {
    "bitflip": st.tuples(st.integers(1, 3), FEW, EPSILONS).map(
        lambda facts: (BitFlip(values=facts[1], chosen=min(facts[:2]), epsilon=facts[2]), [*range(facts[1]), None])
    ),
    "longitudinal": st.tuples(EPSILONS, FEW).map(longitudinal),
    "onebit": of(bounded(OneBitMean), NUMBERS, lower=0, upper=2, steps=st.integers(1, 2)),
    "rappor": st.builds(Rappor, cells=FEW, hashes=st.integers(1, 2), cohorts=st.integers(1, 2),
                        f=st.sampled_from(["1/2", "1/5"]), p=st.sampled_from([0, "1/2"]),
                        q=st.sampled_from(["7/8", "3/4"])).map(lambda found: (found, TEXTS)),
}  # fmt: skip
FRESH: dict[str, st.SearchStrategy[tuple[Any, Any]]] = {
    "direct": of(DirectResponse, range(5), values=st.integers(2, 5)),
    "hadamard": of(HadamardResponse, range(4), values=st.integers(2, 4)),
    "hashing": of(LocalHashing, range(6), values=st.integers(2, 6), cells=st.sampled_from([0, 2, 3])),
    "subset": of(SubsetSelection, range(4), values=st.integers(2, 4)),
    "unary": of(UnaryEncoding, range(3), values=FEW, symmetric=st.booleans()),
    "mean": of(bounded(MeanProtocol), [*NUMBERS, -9, 1e300], lower=0, upper=2, steps=st.integers(1, 3),
               share=st.sampled_from([None, 0, 1, "1/2"])),
    "privunit": of(PrivUnit, [[0, 1], [1, 0], [-0.5, 0], [math.nan, 0]], columns=2, directions=2, repeats=1,
                   cap_size=st.integers(1, 2)),
    "ranges": of(RangeProtocol, [0, 1, 2, 3, 9], values=4, branching=st.sampled_from([2, 4])),
    "prefixes": of(HeavyHitters, TEXTS, alphabet="ab", length=2, whole=st.booleans()).filter(
        lambda found: found[0].epsilon < 2),
    "cms": of(CountMeanSketch, TEXTS, hashes=st.integers(1, 2), cells=4),
    "hcms": of(HadamardSketch, TEXTS, hashes=st.integers(1, 2), cells=4),
    "sfp": of(FragmentPuzzle, TEXTS, alphabet="ab", length=2, step=1, pieces=2, hashes=1, cells=4, signs=True),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def coarse() -> Iterator[None]:
    """Offsets in quarters of a step, and lengths in quarters: all of them can be tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microsoft, "_OFFSETS", 4)
        patch.setattr(directions, "_TALLY_UNIT", 4)
        yield


# --- a client as a chain of states -----------------------------------------------------------------------------------


class Event(NamedTuple):
    """A donation of one of two values, on the same day as the last or the next; before it the device may be lost."""

    values: tuple[Any, Any]
    later: bool
    lost: bool


Reports = tuple[object, ...]
Chain = dict[tuple[str, Reports], Fraction]


def started(protocol: Any, donations: int, state: str) -> Client:
    client = Client(protocol, donations=donations)
    if state:
        client.load(state)
    return client


def donated(client: Client, value: Any, day: int, bits: Bits) -> object:
    """What everybody sees of a donation."""
    try:
        return client.donate(value, day=day, bits=bits)
    except BudgetExceededError as error:
        return str(error)


@lru_cache(maxsize=1 << 14)
def step(protocol: str, donations: int, state: str, value: str, day: int) -> list[tuple[str, object, Fraction]]:
    """The states after a donation, what is seen, and the probability."""
    kind = protocol_of(protocol)
    loaded = started(kind, donations, state)  # draws a report to see whether a state is sound

    def run(bits: Bits) -> tuple[str, object]:
        client = deepcopy(loaded, {id(kind): kind})
        seen = donated(client, json.loads(value), day, bits)
        return client.state(), seen

    return [(after, seen, mass) for (after, seen), mass in law(run, coins=columns(kind)).items()]


def columns(protocol: Any) -> int:
    """How many coins a row of a report has."""
    if isinstance(protocol, LongitudinalUnary):
        return protocol.size
    if isinstance(protocol, RangeProtocol | FragmentPuzzle):
        return 4
    row = getattr(protocol, "row", protocol)
    return int(getattr(row, "size", 1)) if isinstance(row, UnaryEncoding) else 1


def reports(protocol: Any, donations: int, events: list[Event], side: int) -> dict[Reports, Fraction]:
    """The law of all that is seen of a history."""
    text, day = protocol.to_json(), 0
    chain: Chain = {("", ()): Fraction(1)}
    for event in events:
        day, longer = day + event.later, Chain()
        for (state, before), mass in chain.items():
            kept, value = "" if event.lost else state, json.dumps(event.values[side])
            for after, seen, chance in step(text, donations, kept, value, day):
                key = (after, (*before, seen))
                longer[key] = longer.get(key, Fraction(0)) + mass * chance
        chain = longer
    found: dict[Reports, Fraction] = {}
    for (_, seen), mass in chain.items():
        found[seen] = found.get(seen, Fraction(0)) + mass
    return found


def allowed(donations: int, events: list[Event]) -> list[bool]:
    """Which donations are within the budget of their day and device: public."""
    found, made, day = [], dict[int, int](), 0
    for event in events:
        day, made = day + event.later, {} if event.lost else made
        made[day] = made.get(day, 0) + 1
        found.append(made[day] <= donations)
    return found


def stated(protocol: Any, donations: int, events: list[Event]) -> Fraction | float:
    """The epsilon of two histories: the sum of those of all devices."""
    parts: list[list[Event]] = [[]]
    for event, made in zip(events, allowed(donations, events), strict=True):
        parts += [[]] if event.lost else []
        parts[-1] += [event] if made else []
    total: Fraction | float = Fraction(0)
    for part in parts:
        if isinstance(protocol, Memoised):
            total += protocol.epsilon_between(*([event.values[side] for event in part] for side in (0, 1)))
        else:
            total += protocol.epsilon * sum(not same(*event.values) for event in part)
    return total


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def within(one: dict[Any, Fraction], other: dict[Any, Fraction], epsilon: Fraction | float) -> bool:
    """Whether no outcome is likelier than e^epsilon times, in rationals."""
    if math.isinf(epsilon):
        return True
    odds = exp_below(Fraction(epsilon), 96) + Fraction(1, 2**96)
    return one.keys() == other.keys() and all(
        one[seen] <= odds * other[seen] and other[seen] <= odds * one[seen] for seen in one
    )


def most_donations(protocol: Any) -> int:
    """So that a few thousand outcomes are compared."""
    if isinstance(protocol, BitFlip | OneBitMean):  # a report is its permanent answer
        return BITS // getattr(protocol, "chosen", 1)
    if isinstance(protocol, Memoised):
        return BITS // columns(protocol)
    return 1 if isinstance(protocol, CountMeanSketch | FragmentPuzzle | HeavyHitters) else 2


@st.composite
def histories(draw: Any, kinds: dict[str, Any]) -> tuple[Any, int, list[Event]]:
    protocol, values = draw(kinds[draw(st.sampled_from(sorted(kinds)))])
    value = st.sampled_from(list(values))
    pairs = st.sampled_from(draw(st.lists(st.tuples(value, value), min_size=1, max_size=3)))  # which come back
    event = st.builds(Event, pairs, st.booleans(), st.sampled_from([False] * 5 + [True]))
    most = most_donations(protocol)
    events = draw(st.lists(event, min_size=min(2, most), max_size=most))
    return protocol, draw(st.integers(1, 3)), events


def check(protocol: Any, donations: int, events: list[Event]) -> None:
    one, other = (reports(protocol, donations, events, side) for side in (0, 1))
    made = allowed(donations, events)
    assert all([isinstance(report, bytes) for report in seen] == made for seen in one.keys() | other.keys())
    assert within(one, other, stated(protocol, donations, events))
    days = 1 + sum(event.later for event in events)
    devices = 1 + sum(event.lost for event in events[1:])
    stays = all(same(event.values[side], events[0].values[side]) for event in events for side in (0, 1))
    if stays or not isinstance(protocol, Memoised):
        loss = Client(protocol, donations=donations).loss_of(days, constant=stays).pure_epsilon
        assert loss is not None
        assert within(one, other, loss * devices)


def test_every_protocol_of_a_client_is_looked_at() -> None:
    assert {*KEPT, *FRESH} == {kind for kind, each in KINDS.items() if issubclass(each, PureProtocol)}


@settings(max_examples=EXAMPLES // 2)
@given(case=histories(KEPT))
def test_permanent_answers_reveal_what_is_stated(case: tuple[Any, int, list[Event]]) -> None:
    check(*case)


@settings(max_examples=EXAMPLES // 2)
@given(case=histories(FRESH))
def test_reports_that_are_drawn_anew_reveal_what_is_stated(case: tuple[Any, int, list[Event]]) -> None:
    check(*case)


# --- restarts and damage ---------------------------------------------------------------------------------------------


@given(case=histories({**KEPT, **FRESH}), seed=st.integers(0, 99))
def test_a_client_that_starts_again_sends_what_another_sends(case: tuple[Any, int, list[Event]], seed: int) -> None:
    protocol, donations, events = case
    bits, others = DeterministicBits(seed), DeterministicBits(seed)
    client, state, day = Client(protocol, donations=donations), "", 0
    for event in events:
        day += event.later
        again = started(protocol, donations, state)
        assert donated(client, event.values[0], day, bits) == donated(again, event.values[0], day, others)
        state = again.state()
        assert state == client.state()


ODD: list[Any] = [None, True, 3, -1, 2**70, 1.5, math.nan, "", "00", "ff", "zz", [], {}, {"0": "ff"}, {"-1": ""}, [[]]]
CHARACTERS = st.sampled_from('0123456789abcdef"{}:, -.eN\x00\ud800')


@given(case=histories({**KEPT, "direct": FRESH["direct"]}), data=st.data())
def test_a_damaged_state_is_refused_or_works(case: tuple[Any, int, list[Event]], data: st.DataObject) -> None:
    """Whatever a file holds, a client does not stop later, and one that refuses it is as it was."""
    protocol, donations, events = case
    client = Client(protocol, donations=donations)
    for event in events:
        donated(client, event.values[0], 0, DeterministicBits(1))
    text, facts = client.state(), json.loads(client.state())
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(facts)))
        held = data.draw(st.sampled_from(ODD))
        if isinstance(facts[name], dict) and data.draw(st.booleans()):
            held = {key: data.draw(st.sampled_from(ODD)) for key in facts[name]}
        damaged = json.dumps({**facts, name: held})
    else:
        at = data.draw(st.integers(0, len(text) - 1))
        damaged = text[:at] + data.draw(CHARACTERS) * data.draw(st.integers(0, 1)) + text[at + 1 :]
    try:
        client.load(damaged)
    except InvalidParameterError:
        assert client.state() == text
    for event in events:
        message = donated(client, event.values[1], 2**31, DeterministicBits(1))
        assert isinstance(message, str) or len(unpack(protocol, message)) == 1  # type: ignore[arg-type]


# --- shuffled reports ------------------------------------------------------------------------------------------------


SHUFFLED = {kind: FRESH[kind] for kind in ("direct", "hadamard")} | {
    "mean": of(bounded(MeanProtocol), NUMBERS, lower=0, upper=2, steps=1, share=0)
}


@settings(max_examples=EXAMPLES // 3)
@given(case=histories(SHUFFLED))
def test_shuffled_reports_reveal_what_is_stated(case: tuple[Any, int, list[Event]]) -> None:
    protocol, _, events = case
    others = [event.values[0] for event in events[1:]]
    views = [law(lambda bits, own=own: shuffled(protocol, [own, *others], bits)) for own in events[0].values]
    loss = shuffled_loss(protocol, 1 + len(others))
    for share in (0, Fraction(1, 2), Fraction(9, 10), 1):
        epsilon = protocol.epsilon * share
        odds = exp_below(epsilon, 96) + Fraction(1, 2**96)
        stated = Fraction(loss.delta(epsilon).upper) * (1 + Fraction(1, 10**9)) + Fraction(1, 2**90)
        assert max(delta(*views, odds), delta(*views[::-1], odds)) <= stated


def shuffled(protocol: Any, values: list[Any], bits: Bits) -> bytes:
    shuffler = Shuffler(protocol, min_reports=len(values))
    for sender, value in enumerate(values):
        shuffler.add(pack(protocol, protocol.encode([value], bits=bits)), sender=str(sender))
    return shuffler.release(bits=bits)


# --- twins -----------------------------------------------------------------------------------------------------------


def forgets(patch: pytest.MonkeyPatch) -> None:
    """A client that draws a permanent answer anew after each restart."""
    load = Client.load

    def forgetful(self: Client, text: str) -> None:
        load(self, text)
        self._answers = {}

    patch.setattr(Client, "load", forgetful)


def counts_new_values(patch: pytest.MonkeyPatch) -> None:
    """A budget that is spent by new values alone, so that a refusal tells which came back."""
    check = Client._check

    def checked(self: Client, day: int, last: int, made: int) -> None:
        check(self, day, last, min(made, len(self._answers)))

    patch.setattr(Client, "_check", checked)


def states_changes(patch: pytest.MonkeyPatch) -> None:
    """Losses of histories as if nobody saw when a value changes."""
    patch.setattr(memo, "_first", lambda keys: np.zeros((len(keys), keys[0].size), dtype=np.int64))


def lies_less(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnaryEncoding, "q", property(lambda self: Fraction(1, 9) / (1 + self.likelihood_ratio)))


@pytest.mark.parametrize("plant", [forgets, counts_new_values, states_changes])
def test_planted_faults_of_permanent_answers_are_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    step.cache_clear()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        test_permanent_answers_reveal_what_is_stated()
    step.cache_clear()


def test_planted_faults_of_reports_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    step.cache_clear()
    lies_less(monkeypatch)
    with pytest.raises(AssertionError):
        test_reports_that_are_drawn_anew_reveal_what_is_stated()
    step.cache_clear()


def test_a_shuffler_that_keeps_the_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ways, "permutation", lambda self, count, bits: np.arange(count))
    with pytest.raises(AssertionError):
        test_shuffled_reports_reveal_what_is_stated()
