"""Payments: the price of one answer, charged before a private row is read."""

import hashlib
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.ledger.entry import Entry, Json
from deniable.ledger.ledger import Ledger
from deniable.numbers.rationals import shown
from deniable.privacy import Filter, PrivacyLoss, PrivacyUnit, Replace
from deniable.privacy.budget.rule import Remaining


class Payer(Protocol):
    """Anything that can be charged as a `Ledger` is."""

    def pay(self, loss: PrivacyLoss, *, question: str, text: str, safe: bool, units: bool) -> Remaining:
        """Charge the loss durably and return what is left, or raise and charge nothing.

        Args:
            question: hash of what is asked.
            text: what is asked, for people.
            safe: whether the noise comes from secure bits.
            units: whether the loss is that of all rows of one unit, or of one row.
        """
        ...


class RandomBits(Protocol):
    """Random bits of `deniable.noise`, as far as a payment knows them."""

    safe: bool

    def words(self, count: int, /) -> object:
        """Draw `count` words."""
        ...


@dataclass(frozen=True)
class Payment:
    """One answer that is charged to a ledger before any private row is read.

    The order of events is the same for every answer about private rows: price it, pay, read the rows, and store the
    answer where it is kept. A payment is made before the first of these, so that a wrong ledger costs nothing, and
    nothing is refunded after the second.

    Args:
        ledger: that is charged; None where the loss is accounted for elsewhere, and nothing is charged here.
        text: what is asked, for people who read the ledger.
        bits: random bits of the answer; the ledger keeps whether they are safe.
        name: public facts that tell the question from all others; by default its text. The ledger keeps their hash.
        units: whether the loss is that of all rows of one unit, or of one row.
        protects: the unit of the loss, where that is neither a row nor the owner of rows: see `check_ledger`.

    Raises: InvalidParameterError for what is not a ledger or not random bits, and for a ledger of another unit.
    """

    ledger: Payer | None
    _: KW_ONLY
    text: str
    bits: RandomBits
    name: str | None = None
    units: bool = False
    protects: PrivacyUnit | None = None

    def __post_init__(self) -> None:
        if self.ledger is not None:
            if self.protects is not None:
                check_ledger(self.ledger, self.protects)
            _check_payer(self.ledger)
        if not isinstance(getattr(self.bits, "safe", None), bool) or not callable(getattr(self.bits, "words", None)):
            raise InvalidParameterError(f"bits must be a source of random bits, got {shown(self.bits)}. Leave it out.")

    @property
    def question(self) -> str:
        """The hash under which a ledger keeps the question."""
        return hashlib.sha256((self.text if self.name is None else self.name).encode()).hexdigest()

    def charge(self, loss: PrivacyLoss, *others: PrivacyLoss) -> Remaining | None:
        """Charge the first of several losses for which the ledger has a price.

        Each of the losses holds.

        Returns: what is left; None without a ledger.
        Raises: UnprovedError, that of the first loss, if there is none, and nothing was charged.
        """
        try:
            return self._charge(loss)
        except UnprovedError:
            for each in others:
                with suppress(UnprovedError):
                    return self._charge(each)
            raise

    def charge_each(self, loss: PrivacyLoss, rows: object) -> None:
        """Charge the loss of one row once for each row, where their number is public."""
        count = 0 if self.ledger is None else len(rows)  # type: ignore[arg-type]
        if count:
            self.charge(loss * count)

    def entry(self, loss: PrivacyLoss, *, mechanisms: Json = ()) -> Entry:
        """Return the entry of an answer that a ledger stores.

        See `Ledger.answer` and `Ledger.reserve`.
        """
        return Entry(question=self.question, text=self.text, loss=loss, mechanisms=mechanisms, safe=self.bits.safe)

    def _charge(self, loss: PrivacyLoss) -> Remaining | None:
        if self.ledger is None:
            return None
        return self.ledger.pay(loss, question=self.question, text=self.text, safe=self.bits.safe, units=self.units)


def check_ledger(ledger: object, unit: PrivacyUnit) -> Ledger:
    """Return a ledger, refused unless it was opened for a unit under replace.

    The losses that are charged to it hold for no other unit.

    Raises: InvalidParameterError.
    """
    if not isinstance(ledger, Ledger):
        raise _not_a_ledger(ledger)
    if (ledger.relation, ledger.unit) != (Replace, unit):
        raise InvalidParameterError(
            f"this ledger protects {ledger.unit} under {ledger.relation}, and the answer protects {unit} under "
            f"{Replace}. Open another ledger, with relation=Replace and unit={unit!r}."
        )
    return ledger


def _check_payer(ledger: object) -> None:
    if isinstance(ledger, Filter) or not callable(getattr(ledger, "pay", None)):  # the `pay` of a filter is another one
        raise _not_a_ledger(ledger)


def _not_a_ledger(ledger: object) -> InvalidParameterError:
    return InvalidParameterError(f"ledger must be a Ledger, as Ledger.open gives it, got {shown(ledger)}")
