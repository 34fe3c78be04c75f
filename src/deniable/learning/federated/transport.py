"""How messages reach clients: in this process for simulations, or through pipes to others."""

import os
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from deniable.learning.federated.clients import Participant

Messages = dict[int, bytes]
_LENGTH = struct.Struct("!i")
_LARGEST = 2**30


class Simulation:
    """Clients in this process, by number; `vanishes(round, stage, number)` says who does not answer in a stage, 0 to 3.

    `bytes_down` and `bytes_up` count what was carried; they are secret where samples of clients are.
    """

    def __init__(
        self, clients: Mapping[int, Participant], *, vanishes: Callable[[int, int, int], bool] | None = None
    ) -> None:
        self._clients, self._vanishes = clients, vanishes
        self.rounds = self.bytes_down = self.bytes_up = 0

    def __call__(self, messages: Messages) -> Messages:
        """Replies of those who answer."""
        stage = next(iter(messages.values()), b"\0")[0]
        self.rounds += stage == 0
        here = [each for each in messages if not (self._vanishes and self._vanishes(self.rounds, stage, each))]
        found = {number: reply for number in here if (reply := self._clients[number].answer(messages[number]))}
        self.bytes_down += sum(map(len, messages.values()))
        self.bytes_up += sum(map(len, found.values()))
        return found


class Pipes:
    """Clients in other processes (not on Windows), by number, each at the other end of a pipe, where `take_part` runs.

    Who is gone, or has not sent a whole reply within `timeout` seconds, drops out and is not heard again; so does who
    sends a reply before it is asked, or two. Nothing that arrives is executed.
    """

    def __init__(self, connections: Mapping[int, Connection], *, timeout: float = 10) -> None:
        self._open, self._timeout = dict(connections), timeout
        self.bytes_down = self.bytes_up = 0
        for each in self._open.values():
            os.set_blocking(each.fileno(), False)

    def __call__(self, messages: Messages) -> Messages:
        """Replies of those who answer in time."""
        asked = {number: _Exchange(messages[number]) for number in messages if number in self._open}
        found: Messages = {}
        end = time.monotonic() + self._timeout
        with DefaultSelector() as waiting:
            for number in asked:
                waiting.register(self._open[number], EVENT_READ | EVENT_WRITE, number)
            while waiting.get_map() and (left := end - time.monotonic()) > 0:
                for key, events in waiting.select(left):
                    exchange = asked[key.data]
                    reply: bytes | None = b""
                    with suppress(OSError):  # who is gone, or breaks the rules, has sent nothing
                        reply = exchange.step(key.fd, events)
                        found |= {} if reply is None else {key.data: reply}
                    if reply is not None:
                        waiting.unregister(key.fileobj)
                    elif not exchange.left:
                        waiting.modify(key.fileobj, EVENT_READ, key.data)
        for number in asked.keys() - found.keys():
            self._open.pop(number).close()
        self.bytes_down += sum(len(messages[number]) for number, each in asked.items() if not each.left)
        self.bytes_up += sum(map(len, found.values()))
        return {number: reply for number, reply in found.items() if reply}


class _Exchange:
    """A message to a client, and what has come of its reply; lengths stand before both, as `Connection` sends them."""

    def __init__(self, message: bytes) -> None:
        self.left, self._came = memoryview(_LENGTH.pack(len(message)) + message), bytearray()

    def step(self, place: int, events: int) -> bytes | None:
        """Send or receive a piece: the reply as soon as it is whole; an OSError for what is not one reply."""
        if self.left:
            if events & EVENT_READ:
                raise ConnectionError("this client is gone, or sent what nobody asked for")
            self.left = self.left[os.write(place, self.left) :]
            return None
        self._came += (piece := os.read(place, 2**20))
        size = _LENGTH.unpack_from(self._came)[0] if len(self._came) >= _LENGTH.size else 0
        more = _LENGTH.size + size - len(self._came)
        if not piece or not 0 <= size <= _LARGEST or more < 0:
            raise ConnectionError("this client is gone, or its reply is not one")
        return None if more else bytes(self._came[_LENGTH.size :])


def take_part(connection: Connection, client: Participant) -> None:
    """Answer the server at the other end of the pipe until it hangs up."""
    try:
        while True:
            connection.send_bytes(client.answer(connection.recv_bytes()))
    except (EOFError, OSError):
        connection.close()
