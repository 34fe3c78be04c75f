"""The shuffle model: reports lose their senders and order."""

from dataclasses import replace

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.local.frequencies import DirectResponse
from deniable.local.means import MeanProtocol
from deniable.local.messages import pack, unpack
from deniable.local.protocol import Protocol, PureProtocol
from deniable.local.sums import ShuffledSum
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, ShuffledLoss
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse, Randomizer
from deniable.release import Release

_MAX_CHANNEL_CELLS = 4000  # of a table whose every two rows are compared


def shuffled_loss(protocol: Protocol, users: int) -> PrivacyLoss:
    """Return the privacy loss of shuffled reports, one from each user.

    The accountant knows a protocol as k-RR, as a small table, or by its epsilon alone. Duchi's mean rounds at random
    and applies binary RR: a mixture, which reveals no more.

    Args:
        protocol: of all reports.
        users: the number of honest reports.

    >>> from deniable.local import DirectResponse, shuffled_loss
    >>> shuffled_loss(DirectResponse(values=3, epsilon=1), 10_000).epsilon(1e-6).upper < 0.1
    True
    """
    if isinstance(protocol, ShuffledSum) and users >= protocol.min_people:
        return protocol.privacy_loss
    if not isinstance(protocol, PureProtocol):
        raise InvalidParameterError("shuffling is accounted for sums of enough people, and reports with a pure epsilon")
    randomizer: Randomizer = AnyRandomizer(epsilon=protocol.epsilon)
    number = protocol if isinstance(protocol, MeanProtocol) and protocol.columns == 1 else None
    if isinstance(protocol, DirectResponse) or (number and not number.share):
        randomizer = KaryResponse(epsilon=protocol.epsilon, categories=protocol.size)
    elif number and (number.steps + 1) ** 2 * number.size <= _MAX_CHANNEL_CELLS:
        randomizer = Channel(number.channel(range(number.steps + 1)))
    return ShuffledLoss(randomizer, users)


class Shuffler:
    """A shuffler that forwards one report of each sender in random order, all at once.

    It sees reports, which keep epsilon from it, and must not collude with the analyser. The messages of a `ShuffledSum`
    keep nothing from it: their sum is the sender's number, up to a share of the noise.

    Args:
        protocol: of all reports; the messages of a `ShuffledSum` are shuffled one by one.
        min_reports: the number of reports to wait for; fewer are not forwarded.

    >>> from deniable.local import DirectResponse, Shuffler, pack, unpack
    >>> protocol = DirectResponse(values=2, epsilon=1)
    >>> shuffler = Shuffler(protocol, min_reports=2)
    >>> for sender, value in (("ann", 1), ("bob", 0)):
    ...     shuffler.add(pack(protocol, protocol.encode([value])), sender=sender)
    >>> len(unpack(protocol, shuffler.release()))
    2
    """

    def __init__(self, protocol: Protocol, *, min_reports: int) -> None:
        self.protocol = protocol
        self.min_reports = positive_integer("min_reports", min_reports)
        self._reports: dict[str, bytes] = {}

    def add(self, message: bytes, *, sender: str) -> None:
        """Keep a message of one report.

        Args:
            message: as `pack` makes it.
            sender: whose second message is refused.
        """
        report = unpack(self.protocol, message)
        if len(report) != 1 or sender in self._reports:
            raise InvalidParameterError("a sender sends one report, once")
        self._reports[sender] = report.tobytes()

    def release(self, *, bits: Bits = SECURE) -> bytes:
        """Return all reports as one message in random order.

        They and their senders are forgotten.

        Args:
            bits: leave it out, except in tests.
        """
        if len(self._reports) < self.min_reports:
            raise InvalidParameterError(f"{self.min_reports} reports are needed before they are forwarded")
        parts = self.protocol.messages if isinstance(self.protocol, ShuffledSum) else 1
        joined = np.frombuffer(b"".join(self._reports.values()), dtype=np.uint8)
        messages = joined.reshape(len(self._reports) * parts, -1)
        self._reports = {}
        shuffled = messages[uniform.permutation(len(messages), bits=bits)]
        return pack(self.protocol, shuffled.reshape(-1, self.protocol.width))


def analyse(protocol: Protocol, message: bytes, *, min_reports: int) -> Release:
    """Return the estimate from shuffled reports, with its loss.

    The loss holds against everybody but the shuffler.

    Args:
        protocol: of all reports.
        message: that a shuffler released.
        min_reports: the number of reports that was agreed on; fewer are refused.

    >>> from deniable.local import DirectResponse, Shuffler, analyse, pack
    >>> protocol = DirectResponse(values=2, epsilon=1)
    >>> shuffler = Shuffler(protocol, min_reports=1)
    >>> shuffler.add(pack(protocol, protocol.encode([1])), sender="ann")
    >>> len(analyse(protocol, shuffler.release(), min_reports=1))
    2
    """
    reports = unpack(protocol, message)
    if len(reports) < positive_integer("min_reports", min_reports):
        raise InvalidParameterError(f"{min_reports} reports were agreed on; fewer reveal more, got {len(reports)}")
    return replace(protocol.estimate(reports), cost=shuffled_loss(protocol, len(reports)))
