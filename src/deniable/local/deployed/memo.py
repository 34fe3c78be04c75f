"""Protocols of many days: a client answers a value once for good, and every report starts from that answer."""

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.local.protocol import Integers, Protocol
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball, certified_floor
from deniable.privacy import PrivacyLoss, PureLoss, Replace
from deniable.privacy.around.restricted import RestrictedLoss
from deniable.rows import Container, silence

Bytes = NDArray[np.uint8]

_BLOCK = 1 << 14  # people who are encoded at once
_FINE = 2**32


class Memoised(Protocol):
    """A protocol in three steps: what a client draws once, its permanent answer to a value, and reports of that.

    Guarantee: all reports of a client whose value stays are `privacy_loss` together, however many they are; one report
        alone is `report_loss`. A changed value pays for a permanent answer anew, and a change can be seen in reports.
    """

    epsilon: Fraction
    """The loss of a permanent answer."""
    report_epsilon: Fraction
    """The loss of one report alone; of `epsilon` where reports are the answers."""

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss of a permanent answer, and so of all reports of one value; under replace."""
        return RestrictedLoss(PureLoss(self.epsilon), Replace)

    @property
    def report_loss(self) -> PrivacyLoss:
        """The loss of one report alone, under replace."""
        return RestrictedLoss(PureLoss(self.report_epsilon), Replace)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """What clients draw once, before any value, as bytes of shape (people, any)."""
        return np.zeros((people, 0), dtype=np.uint8)

    @abstractmethod
    def _places(self, values: Container) -> Integers:
        """Values as whole numbers."""

    @abstractmethod
    def _keys(self, places: Integers, settled: Bytes) -> Integers:
        """All of the values that permanent answers depend on."""

    def keys(self, values: Container, settled: Bytes) -> Integers:
        """What permanent answers are kept by: values with one key share an answer."""
        return self._keys(self._places(values), settled)

    @abstractmethod
    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Permanent answers, of shape (people, any)."""

    @abstractmethod
    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Reports of permanent answers, of shape (people, width)."""

    @silence()
    def encode(self, values: Container, *, bits: Bits = SECURE) -> Bytes:
        """The first report of a new client for each value; `Client` has the state for further ones.

        Args:
            values: secret; a list or a column.
            bits: leave it out, except in tests.
        """
        places, found = self._places(values), []
        for start in range(0, max(len(places), 1), _BLOCK):
            some = places[start : start + _BLOCK]
            settled = self.settle(len(some), bits=bits)
            answers = self.remember(self._keys(some, settled), settled, bits=bits)
            found.append(self.tell(answers, settled, bits=bits))
        return np.concatenate(found)


def log_above(odds: Fraction) -> Fraction:
    """The least multiple of 2^-32 that is certainly at least ln(odds)."""
    return Fraction(-certified_floor(lambda: -ball(odds).log() * _FINE), _FINE)
