"""Chain of records, each with the hash of the one before and the running total.

A record's body is canonical JSON and its hash is SHA-256 of that text. A table of one row, the head, repeats the
number and the hash of the last record, so that a record missing at the end is noticed. Appending and checking the end
take the same time however long the chain is.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from deniable.errors import InvalidParameterError, LedgerError, LedgerTamperedError, UnknownLossError
from deniable.ledger.storage import Connection
from deniable.privacy.budget import Budget, Rule
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss

RECORDS_AT_ONCE = 5_000  # of a long walk, to keep its memory small
START = "0" * 64  # what the opening names as the hash before it

_COLUMNS = "number, kind, question, entry, body, hash"
_Row = tuple[int, str, str | None, int | None, str, str]


@dataclass(frozen=True)
class Link:
    """One record of the chain, read and found to match its hash."""

    number: int
    kind: str
    body: dict[str, Any]
    hash: str

    @property
    def total(self) -> Charge:
        """Cost of all entries up to this record."""
        return _read_charge(self, "total")


def canonical(value: object) -> str:
    """Return the one JSON text of a value."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameterError(f"A ledger holds plain JSON only: {error}.") from error


def digest(text: str) -> str:
    """Return SHA-256 of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def append(connection: Connection, kind: str, body: Mapping[str, object], *, total: Charge) -> int:
    """Add one record after the last and return its number.

    The caller holds a write transaction.
    """
    if kind == "opening":
        number = 0
        previous = START
    else:
        end = last(connection)
        number = end.number + 1
        previous = end.hash
    said = shortened(total).to_data()
    text = canonical({**body, "number": number, "kind": kind, "previous": previous, "total": said})
    row = (number, kind, body.get("question"), body.get("entry"), text, digest(text))
    connection.execute(f"INSERT INTO records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608
    if kind == "opening":
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (number, row[-1]))
    else:
        connection.execute("UPDATE head SET number = ?, hash = ?", (number, row[-1]))
    return number


def shortened(total: Charge) -> Charge:
    """Return the total, or a slightly larger one of fewer digits.

    Sums of unlike fractions would grow at every entry.
    """
    long = {
        name: Fraction(math.ceil(value * 2**256), 2**256)
        for name, value in vars(total).items()
        if value is not None and value.denominator >= 2**512
    }
    return replace(total, **long) if long else total


def last(connection: Connection) -> Link:
    """Return the last record, after a check that the head agrees with it."""
    rows = _rows(connection, "ORDER BY number DESC LIMIT 1")
    head = connection.execute("SELECT number, hash FROM head").fetchall()
    if not rows:
        raise LedgerTamperedError("The ledger has lost all its records. Restore it from a backup.")
    link = _link(rows[0])
    if head != [(link.number, link.hash)]:
        raise _tampered(link.number, "is not the one that the head of the ledger names; records are missing or added")
    return link


def opening(connection: Connection) -> Link:
    """Return the record that says what the ledger is for."""
    link = at(connection, 0)
    if link is None:
        raise _tampered(0, "is missing")
    return link


def at(connection: Connection, number: int) -> Link | None:
    """Return the record with this number, or None."""
    rows = _rows(connection, "WHERE number = ?", number)
    return _link(rows[0]) if rows else None


def first_rule(connection: Connection, budget: Budget) -> Rule | None:
    """Return the rule by which the ledger adds up, from its first entry.

    None before that.
    """
    rows = _rows(connection, "WHERE kind = 'entry' ORDER BY number LIMIT 1")
    return _rule(_link(rows[0]), budget) if rows else None


def answers(connection: Connection, question: str) -> Iterator[tuple[Link, Link]]:
    """Yield each entry with this question and its answer, in the order of the answers."""
    pairs = connection.execute(
        "SELECT entry.number, answer.number FROM records AS entry "
        "JOIN records AS answer ON answer.entry = entry.number WHERE entry.question = ? ORDER BY answer.number",
        (question,),
    ).fetchall()
    for entry, answer in pairs:
        asked, answered = at(connection, entry), at(connection, answer)
        assert asked is not None
        assert answered is not None
        yield asked, answered


def first_answer(connection: Connection, question: str, analyst: str, safe: bool) -> str | None:
    """Return the first answer to a question of this analyst; None if there is none."""
    for asked, answer in answers(connection, question):
        if is_of(asked, analyst, safe):
            return str(answer.body["answer"])
    return None


def is_of(entry: Link, analyst: str, safe: bool) -> bool:
    """Whether an entry is of this analyst, and as safe to publish."""
    return bool(entry.body["analyst"] == analyst and entry.body["safe"] == safe)


def unanswered(connection: Connection, question: str) -> list[Link]:
    """Return entries with this question that have no answer."""
    numbers = connection.execute(
        "SELECT entry.number FROM records AS entry LEFT JOIN records AS answer ON answer.entry = entry.number "
        "WHERE entry.question = ? AND answer.number IS NULL ORDER BY entry.number",
        (question,),
    ).fetchall()
    return [link for (number,) in numbers if (link := at(connection, number)) is not None]


def source(connection: Connection) -> Link | None:
    """Return the last record that names the source; None if the ledger has none."""
    rows = _rows(connection, "WHERE kind = 'source' ORDER BY number DESC LIMIT 1")
    return _link(rows[0]) if rows else None


def answered(connection: Connection, entry: int) -> bool:
    """Whether an entry has an answer."""
    return bool(_rows(connection, "WHERE entry = ?", entry))


def answered_after(connection: Connection, number: int) -> set[int]:
    """Return the entries whose answers stand after a record."""
    answers = "SELECT entry FROM records WHERE kind = 'answer' AND number > ?"
    return {entry for (entry,) in connection.execute(answers, (number,)).fetchall()}


def entries(connection: Connection, *, after: int = 0) -> Iterator[tuple[Link, bool]]:
    """Return every entry after a record, in order, with whether it has an answer."""
    done = answered_after(connection, after)
    for link in _walk(connection, "kind = 'entry' AND", after=after):
        yield link, link.number in done


def verify(connection: Connection, *, budget: Budget, expected_head: str | None) -> None:
    """Check the whole chain: hashes, order, totals, keys, head and budget.

    Totals are computed again from each loss.

    Raises: LedgerTamperedError that names the first record that is wrong; LedgerError for a record whose loss is of a
        class that this program has not imported.
    """
    total = Charge.nothing()
    previous = START
    expected = 0
    written = total.to_data()
    rule: Rule | None = None
    open_entries: set[int] = set()
    fingerprints: dict[str, str] = {}
    seen_head = expected_head is None
    priced = lru_cache(maxsize=4096)(partial(_priced, budget))  # most questions cost what others cost
    for link in _walk(connection):
        if link.number != expected or (link.kind == "opening") != (expected == 0):
            raise _tampered(expected, "is missing")
        if link.body.get("previous") != previous:
            raise _tampered(link.number, "does not follow the record before it")
        exact = total
        if link.kind == "entry":
            exact = total + _charge(link, priced)
            total = shortened(exact)
            written = total.to_data()
            rule = rule or _rule(link, budget)
            open_entries.add(link.number)
        elif link.kind == "answer":
            if link.body["entry"] not in open_entries:
                raise _tampered(link.number, "answers no open entry")
            open_entries.remove(link.body["entry"])
        elif link.kind == "key":
            fingerprints[link.body["name"]] = link.body["fingerprint"]
        if link.body.get("total") != written:
            # an earlier version had other fields, or did not shorten
            total = link.total
            written = link.body["total"]
            if total not in (exact, shortened(exact)):
                raise _tampered(link.number, "does not add up to the running total")
        seen_head = seen_head or link.hash == expected_head
        previous = link.hash
        expected += 1
    last(connection)
    if rule is not None and not rule.admits(total):
        raise _tampered(expected - 1, f"brings the total above the budget {budget}")
    kept = {
        name: hashlib.sha256(key).hexdigest()
        for name, key in connection.execute("SELECT name, key FROM keys").fetchall()
    }
    if kept != fingerprints:
        raise LedgerTamperedError("The ledger's keys were changed by another program. Restore it from a backup.")
    if not seen_head:
        raise LedgerTamperedError(
            f"The ledger does not contain the head {expected_head}: it was replaced, rolled back or cut. "
            "Restore the copy that has it."
        )


def _walk(connection: Connection, kind: str = "", *, after: int = -(2**63)) -> Iterator[Link]:
    """Return all records after a number in order, `RECORDS_AT_ONCE` at a time."""
    some = f"WHERE {kind} number > ? ORDER BY number LIMIT {RECORDS_AT_ONCE}"
    while rows := _rows(connection, some, after):
        yield from map(_link, rows)
        after = rows[-1][0]


def _rows(connection: Connection, clause: str, *parameters: object) -> list[_Row]:
    return connection.execute(f"SELECT {_COLUMNS} FROM records {clause}", parameters).fetchall()  # noqa: S608


def _link(row: _Row) -> Link:
    """Return a row as a record, after a check that text, hash and columns agree."""
    number, kind, question, entry, text, hash_ = row
    if not isinstance(text, str) or digest(text) != hash_:
        raise _tampered(number, "does not match its hash")
    try:
        body = json.loads(text)
        columns = (body["number"], body["kind"], body.get("question"), body.get("entry"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _tampered(number, "cannot be read") from error
    if columns != (number, kind, question, entry):
        raise _tampered(number, "does not match its columns")
    return Link(number=number, kind=kind, body=body, hash=hash_)


def _read_charge(link: Link, field: str) -> Charge:
    try:
        return Charge.from_data(link.body[field])
    except (ValueError, KeyError, TypeError) as error:
        raise _tampered(link.number, "cannot be read") from error


def _charge(link: Link, priced: Callable[[str, str], Charge | None]) -> Charge:
    """Return what an entry adds to the total, which covers the cost of its loss."""
    try:
        charge = priced(canonical(link.body["loss"]), canonical(link.body["charge"]))
    except UnknownLossError as error:
        raise LedgerError(f"Record {link.number} of the ledger cannot be checked: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _tampered(link.number, "cannot be read") from error
    if charge is None:
        raise _tampered(link.number, "charges less than its stated loss costs")
    return charge


def _priced(budget: Budget, loss: str, charge: str) -> Charge | None:
    """Return a charge, from JSON; None if it does not cover what the loss costs."""
    cost = budget.price(PrivacyLoss.from_data(json.loads(loss)))
    if json.loads(charge) == cost.to_data():
        return cost
    paid = Charge.from_data(json.loads(charge))
    return paid if _covers(paid, cost) else None


def _rule(entry: Link, budget: Budget) -> Rule:
    """Return the rule that the first entry fixed.

    Ledgers from before entries named it chose by its charge.
    """
    name = entry.body.get("rule")
    try:
        return budget.rule(_read_charge(entry, "charge"), name=name, reserve=False)
    except InvalidParameterError as error:
        raise LedgerError(f"Record {entry.number} of the ledger adds up by the rule {name!r}: {error}") from error


def _covers(charge: Charge, cost: Charge) -> bool:
    """Whether a charge is at least a cost in every currency; None is infinite.

    Equality is not asked for: a later version may know a tighter charge for the same loss.
    """
    pairs = (
        (charge.epsilon, cost.epsilon),
        (charge.delta, cost.delta),
        (charge.rho, cost.rho),
        (charge.mu_squared, cost.mu_squared),
        (charge.renyi, cost.renyi),
        (charge.failing_epsilon, cost.failing_epsilon),
        (charge.failing_rho, cost.failing_rho),
        (charge.failing_mu_squared, cost.failing_mu_squared),
        (None if charge.failing_epsilon is charge.failing_rho is None else charge.failure, cost.failure),
    )
    return all(paid is None or (due is not None and paid >= due) for paid, due in pairs)


def _tampered(number: int, what: str) -> LedgerTamperedError:
    return LedgerTamperedError(
        f"Record {number} of the ledger {what}. The ledger is damaged or was changed by another program: "
        "restore it from a backup, and answer no question from it until then."
    )
