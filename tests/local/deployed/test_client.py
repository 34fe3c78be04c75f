"""The state of a client: what is paid once, what is refused, and what survives."""

import json
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.local import Client, Collector, DirectResponse, LongitudinalUnary, Rappor, unpack
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(9)
FRESH = DirectResponse(values=["a", "b"], epsilon=1)
KEPT = LongitudinalUnary(values=["a", "b", "c"], epsilon=4, report_epsilon=1)


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
        before = client.to_json()
        for value in ("a", "b"):  # one that is remembered is refused like a new one
            with pytest.raises(BudgetExceededError, match="2 donations"):
                client.donate(value, day=7, bits=Spy())
        assert client.to_json() == before
        with pytest.raises(InvalidParameterError, match="clock"):
            client.donate("a", day=6, bits=Spy())
        client.donate("a", day=8, bits=BITS)


def test_the_cost_of_days_is_linear() -> None:
    client = Client(FRESH, donations=3)
    assert [float(client.loss_of(days).epsilon(0).upper) for days in (1, 2, 10)] == pytest.approx([3, 6, 30])


@pytest.mark.parametrize("protocol", [KEPT, Rappor(cells=16)], ids=lambda each: each.kind)
def test_answers_survive_a_restart(protocol: Any, tmp_path: Path) -> None:
    """A client that forgot would answer anew: 40 restarts, and one permanent answer."""
    answers = set()
    for day in range(40):
        client = Client(protocol, path=tmp_path / "state.json")
        client.donate("a", day=day, bits=BITS)
        answers.add(json.dumps(json.loads(client.to_json())["answers"]))
    assert len(answers) == 1
    assert client.paid == 1
    again = Client.of_json(client.to_json(), protocol)
    with pytest.raises(BudgetExceededError):
        again.donate("a", day=39)
    assert again.to_json() == client.to_json()


def test_the_state_is_kept_before_a_report_leaves(tmp_path: Path) -> None:
    client = Client(FRESH, path=tmp_path / "no such folder" / "state")
    with pytest.raises(OSError, match="no such folder"):
        client.donate("a", day=1, bits=BITS)


@pytest.mark.parametrize(
    "change",
    [
        {"client": 2},
        {"protocol": "00"},
        {"answers": {"0": "ffff"}},
        {"answers": {"x": "00"}},
        {"answers": 3},
        {"paid": 0},
        {"today": -1},
        {"day": "1"},
        {"settled": "zz"},
    ],
)
def test_a_damaged_state_is_refused(change: dict[str, Any]) -> None:
    client = Client(KEPT)
    client.donate("a", day=1, bits=BITS)
    state = json.loads(client.to_json())
    for text in (json.dumps(state | change), client.to_json()[:-9], "[]"):
        with pytest.raises(InvalidParameterError):
            Client.of_json(text, KEPT)


def test_a_donation_is_a_message_of_one_report() -> None:
    collector, client = Collector(KEPT), Client(KEPT, donations=2)
    message = client.donate("a", day=1, bits=BITS)
    assert unpack(KEPT, message).shape == (1, 1)
    collector.add(message, sender="me")
    with pytest.raises(InvalidParameterError, match="already"):
        collector.add(client.donate("a", day=1, bits=BITS), sender="me")
