"""The state of a client: permanent answers, and donations by day."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.local.deployed.memo import Memoised
from deniable.local.protocol import Protocol
from deniable.local.wire import pack
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer, read_json, whole_number
from deniable.privacy import PrivacyLoss
from deniable.privacy.call import InWords

_VERSION = 1


class Client(metaclass=InWords):
    """One device: its permanent answers, how often it donated today, and what all donations have cost.

    A memoised protocol pays for a value once, and reports of it cost nothing afterwards; any other protocol pays for
    every donation. Every donation counts for its day, paid or not, so that a refusal tells nothing about a value.

    Args:
        protocol: of all reports.
        donations: the most reports of a day.
        path: a file that holds the state from one start to the next, written before a report leaves; None keeps the
            state in this object and in `to_json`. One process at a time uses it.

    Guarantee: a day costs at most donations * epsilon and T days T times as much, linearly, as values may change; with
        a memoised protocol and D values ever donated, D * epsilon between histories that change at the same times.
    Source: Tang, Korolova, Bai, Wang, Wang (2017), arXiv:1709.02753; Erlingsson, Pihur, Korolova (2014).

    >>> from deniable.local import Client, Rappor
    >>> client = Client(Rappor(), donations=2)
    >>> reports = [client.donate("tea", day=1), client.donate("tea", day=1)]
    >>> client.paid, round(float(client.epsilon), 4), len(reports[0])
    (1, 4.3944, 35)
    >>> client.donate("tea", day=1)
    Traceback (most recent call last):
    deniable.errors.BudgetExceededError: today's 2 donations are made; the next one is free to be made on another day
    """

    def __init__(self, protocol: Protocol, *, donations: int = 1, path: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(protocol, Protocol):
            raise InvalidParameterError("protocol must be one of deniable.local")
        self.protocol, self.donations = protocol, positive_integer("donations", donations)
        self.path = None if path is None else Path(path)
        self.paid = 0
        """How many reports or permanent answers have cost epsilon."""
        self._day: int | None = None
        self._today = 0
        self._settled = b""
        self._answers: dict[int, bytes] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path.read_text(encoding="utf-8"))

    def donate(self, value: object, *, day: int, bits: Bits = SECURE) -> bytes:
        """A message with one report of the value, for the server; the state is kept before it is returned.

        Args:
            value: secret.
            day: a number that grows from day to day.
            bits: leave it out, except in tests.

        Raises: BudgetExceededError, before anything is encoded, if the donations of the day are made;
            InvalidParameterError if the day is before that of another donation.
        """
        today = whole_number("day", day, lower=-(2**31), upper=2**31)
        if self._day is not None and today < self._day:
            raise InvalidParameterError("day must not be before that of the last donation: the clock went back")
        made = self._today if today == self._day else 0
        if made >= self.donations:
            raise BudgetExceededError(
                f"today's {self.donations} donations are made; the next one is free to be made on another day"
            )
        self._day, self._today = today, made + 1
        if isinstance(self.protocol, Memoised):
            report = self._remembered(self.protocol, value, bits)
        else:
            self.paid += 1
            self._keep()
            report = self.protocol.encode([value], bits=bits)
        return pack(self.protocol, report)

    def _remembered(self, protocol: Memoised, value: object, bits: Bits) -> Any:
        settled = _row(self._settled) if self._settled else protocol.settle(1, bits=bits)
        self._settled = settled.tobytes()
        key = int(protocol.keys([value], settled)[0])
        if key not in self._answers:
            self._answers[key] = protocol.remember(np.array([key]), settled, bits=bits).tobytes()
            self.paid += 1
        self._keep()
        return protocol.tell(_row(self._answers[key]), settled, bits=bits)

    # --- what it cost --------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> Any:
        """What all donations so far have cost, as a rational; secret with a memoised protocol, as it counts values."""
        return self.paid * self.protocol.epsilon  # type: ignore[attr-defined]

    def loss_of(self, days: int) -> PrivacyLoss:
        """The most that donations of these many days cost, from public facts: it grows linearly."""
        return self.protocol.privacy_loss * (self.donations * positive_integer("days", days))

    # --- from one start to the next ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The state as text: secret, since permanent answers tell more than reports."""
        answers = {str(key): answer.hex() for key, answer in self._answers.items()}
        state = {"client": _VERSION, "protocol": self.protocol.fingerprint.hex(), "paid": self.paid, "day": self._day}
        return json.dumps({**state, "today": self._today, "settled": self._settled.hex(), "answers": answers})

    @classmethod
    def of_json(cls, text: str, protocol: Protocol, *, donations: int = 1) -> "Client":
        """The client that had this state.

        Raises: InvalidParameterError if the text is no state of a client of this protocol.
        """
        client = cls(protocol, donations=donations)
        client._read(text)
        return client

    def _read(self, text: str) -> None:
        state = read_json(text, "the state of a client")
        if not isinstance(state, dict) or state.get("client") != _VERSION:
            raise InvalidParameterError(f"the state of a client must have version {_VERSION}, and this text has not")
        if state.get("protocol") != self.protocol.fingerprint.hex():
            raise InvalidParameterError("the state is of a client of another protocol")
        try:
            self._day = None if state["day"] is None else whole_number("day", state["day"])
            self._today = whole_number("today", state["today"], lower=0)
            self._settled = bytes.fromhex(state["settled"])
            self._answers = {int(key): bytes.fromhex(answer) for key, answer in state["answers"].items()}
            self.paid = whole_number("paid", state["paid"], lower=len(self._answers))
            if self._answers and isinstance(self.protocol, Memoised):
                settled = _row(self._settled)
                for answer in self._answers.values():
                    if not self.protocol.sound(self.protocol.tell(_row(answer), settled)):
                        raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InvalidParameterError("the state of the client is damaged; a client without it pays anew") from None

    def _keep(self) -> None:
        if self.path is None:
            return
        draft = self.path.with_name(self.path.name + ".new")
        with draft.open("w", encoding="utf-8") as file:
            file.write(self.to_json())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def _row(data: bytes) -> Any:
    return np.frombuffer(data, dtype=np.uint8)[np.newaxis]
