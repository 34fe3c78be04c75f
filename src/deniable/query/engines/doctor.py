"""Exact counts of rows that a policy leaves out or bends, for their owner alone.

Nothing here is private in the sense of a guarantee: these numbers come straight from the rows, without noise, and cost
nothing because nobody but the owner may see them. Values are never listed: a policy that is corrected from the
rows themselves would let its bounds and keys tell about them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from deniable.files.imported import facts_of_import, is_text_file, path_of_import
from deniable.query.catalog import DeclaredTable
from deniable.query.catalog import Path as KeyPath
from deniable.query.declarations import Declaration
from deniable.query.engines.base import Engine
from deniable.query.engines.duckdb.rows import SelectSource
from deniable.query.expression import Column, Expression, Facts, Kind, literal
from deniable.query.operators import call
from deniable.query.table_expression import Scan

WARNING = (
    "FOR THE OWNER OF THE DATA ALONE. DO NOT PUBLISH. These numbers are exact, no noise protects anybody in them.\n"
    "Do not correct bounds or keys from them either: a policy is public, and should follow from public knowledge."
)
STRAY = "values that are not among the declared keys; their rows are in no group"
ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "timestamp with time zone", "timestamp"}  # on any engine
NOTHING: Mapping[str, str] = MappingProxyType({})
ALL_WELL = "Nothing is odd: every line was read, every row counts, and no value was changed."


@dataclass(frozen=True)
class Finding:
    """One exact number about the private rows. SECRET: for the owner alone.

    `normal` is the number at best.
    """

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

    _held: SelectSource  # the table that is looked at

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._generator, self._run = engine.examiner()

    def examine(self, table: DeclaredTable) -> Iterator[Finding]:
        """Count everything worth counting about `table`, which the engine holds.

        A part may fail alone.
        """
        tables = self._generator.tables
        several = table.name in tables
        self._held = tables[table.name if several else ""]
        for finding in self._findings(table):
            yield replace(finding, subject=f"{table.name}.{finding.subject}") if several else finding

    def _findings(self, table: DeclaredTable) -> Iterator[Finding]:
        yield from self._import_losses(self._engine.paths.get(table.name, self._engine.source_name))
        if not self._engine.unchanged():
            yield Finding("columns", "a table has others, or of other types, than when it was opened", None)
        rows = f"FROM {self._held.text}"
        yield from self._ask("rows", rows, plain={"rows in the source": "count(*)"})
        if table.path is not None:
            yield from self._owners(table, table.path)
        if table.unit_column is not None:
            yield from self._units(table, self._generator.source(Scan(table)))
        for name, kind in table.schema.items():
            declared = table.columns.get(name, Declaration())
            chosen = declared.kind or kind
            odd = {} if chosen is None else dict(self._columns(name, declared, chosen))
            limits = () if name == table.unit.column else self._limits(name, declared, chosen)
            yield from self._ask(name, rows, odd, dict.fromkeys(limits, f"count({self._held.name(name)})"))
        for name, expression in table.expressions.items():
            yield from self._ask(name, rows, {STRAY: self._stray(self._value(expression), table.columns[name])})

    def _import_losses(self, source: str | None) -> Iterator[Finding]:
        """Yield what the import of a text file did not read; its report names the lines."""
        if source is None or not is_text_file(Path(source)):
            return
        facts = facts_of_import(path_of_import(Path(source))) or {"losses": []}
        for column, reason, count in facts["losses"]:
            yield Finding(column or "lines", reason, count)

    def _owners(self, table: DeclaredTable, path: KeyPath) -> Iterator[Finding]:
        """Rows at the end of a path that several units hold, or none."""
        parent = self._generator.source(Scan(path.parent))
        key = self._held.expression(table.column(path.key))
        listed = parent.expression(path.parent.column(path.parent_key))
        unit = parent.unit(path.parent.unit_column or "")
        held = f"SELECT {listed} AS k, count(DISTINCT {unit}) AS n FROM {parent.text} GROUP BY 1"
        where, noun = path.parent.name, table.unit.noun
        odd = {
            f"rows without a unit: no {noun} holds their key in {where}": "coalesce(n, 0) = 0",
            f"rows whose key several hold in {where}; they count for each of them": "n > 1",
        }
        matched = f"FROM (SELECT {key} AS r FROM {self._held.text}) LEFT JOIN ({held}) ON r = k"
        yield from self._ask(path.key, matched, odd)

    def _units(self, table: DeclaredTable, held: SelectSource) -> Iterator[Finding]:
        unit = held.unit(table.unit_column or "")
        noun = table.unit.noun
        rows = table.rows
        limit = f"rows={rows} rows; without GROUP BY they count as {rows}"
        if table.total_rows is not None:
            rows = table.total_rows
            limit = f"total_rows={table.total_rows} rows; each row of theirs counts less"
        nobody = {"rows without a unit: they are always left out": f"{unit} IS NULL"}
        yield from self._ask(noun, f"FROM {held.text}", nobody, {"units": f"count(DISTINCT {unit})"})
        if table.schema.get(table.unit.column or "") is Kind.TEXT:
            text = call("lower", call("trim", Column(table.unit.column or "", Facts(kind=Kind.TEXT))))
            pairs = f"SELECT DISTINCT {unit} AS u, {held.expression(text)} AS t FROM {held.text}"
            alike = f"FROM (SELECT u, row_number() OVER (PARTITION BY t ORDER BY u) AS n FROM ({pairs}))"
            odd = {"units that differ from another by case or spaces alone": "n > 1 AND u IS NOT NULL"}
            yield from self._ask(noun, alike, odd)
        known = f"FROM {held.text} WHERE {unit} IS NOT NULL"
        per_unit = f"FROM (SELECT {unit} AS u, count(*) AS n {known} GROUP BY 1)"
        largest = {"most rows of one unit": "coalesce(max(n), 0)"}
        beyond, lost = {}, {}
        if "rows" not in table.auto:
            beyond[f"units with more than {limit}"] = f"n > {rows}"
            lost[
                f"rows beyond {limit.split()[0]}, which do not count{'' if table.total_rows else ' without GROUP BY'}"
            ] = _over("n", rows)
        yield from self._ask(noun, per_unit, beyond, largest, lost)
        for name, declared in table.columns.items():
            if declared.keys is None or declared.kind is None or table.total_rows is not None:
                continue
            value = self._value(table.expressions.get(name) or Column(name, Facts(kind=declared.kind)))
            own = f"SELECT {unit} AS u, {value} AS k, count(*) AS n {known} AND {self._listed(value, declared)}"
            yield from self._groups(table, name, own)

    def _groups(self, table: DeclaredTable, name: str, own: str) -> Iterator[Finding]:
        """Count units in too many groups of a column, or with too many rows in one.

        Args:
            table: the private table.
            name: of the column, whose keys are declared.
            own: selects u, the unit, k, a declared key, and n, the number of rows, without GROUP BY.
        """
        rows, groups = table.rows, table.groups
        counts = f"count(*) AS g, max(n) AS n, {_over('n', rows)} AS o"
        per_unit = f"SELECT u, {counts} FROM ({own} GROUP BY 1, 2) GROUP BY 1"
        odd = {}
        lost = {}
        if "groups" not in table.auto:
            odd[f"units in more than groups={groups} groups of {name}; they keep {groups}"] = f"g > {groups}"
            lost[f"groups of {name} beyond groups={groups}, whose rows do not count"] = _over("g", groups)
        if "rows" not in table.auto:
            odd[f"units with more than rows={rows} rows in one group of {name}"] = f"n > {rows}"
            lost[f"rows beyond rows={rows} in one group of {name}, which do not count"] = "coalesce(sum(o), 0)"
        yield from self._ask(table.unit.noun, f"FROM ({per_unit})", odd, lost=lost)

    def _limits(self, name: str, declared: Declaration, kind: Kind | None) -> Iterator[str]:
        """Return what questions cannot do with a column."""
        if kind is None:
            yield "values of a type that no question can use; declare one, or make a view"
        elif kind.is_number and not (declared.keys or declared.auto) and None in (declared.lower, declared.upper):
            yield "numbers without public bounds; they can be counted, and not summed"
        if self._held.types[name] in ZONED:
            yield "moments of a time zone; their days and hours are those of UTC"

    def _columns(self, name: str, declared: Declaration, kind: Kind) -> Iterator[tuple[str, str]]:
        """Return possible irregularities of a column's values, with their conditions."""
        column = Column(name, Facts(kind=kind))
        raw = self._held.name(name)
        value = self._value(column)
        number = self._held.expression(column)
        yield "missing values", f"{raw} IS NULL"
        yield (
            f"values that cannot be read as {kind.value}; they count as missing",
            f"{raw} IS NOT NULL AND {value} IS NULL",
        )
        if kind is Kind.REAL:
            yield "values that are NaN; they count as missing", f"{value} IS NOT NULL AND {number} IS NULL"
        if kind is Kind.TEXT:
            lost = self._held.expression(call("like", column, literal("%\ufffd%")))
            yield "values with a lost letter (U+FFFD): they were once read in a wrong encoding", lost
        if kind.is_number and declared.keys is None and declared.lower is not None and declared.upper is not None:
            for sign, bound, word in (("<", declared.lower, "below lower"), (">", declared.upper, "above upper")):
                end = f"{float(bound)!r}::DOUBLE"
                yield f"values {word}={float(bound):g}; they are clamped to it", f"{number} {sign} {end}"
        if declared.keys is not None:
            yield STRAY, self._stray(value, declared)

    def _value(self, expression: Expression) -> str:
        """A column or an expression as a query would read it, NaN included."""
        return self._held.expression(expression, nan_allowed=True)

    def _ask(
        self,
        subject: str,
        source: str,
        odd: Mapping[str, str] = NOTHING,
        plain: Mapping[str, str] = NOTHING,
        lost: Mapping[str, str] = NOTHING,
    ) -> Iterator[Finding]:
        """Return exact numbers by the texts that say what they are.

        They are numbers of rows for which a condition holds, at best none, and any aggregates.

        Args:
            plain: aggregates that may have any value.
            lost: aggregates that are 0 at best.
        """
        conditions = (f"count(*) FILTER (WHERE {condition})" for condition in odd.values())
        counts = [*plain.values(), *conditions, *lost.values()]
        if not counts:
            return
        try:
            (row,) = self._run(self._generator.finished(f"SELECT {', '.join(counts)} {source}"))
        except Exception as error:
            yield Finding(subject, f"the engine stopped: {error}", None)
            return
        for what, count in zip([*plain, *odd, *lost], row, strict=True):
            yield Finding(subject, what, int(count), None if what in plain else 0)

    def _stray(self, value: str, declared: Declaration) -> str:
        """A condition that is true for values that are no declared keys."""
        return f"{value} IS NOT NULL AND NOT {self._listed(value, declared)}"

    def _listed(self, value: str, declared: Declaration) -> str:
        """Return a condition that is true for declared keys, false for other values.

        It is never NULL.
        """
        keys = declared.keys or ()
        known = [self._generator.constant(key) for key in keys if key is not None]
        listed = f"coalesce({value} IN ({', '.join(known)}), FALSE)"
        return f"({listed} OR {value} IS NULL)" if None in keys else listed


def _over(count: str, limit: int) -> str:
    """The sum of what counts have above a limit."""
    return f"coalesce(sum(CASE WHEN {count} > {limit} THEN {count} - {limit} ELSE 0 END), 0)"
