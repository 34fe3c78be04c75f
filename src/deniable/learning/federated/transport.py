"""How messages reach clients: in this process for simulations, or through pipes to others."""

import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, wait

from deniable.learning.federated.clients import Participant

Messages = dict[int, bytes]


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
    """Clients in other processes, by number, each at the other end of a pipe, where `take_part` runs.

    Who is gone, or later than `timeout` seconds, drops out and is not heard again. Nothing that arrives is executed.
    """

    def __init__(self, connections: Mapping[int, Connection], *, timeout: float = 10) -> None:
        self._open, self._timeout = dict(connections), timeout
        self.bytes_down = self.bytes_up = 0

    def __call__(self, messages: Messages) -> Messages:
        """Replies of those who answer in time."""
        found: Messages = {}
        waiting, end = {}, time.monotonic() + self._timeout
        for number, message in messages.items():
            if number in self._open:
                try:
                    self._open[number].send_bytes(message)
                    waiting[self._open[number]] = number
                    self.bytes_down += len(message)
                except OSError:
                    self._close(number)
        while waiting and (ready := wait(list(waiting), max(end - time.monotonic(), 0))):
            for connection in ready:
                number = waiting.pop(connection)  # type: ignore[call-overload]
                try:
                    found[number] = connection.recv_bytes(2**30)  # type: ignore[union-attr]
                except (EOFError, OSError):
                    self._close(number)
        for number in waiting.values():
            self._close(number)
        self.bytes_up += sum(map(len, found.values()))
        return {number: reply for number, reply in found.items() if reply}

    def _close(self, number: int) -> None:
        self._open.pop(number).close()


def take_part(connection: Connection, client: Participant) -> None:
    """Answer the server at the other end of the pipe until it hangs up."""
    try:
        while True:
            connection.send_bytes(client.answer(connection.recv_bytes()))
    except (EOFError, OSError):
        connection.close()
