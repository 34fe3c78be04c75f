"""Base of private statistics: public parameters, loss, expected error, release."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, wraps
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypedDict

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.numbers.rationals import Real, exact_rational, positive_integer, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.release import Release
from deniable.release.columns import Estimate, Key, Measure, Noisy
from deniable.rows import Container, silence, without_rows

Takes = Literal[
    "one", "pair", "samples"
]  # a column or table; two that describe the same rows; two of rows of their own


BoundsLike: TypeAlias = tuple[Real, Real] | list[float] | Literal["auto"]
"""Public bounds of a column: (lower, upper), or "auto" where they are to be found privately."""


class Options(TypedDict, total=False):
    """Options of every function of `deniable.statistics`.

    Args:
        epsilon: privacy loss that the answer may cost, alone or with delta; > 0.
        delta: in [0, 1), beside epsilon.
        rho: price in zero-concentrated privacy, in place of epsilon and delta.
        relation: `AddRemove` where the number of rows is private, `Replace` where it is public.
        rows: the most rows of one unit that count, drawn at random from more; above 1 it needs `units`.
        units: one entry per row, the unit that owns it; without it every row is a unit.
        ledger: a `Ledger`, charged before a row is read; without it nothing is charged.
        bits: source of random bits; leave it out, except in tests.
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
    """Columns of a release, before it has a cost.

    Args:
        parts: columns of keys, measures and estimates, in the order of the release.
        noisy: noisy numbers of which measures are made.
        notes: sentences that a reader of the answer must know.
    """

    parts: tuple[Key | Measure | Estimate, ...]
    noisy: tuple[Noisy, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Statistic(metaclass=InWords):
    """Question about private rows with its public parameters; called with the rows.

    A subclass is a frozen dataclass of public parameters that gives its loss, its expected error, and an answer. Which
    errors it can raise depends on its parameters alone, and it raises them when it is made. Users make it by `plan`.

    Args:
        epsilon: privacy loss that the answer may cost, alone or with delta.
        delta: in [0, 1), beside epsilon.
        rho: price in zero-concentrated privacy, in place of epsilon and delta.
        relation: the neighbouring relation. Under add/remove the number of rows is private.
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
        """Check the size of `expected_error` in every subclass, and show it as its call."""
        cls.__repr__ = _as_people_type_it  # type: ignore[assignment, method-assign]
        if "expected_error" in vars(cls):
            cls.expected_error = _with_size_checked(vars(cls)["expected_error"])  # type: ignore[assignment, method-assign]

    def __post_init__(self) -> None:
        read_fields(self, relation=Relation(self.relation))
        read_fields(self)
        _ = self.price
        self._check()
        _ = self.privacy_loss

    def _check(self) -> None:
        """Raise if the parameters do not fit together."""

    @cached_property
    def price(self) -> Price:
        """Price of the answer."""
        return Price.of(self.epsilon, self.delta, self.rho)

    @property
    @abstractmethod
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of the whole answer for one unit; it never depends on the data."""

    @abstractmethod
    def expected_error(self, size: int) -> float:
        """Return the root mean squared error for `size` rows, before any row is read.

        In the unit of the answer, unless the docstring of the statistic says otherwise.
        """

    @abstractmethod
    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        """Return the noisy answer; no error and no shape may depend on a value."""

    def __call__(
        self, values: object, *, units: object = None, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> Release:
        """Charge the ledger, read the rows, and return the release.

        Args:
            values: the private rows: an array, a series or a frame; a pair of them where the statistic takes two.
            units: one entry per row, the unit that owns it; None if every row is a unit.
            ledger: charged before a row is read; None if nothing is to be charged.
            bits: source of random bits; leave it out, except in tests.
        """
        if self.rows > 1 and units is None:
            raise InvalidParameterError(f"rows={self.rows} needs units=..., the owner of each row")
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
        """Return the values as the tuple of columns or tables that the statistic takes."""
        if self.takes == "one":
            return (values,)
        if not isinstance(values, tuple | list) or len(values) != 2:
            raise InvalidParameterError(f"{self.name} takes a pair: two columns, or a table and a column")
        return tuple(values)

    def _check_lengths(self, values: object, units: object) -> None:
        """Raise if columns differ in length, or the units from them."""
        columns = self._columns(values)
        if any(callable(getattr(column, "collect", None)) for column in columns):
            raise InvalidParameterError("values must hold rows, got a lazy frame. Call .collect() on it.")
        lengths = [_length(column) for column in columns]
        if self.takes == "pair" and lengths[0] != lengths[1]:
            raise InvalidParameterError("both columns must have one entry for each row")
        if units is not None and _length(units) != (sum(lengths) if self.takes == "samples" else lengths[0]):
            raise InvalidParameterError("units must have one entry for each row of the values")

    def _rehearse(self, values: object, units: object) -> None:
        """Answer for no rows of the same types, to find errors before anything is charged.

        A list has no type but that of its values, which are not read before the ledger has been charged.
        """
        empty = tuple(without_rows(column) for column in self._columns(values))
        no_units = None if units is None else without_rows(units)
        with silence():
            self._answer(empty[0] if self.takes == "one" else empty, no_units, DeterministicBits(0))

    def __str__(self) -> str:
        """Return the statistic as a call, without parameters at their default.

        Ledgers find a question by it.
        """
        return self._as_call(_stored)

    def _as_call(self, shown: Callable[[object], str]) -> str:
        given = [field.name for field in fields(self) if _is_set(self, field)]
        return f"{self.name}({', '.join(f'{name}={shown(getattr(self, name))}' for name in given)})"


def _as_people_type_it(statistic: Statistic) -> str:
    return statistic._as_call(lambda value: str(value) if isinstance(value, Relation) else repr(value))


def release(
    statistic: Callable[..., Statistic], values: object, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> Release:
    """Make the statistic from its parameters and the options of the call, and call it."""
    call = {name: options[name] for name in ("units", "ledger", "bits") if name in options}
    spending = {name: value for name, value in options.items() if name not in call}
    return statistic(**parameters, **spending)(values, **call)


def checked_bounds(bounds: object, name: str = "bounds") -> tuple[float, float]:
    """Return a pair of public finite numbers, the lower one below the upper one.

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


def _stored(value: object) -> str:
    """Return a value as texts in ledgers have it.

    It must not change: an answer is stored under its question.
    """
    if isinstance(value, Relation):
        return str(value)
    if isinstance(value, Fraction):
        return f"Fraction({value.numerator}, {value.denominator})"
    if isinstance(value, tuple):
        entries = ", ".join(map(_stored, value))
        return f"({entries},)" if len(value) == 1 else f"({entries})"
    return f"[{', '.join(map(_stored, value))}]" if type(value) is list else repr(value)
