"""Rounds over Flower: its own processes, one of which is killed in a round, and replies that nobody honest sends."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, Clip, TrainingPlan
from deniable.learning.federated import Federated, LocalDescent, Participant, private_descent
from deniable.learning.federated.flower import Nodes, client_app
from deniable.learning.federated.secure import unpack
from deniable.learning.losses import Squared

BIN = Path(sys.executable).parent
CENTRAL = Federated(plan=TrainingPlan(noise_multiplier="1/1000", steps=2, dimensions=2))

SHARED = """
from deniable.learning import TrainingPlan
from deniable.learning.federated import Federated, SecureSum
from deniable.privacy import Replace

plan = TrainingPlan(noise_multiplier="1/20", steps=2, dimensions=2, relation=Replace)
federated = Federated(plan=plan, trust="distributed", secure=SecureSum(survivors=3))
"""
CLIENT = """
import os, signal
import numpy as np
from deniable.learning.federated import Participant
from deniable.learning.federated.flower import client_app
from rounds.shared import federated

class Doomed(Participant):
    def answer(self, message):
        if self.number == 3 and message[0] == 2:  # its shares were sent, its vector was not
            os.killpg(0, signal.SIGKILL)
        return super().answer(message)

app = client_app(lambda number, context: Doomed(federated, number, lambda _: np.array([0.1, 0.2]) * (number + 1)))
"""
SERVER = """
import json, pathlib
from deniable.ledger import Ledger
from deniable.learning.federated.flower import Nodes
from deniable.privacy import Budget, PrivacyUnit, Replace
from flwr.serverapp import ServerApp
from rounds.shared import federated

HERE = pathlib.Path(HOME)
app = ServerApp()

@app.main()
def main(grid, context):
    facts = {"relation": Replace, "unit": PrivacyUnit(), "dataset": "all"}
    ledger = Ledger.open(HERE / "ledger", budget=Budget(epsilon=10_000, delta="1e-5"), **facts)
    nodes, stages = Nodes(grid, clients=4, timeout=45), []
    def ask(messages):
        stages.append([next(iter(messages.values()))[0], sorted(messages)])
        return nodes(messages)
    found = federated.fit(ask, clients=4, expected_clients=4, ledger=ledger)
    told = {"parameters": found.parameters.tolist(), "lost": found.lost, "stages": stages, "up": nodes.bytes_up}
    (HERE / "found.tmp").write_text(json.dumps(told))
    (HERE / "found.tmp").rename(HERE / "found.json")
"""
PROJECT = """
[project]
name = "rounds"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "nobody"

[tool.flwr.app.components]
serverapp = "rounds.server:app"
clientapp = "rounds.client:app"
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """Starts processes, each a group of its own, and ends all of them."""
    home = {"HOME": str(tmp_path), "FLWR_HOME": str(tmp_path / "flwr"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "OMP_NUM_THREADS": "1"}
    environment = os.environ | home | quiet | {"PYTHONPATH": os.pathsep.join(sys.path)}
    running: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{len(running)}.log").open("wb") as log:
            facts: Any = {"stdout": log, "stderr": log, "start_new_session": True}
            running.append(subprocess.Popen(command, env=environment, cwd=tmp_path, **facts))
        return running[-1]

    yield start
    for each in running:
        if each.poll() is None:
            os.killpg(each.pid, signal.SIGKILL)
        each.wait()


def free_port() -> str:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return str(some.getsockname()[1])


def test_a_supernode_that_is_killed_in_a_round_is_left_out_and_everything_is_paid_once(
    started: Any, tmp_path: Path
) -> None:
    """A SuperLink and four SuperNodes; the one that is number 3 dies when it is asked for its vector."""
    package, port = tmp_path / "app" / "rounds", free_port()
    package.mkdir(parents=True)
    (tmp_path / "flwr").mkdir()
    (tmp_path / "app" / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "flwr" / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    server = SERVER.replace("HOME", repr(str(tmp_path)))
    for name, text in {"__init__": "", "shared": SHARED, "client": CLIENT, "server": server}.items():
        (package / f"{name}.py").write_text(text)
    started("flower-superlink", "--insecure", "--port", port)
    nodes = [
        started(
            *("flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{port}", "--port", free_port()),
            *("--node-config", f'state="{tmp_path / f"state{i}.db"}"'),
        )
        for i in range(4)
    ]
    for _ in range(30):  # the SuperLink may not be up yet
        if started("flwr", "run", str(tmp_path / "app"), "here", "--stream").wait() == 0:
            break
        time.sleep(2)
    found = json.loads((tmp_path / "found.json").read_text())
    assert sorted(each.poll() is None for each in nodes) == [False, True, True, True]
    assert not found["lost"]
    assert [stage for stage, _ in found["stages"]] == [0, 1, 2, 3] * 2
    assert [len(asked) for _, asked in found["stages"]] == [4, 4, 4, 3, 4, 3, 3, 3]
    assert np.abs(np.array(found["parameters"]) - 2 * np.array([0.6, 1.2]) / 4).max() < 0.2
    with closing(sqlite3.connect(tmp_path / "ledger")) as base:
        assert base.execute("SELECT COUNT(*) FROM records WHERE kind = 'entry'").fetchone() == (1,)
    rounds = []
    for i in range(4):
        with closing(sqlite3.connect(tmp_path / f"state{i}.db")) as base:
            rounds.append(unpack(base.execute("SELECT state FROM client").fetchone()[0])[0][0])
    assert sorted(rounds) == [1, 2, 2, 2]  # what each client counted as answered


@pytest.fixture(autouse=True)
def task() -> None:
    """Messages are made by a task that has an identity."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


def context(path: Path) -> Any:
    return SimpleNamespace(node_config={"state": str(path)})


def asked(app: Any, path: Path, body: bytes, number: int = 0) -> bytes:
    record = ConfigRecord({"number": number, "body": body})
    return bytes(app(Message(RecordDict({"deniable": record}), 7, "query"), context(path)).content["deniable"]["body"])


def test_a_state_file_counts_rounds_for_good_and_serves_one_plan(tmp_path: Path) -> None:
    """Each answer is that of a fresh client; work that fails is a zero update, and what makes no client is silent."""
    first = b"\0" + np.array([1.0, 0.0, 0.0], dtype="<f8").tobytes()

    def fail(_: np.ndarray) -> np.ndarray:
        raise KeyError("a private text")

    good, bad = (
        client_app(lambda number, _, work=work: Participant(CENTRAL, number, work)) for work in (lambda at: at, fail)
    )
    assert asked(client_app(lambda number, _: sys.exit(number)), tmp_path / "a.db", first) == b""
    assert asked(bad, tmp_path / "a.db", first) == bytes(8)
    assert len(asked(good, tmp_path / "a.db", first)) == 8
    assert asked(good, tmp_path / "a.db", first) == b""
    assert len(asked(good, tmp_path / "b.db", first)) == 8
    assert (tmp_path / "a.db").stat().st_mode & 0o77 == 0
    other = Federated(plan=TrainingPlan(noise_multiplier=1, steps=9, dimensions=2))
    assert (
        asked(client_app(lambda number, _: Participant(other, number, lambda at: at)), tmp_path / "b.db", first) == b""
    )
    for part, length in ((AdaptiveClip(), 0), (Clip(), 16)):
        inside = Federated(plan=TrainingPlan(noise_multiplier=1, steps=9, dimensions=2, clip=part), trust="examples")
        local = LocalDescent(model=Squared(label_bound=1), rows=[[1.0, 2.0]], labels=[1], step_size=1)
        work = private_descent(local, inside.plan, expected_rows=1)
        made = client_app(lambda number, _, inside=inside, work=work: Participant(inside, number, work))
        assert len(asked(made, tmp_path / f"{length}.db", first)) == length


class Grid:
    """A grid whose node i answers as `ways[i]` says."""

    def __init__(self, ways: list[Any]) -> None:
        self.ways, self.sent = ways, {}

    def get_node_ids(self) -> list[int]:
        return [10 + i for i in range(len(self.ways))]

    def push_messages(self, messages: list[Message]) -> list[str]:
        found = [f"{len(self.sent) + i}" for i in range(len(messages))]
        self.sent |= dict(zip(found, messages, strict=True))
        return found

    def pull_messages(self, some: list[str]) -> list[Any]:
        replies = []
        for one in some:
            content = self.ways[self.sent[one].metadata.dst_node_id - 10]
            if content is not None:
                facts = SimpleNamespace(reply_to_message_id=one)
                fault = content == "error"
                replies += [SimpleNamespace(metadata=facts, content=content, has_error=lambda fault=fault: fault)] * 2
        return [*replies, SimpleNamespace(metadata=SimpleNamespace(reply_to_message_id="late"))]


def test_replies_of_another_kind_count_as_none_and_who_is_late_is_not_asked_again() -> None:
    good = RecordDict({"deniable": ConfigRecord({"body": b"abc"})})
    others = [
        "error",
        RecordDict({}),
        RecordDict({"deniable": ConfigRecord({"body": "abc"})}),
        RecordDict({"deniable": ConfigRecord({"other": b"abc"})}),
        RecordDict({"deniable": ArrayRecord([np.zeros(2)])}),
    ]
    grid = Grid([good, *others, None])
    nodes = Nodes(grid, clients=7, timeout=0.2, pause=0.01)  # type: ignore[arg-type]
    assert nodes(dict.fromkeys(range(9), b"xy")) == {0: b"abc"}
    assert nodes({0: b"xy", 6: b"xy"}) == {0: b"abc"}
    assert (nodes.bytes_down, nodes.bytes_up, len(grid.sent)) == (16, 6, 8)
    with pytest.raises(InvalidParameterError, match="7 nodes came, 8 are needed"):
        Nodes(grid, clients=8, timeout=0, pause=0)  # type: ignore[arg-type]
