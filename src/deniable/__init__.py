"""Differential privacy with exact noise, certified accounting and private SQL.

>>> import deniable as dn
>>> db = dn.connect(dn.datasets.survey(), name="survey", unit="respondent", budget=dn.Budget(epsilon=1))
>>> answer = db.sql("SELECT COUNT(*) AS n FROM survey WHERE leaving", epsilon=0.1)
>>> print(db.budget)
budget epsilon=1; left epsilon=0.9
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable import adaptive as adaptive
    from deniable import attacks as attacks
    from deniable import audit as audit
    from deniable import datasets as datasets
    from deniable import games as games
    from deniable import learning as learning
    from deniable import limits as limits
    from deniable import local as local
    from deniable import mechanisms as mechanisms
    from deniable import privacy as privacy
    from deniable import statistics as statistics
    from deniable import stream as stream
    from deniable import variants as variants
    from deniable.files.declaration import Csv as Csv
    from deniable.files.declaration import CsvColumn as CsvColumn
    from deniable.files.guess import guess_csv as guess_csv
    from deniable.files.write import import_csv as import_csv
    from deniable.ledger import Ledger as Ledger
    from deniable.privacy import AddRemove as AddRemove
    from deniable.privacy import Budget as Budget
    from deniable.privacy import PrivacyUnit as PrivacyUnit
    from deniable.privacy import Replace as Replace
    from deniable.query.catalog import each_row as each_row
    from deniable.query.columns import col as col
    from deniable.query.columns import len as len
    from deniable.query.columns import lit as lit
    from deniable.query.columns import when as when
    from deniable.query.connect import connect as connect
    from deniable.query.database import Database as Database
    from deniable.query.declarations import Boolean as Boolean
    from deniable.query.declarations import Date as Date
    from deniable.query.declarations import Keys as Keys
    from deniable.query.declarations import Number as Number
    from deniable.query.declarations import Text as Text
    from deniable.query.declarations import Timestamp as Timestamp
    from deniable.release import Release as Release

__version__ = "0.1.0"

# Where each public name lives. Loaded at first use, so that `import deniable` costs nothing.
_HOMES = {
    **dict.fromkeys(("AddRemove", "Budget", "PrivacyUnit", "Replace"), "deniable.privacy"),
    **dict.fromkeys(("Boolean", "Date", "Keys", "Number", "Text", "Timestamp"), "deniable.query.declarations"),
    "each_row": "deniable.query.catalog",
    "connect": "deniable.query.connect",
    "Database": "deniable.query.database",
    **dict.fromkeys(("col", "len", "lit", "when"), "deniable.query.columns"),
    **dict.fromkeys(("Csv", "CsvColumn"), "deniable.files.declaration"),
    "guess_csv": "deniable.files.guess",
    "import_csv": "deniable.files.write",
    "Ledger": "deniable.ledger",
    "Release": "deniable.release",
}
_ROOMS = (
    "adaptive",
    "attacks",
    "audit",
    "datasets",
    "games",
    "learning",
    "limits",
    "local",
    "mechanisms",
    "privacy",
    "statistics",
    "stream",
    "variants",
)
# `len` stands for COUNT in frames: a star import leaves Python's own alone.
__all__ = ["__version__", *_ROOMS, *sorted(_HOMES.keys() - {"len"})]  # noqa: PLE0604 - strings, all of them


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return importlib.import_module(f"deniable.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def load_ipython_extension(ipython: object) -> None:
    """Add `%%dpsql` to a notebook, for %load_ext deniable."""
    importlib.import_module("deniable.app.notebook").register(ipython)


def __dir__() -> list[str]:
    return sorted(__all__)
