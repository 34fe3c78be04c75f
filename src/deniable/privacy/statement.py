"""What is proved of one mechanism, or of several together: the part of a privacy loss that a proof has to give."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from inspect import signature
from typing import TYPE_CHECKING, ClassVar, Protocol

from deniable.errors import InvalidParameterError, UnknownLossError
from deniable.numbers.interval import INFINITE, Interval
from deniable.numbers.rationals import quotient_text, readable, shown
from deniable.numbers.roots import inverse
from deniable.privacy.charge import Charge
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.notions.renyi import Directions, divergences_below_one, divergences_of_laws
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, SMALL_DELTA, SMALL_EPSILON
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from deniable.privacy.amplification.shuffling.randomizers import Randomizer

_KINDS: dict[str, type["Statement"]] = {}


class Statement(ABC):
    """What is proved of the privacy of a mechanism, for one unit: the base of every loss.

    A subclass is a frozen dataclass that sets `kind` and gives the curve; that is enough. Whatever else it proves, it
    states by one of the other methods, and every accountant, budget and report reads it there: by default nothing more
    is proved than what follows from the curve and the failing bounds. People hold a statement as a `PrivacyLoss`, which
    is where the algebra and the questions are: `PrivacyLoss(statement)`. Epsilon, delta and orders come here as exact
    fractions that have been checked.

    The truth that an interval holds is the supremum over everything that the description allows: for `PureLoss(1)` over
    all 1-DP mechanisms, for noise with a `Sensitivity` over all integer changes that the sensitivity admits.

    An example that runs stands in docs/guide/privacy.md, "Your own loss".
    """

    kind: ClassVar[str]
    """The name of this kind of loss in JSON; a class without one is a base of others."""
    words: ClassVar[Mapping[str, str]] = {}
    """field: its name in the constructor and in JSON, where it differs"""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    @property
    def statement(self) -> "Statement":
        """Itself: a loss and its statement may be given in the same places."""
        return self

    def __repr__(self) -> str:
        """The call that makes a loss with this statement, without what its constructor assumes."""
        takes = signature(type(self)).parameters
        values = {self.words.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        said = {name: value for name, value in values.items() if name not in takes or value != takes[name].default}
        shown = [f"{name}={_typed(value)}" for name, value in said.items()]
        return f"{name_of_loss(type(self))}({', '.join(shown)})"

    @property
    def operand(self) -> str:
        """Its repr where a method is called on it, in brackets where that is needed."""
        return repr(self)

    # --- the curve -----------------------------------------------------------------------------------------------

    @abstractmethod
    def curve(self, epsilon: Fraction) -> Interval:
        """The smallest delta for which (epsilon, delta)-DP holds, within [0, 1]; epsilon >= 0."""

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """The curve at `epsilon`, to this relative width where it has to be computed numerically."""
        return self.curve(epsilon)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """The smallest epsilon of the curve at `delta`; by default found by bisection."""
        if delta < self.infinite_mass:
            return INFINITE
        unreachable = delta < self.failure
        return inverse(self.curve, delta, limit=None if unreachable else self.failing_epsilon, unreachable=unreachable)

    def delta_at(self, epsilon: Fraction, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """The curve at `epsilon`, marked as wide where the tolerance is a wish that was not met."""
        return self.delta_within(epsilon, tolerance).marked(tolerance, SMALL_DELTA)

    def epsilon_at(self, delta: Fraction, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """The smallest epsilon at `delta`, marked as wide where the tolerance is a wish that was not met."""
        return self.epsilon_within(delta, tolerance).marked(tolerance, SMALL_EPSILON)

    def upper_delta(self, epsilon: Fraction) -> float:
        """The upper end of the curve."""
        return self.curve(epsilon).upper

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether (epsilon, delta)-DP is proved; may be quicker than the curve."""
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon and booked.delta <= delta:
            return True  # a float above delta would prove less
        return Fraction(self.curve(epsilon).upper) <= delta

    @property
    def is_bound(self) -> bool:
        """Whether the loss is known by its curve alone, which is not that of a mechanism that reveals everything."""
        return self.laws() is None and self.infinite_mass < 1

    # --- bounds, which may fail ----------------------------------------------------------------------------------

    @property
    def relations(self) -> frozenset[Relation]:
        """The neighbouring relations for which the statement holds: that of the loss or its sensitivity, else both."""
        stated = getattr(self, "relation", None) or getattr(getattr(self, "sensitivity", None), "relation", None)
        return frozenset(Relation) if stated is None else frozenset({stated})

    @property
    def failure(self) -> Fraction:
        """A probability set aside: the failing bounds below hold for a loss that is `failure` away in total variation.

        Precisely: the pair is (1 - failure) (P', Q') + failure (P'', Q'') with P', Q' as bounded below.
        """
        return Fraction(0)

    @property
    def infinite_mass(self) -> Fraction:
        """A lower bound on the probability of an infinite loss: below it epsilon is infinite."""
        return Fraction(0)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """An epsilon for which epsilon-DP holds up to `failure`; None when the loss is unbounded."""
        return None

    @property
    def failing_rho(self) -> Fraction | None:
        """A rho for which rho-zCDP holds up to `failure`; None when none is proved. By default of epsilon or mu."""
        if self.failing_epsilon is not None:
            return self.failing_epsilon**2 / 2
        return None if self.mu_squared is None else self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction | None:
        """A bound on mu^2 for which mu-GDP holds; None when none is proved. By default that of epsilon-DP."""
        pure = None if self.failure else self.failing_epsilon
        return None if pure is None else mu_squared_of_pure(pure)

    @property
    def failing_mu_squared(self) -> Fraction | None:
        """A bound on mu^2 for which mu-GDP holds up to the failure; None when none is proved."""
        if not self.failure:
            return self.mu_squared
        return None if self.failing_epsilon is None else mu_squared_of_pure(self.failing_epsilon)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """An epsilon for which epsilon-DP holds, at no delta; None where none is proved."""
        return None if self.failure else self.failing_epsilon

    @property
    def rho(self) -> Fraction | None:
        """A rho for which rho-zCDP holds; None where none is proved."""
        return None if self.failure else self.failing_rho

    def charge(self) -> Charge:
        """What a ledger books for this loss, in every notion that is proved."""
        bounded = self.failing_epsilon is not None
        return Charge(
            epsilon=self.failing_epsilon,
            delta=self.failure if bounded else Fraction(0),
            rho=self.rho,
            mu_squared=self.mu_squared if self.failure == 0 else None,
            failing_epsilon=self.failing_epsilon,
            failing_rho=self.failing_rho,
            failing_mu_squared=self.failing_mu_squared,
            failure=self.failure,
        )

    # --- laws of the loss, and divergences -----------------------------------------------------------------------

    def laws(self) -> Pairs | None:
        """The pairs of laws that dominate the mechanism and that it attains; None when it is known by a bound alone.

        Only a loss with such pairs can be composed tightly and sampled.
        """
        return None

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        """Pairs that together dominate `count` adaptive runs, and that these attain, each with its number."""
        return [(self.laws(), count)]

    def joint_laws(self) -> Pairs | None:
        """One pair of laws for each direction, also for a composition, where to compute it takes long."""
        return self.laws()

    def exact_laws(self) -> Pairs | None:
        """One pair for each direction, of a composition only where it has few values, so that nothing is rounded."""
        return self.laws()

    def divergences(self, order: Fraction) -> Directions:
        """The Rényi divergences of an order >= 1: (with the unit, without it) and (without, with)."""
        return divergences_of_laws(self, order)

    def divergences_below_one(self, order: Fraction) -> Directions:
        """The Rényi divergences of an order between 0 and 1."""
        return divergences_below_one(self, order)

    @property
    def divergences_are_closed(self) -> bool:
        """Whether Rényi divergences are given by a formula, so that many orders are quick."""
        return False

    # --- special forms, which others compute with exactly ----------------------------------------------------------

    @property
    def normal_mu_squared(self) -> Fraction | None:
        """mu^2 where the curve is exactly that of N(0, 1) against N(mu, 1); None elsewhere."""
        return None

    @property
    def laplace_epsilon(self) -> Fraction | None:
        """epsilon where the curve is exactly that of Laplace noise with this epsilon; None elsewhere."""
        return None

    @property
    def response(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, delta) where the loss is that of any (epsilon, delta)-DP mechanism, known by nothing else."""
        return None

    def as_randomizer(self) -> "Randomizer | None":
        """What one user applies, where this is the loss of a report that can be shuffled; None elsewhere."""
        return None

    def dominates(self, other: "Statement") -> bool:
        """Whether the pair of this loss is known to be above every pair that `other` allows."""
        if self.response is not None:
            epsilon, delta = self.response
            limit = other.failing_epsilon
            return limit is not None and limit <= epsilon and other.failure <= delta
        if self.normal_mu_squared is not None:
            return other.failure == 0 and other.mu_squared is not None and other.mu_squared <= self.normal_mu_squared
        ours, theirs = self.laplace_epsilon, other.laplace_epsilon
        return ours is not None and theirs is not None and theirs <= ours

    # --- what becomes of it where there is a form of its own --------------------------------------------------------

    def grouped(self, units: int) -> "Statement | None":
        """The loss of a group of 2 or more where it has a form of its own; None: it is computed from the curve."""
        return None

    def grouped_one_way(self, units: int) -> "Statement | None":
        """The loss of a group that is added or removed as one, where it is less than that of any group."""
        return None

    def replaced(self) -> "Statement | None":
        """The loss under replace of one that is stated under add/remove, where it has a form of its own.

        Or another loss under add/remove, which is to be put under replace in its place.
        """
        return None

    def sampled(self, rate: Fraction) -> "Statement | None":
        """The loss under add/remove on a Poisson sample where it is one of the same form, in exact numbers."""
        return None

    def of_runs(self, runs: "Statement") -> "Statement":
        """The loss of runs of this one and nothing else: `runs`, unless more is known of them together."""
        return runs

    def least_delta_of_runs(self, count: int, epsilon: Fraction) -> float:
        """A lower bound on delta of `count` runs together: by default that of one."""
        return self.curve(epsilon).lower

    # --- what it is made of ------------------------------------------------------------------------------------------

    @property
    def composition(self) -> "tuple[tuple[Statement, int], ...]":
        """The losses that are composed in this one, with their counts: itself once, unless it is a composition."""
        return ((self, 1),)

    @property
    def as_sample(self) -> "tuple[Statement, Fraction]":
        """(base, rate) such that this is the loss of `base` on a Poisson sample; (itself, 1) where it is on none."""
        return self, Fraction(1)

    @property
    def unrestricted(self) -> "Statement":
        """The same loss without the one relation that its sensitivity was measured under, where it is held to one."""
        return self

    @property
    def sort_key(self) -> str:
        """What losses are sorted by, so that their order, and with it every rounding, is that of what they wrap."""
        return self.to_json()

    # --- serialisation -------------------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON: the kind and the fields, rationals as text."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"loss": self.kind, **{self.words.get(name, name): _encoded(getattr(self, name)) for name in names}}

    def to_json(self) -> str:
        """Canonical JSON text: equal losses have equal text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> "Statement":
        """The statement with the fields of `to_data`, by the constructor, whose checks run again."""
        given = {cls.words.get(name, name): value for name, value in values.items()}  # older ledgers name the field
        if len(given) < len(values):
            raise TypeError("a parameter is given twice")
        return cls(**given)

    @staticmethod
    def from_data(data: object) -> "Statement":
        """The inverse of `to_data`; every check of the constructors runs again."""
        if not isinstance(data, Mapping) or not isinstance(data.get("loss"), str):
            raise InvalidParameterError(f"a loss needs a field 'loss' with one of {sorted(_KINDS)}, got {data!r}")
        if data["loss"] not in _KINDS:
            raise UnknownLossError(
                f"this program knows no loss of kind {shown(data['loss'])}. Import the module that defines it, a "
                f"subclass of Statement, before you read it; deniable itself has {', '.join(sorted(_KINDS))}."
            )
        values = {str(name): value for name, value in data.items() if name != "loss"}
        if "sensitivity" in values:
            values["sensitivity"] = Sensitivity.from_data(values["sensitivity"])
        if isinstance(values.get("base"), Mapping):
            values["base"] = Statement.from_data(values["base"])
        try:
            return _KINDS[data["loss"]].from_fields(values)
        except TypeError as error:
            wrong = f"these are not the fields of a {data['loss']} loss: {sorted(values)}"
            raise InvalidParameterError(wrong) from error


class Stated(Protocol):
    """A loss, or its statement."""

    @property
    def statement(self) -> Statement:
        """What is proved."""
        ...


def statement_of(name: str, value: object) -> Statement:
    """The statement of a loss, or a statement itself.

    Args:
        name: what the caller calls the parameter, for the message.
    Raises: InvalidParameterError for anything else.
    """
    found = getattr(value, "statement", None)
    if not isinstance(found, Statement):
        raise InvalidParameterError(f"{name} must be a PrivacyLoss, got {value!r}")
    return found


def name_of_loss(kind: type[Statement]) -> str:
    """What users call the losses of a class of statements: GaussianLoss for GaussianStatement."""
    return kind.__name__.replace("Statement", "Loss")


def _encoded(value: object) -> object:
    if isinstance(value, Fraction):
        return quotient_text(value)
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, Relation):
        return value.value
    return value.to_data() if hasattr(value, "to_data") else value


def _typed(value: object) -> str:
    """A value as one may type it."""
    if isinstance(value, tuple):
        return f"[{', '.join(_typed(item) for item in value)}]"
    if isinstance(value, Fraction):
        return repr(readable(value))
    return str(f"Relation.{value.name}" if isinstance(value, Relation) else repr(value))
