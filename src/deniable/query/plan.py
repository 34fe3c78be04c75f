"""Plans of queries: the private question, the noisy outcome, and the price.

text -> Query (Question + Outcome) -> PricedPlan -> exact integers (SECRET) -> Release
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from deniable.mechanisms.price import Price
from deniable.privacy import PrivacyLoss, compose
from deniable.query.aggregates.aggregate import Aggregate, PricedPart
from deniable.query.catalog import DeclaredTable
from deniable.query.dependency import determined
from deniable.query.expression import Expression, Key, Kind
from deniable.query.keys import KeySearch
from deniable.query.table_expression import FilteredRows, TableExpression

UNKNOWN_GROUPS = 2**40  # groups, where they are not known yet


@dataclass(frozen=True)
class Axis:
    """Keys and the public values that they have together.

    None if these are not known yet.

    Args:
        indices: of the keys in the question.
    """

    indices: tuple[int, ...]
    values: Sequence[tuple[Key, ...]] | None

    @property
    def columns(self) -> Iterator[tuple[int, tuple[Key, ...]]]:
        """The values of each key, by its place."""
        return zip(self.indices, zip(*(self.values or ()), strict=True), strict=bool(self.values))


@dataclass(frozen=True)
class Question:
    """The part that touches private rows: filter, groups, aggregates.

    Args:
        found_keys: the values of the keys that are not declared; None before they are found. Their numbers, where the
            engine keeps them.
        joint: keys whose values are declared together.
    """

    source: TableExpression
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    found_keys: Sequence[tuple[Key, ...]] | None = None
    joint: tuple[Axis, ...] = ()

    @cached_property
    def table(self) -> DeclaredTable:
        """Table with the limits of this question, never above what a unit can have here."""
        table = self.source.table
        if self.unit is None:
            return table
        whole, alike = self.source.multiplicity(), self.source.multiplicity(determined(self.keys))
        if whole == 1:
            return replace(table, rows=1, groups=1, total_rows=None, assumed=(), auto=(), own=())
        if table.total_rows is not None:
            return replace(table, total_rows=min(table.total_rows, whole or table.total_rows))
        rows, groups = min(table.rows, alike or table.rows), min(table.groups, whole or table.groups)
        lists = {"assumed": table.assumed, "auto": table.auto, "own": table.own}
        if alike == 1:  # nothing is left to say of rows
            lists = {word: tuple(each for each in said if each != "rows") for word, said in lists.items()}
        return replace(table, rows=rows, groups=groups, **lists)  # type: ignore[arg-type]

    @property
    def unit(self) -> str | None:
        """The column of `source` that says whose row it is; None if every row is a unit."""
        return self.source.unit

    @property
    def where(self) -> Expression | None:
        return self.source.condition if isinstance(self.source, FilteredRows) else None

    @property
    def rows(self) -> TableExpression:
        """The table expression below WHERE."""
        return self.source.source if isinstance(self.source, FilteredRows) else self.source

    @property
    def key_values(self) -> tuple[tuple[Key, ...], ...]:
        """The declared values of each key."""
        return tuple(key.facts.keys or () for key in self.keys)

    @property
    def unknown(self) -> tuple[int, ...]:
        """The places of keys whose values are not declared."""
        return tuple(index for index, key in enumerate(self.keys) if key.facts.keys is None)

    @property
    def sought(self) -> dict[str, Kind]:
        """The kinds of those keys, by their names in statements."""
        return {f"k{index}": self.keys[index].facts.kind for index in self.unknown}

    @property
    def searched(self) -> bool:
        """Whether keys are still to be found."""
        return self.found_keys is None and len(self.unknown) > 0

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The keys in the order in which groups are numbered.

        Those that are not declared go together.
        """
        unknown = self.unknown
        joint = {index: axis for axis in self.joint for index in axis.indices}
        axes = []
        for index, key in enumerate(self.keys):
            if index in joint:
                axes += [joint[index]] if index == joint[index].indices[0] else []
            elif key.facts.keys is not None:
                axes.append(Axis((index,), tuple((value,) for value in key.facts.keys)))
            elif index == unknown[0]:
                axes.append(Axis(unknown, self.found_keys))
        return tuple(axes)

    @property
    def cells(self) -> int:
        return prod(UNKNOWN_GROUPS if axis.values is None else len(axis.values) for axis in self.axes)

    def to_json(self) -> dict[str, object]:
        """Return the question as plain data, with the promises about a unit.

        They bound how much a unit can have.
        """
        table = self.source.table
        if self.source.one_row_per_unit:
            table = replace(table, rows=1, groups=1, total_rows=None, auto=())
        joint = [[axis.indices, [[*map(plain_key, row)] for row in axis.values or ()]] for axis in self.joint]
        return {
            **({"joint": joint} if joint else {}),
            "table": self.rows.to_json(),
            "unit": [self.unit, table.unit.ids],
            "rows": table.rows,
            "groups": table.groups,
            "total rows": table.total_rows,
            "where": None if self.where is None else self.where.to_json(),
            "keys": [key.to_json() for key in self.keys],
            "key values": [[plain_key(value) for value in values] for values in self.key_values],
            "aggregates": [aggregate.to_json() for aggregate in self.aggregates],
        }


@dataclass(frozen=True)
class OutputColumn:
    """One column of the answer: an expression over base values and keys.

    They are `base 0`, ... and `key 0`, ...
    """

    name: str
    expression: Expression


@dataclass(frozen=True)
class Ordering:
    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Outcome:
    """The part that works on noisy numbers alone, and therefore costs nothing."""

    outputs: tuple[OutputColumn, ...]
    having: Expression | None
    order: tuple[Ordering, ...]
    limit: int | None


@dataclass(frozen=True)
class Query:
    text: str
    question: Question
    outcome: Outcome


@dataclass(frozen=True)
class Name:
    """Name of a question in the ledger, and the order of the parts in its answer."""

    key: str
    order: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PricedPlan:
    """A question with its price. Nothing here was computed from a private row.

    Args:
        key_search: of keys that are not declared.
        searches: for bounds that it needs, see `auto.Search`.
        public: fingerprints of the public tables that it reads, by name.
        names: of the question in the ledger, as `naming.named` gives them: the name in this version, then the one that
            the first versions gave, where it differs.
    """

    query: Query
    parts: tuple[PricedPart, ...]
    loss: PrivacyLoss
    price: Price
    searches: tuple[Any, ...] = ()
    key_search: KeySearch | None = None
    public: Mapping[str, str] = field(default_factory=dict)
    names: tuple[Name, ...] = ()

    def on(self, keys: Sequence[tuple[Key, ...]] | None) -> "PricedPlan":
        """The plan once its keys were found."""
        return replace(self, query=replace(self.query, question=replace(self.query.question, found_keys=keys)))

    @property
    def total(self) -> PrivacyLoss:
        """The loss with that of the searches which this question pays for."""
        searched = [one.loss for one in self.searches if one.due]
        return compose([*searched, self.loss]) if searched else self.loss

    @property
    def key(self) -> str:
        """The question's name: equal for equal private parts.

        It does not depend on how the text looks.
        """
        return self.names[0].key


def plain_key(value: Key) -> object:
    """A key as JSON has it."""
    return value if isinstance(value, bool | int | str | None) else str(value)
