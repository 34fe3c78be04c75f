"""Columns of a statistic: their meaning, their declarations, and the release."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from deniable.errors import CatalogError, InvalidParameterError
from deniable.numbers.rationals import exact_rational, quotient_text
from deniable.privacy import PrivacyLoss
from deniable.query.asking import SAMPLES
from deniable.query.catalog import BOUNDS, KEYS, DeclaredTable, declaring
from deniable.query.declarations import Declaration
from deniable.query.engines.base import ARROW
from deniable.query.expression import Expression, Key, Kind
from deniable.query.table_expression import Scan
from deniable.release import Release

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES = frozenset({"features"})  # a table, also where it has one column
_PRICE = ("epsilon", "delta", "rho")
_BOUNDS = ("bounds", "target_bounds")
_KEYS_OF = {"keys": "groups", "other_keys": "second"}  # whose keys they are, else those of the first column


def scope_of(table: DeclaredTable, where: Expression | None) -> dict[str, object]:
    """Return whose rows a question is about, and how many of them count.

    They are data in the question's name in the ledger.
    """
    return {
        "table": Scan(table).to_json(),
        "unit": [table.unit.column, table.unit.ids],
        "bounding": [table.rows, table.groups, table.total_rows],
        "relation": str(table.relation),
        "where": None if where is None else where.to_json(),
    }


@dataclass(frozen=True)
class Chosen:
    """Columns of a table for a statistic.

    Args:
        asked: names of columns, or lists of them, by the parameter of the function that takes their rows.
        where: which rows count.
    """

    function: Callable[..., Release]
    asked: Mapping[str, object]
    table: DeclaredTable
    where: Expression | None

    @cached_property
    def expressions(self) -> Mapping[str, Expression]:
        """Expressions of the columns, by name."""
        return {name: self.table.column(name) for word in self.asked for name in self._names(word)}

    def completed(self, public: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the statistic, completed from the catalog.

        What was not given is what the catalog declares.

        Raises: CatalogError if something that is needed is undeclared.
        """
        parameters = {
            word: _plain(word, value) if word in _PRICE else _plain_bounds(word, value) if word in _BOUNDS else value
            for word, value in public.items()
        }
        wanted = inspect.signature(self.function).parameters
        for word in wanted:
            if word in public or word in self.asked:
                continue
            needed = wanted[word].default is inspect.Parameter.empty
            if word in _BOUNDS and (needed or isinstance(public.get("bins"), int)):
                parameters[word] = self._bounds("target" if word == "target_bounds" else next(iter(self.asked)))
            elif word in _KEYS_OF and public.get("bins") is None:
                keys = self._keys(word, needed=needed)
                parameters |= {word: keys} if keys else {}
            elif word == "groups" and parameters.get("keys") is None and self.table.total_rows is None:
                parameters[word] = self.table.groups
            elif word == "size" and self.function.__name__ == "quantiles":
                parameters[word] = 0  # unknown: what an answer costs is settled before anybody looks
        return parameters

    def rehearse(self, public: Mapping[str, Any]) -> tuple[PrivacyLoss, str]:
        """Return the cost and the question in words, from a table without rows.

        Raises: whatever the statistic says about its parameters and the types of its columns.
        """
        import pyarrow as pa

        kinds = [expression.facts.kind for expression in self.expressions.values()]
        fields = [pa.field(f"c{index}", pa.type_for_alias(ARROW[kind])) for index, kind in enumerate(kinds)]
        if self.table.unit.column is not None:
            fields.append(pa.field("unit", pa.int64()))
        try:
            self.release(pa.schema(fields).empty_table(), public, ledger=_Quote())
        except _QuoteError as quote:
            name, _, rest = quote.text.partition("(")
            columns = ", ".join(map(repr, self.asked.values()))
            return quote.loss, f"{name}({columns}{'' if rest == ')' else ', '}{rest}"
        raise AssertionError("a statistic pays before it answers")

    def release(self, held: "pa.Table", public: Mapping[str, Any], **others: Any) -> Release:
        """The statistic of these rows, which come as an engine's `columns` gives them."""
        import pyarrow as pa

        units = None if self.table.unit.column is None else held.column("unit")
        columns = {name: held.column(index) for index, name in enumerate(self.expressions)}
        values: list[Any] = [
            pa.table({name: columns[name] for name in self._names(word)})
            if self._is_table(word)
            else columns[str(given)]
            for word, given in self.asked.items()
        ]
        if self.function.__name__ in SAMPLES:
            values, units = self._samples(values[0], values[1], units)
        rows = self.table.total_rows or self.table.rows
        return self.function(*values, **public, relation=self.table.relation, rows=rows, units=units, **others)

    def key(self, text: str) -> str:
        """The question's name in the ledger."""
        canonical = {
            "statistic": text,
            **scope_of(self.table, self.where),
            "columns": [expression.to_json() for expression in self.expressions.values()],
        }
        return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()

    def _names(self, word: str) -> list[str]:
        """The columns that were asked for."""
        given = self.asked[word]
        names = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InvalidParameterError(
                f"{self.function.__name__} takes the name of a column, or a list of different names, got {given!r}"
            )
        return names

    def _is_table(self, word: str) -> bool:
        return word in _TABLES or not isinstance(self.asked[word], str)

    def _bounds(self, word: str) -> object:
        """The declared bounds of a column, or a list of those of several."""
        pairs = [self._pair(name) for name in self._names(word)]
        return pairs if self._is_table(word) else pairs[0]

    def _pair(self, name: str) -> object:
        facts = self.expressions[name].facts
        if facts.kind is Kind.BOOLEAN:
            return 0, 1
        if not facts.kind.is_number:
            raise CatalogError(
                f"{self.function.__name__} takes numbers, and {name!r} is a column of kind {facts.kind.value}."
            )
        if self.table.columns.get(name, Declaration()).auto:
            return "auto"
        if facts.lower is None or facts.upper is None:
            raise CatalogError(
                f"{self.function.__name__} of {name!r} needs public bounds. Declare them, as in "
                + declaring(name, "Number(lower=0, upper=100)", BOUNDS)
                + ', or give bounds=(lower, upper), or spend budget on them with bounds="auto".'
            )
        return _plain("lower", facts.lower), _plain("upper", facts.upper)

    def _keys(self, word: str, *, needed: bool) -> list[Key]:
        about = _KEYS_OF[word] if _KEYS_OF[word] in self.asked else next(iter(self.asked))
        name = self._names(about)[0]
        keys: list[Key] = [key for key in self.expressions[name].facts.keys or () if key is not None]
        if needed and not keys:
            raise CatalogError(
                f"{self.function.__name__} needs the public values of {name!r}. Declare them, as in "
                + declaring(name, "Keys([...])", KEYS)
                + f", or give {word}=[...]."
            )
        return keys

    def _samples(self, column: Any, by: Any, units: Any) -> tuple[list[Any], Any]:
        """Return two samples of one column, and whose rows they are, in that order.

        The two keys of another column tell them apart.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        name = str(self.asked["second"])
        facts = self.expressions[name].facts
        keys = [key for key in facts.keys or () if key is not None]
        if len(keys) != 2:
            raise CatalogError(
                f"{self.function.__name__} compares two groups of rows: declare the two keys of {name!r}, as in "
                + declaring(name, 'Keys(["a", "b"])', KEYS)
                + "."
            )
        sides = [pc.equal(by, pa.scalar(key, pa.type_for_alias(ARROW[facts.kind]))) for key in keys]
        owners = None
        if units is not None:
            owners = pa.chunked_array([part for side in sides for part in units.filter(side).chunks], units.type)
        return [column.filter(side) for side in sides], owners


def _plain(word: str, value: object) -> object:
    """Return a number in the one form that all equal numbers have.

    So equal questions have one text.
    """
    if value is None:
        return None
    exact = exact_rational(word, value)
    if exact.denominator == 1:
        return int(exact)
    rounded = float(exact)
    return rounded if exact_rational(word, rounded) == exact else quotient_text(exact)


def _plain_bounds(word: str, value: object) -> object:
    """Return bounds with every number in one form; the statistic refuses others."""
    if isinstance(value, list | tuple):
        plain = [_plain_bounds(word, one) for one in value]
        return plain if any(isinstance(one, list | tuple) for one in plain) else tuple(plain)
    try:
        return _plain(word, value)
    except InvalidParameterError:
        return value


class _QuoteError(Exception):
    """A statistic would pay now: what, and for which question."""

    def __init__(self, loss: PrivacyLoss, text: str) -> None:
        super().__init__(text)
        self.loss, self.text = loss, text


class _Quote:
    """A payer that only asks for the price."""

    def pay(self, loss: PrivacyLoss, *, text: str, **others: object) -> NoReturn:
        raise _QuoteError(loss, text)
