"""Client of a local protocol: its permanent answers, and its donations by day."""

import json
import math
from typing import Any, ClassVar

import numpy as np

from deniable.arguments import InWords, check_kind
from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.ledger import Ledger
from deniable.ledger.entry import Record
from deniable.ledger.payment import Payment, check_ledger
from deniable.local.codes import Bytes
from deniable.local.deployed.memo import Memoised
from deniable.local.messages import pack
from deniable.local.protocol import Protocol, PureProtocol
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer, read_json, shown, whole_number, yes_or_no
from deniable.privacy import PrivacyLoss, PrivacyUnit
from deniable.rows import silence

LAST_DAY = 2**31  # that a client counts


class Client(metaclass=InWords):
    """Client on a device: permanent answers, donations of today, and their cost.

    A memoised protocol is charged for a value once, and reports of it cost nothing afterwards, as long as the value
    stays; any other protocol is charged for every donation. Every donation counts for its day, charged or not, so that
    a refusal reveals nothing about a value.

    Args:
        protocol: of all reports.
        donations: the largest number of reports of a day.
        ledger: keeps charges and messages on disk, where several processes donate for one client or one may be killed;
            opened with Replace, `Client.unit` and a budget for all days. Memoised protocols keep `state()` instead.

    Guarantee: T days cost at most T * donations * epsilon, linearly, whatever the values are. With a memoised protocol
        all days together cost epsilon between two values that stay, and a change is not protected: no epsilon holds
        for it, so that `epsilon` is infinite from the second answer on. `Memoised.epsilon_between` is the loss for two
        given histories; k clients, one after the other, each with a value that stays, cost k * epsilon.
        Proof: docs/theory/local/memory.md.
    Source: Tang, Korolova, Bai, Wang, Wang (2017), arXiv:1709.02753.

    >>> from deniable.local.deployed import Client, Rappor
    >>> client = Client(Rappor(), donations=2)
    >>> reports = [client.donate("tea", day=1), client.donate("tea", day=1)]
    >>> client.paid, round(float(client.epsilon), 4), len(reports[0])
    (1, 4.3944, 35)
    >>> client.donate("tea", day=1)
    Traceback (most recent call last):
    deniable.errors.BudgetExceededError: the 2 donations of this day are made; wait for the next day
    """

    unit: ClassVar[PrivacyUnit] = Protocol.unit

    def __init__(self, protocol: PureProtocol, *, donations: int = 1, ledger: Ledger | None = None) -> None:
        check_kind("protocol", protocol, PureProtocol)
        self.protocol = protocol
        self.donations = positive_integer("donations", donations)
        self._ledger = ledger
        if ledger is not None:
            check_ledger(ledger, self.unit)
            if isinstance(protocol, Memoised):
                raise InvalidParameterError("a ledger would reveal how many values were charged: keep state() instead")
        self._paid = self._today = 0  # charges, and donations of the last day
        self._day = -(2**31)
        self._settled = b""
        self._answers: dict[int, bytes] = {}

    @silence()
    def donate(self, value: object, *, day: int, name: str | None = None, bits: Bits = SECURE) -> bytes:
        """Return a message with one report of the value, for the server.

        Args:
            value: secret.
            day: a number that grows from day to day.
            name: of this donation, if there is a ledger; public. A name that was donated returns its message again, at
                no cost, whatever the value is now.
            bits: leave it out, except in tests.

        Raises: BudgetExceededError, before anything is encoded, if the day's donations are made, or if this donation
            was charged and its message is lost, as after a crash: it is not drawn again.
        """
        whole_number("day", day, upper=LAST_DAY)
        if (self._ledger is None) != (name is None) or not isinstance(name, str | None):
            raise InvalidParameterError(f"name must be text with a ledger, and None without one, got {shown(name)}")
        if self._ledger is not None and name is not None:
            return self._stored(self._ledger, value, day, name, bits)
        made = self._today if day == self._day else 0
        self._check(day, self._day, made)
        self._day = day
        self._today = made + 1
        if isinstance(self.protocol, Memoised):
            return self._memoised(self.protocol, value, bits)
        self._paid += 1
        return pack(self.protocol, self.protocol.encode([value], bits=bits))

    def _memoised(self, protocol: Memoised, value: object, bits: Bits) -> bytes:
        """Return a message about the permanent answer to a value.

        The answer is drawn and charged once.
        """
        settled = _row(self._settled) if self._settled else protocol.settle(1, bits=bits)
        self._settled = settled.tobytes()
        keys = protocol.keys(protocol._indices([value]), settled)
        if (key := int(keys[0])) not in self._answers:
            self._answers[key] = protocol.remember(keys, settled, bits=bits).tobytes()
            self._paid += 1
        return pack(protocol, protocol.report(_row(self._answers[key]), settled, bits=bits))

    def _check(self, day: int, last: int, made: int) -> None:
        """Refuse a donation on a day before the last one's, or with all of its donations."""
        if day < last:
            raise InvalidParameterError("day must not be before that of the last donation: the clock went back")
        if made >= self.donations:
            raise BudgetExceededError(f"the {self.donations} donations of this day are made; wait for the next day")

    def _stored(self, ledger: Ledger, value: object, day: int, name: str, bits: Bits) -> bytes:
        """Return the message of a donation, which is charged to the ledger and drawn once."""
        mine = self.protocol.fingerprint.hex()
        payment = Payment(ledger, text=f"donation {shown(name)}", name=f"donation {mine} {name!r}", bits=bits)

        def check(before: list[Record]) -> None:
            if any(each.question == payment.question for each in before):
                raise BudgetExceededError(
                    f"donation {shown(name)} was charged, and its message is sent or lost; make one with another name"
                )
            days = self._days(before)
            self._check(day, max(days, default=day), days.count(day))

        stored = ledger.recall(payment.question, safe=bits.safe)
        if stored is None:
            entry = payment.entry(self.protocol.privacy_loss, mechanisms={"protocol": mine, "day": day})
            number = ledger.reserve(entry, check=check)
            stored = json.dumps(pack(self.protocol, self.protocol.encode([value], bits=bits)).hex())
            ledger.store(number, stored)
        return bytes.fromhex(json.loads(stored))

    def _days(self, records: list[Record]) -> list[int]:
        """Return the days of this protocol's donations."""
        facts = [each.mechanisms for each in records if isinstance(each.mechanisms, dict)]
        return [each["day"] for each in facts if each.get("protocol") == self.protocol.fingerprint.hex()]

    @property
    def paid(self) -> int:
        """Number of answers or reports that were charged.

        Secret with a memoised protocol, since it counts values.
        """
        return self._paid if self._ledger is None else len(self._days(self._ledger.entries()))

    @property
    def epsilon(self) -> Any:
        """Epsilon of all donations so far; as secret as `paid`.

        With a memoised protocol it is that between two values that stay; infinite once the value has changed.
        """
        if isinstance(self.protocol, Memoised) and self.paid > 1:
            return math.inf
        return self.paid * self.protocol.epsilon

    def loss_of(self, days: int, *, constant: bool = False) -> PrivacyLoss:
        """Bound the loss of all donations of some days, from public facts.

        Args:
            days: at least 1.
            constant: whether the value is known to be one and the same in all donations. Memoised protocols protect
                nothing else, and have the loss of one value then.

        Raises: UnprovedError for several reports of a memoised protocol about values that may change.
        """
        reports = self.donations * positive_integer("days", days)
        stays = yes_or_no("constant", constant)
        if not isinstance(self.protocol, Memoised):
            return self.protocol.privacy_loss * reports
        if reports > 1 and not stays:
            raise UnprovedError(
                f"permanent answers show when a value changes, so no epsilon holds for {reports} reports of values "
                "that may. Say constant=True for a value that stays, or take a new client at public times."
            )
        return self.protocol.privacy_loss

    def state(self) -> str:
        """Return the state as JSON, to be kept before a message is sent.

        Secret, since permanent answers reveal more than reports.
        """
        state = {"client": 1, "protocol": self.protocol.fingerprint.hex(), "paid": self._paid, "day": self._day}
        answers = {str(key): answer.hex() for key, answer in self._answers.items()}
        return json.dumps({**state, "today": self._today, "settled": self._settled.hex(), "answers": answers})

    def load(self, text: str) -> None:
        """Continue from a state.

        Args:
            text: that `state` returned for the same protocol.

        Raises: InvalidParameterError for anything else.
        """
        state = read_json(text, "the state of a client")
        named = {"client": 1, "protocol": self.protocol.fingerprint.hex()}
        if not isinstance(state, dict) or {name: state.get(name) for name in named} != named:
            raise InvalidParameterError("the text is not a valid state of a client of this protocol and version")
        try:
            day = whole_number("day", state["day"], upper=LAST_DAY)  # on a later one nothing could be donated any more
            today = whole_number("today", state["today"], lower=0)
            settled = bytes.fromhex(state["settled"])
            answers = {int(key): bytes.fromhex(answer) for key, answer in state["answers"].items()}
            paid = whole_number("paid", state["paid"], lower=len(answers))
            if isinstance(self.protocol, Memoised):
                for answer in answers.values():
                    self.protocol.supports(self.protocol.report(_row(answer), _row(settled)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InvalidParameterError(
                "the state of the client is damaged; without it a client is charged anew"
            ) from None
        self._day, self._today, self._settled, self._answers, self._paid = day, today, settled, answers, paid


def _row(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)[np.newaxis]
