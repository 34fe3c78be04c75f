"""Source of a ledger: its path and its columns, and nothing that its rows hold."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FACTS = {"path": "file", "table": "table", "system": "server with the identifier", "role": "role"}  # and their nouns


@dataclass(frozen=True, kw_only=True)
class Source:
    """Source of a ledger: a file, a table in it, or a frame, with its column types.

    A frame has only the name of the data set.

    Args:
        columns: the name of each column and of its type.
        path: where the file is; None for a frame, and for several tables.
        table: the table inside the file, where it holds several.
        tables: by their names, what is noted of each of several tables, or of one on a server.
    """

    columns: Mapping[str, str]
    path: str | None = None
    table: str | None = None
    tables: Mapping[str, "SourceTable"] = field(default_factory=dict)

    def to_data(self, folder: Path | None) -> dict[str, Any]:
        """Return plain data for JSON.

        A path is relative to the ledger's folder, so that both may move together.
        """
        data: dict[str, Any] = {
            "path": None if self.path is None else _seen_from(folder, self.path),
            "table": self.table,
            "columns": dict(self.columns),
        }
        if self.tables:
            data["tables"] = {name: part.to_data(folder) for name, part in self.tables.items()}
        return data


@dataclass(frozen=True, kw_only=True)
class SourceTable:
    """One table of a source.

    Args:
        path: of its file or server; None for a frame.
        table: its name there.
        system: the identifier of the server that has it, where that says which it is.
        role: whose its rows are, in words; two roles are never one data set.
    """

    role: str
    path: str | None = None
    table: str | None = None
    system: str | None = None

    def to_data(self, folder: Path | None) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = {
            "path": None if self.path is None else _seen_from(folder, self.path),
            "table": self.table,
            "role": self.role,
        }
        return data if self.system is None else {**data, "system": self.system}


def is_same(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether nothing differs of what was noted.

    Earlier versions noted no tables of their own, or no systems.
    """
    if {**asked, "tables": None} != {**kept, "tables": None}:
        return False
    before = kept.get("tables")
    now = asked.get("tables") or {}
    return before is None or (
        before.keys() == now.keys() and all({**now[name], **before[name]} == now[name] for name in before)
    )


def difference(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """Return in words how two sources differ; None if they do not."""
    for name, one, other in (("", kept, asked), *_pairs(kept, asked)):
        of = f"the table {name!r} in " if name else ""
        for fact, noun in FACTS.items():
            if one.get(fact) != other.get(fact) and (fact != "system" or fact in one):
                return f"{of}{_named(noun, one.get(fact))}, not for {_named(noun, other.get(fact))}"
    if kept["columns"] != asked["columns"]:
        return f"columns {_changes(kept['columns'], asked['columns'])}"
    return None


def is_other_table(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether sources name different tables of a file, or one in different roles.

    These are never one data set.
    """
    return any(
        one.get("role") != other.get("role")
        or (None not in (one["table"], other["table"]) and one["table"] != other["table"])
        for _, one, other in (("", kept, asked), *_pairs(kept, asked))
    )


def _pairs(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return what was and what is recorded of each table of both."""
    before, now = kept.get("tables") or {}, asked.get("tables") or {}
    return [(name, before[name], now[name]) for name in before if name in now]


def _seen_from(folder: Path | None, path: str) -> str:
    if "://" in path:  # a server
        return path
    try:
        seen = os.path.relpath(path, folder) if folder is not None else path
    except ValueError:  # another drive
        seen = path
    return Path(seen).as_posix()


def _named(noun: str, name: str | None) -> str:
    if noun == "role":
        return f"rows that are {name}"
    if name is not None:
        return f"the {'server' if '://' in name else noun} {name!r}"
    if noun == FACTS["system"]:
        return "a server that does not say which it is"
    return "a frame" if noun == "file" else "a file without tables"


def _changes(kept: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Yield which columns are gone, new or of another type."""
    said = [f"with {name!r}, which is gone" for name in kept if name not in asked]
    said += [f"without {name!r}" for name in asked if name not in kept]
    said += [
        f"with {name!r} as {kept[name]}, not {asked[name]}"
        for name in kept
        if name in asked and kept[name] != asked[name]
    ]
    return ", ".join(said[:3]) + (", ..." if len(said) > 3 else "")
