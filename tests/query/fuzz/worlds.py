"""Random small databases, each with a neighbour: one unit's rows are removed, or are others."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

import deniable as dn
from deniable.privacy import PrivacyUnit, Relation
from deniable.query.declarations import Declaration

Row = dict[str, Any]
Rows = Mapping[str, Sequence[Row]]  # by table
INF, NAN = float("inf"), float("nan")
WORDS = ["a", "A", "a ", "\u00e9", "e\u0301", "it's", "", " ", "%", "12", "-0.0", "1e400", "nan", "2024-02-29", "\\"]
WORDS += ["\U0001f44d\U0001f3fd", "x" * 300, '"seal_0_0"', "a\nb", None, None]
WHOLE = [0, 1, 2, 3, -1, 5, 7, 100, 2**31, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), None]
REALS = [0.0, -0.0, 0.5, 1.0, 2.5, -2.5, 4.999, 7.0, 1e16, 5e-324, 1e308, -1e308, INF, -INF, NAN, None]
DAYS = [dt.date(2024, 2, 29), dt.date(2024, 12, 30), dt.date(2025, 1, 1), dt.date(2023, 6, 15), dt.date(1970, 1, 1)]
DAYS += [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]  # type: ignore[list-item]
MOMENTS = [None if day is None else dt.datetime(day.year, day.month, day.day, *time) for day in DAYS for time in
           ((0, 0), (23, 59, 59, 999_999), (12, 30))]  # fmt: skip
UNITS: dict[str, list[Any]] = {
    "int64": [1, 2, 3, 4, 5, 6, -(2**63), 2**63 - 1, 0],
    "string": ["p1", "P1", "p1 ", "\u00dc", "U\u0308", "it's", "", "7", "x" * 80],
}
# Columns of private tables: types that a source may have, and the values that are drawn.
COLUMNS: dict[str, tuple[list[pa.DataType], list[Any]]] = {
    "k": ([pa.int64(), pa.int32()], [0, 1, 2, 3, 4, None]),
    "j": ([pa.int64(), pa.string()], [0, 1, 2, None]),
    "g": ([pa.string()], [*WORDS[:6], None]),
    "x": ([pa.int64(), pa.int64(), pa.int32(), pa.int8()], WHOLE),
    "r": ([pa.float64(), pa.float64(), pa.float32(), pa.decimal128(12, 2)], REALS),
    "n": ([pa.int64()], WHOLE),
    "s": ([pa.string()], WORDS),
    "b": ([pa.bool_()], [True, False, None]),
    "d": ([pa.date32()], DAYS),
    "m": ([pa.timestamp("us")], MOMENTS),
}
PUBLIC: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k": (pa.int64(), [0, 1, 2, 3]),
    "g": (pa.string(), ["a", "A", "\u00e9", None]),
    "label": (pa.string(), ["l1", "l2", None]),
    "weight": (pa.float64(), [0.5, -1.0, NAN, 1e308, None, 3.0]),
    "since": (pa.date32(), DAYS),
}


@dataclass(frozen=True)
class World:
    """Public facts, and the rows of two neighbours.

    Args:
        options: of `connect`.
        view: whether tables are seen through views, where the engine has some.
        period: whether the unit is a person's rows of one day.
    """

    schemas: Mapping[str, pa.Schema]
    options: Mapping[str, Any]
    here: Rows
    there: Rows
    view: bool = False
    period: bool = False

    @property
    def relation(self) -> Relation:
        return self.options["relation"]  # type: ignore[no-any-return]

    @property
    def public(self) -> Sequence[str]:
        return self.options["public"]  # type: ignore[no-any-return]

    @property
    def paths(self) -> Mapping[str, Sequence[str]]:
        return self.options["paths"]  # type: ignore[no-any-return]

    def table(self, name: str, rows: Rows) -> pa.Table:
        schema = self.schemas[name]
        held = [pa.array([_fitting(row[field.name], field.type) for row in rows[name]], field.type) for field in schema]
        return pa.table(held, schema=schema)

    def smaller(self, keep: Callable[["World"], bool]) -> "World":
        """The fewest rows for which `keep` still holds, found by leaving them out in ever smaller pieces."""
        world = self
        for side in ("there", "here"):
            for name in world.schemas:
                size = max(1, len(getattr(world, side)[name]))
                while size:
                    start = 0
                    while start < len(getattr(world, side)[name]):
                        tried = world._without(side, name, start, size)
                        if tried is not None and keep(tried):
                            world = tried
                        else:
                            start += size
                    size //= 2
        return world

    def _without(self, side: str, name: str, start: int, size: int) -> "World | None":
        """The world without some rows of one side, or of both where both have them."""
        gone = getattr(self, side)[name][start : start + size]
        both = {"here": dict(self.here), "there": dict(self.there)}
        for each, rows in both.items():
            for row in gone:
                if row in rows[name]:
                    at = rows[name].index(row)
                    rows[name] = [*rows[name][:at], *rows[name][at + 1 :]]
                elif each == side:
                    return None
        found = replace(self, **both)
        return found if found._is_pair() else None

    def _is_pair(self) -> bool:
        """Whether both sides have as many units, where that is public."""
        sides = [rows["t"] for rows in (self.here, self.there)]
        if self.relation is dn.AddRemove:
            return True
        if self.options["unit"] == dn.each_row("row"):
            return len(sides[0]) == len(sides[1])
        counts = [len({(row["u"], self.period and row["d"]) for row in rows}) for rows in sides]
        return counts[0] == counts[1]


def world_of(draw: Random) -> World:
    """A random world."""
    layout = draw.choice(["one", "one", "row", "two", "two", "path", "levels", "day"])
    kind = draw.choice(["int64", "int64", "string"])
    base = {"u": pa.int64() if kind == "int64" else pa.string()}
    every = {name: draw.choice(types) for name, (types, _) in COLUMNS.items()}
    plain = {name: each for name, each in every.items() if name not in ("j",)}
    private = {"t": base | plain}
    paths: dict[str, Sequence[str]] = {}
    if layout in ("two", "day") and draw.random() < 0.8:
        private["w"] = base | plain
    if layout in ("path", "levels"):
        private["w"], paths["w"] = every, ("k", "t")
    if layout == "levels":
        private["v"], paths["v"] = every, ("j", "w")
    schemas = {name: pa.schema(list(columns.items())) for name, columns in private.items()}
    public = ["p"] if draw.random() < 0.6 else []
    rest: dict[str, list[Row]] = {}
    if public:
        schemas["p"] = pa.schema([(name, kind) for name, (kind, _) in PUBLIC.items()])
        size = draw.choice([0, 1, 4, 4, 7])
        rest["p"] = [{name: draw.choice(values) for name, (_, values) in PUBLIC.items()} for _ in range(size)]
        if draw.random() < 0.5:
            rest["p"] = [row | {"k": place} for place, row in enumerate(rest["p"])]
    ids = 2 if layout in ("one", "two") and draw.random() < 0.15 else 1
    limits = _limits(draw, row=layout == "row")
    unit: Any = PrivacyUnit(column="u", noun="u", ids=ids)
    if layout == "row":
        unit = dn.each_row("row")
    elif layout == "day":
        unit = ("u", "d")
    options = {
        "unit": unit, "public": public, "paths": paths, **limits,
        "relation": draw.choice([dn.AddRemove, dn.AddRemove, dn.Replace]), "budget": dn.Budget(**_budget(draw)),
        "columns": {name: _declared(draw, name) for name in schemas if name == "p" or draw.random() < 0.95},
    }  # fmt: skip
    world = World(schemas, options, {}, {}, view=draw.random() < 0.15, period=layout == "day")
    names = draw.sample(UNITS[kind], 5)
    own, others = names[:ids], [*names[ids:], None]
    size = draw.choice([0, 1, 6, 15])
    rest |= {name: [_row(draw, world, name, others) for _ in range(size)] for name in private}
    there = [] if world.relation is dn.AddRemove else draw.choice([own, own, _fresh(UNITS[kind], names, ids)])
    return replace(world, here=_with(draw, world, rest, own), there=_with(draw, world, rest, there))


def _fresh(every: Sequence[Any], taken: Sequence[Any], count: int) -> list[Any]:
    return [name for name in every if name not in taken][:count]


def _with(draw: Random, world: World, rest: Rows, own: Sequence[Any]) -> Rows:
    """Rows of others, and some of units of their own, in any order."""
    found = {name: list(rows) for name, rows in rest.items()}
    mine: dict[str, list[Row]] = {}
    day = draw.choice(DAYS[:5])
    for name in [each for each in world.schemas if each not in world.public] if own else []:
        single = world.options["unit"] == dn.each_row("row")
        extreme = draw.random() < 0.5
        first = _row(draw, world, name, own, extreme=extreme)
        count, alike = 1 if single else draw.choice([0, 1, 2, 5, 20, 20]), draw.choice([0, 0, 0.5, 0.9])
        count = max(count, len(own)) if name == "t" else count
        more = [dict(first) if draw.random() < alike else _row(draw, world, name, own, extreme=extreme)
                for _ in range(count)]  # fmt: skip
        if world.period:
            more = [row | {"d": day} for row in more]
        if name == "t" and not single:
            more[: len(own)] = [row | {"u": unit} for row, unit in zip(more, own, strict=False)]
        mine[name] = more
    for name, rows in mine.items():
        found[name] = [*found[name], *rows]
    for name in world.paths:  # a row that belongs to others too, or to nobody, is not these units' own
        holders = _holders(world, found, name)
        kept = [row for row in mine.get(name, []) if holders.get(row[world.paths[name][0]], set()) - {None} <= {*own}]
        found[name] = [*rest[name], *kept]
    for name in (each for each in found if each not in world.public):  # the order of public rows is public
        draw.shuffle(found[name])
    return found


def _holders(world: World, rows: Rows, name: str) -> dict[Any, set[Any]]:
    """The units behind each key of a path."""
    key, parent = world.paths[name]
    above = _holders(world, rows, parent) if parent in world.paths else None
    found: dict[Any, set[Any]] = {}
    for row in rows[parent]:
        units = {row["u"]} if above is None else above.get(row[world.paths[parent][0]], set())
        if row[key] is not None:
            found.setdefault(row[key], set()).update(units)
    return found


def _row(draw: Random, world: World, name: str, units: Sequence[Any], *, extreme: bool = False) -> Row:
    made: Row = {}
    for column in world.schemas[name].names:
        if column == "u":
            made[column] = draw.choice(units)
        else:
            values = COLUMNS[column][1]
            odd = extreme and column in ("x", "r", "n")
            made[column] = draw.choice(values[-7:] if odd else values[: len(values) // 2 + 1] if draw.random() < 0.5
                                       else values)  # fmt: skip
    return made


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """A value as its type has it, at the nearest end of the type's range."""
    if value is None:
        return None
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return max(-most, min(most - 1, value))
    if pa.types.is_decimal(kind):
        finite = 0.0 if value != value else max(-9.0e9, min(9.0e9, value))
        return Decimal(round(finite * 100)).scaleb(-2)
    return str(value) if pa.types.is_string(kind) else value


def _declared(draw: Random, name: str) -> dict[str, Declaration]:
    if name == "p":
        return {"label": dn.Keys(["l1", "l2"]), "weight": dn.Number(lower=-2, upper=2**40)}
    found = {
        "g": dn.Keys(draw.choice([["a", "A"], ["a", "\u00e9", "e\u0301", "it's"]]), null=draw.random() < 0.5),
        "x": draw.choice([dn.Number(lower=0, upper=3), dn.Number(lower=-7, upper=2**40), dn.Number(lower=1, upper=2)]),
        "r": draw.choice([dn.Number(lower="-2.5", upper=5), dn.Number(lower=0, upper="0.1", null=0)]),
    }
    if draw.random() < 0.6:
        found["d"] = dn.Date(lower="2023-05-01", upper="2025-03-01")
    if draw.random() < 0.4:
        found["m"] = dn.Timestamp(lower="2023-05-01", upper="2025-03-01")
    if draw.random() < 0.2:
        found["s"] = dn.Keys(["a", "12", ""])
    if draw.random() < 0.1:
        found["g, b"] = dn.Keys([("a", True), ("A", None), ("a", False)])
    return found


def _limits(draw: Random, *, row: bool) -> dict[str, int]:
    if row:
        return {}
    if draw.random() < 0.15:
        return {"total_rows": draw.choice([1, 2, 5])}
    return {"rows": draw.choice([1, 1, 2, 3, 5]), "groups": draw.choice([1, 1, 2, 3])}


def _budget(draw: Random) -> dict[str, object]:
    return draw.choice([{"epsilon": 10**5}, {"epsilon": 10**5, "delta": "0.5"}, {"rho": 10**5}])
