"""Statements: what a proof gives about one mechanism, or about several together."""

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
    """Everything that is proved of a mechanism for one unit; the base of every loss.

    A subclass is a frozen dataclass that sets `kind` and gives the curve; that is enough. Whatever else it proves, it
    states by one of the other methods, and every accountant, budget and report reads it there: by default nothing more
    is proved than what follows from the curve and the failing bounds. People hold a statement as a `PrivacyLoss`, which
    is where the algebra and the questions are: `PrivacyLoss(statement)`. Epsilon, delta and orders come here as exact
    fractions that have been checked.

    A subclass is a frozen dataclass that sets `kind` and gives the curve; that is enough. Whatever else it proves, it
    states by one of the other methods, and every accountant, budget and report reads it there: by default nothing more
    is proved than what follows from the curve and the failing bounds. People hold a statement as a `PrivacyLoss`, which
    is where the algebra and the questions are: `PrivacyLoss(statement)`. Epsilon, delta and orders come here as exact
    fractions that have been checked.

    The truth that an interval holds is the supremum over everything that the description allows: for `PureLoss(1)` over
    all 1-DP mechanisms, for noise with a `Sensitivity` over all integer changes that the sensitivity admits.

    A statement of your own, in ten lines: docs/guide/privacy.md, "Your own loss".

    >>> from deniable.privacy import GaussianLoss
    >>> statement = GaussianLoss(noise_multiplier=2).statement
    >>> print(statement.mu_squared, statement.rho, statement.pure_epsilon)
    1/4 1/8 None
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
        """This statement, so that losses and statements may be given in the same places."""
        return self

    def __repr__(self) -> str:
        """Return the call that makes a loss with this statement, without defaults."""
        takes = signature(type(self)).parameters
        values = {self.words.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        said = {name: value for name, value in values.items() if name not in takes or value != takes[name].default}
        shown = [f"{name}={_typed(value)}" for name, value in said.items()]
        return f"{name_of_loss(type(self))}({', '.join(shown)})"

    @property
    def operand(self) -> str:
        """Text of the statement in front of a method call, in brackets where needed."""
        return repr(self)

    # --- the curve -----------------------------------------------------------------------------------------------

    @abstractmethod
    def curve(self, epsilon: Fraction) -> Interval:
        """Return the smallest delta for which (epsilon, delta)-DP holds; epsilon >= 0."""

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return the curve at `epsilon`, to this relative width where it is numerical."""
        return self.curve(epsilon)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the smallest epsilon of the curve at `delta`; by default by bisection."""
        if delta < self.infinite_mass:
            return INFINITE
        unreachable = delta < self.failure
        return inverse(self.curve, delta, limit=None if unreachable else self.failing_epsilon, unreachable=unreachable)

    def delta_at(self, epsilon: Fraction, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """Return the curve at `epsilon`, marked as wide where a wish was not met."""
        return self.delta_within(epsilon, tolerance).marked(tolerance, SMALL_DELTA)

    def epsilon_at(self, delta: Fraction, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """Return the smallest epsilon at `delta`, marked as wide where a wish was not met."""
        return self.epsilon_within(delta, tolerance).marked(tolerance, SMALL_EPSILON)

    def upper_delta(self, epsilon: Fraction) -> float:
        """Return the upper end of the curve."""
        return self.curve(epsilon).upper

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (epsilon, delta)-DP is proved; may be quicker than the curve."""
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon and booked.delta <= delta:
            return True  # a float above delta would prove less
        return Fraction(self.curve(epsilon).upper) <= delta

    @property
    def is_bound(self) -> bool:
        """Whether the loss is known by its curve alone, and does not reveal everything."""
        return self.laws() is None and self.infinite_mass < 1

    # --- bounds, which may fail ----------------------------------------------------------------------------------

    @property
    def relations(self) -> frozenset[Relation]:
        """Neighbouring relations for which the statement holds.

        By default that of the loss or of its sensitivity, else both.
        """
        stated = getattr(self, "relation", None) or getattr(getattr(self, "sensitivity", None), "relation", None)
        return frozenset(Relation) if stated is None else frozenset({stated})

    @property
    def failure(self) -> Fraction:
        """Probability set aside: the failing bounds hold up to it.

        They hold for a loss that is `failure` away in total variation. Precisely: the pair is (1 - failure) (P', Q') +
        failure (P'', Q'') with P', Q' as bounded below.

        Precisely: the pair is (1 - failure) (P', Q') + failure (P'', Q'') with P', Q' as bounded below.
        """
        return Fraction(0)

    @property
    def infinite_mass(self) -> Fraction:
        """Lower bound on the probability of an infinite loss.

        For a delta below it, epsilon is infinite.
        """
        return Fraction(0)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon for which epsilon-DP holds up to `failure`; None if unbounded."""
        return None

    @property
    def failing_rho(self) -> Fraction | None:
        """Rho for which rho-zCDP holds up to `failure`; None when none is proved.

        By default of epsilon or mu.
        """
        if self.failing_epsilon is not None:
            return self.failing_epsilon**2 / 2
        return None if self.mu_squared is None else self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction | None:
        """Bound on mu^2 for which mu-GDP holds; None when none is proved.

        By default that of epsilon-DP.
        """
        pure = None if self.failure else self.failing_epsilon
        return None if pure is None else mu_squared_of_pure(pure)

    @property
    def failing_mu_squared(self) -> Fraction | None:
        """Bound on mu^2 for which mu-GDP holds up to `failure`; None when none is proved."""
        if not self.failure:
            return self.mu_squared
        return None if self.failing_epsilon is None else mu_squared_of_pure(self.failing_epsilon)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Epsilon for which epsilon-DP holds, at no delta; None where none is proved."""
        return None if self.failure else self.failing_epsilon

    @property
    def rho(self) -> Fraction | None:
        """Rho for which rho-zCDP holds; None where none is proved."""
        return None if self.failure else self.failing_rho

    def charge(self) -> Charge:
        """Return the charge of a ledger for this loss, in every notion that is proved."""
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
        """Return the pairs of laws that dominate the mechanism, and that it attains.

        None when it is known by a bound alone. Only a loss with such pairs can be composed tightly and sampled.

        Only a loss with such pairs can be composed tightly and sampled.
        """
        return None

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        """Return pairs that dominate `count` adaptive runs, each with its number.

        Their lower ones are attained by the runs.
        """
        return [(self.laws(), count)]

    def joint_laws(self) -> Pairs | None:
        """Return one pair of laws for each direction, also for a composition.

        For a composition that may take long.
        """
        return self.laws()

    def exact_laws(self) -> Pairs | None:
        """Return one pair for each direction, where nothing is rounded.

        For a composition only where it has few values.
        """
        return self.laws()

    def divergences(self, order: Fraction) -> Directions:
        """Return the Rényi divergences of an order >= 1, in both directions.

        (with the unit, without it) and (without, with).
        """
        return divergences_of_laws(self, order)

    def divergences_below_one(self, order: Fraction) -> Directions:
        """Return the Rényi divergences of an order between 0 and 1."""
        return divergences_below_one(self, order)

    @property
    def divergences_are_closed(self) -> bool:
        """Whether Rényi divergences are given by a formula, so that many orders are quick."""
        return False

    # --- special forms, which others compute with exactly ----------------------------------------------------------

    @property
    def normal_mu_squared(self) -> Fraction | None:
        """Value of mu^2 where the curve is exactly that of real Gaussian noise, or None."""
        return None

    @property
    def laplace_epsilon(self) -> Fraction | None:
        """Epsilon where the curve is exactly that of Laplace noise, or None."""
        return None

    @property
    def response(self) -> tuple[Fraction, Fraction] | None:
        """Pair (epsilon, delta) where the loss is known by nothing else, or None.

        The loss is then that of any (epsilon, delta)-DP mechanism.
        """
        return None

    def as_randomizer(self) -> "Randomizer | None":
        """Return the local randomizer whose report has this loss; None elsewhere."""
        return None

    def dominates(self, other: "Statement") -> bool:
        """Return whether this loss is known to be above every pair that `other` allows."""
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
        """Return the loss of a group of 2 or more, where it has a form of its own.

        None: it is computed from the curve.
        """
        return None

    def grouped_one_way(self, units: int) -> "Statement | None":
        """Return the loss of a group that is added or removed as one.

        Where it is less than that of any group; None elsewhere.
        """
        return None

    def replaced(self) -> "Statement | None":
        """Return the loss under replace of one under add/remove, if it has its own form.

        Or another loss under add/remove, which is to be put under replace in its place.
        """
        return None

    def sampled(self, rate: Fraction) -> "Statement | None":
        """Return the exact loss on a Poisson sample, where it is of the same form.

        Under add/remove; None elsewhere.
        """
        return None

    def of_runs(self, runs: "Statement") -> "Statement":
        """Return the loss of runs of this one and nothing else.

        It is `runs`, unless more is known of them together.
        """
        return runs

    def least_delta_of_runs(self, count: int, epsilon: Fraction) -> float:
        """Return a lower bound on delta of `count` runs together: by default that of one."""
        return self.curve(epsilon).lower

    # --- what it is made of ------------------------------------------------------------------------------------------

    @property
    def composition(self) -> "tuple[tuple[Statement, int], ...]":
        """Losses that are composed in this one, with their counts.

        This one once, unless it is a composition.
        """
        return ((self, 1),)

    @property
    def as_sample(self) -> "tuple[Statement, Fraction]":
        """Pair (base, rate) such that this is the loss of `base` on a Poisson sample.

        (this loss, 1) where it is on none.
        """
        return self, Fraction(1)

    @property
    def unrestricted(self) -> "Statement":
        """Loss without the one relation to which it is held, that of its sensitivity."""
        return self

    @property
    def sort_key(self) -> str:
        """Sort key; equal losses sort alike, so rounding does not depend on wrapping."""
        return self.to_json()

    # --- serialisation -------------------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON: the kind and the fields, rationals as text."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"loss": self.kind, **{self.words.get(name, name): _encoded(getattr(self, name)) for name in names}}

    def to_json(self) -> str:
        """Return canonical JSON text: equal losses have equal text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> "Statement":
        """Return the statement with the fields of `to_data`; all checks run again."""
        given = {cls.words.get(name, name): value for name, value in values.items()}  # older ledgers name the field
        if len(given) < len(values):
            raise TypeError("a parameter is given twice")
        return cls(**given)

    @staticmethod
    def from_data(data: object) -> "Statement":
        """Return the statement that `to_data` wrote; all checks run again."""
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
    """Loss, or statement: anything with a `statement`."""

    @property
    def statement(self) -> Statement:
        """The statement."""
        ...


def statement_of(name: str, value: object) -> Statement:
    """Return the statement of a loss, or a statement itself.

    Args:
        name: the caller's name of the parameter, for the message.
        value: a loss or a statement.

    Raises: InvalidParameterError for anything else.
    """
    statement = getattr(value, "statement", None)
    if not isinstance(statement, Statement):
        raise InvalidParameterError(f"{name} must be a PrivacyLoss, got {value!r}")
    return statement


def name_of_loss(kind: type[Statement]) -> str:
    """Return the public name of a class of statements, such as GaussianLoss."""
    return kind.__name__.replace("Statement", "Loss")


def _encoded(value: object) -> object:
    """Return a value as plain data for JSON."""
    if isinstance(value, Fraction):
        return quotient_text(value)
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, Relation):
        return value.value
    return value.to_data() if hasattr(value, "to_data") else value


def _typed(value: object) -> str:
    """Return a value as one may type it."""
    if isinstance(value, tuple):
        return f"[{', '.join(_typed(item) for item in value)}]"
    if isinstance(value, Fraction):
        return repr(readable(value))
    return str(f"Relation.{value.name}" if isinstance(value, Relation) else repr(value))
