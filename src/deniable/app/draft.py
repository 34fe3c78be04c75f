"""A first policy for the owner to fill in, as `deniable init` prints it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.query.expression import Kind
from deniable.query.source import table_name
from deniable.rows.csv.declaration import Csv

if TYPE_CHECKING:
    from deniable.rows.csv.guess import Proposal


@dataclass(frozen=True)
class Found:
    """What `deniable init` knows of a table: where it is, its columns, and what a text file seems to be."""

    source: Path
    schema: Mapping[str, Kind | None]
    table: str | None = None
    proposal: "Proposal | None" = None

    @property
    def name(self) -> str:
        return table_name(self.source if self.table is None else Path(self.table))

    def lines(self, name: str) -> list[str]:
        """Its sections under [tables]."""
        lines = ["", f"[tables.{name}]", f"source = {_quoted(str(self.source))}"]
        lines += [] if self.table is None else [f"table = {_quoted(self.table)}"]
        lines += ["# public = true              # if everybody may know its rows"]
        lines += [
            '# path = ["order_id", "orders"]   # if the unit is found through another table: by this column of both'
        ]
        lines += [] if self.proposal is None else _csv_lines(self.proposal)
        for column, kind in self.schema.items():
            lines += ["", *_column_lines(column, kind, self.proposal)]
        for section in ("columns.", "csv]"):
            lines = [re.sub(rf"^(# )?\[{re.escape(section)}", rf"\1[tables.{name}.{section}", line) for line in lines]
        return lines


def write_policy(*tables: Found) -> str:
    """A commented policy for the owner to fill in, from schemas alone, or from what text files seem to be."""
    source, schema, table, proposal = tables[0].source, tables[0].schema, tables[0].table, tables[0].proposal
    name, several = tables[0].name, len(tables) > 1
    lines = [
        "# Policy for deniable: what is protected, what is public, what may be spent.",
        "# Everything here counts as PUBLIC. Fill it in from what you know about the world (codebooks, laws, forms),",
        "# never from the rows themselves.",
        "",
        "[data]",
        f"source = {_quoted(str(source))}",
        f"name = {_quoted(name)}          # the table's name in SQL",
        *([] if table is None else [f"table = {_quoted(table)}"]),
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
        for place, found in enumerate(tables):
            again = any(found.name == other.name for other in tables[:place])
            lines += found.lines(f"{found.name}_{place + 1}" if again else found.name)
        return "\n".join(lines) + "\n"
    for column, kind in schema.items():
        lines += ["", *_column_lines(column, kind, proposal)]
    return "\n".join(line for line in lines if line is not None) + "\n"


def _csv_lines(proposal: "Proposal") -> list[str]:
    """The section [csv], as proposed."""
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


def _column_lines(name: str, kind: Kind | None, proposal: "Proposal | None") -> list[str]:
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
        example = {Kind.INTEGER: "[1, 2, 3]", Kind.TEXT: '["north", "south"]'}.get(kind, "[2025-01-01, 2025-01-02]")
        lines += [
            f"# keys = {example}   # every group that GROUP BY shows",
            "# null_group = true        # one more group, for missing values",
        ]
    return lines


def _quoted(text: str) -> str:
    """A basic string of TOML: JSON's escapes, all letters as they are."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
