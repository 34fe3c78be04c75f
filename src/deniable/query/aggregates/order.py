"""MEDIAN, QUANTILE_CONT, MIN and MAX: points of a grid, chosen by ranks.

The grid is public. Ranks are those in tallies that the engine makes.

A unit has at most `rows` rows in each of at most `groups` groups, so its presence changes that many tallies, each by
that many records: the loss is that of one choice, as many times as groups. Proof: docs/theory/query/order.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise.bits import Bits
from deniable.numbers.rationals import quotient_text
from deniable.privacy import PrivacyLoss, Relation, compose
from deniable.query.aggregates.aggregate import Aggregate, BoundedPart, PricedPart, Tally
from deniable.query.aggregates.sums import summand
from deniable.query.allowlist import checked
from deniable.query.expression import Expression, Facts, Kind, Literal, text_of
from deniable.query.translation import translate
from deniable.release.columns import Estimate, Key
from deniable.statistics.order.extremes import Maximum, Minimum
from deniable.statistics.order.grid import ValueGrid
from deniable.statistics.order.quantile import Quantile, known_ends

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope
    from deniable.query.plan import Question

LEVEL = 0.95  # of the intervals, whose ends are drawn
WHOLE_POINTS = 2**20  # a tally has an entry for every point at most: they are counted, not listed
POINTS_DIGITS = 5


@dataclass(frozen=True)
class Order(Aggregate):
    """The value below which a share of the rows lies.

    It is near the smallest or the largest value where the share is 0 or 1.
    """

    function: ClassVar[str] = "quantile"
    additive: ClassVar[bool] = False
    share: Fraction = Fraction(1, 2)

    @property
    def facts(self) -> Facts:
        """Public facts of the value."""
        assert self.argument is not None
        return self.argument.facts

    @property
    def whole(self) -> bool:
        return self.facts.kind is Kind.INTEGER and self.step.denominator == 1

    @property
    def order_within(self) -> tuple[bool, str]:
        return True, f"{self.share}{self.function}"

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Public bounds of the value."""
        return self.facts.ends

    @property
    def step(self) -> Fraction:
        """Return the distance of two points.

        1 for whole numbers of a narrow range, else a hundred-thousandth or so of the range.
        """
        width = self.ends[1] - self.ends[0]
        if self.facts.kind is Kind.INTEGER and width <= WHOLE_POINTS:
            return Fraction(1)
        return Fraction(10) ** (floor(log10(width)) - POINTS_DIGITS)

    @property
    def grid(self) -> ValueGrid:
        return ValueGrid.between(self.ends, self.step)

    def bounded(self, question: "Question") -> "BoundedOrder":
        table = question.table
        if table.total_rows is not None or table.unit.ids != 1:
            raise UnsupportedQueryError(
                f"{self} needs to know how many rows of one unit count in a group, and in how many groups. Declare "
                "rows and groups, not total_rows, and a unit of one id."
            )
        replaced = table.relation is Relation.REPLACE
        times = min(table.groups * (2 if replaced else 1), question.cells)
        return BoundedOrder(aggregate=self, times=times, rows=table.rows, relation=table.relation)

    def at(self, bounded: "BoundedOrder", price: Price) -> "PricedOrder":
        """Return the part with the mechanism for a price of one group."""
        return PricedOrder(bounded=bounded, price=price)

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "share": quotient_text(self.share)}

    def __str__(self) -> str:
        said = text_of(self.argument) if self.argument is not None else ""
        named = {Fraction(0): "MIN", Fraction(1, 2): "MEDIAN", Fraction(1): "MAX"}.get(self.share)
        return f"{named}({said})" if named else f"QUANTILE_CONT({said}, {float(self.share):g})"


@dataclass(frozen=True, kw_only=True)
class BoundedOrder(BoundedPart):
    """Ranked values with the choices that see one unit, and its rows in each.

    Args:
        times: the most groups in which a unit can change something.
    """

    aggregate: Order
    times: int
    rows: int
    relation: Relation

    def priced(self, price: Price) -> "PricedOrder":
        """The better of two ways to pay for all groups of a unit: in epsilon, or in rho."""
        each = [price.split(*[1] * self.times)[0]]
        if price.delta and self.times > 1:
            each.append(price.concentrated().split(*[1] * self.times)[0])
        return max((self.aggregate.at(self, one) for one in each), key=lambda part: part.rate)


@dataclass(frozen=True, kw_only=True)
class PricedOrder(PricedPart):
    """A choice a group, and the ends of its interval.

    Args:
        price: of one group.
    """

    bounded: BoundedOrder
    price: Price

    @property
    def aggregate(self) -> Order:
        return self.bounded.aggregate

    @property
    def statistic(self) -> Quantile:
        """Statistic of the rows of one group."""
        order, price = self.aggregate, self.price
        kinds: dict[Fraction, type[Quantile]] = {Fraction(0): TalliedMinimum, Fraction(1): TalliedMaximum}
        kind = kinds.get(order.share, TalliedQuantile)
        share = {} if kind is not TalliedQuantile else {"share": order.share}
        return kind(
            **share,
            bounds=order.ends,
            step=order.step,
            interval=LEVEL,
            epsilon=price.epsilon,
            delta=price.delta,
            rho=price.rho,
            relation=self.bounded.relation,
            rows=self.bounded.rows,
        )

    @property
    def rate(self) -> float:
        """The larger, the nearer the choice."""
        return float(self.statistic.epsilons[0])

    @property
    def loss(self) -> PrivacyLoss:
        return compose([self.statistic.privacy_loss] * self.bounded.times)

    def release(self, exact: Tally, *, bits: Bits) -> NDArray[Any]:
        """Codes of shape (groups, 3): the lower end, the point, the upper end. Public."""
        statistic, grid = self.statistic, self.aggregate.grid
        drawn = [statistic.chosen(grid, partial(_seen, codes, counts), bits=bits) for codes, counts in exact.groups()]
        return np.array(drawn, dtype=np.int64).reshape(-1, 3)

    def column(self, name: str, values: NDArray[Any]) -> Estimate | Key:
        grid = self.aggregate.grid
        low, code, high = values.reshape(-1, 3).T
        return Estimate(name=name, estimates=grid.points(code), ends=partial(known_ends, LEVEL, grid, low, high))

    def to_json(self) -> object:
        ends = [quotient_text(end) for end in self.aggregate.ends]  # what is kept are places between them
        return [quotient_text(self.aggregate.step), LEVEL, self.bounded.times, str(self.price), ends]

    def entry(self) -> dict[str, Any]:
        draws = self.statistic.epsilons
        return {
            "aggregate": str(self.aggregate),
            "mechanism": {
                "kind": "ranks",
                "epsilons": [quotient_text(each) for each in draws],
                "groups": self.bounded.times,
            },
            "grid": quotient_text(self.aggregate.step),
        }

    def spoken(self) -> str:
        error = self.statistic.expected_error(10**9)
        groups = "" if self.bounded.times == 1 else f" in each of {self.bounded.times} groups of a unit"
        return (
            f"a multiple of {float(self.aggregate.step):g} chosen by rank, {error:.3g} ranks off or so, and a 95% "
            f"interval, for {self.price}{groups}"
        )

    def explained(self) -> dict[str, object]:
        return {
            "aggregate": str(self.aggregate),
            "mechanism": type(self.statistic).__name__,
            "error_ranks": self.statistic.expected_error(10**9),
            "step": float(self.aggregate.step),
        }


@dataclass(frozen=True, kw_only=True)
class TalliedQuantile(Quantile):
    """A quantile of counted rows: permute-and-flip would list them."""

    _flips: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class TalliedMinimum(Minimum):
    """The smallest of counted rows."""

    _flips: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class TalliedMaximum(Maximum):
    """The largest of counted rows."""

    _flips: ClassVar[bool] = False


def read_order(node: exp.Expr, where: Expression | None, scope: "ResultScope", *, share: Fraction) -> Expression:
    """MIN, MEDIAN or MAX."""
    return scope.base(Order(summand(type(node).__name__.upper(), node.this, where, scope), share))


def read_quantile(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """QUANTILE_CONT(x, share), or PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY x)."""
    return _quantile(node, node.args.get("quantile") or node.args.get("expression"), where, scope)


def read_within(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    inner = checked(node.this)
    order = checked(node.expression).expressions
    if not isinstance(inner, exp.PercentileCont) or len(order) != 1 or order[0].args.get("desc"):
        raise UnsupportedQueryError("write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY value).")
    return _quantile(order[0], inner.this, where, scope)


def _quantile(node: exp.Expr, share: exp.Expr | None, where: Expression | None, scope: "ResultScope") -> Expression:
    read = None if share is None else translate(share, scope.rows)
    value = read.value if isinstance(read, Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
        raise UnsupportedQueryError("a quantile takes a share from 0 to 1, a constant: QUANTILE_CONT(x, 0.9).")
    return scope.base(Order(summand("QUANTILE_CONT", node.this, where, scope), Fraction(value)))


def _seen(codes: NDArray[np.int64], counts: NDArray[np.int64], draws: Any) -> RankWindow:
    """The ranks that some draws should know."""
    total = int(counts.sum())
    spans = [draw.looked_at(total) for draw in draws]
    return RankWindow.tallied(codes, counts, min(low for low, _ in spans), max(high for _, high in spans))
