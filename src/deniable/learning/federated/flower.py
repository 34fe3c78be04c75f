"""Rounds over Flower: a SuperLink carries the messages, and each client keeps its state in a file of its own.

Flower starts a process for every message, and may send a reply before it has stored what the process leaves behind. So
a client's state is committed to its file before the reply is given to Flower: one answer for one stage, no more rounds
than the plan has, whoever is killed when. An error in a client's work never leaves it as text.
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
    """A Flower ClientApp that answers the server's messages.

    Args:
        participant: makes the client from the number that the server has for it and Flower's context; called for
            every message. Its node has `state="a/file.db"` in its `--node-config`, where rounds are counted for good:
            a client with the same file answers no second run of a plan.
    """

    def answer(message: Message, context: Context) -> Message:
        def kept() -> bytes:
            found = message.content[_NAME]
            client = participant(int(found["number"]), context)
            return _kept(client, str(context.node_config["state"]), bytes(found["body"]))

        reply = (
            attempted(kept, log=_logged) or b""
        )  # an error's text may hold what is private, and Flower would send it
        return Message(RecordDict({_NAME: ConfigRecord({"body": reply})}), reply_to=message)

    app = ClientApp()
    app.query()(answer)
    return app


def _logged(error: BaseException) -> None:
    said = "a message could not be answered; node-config must name a state file"
    logging.getLogger(__name__).error(said, exc_info=error)


def _kept(client: Participant, path: str, body: bytes) -> bytes:
    """The answer, after the client's new state was committed; nobody else with this file answers meanwhile."""
    plan, inside = client.federated.plan, client.federated.trust == "examples"
    if inside and not (type(plan.sampler) is Poisson and type(plan.clip) is Clip and plan.correlation is None):
        raise InvalidParameterError("here examples need a plan without memory: Poisson, Clip and no correlation")
    agreed = repr(client.federated.to_data())
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path, timeout=600, isolation_level=None)) as base:
        base.execute("PRAGMA secure_delete = ON")
        base.execute("PRAGMA synchronous = FULL")
        base.execute("BEGIN EXCLUSIVE")
        base.execute("CREATE TABLE IF NOT EXISTS client (agreed TEXT, state BLOB)")
        found = base.execute("SELECT agreed, state FROM client").fetchall()
        if found and found[0][0] != agreed:
            raise InvalidParameterError("the state file is of another plan: name another one")
        if found:
            client.restore(found[0][1])
        try:
            return client.answer(body)
        finally:
            base.execute("DELETE FROM client")
            base.execute("INSERT INTO client VALUES (?, ?)", (agreed, client.state))
            base.execute("COMMIT")


class Nodes:
    """Carries messages of `Federated.fit` to the nodes of a Flower grid, numbered in the order of their identities.

    Args:
        grid: what Flower gives to the function of a ServerApp.
        clients: how many nodes are waited for.
        timeout: seconds for a stage, or for nodes to come. Who is later drops out and is not asked again.
        pause: seconds between two questions for replies.

    Raises: InvalidParameterError if fewer nodes came.
    """

    def __init__(self, grid: Grid, *, clients: int, timeout: float = 60, pause: float = 0.5) -> None:
        self._grid, self._timeout, self._pause = grid, timeout, pause
        self.bytes_down = self.bytes_up = 0
        end = time.monotonic() + timeout
        while len(found := sorted(grid.get_node_ids())) < clients:
            if time.monotonic() > end:
                raise InvalidParameterError(f"{len(found)} nodes came, {clients} are needed: start more of them")
            time.sleep(pause)
        self._nodes = dict(enumerate(found[:clients]))

    def __call__(self, messages: Messages) -> Messages:
        """Replies of those who answer in time."""
        asked, letters = [number for number in messages if number in self._nodes], []
        for number in asked:
            content = RecordDict({_NAME: ConfigRecord({"number": number, "body": messages[number]})})
            to = self._nodes[number]
            letters.append(Message(content, dst_node_id=to, message_type="query", ttl=self._timeout))
        sent = self._grid.push_messages(letters)
        waiting = {one: number for one, number in zip(sent, asked, strict=True) if one}
        found: Messages = {}
        end = time.monotonic() + self._timeout
        while waiting and time.monotonic() < end:
            time.sleep(self._pause)
            for reply in self._grid.pull_messages(list(waiting)):
                if (one := reply.metadata.reply_to_message_id) in waiting:
                    found[waiting.pop(one)] = _body(reply)
        for number in waiting.values():
            del self._nodes[number]
        self.bytes_down += sum(len(messages[number]) for number in asked)
        self.bytes_up += sum(map(len, found.values()))
        return {number: body for number, body in found.items() if body}


def _body(reply: Message) -> bytes:
    """What a node sent; anything but bytes under our name counts as nothing."""
    record = None if reply.has_error() else reply.content.get(_NAME)
    body = record.get("body") if isinstance(record, ConfigRecord) else None
    return body if isinstance(body, bytes) else b""
