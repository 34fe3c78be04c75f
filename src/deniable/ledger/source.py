"""What a ledger is about: one source, by its place and its columns, and by nothing that its rows hold."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, a table in it, or a frame, which has only the name of the data set; with the types of its columns.

    Args:
        columns: the name of each column and of its type.
        path: where the file is; None for a frame.
        table: the table inside the file, where it holds several.
    """

    columns: Mapping[str, str]
    path: str | None = None
    table: str | None = None

    def to_data(self, folder: Path | None) -> dict[str, Any]:
        """Plain JSON. A path is written as seen from the ledger's folder, so that both may move together."""
        return {
            "path": None if self.path is None else _seen_from(folder, self.path),
            "table": self.table,
            "columns": dict(self.columns),
        }


def difference(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """What is not the same in two sources, in words; None if all is."""
    for field, noun in (("path", "file"), ("table", "table")):
        if kept[field] != asked[field]:
            return f"{_named(noun, kept[field])}, not for {_named(noun, asked[field])}"
    if kept["columns"] != asked["columns"]:
        return f"columns {_changes(kept['columns'], asked['columns'])}"
    return None


def is_other_table(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether two tables of a file are meant, which are never one data set."""
    return None not in (kept["table"], asked["table"]) and kept["table"] != asked["table"]


def _seen_from(folder: Path | None, path: str) -> str:
    if "://" in path:  # a server
        return path
    try:
        seen = os.path.relpath(path, folder) if folder is not None else path
    except ValueError:  # another drive
        seen = path
    return Path(seen).as_posix()


def _named(noun: str, name: str | None) -> str:
    if name is not None:
        return f"the {noun} {name!r}"
    return "a frame" if noun == "file" else "a file without tables"


def _changes(kept: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Which columns are gone, new or of another type."""
    said = [f"with {name!r}, which is gone" for name in kept if name not in asked]
    said += [f"without {name!r}" for name in asked if name not in kept]
    said += [
        f"with {name!r} as {kept[name]}, not {asked[name]}"
        for name in kept
        if name in asked and kept[name] != asked[name]
    ]
    return ", ".join(said[:3]) + (", ..." if len(said) > 3 else "")
