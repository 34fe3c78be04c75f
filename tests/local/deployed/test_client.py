"""The state of a client: what is paid once, what is refused, and what survives."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.ledger import Ledger
from deniable.local import Collector, DirectResponse, protocol_of, unpack
from deniable.local.deployed import BitFlip, Client, CountMeanSketch, HadamardSketch, OneBitMean, Rappor
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace

BITS = DeterministicBits(9)
FRESH = DirectResponse(values=["a", "b"], epsilon=1)
KEPT = BitFlip(values=["a", "b", "c"], epsilon=4, chosen=3)


def test_a_value_is_paid_once_where_it_is_remembered_and_each_time_elsewhere() -> None:
    for protocol, paid in ((KEPT, 1), (Rappor(), 1), (FRESH, 3)):
        client = Client(protocol, donations=3)
        for _ in range(3):
            client.donate("a", day=1, bits=BITS)
        assert client.paid == paid
        assert client.epsilon == paid * protocol.epsilon
        client.donate("b", day=2, bits=BITS)
        assert client.paid == paid + 1


def test_the_donation_above_the_budget_is_refused_before_anything_is_encoded() -> None:
    class Spy:
        def words(self, *_: object) -> Any:
            raise AssertionError("bits were drawn")

    for protocol in (KEPT, FRESH):
        client = Client(protocol, donations=2)
        for _ in range(2):
            client.donate("a", day=7, bits=BITS)
        before = client.state()
        for value in ("a", "b"):  # one that is remembered is refused like a new one
            with pytest.raises(BudgetExceededError, match="2 donations"):
                client.donate(value, day=7, bits=Spy())
        assert client.state() == before
        with pytest.raises(InvalidParameterError, match="clock"):
            client.donate("a", day=6, bits=Spy())
        client.donate("a", day=8, bits=BITS)


def test_the_cost_of_days_is_linear() -> None:
    client = Client(FRESH, donations=3)
    assert [float(client.loss_of(days).epsilon(0).upper) for days in (1, 2, 10)] == pytest.approx([3, 6, 30])


@pytest.mark.parametrize("protocol", [KEPT, Rappor(cells=16)], ids=lambda each: each.kind)
def test_answers_survive_a_restart(protocol: Any) -> None:
    """A client that forgot would answer anew: 40 restarts, and one permanent answer."""
    answers, state = set(), Client(protocol).state()
    for day in range(40):
        client = Client(protocol)
        client.load(state)
        client.donate("a", day=day, bits=BITS)
        state = client.state()
        answers.add(json.dumps(json.loads(client.state())["answers"]))
    assert len(answers) == 1
    assert client.paid == 1
    again = Client(protocol)
    again.load(client.state())
    with pytest.raises(BudgetExceededError):
        again.donate("a", day=39)
    assert again.state() == client.state()


@pytest.mark.parametrize(
    "change",
    [
        {"client": 2},
        {"protocol": "00"},
        {"answers": {"0": "ff"}},
        {"answers": {"0": "0000"}},
        {"answers": {"x": "00"}},
        {"answers": 3},
        {"paid": 0},
        {"today": -1},
        {"day": "1"},
        {"day": 2**70},
        {"settled": "zz"},
    ],
)
def test_a_damaged_state_is_refused(change: dict[str, Any]) -> None:
    client = Client(KEPT)
    client.donate("a", day=1, bits=BITS)
    state = json.loads(client.state())
    for text in (json.dumps(state | change), client.state()[:-9], "[]"):
        with pytest.raises(InvalidParameterError):
            Client(KEPT).load(text)


def test_a_donation_is_a_message_of_one_report() -> None:
    collector, client = Collector(KEPT), Client(KEPT, donations=2)
    message = client.donate("a", day=1, bits=BITS)
    assert unpack(KEPT, message).shape == (1, 3)
    collector.add(message, sender="me")
    with pytest.raises(InvalidParameterError, match="already"):
        collector.add(client.donate("a", day=1, bits=BITS), sender="me")


def ledger_at(path: Path, **changed: Any) -> Ledger:
    facts = {"budget": Budget(epsilon=7), "relation": Replace, "unit": Client.unit, "dataset": "phone"}
    return Ledger.open(path, **(facts | changed))


class Spent(DeterministicBits):
    """Bits that end: a process that is killed while it draws."""

    def fill(self, out: Any) -> None:
        raise KeyboardInterrupt


def test_a_donation_is_paid_before_it_is_drawn_and_never_twice(tmp_path: Path) -> None:
    client = Client(FRESH, donations=2, ledger=ledger_at(tmp_path / "l"))
    first = client.donate("a", day=1, name="8:00", bits=BITS)
    with pytest.raises(KeyboardInterrupt):
        client.donate("a", day=1, name="9:00", bits=Spent(1))
    after = Client(FRESH, donations=2, ledger=ledger_at(tmp_path / "l"))  # another process
    assert {after.donate(value, day=day, name="8:00", bits=BITS) for value in "ab" for day in (1, 5)} == {first}
    with pytest.raises(BudgetExceededError, match="sent or lost"):
        after.donate("a", day=2, name="9:00", bits=BITS)
    with pytest.raises(BudgetExceededError, match="2 donations of this day"):
        after.donate("a", day=1, name="10:00", bits=BITS)
    assert (after.paid, after.epsilon) == (2, 2)  # what was lost stays paid
    after.donate("a", day=2, name="10:00", bits=BITS)
    with pytest.raises(InvalidParameterError, match="clock"):
        after.donate("a", day=1, name="11:00", bits=BITS)
    other = Client(DirectResponse(values=["a", "b"], epsilon=3), ledger=ledger_at(tmp_path / "l"))
    other.donate("a", day=1, name="8:00", bits=BITS)  # of another protocol, with days and names of its own
    ledger = ledger_at(tmp_path / "l")
    ledger.verify()
    assert float(ledger.spent().epsilon or 0) == pytest.approx(6)
    with pytest.raises(BudgetExceededError, match="only epsilon=1 of the budget epsilon=7 is left"):
        other.donate("a", day=2, name="9:00", bits=BITS)


def test_of_clients_at_once_one_pays_for_a_donation_and_days_do_not_overflow(tmp_path: Path) -> None:
    """Without the check inside the payment's transaction the barrier lets several pay for one donation, or one day."""
    ledgers = [ledger_at(tmp_path / "l", budget=Budget(epsilon=99)) for _ in range(4)]

    def donate(at: int, name: str, start: Barrier) -> bytes | None:
        start.wait()
        try:
            return Client(FRESH, donations=2, ledger=ledgers[at]).donate("a", day=1, name=name)
        except BudgetExceededError:
            return None

    with ThreadPoolExecutor(4) as pool:
        for names, paid in ((["same"] * 4, 1), (["v", "w", "x", "y"], 2)):
            found = list(pool.map(donate, range(4), names, [Barrier(4)] * 4))
            assert len(set(found) - {None}) == 1
            assert len(ledgers[0].entries()) == paid


@pytest.mark.parametrize(
    ("protocol", "changed", "said"),
    [
        (KEPT, {}, "state"),
        (FRESH, {"unit": PrivacyUnit()}, "donation of one client"),
        (FRESH, {"relation": AddRemove}, "Replace"),
    ],
)
def test_ledgers_that_cannot_keep_donations_are_refused(tmp_path: Path, protocol: Any, changed: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        Client(protocol, ledger=ledger_at(tmp_path / "l", **changed))
    with pytest.raises(InvalidParameterError, match="must be a Ledger"):
        Client(FRESH, ledger=tmp_path)  # type: ignore[arg-type]
    for client, name in ((Client(FRESH), "x"), (Client(FRESH, ledger=ledger_at(tmp_path / "m")), None)):
        with pytest.raises(InvalidParameterError, match="name must be text"):
            client.donate("a", day=1, name=name)


ALL = [
    Rappor(cells=9, cohorts=3),
    CountMeanSketch(epsilon=1, hashes=3, cells=9),
    HadamardSketch(epsilon=1, hashes=3, cells=9),
    BitFlip(values=["a", "b", "c"], epsilon=1, chosen=2),
    OneBitMean(epsilon=1, bounds=(0, 1)),
]


class Odd:
    """An entry that raises whatever it is asked."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("secret")

    def __repr__(self) -> str:
        raise ValueError("secret")


@pytest.mark.parametrize("protocol", ALL, ids=lambda each: each.kind)
def test_whatever_a_value_is_a_report_is_sent(protocol: Any) -> None:
    client, lengths = Client(protocol, donations=20), set()
    for value in (None, "a", 1.5, float("nan"), [1, 2], (1, 2), {"a": 1}, b"x", 10**40, Odd(), "\ud800", set()):
        lengths.add(len(client.donate(value, day=1, bits=BITS)))
    assert len(lengths) == 1


@pytest.mark.parametrize("protocol", ALL, ids=lambda each: each.kind)
def test_a_protocol_survives_json_and_keeps_its_price(protocol: Any) -> None:
    there = protocol_of(protocol.to_json())
    assert there == protocol
    assert there.fingerprint == protocol.fingerprint
    assert there.privacy_loss == protocol.privacy_loss


def test_two_reports_of_a_value_that_may_change_have_no_loss() -> None:
    assert Client(KEPT, donations=1).loss_of(1) == KEPT.privacy_loss
    for donations, days in ((2, 1), (1, 2)):
        with pytest.raises(UnprovedError, match="no epsilon holds for 2 reports"):
            Client(KEPT, donations=donations).loss_of(days)
