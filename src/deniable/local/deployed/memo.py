"""Protocols of many days: a client answers a value once for good, and every report starts from that answer."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes
from deniable.local.protocol import PureProtocol
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.rows import Container

_BLOCK = 1 << 14  # people who are encoded at once


@dataclass(frozen=True, kw_only=True)
class Memoised(PureProtocol):
    """A protocol in three steps: what a client draws once, its permanent answer to a value, and reports of that.

    Guarantee: all reports of a client whose value stays have the loss epsilon together, however many they are. When a
        value changes, and when it comes back, is not protected: no epsilon holds for two such histories unless answers
        change at the same times. `epsilon_between` says which have what loss; proof in docs/theory/local/memory.md.
    """

    if TYPE_CHECKING:

        def _places(self, values: Container) -> Integers: ...  # values as whole numbers

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """What clients draw once, before any value, as bytes of shape (people, any)."""
        return np.zeros((people, 0), dtype=np.uint8)

    def keys(self, places: Integers, settled: Bytes) -> Integers:
        """All of the values that permanent answers depend on, by which they are kept."""
        return places

    def _states(self, places: Integers) -> Bytes:
        """Return settled states that show every pattern of keys of these places."""
        return np.zeros((1, 0), dtype=np.uint8)

    def epsilon_between(self, history: Container, other: Container) -> Fraction | float:
        """Return the proved epsilon of all reports of one client, for two histories.

        For each state that a client can settle on: infinite unless answers change, and come back, at the same times in
        both histories, else the sum over answers that differ, of `report_epsilon` for one that is reported once, where
        a protocol has it, and `epsilon` otherwise. The greatest of these holds.

        Args:
            history: the value of each donation, in order; made up, and no client's.
            other: as many of another client.

        >>> from deniable.local import BitFlip
        >>> protocol = BitFlip(values=3, epsilon=1, chosen=3)
        >>> [str(protocol.epsilon_between([0, 0, 1], other)) for other in ([2, 2, 2], [1, 1, 0], [2, 2, 1])]
        ['inf', '2', '1']
        """
        places = self._places(history), self._places(other)
        if len(places[0]) != len(places[1]):
            raise InvalidParameterError(f"histories must be of one length, got {len(places[0])} and {len(places[1])}")
        states = self._states(np.concatenate(places))
        one, two = ([self.keys(np.full(len(states), place), states) for place in part] for part in places)
        first = _first(one)
        if not np.array_equal(first, _first(two)):
            return math.inf
        several, single = np.zeros((2, len(states)), dtype=np.int64)  # answers that differ, by their reports
        for at, (own, others) in enumerate(zip(one, two, strict=True)):
            reports = np.where(own != others, (first == at).sum(axis=0), 0)  # of the answer that is new here, if any
            several += reports > 1
            single += reports == 1
        once = Fraction(getattr(self, "report_epsilon", self.epsilon))
        counts: list[list[int]] = np.unique(np.stack([several, single]), axis=1).T.tolist()
        return max(self.epsilon * many + once * alone for many, alone in counts)

    @abstractmethod
    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Permanent answers, of shape (people, any)."""

    @abstractmethod
    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Reports of permanent answers, of shape (people, width)."""

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        return self._draw(self._places(values), bits)

    def _draw(self, places: Integers, bits: Bits) -> Bytes:
        found = []
        for start in range(0, max(len(places), 1), _BLOCK):
            some = places[start : start + _BLOCK]
            settled = self.settle(len(some), bits=bits)
            answers = self.remember(self.keys(some, settled), settled, bits=bits)
            found.append(self.tell(answers, settled, bits=bits))
        return np.concatenate(found)


def _first(keys: list[Integers]) -> Integers:
    """Return the first donation with the same key, of shape (donations, states)."""
    found = np.empty((len(keys), keys[0].size if keys else 0), dtype=np.int64)
    for at, own in enumerate(keys):
        found[at] = at
        for before in reversed(range(at)):
            found[at, keys[before] == own] = before
    return found
