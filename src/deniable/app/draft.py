"""A first policy for the owner to fill in, as `deniable init` prints it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.files.declaration import Csv
from deniable.query.engines.runner import SPARK
from deniable.query.expression import Kind
from deniable.query.source import table_name

if TYPE_CHECKING:
    from deniable.files.guess import Proposal


SERVER = [
    "# No password belongs here. User, password and options of the address are left out: they come from PGUSER,",
    "# PGPASSWORD or ~/.pgpass, PGHOST and PGSSLMODE; or write user@host and ?sslmode=verify-full into source.",
]


SESSION = [
    "# The session of Spark is the active one, or one that SPARK_REMOTE or spark-defaults.conf name.",
]


@dataclass(frozen=True)
class Found:
    """Table as `deniable init` knows it: its path, columns and form of text.

    Of a table of a server, `source` is an address without user, password and options; `notes` are what the catalogue
    says of the table, `about` what it says of columns, and `keys` are all values that a column's type has.
    """

    source: Path | str
    schema: Mapping[str, Kind | None]
    table: str | None = None
    proposal: "Proposal | None" = None
    notes: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        if isinstance(self.source, str):
            return table_name(Path((self.table or "").rpartition(".")[2]))
        return table_name(self.source if self.table is None else Path(self.table))

    def noted(self) -> list[str]:
        """Comments on what the catalogue of its server says."""
        lines = ["# The server's catalogue says of the table:"] if self.notes else []
        lines += [f"# - {_in_one_line(note)}" for note in self.notes]
        if any(note.startswith(("PRIMARY KEY", "UNIQUE")) for note in self.notes):
            lines.append(
                "# (No two rows agree in all columns of a key: if that is the unit alone, no unit has two rows.)"
            )
        return lines

    def column_lines(self) -> list[str]:
        """Return the sections of the table's columns."""
        lines = []
        for column, kind in self.schema.items():
            said = self.about.get(column)
            lines += ["", *([] if said is None else [f"# {_in_one_line(said)}"])]
            lines += _column_lines(column, kind, self.proposal, self.keys.get(column))
        return lines

    def lines(self, name: str) -> list[str]:
        """Return the table's sections under [tables]."""
        name = name if name.isascii() else _quoted(name)
        lines = ["", f"[tables.{name}]", f"source = {_quoted(str(self.source))}"]
        lines += [] if self.table is None else [f"table = {_quoted(self.table)}"]
        lines += ["# public = true              # if everybody may know its rows"]
        lines += [
            '# path = ["order_id", "orders"]   # if the unit is found through another table: by this column of both'
        ]
        lines += self.noted()
        lines += [] if self.proposal is None else _csv_lines(self.proposal)
        lines += self.column_lines()
        for section in ("columns.", "csv]"):
            lines = [re.sub(rf"^(# )?\[{re.escape(section)}", rf"\1[tables.{name}.{section}", line) for line in lines]
        return lines


def write_policy(*tables: Found) -> str:
    """Return a commented policy for the owner to fill in, from schemas and text files."""
    source, table, proposal = tables[0].source, tables[0].table, tables[0].proposal
    name = tables[0].name
    several = len(tables) > 1
    lines = [
        "# Policy for deniable: what is protected, what is public, what may be spent.",
        "# Everything here counts as PUBLIC. Fill it in from what you know about the world (codebooks, laws, forms),",
        "# never from the rows themselves.",
        *(SESSION if source == SPARK else SERVER if isinstance(source, str) else []),
        "",
        "[data]",
        f"source = {_quoted(str(source))}",
        f"name = {_quoted(name)}          # the table's name in SQL",
        *([] if table is None else [f"table = {_quoted(table)}"]),
        *tables[0].noted(),
        *([] if proposal is None else _csv_lines(proposal)),
        "",
        "[privacy]",
        "# Who is protected? Keep ONE of the two lines, without its '#'.",
        '# unit = "..."              # the column that says whose row it is',
        '# row = "person"            # or: every row is one person, and nobody has two',
        "# With a unit column: how much of one unit can count. What goes beyond is bounded away.",
        "rows = 1                    # at most this many rows of one unit in one group",
        "groups = 1                  # in at most this many groups of one GROUP BY",
        '# rows = "auto"             # either may be found privately, for a quarter of the price of a first question',
        "# total_rows = 10           # in place of rows and groups: at most this many rows of one unit in all",
        'relation = "add/remove"     # or "replace", if the number of units is public',
        "",
        "[budget]",
        "epsilon = 1.0               # everything that is ever released from this file, together",
        "# delta = 1e-6              # allows Gaussian noise, which is smaller when many numbers are released",
        f"{'ledger = ' + _quoted(name + '.ledger'):<28}# what was spent; keep it with the data",
        "",
        "# Columns. SUM and AVG need lower and upper; GROUP BY needs keys. Both must be public knowledge.",
        *([] if proposal is None else ["# The types are guesses, from values all over the file: check them."]),
    ]
    if several:
        lines = lines[: lines.index("[data]")] + lines[lines.index("[privacy]") :]
        for index, described in enumerate(tables):
            again = any(described.name == other.name for other in tables[:index])
            lines += described.lines(f"{described.name}_{index + 1}" if again else described.name)
        return "\n".join(lines) + "\n"
    lines += tables[0].column_lines()
    return "\n".join(line for line in lines if line is not None) + "\n"


def _csv_lines(proposal: "Proposal") -> list[str]:
    """Return the section [csv], as proposed."""
    csv = proposal.csv
    lines = ["", "[csv]", "# How the file is read, once, by `deniable import`. Proposed from the file: check it."]
    lines += [f"# {note}" for note in proposal.notes]
    lines += [f"encoding = {_quoted(csv.encoding)}", f"delimiter = {_quoted(csv.delimiter)}"]
    if csv.line_end != Csv.line_end:
        lines.append(f"line_end = {_quoted(csv.line_end)}")
    lines.append(f"row_lines = {csv.row_lines}               # a row takes at most this many lines, in quoted fields")
    if csv.names is not None:
        lines.append(f"names = {_listed(csv.names)}   # of the columns; the file does not begin with them")
    lines += [f"decimal = {_quoted(csv.decimal)}", f"thousands = {_quoted(csv.thousands)}"]
    lines.append(f"null = {_listed(csv.null)}                    # words for a missing value, beside nothing at all")
    if csv.true != Csv.true or csv.false != Csv.false:
        lines += [f"true = {_listed(csv.true)}", f"false = {_listed(csv.false)}"]
    return lines


def _listed(words: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"


def _column_lines(
    name: str, kind: Kind | None, proposal: "Proposal | None", keys: Sequence[str] | None = None
) -> list[str]:
    key = name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _quoted(name)
    if kind is None:
        return [f"# [columns.{key}] has a type that queries cannot use."]
    lines = [f"[columns.{key}]", f'type = "{kind.value}"']
    if proposal is not None:
        column = proposal.csv.column(name)
        lines += [f"format = {_quoted(column.format)}"] if column.format is not None else []
        lines += [f"sign = {_quoted(column.sign)}"] if column.sign is not None else []
        lines += [f"# {proposal.about[name]}"] if name in proposal.about else []
    if kind.is_number:
        lines += [
            "# lower = 0",
            "# upper = 100",
            "# null = 0                # what a missing value counts as; else it is left out",
        ]
    if kind in (Kind.INTEGER, Kind.TEXT, Kind.DATE):
        example = (
            _listed(keys)
            if keys
            else {Kind.INTEGER: "[1, 2, 3]", Kind.TEXT: '["north", "south"]'}.get(kind, "[2025-01-01, 2025-01-02]")
        )
        lines += [
            f"# keys = {example}   # every group that GROUP BY shows",
            "# null_group = true        # one more group, for missing values",
        ]
    return lines


def _in_one_line(text: str) -> str:
    """Return a text that somebody else wrote, as a comment of TOML."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _quoted(text: str) -> str:
    """Return a basic string of TOML: JSON's escapes, all letters as they are."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
