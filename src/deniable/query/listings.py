"""Tables about a database: its columns, its history and exact counts.

The counts are for the owner.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import partial

from deniable.ledger import Ledger
from deniable.ledger.entry import Record
from deniable.query.catalog import DeclaredTable
from deniable.query.engines.base import Engine
from deniable.release.display import price
from deniable.release.listing import LazyRows, Listing


def list_columns(tables: Mapping[str, DeclaredTable]) -> Listing:
    """Return the columns of tables with what is declared about them.

    Names of several tables stand before those of their columns.
    """
    rows = []
    for table in tables.values():
        prefix = f"{table.name}." if len(tables) > 1 else ""
        rows += [(prefix + name, *said) for name, *said in table.described()]
    return Listing(("column", "type", "bounds", "keys", "missing values"), tuple(rows))


def list_history(ledger: Ledger) -> Listing:
    """Return the questions that were charged, oldest first.

    If there are several analysts, each question names its own.
    """
    history = ledger.history()
    heads = ["number", "time (UTC)", "question", "cost", "answer kept"]
    several = bool(history.analysts - {"owner"})  # one person alone needs no column
    if several:
        heads.insert(2, "asked by")
    rows = LazyRows(history.records, partial(_history_row, several=several))
    return Listing(tuple(heads), rows, empty="nothing was asked yet")


def list_facts(table: DeclaredTable, columns: Listing, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Return what a database protects, how, and what is left, as pairs of words."""
    yield "protects", table.protects
    bounding = table.bounding(grouped=True)
    if bounding is not None:
        yield "bounding", bounding
    yield "columns", ", ".join(row["column"].removesuffix(" (unit)") for row in columns)
    yield "budget", str(ledger.budget)
    yield "left", str(ledger.left())
    yield "ledger", ledger.location if ledger.is_lasting else "in memory: ends with this process"


def print_findings(engine: Engine, tables: Mapping[str, DeclaredTable]) -> None:
    """Print exact counts of irregular rows; see `engines.doctor`."""
    from deniable.query.engines.doctor import ALL_WELL, WARNING, Doctor

    doctor = Doctor(engine)
    findings = [finding for table in tables.values() for finding in doctor.examine(table)]
    reported = [finding for finding in findings if finding.odd or finding.normal is None]
    rows = [(each.subject, each.what, "-" if each.count is None else f"{each.count:,}") for each in reported]
    sys.stdout.write(f"{WARNING}\n{Listing(('about', 'what', 'count'), tuple(rows))}\n")
    if not any(each.odd for each in reported):
        sys.stdout.write(f"{ALL_WELL}\n")


def _history_row(record: Record, *, several: bool) -> tuple[str, ...]:
    kept = "yes" if record.answered else "no"
    return (
        str(record.number),
        f"{record.time:%Y-%m-%d %H:%M}",
        *((record.analyst,) if several else ()),
        " ".join(record.text.split()),  # in one line, without the blanks that stand for OPTIONS
        price(record.loss),
        kept if record.safe else "test noise",
    )
