"""`deniable budget`: what was spent, on what, and what is left."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.opening import open_ledger, read
from deniable.app.options import AsJson, PolicyFile
from deniable.app.terminal import say, show_table
from deniable.errors import LedgerError
from deniable.numbers.rationals import quotient_text

if TYPE_CHECKING:
    from deniable.ledger import Ledger
    from deniable.ledger.entry import Record


def budget(
    policy: PolicyFile,
    verify: Annotated[bool, typer.Option("--verify", help="Check every record of the ledger.")] = False,
    expected_head: Annotated[
        str | None, typer.Option(metavar="HASH", help="A head noted earlier, to compare with; implies --verify.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what was asked and charged, and what is left; never opens the data."""
    declared = read(policy)
    checked = verify or expected_head is not None
    ledger = open_ledger(declared)
    if checked and not ledger.is_lasting:
        location = declared.ledger if isinstance(declared.ledger, Path) else "the URL of the policy"
        raise LedgerError(
            f"There is no ledger at {location}. If nothing was ever asked, there is nothing to verify; "
            "otherwise it was moved or deleted: restore it before anything else is asked."
        )
    if checked:
        ledger.verify(expected_head=expected_head)
    if as_json:
        typer.echo(json.dumps(_data(ledger, checked), indent=2))
    else:
        _show(ledger, ledger.is_lasting, checked)


def _show(ledger: "Ledger", exists: bool, checked: bool) -> None:
    history = ledger.history()
    several = bool(history.analysts - {"owner"})  # one person alone needs no column
    rows = [
        (
            str(record.number),
            f"{record.time:%Y-%m-%d %H:%M}",
            *((record.analyst,) if several else ()),
            " ".join(record.text.split()),
            _cost(record),
            _state(record),
        )
        for record in history.records
    ]
    if rows:
        heads = ("number", "time (UTC)", *(("asked by",) if several else ()), "question", "cost", "answered")
        show_table(heads, rows, right=frozenset({"number"}))
    else:
        say("Nothing was asked yet.")
    say(f"budget {ledger.budget}; left {ledger.left()}")
    if exists:
        say(f"head {ledger.head}")
    if checked:
        say("verified: schema, hashes, order and totals of every record are right")


def _data(ledger: "Ledger", checked: bool) -> dict[str, object]:
    left = ledger.left()
    return {
        "dataset": ledger.dataset,
        "budget": ledger.budget.to_data(),
        "spent": ledger.spent().to_data(),
        "left": {name: quotient_text(value) for name, value in vars(left).items() if value is not None},
        "head": ledger.head,
        "verified": checked,
        "entries": [
            {
                "number": record.number,
                "analyst": record.analyst,
                "time": record.time.isoformat(),
                "question": record.text,
                "cost": _cost(record),
                "charge": record.charge.to_data(),
                "answered": record.answered,
                "safe": record.safe,
            }
            for record in ledger.entries()
        ],
    }


def _cost(record: "Record") -> str:
    from deniable.release.display import price

    return price(record.loss)


def _state(record: "Record") -> str:
    if not record.safe:
        return "test noise"
    return "yes" if record.answered else "no (stopped or running)"
