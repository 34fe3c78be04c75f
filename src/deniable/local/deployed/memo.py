"""Memoised protocols: every report starts from a permanent answer to the value."""

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

_PEOPLE_AT_ONCE = 1 << 14  # who are encoded: it bounds memory


@dataclass(frozen=True, kw_only=True)
class Memoised(PureProtocol):
    """Base class of protocols with permanent answers.

    A client draws settings once (`settle`), a permanent answer to each value (`remember`), and reports of the answer
    (`report`).

    Guarantee: all reports of a client whose value stays have the loss epsilon together, however many they are. When a
        value changes, and when it comes back, is not protected: no epsilon holds for two such histories unless answers
        change at the same times. `epsilon_between` says which have what loss; proof in docs/theory/local/memory.md.
    """

    if TYPE_CHECKING:

        def _indices(self, values: Container) -> Integers:
            """Return values as whole numbers."""

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Draw the settings of clients, once and before any value.

        Bytes of shape (people, any).
        """
        return np.zeros((people, 0), dtype=np.uint8)

    def keys(self, indices: Integers, settled: Bytes) -> Integers:
        """Return the keys of values, on which alone permanent answers depend.

        Args:
            indices: values as whole numbers, shape (people,).
            settled: the settings of the clients.
        """
        return indices

    def _states(self, indices: Integers) -> Bytes:
        """Return settings that show every pattern of keys of these values."""
        return np.zeros((1, 0), dtype=np.uint8)

    def epsilon_between(self, history: Container, other: Container) -> Fraction | float:
        """Return the proved epsilon of all reports of one client, for two histories.

        For each state that a client can settle on: infinite unless answers change, and come back, at the same times in
        both histories, else the sum over answers that differ, of `report_epsilon` for one that is reported once, where
        a protocol has it, and `epsilon` otherwise. The greatest of these holds.

        Args:
            history: the value of each donation, in order; made up, not a client's.
            other: as many of another client.

        >>> from deniable.local.deployed import BitFlip
        >>> protocol = BitFlip(values=3, epsilon=1, chosen=3)
        >>> [str(protocol.epsilon_between([0, 0, 1], other)) for other in ([2, 2, 2], [1, 1, 0], [2, 2, 1])]
        ['inf', '2', '1']
        """
        one, two = self._indices(history), self._indices(other)
        if len(one) != len(two):
            raise InvalidParameterError(f"histories must be of one length, got {len(one)} and {len(two)}")
        states = self._states(np.concatenate([one, two]))
        one_keys = [self.keys(np.full(len(states), index), states) for index in one]
        two_keys = [self.keys(np.full(len(states), index), states) for index in two]
        first = _first(one_keys)
        if not np.array_equal(first, _first(two_keys)):
            return math.inf
        several, single = np.zeros((2, len(states)), dtype=np.int64)  # answers that differ, by their reports
        for donation, (own, others) in enumerate(zip(one_keys, two_keys, strict=True)):
            reports = np.where(own != others, (first == donation).sum(axis=0), 0)  # of an answer that is new here
            several += reports > 1
            single += reports == 1
        once = Fraction(getattr(self, "report_epsilon", self.epsilon))
        counts: list[list[int]] = np.unique(np.stack([several, single]), axis=1).T.tolist()
        return max(self.epsilon * repeated + once * alone for repeated, alone in counts)

    @abstractmethod
    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw permanent answers, bytes of shape (people, any).

        Args:
            keys: of the values, shape (people,).
            settled: the settings of the clients.
            bits: leave it out, except in tests.
        """

    @abstractmethod
    def report(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw reports of permanent answers, bytes of shape (people, width).

        Args:
            answers: the permanent answers.
            settled: the settings of the clients.
            bits: leave it out, except in tests.
        """

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        """Randomise values of new clients, one each."""
        return self._draw(self._indices(values), bits)

    def _draw(self, indices: Integers, bits: Bits) -> Bytes:
        """Randomise indices of new clients, one each."""
        reports = []
        for start in range(0, max(len(indices), 1), _PEOPLE_AT_ONCE):
            part = indices[start : start + _PEOPLE_AT_ONCE]
            settled = self.settle(len(part), bits=bits)
            answers = self.remember(self.keys(part, settled), settled, bits=bits)
            reports.append(self.report(answers, settled, bits=bits))
        return np.concatenate(reports)


def _first(keys: list[Integers]) -> Integers:
    """Return the first donation with the same key, shape (donations, states)."""
    first = np.empty((len(keys), keys[0].size if keys else 0), dtype=np.int64)
    for donation, own in enumerate(keys):
        first[donation] = donation
        for before in reversed(range(donation)):
            first[donation, keys[before] == own] = before
    return first
