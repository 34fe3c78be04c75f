"""The owner's declaration as a TOML file.

It says what is protected, what is public, and what may be spent.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as empty
from dataclasses import fields as dataclass_fields
from datetime import date
from functools import partial, reduce
from operator import mul
from pathlib import Path
from typing import Any

from deniable.errors import CatalogError, redacted
from deniable.files.declaration import CSV_FIELDS, Csv, CsvColumn
from deniable.files.imported import is_text_file
from deniable.ledger.postgres import is_url
from deniable.privacy import Budget, PrivacyUnit, Relation
from deniable.query.catalog import DeclaredTable, did_you_mean, each_row
from deniable.query.declarations import Boolean, Date, Declaration, Keys, Number, Text, Timestamp
from deniable.query.declared import declared_table
from deniable.query.engines.runner import is_remote
from deniable.query.expression import Kind

NUMBER = (int, str)  # decimals are read as text, so that 0.1 is one tenth
LIMIT = (str, int)  # "auto" has it found
Fields = Mapping[str, type | tuple[type, ...]]
_PLACE: Fields = {"source": str, "table": str, "partitions": bool}
SECTIONS: Mapping[str, Fields] = {
    "data": {**_PLACE, "name": str},
    "csv": CSV_FIELDS,
    "privacy": {
        **dict.fromkeys(("unit", "row", "relation", "period"), str),
        **dict.fromkeys(("ids", "total_rows"), int),
        **dict.fromkeys(("rows", "groups"), LIMIT),
    },
    "budget": {**dict.fromkeys(("epsilon", "delta", "rho", "mu", "renyi", "order"), NUMBER), "ledger": str},
    "columns": {},
    "tables": {**_PLACE, "public": bool, "path": list, "csv": dict, "columns": dict},
}
COLUMN_FIELDS: Fields = {
    **dict.fromkeys(("type", "format", "sign"), str),
    **dict.fromkeys(("lower", "upper"), (*NUMBER, date)),
    **{"keys": (list, str), "without": list, "null": NUMBER, "null_group": bool},
}
_ENDS = ("lower", "upper")
# How a column of each type is declared, and the fields that it may have.
TYPES: Mapping[object, tuple[Callable[..., Declaration], tuple[str, ...]]] = {
    None: (Number, (*_ENDS, "null")),
    "integer": (partial(Number, integer=True), (*_ENDS, "null")),
    "real": (partial(Number, integer=False), (*_ENDS, "null")),
    "text": (Text, ()),
    "boolean": (Boolean, ()),
    "date": (Date, _ENDS),
    "timestamp": (Timestamp, _ENDS),
}


class Fractional(str):
    """A number with decimals as it is written, so that 0.1 is one tenth."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy file, read and checked; paths are absolute.

    Of several tables, it is that of the first private one.
    """

    source: Path | str = empty(repr=False)  # a file, or the URL of a server, which may hold a password
    name: str
    table: str | None
    unit: PrivacyUnit
    relation: Relation
    rows: int
    groups: int
    total_rows: int | None
    assumed: tuple[str, ...]
    auto: tuple[str, ...]
    budget: Budget
    ledger: Path | str = empty(repr=False)  # the same
    columns: Mapping[str, Declaration]
    csv: Csv | None = None  # how a text file is imported
    partitions: bool = False  # whether folders named column=value are columns
    public: bool = False
    path: tuple[str, ...] = ()  # to the unit, where a table does not hold it: its key, another table, the key there
    several: Mapping[str, "Policy"] = empty(default_factory=dict)

    def described(self, schema: Mapping[str, Kind | None]) -> DeclaredTable:
        """The table that it declares, checked against the schema of its source.

        Everything that a table has, except its schema, stands in the policy under the same name.
        """
        own = ("schema", "own", "public", "path", "declared_expressions")
        declared = {
            each.name: getattr(self, each.name) for each in dataclass_fields(DeclaredTable) if each.name not in own
        }
        return declared_table(schema=schema, **declared)


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file.

    Raises: CatalogError that names the section and the field that is wrong or missing.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Fractional)
    except OSError:
        raise CatalogError(
            f"the policy {redacted(path)!r} cannot be read. Make one: deniable init DATA > policy.toml"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path.name} is not valid TOML: {error}.") from None
    for section, fields in content.items():
        _check_section(path, section, fields)
    if "tables" not in content:
        return _policy(path, content)
    extra = [name for name in ("data", "csv", "columns") if name in content]
    if extra or not content["tables"]:
        raise CatalogError(
            f"{path.name}: with [tables], source, csv and columns stand under each table: [tables.orders], "
            f"[tables.orders.columns.amount]. {f'Move [{extra[0]}].' if extra else 'Name a table.'}"
        )
    shared: dict[str, Any] = {name: content[name] for name in ("privacy", "budget") if name in content}
    several = {name: _one_of(path, name, fields, shared) for name, fields in content["tables"].items()}
    first = next((each for each in several.values() if not each.public), next(iter(several.values())))
    return replace(first, several=several)


def _one_of(path: Path, name: str, fields: Mapping[str, Any], shared: Mapping[str, Any]) -> Policy:
    """One of several tables, read as a policy of its own."""
    data = {word: fields[word] for word in ("source", "table", "partitions") if word in fields}
    inner = {word: fields[word] for word in ("csv", "columns") if word in fields}
    try:
        for section, held in inner.items():
            _check_section(path, section, held)
        policy = _policy(path, {"data": {**data, "name": name}, **inner, **shared})
    except CatalogError as error:
        said = str(error).replace(": [data]", f": [tables.{name}]")
        raise CatalogError(re.sub(r": \[(?=columns|csv)", f": [tables.{name}.", said)) from None
    return replace(policy, public=fields.get("public", False), path=tuple(fields.get("path", ())))


def _policy(path: Path, content: Mapping[str, Any]) -> Policy:
    data, privacy = _section(path, content, "data"), _section(path, content, "privacy")
    budget = dict(_section(path, content, "budget"))
    if not isinstance(data.get("source"), str):
        raise CatalogError(f'{path.name}: [data] needs source = "file", the path of the data.')
    source = path.parent / data["source"]
    table = data.get("table")
    remote = is_remote(data["source"])
    called = source.stem if table is None else table.rpartition(".")[2] if remote else table
    ledger = budget.pop("ledger", f"{path.stem}.ledger")
    columns: dict[str, Declaration] = {}
    for name, fields in sorted(content.get("columns", {}).items(), key=lambda item: "keys" not in item[1]):
        columns[name] = _declaration(path, name, fields, columns)
    return Policy(
        source=data["source"] if remote else source.resolve(),
        name=data.get("name", called),
        table=table,
        unit=_unit(path, privacy),
        relation=_relation(path, privacy.get("relation", str(Relation.ADD_REMOVE))),
        **limits(privacy),
        budget=Budget(**budget),
        ledger=ledger if is_url(ledger) else (path.parent / ledger).resolve(),
        columns=columns,
        csv=_csv(path, source, content, columns),
        partitions=data.get("partitions", False),
    )


def limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return contribution limits; 1 where none is declared or one will be estimated."""
    words = ("rows", "groups")
    auto = tuple(word for word in words if given.get(word) == "auto")
    said = {word: 1 if given.get(word) in (None, "auto") else given[word] for word in words}
    total = given.get("total_rows")
    assumed = tuple(word for word in words if given.get(word) is None) if total is None else ()
    return {**said, "total_rows": total, "assumed": assumed, "auto": auto}


def _check_section(path: Path, section: str, fields: object) -> None:
    if section not in SECTIONS or not isinstance(fields, dict):
        raise CatalogError(
            f"{path.name}: [{section}] is not a section.{did_you_mean(section, SECTIONS)} "
            f"Sections: {', '.join(SECTIONS)}."
        )
    if section == "columns":
        for name, column in fields.items():
            _check_fields(f"{path.name}: [columns.{name}]", column, COLUMN_FIELDS)
    elif section == "tables":
        for name, table in fields.items():
            _check_fields(f"{path.name}: [tables.{name}]", table, SECTIONS["tables"])
    else:
        _check_fields(f"{path.name}: [{section}]", fields, SECTIONS[section])


def _check_fields(where: str, fields: object, known: Fields) -> None:
    """Refuse unknown fields and values of the wrong type.

    A misspelt one must not be passed over in silence.
    """
    if not isinstance(fields, dict):
        raise CatalogError(f"{where} must be a section with fields: {', '.join(known)}.")
    for field, value in fields.items():
        if field not in known:
            raise CatalogError(
                f"{where} has no field {field!r}.{did_you_mean(field, known)} Fields: {', '.join(known)}."
            )
        wanted = int if known[field] == LIMIT and value != "auto" else known[field]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            words: dict[Any, str] = {str: "text in quotes", int: "a whole number", list: "a list", dict: "a section"}
            words |= {bool: "true or false", (list, str): "a list, or a file of keys"}
            said = words.get(wanted, "a number")
            raise CatalogError(f"{where}: {field} must be {said}, got {value!r}.")


def _csv(path: Path, source: Path, content: Mapping[str, Any], columns: Mapping[str, Declaration]) -> Csv | None:
    """Return how a text file is imported; refuse such fields for other sources."""
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
    unit = privacy["unit"]
    return PrivacyUnit(column=unit, noun=unit, ids=privacy.get("ids", 1), period=privacy.get("period"))


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
    if "keys" in fields or "without" in fields:
        allowed |= {"keys", "null_group", "without"}
        reason = "beside keys, which say all that the column can be"
        if any(isinstance(key, Fractional) for key in fields.get("keys", ())):
            raise CatalogError(f"{where}: keys cannot be fractions. Write text in quotes, or group by FLOOR or ROUND.")
    else:
        allowed.update(TYPES[kind][1] if kind in TYPES else ())
        reason = "without keys" if kind in ("integer", "real", None) else f"for a column of type {kind!r}"
    for field in fields:
        if field not in allowed:
            raise CatalogError(f"{where}: {field} has no meaning {reason}. Remove one of them.")


def _declaration(path: Path, name: str, fields: Mapping[str, Any], known: Mapping[str, Declaration]) -> Declaration:
    """Return the declaration in a section; `known` has those of single columns."""
    where = f"{path.name}: [columns.{name}]"
    kind = fields.get("type")
    _check_company(where, kind, fields)
    try:
        if "keys" in fields or "without" in fields:
            keys = _keys(path, name, fields, known)
            if kind not in (None, keys.kind.value if keys.kind else None):
                raise CatalogError(f"type is {kind!r}, but keys are of type {keys.kind.value if keys.kind else '?'!r}.")
            return keys
        if kind in TYPES:
            declare, words = TYPES[kind]
            return declare(**{word: fields[word] for word in words if word in fields})
    except (CatalogError, ValueError) as error:
        raise CatalogError(f"{where}: {error}") from None
    raise CatalogError(
        f'{where}: type must be "integer", "real", "text", "boolean", "date" or "timestamp", got {kind!r}.'
    )


def _keys(path: Path, name: str, fields: Mapping[str, Any], known: Mapping[str, Declaration]) -> Declaration:
    """Return the keys: listed, in a public file, or all combinations.

    The combinations are of those of several columns.
    """
    held = fields.get("keys")
    parts = [part.strip() for part in name.split(",")]
    if held is None:
        if len(parts) == 1 or not set(parts) <= set(known):
            raise CatalogError("keys are missing: list them, or declare those of each column that it names.")
        keys = reduce(mul, (known[part] for part in parts))
    elif isinstance(held, str):
        keys = Keys(_public_rows(path.parent / held, parts, fields.get("type")), null=fields.get("null_group", False))
    else:
        keys = Keys(held, null=fields.get("null_group", False))
    return keys - fields["without"] if fields.get("without") else keys


def _public_rows(path: Path, columns: list[str], kind: object) -> Any:
    """Return columns of a public file; .csv text stays text unless `kind` differs."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    types = {"integer": pa.int64(), "date": pa.date32()}
    text = dict.fromkeys(columns, types.get(str(kind), pa.string()))
    try:
        if path.suffix == ".parquet":
            return parquet.read_table(path, columns=columns).select(columns)
        return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=text, include_columns=columns))
    except (OSError, KeyError, pa.ArrowException) as error:
        raise CatalogError(f"the keys cannot be read from {path.name!r}: {error}") from None
