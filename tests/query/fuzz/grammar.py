"""Random questions over all that SQL takes, some through frames and statistics: templates whose holes have kinds.

`{I}` is a whole number, `{R}` a real one, `{N}` either, `{T}` text, `{B}` a condition, `{D}` a date, `{M}` a moment,
`{A}` any of them; `{C}` is a number with public bounds, `{K}` a column with public keys, `{L}` one of text, `{U}` the
unit, `{P}` a subquery over a public table, `{X}` an aggregate that adds up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

LEAVES = {
    "I": ["0", "1", "2", "-3", "100", "9007199254740993", "NULL"],
    "R": ["0.5", "2.5", "-1.25", "9e18", "0.1", "1e-300"],
    "T": ["'a'", "''", "'it''s'", "'12'", "'\u00e9'", "'2024-02-29'"],
    "B": ["TRUE", "FALSE"],
    "D": ["DATE '2024-02-29'", "CAST('2025-01-01' AS DATE)"],
    "M": ["TIMESTAMP '2024-12-31 23:59:59'", "CAST('2025-01-01 12:00:00' AS TIMESTAMP)"],
}
ANY = "IRTBDM"
_SHARED = ("COALESCE({0}, {0})", "NULLIF({0}, {0})", "CASE WHEN {B} THEN {0} ELSE {0} END", "IF({B}, {0}, {0})")
_SHARED += ("CASE WHEN {B} THEN {0} WHEN {B} THEN {0} END", "CASE {T} WHEN 'a' THEN {0} WHEN '12' THEN {0} END")
_DATED = ("YEAR({0})", "QUARTER({0})", "MONTH({0})", "WEEK({0})", "DAY({0})", "DAYOFWEEK({0})", "DAYOFYEAR({0})")
_DATED += ("EXTRACT(dow FROM {0})", "EXTRACT(month FROM {0})")
_PERIODS = ("DATE_TRUNC('month', {0})", "DATE_TRUNC('week', {0})", "DATE_TRUNC('year', {0})", "CAST({0} AS DATE)")
_ALIKE = ("({0} = {0})", "({0} <> {0})", "({0} < {0})", "({0} >= {0})", "({0} BETWEEN {0} AND {0})", "({0} IS NULL)")
_ALIKE += ("({0} IS NOT NULL)",)


def _each(templates: Sequence[str], kinds: str) -> Iterator[str]:
    for template in templates:
        yield from (template.replace("{0}", f"{{{kind}}}") for kind in kinds)


VALUES: Mapping[str, Sequence[str]] = {
    "I": (
        *_each(_SHARED, "I"), *_each(_DATED, "DM"), "({I} + {I})", "({I} - {I})", "({I} * {I})", "({I} % {I})",
        "(-{I})",
        "ABS({I})", "SIGN({N})", "FLOOR({N})", "CEIL({N})", "LEAST({I}, {I})", "GREATEST({I}, {I}, {I})",
        "LENGTH({T})",
        "HOUR({M})", "MINUTE({M})", "CAST({N} AS BIGINT)", "CAST({T} AS BIGINT)", "TRY_CAST({T} AS INTEGER)",
        "CAST({B} AS INT)", "WIDTH_BUCKET({N}, 0, 9, 5)", "({I} % 3)", "({I} + 1)", "(SELECT COUNT(k) FROM p)",
    ),
    "R": (
        *_each(_SHARED, "R"), "({R} + {N})", "({N} - {R})", "({R} * {N})", "({N} / {N})", "({R} % {R})", "(-{R})",
        "ABS({R})", "ROUND({N})", "ROUND({R}, 2)", "SQRT({N})", "LN({N})", "LOG10({N})", "LOG({N})", "EXP({N})",
        "POWER({N}, 2)", "POWER({N}, {N})", "LEAST({R}, {N})", "GREATEST({N}, {R})", "CAST({N} AS DOUBLE)",
        "CAST({T} AS DOUBLE)", "TRY_CAST({T} AS FLOAT)", "({N} ** 2)",
    ),
    "T": (
        *_each(_SHARED, "T"), "LOWER({T})", "UPPER({T})", "TRIM({T})", "({T} || {T})", "SUBSTRING({T}, 2, 3)",
        "CAST({I} AS TEXT)", "CAST({B} AS TEXT)", "CAST({D} AS TEXT)", "CAST({T} AS VARCHAR)",
    ),
    "B": (
        *_each(_ALIKE, ANY), *_each(_ALIKE[:4], "ITN"), "({T} LIKE 'a%')", "({T} ILIKE '%A_')",
        "({T} NOT LIKE '%''%')",
        "({B} AND {B})", "({B} OR {B})", "(NOT {B})", "({I} IN (0, 1, 2))", "({T} IN ('a', 'A', '12'))",
        "({R} IN (0.5, 1))",
        "({T} NOT IN ('a'))", "({B} IS TRUE)", "({B} IS NOT FALSE)", "CAST({I} AS BOOLEAN)", "({N} < {N})",
        "({N} > {N})",
        "({L} = 'a')", "({D} >= '2024-01-01')", "({M} < '2025-01-01 10:00:00')", "({T} IN {P})", "({N} <= 3)",
        "({N} > 0)",
        "({T} <> 'a')",
    ),
    "D": (*_each(_SHARED, "D"), *_each(_PERIODS, "DM"), "CAST({T} AS DATE)"),
    "M": (*_each(_SHARED, "M"), "CAST({D} AS TIMESTAMP)", "CAST({T} AS TIMESTAMP)", "COALESCE({M}, {D})"),
}  # fmt: skip
CLAMPED = (
    "LEAST(GREATEST({N}, 0), 9)", "GREATEST(LEAST({N}, 2.5), -1)", "LEAST(GREATEST({C}, -3), 4)", "({C} + {C})",
    "({C} * {C})", "(-{C})", "ABS({C})", "COALESCE({C}, 0)", "CASE WHEN {B} THEN {C} ELSE 0 END", "SIGN({N})",
    "({C} - 1)",
    "CASE WHEN {B} THEN {C} END", "WIDTH_BUCKET({C}, 0, 5, 3)", "ROUND({C}, 1)", "FLOOR({C})", "SQRT(ABS({C}))",
    "({C} / 4)",
    "CAST({B} AS INT)", "LEAST(GREATEST(LEAST(GREATEST({C}, 0), 3), 1), {C})", "NULLIF({C}, 1)",
    "CAST({C} AS DOUBLE)",
    "({C} % 2)", "IF({B}, {C}, {C})", "MONTH({D})", "CAST({C} AS BIGINT)",
)  # fmt: skip
TOTALS = ("COUNT(*)", "COUNT({A})", "COUNT(DISTINCT {I})", "COUNT(DISTINCT {T})", "COUNT(DISTINCT {D})", "SUM({C})",
          "COUNT(DISTINCT {U})", "AVG({C})", "SUM({C})", "COUNT(*)")  # fmt: skip
OTHERS = (
    "MEDIAN({C})", "MIN({C})", "MAX({C})", "QUANTILE_CONT({C}, 0.9)",
    "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY {C})",
    "VAR_POP({C})", "VARIANCE({C})", "VAR_SAMP({C})", "STDDEV({C})", "STDDEV_POP({C})", "CORR({C}, {C})", "MODE({K})",
    "COVAR_POP({C}, {C})", "COVAR_SAMP({C}, {C})", "COUNTIF({B})", "COUNT_IF({B})",
)  # fmt: skip
ARITHMETIC = (
    "{X} / COUNT(*)", "ROUND({X}, 1)", "COALESCE({X}, 0) + {X}", "CASE WHEN COUNT(*) > 3 THEN {X} ELSE 0 END", "-{X}",
    "SQRT(ABS({X}))", "LEAST({X}, 10)", "{X} * 2 - {X}", "100 * {X} / {X}", "FLOOR({X})", "CAST({X} AS DOUBLE)",
)  # fmt: skip
KEYS = (
    "{K}", "{K}", "CASE WHEN {B} THEN 'lo' ELSE 'hi' END", "FLOOR(LEAST(GREATEST({N}, 0), 3))",
    "WIDTH_BUCKET({N}, 0, 5, 3)",
    "MONTH({D})", "EXTRACT(dow FROM {M})", "({N} > {N})", "({T} IS NULL)", "SIGN({N})",
    "CASE WHEN {B} THEN 1 WHEN {B} THEN 2 END",
    "COALESCE({L}, 'a')", "({I} IN (0, 1))", "HOUR({M})", "{B}",
)  # fmt: skip
FOUND = ("{T}", "{I}", "{D}", "UPPER({T})", "COALESCE({T}, '?')")
# Frames and statistics in Python: `{F}` is a number, `{G}` a condition, `{H}` an aggregate, `{V}` the name of a number.
PYTHON: Mapping[str, Sequence[str]] = {
    "F": (
        'dn.col("x")', 'dn.col("r")', 'dn.col("n")', "({F} + {F})", "({F} * 2 - {F})", "{F}.clip(0, 4)", "{F}.abs()",
        "{F}.round(1)",
        "{F}.fill_null(0)", "dn.when({G}).then({F}).otherwise({F})", "({F} / {F})", "{F}.floor()",
        'dn.col("s").length()',
        'dn.col("d").year()', "{F}.sqrt()", 'dn.col("s").cast(int)',
    ),
    "G": (
        "({F} > {F})", "({G} & {G})", "(~{G})", 'dn.col("s").like("a%")', 'dn.col("g").is_in(["a", "A"])',
        "{F}.is_null()",
        "{F}.is_between(0, 3)", 'dn.col("b")', '(dn.col("s").lower() == "a")', "({G} | {G})",
    ),
    "H": (
        "dn.len()", "{F}.count()", "{F}.clip(0, 3).sum()", "{F}.clip(-1, 4).mean()", "{F}.clip(0, 9).median()",
        'dn.col("x").max()',
        'dn.col("s").n_unique()', 'dn.col("g").mode()', "{F}.clip(0, 1).std()", "dn.len().filter({G})",
        'dn.col("r").sum().filter({G})',
        "(dn.len() * 2)", '(dn.col("x").sum() / dn.len())', 'dn.col("r").quantile(0.9)',
        'dn.col("x").corr(dn.col("r"))',
    ),
    "Y": ('"g"', 'dn.col("b")', '({F} > 1).alias("y")', 'dn.col("d").month().alias("y")',
    "{F}.bucket(0, 5, 3).alias('y')"),
    "J": (
        "", "", ".filter({G})", ".filter({G})", ".with_columns(({F}).alias('z'))", '.join(db.table("w"), on="u")',
        ".with_columns(x={F})",
        '.join(db.table("p"), on="g", how="left")', '.union(db.table("t").filter({G}))',
        '.join(db.table("w"), on="k", how="left")',
    ),
    "Q": (
        'db.table("t"){J}{J}.group_by({Y}).agg(a={H}, b={H})',
        'db.table("t"){J}.select(a={H})',
        'db.table("w"){J}.group_by({Y}).agg(a={H})',
        'db.table("t"){J}.group_by("u").agg(c={F}.clip(0, 9).sum()).agg(a=dn.col("c").clip(0, 9).mean(), b=dn.len())',
        'db.table("t"){J}.group_by({Y}).agg(a={H}, b=dn.len()).filter(dn.col("b") > 1).sort("a").head(2)',
    ),
    "V": ('"x"', '"r"'),
    "S": (
        "count({V}", "sum({V}", "mean({V}", "variance({V}", "std({V}", "median({V}", "quantile({V}, 0.9", "min({V}",
        "max({V}",
        'histogram("g"', 'mode("g"', "iqr({V}", 'covariance("x", "r"', 'correlation("x", "r"',
        'linear_regression(["x"], "r"',
        'key_counts("g"', 'top_k("g", 1',
    ),
}  # fmt: skip
HOLE, PUBLIC = re.compile(r"\{(\w)\}"), re.compile(r"\{P\}|FROM p")
RANKED = re.compile(r"MEDIAN|MIN|MAX|QUANTILE|PERCENTILE|MODE|DISTINCT .[ITD]")


@dataclass(frozen=True)
class Column:
    """A column in scope: its kind, and whether numbers have public bounds and others public keys."""

    name: str
    kind: str
    bounded: bool = False
    keyed: bool = False


@dataclass(frozen=True)
class Source:
    """What stands in FROM, without an alias, and its columns.

    Args:
        unit: the columns that say whose row it is; none where a path or each row does.
        path: the column that leads to the parent table, and its name there.
    """

    sql: str
    columns: tuple[Column, ...]
    unit: tuple[str, ...] = ()
    path: tuple[str, str, str] | None = None
    private: bool = True

    def of(self, alias: str) -> "Source":
        """The same with names that say their table."""
        columns = tuple(replace(each, name=f"{alias}.{each.name}") for each in self.columns)
        return replace(self, columns=columns, unit=tuple(f"{alias}.{name}" for name in self.unit))


@dataclass
class Grammar:
    """Random questions about tables.

    Args:
        finds: whether the price lets groups be found.
        depths: how many subqueries may stand below each other; outputs: how many aggregates may be asked for.
        ranked: whether units are bounded as medians and different values need it.
    """

    draw: Random
    tables: Mapping[str, Source]
    finds: bool = False
    ranked: bool = True
    depths: Sequence[int] = (0, 0, 0, 1, 1, 2, 3)
    outputs: Sequence[int] = (1, 1, 2, 3, 5)
    used: set[str] = field(default_factory=set)  # templates and clauses of the question at hand
    names: int = 0

    def fill(self, template: str, depth: int, source: Source) -> str:
        """A template with random expressions in its holes."""
        self.used.add(template)
        return HOLE.sub(lambda found: self._hole(found[1], depth - 1, source), template)

    def _hole(self, kind: str, depth: int, source: Source) -> str:
        match kind:
            case "N":
                return self.value(self.draw.choice("IIR"), depth, source)
            case "A":
                return self.value(self.draw.choice(ANY), depth, source)
            case "C":
                return self.number(depth, source)
            case "K":
                return self._column([each for each in source.columns if each.keyed]) or self.value("B", 0, source)
            case "L":
                return self._column([each for each in source.columns if each.keyed and each.kind == "T"]) or "'a'"
            case "U":
                return source.unit[0] if source.unit else "1"
            case "P":
                return "(SELECT label FROM p)" if self.draw.random() < 0.5 else "(SELECT g FROM p WHERE g IS NOT NULL)"
            case "X":
                return self.total(depth, source)
        return self.value(kind, depth, source)

    def _column(self, columns: Sequence[Column]) -> str | None:
        return self.draw.choice(columns).name if columns else None

    def value(self, kind: str, depth: int, source: Source) -> str:
        """An expression of a kind."""
        if depth <= 0 or self.draw.random() < 0.25:
            found = self._column([each for each in source.columns if each.kind == kind])
            return found if found is not None and self.draw.random() < 0.85 else self.draw.choice(LEAVES[kind])
        known = "p" in self.tables
        return self.fill(
            self.draw.choice([each for each in VALUES[kind] if known or not PUBLIC.search(each)]), depth, source
        )

    def number(self, depth: int, source: Source) -> str:
        """A number with public bounds."""
        found = self._column([each for each in source.columns if each.bounded])
        if depth <= 0 and found is not None:
            return found
        return self.fill(self.draw.choice(CLAMPED if depth > 0 else CLAMPED[:2]), depth, source)

    def total(self, depth: int, source: Source) -> str:
        """An aggregate that adds up, perhaps of some rows alone."""
        said = self.fill(self._aggregate(TOTALS), depth, source)
        return self._filtered(said, source)

    def _aggregate(self, templates: Sequence[str]) -> str:
        return self.draw.choice(
            [each for each in templates if self.ranked or not RANKED.match(each.removeprefix("COUNT("))]
        )

    def _filtered(self, said: str, source: Source) -> str:
        if self.draw.random() < 0.85:
            return said
        self.used.add("FILTER")
        return f"{said} FILTER (WHERE {self.value('B', 2, source)})"

    def output(self, source: Source) -> str:
        """A column of the answer."""
        chance, depth = self.draw.random(), self.draw.choice([0, 1, 1, 2, 3])
        if chance < 0.6:
            return self.total(depth, source)
        if chance < 0.8:
            return self._filtered(self.fill(self._aggregate(OTHERS), depth, source), source)
        return self.fill(self.draw.choice(ARITHMETIC), depth, source)

    # Rows ---------------------------------------------------------------------------------------------------------

    def rows(self, depth: int) -> Source:
        """What a FROM may hold that is private."""
        private = [each for each in self.tables.values() if each.private]
        if depth <= 0 or self.draw.random() < 0.3:
            return self.draw.choice(private)
        made = self.draw.choice([self._projected, self._projected, self._grouped, self._distinct, self._union])
        return made(depth)

    def _alias(self) -> str:
        self.names += 1
        return f"q{self.names}"

    def _from(self, depth: int) -> tuple[str, Source]:
        """The text behind FROM, perhaps a join, and what is in scope."""
        alias = self._alias()
        first = self.rows(depth)
        joined = self._joined(first, alias, depth) if self.draw.random() < 0.3 else None
        return joined or (f"{first.sql} AS {alias}", first.of(alias) if self.draw.random() < 0.5 else first)

    def _joined(self, first: Source, alias: str, depth: int) -> tuple[str, Source] | None:
        other, public = self._alias(), self.tables.get("p")
        join = self.draw.choice(["JOIN", "LEFT JOIN", "INNER JOIN"])
        left = first.of(alias)
        if public is not None and self.draw.random() < 0.5:
            keys = [each.name for each in first.columns if each.name in ("k", "g")]
            if not keys:
                return None
            key = self.draw.choice(keys)
            right, on = public, f"{alias}.{key} = {other}.{key}"
            self.used.add(f"public {join}")
        elif first.path is not None:
            key, parent, there = first.path
            right, on = self.tables[parent], f"{alias}.{key} = {other}.{there}"
            self.used.add(f"path {join}")
        else:
            right = self.rows(depth - 1)
            if not first.unit or not right.unit:
                return None
            pairs = zip(left.unit, right.of(other).unit, strict=True)
            on = " AND ".join(f"{one} = {two}" for one, two in pairs)
            self.used.add(f"private {join}")
        there_ = right.of(other)
        columns = there_.columns
        if "LEFT" in join:
            columns = tuple(replace(each, keyed=False) for each in columns)
        unit = left.unit or (there_.unit if right.private and "LEFT" not in join else ())
        found = replace(left, columns=(*left.columns, *columns), unit=unit, path=None)
        return f"{first.sql} AS {alias} {join} {right.sql} AS {other} ON {on}", found

    def _where(self, source: Source, chance: float = 0.4) -> str:
        if self.draw.random() > chance:
            return ""
        self.used.add("WHERE")
        return f" WHERE {self.value('B', self.draw.choice([1, 2, 3]), source)}"

    def _units(self, source: Source) -> tuple[list[str], tuple[str, ...]]:
        """Items of a SELECT that carry the unit along, and their names in it."""
        names = tuple(f"u{place}" if place else "u" for place in range(len(source.unit)))
        return [f"{one} AS {name}" for one, name in zip(source.unit, names, strict=True)], names

    def _shape(self) -> list[Column]:
        kinds = [self.draw.choice("CCIRTKBDM") for _ in range(self.draw.choice([1, 2, 3]))]
        return [
            Column(f"c{place}", {"C": "I", "K": "T"}.get(kind, kind), bounded=kind == "C", keyed=kind == "K")
            for place, kind in enumerate(kinds)
        ]

    def _item(self, column: Column, source: Source) -> tuple[str, Column]:
        if column.keyed:
            found = [each for each in source.columns if each.keyed]
            if found:
                chosen = self.draw.choice(found)
                return chosen.name, replace(column, kind=chosen.kind)
            column = replace(column, keyed=False)
        if column.bounded:
            return f"LEAST(GREATEST({self.value('I', 1, source)}, -1), 4)", column
        return self.value(column.kind, self.draw.choice([0, 1, 2]), source), column

    def _projected(self, depth: int) -> Source:
        text, source = self._from(depth - 1)
        self.used.add("subquery")
        units, names = self._units(source)
        items = [self._item(column, source) for column in self._shape()]
        listed = ", ".join([*units, *(f"{said} AS {column.name}" for said, column in items)])
        sql = f"(SELECT {listed} FROM {text}{self._where(source)})"
        return Source(sql, self._with_units(source, names, [column for _, column in items]), names)

    def _with_units(self, source: Source, names: Sequence[str], columns: Sequence[Column]) -> tuple[Column, ...]:
        kinds = {each.name: each.kind for each in source.columns}
        units = [Column(name, kinds.get(own, "T")) for name, own in zip(names, source.unit, strict=True)]
        return (*units, *columns)

    def _distinct(self, depth: int) -> Source:
        found = self._projected(depth)
        self.used.add("SELECT DISTINCT")
        return replace(found, sql=found.sql.replace("(SELECT", "(SELECT DISTINCT", 1)) if found.unit else found

    def _grouped(self, depth: int) -> Source:
        text, source = self._from(depth - 1)
        if not source.unit:
            return self._projected(depth)
        self.used.add("GROUP BY unit")
        units, names = self._units(source)
        keyed = [each for each in source.columns if each.keyed] if self.draw.random() < 0.4 else []
        key = [self.draw.choice(keyed)] if keyed else []
        totals, columns = [], [Column("c0", each.kind, keyed=True) for each in key]
        for place in range(1, self.draw.choice([2, 3, 4])):
            function = self.draw.choice(["COUNT(*)", "COUNT({A})", "SUM({C})", "AVG({C})", "MIN({N})", "MAX({N})",
            "MAX({D})",
                                         "SUM({I})", "COUNT(*) FILTER (WHERE {B})",
                                         "SUM({C}) / COUNT(*)"])  # fmt: skip
            totals.append(f"{self.fill(function, 2, source)} AS c{place}")
            columns.append(Column(f"c{place}", "D" if "{D}" in function else "I" if "COUNT" in function[:5] else "R"))
        having = ""
        if self.draw.random() < 0.25:
            self.used.add("HAVING of units")
            having = f" HAVING {self.draw.choice(['COUNT(*) > 1', 'COUNT(*) < 3', 'MAX(1) = 1'])}"
        listed = ", ".join([*units, *(f"{each.name} AS c0" for each in key), *totals])
        by = ", ".join([*source.unit, *(each.name for each in key)])
        sql = f"(SELECT {listed} FROM {text}{self._where(source, 0.3)} GROUP BY {by}{having})"
        return Source(sql, self._with_units(source, names, columns), names)

    def _union(self, depth: int) -> Source:
        shape, parts, found = self._shape(), [], None
        self.used.add("UNION ALL")
        for _ in range(self.draw.choice([2, 2, 3])):
            text, source = self._from(depth - 1)
            units, names = self._units(source)
            items = [self._item(replace(column, keyed=False), source) for column in shape]
            listed = ", ".join([*units, *(f"{said} AS {column.name}" for said, column in items)])
            made = self._with_units(source, names, [column for _, column in items])
            if found is None or len(names) == len(found.unit):
                parts.append(f"SELECT {listed} FROM {text}{self._where(source, 0.3)}")
                found = found or Source("", made, names)
        assert found is not None
        return replace(found, sql=f"({' UNION ALL '.join(parts)})")

    def python(self, kind: str, depth: int) -> str:
        """A frame or a statistic, in Python."""
        options = PYTHON[kind]
        chosen = self.draw.choice(options if depth > 0 else [each for each in options if "{" not in each] or options)
        self.used.add(chosen)
        return HOLE.sub(lambda found: self.python(found[1], depth - 1), chosen)

    def frame(self) -> str:
        """A question that is asked of frames."""
        self.used = {"frame"}
        return self.python("Q", 4)

    def statistic(self) -> str:
        """A statistic of a table, which is still to be closed by its price and a parenthesis."""
        self.used = {"statistic"}
        name = self.draw.choice([name for name, each in self.tables.items() if each.private])
        where = ""
        if self.draw.random() < 0.3:
            where = f", where={self.value('B', 2, self.tables[name])!r}"
        return f"db[{name!r}].{self.python('S', 2)}{where}"

    # Questions ----------------------------------------------------------------------------------------------------

    def question(self) -> str:
        """A SELECT."""
        self.used, self.names = set(), 0
        held, named = dict(self.tables), []
        for number in range(self.draw.choice([0, 0, 0, 0, 1, 2])):
            made = self.rows(2)
            self.used.add("WITH")
            named.append(
                f"w{number} AS {made.sql}" if made.sql.startswith("(") else f"w{number} AS (SELECT * FROM {made.sql})"
            )
            self.tables = {**self.tables, f"w{number}": replace(made, sql=f"w{number}")}
        try:
            return (f"WITH {', '.join(named)} " if named else "") + self._select()
        finally:
            self.tables = held

    def _select(self) -> str:
        text, source = self._from(self.draw.choice(self.depths))
        keys: list[str] = []
        for _ in range(self.draw.choice([0, 0, 1, 1, 2])):
            found = self.finds and self.draw.random() < 0.3
            key = self.fill(self.draw.choice(FOUND if found else KEYS), self.draw.choice([0, 1, 2]), source)
            if key not in keys and not key.isdigit() and not key.startswith("'"):
                keys.append(key)
        outputs = [self.output(source) for _ in range(self.draw.choice(self.outputs))]
        listed = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        listed += [f"{output} AS a{place}" for place, output in enumerate(outputs)]
        group = ""
        if keys:
            self.used.add("GROUP BY")
            ways = [(*keys,), (*(f"k{place}" for place in range(len(keys))),), (*map(str, range(1, len(keys) + 1)),)]
            group = f" GROUP BY {', '.join(self.draw.choice(ways))}"
        return f"SELECT {', '.join(listed)} FROM {text}{self._where(source)}{group}{self._end(source, len(keys))}"

    def _end(self, source: Source, keys: int) -> str:
        """HAVING, ORDER BY and LIMIT."""
        said = ""
        if self.draw.random() < 0.15:
            self.used.add("HAVING")
            said += f" HAVING {self.draw.choice(['COUNT(*) > 2', 'SUM({C}) < 5 OR COUNT(*) IS NULL', 'a0 > 0'])}"
            said = HOLE.sub(lambda found: self._hole(found[1], 0, source), said)
        if self.draw.random() < 0.2:
            self.used.add("ORDER BY")
            said += f" ORDER BY {self.draw.choice(['a0 DESC', '1', 'a0 NULLS FIRST, 1 DESC', 'COUNT(*)'])}"
        if self.draw.random() < 0.1:
            self.used.add("LIMIT")
            said += f" LIMIT {self.draw.choice([0, 1, 3])}"
        return said
