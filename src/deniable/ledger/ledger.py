"""Ledger that charges every question, durably, before any private row is read."""

import hashlib
import secrets
import time
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from deniable.errors import LedgerError, UnprovedError
from deniable.ledger import chain, process
from deniable.ledger.entry import Entry, Record, check_analyst
from deniable.ledger.history import History
from deniable.ledger.opening import opening_of, storage_at
from deniable.ledger.process import Process
from deniable.ledger.source import Source, difference, is_other_table, is_same
from deniable.ledger.storage import Connection, Storage
from deniable.privacy.budget import Budget, Filter
from deniable.privacy.budget.rule import Remaining
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.relation import PrivacyUnit, Relation

_CURE = "repeat an earlier question (free), or open a new ledger: its answers add to what was already revealed"
_LOOK_AGAIN = 0.02, 0.5  # seconds between looks for an answer that is on its way: at first, and at most


class Ledger:
    """Budget for one data set, and the append-only list of what was spent from it.

    Guarantee: the noisy answers that are computed after their `reserve` satisfy, taken together, the privacy of the
    budget, also when each question, its mechanism and its cost are chosen after looking at the answers before:
    `reserve` is a `Filter` whose sums are in the file, applied in one transaction, so that two processes cannot both
    pass on what is left. Stored answers are post-processing. Nothing is refunded.

    Attributes:
        budget, relation, unit, dataset: what the ledger was opened for.
        analyst: who asks, where an entry does not say.

    >>> from deniable.privacy import AddRemove, Budget, PrivacyUnit, PureLoss
    >>> ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="visits")
    >>> number = ledger.reserve(Entry(question="0" * 64, text="SELECT COUNT(*)", loss=PureLoss("0.25")))
    >>> print(ledger.spent().epsilon, ledger.left())
    0.25 epsilon=0.75
    """

    budget: Budget
    relation: Relation
    unit: PrivacyUnit
    dataset: str

    analyst: str = "owner"

    def __init__(self, storage: Storage, *, budget: Budget, relation: Relation, unit: PrivacyUnit, dataset: str):
        self._storage = storage
        self.budget = budget
        self.relation = relation
        self.unit = unit
        self.dataset = dataset
        self._history = History()

    @classmethod
    def open(
        cls,
        path: Path | str | None,
        *,
        budget: Budget | None,
        relation: Relation,
        unit: PrivacyUnit,
        dataset: str,
        source: Source | None = None,
        moved: bool = False,
    ) -> "Ledger":
        """Return the ledger at a path, created with the budget if there is none.

        Args:
            path: a file on a local disk, or None for a ledger that lives as long as this process.
            budget: what may be spent in all; None to open an existing ledger.
            relation, unit, dataset: what the ledger protects; they must agree with an existing ledger exactly.
            source: where the rows are and which columns they have; it is noted once, and must be the same ever after.
                None: somebody who reads the ledger alone.
            moved: the same data lie at another place now, or have other columns: note that, and go on.

        Raises: LedgerError if it cannot be opened or was opened for something else; LedgerTamperedError if its end
            does not match its head. Both leave the file as it was.
        """
        storage = storage_at(path)
        if not storage.exists():
            if budget is None:
                why = f"There is no ledger at {storage.location}" if storage.lasting else "A ledger in memory is new"
                raise LedgerError(f"{why}. Give a budget to open one, for example Budget(epsilon=1).")
            opening = opening_of(budget, relation, unit, dataset)
            storage.create(lambda opened: chain.append(opened, "opening", opening, total=Charge.nothing()))
            if not storage.lasting:
                return cls(storage, budget=budget, relation=relation, unit=unit, dataset=dataset)
            # if another process was faster, its ledger is checked like any other
        ledger = cls._existing(storage, budget=budget, relation=relation, unit=unit, dataset=dataset)
        if source is not None:
            ledger._bind(source.to_data(storage.folder), moved=moved)
        return ledger

    @classmethod
    def exists(cls, path: Path | str) -> bool:
        """Whether a path, or a schema of a server, holds anything that `open` would read."""
        return storage_at(path).exists()

    @classmethod
    def _existing(
        cls, storage: Storage, *, budget: Budget | None, relation: Relation, unit: PrivacyUnit, dataset: str
    ) -> "Ledger":
        storage.upgrade()
        with storage.transaction(write=False) as connection:
            storage.check(connection)
            chain.last(connection)
            opening = chain.opening(connection)
        kept = Budget.from_data(opening.body["budget"])
        asked = opening_of(budget or kept, relation, unit, dataset)
        for name in ("dataset", "unit", "relation", "budget"):
            if opening.body[name] != asked[name]:
                raise LedgerError(
                    f"The ledger {storage.location} was opened for {name} {_words(opening.body[name])}, not for "
                    f"{_words(asked[name])}. Use the {name} of the ledger, or give another path; what a second ledger "
                    "reveals about the same data adds to the first."
                )
        return cls(storage, budget=kept, relation=relation, unit=unit, dataset=dataset)

    def _bind(self, asked: dict[str, Any], *, moved: bool) -> None:
        """Record the source where it is new or moved; otherwise check it.

        Raises: LedgerError if it is about something else.
        """
        with self._storage.transaction(write=False) as connection:
            known = chain.source(connection)
        kept = None if known is None else known.body["source"]
        if kept == asked:
            return
        if kept is not None and not is_same(kept, asked) and (not moved or is_other_table(kept, asked)):
            cure = (
                ""
                if is_other_table(kept, asked)
                else " If it is the same data at another place, or with other columns, say so once: moved=True in "
                "Python, --moved on the command line."
            )
            raise LedgerError(
                f"The ledger {self._storage.location} was opened for {difference(kept, asked)}.{cure} Other data need "
                "another ledger: give another path."
            )
        with self._storage.transaction(write=True) as connection:
            latest = chain.source(connection)
            if (None if latest is None else latest.number) == (None if known is None else known.number):
                chain.append(connection, "source", {"source": asked}, total=chain.last(connection).total)
                return
        self._bind(asked, moved=moved)  # another process was faster

    @property
    def location(self) -> str:
        """Path or address of the ledger."""
        return self._storage.location

    @property
    def is_lasting(self) -> bool:
        """Whether the ledger outlives this process."""
        return self._storage.lasting

    def close(self) -> None:
        """Release the file or the server until the next use.

        While a file is in use its newest records are in the log beside it. After this they are in the file itself,
        unless another process uses it too.
        """
        self._storage.close()

    def answer(self, entry: Entry, compute: Callable[[], str], *, fresh: bool = False) -> tuple[str, bool]:
        """Return the stored answer to a question, or a new one, and whether it was stored.

        A new answer is charged, computed and stored.

        Of several threads or processes that ask the same at once, one pays; the others wait for its answer. If it
        fails or is killed, the next one pays again: nothing is refunded.

        Args:
            compute: reads the rows and gives the answer as JSON text; called after the payment, outside of any lock.
            fresh: pay for a new answer, whatever is stored.

        Raises: as `reserve`, and what `compute` raises.
        """
        charge = self._checked(entry)
        pause, longest = _LOOK_AGAIN
        while (claimed := self._claim(entry, charge, fresh=fresh)) is None:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        if isinstance(claimed, str):
            return claimed, True
        try:
            answer = compute()
            self.store(claimed, answer)
        finally:
            self._storage.end(claimed)
        return answer, False

    def asked_by(self, analyst: str) -> "Ledger":
        """Return this ledger for another analyst, who sees no stored answers of others."""
        check_analyst(analyst)
        other = copy(self)
        other.analyst = analyst
        return other

    def _claim(self, entry: Entry, charge: Charge, *, fresh: bool) -> int | str | None:
        """Return the number of a new reservation, or the answer that is stored.

        None if one is on its way.

        It looks before it locks: most questions that were asked before have their answer.
        """
        for write in (False, True):
            with self._storage.transaction(write=write) as connection:
                stored, awaited = (None, False) if fresh else self._known(connection, entry)
                if stored is not None or awaited:
                    return stored
                if write:
                    number = self._append(connection, entry, charge, asked_by=process.this_process())
                    self._storage.begin(connection, number)  # before anybody can see the reservation
                    return number
        return None

    def _known(self, connection: Connection, entry: Entry) -> tuple[str | None, bool]:
        """Return the stored answer to a question, and whether one is on its way."""
        stored = chain.first_answer(connection, entry.question, entry.analyst or self.analyst, entry.safe)
        awaited = stored is None and any(
            chain.is_of(link, entry.analyst or self.analyst, entry.safe)
            and self._storage.in_progress(connection, link.body.get("asker"), link.number)
            for link in chain.unanswered(connection, entry.question)
        )
        return stored, awaited

    def recall(self, question: str, *, analyst: str | None = None, safe: bool = True) -> str | None:
        """Return this analyst's stored answer to a question, free; None if there is none.

        Of several answers to one question the first is the one that is recalled, always.
        """
        with self._storage.transaction(write=False) as connection:
            return chain.first_answer(connection, question, analyst or self.analyst, safe)

    def payment(
        self, question: str, answer: str, *, analyst: str | None = None, safe: bool = True, last: bool = False
    ) -> tuple[Record, str]:
        """Return the first entry, or the `last`, that was charged for an answer.

        With it comes the hash of the record that holds the answer.

        `verify(expected_head=...)` finds that hash as long as the ledger holds this answer.
        Raises: LedgerError if the answer is not here.
        """
        with self._storage.transaction(write=False) as connection:
            pairs = list(chain.answers(connection, question))
            for asked, kept in reversed(pairs) if last else pairs:
                if chain.is_of(asked, analyst or self.analyst, safe) and kept.body["answer"] == answer:
                    return Record.read(asked.number, asked.body, answered=True), kept.hash
        raise LedgerError("The ledger does not hold this answer.")

    def reserve(self, entry: Entry, *, check: Callable[[list[Record]], None] | None = None) -> int:
        """Charge a question, durably; return the number under which to store its answer.

        Every reservation pays, also for a question that another process is answering at this moment: two draws of
        noise cost two times. `answer` looks first, and waits.

        Args:
            check: is shown all reservations so far, while nobody else can pay, and raises what refuses this one.

        Raises: BudgetExceededError if the filter does not admit the total; UnprovedError if the loss is not proved for
            the relation of this ledger or has no charge in its currency. Both spend nothing.
        """
        charge = self._checked(entry)
        with self._storage.transaction(write=True) as connection:
            if check is not None:
                check([*self._history.continued(connection).records])
            return self._append(connection, entry, charge)

    def check_affordable(self, loss: PrivacyLoss) -> None:
        """Refuse a loss that the budget does not admit now, before any part of it is paid.

        Raises: BudgetExceededError.
        """
        with self._storage.transaction(write=False) as connection:
            self._account(connection).charge_amount(self.budget.price(loss), remedy=_CURE)

    def _checked(self, entry: Entry) -> Charge:
        """Return the charge of a question, refused if it is proved for another relation."""
        if self.relation not in entry.loss.relations:
            proved = " and ".join(sorted(str(relation) for relation in entry.loss.relations)) or "no relation"
            raise UnprovedError(
                f"{entry.text} is proved for {proved}; this ledger protects {self.relation}. "
                "Ask for an answer that is proved for it, or open a ledger for the other relation."
            )
        return self.budget.price(entry.loss)

    def _append(self, connection: Connection, entry: Entry, charge: Charge, *, asked_by: Process | None = None) -> int:
        """Add an entry to the chain if the budget admits it.

        The caller holds a write transaction.
        """
        body = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "question": entry.question,
            "text": entry.text,
            "loss": entry.loss.to_data(),
            "charge": charge.to_data(),
            "mechanisms": entry.mechanisms,
            "analyst": entry.analyst or self.analyst,
            "safe": entry.safe,
            "deniable": _version(),
            "token": secrets.token_hex(8),  # no two records are alike, so one is found again by its hash
        }
        if asked_by is not None:
            body["asker"] = asked_by
        account = self._account(connection)
        account.charge_amount(charge, remedy=_CURE)
        body["rule"] = account.rule.name
        return chain.append(connection, "entry", body, total=account.spent)

    def _account(self, connection: Connection) -> Filter:
        """Return the filter of everything that was reserved so far."""
        rule = chain.first_rule(connection, self.budget)
        total = chain.last(connection).total
        return Filter.resumed(self.budget, relation=self.relation, rule=rule, total=total)

    def pay(self, loss: PrivacyLoss, *, question: str, text: str, safe: bool, units: bool = False) -> Remaining:
        """Charge a loss for an answer that is not stored, and return what is left.

        Args:
            units: whether the loss is that of one value of the unit's column, with all its rows; else that of one row.

        Raises: UnprovedError where the loss is not that of the ledger's unit; else as `reserve`.
        """
        self.check_unit(text, units)
        self.reserve(Entry(question=question, text=text, loss=loss, safe=safe))
        return self.left()

    def check_unit(self, text: str, units: bool) -> None:
        """Refuse the loss of one row or one id where a unit may have several.

        Raises: UnprovedError.
        """
        column, noun, ids = self.unit.column, self.unit.noun, self.unit.ids
        if column is not None and not units:
            raise UnprovedError(
                f"{text} protects one row, and this ledger {self.unit}, who may have many. Give units= (the column "
                f"{column!r}, one entry a row) with rows=, how many rows of one {noun} count; or ask the database, as "
                "in db.median(...), which does."
            )
        if ids > 1:
            raise UnprovedError(
                f"{text} protects one value of {column!r}, and one {noun} may own {ids}. Ask in SQL, which counts that "
                f"in, or name a column whose values stand for one {noun} each."
            )

    def store(self, reservation: int, answer: str) -> None:
        """Keep the answer of a reservation, as JSON text. An entry has at most one answer.

        The record holds no time: how long the engine ran may depend on private rows.
        """
        with self._storage.transaction(write=True) as connection:
            entry = chain.at(connection, reservation)
            if entry is None or entry.kind != "entry":
                raise LedgerError(f"{reservation} is not a reservation of this ledger. Reserve first.")
            if chain.answered(connection, reservation):
                raise LedgerError(f"Reservation {reservation} has its answer already. Reserve again for another one.")
            total = chain.last(connection).total
            chain.append(connection, "answer", {"entry": reservation, "answer": answer}, total=total)

    def spent(self) -> Charge:
        """Return the total cost of all reservations."""
        with self._storage.transaction(write=False) as connection:
            return chain.last(connection).total

    def left(self) -> Remaining:
        """Return what further questions may cost."""
        with self._storage.transaction(write=False) as connection:
            return self._account(connection).left

    def history(self) -> History:
        """Return every reservation and who made it.

        Those that were read before are not read again: records never change.
        """
        with self._storage.transaction(write=False) as connection:
            self._history = self._history.continued(connection)
        return self._history

    def entries(self) -> list[Record]:
        """Return every reservation, oldest first."""
        return [*self.history().records]

    @property
    def head(self) -> str:
        """Hash of the last record.

        Stored elsewhere, it lets `verify` detect a ledger that was replaced or cut.
        """
        with self._storage.transaction(write=False) as connection:
            return chain.last(connection).hash

    def secret(self, name: str) -> bytes:
        """Return a key of 32 bytes, made once and stored with the ledger.

        One of them picks the rows of a unit that count.

        It is a key and no noise: no guarantee rests on its law, so it comes straight from the operating system.
        """
        with self._storage.transaction(write=True) as connection:
            row = connection.execute("SELECT key FROM keys WHERE name = ?", (name,)).fetchone()
            if row is not None:
                return bytes(row[0])
            key = secrets.token_bytes(32)
            connection.execute("INSERT INTO keys VALUES (?, ?)", (name, key))
            body = {"name": name, "fingerprint": hashlib.sha256(key).hexdigest()}
            chain.append(connection, "key", body, total=chain.last(connection).total)
            return key

    def verify(self, *, expected_head: str | None = None) -> None:
        """Check every record: schema, hashes, order and totals.

        Totals are computed again from each loss.

        Args:
            expected_head: a `head` noted earlier, which the chain must still contain.

        Raises: LedgerTamperedError that names the first record that is wrong; LedgerError for a record whose loss is
            of a class that this program has not imported.
        """
        with self._storage.transaction(write=False) as connection:
            self._storage.check(connection, deeply=True)
            chain.verify(connection, budget=self.budget, expected_head=expected_head)

    def __repr__(self) -> str:
        return f"Ledger({self._storage.location!r}, dataset={self.dataset!r}, budget={self.budget})"


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("deniable")


def _words(value: object) -> str:
    return value if isinstance(value, str) else chain.canonical(value)
