"""Encode, shuffle, analyse: a shuffler forgets who sent what, and the analyser sees reports in random order."""

from dataclasses import replace

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.local.frequencies import DirectResponse
from deniable.local.means import MeanProtocol
from deniable.local.protocol import Protocol, PureProtocol
from deniable.local.sums import ShuffledSum
from deniable.local.wire import pack, unpack
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, ShuffledLoss
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse, Randomizer
from deniable.release import Release

_CELLS = 4000  # of a channel whose every two rows are compared


def shuffled_loss(protocol: Protocol, users: int) -> PrivacyLoss:
    """What the shuffled reports of as many users reveal, one report each.

    The accountant knows a protocol as k-RR, as a small table, or by its epsilon alone. Duchi's mean rounds at random
    and applies binary RR: a mixture, which reveals no more.

    >>> from deniable.local import DirectResponse, shuffled_loss
    >>> shuffled_loss(DirectResponse(values=3, epsilon=1), 10_000).epsilon(1e-6).upper < 0.1
    True
    """
    if isinstance(protocol, ShuffledSum) and users >= protocol.least:
        return protocol.privacy_loss
    if not isinstance(protocol, PureProtocol):
        raise InvalidParameterError("shuffling is accounted for sums of enough people, and reports with a pure epsilon")
    randomizer: Randomizer = AnyRandomizer(epsilon=protocol.epsilon)
    number = protocol if isinstance(protocol, MeanProtocol) and protocol.columns == 1 else None
    if isinstance(protocol, DirectResponse) or (number and not number.share):
        randomizer = KaryResponse(epsilon=protocol.epsilon, categories=protocol.size)
    elif number and (number.steps + 1) ** 2 * number.size <= _CELLS:
        randomizer = Channel(number.channel(range(number.steps + 1)))
    return ShuffledLoss(randomizer, users)


class Shuffler:
    """Takes one report a sender, and hands all on at once in an order that nobody knows, without senders.

    It sees reports, which keep epsilon from it, and must not work together with the analyser. The messages of a
    `ShuffledSum` keep nothing from it: their sum is the sender's number, give or take a share of the noise.

    Args:
        protocol: of all reports; the messages of a `ShuffledSum` go their own ways.
        least: how many reports are waited for; fewer are not handed on.
    """

    def __init__(self, protocol: Protocol, *, least: int) -> None:
        self.protocol, self.least = protocol, positive_integer("least", least)
        self._reports: dict[str, bytes] = {}

    def add(self, message: bytes, *, sender: str) -> None:
        """Keep a message of one report; a second one of a sender is refused."""
        report = unpack(self.protocol, message)
        if len(report) != 1 or sender in self._reports:
            raise InvalidParameterError("a sender sends one report, once")
        self._reports[sender] = report.tobytes()

    def release(self, *, bits: Bits = SECURE) -> bytes:
        """All reports as one message in random order; then they and their senders are forgotten."""
        if len(self._reports) < self.least:
            raise InvalidParameterError(f"{self.least} reports are needed before they are handed on")
        parts = self.protocol.messages if isinstance(self.protocol, ShuffledSum) else 1
        told = np.frombuffer(b"".join(self._reports.values()), dtype=np.uint8).reshape(len(self._reports) * parts, -1)
        self._reports = {}
        return pack(self.protocol, told[uniform.permutation(len(told), bits=bits)].reshape(-1, self.protocol.width))


def analyse(protocol: Protocol, message: bytes, *, least: int) -> Release:
    """The estimate from at least as many shuffled reports, with its loss for everybody but the shuffler.

    >>> from deniable.local import DirectResponse, Shuffler, analyse, pack
    >>> protocol = DirectResponse(values=2, epsilon=1)
    >>> shuffler = Shuffler(protocol, least=1)
    >>> shuffler.add(pack(protocol, protocol.encode([1])), sender="ann")
    >>> len(analyse(protocol, shuffler.release(), least=1))
    2
    """
    reports = unpack(protocol, message)
    if len(reports) < positive_integer("least", least):
        raise InvalidParameterError(f"{least} reports were agreed on; fewer reveal more")
    return replace(protocol.estimate(reports), cost=shuffled_loss(protocol, len(reports)))
