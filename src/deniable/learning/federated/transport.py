"""Transports of messages to clients: in this process, or through pipes."""

import os
import struct
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from deniable.learning.federated.clients import Participant

Messages = dict[int, bytes]
_LENGTH = struct.Struct("!i")  # as `Connection` writes it before a message
_MAX_REPLY_BYTES = 2**30


class Simulation:
    """Clients in this process, by number.

    `bytes_down` and `bytes_up` count what was carried; they are secret where samples of clients are.

    Args:
        clients: the participants by their numbers.
        drops_out: a function of (round, stage, number), rounds from 1 and stages 0 to 3, that says whether a client
            does not answer; by default all answer.

    >>> import numpy as np
    >>> from deniable.learning import TrainingPlan
    >>> from deniable.learning.federated import Federated, Participant
    >>> federated = Federated(plan=TrainingPlan(noise_multiplier=1, steps=2, dimensions=3))
    >>> clients = {number: Participant(federated, number, lambda parameters: np.ones(3)) for number in range(10)}
    >>> ask = Simulation(clients, drops_out=lambda round_, stage, number: number == 7)
    >>> federated.fit(ask, clients=10, expected_clients=10).parameters.shape
    (3,)
    """

    def __init__(
        self, clients: Mapping[int, Participant], *, drops_out: Callable[[int, int, int], bool] | None = None
    ) -> None:
        self._clients = clients
        self._drops_out = drops_out
        self.rounds = self.bytes_down = self.bytes_up = 0

    def __call__(self, messages: Messages) -> Messages:
        """Return the replies of the clients who answer."""
        stage = next(iter(messages.values()), b"\0")[0]
        self.rounds += stage == 0
        replies: Messages = {}
        for number, message in messages.items():
            if self._drops_out is not None and self._drops_out(self.rounds, stage, number):
                continue
            if reply := self._clients[number].answer(message):
                replies[number] = reply
        self.bytes_down += sum(map(len, messages.values()))
        self.bytes_up += sum(map(len, replies.values()))
        return replies


class Pipes:
    """Clients in other processes (not on Windows), each at the end of a pipe.

    `take_part` runs at that end. A client that is gone, or has not sent a whole reply within `timeout` seconds, drops
    out and is not asked again; so does one that sends a reply before it is asked, or two. Nothing that arrives is
    executed.

    Args:
        connections: the server's ends of the pipes, by the numbers of clients.
        timeout: seconds for all replies of one stage.

    >>> import numpy as np
    >>> from multiprocessing import Pipe
    >>> from threading import Thread
    >>> from deniable.learning import TrainingPlan
    >>> from deniable.learning.federated import Federated, Participant, take_part
    >>> federated = Federated(plan=TrainingPlan(noise_multiplier=1, steps=2, dimensions=3))
    >>> server, other = Pipe()
    >>> client = Participant(federated, 0, lambda parameters: np.ones(3))
    >>> Thread(target=take_part, args=(other, client)).start()  # in earnest another process, on another machine
    >>> federated.fit(Pipes({0: server}), clients=1, expected_clients=1).parameters.shape
    (3,)
    >>> server.close()
    """

    def __init__(self, connections: Mapping[int, Connection], *, timeout: float = 10) -> None:
        self._open = dict(connections)
        self._timeout = timeout
        self.bytes_down = self.bytes_up = 0
        for connection in self._open.values():
            os.set_blocking(connection.fileno(), False)

    def __call__(self, messages: Messages) -> Messages:
        """Return the replies of the clients who answer in time."""
        exchanges = {number: _Exchange(messages[number]) for number in messages if number in self._open}
        replies = self._exchanged(exchanges)
        for number in exchanges.keys() - replies.keys():
            self._open.pop(number).close()
        self.bytes_down += sum(len(messages[number]) for number, exchange in exchanges.items() if not exchange.unsent)
        self.bytes_up += sum(map(len, replies.values()))
        return {number: reply for number, reply in replies.items() if reply}

    def _exchanged(self, exchanges: "Mapping[int, _Exchange]") -> Messages:
        """Send all messages, and return the replies that are whole in time."""
        replies: Messages = {}
        deadline = time.monotonic() + self._timeout
        with DefaultSelector() as selector:
            for number in exchanges:
                selector.register(self._open[number], EVENT_READ | EVENT_WRITE, number)
            while selector.get_map() and (seconds := deadline - time.monotonic()) > 0:
                for key, events in selector.select(seconds):
                    exchange = exchanges[key.data]
                    try:
                        reply = exchange.step(key.fd, events)
                    except OSError:  # a client that is gone, or breaks the rules, has sent nothing
                        selector.unregister(key.fileobj)
                        continue
                    if reply is not None:
                        replies[key.data] = reply
                        selector.unregister(key.fileobj)
                    elif not exchange.unsent:
                        selector.modify(key.fileobj, EVENT_READ, key.data)
        return replies


class _Exchange:
    """A message to a client and its reply, as far as they have come.

    Their lengths stand before both, as `Connection` writes them.
    """

    def __init__(self, message: bytes) -> None:
        self.unsent = memoryview(_LENGTH.pack(len(message)) + message)
        self._received = bytearray()

    def step(self, descriptor: int, events: int) -> bytes | None:
        """Send or receive a piece, and return the reply as soon as it is whole.

        Raises: OSError for a client that is gone, or sends anything but one reply.
        """
        if self.unsent:
            if events & EVENT_READ:
                raise ConnectionError("this client is gone, or sent a reply before it was asked")
            self.unsent = self.unsent[os.write(descriptor, self.unsent) :]
            return None
        piece = os.read(descriptor, 2**20)
        self._received += piece
        size = _LENGTH.unpack_from(self._received)[0] if len(self._received) >= _LENGTH.size else 0
        missing = _LENGTH.size + size - len(self._received)
        if not piece or not 0 <= size <= _MAX_REPLY_BYTES or missing < 0:
            raise ConnectionError("this client is gone, or sent more than one reply")
        return None if missing else bytes(self._received[_LENGTH.size :])


def take_part(connection: Connection, client: Participant) -> None:
    """Answer the server at the other end of a pipe until it hangs up.

    Args:
        connection: the client's end of the pipe.
        client: the participant that answers.

    >>> import numpy as np
    >>> from multiprocessing import Pipe
    >>> from deniable.learning import TrainingPlan
    >>> from deniable.learning.federated import Federated, Participant, take_part
    >>> federated = Federated(plan=TrainingPlan(noise_multiplier=1, steps=2, dimensions=3))
    >>> server, other = Pipe()
    >>> server.close()
    >>> take_part(other, Participant(federated, 0, lambda parameters: np.ones(3)))  # the server has hung up
    """
    try:
        while True:
            connection.send_bytes(client.answer(connection.recv_bytes()))
    except (EOFError, OSError):
        connection.close()
