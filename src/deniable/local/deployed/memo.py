"""Protocols of many days: a client answers a value once for good, and every report starts from that answer."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable.local.codes import Bytes
from deniable.local.protocol import Integers, PureProtocol
from deniable.noise.bits import SECURE, Bits
from deniable.rows import Container, silence

_BLOCK = 1 << 14  # people who are encoded at once


@dataclass(frozen=True, kw_only=True)
class Memoised(PureProtocol):
    """A protocol in three steps: what a client draws once, its permanent answer to a value, and reports of that.

    Guarantee: all reports of a client whose value stays cost epsilon together, however many they are. A changed value
        pays for a permanent answer anew, and that it changed can be seen.
    """

    if TYPE_CHECKING:

        def _places(self, values: Container) -> Integers: ...  # values as whole numbers

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """What clients draw once, before any value, as bytes of shape (people, any)."""
        return np.zeros((people, 0), dtype=np.uint8)

    def keys(self, places: Integers, settled: Bytes) -> Integers:
        """All of the values that permanent answers depend on, by which they are kept."""
        return places

    @abstractmethod
    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Permanent answers, of shape (people, any)."""

    @abstractmethod
    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Reports of permanent answers, of shape (people, width)."""

    @silence()
    def encode(self, values: Container, *, bits: Bits = SECURE) -> Bytes:
        """The first report of a new client for each value; `Client` has the state for further ones."""
        return self._draw(self._places(values), bits)

    def _draw(self, places: Integers, bits: Bits) -> Bytes:
        found = []
        for start in range(0, max(len(places), 1), _BLOCK):
            some = places[start : start + _BLOCK]
            settled = self.settle(len(some), bits=bits)
            answers = self.remember(self.keys(some, settled), settled, bits=bits)
            found.append(self.tell(answers, settled, bits=bits))
        return np.concatenate(found)
