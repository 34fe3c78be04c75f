"""Exact counts of what a policy leaves out or bends, for the owner of the data alone.

Nothing here is private in the sense of a guarantee: these numbers come straight from the rows, without noise, and cost
nothing because nobody but the owner may see them. Values are never listed: a policy that is corrected from the
rows themselves would let its bounds and keys tell about them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deniable.query.catalog import Path as KeyPath
from deniable.query.catalog import Table
from deniable.query.declarations import Declaration
from deniable.query.engines.base import Engine
from deniable.query.engines.duckdb.relations import Source
from deniable.query.expression import Column, Expression, Facts, Key, Kind, literal
from deniable.query.operators import call
from deniable.query.relation import Scan
from deniable.rows.csv.imported import facts_of_import, is_text_file, place_of_import

WARNING = (
    "FOR THE OWNER OF THE DATA ALONE. DO NOT PUBLISH. These numbers are exact, no noise protects anybody in them.\n"
    "Do not correct bounds or keys from them either: a policy is public, and should follow from public knowledge."
)
STRAY = "values that are not among the declared keys; their rows are in no group"
ZONED = {"DuckDB": "TIMESTAMP WITH TIME ZONE", "PostgreSQL": "timestamp with time zone", "Spark": "timestamp"}
ALL_WELL = "Nothing is odd: every line was read, every row counts, and no value was changed."


@dataclass(frozen=True)
class Finding:
    """One exact number about the private rows. SECRET: for the owner alone. `normal` is what it would be at best."""

    subject: str
    what: str
    count: int | None  # None: the engine stopped, `what` says how
    normal: int | None = 0  # None: any number is fine

    @property
    def odd(self) -> bool:
        """Whether the owner should look at it."""
        return self.count is None or (self.normal is not None and self.count != self.normal)


class Doctor:
    """Counts, exactly, what is odd about the rows of an engine."""

    _held: Source  # the table that is looked at

    def __init__(self, engine: Engine) -> None:
        self._engine, (self._generator, self._run) = engine, engine.examiner()

    def examine(self, table: Table) -> Iterator[Finding]:
        """Everything worth counting about `table`, which the engine holds. A part may fail alone."""
        tables = self._generator.tables
        several = table.name in tables
        self._held = tables[table.name if several else ""]
        for finding in self._findings(table):
            yield replace(finding, subject=f"{table.name}.{finding.subject}") if several else finding

    def _findings(self, table: Table) -> Iterator[Finding]:
        yield from self._import_losses(self._engine.paths.get(table.name, self._engine.source_name))
        if not self._engine.unchanged():
            yield Finding("columns", "a table has others, or of other types, than when it was opened", None)
        yield from self._ask("rows", ["count(*)"], [("rows in the source", None)], f"FROM {self._held.text}")
        if table.path is not None:
            yield from self._owners(table, table.path)
        if table.unit_column is not None:
            yield from self._units(table, self._generator.source(Scan(table)))
        for name, kind in table.schema.items():
            declared = table.columns.get(name, Declaration())
            chosen = declared.kind or kind
            if chosen is not None:
                yield from self._column_findings(name, declared, chosen)
            said = [] if name == table.unit.column else list(self._limits(name, declared, chosen))
            if said:
                raw = f"count(*) FILTER (WHERE {self._held.name(name)} IS NOT NULL)"
                yield from self._ask(
                    name, [raw] * len(said), [(what, None) for what in said], f"FROM {self._held.text}"
                )
        for name, expression in table.expressions.items():
            value = self._value(expression)
            yield from self._ask(
                name,
                [f"count(*) FILTER (WHERE {self._stray(value, table.columns[name].keys or ())})"],
                [(STRAY, 0)],
                f"FROM {self._held.text}",
            )

    def _import_losses(self, source: str | None) -> Iterator[Finding]:
        """What the import of a text file did not read; its report names the lines."""
        if source is None or not is_text_file(Path(source)):
            return
        facts = facts_of_import(place_of_import(Path(source))) or {"losses": []}
        for column, reason, count in facts["losses"]:
            yield Finding(column or "lines", reason, count)

    def _owners(self, table: Table, path: KeyPath) -> Iterator[Finding]:
        """Rows at the end of a path that several units hold, or none."""
        parent = self._generator.source(Scan(path.parent))
        key = self._held.expression(table.column(path.key))
        listed = parent.expression(path.parent.column(path.parent_key))
        unit = parent.unit(path.parent.unit_column or "")
        held = f"SELECT {listed} AS k, count(DISTINCT {unit}) AS n FROM {parent.text} GROUP BY 1"
        yield from self._ask(
            path.key,
            ["count(*) FILTER (WHERE coalesce(n, 0) = 0)", "count(*) FILTER (WHERE n > 1)"],
            [
                (f"rows of nobody: no {table.unit.noun} holds their key in {path.parent.name}", 0),
                (f"rows whose key several hold in {path.parent.name}; they count for each of them", 0),
            ],
            f"FROM (SELECT {key} AS r FROM {self._held.text}) LEFT JOIN ({held}) ON r = k",
        )

    def _units(self, table: Table, held: Source) -> Iterator[Finding]:
        unit = held.unit(table.unit_column or "")
        noun, rows, groups = table.unit.noun, table.rows, table.groups
        limit = f"rows={rows} rows; without GROUP BY they count as {rows}"
        if table.total_rows is not None:
            rows, limit = table.total_rows, f"total_rows={table.total_rows} rows; each row of theirs counts less"
        yield from self._ask(
            noun,
            [f"count(*) FILTER (WHERE {unit} IS NULL)", f"count(DISTINCT {unit})"],
            [("rows of nobody: the unit is missing, they are always left out", 0), ("units", None)],
            f"FROM {held.text}",
        )
        if table.schema.get(table.unit.column or "") is Kind.TEXT:
            text = call("lower", call("trim", Column(table.unit.column or "", Facts(kind=Kind.TEXT))))
            yield from self._ask(
                noun,
                [f"count(DISTINCT {unit}) - count(DISTINCT {held.expression(text)})"],
                [("units that differ from another by case or spaces alone", 0)],
                f"FROM {held.text}",
            )
        known = f"FROM {held.text} WHERE {unit} IS NOT NULL"
        yield from self._ask(
            noun,
            ["coalesce(max(n), 0)", f"count(*) FILTER (WHERE n > {rows})"],
            [
                ("most rows of one unit", None),
                (f"units with more than {limit}", 0),
            ],
            f"FROM (SELECT {unit} AS u, count(*) AS n {known} GROUP BY 1)",
        )
        for name, declared in table.columns.items():
            if declared.keys is None or declared.kind is None or table.total_rows is not None:
                continue
            value = self._value(table.expressions.get(name) or Column(name, Facts(kind=declared.kind)))
            per_group = (
                f"SELECT {unit} AS u, {value} AS k, count(*) AS n {known} AND {self._listed(value, declared.keys)}"
            )
            per_unit = f"SELECT u, count(*) AS g, max(n) AS n FROM ({per_group} GROUP BY 1, 2) GROUP BY 1"
            yield from self._ask(
                noun,
                [f"count(*) FILTER (WHERE g > {groups})", f"count(*) FILTER (WHERE n > {rows})"],
                [
                    (f"units in more than groups={groups} groups of {name}; they keep {groups}", 0),
                    (f"units with more than rows={rows} rows in one group of {name}", 0),
                ],
                f"FROM ({per_unit})",
            )

    def _limits(self, name: str, declared: Declaration, kind: Kind | None) -> Iterator[str]:
        """What questions cannot do with a column, or not as its reader may think."""
        if kind is None:
            yield "values of a type that no question can use; declare one, or make a view"
        elif (
            kind.is_number and declared.keys is None and not declared.auto and None in (declared.lower, declared.upper)
        ):
            yield "numbers without public bounds; they can be counted, and not summed"
        if self._held.types[name] == ZONED[self._held.dialect.name]:
            yield "moments of a time zone; their days and hours are those of UTC"

    def _column_findings(self, name: str, declared: Declaration, kind: Kind) -> Iterator[Finding]:
        raw, value = self._held.name(name), self._value(Column(name, Facts(kind=kind)))
        number = self._held.expression(Column(name, Facts(kind=kind)))  # NULL where it is NaN
        counts = [f"{raw} IS NULL", f"{raw} IS NOT NULL AND {value} IS NULL"]
        words = ["missing values", f"values that cannot be read as {kind.value}; they count as missing"]
        if kind is Kind.REAL:
            counts.append(f"{value} IS NOT NULL AND {number} IS NULL")
            words.append("values that are NaN; they count as missing")
        if kind is Kind.TEXT:
            lost = call("like", Column(name, Facts(kind=kind)), literal("%\ufffd%"))
            counts.append(self._held.expression(lost))
            words.append("values with a lost letter (U+FFFD): they were once read in a wrong encoding")
        if kind.is_number and declared.keys is None and declared.lower is not None and declared.upper is not None:
            for sign, bound, word in (("<", declared.lower, "below lower"), (">", declared.upper, "above upper")):
                counts.append(f"{number} {sign} {float(bound)!r}::DOUBLE")
                words.append(f"values {word}={float(bound):g}; they are clamped to it")
        if declared.keys is not None:
            counts.append(self._stray(value, declared.keys))
            words.append(STRAY)
        yield from self._ask(
            name,
            [f"count(*) FILTER (WHERE {condition})" for condition in counts],
            [(word, 0) for word in words],
            f"FROM {self._held.text}",
        )

    def _value(self, expression: Expression) -> str:
        """A column or an expression as a query would read it, NaN included."""
        return self._held.expression(expression, nan_allowed=True)

    def _ask(
        self, subject: str, counts: Sequence[str], words: Sequence[tuple[str, int | None]], rest: str
    ) -> Iterator[Finding]:
        statement = self._generator.finished(f"SELECT {', '.join(counts)} {rest}")
        try:
            (row,) = self._run(statement)
        except Exception as error:
            yield Finding(subject, f"the engine stopped: {error}", None)
            return
        for (what, normal), count in zip(words, row, strict=True):
            yield Finding(subject, what, int(count), normal)

    def _stray(self, value: str, keys: Sequence[Key]) -> str:
        """A condition that is true for values that are no declared keys."""
        return f"{value} IS NOT NULL AND NOT {self._listed(value, keys)}"

    def _listed(self, value: str, keys: Sequence[Key]) -> str:
        """A condition that is true for declared keys, false for other values, and never NULL."""
        known = [self._generator.constant(key) for key in keys if key is not None]
        listed = f"coalesce({value} IN ({', '.join(known)}), FALSE)"
        return f"({listed} OR {value} IS NULL)" if None in keys else listed
