"""Contract of a mechanism: a loss stated once, exact releases, a worst pair."""

import json
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

from numpy.typing import NDArray

from deniable.arguments import InWords, in_words, read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.integers import public_bounds
from deniable.noise.bits import SECURE, Bits
from deniable.noise.race import checked_rate
from deniable.numbers.balls import certified_masses
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_rational, quotient_text, read_json, shown
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity, of_count
from deniable.rows import silence

if TYPE_CHECKING:
    from flint import arb

MOST_VALUES = 10**5
"""Of a released value, whose probabilities are listed."""

ONE_ROW = of_count(rows=1, groups=1, relation=AddRemove)
"""Sensitivity of a count to one row more or less."""

NO_ANSWER = -(2**62)
"""Stands for "no answer" among outcomes."""

_KINDS: dict[str, type["Mechanism"]] = {}
Value_co = TypeVar("Value_co", covariant=True)
Other = TypeVar("Other")


@dataclass(frozen=True)
class Released(Generic[Value_co]):
    """Public answer of a mechanism.

    Args:
        value: an int, a tuple of ints or an array; None where the mechanism gives no answer, which is public too.
        safe: whether it may be published: false where the noise came from test bits.
    """

    value: Value_co
    safe: bool

    def map(self, function: Callable[[Value_co], Other]) -> "Released[Other | None]":
        """Return a release of a function of the value; no answer stays no answer."""
        return Released(None if self.value is None else function(self.value), self.safe)


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """One setting and one pair of neighbouring exact inputs, for audits.

    Args:
        mechanism: with the parameters to try.
        sensitivity: one that admits the pair: by default that of one row more or less.
        exact: the input on one table: aggregates, scores, answers, or whatever the mechanism takes.
        neighbour: the input on a neighbouring table.
        attains: whether the pair attains the claimed curve, so that an audit must come close to it. If not, the claim
            is an upper bound, and the docstring of `worst_case` says why.
    """

    mechanism: "Mechanism"
    exact: tuple[int, ...]
    neighbour: tuple[int, ...]
    sensitivity: Sensitivity = ONE_ROW
    attains: bool = True

    def outcomes(self, runs: int, *, bits: Bits) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return `runs` independent outcomes of either input."""
        return tuple(  # type: ignore[return-value]
            self.mechanism.outcomes(vector, runs, bits=bits) for vector in (self.exact, self.neighbour)
        )


@dataclass(frozen=True, kw_only=True)
class Mechanism(metaclass=InWords):
    """Base of mechanisms, which turn secret integers into a public answer.

    A subclass is a frozen dataclass of exact public parameters in one file, listed in `MECHANISMS`; `privacy_loss` is
    the only place where its guarantee is computed. What it takes and releases, its own `release` says; the secret input
    consists of integers, always. `kind` is its name in JSON; the generated table quotes the docstring's Guarantee and
    Source.

    >>> from deniable.mechanisms import Laplace
    >>> text = Laplace(scale=10).to_json()
    >>> text
    '{"mechanism": "laplace", "scale": "10"}'
    >>> Mechanism.from_json(text) == Laplace(scale=10)
    True
    """

    kind: ClassVar[str]
    _of_sums: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(cls.__dict__.items()):
            if not name.startswith("_") and isinstance(method, FunctionType | classmethod):
                refusing = _checked(method)  # calls that do not fit are refused in words
                setattr(cls, name, silence()(refusing) if name == "release" else refusing)
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        read_fields(self)

    @abstractmethod
    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the privacy loss of one release of an input with this sensitivity."""

    @property
    def takes_sums(self) -> bool:
        """Whether the input is a vector of sums over units.

        Their norms are then the sensitivity of the loss.
        """
        return self._of_sums

    @abstractmethod
    def release(self, exact: Any, *, bits: Bits = SECURE) -> Released[Any]:
        """Return a public answer to one secret input.

        Args:
            exact: secret; what it is, each mechanism says.
            bits: leave it out, except in tests.
        """

    @abstractmethod
    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return results of `runs` independent releases of one small input.

        One entry per run, for audits and simulations.

        Entries can be compared and sorted: numbers, or numbers that stand for whole transcripts; NO_ANSWER for none.
        """

    def pmf(self, exact: Any) -> dict[Hashable, Fraction | Interval]:
        """Return the law of the released value, where it has at most 10^5 values.

        Args:
            exact: one input, as `release` takes it. The law is as secret as the input: it is for audits and tests.

        Returns: the probability of each value, arrays as tuples: Fractions that sum to 1 where all of them are
            rational, else certified intervals.

        Raises: InvalidParameterError if there are more values, infinitely many, or no formula is known.
        """
        return certified_masses(lambda: self._masses(exact))

    def _masses(self, exact: Any) -> Mapping[Hashable, "Fraction | arb"]:
        """Return the law in ball arithmetic at the working precision."""
        raise InvalidParameterError(
            f"no finite law is known for {type(self).__name__}. Additive noise has law(), which gives its "
            "probabilities one by one."
        )

    @classmethod
    @abstractmethod
    def worst_case(cls) -> WorstCase:
        """Return a setting and a pair of neighbours for audits.

        One input's outcomes lie at the far end of the other's.
        """

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON: the kind and the parameters, rationals as text."""
        values = {field.name: _encoded(getattr(self, field.name)) for field in fields(self)}
        if isinstance(self, InBounds):
            del values["bounds"]
            values |= {"lower": self.lower, "upper": self.upper}
        return {"mechanism": self.kind, **values}

    @staticmethod
    def from_data(data: object) -> "Mechanism":
        """Return the mechanism of plain data from `to_data`."""
        import deniable.mechanisms  # noqa: F401  (all register their kinds)

        if not isinstance(data, Mapping) or str(data.get("mechanism")) not in _KINDS:
            raise InvalidParameterError(
                f"a mechanism needs a field 'mechanism' with one of {sorted(_KINDS)}, got {shown(data)}"
            )
        mechanism = _KINDS[data["mechanism"]]
        values: dict[str, Any] = {str(name): _decoded(value) for name, value in data.items() if name != "mechanism"}
        if issubclass(mechanism, InBounds) and {"lower", "upper"} <= values.keys():
            values["bounds"] = values.pop("lower"), values.pop("upper")
        if set(values) != {field.name for field in fields(mechanism)}:
            raise InvalidParameterError(f"these are not the parameters of {mechanism.__name__}: {sorted(values)}")
        return mechanism(**values)

    def to_json(self) -> str:
        """Return canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Mechanism":
        """Return the mechanism of a text from `to_json`."""
        return Mechanism.from_data(read_json(text, "a mechanism"))


@dataclass(frozen=True, kw_only=True)
class InBounds:
    """Mixin of mechanisms with public bounds.

    Args:
        bounds: public (lower, upper), whole numbers of lattice steps. JSON has them as two fields.
    """

    bounds: Annotated[tuple[int, int], public_bounds]

    @property
    def lower(self) -> int:
        """The lower bound."""
        return self.bounds[0]

    @property
    def upper(self) -> int:
        """The upper bound."""
        return self.bounds[1]


def drawable_rate(name: str, value: object) -> Fraction:
    """Return a rate that races can draw with."""
    return checked_rate(positive_rational(name, value))


def require_listed(values: int) -> None:
    """Refuse to list the probabilities of too many values."""
    if values > MOST_VALUES:
        raise InvalidParameterError(f"probabilities are listed for at most {MOST_VALUES} values, and there are more")


def shares(weights: Mapping[Hashable, "arb"]) -> dict[Hashable, "arb"]:
    """Return weights over their sum."""
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def _checked(method: Any) -> Any:
    kinds = {"sensitivity": Sensitivity, "bits": Bits}
    if isinstance(method, classmethod):
        return classmethod(in_words(method.__func__, kinds=kinds))
    return in_words(method, kinds=kinds)


def _encoded(value: object) -> object:
    if isinstance(value, Fraction):
        return quotient_text(value)
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    return value.to_data() if isinstance(value, Mechanism | PrivacyLoss | Sensitivity) else value


def _decoded(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    if isinstance(value, Mapping) and "mechanism" in value:
        return Mechanism.from_data(value)
    if isinstance(value, Mapping) and "loss" in value:
        return PrivacyLoss.from_data(value)
    return Sensitivity.from_data(value) if isinstance(value, Mapping) and "l2_squared" in value else value
