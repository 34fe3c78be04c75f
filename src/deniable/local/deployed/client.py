"""The state of a client: permanent answers, and donations by day."""

import json
from typing import Any

import numpy as np

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.local.codes import Bytes
from deniable.local.deployed.memo import Memoised
from deniable.local.protocol import PureProtocol
from deniable.local.wire import pack
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer, read_json, whole_number
from deniable.privacy import PrivacyLoss
from deniable.privacy.call import InWords, check_kind


class Client(metaclass=InWords):
    """One device: its permanent answers, how often it donated today, and what all donations have cost.

    A memoised protocol pays for a value once, and reports of it cost nothing afterwards; any other protocol pays for
    every donation. Every donation counts for its day, paid or not, so that a refusal tells nothing about a value.

    Args:
        protocol: of all reports.
        donations: the most reports of a day.

    Guarantee: T days cost at most T * donations * epsilon, linearly, as values may change; with a memoised protocol
        D * epsilon between histories of D values that change at the same times.
    Source: Tang, Korolova, Bai, Wang, Wang (2017), arXiv:1709.02753.

    >>> from deniable.local import Client, Rappor
    >>> client = Client(Rappor(), donations=2)
    >>> reports = [client.donate("tea", day=1), client.donate("tea", day=1)]
    >>> client.paid, round(float(client.epsilon), 4), len(reports[0])
    (1, 4.3944, 35)
    >>> client.donate("tea", day=1)
    Traceback (most recent call last):
    deniable.errors.BudgetExceededError: the 2 donations of this day are made; wait for the next day
    """

    def __init__(self, protocol: PureProtocol, *, donations: int = 1) -> None:
        check_kind("protocol", protocol, PureProtocol)
        self.protocol, self.donations = protocol, positive_integer("donations", donations)
        self.paid = self._today = 0
        self._day = -(2**31)
        self._settled = b""
        self._answers: dict[int, bytes] = {}

    def donate(self, value: object, *, day: int, bits: Bits = SECURE) -> bytes:
        """A message with one report of the value, for the server.

        Args:
            value: secret.
            day: a number that grows from day to day.
            bits: leave it out, except in tests.

        Raises: BudgetExceededError, before anything is encoded, if the day's donations are made.
        """
        if whole_number("day", day, upper=2**31) < self._day:
            raise InvalidParameterError("day must not be before that of the last donation: the clock went back")
        made = self._today if day == self._day else 0
        if made >= self.donations:
            raise BudgetExceededError(f"the {self.donations} donations of this day are made; wait for the next day")
        self._day, self._today, protocol = day, made + 1, self.protocol
        if not isinstance(protocol, Memoised):
            self.paid += 1
            return pack(protocol, protocol.encode([value], bits=bits))
        settled = _row(self._settled) if self._settled else protocol.settle(1, bits=bits)
        self._settled, keys = settled.tobytes(), protocol.keys(protocol._places([value]), settled)
        if (key := int(keys[0])) not in self._answers:
            self._answers[key] = protocol.remember(keys, settled, bits=bits).tobytes()
            self.paid += 1
        return pack(protocol, protocol.tell(_row(self._answers[key]), settled, bits=bits))

    @property
    def epsilon(self) -> Any:
        """What all donations so far have cost; secret with a memoised protocol, since it counts values."""
        return self.paid * self.protocol.epsilon

    def loss_of(self, days: int) -> PrivacyLoss:
        """The most that donations of these many days cost, from public facts: it grows linearly."""
        return self.protocol.privacy_loss * (self.donations * positive_integer("days", days))

    def state(self) -> str:
        """The state as JSON, to be kept before a message is sent: secret, since answers tell more than reports."""
        state = {"client": 1, "protocol": self.protocol.fingerprint.hex(), "paid": self.paid, "day": self._day}
        answers = {str(key): answer.hex() for key, answer in self._answers.items()}
        return json.dumps({**state, "today": self._today, "settled": self._settled.hex(), "answers": answers})

    def load(self, text: str) -> None:
        """Go on from a state; text that is none, or of another protocol, is refused."""
        state = read_json(text, "the state of a client")
        named = {"client": 1, "protocol": self.protocol.fingerprint.hex()}
        if not isinstance(state, dict) or {name: state.get(name) for name in named} != named:
            raise InvalidParameterError("the text is no state of a client of this protocol and version")
        try:
            day, today = whole_number("day", state["day"]), whole_number("today", state["today"], lower=0)
            settled = bytes.fromhex(state["settled"])
            answers = {int(key): bytes.fromhex(answer) for key, answer in state["answers"].items()}
            paid = whole_number("paid", state["paid"], lower=len(answers))
            if isinstance(self.protocol, Memoised):
                for answer in answers.values():
                    self.protocol.supports(self.protocol.tell(_row(answer), _row(settled)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InvalidParameterError("the state of the client is damaged; a client without it pays anew") from None
        self._day, self._today, self._settled, self._answers, self.paid = day, today, settled, answers, paid


def _row(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)[np.newaxis]
