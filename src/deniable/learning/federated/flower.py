"""Rounds over Flower: a SuperLink carries the messages.

Each client keeps its state in a file of its own. Flower starts a process for every message, and may send a reply before
it has stored the state that the process leaves. So a client's state is committed to its file before the reply is given
to Flower: one answer to each stage, and no more rounds than the plan has, whichever process is killed. The text of an
error in a client's work never leaves it.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.learning.clips import Clip
from deniable.learning.federated.clients import Participant
from deniable.learning.federated.transport import Messages
from deniable.learning.samplers import Poisson
from deniable.rows import attempted

try:
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid
except ImportError as error:
    raise MissingExtraError.of("flower", "this needs Flower") from error

__all__ = ["Nodes", "client_app"]

_NAME = "deniable"


def client_app(participant: Callable[[int, Context], Participant]) -> ClientApp:
    """Return a Flower ClientApp that answers the server's messages.

    Args:
        participant: makes the client from the number that the server has for it and Flower's context; called for
            every message. Its node has `state="a/file.db"` in its `--node-config`, where rounds are counted for good:
            a client with the same file answers no second run of a plan.
    """

    def answer(message: Message, context: Context) -> Message:
        def answered() -> bytes:
            record = message.content[_NAME]
            client = participant(int(record["number"]), context)
            return _answer_once(client, str(context.node_config["state"]), bytes(record["body"]))

        # Flower would send the text of an error, which may hold private values.
        reply = attempted(answered, log=_log_error) or b""
        return Message(RecordDict({_NAME: ConfigRecord({"body": reply})}), reply_to=message)

    app = ClientApp()
    app.query()(answer)
    return app


def _log_error(error: BaseException) -> None:
    text = "a message could not be answered; node-config must name a state file"
    logging.getLogger(__name__).error(text, exc_info=error)


def _answer_once(client: Participant, path: str, body: bytes) -> bytes:
    """Return the answer after the client's new state is committed.

    No other process answers with the same file meanwhile.
    """
    plan = client.federated.plan
    without_memory = type(plan.sampler) is Poisson and type(plan.clip) is Clip and plan.correlation is None
    if client.federated.trust == "examples" and not without_memory:
        raise InvalidParameterError(
            'over Flower, trust="examples" needs a plan without memory: Poisson, Clip and no correlation'
        )
    agreement = repr(client.federated.to_data())
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path, timeout=600, isolation_level=None)) as base:
        base.execute("PRAGMA secure_delete = ON")
        base.execute("PRAGMA synchronous = FULL")
        base.execute("BEGIN EXCLUSIVE")
        base.execute("CREATE TABLE IF NOT EXISTS client (agreed TEXT, state BLOB)")
        stored = base.execute("SELECT agreed, state FROM client").fetchall()
        if stored and stored[0][0] != agreement:
            raise InvalidParameterError("the state file belongs to another plan: name another file")
        if stored:
            client.restore(stored[0][1])
        try:
            return client.answer(body)
        finally:
            base.execute("DELETE FROM client")
            base.execute("INSERT INTO client VALUES (?, ?)", (agreement, client.state))
            base.execute("COMMIT")


class Nodes:
    """Carrier of the messages of `Federated.fit` to the nodes of a Flower grid.

    Nodes are numbered in the order of their identities.

    Args:
        grid: the grid that Flower gives to the function of a ServerApp.
        clients: the number of nodes to wait for.
        timeout: seconds for a stage, or for nodes to connect. A node that is later drops out and is not asked again.
        pause: seconds between two polls for replies.

    Raises: InvalidParameterError if fewer nodes connect.
    """

    def __init__(self, grid: Grid, *, clients: int, timeout: float = 60, pause: float = 0.5) -> None:
        self._grid = grid
        self._timeout = timeout
        self._pause = pause
        self.bytes_down = self.bytes_up = 0
        deadline = time.monotonic() + timeout
        while len(nodes := sorted(grid.get_node_ids())) < clients:
            if time.monotonic() > deadline:
                raise InvalidParameterError(f"{len(nodes)} nodes connected, {clients} are needed: start more of them")
            time.sleep(pause)
        self._nodes = dict(enumerate(nodes[:clients]))

    def __call__(self, messages: Messages) -> Messages:
        """Return the replies of the nodes that answer in time."""
        numbers = [number for number in messages if number in self._nodes]
        sent = self._grid.push_messages([self._message(number, messages[number]) for number in numbers])
        waiting = {identity: number for identity, number in zip(sent, numbers, strict=True) if identity}
        replies: Messages = {}
        deadline = time.monotonic() + self._timeout
        while waiting and time.monotonic() < deadline:
            time.sleep(self._pause)
            for reply in self._grid.pull_messages(list(waiting)):
                identity = reply.metadata.reply_to_message_id
                if identity in waiting:
                    replies[waiting.pop(identity)] = _body(reply)
        for number in waiting.values():
            del self._nodes[number]
        self.bytes_down += sum(len(messages[number]) for number in numbers)
        self.bytes_up += sum(map(len, replies.values()))
        return {number: body for number, body in replies.items() if body}

    def _message(self, number: int, body: bytes) -> Message:
        content = RecordDict({_NAME: ConfigRecord({"number": number, "body": body})})
        return Message(content, dst_node_id=self._nodes[number], message_type="query", ttl=self._timeout)


def _body(reply: Message) -> bytes:
    """Return the bytes that a node sent; b"" for anything else."""
    record = None if reply.has_error() else reply.content.get(_NAME)
    body = record.get("body") if isinstance(record, ConfigRecord) else None
    return body if isinstance(body, bytes) else b""
