"""Plans: what the rules take and return.

They lead from a question as it was asked to its price.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real
from deniable.privacy import Budget, PrivacyLoss
from deniable.query.aggregates.aggregate import BoundedAggregate, BoundedPart
from deniable.query.catalog import DeclaredTable
from deniable.query.plan import PricedPlan, Query
from deniable.query.tables import Look

if TYPE_CHECKING:
    from deniable.query.auto import PrivateSearch
    from deniable.query.frames import Ask

Target = Real | str | Mapping[str, Real | str]  # half the width of an interval, or a share such as "5%"
_PLAIN = (str, int, float, Fraction, Decimal)  # types whose values are compared, and copied nowhere


@dataclass(frozen=True, kw_only=True)
class Request:
    """A question as it is asked: its text, its price, and what is stated for it alone.

    Args:
        question: SQL, or what a frame asks for.
        epsilon: the cost; `delta` beside it, or `rho` in their place.
        delta: of the cost.
        rho: the cost, for zero-concentrated privacy.
        error: the accuracy that is wanted, in place of a cost or within it.
        weights: of columns, by which aggregates share the price.
        confidence: of the intervals that `error` is about.
        dialect: of the text.
        columns: public facts for this question, in place of those declared.
        limits: rows, groups or total_rows for this question; None where none is given.
        written: whether the answer is written to files, group by group.
    """

    question: "str | Ask"
    epsilon: Real | None = None
    delta: Real | None = None
    rho: Real | None = None
    error: Target | None = None
    weights: Mapping[str, Real] | None = None
    confidence: float = 0.95
    dialect: str = "duckdb"
    columns: Mapping[str, Any] | None = None
    limits: Mapping[str, int | str | None] = field(default_factory=dict)
    written: bool = False

    def at(self, price: Price) -> "Request":
        """Return the same question at a price, whatever its error."""
        words = price.words
        return replace(
            self,
            epsilon=words.get("epsilon"),
            delta=words.get("delta"),
            rho=words.get("rho"),
            error=None,
            confidence=0.95,
        )

    @property
    def key(self) -> Hashable:
        """Return the key under which the plan is kept, or None.

        A request of text and numbers alone has one.
        """
        if self.written:
            return None
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("limits", "written")}
        values = {name: value for name, value in (given | dict(self.limits)).items() if value is not None}
        if not all(type(value) in _PLAIN for value in values.values()):
            return None
        return tuple((name, type(value), value) for name, value in values.items())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One question, or several priced together, and what is derived so far.

    The rules derive it.

    Nothing here is computed from a private row. Fields are in the order in which rules fill them in.

    Args:
        request: what was asked.
        budget: of the ledger; only noise that it can pay for is considered. None: any.
        tables: as they are declared; after `state`, as this question takes them.
        look: reads a column of public rows.
        recall: the stored answer to a question by its name in the ledger, or None.
        text: the question without its OPTIONS, by `state`.
        price: the price of the answer, by `state`; by `search`, what the searches leave of it.
        prices: by `search`, what is left of the price after none, one, ... of the searches is charged.
        searches: for bounds that are not declared, by `search`.
        queries: the questions over tables, by `resolve`.
        weights: by which totals share the price; None: equally.
        parts: the aggregates of each question with how far one unit moves them, by `bound`.
        totals_price: the price of all totals together, by `split`.
        part_price: the price of each other part, by `split`.
        importances: of the totals, by `share`; None where they share equally.
        priced: the questions with their noise, by `choose`.
        loss: of all questions together, by `choose`.
    """

    request: Request | None = None
    budget: Budget | None = None
    tables: Mapping[str, DeclaredTable] = field(default_factory=dict)
    look: Look | None = None
    recall: Callable[[str], str | None] = lambda question: None
    text: "str | Ask" = ""
    price: Price | None = None
    prices: tuple[Price, ...] = ()
    searches: "tuple[PrivateSearch, ...]" = ()
    queries: tuple[Query, ...] = ()
    weights: Mapping[str, Real] | None = None
    parts: tuple[tuple[BoundedPart, ...], ...] = ()
    totals_price: Price | None = None
    part_price: Price | None = None
    importances: tuple[float, ...] | None = None
    priced: tuple[PricedPlan, ...] = ()
    loss: PrivacyLoss | None = None

    @property
    def cost(self) -> Price:
        """The price, once it is known."""
        assert self.price is not None
        return self.price

    @property
    def known_tables(self) -> Mapping[str, DeclaredTable]:
        """The tables with the bounds of the searches in place of undeclared ones."""
        return reduce(lambda tables, search: search.applied(tables), self.searches, self.tables)

    @property
    def due(self) -> int:
        """Number of the searches that this question pays for."""
        return sum(search.due for search in self.searches)

    @property
    def totals(self) -> list[BoundedAggregate]:
        """The parts that are totals, of all questions: they share one price."""
        return [part for parts in self.parts for part in parts if isinstance(part, BoundedAggregate)]
