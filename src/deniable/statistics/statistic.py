"""What every private statistic is: public parameters, a loss, an expected error, and then a release."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypedDict

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.numbers.rationals import Real, exact_rational, positive_integer, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.release import Estimate, Key, Measure, Noisy, Release
from deniable.rows import Container, silence, without_rows

Takes = Literal[
    "one", "pair", "samples"
]  # a column or table; two that describe the same rows; two of rows of their own


BoundsLike: TypeAlias = tuple[Real, Real] | list[float] | Literal["auto"]
"""Public bounds of a column: (lower, upper), or "auto" where they are to be found privately."""


class Options(TypedDict, total=False):
    """What every function of `deniable.statistics` takes besides its own parameters.

    epsilon, delta, rho: what the answer may cost: epsilon alone, epsilon and delta, or rho.
    relation: AddRemove (the number of rows is private) or Replace.
    rows: the most rows of one unit that count, drawn at random from more; `units` says whose row it is.
    units: one entry a row. Without it every row is a unit.
    ledger: who pays before a row is read.
    bits: leave it out, except in tests.
    """

    epsilon: Real
    delta: Real
    rho: Real
    relation: Relation
    rows: int
    units: Container
    ledger: Payer | None
    bits: Bits


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The columns of a release, before it has a price tag."""

    parts: tuple[Key | Measure | Estimate, ...]
    noisy: tuple[Noisy, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Statistic(metaclass=InWords):
    """One question about private rows, with everything public about it; call it with the rows.

    A subclass is a frozen dataclass of public parameters that gives its loss, its expected error, and an answer. Which
    errors it can raise depends on its parameters alone, and it raises them when it is made.

    Args:
        epsilon, delta, rho: what the answer may cost.
        relation: what neighbouring data are. Under add/remove the number of rows is private.
        rows: the most rows of one unit that count.
    """

    name: ClassVar[str]
    takes: ClassVar[Takes] = "one"  # column or table; two with the same rows; two with other rows

    epsilon: Real | None = None
    delta: Real = 0
    rho: Real | None = None
    relation: Relation = AddRemove
    rows: Annotated[int, positive_integer] = 1

    def __init_subclass__(cls) -> None:
        """Check the size of every subclass's `expected_error` before it is used."""
        if "expected_error" in vars(cls):
            cls.expected_error = _with_size_checked(vars(cls)["expected_error"])  # type: ignore[assignment, method-assign]

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.relation))
        read_fields(self)
        _ = self.price
        self._check()
        _ = self.privacy_loss

    def _check(self) -> None:
        """Raise if the parameters do not fit together."""

    @cached_property
    def price(self) -> Price:
        """What the answer may cost."""
        return Price.of(self.epsilon, self.delta, self.rho)

    @property
    @abstractmethod
    def privacy_loss(self) -> PrivacyLoss:
        """What the whole answer reveals about one unit; it never depends on the data."""

    @abstractmethod
    def expected_error(self, size: int) -> float:
        """The root mean squared error to expect for about `size` rows, before any row is read.

        In the unit of the answer, unless the docstring of the statistic says otherwise.
        """

    @abstractmethod
    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        """The noisy answer. Nothing that is raised here, and no shape, may depend on a value."""

    def __call__(
        self, values: object, *, units: object = None, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> Release:
        """Pay, look, and release.

        Args:
            values: the private rows: an array, a series or a frame.
            units: whose row it is, one entry a row; None if every row is a unit.
            ledger: who pays before a row is read; None: the caller keeps the books.
            bits: leave it out, except in tests.
        """
        if self.rows > 1 and units is None:
            raise InvalidParameterError(f"rows={self.rows} needs units=..., which says whose row it is")
        payment = Payment(ledger, text=str(self), bits=bits, units=units is not None)
        self._check_lengths(values, units)
        if ledger is not None:
            self._rehearse(values, units)
        left = payment.charge(self.privacy_loss)
        with silence():
            answer = self._answer(values, units, bits)
        release = Release(
            parts=answer.parts,
            noisy=answer.noisy,
            cost=self.privacy_loss,
            text=payment.text,
            safe=bits.safe,
            notes=answer.notes,
        )
        return release if left is None else replace(release, budget_left=left)

    def _columns(self, values: object) -> tuple[object, ...]:
        """The values as the tuple of columns or tables that the statistic takes."""
        if self.takes == "one":
            return (values,)
        if not isinstance(values, tuple | list) or len(values) != 2:
            raise InvalidParameterError(f"{self.name} takes a pair: two columns, or a table and a column")
        return tuple(values)

    def _check_lengths(self, values: object, units: object) -> None:
        """Raise if a row of one column has none in another, or no unit."""
        columns = self._columns(values)
        if any(callable(getattr(column, "collect", None)) for column in columns):
            raise InvalidParameterError("values must hold rows, got a lazy frame. Call .collect() on it.")
        lengths = [_length(column) for column in columns]
        if self.takes == "pair" and lengths[0] != lengths[1]:
            raise InvalidParameterError("both columns must have one entry for each row")
        if units is not None and _length(units) != (sum(lengths) if self.takes == "samples" else lengths[0]):
            raise InvalidParameterError("units must have one entry for each row of the values")

    def _rehearse(self, values: object, units: object) -> None:
        """Answer for no rows of the same types and columns: what is wrong with those is found before anybody pays.

        A list has no type but that of its values, which are not read before the ledger has paid.
        """
        empty = tuple(without_rows(column) for column in self._columns(values))
        nobody = None if units is None else without_rows(units)
        with silence():
            self._answer(empty[0] if self.takes == "one" else empty, nobody, DeterministicBits(0))

    def __str__(self) -> str:
        """The statistic as a call, without the parameters that are at their default."""
        given = [f"{field.name}={_shown(getattr(self, field.name))}" for field in fields(self) if _is_set(self, field)]
        return f"{self.name}({', '.join(given)})"


def release(
    statistic: type[Statistic], values: object, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> Release:
    """Make the statistic from its own parameters and the options of the call, and call it."""
    call = {name: options[name] for name in ("units", "ledger", "bits") if name in options}
    spending = {name: value for name, value in options.items() if name not in call}
    return statistic(**parameters, **spending)(values, **call)


def checked_bounds(bounds: object, name: str = "bounds") -> tuple[float, float]:
    """A pair of public finite numbers, the lower one below the upper one.

    Raises: InvalidParameterError.
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameterError(f"{name} must be a pair (lower, upper), got {bounds!r}")
    lower, upper = (float(exact_rational(name, bound)) for bound in bounds)
    if not lower < upper:
        raise InvalidParameterError(f"{name} must be a pair lower < upper, got ({lower:g}, {upper:g})")
    return lower, upper


def _with_size_checked(expected_error: Callable[[Any, int], float]) -> Callable[[Any, int], float]:
    @wraps(expected_error)
    def checked(self: Statistic, size: int) -> float:
        return expected_error(self, whole_number("size", size, lower=0))

    return checked


def _length(values: object) -> int:
    try:
        return len(values)  # type: ignore[arg-type]
    except TypeError:
        return 0


def _is_set(statistic: Statistic, field: Any) -> bool:
    return bool(getattr(statistic, field.name) != field.default)


def _shown(value: object) -> str:
    return str(value) if isinstance(value, Relation) else repr(value)
