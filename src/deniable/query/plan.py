"""The plan of a query: what is asked of the private table, what is done with the noisy numbers, and what it costs.

text -> Query (Question + Outcome) -> PricedPlan -> exact integers (SECRET) -> Release
"""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from deniable.mechanisms.price import Price
from deniable.privacy import PrivacyLoss, compose
from deniable.query.aggregates.aggregate import Aggregate, Priced
from deniable.query.catalog import Table
from deniable.query.expression import Expression, Key
from deniable.query.relation import Filter, Relation


@dataclass(frozen=True)
class Question:
    """The part that touches private rows: filter, public groups, aggregates."""

    source: Relation
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]

    @property
    def table(self) -> Table:
        """The table whose promise holds: unit, rows, groups. Where a unit has one row, that lies in one group."""
        table = self.source.table
        return replace(table, rows=1, groups=1, total_rows=None, assumed=()) if self.source.single else table

    @property
    def unit(self) -> str | None:
        """The column of `source` that says whose row it is; None if every row is a unit."""
        return self.source.unit

    @property
    def where(self) -> Expression | None:
        return self.source.condition if isinstance(self.source, Filter) else None

    @property
    def rows(self) -> Relation:
        """The relation below WHERE."""
        return self.source.source if isinstance(self.source, Filter) else self.source

    @property
    def key_values(self) -> tuple[tuple[Key, ...], ...]:
        """The public values of each key, in the order in which groups are numbered."""
        return tuple(key.facts.keys or () for key in self.keys)

    @property
    def cells(self) -> int:
        return prod(len(values) for values in self.key_values)

    def to_json(self) -> object:
        return {
            "table": self.rows.to_json(),
            "unit": [self.unit, self.table.unit.ids],
            "rows": self.table.rows,
            "groups": self.table.groups,
            "total rows": self.table.total_rows,
            "where": None if self.where is None else self.where.to_json(),
            "keys": [key.to_json() for key in self.keys],
            "key values": [[_plain(value) for value in values] for values in self.key_values],
            "aggregates": [aggregate.to_json() for aggregate in self.aggregates],
        }


@dataclass(frozen=True)
class Output:
    """One column of the answer: an expression over base values (`base 0`, ...) and keys (`key 0`, ...)."""

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

    outputs: tuple[Output, ...]
    having: Expression | None
    order: tuple[Ordering, ...]
    limit: int | None


@dataclass(frozen=True)
class Query:
    text: str
    question: Question
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class PricedPlan:
    """A question with its price. Nothing here was computed from a private row.

    Args:
        searches: for bounds that it needs, see `auto.Search`.
    """

    query: Query
    parts: tuple[Priced, ...]
    loss: PrivacyLoss
    price: Price
    searches: tuple[Any, ...] = ()

    @property
    def total(self) -> PrivacyLoss:
        """The loss with that of the searches which this question pays for."""
        searched = [one.loss for one in self.searches if one.due]
        return compose([*searched, self.loss]) if searched else self.loss

    @cached_property
    def key(self) -> str:
        """The question's name in the ledger: equal for equal private parts, whatever the text looks like."""
        canonical = {
            "question": self.query.question.to_json(),
            "relation": str(self.query.question.table.relation),
            "mechanisms": [part.entry()["mechanism"] for part in self.parts],
            "grids": [part.to_json() for part in self.parts],
        }
        return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()


def _plain(value: Key) -> object:
    return value if isinstance(value, bool | int | str | None) else str(value)
