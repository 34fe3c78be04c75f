"""Entries that are written into a ledger, and records that are read back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from deniable.errors import InvalidParameterError, LedgerError, UnknownLossError
from deniable.numbers.rationals import shown
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

MAX_ANALYST = 100  # letters
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Question and its cost, as reserved before any private row is read.

    Args:
        question: SHA-256 of the canonical private plan and its parameters, as 64 hexadecimal digits.
        text: the question as it was asked.
        loss: the privacy loss of everything that is released for this question.
        mechanisms: public description of the noise (names and scales), anything that JSON can hold.
        analyst: who asks; stored answers are not shared between analysts. None: whom the ledger was opened for.
        safe: False if the noise comes from a test stream.

    >>> from deniable.privacy import PureLoss
    >>> Entry(question="0" * 64, text="SELECT COUNT(*)", loss=PureLoss("0.25")).loss
    PureLoss(epsilon=0.25)
    """

    question: str
    text: str
    loss: PrivacyLoss
    mechanisms: Json = ()
    analyst: str | None = None
    safe: bool = True

    def __post_init__(self) -> None:
        if not (isinstance(self.question, str) and _KEY.fullmatch(self.question)):
            raise InvalidParameterError(
                f"question must be a SHA-256 key of 64 hexadecimal digits, got {self.question!r}. "
                "Hash the canonical plan and its parameters."
            )


@dataclass(frozen=True, kw_only=True)
class Record:
    """Reserved question, as the ledger stores it.

    `number` is its place in the chain; answers and keys take places of their own, so numbers have gaps.
    """

    number: int
    time: datetime
    question: str
    text: str
    loss: PrivacyLoss
    charge: Charge
    mechanisms: Json
    analyst: str
    safe: bool
    answered: bool
    version: str = ""  # of this library

    @classmethod
    def read(cls, number: int, body: Mapping[str, Any], *, answered: bool) -> "Record":
        """Return the record of an entry in the chain.

        Raises: LedgerError if its loss is of a class that this program has not imported.
        """
        try:
            loss = _loss(_Written.of(body["loss"]))
        except UnknownLossError as error:
            raise LedgerError(f"Record {number} of the ledger cannot be read: {error}") from error
        return cls(
            number=number,
            time=datetime.fromisoformat(body["time"]),
            question=body["question"],
            text=body["text"],
            loss=loss,
            charge=_charge(_Written.of(body["charge"])),
            mechanisms=body["mechanisms"],
            analyst=body["analyst"],
            safe=body["safe"],
            answered=answered,
            version=body["deniable"],
        )


class _Written(NamedTuple):
    """JSON data that can be looked up: equal, and hashed, by its text alone."""

    text: str
    data: Any

    @classmethod
    def of(cls, data: object) -> "_Written":
        return cls(repr(data), data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Written) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=1024)  # most questions cost what others cost
def _loss(said: _Written) -> PrivacyLoss:
    return PrivacyLoss.from_data(said.data)


@lru_cache(maxsize=1024)
def _charge(said: _Written) -> Charge:
    return Charge.from_data(said.data)


def check_analyst(name: object) -> None:
    """Raise InvalidParameterError unless this is a name that a history can show."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_ANALYST:
        raise InvalidParameterError(
            f"analyst must be a name of 1 to {MAX_ANALYST} printable letters, got {shown(name)}"
        )
