"""The same server and clients over processes, one of which is killed in the middle of a round."""

import multiprocessing
import os
import signal
import sqlite3
import struct
import threading
from contextlib import closing, suppress
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.learning import TrainingPlan
from deniable.learning.federated import Federated, Participant, Pipes, SecureSum, Simulation, take_part
from deniable.learning.federated.rounds import Trained
from deniable.ledger import Ledger
from deniable.privacy import Budget, PrivacyUnit, Replace

PLAN = TrainingPlan(noise_multiplier=Fraction(1, 1000), steps=2, dimensions=4, relation=Replace)
FEDERATED = Federated(plan=PLAN, trust="distributed", secure=SecureSum(survivors=3))


def update(number: int) -> np.ndarray:
    return np.array([0.1, 0.2, -0.1, 0.05]) * (number + 1) / 5


def live(connection: Connection, number: int) -> None:
    take_part(connection, Participant(FEDERATED, number, lambda _: update(number)))


def test_a_client_that_is_killed_in_the_middle_of_a_round_is_left_out() -> None:
    """Client 4 ends after its shares were sent: others hold masks for it, which they help to remove."""
    context = multiprocessing.get_context("fork")
    ends, clients = {}, []
    for i in range(5):
        ends[i], there = context.Pipe()
        clients.append(context.Process(target=live, args=(there, i), daemon=True))
        clients[i].start()
        there.close()
    carried, seen = Pipes(ends, timeout=60), []

    def ask(messages: dict[int, bytes]) -> dict[int, bytes]:
        stage = next(iter(messages.values()))[0]
        seen.append(stage)
        if seen.count(2) == 1 and stage == 2:
            clients[4].kill()
            clients[4].join()
        return carried(messages)

    found = FEDERATED.fit(ask, clients=5, expected_clients=5)
    assert not found.lost
    assert seen == [0, 1, 2, 3] * 2
    assert np.abs(found.parameters - 2 * sum(update(i) for i in range(4)) / 5).max() < 0.01
    for each in clients[:4]:
        each.kill()
        each.join()
    assert carried({0: b"\0"}) == {}


def test_a_server_that_is_killed_in_a_round_has_paid_and_its_successor_gets_no_round_twice(tmp_path: Path) -> None:
    """Two rounds were planned: the clients have answered one when the second server comes, which pays for two anew."""
    context = multiprocessing.get_context("fork")
    facts: Any = {"budget": Budget(epsilon=10**8, delta="1e-5"), "unit": PrivacyUnit(), "dataset": "all"}
    facts |= {"relation": Replace}
    ends, clients = {}, []
    for i in range(4):
        ends[i], there = context.Pipe()
        clients.append(context.Process(target=live, args=(there, i), daemon=True))
        clients[i].start()
        there.close()

    def serve(doomed: bool) -> Trained:
        carried = Pipes(ends, timeout=60)

        def ask(messages: dict[int, bytes]) -> dict[int, bytes]:
            if doomed and next(iter(messages.values()))[0] == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return carried(messages)

        ledger = Ledger.open(tmp_path / "ledger", **facts)
        return FEDERATED.fit(ask, clients=4, expected_clients=4, ledger=ledger)

    def entries() -> int:
        with closing(sqlite3.connect(tmp_path / "ledger")) as base:
            return int(base.execute("SELECT COUNT(*) FROM records WHERE kind = 'entry'").fetchone()[0])

    first = context.Process(target=serve, args=(True,))
    first.start()
    first.join()
    assert (first.exitcode, entries()) == (-signal.SIGKILL, 1)
    found = serve(False)
    assert entries() == 2
    assert [turn for turn, _ in found.lost] == [2]
    assert np.abs(found.parameters - sum(update(i) for i in range(4)) / 4).max() < 0.01
    for each in clients:
        each.kill()
        each.join()


def test_a_client_that_is_late_drops_out_for_good() -> None:
    here, there = multiprocessing.Pipe()
    carried = Pipes({0: here}, timeout=0.01)
    assert carried({0: b"\0"}) == {} == carried({0: b"\0"})
    assert there.recv_bytes() == b"\0"
    assert carried.bytes_down == 1


FRAME = struct.Struct("!i")
WAYS = {  # what a client at the other end of a pipe does after it was asked
    "twice at once": lambda there: there.send_bytes(b"a") or there.send_bytes(b"b"),
    "a part": lambda there: os.write(there.fileno(), FRAME.pack(9) + b"abc"),
    "half a length": lambda there: os.write(there.fileno(), b"\0\0"),
    "an endless one": lambda there: os.write(there.fileno(), FRAME.pack(2**31 - 1) + b"abc"),
    "a negative one": lambda there: os.write(there.fileno(), FRAME.pack(-1) + b"abc"),
    "no bytes": lambda there: there.send_bytes(b""),
    "the end": lambda there: there.close(),
    "nothing": lambda there: None,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_client_holds_up_the_others_or_is_heard_out_of_turn(way: str) -> None:
    """Client 1 is honest; client 0 is dropped, unless it refuses with an empty reply."""
    ends, clients = {}, []
    for i, answer in enumerate((WAYS[way], lambda there: there.send_bytes(b"right"))):
        ends[i], there = multiprocessing.Pipe()

        def live(there: Connection = there, answer: Any = answer) -> None:
            with suppress(OSError, EOFError):
                while there.recv_bytes():
                    answer(there)

        clients.append(threading.Thread(target=live, daemon=True))
        clients[i].start()
    carried = Pipes(ends, timeout=0.8)
    assert carried({0: b"asked", 1: b"asked"})[1] == b"right"
    assert carried({0: b"asked", 1: b"asked"}) == {1: b"right"}
    assert carried.bytes_down >= 2 * len(b"asked")
    for i, each in enumerate(clients):
        ends[i].close()
        each.join()


def test_a_reply_before_the_question_is_none_and_who_does_not_read_is_late() -> None:
    """The second client's buffer is full before the message is sent."""
    (here, there), (other, full) = multiprocessing.Pipe(), multiprocessing.Pipe()
    there.send_bytes(b"early")
    carried = Pipes({0: here, 1: other}, timeout=0.05)
    assert carried({0: b"\0", 1: bytes(2**22)}) == {}
    assert here.closed
    assert other.closed
    assert not full.closed


def test_a_simulation_counts_bytes() -> None:
    """Down: norm, parameters and a stage; up: four numbers of four bytes."""
    central = Federated(plan=PLAN)
    clients = {i: Participant(central, i, lambda _: update(1)) for i in range(3)}
    carried = Simulation(clients, drops_out=lambda turn, stage, number: (turn, stage, number) == (2, 0, 1))
    central.fit(carried, clients=3, expected_clients=3)
    assert (carried.rounds, carried.bytes_down, carried.bytes_up) == (2, 6 * 41, 5 * 16)
