"""Declared tables: public facts, and nothing learned from the rows.

A declaration fails closed: a column without bounds cannot be summed, a column without keys cannot be a group, and a
name that is not declared cannot be used.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property

from deniable.errors import CatalogError, UnsupportedQueryError
from deniable.privacy import AddRemove, PrivacyUnit, Relation
from deniable.query.declarations import LARGEST_KEYS, Declaration, Keys, Row, plain
from deniable.query.expression import Column, Expression, Facts, Key, Kind, literal
from deniable.query.operators import call

UNIT, KEY = "(unit)", "(key)"  # columns that are made to carry the unit; no name that a declared column may have
LARGEST_ROWS = 2**20
DATED = (Kind.DATE, Kind.TIMESTAMP)
_PLAIN = frozenset({Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.BOOLEAN})
READABLE: Mapping[Kind | None, frozenset[Kind]] = {  # as what some value of a column of each kind can be read
    **dict.fromkeys((Kind.INTEGER, Kind.REAL, Kind.BOOLEAN), _PLAIN),
    Kind.TEXT: _PLAIN | {*DATED},
    **dict.fromkeys(DATED, frozenset({*DATED, Kind.TEXT})),
    None: frozenset({Kind.TEXT}),  # lists, structures, bytes, times of day, durations and the like
}
_DECLARED: dict[Kind | None, str] = {None: "Text()"}
_DECLARED |= {kind: "Number(...)" if kind.is_number else f"{kind.value.capitalize()}()" for kind in Kind}


def each_row(noun: str = "row") -> PrivacyUnit:
    """Return the privacy unit of a table in which every row is one person.

    Args:
        noun: what a row stands for, as answers name it: "person", "visit", ...

    >>> print(each_row("person"))
    one person
    """
    return PrivacyUnit(column=None, noun=noun)


@dataclass(frozen=True)
class Path:
    """Path from rows to their unit: `key` equals `parent_key` of rows of `parent`."""

    key: str
    parent: "DeclaredTable"
    parent_key: str


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """A private table as the planner sees it.

    How much of one unit can count: at most `rows` rows in a group, in at most `groups` groups; or, where `total_rows`
    is given instead, at most that many rows in all, wherever they lie. `assumed` names the bounds that were not given,
    `auto` those that are found privately where a question needs them, `own` those that one question set for itself.
    The rows of a `public` table are nobody's: everybody may know them. Those of a table with a `path` belong to every
    unit whose rows in the parent hold their key.
    """

    name: str
    schema: Mapping[str, Kind | None]  # of the source; None: a type that queries cannot use
    unit: PrivacyUnit
    relation: Relation = AddRemove
    columns: Mapping[str, Declaration] = field(default_factory=dict)
    rows: int = 1
    groups: int = 1
    total_rows: int | None = None
    assumed: tuple[str, ...] = ()
    auto: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    public: bool = False
    path: Path | None = None
    # What each declared name means that is not a column: an expression, or several together. `declared` makes them.
    declared_expressions: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folded: dict[str, str] = {}
        for name in self.schema:
            other = folded.setdefault(name.casefold(), name)
            if name.casefold() in (UNIT, KEY):
                raise CatalogError(f"a column of {self.name} is called {name!r}. Rename it.")
            if other != name:
                raise CatalogError(
                    f"columns {other!r} and {name!r} of {self.name} differ only by case. Rename one of them."
                )
        for name, declared in self.columns.items():
            if name in self.schema:
                self._check_readable(name, declared)
                if declared.joint is not None:
                    raise CatalogError(f"columns declares pairs for {name!r}. Name all columns of them: '{name}, ...'.")
            elif len(self.declared_expressions.get(name, ())) != declared.parts:
                raise CatalogError(
                    f"columns declares {name!r}, which {self.name} does not have.{did_you_mean(name, self.schema)} "
                    f"Its columns: {listed(self.schema)}."
                )
        self._keys_by_form  # noqa: B018 - every declared name is a column or an expression
        self._check_unit()
        limits = [("rows", self.rows, LARGEST_ROWS), ("groups", self.groups, LARGEST_KEYS)]
        if self.total_rows is not None:
            limits.append(("total_rows", self.total_rows, LARGEST_ROWS))
            if (self.rows, self.groups, self.auto) != (1, 1, ()):
                raise CatalogError(
                    "total_rows bounds a unit in one way, rows and groups in another. Give one of them: "
                    "total_rows=10, or rows=2 with groups=5."
                )
        for word, value, maximum in limits:
            alternative = ' or "auto"' if word != "total_rows" else ""
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
                raise CatalogError(f"{word} must be a whole number from 1 to {maximum}{alternative}, got {value!r}.")

    def _check_readable(self, name: str, declared: Declaration) -> None:
        """Refuse declarations that no value of the column's public type can have."""
        stored = self.schema[name]
        plain = declared.kind is None and (declared.lower is not None or declared.null is not None or declared.auto)
        kind = Kind.REAL if plain else declared.kind
        if kind is not None and kind not in READABLE[stored]:
            number = "Number" if kind.is_number else kind.value.capitalize()
            own = "of a type that is read as text alone" if stored is None else f"of kind {stored.value}"
            parts = ", and ask for numbers of it, such as YEAR" if number == "Number" and stored in DATED else ""
            raise CatalogError(
                f"columns declares {name!r} as a {number}, and in {self.name} it is a column {own}, no value of which "
                f"is one. Declare dn.{_DECLARED[stored]}{parts}."
            )
        if plain and stored in (Kind.TEXT, Kind.BOOLEAN):
            raise CatalogError(
                f"columns declares {name!r} as a Number, and in {self.name} it is a column of kind {stored.value}. If "
                "its values are numbers, write dn.Number(..., integer=True), or integer=False for decimals; else "
                f"declare dn.{_DECLARED[stored]}."
            )

    def _check_unit(self) -> None:
        column = self.unit.column
        if column is None:
            if (self.rows, self.groups, self.total_rows, self.auto) != (1, 1, None, ()):
                raise CatalogError(
                    f"rows, groups and total_rows need a unit column, but every row of {self.name} is one "
                    f"{self.unit.noun}. Name the column that says whose row it is: unit='...'."
                )
        elif self.path is not None:
            self._check_path(self.path)
        elif column not in self.schema:
            raise CatalogError(
                f"unit={column!r} names no column of {self.name}.{did_you_mean(column, self.schema)} Its columns: "
                f"{listed(self.schema)}. Name the column "
                f"that says whose row it is, or, if every row is one {column}, write unit=dn.each_row({column!r}). "
                "Beside other tables it may be found through one, or be public: "
                f"paths={{{self.name!r}: (its column, that table)}}, public=[{self.name!r}]."
            )
        elif self.schema[column] is None:
            raise CatalogError(
                f"the unit column {column!r} has a type that cannot identify a unit. Use numbers or text."
            )
        elif self.unit.period is not None and self.schema.get(self.unit.period) is not Kind.DATE:
            raise CatalogError(f"period={self.unit.period!r} names no column of {self.name} that is stored as a date.")

    def _check_path(self, path: Path) -> None:
        try:
            kinds = [self.column(path.key).facts.kind, path.parent.column(path.parent_key).facts.kind]
        except UnsupportedQueryError as error:
            raise CatalogError(f"the path of {self.name}: {error}") from None
        if kinds[0] is not kinds[1] or kinds[0] in (Kind.REAL, Kind.TIMESTAMP):
            raise CatalogError(
                f"the path of {self.name} compares {path.key!r} of kind {kinds[0].value} with {path.parent_key!r} of "
                f"{path.parent.name}, of kind {kinds[1].value}. Declare both as whole numbers, text or dates."
            )

    @property
    def unit_column(self) -> str | None:
        """Column that identifies the unit of a row, stored or made on reading."""
        return UNIT if self.path is not None or self.unit.period is not None else self.unit.column

    @property
    def unit_kind(self) -> Kind | None:
        """The kind of `unit_column`."""
        kind = self.path.parent.unit_kind if self.path is not None else self.schema.get(self.unit.column or "")
        return kind if self.unit.period is None else Kind.TEXT

    @property
    def expressions(self) -> Mapping[str, Expression]:
        """Expressions with declared keys, by the text that declares them."""
        return {text: parts[0] for text, parts in self.declared_expressions.items() if len(parts) == 1}

    @cached_property
    def _keys_by_form(self) -> Mapping[tuple[str, ...], Declaration]:
        """Declarations of expressions and of several columns, by canonical form."""
        declared_by_form: dict[tuple[str, ...], Declaration] = {}
        for name, expressions in self.declared_expressions.items():
            declared = self.columns[name]
            columns = declared.joint if declared.joint is not None else [(key,) for key in declared.keys or ()]
            if not columns:
                raise CatalogError(
                    f"columns declares {name!r}, an expression: only its keys can be declared, as dn.Keys([...]). "
                    "Its type and bounds follow from the columns in it."
                )
            for expression, keys in zip(expressions, zip(*columns, strict=True), strict=True):
                said = Keys(dict.fromkeys(keys)).kind
                kind = expression.facts.kind
                if said is not kind:
                    cast = " Group by a CAST to BIGINT." if (kind, said) == (Kind.REAL, Kind.INTEGER) else ""
                    raise CatalogError(
                        f"columns declares keys of kind {(said or Kind.NULL).value} for {name!r}, an expression "
                        f"of kind {kind.value}.{cast}"
                    )
            forms = tuple(map(_form, expressions))
            if forms in declared_by_form:
                raise CatalogError(f"columns declares {name!r}, an expression that it declares already. Remove one.")
            declared_by_form[forms] = declared
        return declared_by_form

    def keys_of(self, expression: Expression) -> tuple[Key, ...] | None:
        """Return the declared keys of an expression, however it is written."""
        declared = self._keys_by_form.get((_form(expression),))
        return None if declared is None else declared.keys

    def joint_keys(self, keys: Mapping[int, Expression]) -> Iterator[tuple[tuple[int, ...], tuple[Row, ...]]]:
        """Yield the declared joint values of several keys, by their rising positions."""
        left = {_form(key): index for index, key in keys.items()}
        for forms, declared in self._keys_by_form.items():
            if declared.joint is not None and all(form in left for form in forms):
                indices = [left.pop(form) for form in forms]
                order = sorted(range(len(indices)), key=indices.__getitem__)
                yield tuple(sorted(indices)), tuple(tuple(row[index] for index in order) for row in declared.joint)

    @property
    def protects(self) -> str:
        """Protected unit, table and relation, in words."""
        return f"{self.unit} of {self.name} ({self.relation})"

    @property
    def promise(self) -> dict[str, str | int]:
        """Protected unit and limits on its contribution, as plain data."""
        promise: dict[str, str | int] = {"table": self.name, "unit": str(self.unit), "relation": str(self.relation)}
        if self.unit.column is not None:
            limits = ("rows", "groups") if self.total_rows is None else ("total_rows",)
            promise |= {word: "auto" if word in self.auto else getattr(self, word) for word in limits}
        return promise

    def described(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield name, type, bounds, keys and treatment of missing values of each column."""
        stored_or_made = {**self.schema, **{name: made.facts.kind for name, made in self.expressions.items()}}
        marks = {self.unit.column: " (unit)"} | ({} if self.path is None else {self.path.key: " (leads to the unit)"})
        for name, stored in stored_or_made.items():
            declared = self.columns.get(name, Declaration())
            kind = declared.kind or stored
            lower, upper, keys = declared.lower, declared.upper, declared.keys
            known = keys is None and lower is not None and upper is not None
            said = [] if keys is None else ["missing" if key is None else str(key) for key in keys]
            yield (
                name + marks.get(name, ""),
                "not usable" if kind is None else kind.value,
                f"{plain(lower, kind)} to {plain(upper, kind)}" if known else "auto" * declared.auto,  # type: ignore[arg-type]
                ", ".join(said[:5]) + (f", ... ({len(said):,} in all)" if len(said) > 5 else ""),
                "" if declared.null is None else f"count as {plain(declared.null)}",
            )
        for name, declared in self.columns.items():
            if declared.joint is not None:
                yield name, "together", "", f"{len(declared.joint):,} combinations", ""

    @property
    def most_groups(self) -> int:
        """Largest number of groups of one unit, by either kind of limit."""
        return self.groups if self.total_rows is None else self.total_rows

    def bounding(self, *, grouped: bool) -> str | None:
        """Return the contribution limits in words; None where every row is a unit."""
        noun = self.unit.noun
        if self.unit.column is None:
            return None
        if self.auto:
            return f"{' and '.join(self.auto)} of one {noun} are found privately by the questions that need them"
        smaller = f" (this question's own {' and '.join(self.own)})" if self.own else ""
        if self.total_rows is not None:
            return f"at most {_counted(self.total_rows, 'row')} of one {noun} count in all{smaller}"
        said = f"at most {_counted(self.rows, 'row')} of one {noun} {'counts' if self.rows == 1 else 'count'}"
        if grouped:
            said += f" in a group, in at most {_counted(self.groups, 'group')}"
        words = [word for word in ("rows", "groups") if word in self.assumed and (grouped or word == "rows")]
        if words:
            said += f" (by default: say {' and '.join(f'{word}=...' for word in words)} where more should count)"
        return said + smaller

    def column(self, name: str) -> Expression:
        """Return a column by exact name, or by any case, with missing values filled.

        Raises: UnsupportedQueryError if there is none or its type is not supported.
        """
        column_name = (
            name if name in self.schema else next((c for c in self.schema if c.casefold() == name.casefold()), None)
        )
        if column_name is None:
            raise UnsupportedQueryError(
                f"{self.name} has no column {name!r}.{did_you_mean(name, self.schema)} "
                f"Its columns: {listed(self.schema)}."
            )
        declared = self.columns.get(column_name, Declaration())
        kind = declared.kind or self.schema[column_name]
        if kind is None:
            raise UnsupportedQueryError(
                f"column {column_name!r} has a type that queries cannot use. Declare how to read it, for example "
                + declaring(column_name, "Text()", 'type = "text"')
                + "."
            )
        keys = declared.keys if declared.keys is not None else (False, True) if kind is Kind.BOOLEAN else None
        column = Column(column_name, Facts(kind=kind, lower=declared.lower, upper=declared.upper, keys=keys))
        if declared.null is None:
            return column
        whole = kind is Kind.INTEGER and declared.null.denominator == 1
        return call("coalesce", column, literal(int(declared.null) if whole else declared.null))


def changed(
    tables: Mapping[str, DeclaredTable], change: Callable[[DeclaredTable], DeclaredTable]
) -> dict[str, DeclaredTable]:
    """The tables, each changed, on key paths too."""

    def along(table: DeclaredTable) -> DeclaredTable:
        made = change(table)
        return made if made.path is None else replace(made, path=replace(made.path, parent=along(made.path.parent)))

    return {name: along(table) for name, table in tables.items()}


def _form(expression: Expression) -> str:
    return json.dumps(expression.to_json(), sort_keys=True)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, as a question; nothing if none is."""
    folded = {each.casefold(): each for each in known}
    matches = get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {folded[matches[0]]!r}?" if matches else ""


BOUNDS, KEYS = "lower = ... and upper = ...", "keys = [...]"  # as a policy says them


def declaring(name: str, declaration: str, fields: str) -> str:
    """Return how to declare a column or expression, in Python and in a policy.

    Args:
        declaration: its call, such as `Keys([...])`; fields: the same in a policy.
    """
    if of_table := re.fullmatch(r"(\w+)\.(\w+)", name, re.ASCII):  # of several, as joins name it
        table, column = of_table.groups()
        section = f"[tables.{table}.columns.{column}]"
        return f"columns={{{table!r}: {{{column!r}: dn.{declaration}}}}} (in a policy, {fields} under {section})"
    section = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
    return f"columns={{{name!r}: dn.{declaration}}} (in a policy, {fields} under [columns.{section}])"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Iterable[str]) -> str:
    return ", ".join(names)
