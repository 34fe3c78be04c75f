"""The owner's declaration as a TOML file: what is protected, what is public, what may be spent."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import CatalogError
from deniable.ledger.postgres import is_url
from deniable.privacy import Budget, PrivacyUnit, Relation
from deniable.query.catalog import (
    Boolean,
    Date,
    Declaration,
    Keys,
    Number,
    Table,
    Text,
    Timestamp,
    did_you_mean,
    each_row,
)
from deniable.query.expression import Kind
from deniable.query.imports.declaration import CSV_FIELDS, Csv, CsvColumn
from deniable.query.imports.imported import is_text_file

if TYPE_CHECKING:
    from deniable.query.imports.guess import Proposal

NUMBER = (int, str)  # decimals are read as text, so that 0.1 is one tenth
SECTIONS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "data": {"source": str, "name": str, "table": str, "partitions": bool},
    "csv": CSV_FIELDS,
    "privacy": {
        "unit": str,
        "row": str,
        "ids": int,
        "relation": str,
        "rows": int,
        "groups": int,
        "total_rows": int,
    },
    "budget": {**dict.fromkeys(("epsilon", "delta", "rho", "mu", "renyi", "order"), NUMBER), "ledger": str},
    "columns": {},
}
COLUMN_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "type": str,
    "lower": (*NUMBER, date),
    "upper": (*NUMBER, date),
    "keys": list,
    "null": NUMBER,
    "null_group": bool,
    "format": str,
    "sign": str,
}
SIMPLE = {"text": Text, "boolean": Boolean}
MOMENTS = {"date": Date, "timestamp": Timestamp}


class Fractional(str):
    """A number with decimals as it is written, so that 0.1 is one tenth."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy file, read and checked; paths are absolute."""

    source: Path
    name: str
    table: str | None
    unit: PrivacyUnit
    relation: Relation
    rows: int
    groups: int
    total_rows: int | None
    assumed: tuple[str, ...]
    budget: Budget
    ledger: Path | str  # a file, or the URL of a server
    columns: Mapping[str, Declaration]
    csv: Csv | None = None  # how a text file is imported
    partitions: bool = False  # whether folders named column=value are columns

    def described(self, schema: Mapping[str, Kind | None]) -> Table:
        """The table that it declares, checked against the schema of its source.

        Everything that a table has, except its schema, stands in the policy under the same name.
        """
        declared = {
            field.name: getattr(self, field.name)
            for field in dataclass_fields(Table)
            if field.name not in ("schema", "public")
        }
        return Table(schema=schema, **declared)


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file.

    Raises: CatalogError that names the section and the field that is wrong or missing.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Fractional)
    except OSError:
        raise CatalogError(
            f"the policy {str(path)!r} cannot be read. Make one: deniable init DATA > {path.name}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path.name} is not valid TOML: {error}.") from None
    for section, fields in content.items():
        _check_section(path, section, fields)
    data, privacy = _section(path, content, "data"), _section(path, content, "privacy")
    budget = dict(_section(path, content, "budget"))
    if not isinstance(data.get("source"), str):
        raise CatalogError(f'{path.name}: [data] needs source = "file", the path of the data.')
    source = path.parent / data["source"]
    ledger = budget.pop("ledger", f"{path.stem}.ledger")
    columns = {name: _declaration(path, name, fields) for name, fields in content.get("columns", {}).items()}
    return Policy(
        source=source.resolve(),
        name=data.get("name", data.get("table", source.stem)),
        table=data.get("table"),
        unit=_unit(path, privacy),
        relation=_relation(path, privacy.get("relation", str(Relation.ADD_REMOVE))),
        rows=privacy.get("rows", 1),
        groups=privacy.get("groups", 1),
        total_rows=privacy.get("total_rows"),
        assumed=assumed(privacy),
        budget=Budget(**budget),
        ledger=ledger if is_url(ledger) else (path.parent / ledger).resolve(),
        columns=columns,
        csv=_csv(path, source, content, columns),
        partitions=data.get("partitions", False),
    )


def assumed(given: Mapping[str, object]) -> tuple[str, ...]:
    """Which bounds of a unit nobody gave."""
    if given.get("total_rows") is not None:
        return ()
    return tuple(word for word in ("rows", "groups") if given.get(word) is None)


def write_policy(
    source: Path,
    schema: Mapping[str, Kind | None],
    *,
    table: str | None = None,
    proposal: "Proposal | None" = None,
) -> str:
    """A commented policy for the owner to fill in, from the schema alone, or from what a text file seems to be."""
    name = table_name(source if table is None else Path(table))
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
        "# total_rows = 10           # in place of rows and groups: at most this many rows of one unit in all",
        'relation = "add/remove"     # or "replace", if the number of units is public',
        "",
        "[budget]",
        "epsilon = 1.0               # everything that is ever released from this file, together",
        "# delta = 1e-6              # allows Gaussian noise, which is smaller when many numbers are released",
        f"ledger = {_quoted(name + '.ledger')}   # what was spent; keep it with the data",
        "",
        "# Columns. SUM and AVG need lower and upper; GROUP BY needs keys. Both must be public knowledge.",
        *([] if proposal is None else ["# The types are guesses, from values all over the file: check them."]),
    ]
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


def table_name(source: Path) -> str:
    """What a file, a folder or a pattern is called in SQL."""
    stem = source.parent.name if set("*?[") & set(source.name) else source.stem
    name = "".join(letter if letter.isalnum() else "_" for letter in stem)
    return name if name and not name[0].isdigit() else f"t_{name}"


def _check_section(path: Path, section: str, fields: object) -> None:
    if section not in SECTIONS or not isinstance(fields, dict):
        raise CatalogError(
            f"{path.name}: [{section}] is not a section.{did_you_mean(section, SECTIONS)} "
            f"Sections: {', '.join(SECTIONS)}."
        )
    if section == "columns":
        for name, column in fields.items():
            _check_fields(f"{path.name}: [columns.{name}]", column, COLUMN_FIELDS)
    else:
        _check_fields(f"{path.name}: [{section}]", fields, SECTIONS[section])


def _check_fields(where: str, fields: object, known: Mapping[str, type | tuple[type, ...]]) -> None:
    """Known fields with values of the right type; a misspelt one must not be passed over in silence."""
    if not isinstance(fields, dict):
        raise CatalogError(f"{where} must be a section with fields: {', '.join(known)}.")
    for field, value in fields.items():
        if field not in known:
            raise CatalogError(
                f"{where} has no field {field!r}.{did_you_mean(field, known)} Fields: {', '.join(known)}."
            )
        wanted = known[field]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            words = {str: "text in quotes", int: "a whole number", list: "a list", bool: "true or false"}
            said = words[wanted] if isinstance(wanted, type) else "a number"
            raise CatalogError(f"{where}: {field} must be {said}, got {value!r}.")


def _csv(path: Path, source: Path, content: Mapping[str, Any], columns: Mapping[str, Declaration]) -> Csv | None:
    """How the source is imported, if it is a text file; else nothing may be said about that."""
    if not is_text_file(source):
        for name, fields in content.get("columns", {}).items():
            for word in ("format", "sign"):
                if word in fields:
                    raise CatalogError(
                        f"{path.name}: [columns.{name}] {word} is for text files, but {source.name} is none."
                    )
        if "csv" in content:
            raise CatalogError(f"{path.name}: [csv] is for text files (.csv, .tsv, .txt), but {source.name} is none.")
        return None
    read = {}
    for name, fields in content.get("columns", {}).items():
        declared = columns[name]
        kind = declared.kind or (Kind.TEXT if declared.lower is None else Kind.REAL)
        try:
            read[name] = CsvColumn(type=kind.value, format=fields.get("format"), sign=fields.get("sign"))
        except CatalogError as error:
            raise CatalogError(f"{path.name}: [columns.{name}] {error}") from None
    try:
        return Csv(**content.get("csv", {}), columns=read)
    except CatalogError as error:
        raise CatalogError(f"{path.name}: [csv] {error}") from None


def _section(path: Path, content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if name not in content:
        raise CatalogError(f"{path.name} has no section [{name}]. `deniable init DATA` writes all of them.")
    section: Mapping[str, Any] = content[name]
    return section


def _unit(path: Path, privacy: Mapping[str, Any]) -> PrivacyUnit:
    if ("unit" in privacy) == ("row" in privacy):
        raise CatalogError(
            f'{path.name}: [privacy] must say who is protected, in one of two ways: unit = "column" for the column '
            'that says whose row it is, or row = "person" if every row is one person.'
        )
    if "row" in privacy:
        return each_row(privacy["row"])
    return PrivacyUnit(column=privacy["unit"], noun=privacy["unit"], ids=privacy.get("ids", 1))


def _relation(path: Path, text: object) -> Relation:
    for relation in Relation:
        if text == str(relation):
            return relation
    raise CatalogError(
        f'{path.name}: [privacy] relation must be "add/remove" (the number of units is private) or "replace" (it is '
        f"public), got {text!r}."
    )


def _check_company(where: str, kind: object, fields: Mapping[str, Any]) -> None:
    """Refuse a field that would have no meaning beside the others."""
    allowed = {"type", "format", "sign"}  # the last two say how a text file is read, and are checked there
    if "keys" in fields:
        allowed |= {"keys", "null_group"}
        reason = "beside keys, which say all that the column can be"
        if any(isinstance(key, Fractional) for key in fields["keys"]):
            raise CatalogError(f"{where}: keys cannot be fractions. Write text in quotes, or group by FLOOR or ROUND.")
    elif kind in ("integer", "real", None):
        allowed |= {"lower", "upper", "null"}
        reason = "without keys"
    else:
        allowed |= {"lower", "upper"} if kind in MOMENTS else set()
        reason = f"for a column of type {kind!r}"
    for field in fields:
        if field not in allowed:
            raise CatalogError(f"{where}: {field} has no meaning {reason}. Remove one of them.")


def _declaration(path: Path, name: str, fields: Mapping[str, Any]) -> Declaration:
    where = f"{path.name}: [columns.{name}]"
    kind = fields.get("type")
    _check_company(where, kind, fields)
    try:
        if "keys" in fields:
            keys = Keys(fields["keys"], null=fields.get("null_group", False))
            if kind not in (None, keys.kind.value if keys.kind else None):
                raise CatalogError(f"type is {kind!r}, but keys are of type {keys.kind.value if keys.kind else '?'!r}.")
            return keys
        if kind in ("integer", "real", None):
            whole = None if kind is None else kind == "integer"
            bounds = {bound: fields.get(bound) for bound in ("lower", "upper", "null")}
            return Number(**bounds, integer=whole)
        if kind in MOMENTS:
            return MOMENTS[kind](lower=fields.get("lower"), upper=fields.get("upper"))
        if kind in SIMPLE:
            return SIMPLE[kind]()
    except (CatalogError, ValueError) as error:
        raise CatalogError(f"{where}: {error}") from None
    raise CatalogError(
        f'{where}: type must be "integer", "real", "text", "boolean", "date" or "timestamp", got {kind!r}.'
    )
