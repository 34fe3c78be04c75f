"""The plan of a query: what is asked of the private table, what is done with the noisy numbers, and what it costs.

text -> Query (Question + Outcome) -> PricedPlan -> exact integers (SECRET) -> Release
"""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

from deniable.mechanisms import NoiseLaw
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.lattice import Lattice
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.query.catalog import Table
from deniable.query.expression import Expression, Key, Kind


@dataclass(frozen=True)
class Aggregate:
    """One number per group. `function` is count (rows or non-null values), sum or units (distinct privacy units)."""

    function: str
    argument: Expression | None = None
    centre: Fraction = Fraction(0)  # of a sum: subtracted from every value, so that an average needs less noise

    def to_json(self) -> object:
        argument = None if self.argument is None else self.argument.to_json()
        return {"function": self.function, "argument": argument, "centre": str(self.centre)}


@dataclass(frozen=True)
class Question:
    """The part that touches private rows: filter, public groups, aggregates."""

    table: Table
    where: Expression | None
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]

    @property
    def key_values(self) -> tuple[tuple[Key, ...], ...]:
        """The public values of each key, in the order in which groups are numbered."""
        return tuple(key.facts.keys or () for key in self.keys)

    @property
    def cells(self) -> int:
        return prod(len(values) for values in self.key_values)

    def to_json(self) -> object:
        return {
            "table": self.table.name,
            "unit": [self.table.unit.column, self.table.unit.ids],
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
class BoundedAggregate:
    """An aggregate on its lattice: one value lies in [lower, upper] grid steps after `centre` steps were subtracted."""

    aggregate: Aggregate
    lattice: Lattice
    lower: int
    upper: int
    centre: int
    sensitivity: Sensitivity

    @property
    def share(self) -> int:
        """Lattice steps in one step of a row's value. Whole numbers are summed as such, and shared out more finely."""
        argument = self.aggregate.argument
        real = self.aggregate.function == "sum" and argument is not None and argument.facts.kind is Kind.REAL
        return 1 if real else 2**self.lattice.exponent


@dataclass(frozen=True, kw_only=True)
class PricedAggregate(BoundedAggregate):
    """An aggregate with its noise, which is in grid steps like everything about it."""

    mechanism: AdditiveNoise
    loss: PrivacyLoss

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise, in the aggregate's own unit."""
        return self.mechanism.law(self.lattice.grid)


@dataclass(frozen=True, kw_only=True)
class PricedPlan:
    """A question with its price. Nothing here was computed from a private row."""

    query: Query
    parts: tuple[PricedAggregate, ...]
    loss: PrivacyLoss
    price: Price

    @cached_property
    def key(self) -> str:
        """The question's name in the ledger: equal for equal private parts, whatever the text looks like."""
        canonical = {
            "question": self.query.question.to_json(),
            "relation": str(self.query.question.table.relation),
            "mechanisms": [part.mechanism.to_json() for part in self.parts],
            "grids": [[part.lattice.exponent, part.lower, part.upper, part.centre] for part in self.parts],
        }
        return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()


def _plain(value: Key) -> object:
    return value if isinstance(value, bool | int | str | None) else str(value)
