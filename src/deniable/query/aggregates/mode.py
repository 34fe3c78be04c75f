"""MODE: the most frequent of the values that are declared.

It is chosen by tallies that the engine makes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.mechanisms import ExponentialMechanism, PermuteAndFlip
from deniable.mechanisms.price import Price
from deniable.mechanisms.selection.base import Selection
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, Relation, Sensitivity, compose, of_count
from deniable.query.aggregates.aggregate import Tally
from deniable.query.aggregates.order import BoundedOrder, Order, PricedOrder
from deniable.query.catalog import KEYS, declaring
from deniable.query.declarations import listed_keys
from deniable.query.expression import Column, Expression, Key, literal, text_of
from deniable.query.operators import call
from deniable.query.translation import declarable, translate
from deniable.release.columns import Key as KeyColumn

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope

MOST_VALUES = 1_000


@dataclass(frozen=True)
class ModeAggregate(Order):
    """The most frequent of `values`, whose indices `argument` gives.

    Rows with other values do not count.
    """

    function: ClassVar[str] = "mode"
    value: Expression | None = None
    values: tuple[Key, ...] = ()

    def at(self, bounded: BoundedOrder, price: Price) -> "PricedMode":
        return PricedMode(bounded=bounded, price=price)

    def __str__(self) -> str:
        assert self.value is not None
        return f"MODE({text_of(self.value)})"


@dataclass(frozen=True, kw_only=True)
class PricedMode(PricedOrder):
    """One choice a group among the counts of all values.

    A unit adds at most `rows` to them, and takes none away.
    """

    @property
    def values(self) -> tuple[Key, ...]:
        assert isinstance(self.aggregate, ModeAggregate)
        return self.aggregate.values

    @property
    def sensitivity(self) -> Sensitivity:
        return of_count(rows=self.bounded.rows, groups=1, cells=1, relation=self.bounded.relation)

    @property
    def mechanism(self) -> Selection:
        price = self.price
        monotone = self.bounded.relation is Relation.ADD_REMOVE
        if price.rho is not None:
            return ExponentialMechanism.calibrated(self.sensitivity, rho=price.rho, monotone=monotone)
        return PermuteAndFlip.calibrated(self.sensitivity, epsilon=price.epsilon, monotone=monotone)

    @property
    def rate(self) -> float:
        return float(self.mechanism.rate)

    @property
    def loss(self) -> PrivacyLoss:
        return compose([self.mechanism.privacy_loss(self.sensitivity)] * self.bounded.times)

    def release(self, exact: Tally, *, bits: Bits) -> NDArray[Any]:
        """The place of a value for each group. Public."""
        mechanism = self.mechanism
        scores = np.zeros((exact.size, len(self.values)), dtype=np.int64)
        scores[exact.cells, exact.codes] = exact.counts
        return np.array([mechanism.release(each, bits=bits).value for each in scores], dtype=np.int64)

    def column(self, name: str, values: NDArray[Any]) -> KeyColumn:
        return KeyColumn(name=name, values=tuple(self.values[index] for index in values.tolist()))

    def entry(self) -> dict[str, Any]:
        return {"aggregate": str(self.aggregate), "mechanism": self.mechanism.to_json(), "grid": "values"}

    def spoken(self) -> str:
        gap = self.mechanism.gap_bound(len(self.values), failure=0.05)  # type: ignore[attr-defined]
        return f"one of {len(self.values)} values, 95% within {gap:.4g} rows of the most frequent"

    def explained(self) -> dict[str, object]:
        return {"aggregate": str(self.aggregate), "mechanism": self.mechanism.kind, "rate": self.rate}


def read_mode(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """MODE(value), of a value whose possible values are public."""
    value = translate(node.this, scope.rows)
    listed = scope.rows.keys_of(value) or listed_keys(value.facts)
    if listed is None:
        name = value.name if isinstance(value, Column) else declarable(node.this)
        raise UnsupportedQueryError(
            f"MODE needs a public list of the values. Declare it: {declaring(name, 'Keys([...])', KEYS)}."
        )
    values = tuple(key for key in listed if key is not None)
    if not 2 <= len(values) <= MOST_VALUES:
        raise UnsupportedQueryError(f"MODE chooses among 2 to {MOST_VALUES:,} public values, got {len(values):,}.")
    branches = [part for index, key in enumerate(values) for part in (call("eq", value, literal(key)), literal(index))]
    return scope.base(
        ModeAggregate(scope.kept(where, call("case", *branches, literal(None))), value=value, values=values)
    )
