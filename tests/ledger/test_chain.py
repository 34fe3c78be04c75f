"""A second route to the chain: these tests read the file with sqlite3, hashlib and json alone."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import InvalidParameterError, LedgerError, LedgerTamperedError, UnknownLossError
from deniable.ledger import Ledger, chain
from deniable.privacy import PrivacyLoss, PureLoss
from deniable.privacy.charge import Charge
from tests.ledger.conftest import entry, key, open_ledger


def records(path: Path) -> list[tuple[int, str, dict[str, Any], str]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT number, body, hash FROM records ORDER BY number").fetchall()
    return [(number, text, json.loads(text), hash_) for number, text, hash_ in rows]


def forge(path: Path, edit: Callable[..., None], number: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change one record and make every hash and the head right again, as a forger who knows the format would."""
    statements, previous = [], None
    for at, _, body, hash_ in records(path):
        if at == number:
            change(body)
        if previous is not None:
            body["previous"] = previous
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        previous = hash_ if at < number else hashlib.sha256(text.encode()).hexdigest()
        quoted = text.replace("'", "''")
        statements.append(f"UPDATE records SET body = '{quoted}', hash = '{previous}' WHERE number = {at}")
    edit(*statements, f"UPDATE head SET hash = '{previous}'")


def test_each_record_is_hashed_and_names_the_hash_before_it(path: Path, ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    ledger.secret("rows")
    ledger.reserve(entry(2))
    before = "0" * 64
    for place, (number, text, body, hash_) in enumerate(records(path)):
        assert number == body["number"] == place
        assert body["previous"] == before
        assert hashlib.sha256(text.encode()).hexdigest() == hash_
        before = hash_
    assert ledger.head == before


def test_records_hold_the_loss_and_the_running_total(path: Path, ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1, "0.25")), "1")
    ledger.reserve(entry(2, "0.5"))
    bodies = [body for _, _, body, _ in records(path)]
    assert [body["kind"] for body in bodies] == ["opening", "entry", "answer", "entry"]
    assert bodies[3]["loss"] == PureLoss("0.5").to_data()
    assert "0.25" not in json.dumps(bodies[0])
    totals = [chain.Charge.from_data(body["total"]).epsilon for body in bodies]
    assert totals == [0, Fraction(1, 4), Fraction(1, 4), Fraction(3, 4)]


def test_an_answer_does_not_tell_how_long_the_engine_ran(path: Path, ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    assert set(records(path)[2][2]) == {"number", "kind", "previous", "total", "entry", "answer"}


def test_verify_adds_up_the_totals_again(path: Path, ledger: Ledger, edit: Callable[..., None]) -> None:
    for number in range(4):
        ledger.reserve(entry(number))
    less = PureLoss("0.1").charge().to_data()
    forge(path, edit, 3, lambda body: body.update(total=less))
    with pytest.raises(LedgerTamperedError, match=r"Record 3 .*running total"):
        open_ledger(path).verify()


def test_totals_of_unlike_fractions_stay_short_and_cover_the_sum(path: Path) -> None:
    ledger, exact = open_ledger(path, budget=100), Fraction(0)
    for number in range(60):
        cost = Fraction(1, 10**9 + 7 + 2 * number)
        ledger.reserve(entry(number, cost))
        exact += cost
    assert exact.denominator > 2**1500
    spent = ledger.spent().epsilon
    assert spent is not None
    assert 0 < spent - exact < Fraction(60, 2**256)
    assert max(len(text) for _, text, _, _ in records(path)) < 3000
    ledger.verify()
    for value in (Fraction(1, 3), Fraction(1, 2**511), Fraction(7, 10**150)):
        assert chain.shortened(PureLoss(value).charge()).epsilon == value


def test_a_total_that_an_earlier_version_did_not_shorten_verifies(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(path)
    with monkeypatch.context() as before:
        before.setattr(chain, "shortened", lambda total: total)
        for number in range(20):
            ledger.reserve(entry(number, Fraction(1, 10**9 + 7 + 2 * number)))
        long = ledger.spent()
    ledger.verify()
    ledger.reserve(entry(20, Fraction(1, 10)))
    ledger.verify()
    assert ledger.spent() == chain.shortened(long + PureLoss("0.1").charge()) != long + PureLoss("0.1").charge()


def test_verify_computes_each_charge_again_from_its_loss(path: Path, ledger: Ledger, edit: Callable[..., None]) -> None:
    ledger.reserve(entry(1, "0.5"))
    less = PureLoss("0.4").charge().to_data()
    forge(path, edit, 1, lambda body: body.update(charge=less, total=less))
    with pytest.raises(LedgerTamperedError, match=r"Record 1 .*charges less"):
        open_ledger(path).verify()


def test_a_record_with_a_hash_of_its_own_does_not_fit_the_next(
    path: Path, ledger: Ledger, edit: Callable[..., None]
) -> None:
    ledger.reserve(entry(1))
    ledger.reserve(entry(2))
    text = records(path)[1][1].replace("SELECT 1", "SELECT 9")
    hash_ = hashlib.sha256(text.encode()).hexdigest()
    edit(f"UPDATE records SET body = '{text}', hash = '{hash_}' WHERE number = 1")
    with pytest.raises(LedgerTamperedError, match=r"Record 2 .*does not follow the record before it"):
        ledger.verify()


def test_a_charge_above_the_cost_of_its_loss_verifies(path: Path, ledger: Ledger, edit: Callable[..., None]) -> None:
    ledger.reserve(entry(1, "0.5"))
    more = PureLoss("0.6").charge().to_data()
    forge(path, edit, 1, lambda body: body.update(charge=more, total=more))
    again = open_ledger(path)
    again.verify()
    assert again.spent().epsilon == Fraction("0.6")


def test_verify_holds_the_total_against_the_budget(path: Path, ledger: Ledger, edit: Callable[..., None]) -> None:
    ledger.reserve(entry(1, "0.5"))
    loss = PureLoss(2)
    charge = loss.charge().to_data()
    forge(path, edit, 1, lambda body: body.update(loss=loss.to_data(), charge=charge, total=charge))
    with pytest.raises(LedgerTamperedError, match="above the budget"):
        open_ledger(path).verify()


@pytest.mark.parametrize("field", ["loss", "charge", "total"])
def test_a_record_that_cannot_be_read_is_named(
    path: Path, ledger: Ledger, edit: Callable[..., None], field: str
) -> None:
    ledger.reserve(entry(1))
    ledger.reserve(entry(2))
    forge(path, edit, 1, lambda body: body.update({field: {"a": 1}}))
    with pytest.raises(LedgerTamperedError, match="Record 1 "):
        ledger.verify()


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert chain.canonical({"b": 1, "a": [True, None]}) == chain.canonical({"a": (True, None), "b": 1})
    assert chain.canonical({"a": "é"}) == '{"a":"\\u00e9"}'


@pytest.mark.parametrize("value", [float("inf"), float("nan"), {1, 2}, b"x", Fraction(1, 2)])
def test_canonical_json_refuses_what_json_cannot_hold(value: object) -> None:
    with pytest.raises(InvalidParameterError):
        chain.canonical({"a": value})


@pytest.mark.parametrize("name", [each.name for each in fields(Charge)])
def test_verify_compares_every_part_of_a_total(
    path: Path, ledger: Ledger, edit: Callable[..., None], name: str
) -> None:
    ledger.reserve(entry(1))
    total = vars(PureLoss("0.1").charge())
    forged = Charge(**{**total, name: Fraction(1, 1000)})  # type: ignore[arg-type]
    forge(path, edit, 1, lambda body: body.update(total=forged.to_data()))
    with pytest.raises(LedgerTamperedError, match="running total"):
        open_ledger(path).verify()


@pytest.mark.parametrize("column", ["number", "kind", "question", "entry"])
def test_every_column_is_compared_with_the_text(
    path: Path, ledger: Ledger, edit: Callable[..., None], column: str
) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    ledger.store(ledger.reserve(entry(2)), "2")
    open_ = ledger.reserve(entry(3))
    other = {"number": "17", "kind": "'key'", "question": f"'{key(9)}'", "entry": str(open_)}[column]
    edit(f"UPDATE records SET {column} = {other} WHERE number = 4")
    with pytest.raises(LedgerTamperedError):
        open_ledger(path).verify()


def test_an_answer_needs_an_open_entry(path: Path, ledger: Ledger, edit: Callable[..., None]) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    forge(path, edit, 2, lambda body: body.update(entry=0))
    edit("UPDATE records SET entry = 0 WHERE number = 2")
    with pytest.raises(LedgerTamperedError, match="answers no open entry"):
        open_ledger(path).verify()


def test_a_loss_of_a_class_that_was_not_imported_is_named(path: Path, edit: Callable[..., None]) -> None:
    """What a program sees of a ledger that another one wrote, with a statement of its own."""
    open_ledger(path).reserve(entry(1))
    forge(path, edit, 1, lambda body: body.update(loss={"loss": "published", "share": "1/1000"}))
    ledger = open_ledger(path)
    for read in (ledger.verify, ledger.entries):
        with pytest.raises(LedgerError, match=r"^Record 1 .*no loss of kind 'published'.*Import the module") as caught:
            read()
        assert not isinstance(caught.value, LedgerTamperedError)
    with pytest.raises(UnknownLossError, match="no loss of kind 'published'"):
        PrivacyLoss.from_data({"loss": "published"})
    ledger.reserve(entry(2))  # the stored total has its cost, and payment needs no more
