"""A privacy loss as a value: what a mechanism reveals about one unit, stated once and read by everybody."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from inspect import signature
from typing import TYPE_CHECKING, ClassVar, overload

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import INFINITE, Interval, Intervals, each
from deniable.numbers.rationals import Real, Reals, nonnegative_rational, probability, read_json
from deniable.numbers.roots import inverse
from deniable.privacy.call import InWords
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, SMALL_DELTA, SMALL_EPSILON, checked_tolerance
from deniable.privacy.pld.law import Pairs
from deniable.privacy.readings import Readings
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from deniable.privacy.amplification.shuffling.randomizers import Randomizer
    from deniable.privacy.charge import Charge
    from deniable.privacy.notions.renyi import Directions

_KINDS: dict[str, type["PrivacyLoss"]] = {}


class PrivacyLoss(Readings, metaclass=InWords):
    """What one mechanism, or several together, can reveal about one unit.

    A subclass is a frozen dataclass that sets `kind`, gives the curve `_delta`, and states what else is proved through
    the properties below. `a + b` is the loss of both, `a * 3` that of three runs; both are immutable values.

    The truth that an interval holds is the supremum over everything that the description allows: for `PureLoss(1)` over
    all 1-DP mechanisms, for noise with a `Sensitivity` over all integer changes that the sensitivity admits.
    """

    kind: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {}  # field: its name in the constructor and in JSON, where it differs

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    def __repr__(self) -> str:
        """The call that makes this loss, without what its constructor assumes."""
        takes = signature(type(self)).parameters
        values = {self.words.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        said = {name: value for name, value in values.items() if name not in takes or value != takes[name].default}
        shown = [f"{name}={_typed(value)}" for name, value in said.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    # --- the curve -----------------------------------------------------------------------------------------------

    @overload
    def delta(self, epsilon: Reals, *, tolerance: float = ...) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def delta(self, epsilon: Real, *, tolerance: float = ...) -> Interval: ...
    def delta(self, epsilon: Real | Reals, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval | Intervals:
        """The smallest delta for which (epsilon, delta)-DP holds.

        Args:
            epsilon: any number >= 0, or a list of them, which gives as many intervals.
            tolerance: width of the answer relative to its upper end, where it has to be computed numerically; where
                upper and lower laws differ it bounds what each numerical answer adds; not promised below 1e-40. By
                default a wish: where it is not met, the answer is what is known, and its `wide` is True.
        Raises: InvalidParameterError if you gave a tolerance and it cannot be reached.
        """
        width = checked_tolerance(tolerance)
        return each(
            lambda one: self._delta_within(nonnegative_rational("epsilon", one), width).marked(width, SMALL_DELTA),
            epsilon,
        )

    @overload
    def epsilon(self, delta: Reals, *, tolerance: float = ...) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def epsilon(self, delta: Real, *, tolerance: float = ...) -> Interval: ...
    def epsilon(self, delta: Real | Reals, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval | Intervals:
        """The smallest epsilon for which (epsilon, delta)-DP holds.

        The upper end is infinite where no epsilon is proved to do.

        Args:
            delta: any number in [0, 1), or a list of them, which gives as many intervals.
            tolerance: width of the answer relative to its upper end, where it has to be computed numerically; an
                epsilon below 0.01 counts as 0.01. By default a wish, as for `delta`.
        Raises: InvalidParameterError if you gave a tolerance and it cannot be reached.
        """
        width = checked_tolerance(tolerance)
        return each(
            lambda one: self._epsilon_within(probability("delta", one), width).marked(width, SMALL_EPSILON), delta
        )

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether (epsilon, delta)-DP is proved; may be quicker than `delta`."""
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon and booked.delta <= delta:
            return True  # a float above delta would prove less
        return Fraction(self._delta(epsilon).upper) <= delta

    def _upper_delta(self, epsilon: Fraction) -> float:
        return self._delta(epsilon).upper

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return self._delta(epsilon)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        if delta < self.infinite_mass:
            return INFINITE
        unreachable = delta < self.failure
        return inverse(self._delta, delta, limit=None if unreachable else self.failing_epsilon, unreachable=unreachable)

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> Interval:
        """The curve at an exact epsilon >= 0, within [0, 1]."""

    # --- what else is proved -------------------------------------------------------------------------------------

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
    def pure_epsilon(self) -> Fraction | None:
        """An epsilon for which epsilon-DP holds, at no delta; None where none is proved."""
        return None if self.failure else self.failing_epsilon

    @property
    def rho(self) -> Fraction | None:
        """A rho for which rho-zCDP holds; None where none is proved."""
        return None if self.failure else self.failing_rho

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

    def laws(self) -> Pairs | None:
        """The pairs of laws that dominate the mechanism and that it attains; None when it is known by a bound alone.

        Only a loss with such pairs can be composed tightly and sampled.
        """
        return None

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        """Pairs that together dominate `count` adaptive runs, and that these attain, each with its number."""
        return [(self.laws(), count)]

    def _least_of_runs(self, count: int, epsilon: Fraction) -> float:
        """A lower bound on delta of `count` runs together: by default that of one."""
        return self._delta(epsilon).lower

    def _of_runs(self, runs: "PrivacyLoss") -> "PrivacyLoss":
        """The loss of runs of this one and nothing else: `runs`, unless more is known of them together."""
        return runs

    def joint_laws(self) -> Pairs | None:
        """One pair of laws for each direction, also for a composition, where to compute it takes long."""
        return self.laws()

    def exact_laws(self) -> Pairs | None:
        """One pair for each direction, of a composition only where it has few values, so that nothing is rounded."""
        return self.laws()

    @property
    def is_bound(self) -> bool:
        """Whether the loss is known by its curve alone, which is not that of a mechanism that reveals everything."""
        return self.laws() is None and self.infinite_mass < 1

    @property
    def composition(self) -> "tuple[tuple[PrivacyLoss, int], ...]":
        """The losses that are composed in this one, with their counts: itself once, unless it is a composition."""
        return ((self, 1),)

    @property
    def place(self) -> str:
        """What losses are sorted by, so that their order, and with it every rounding, is that of what they wrap."""
        return self.to_json()

    @property
    def unrestricted(self) -> "PrivacyLoss":
        """The same loss without the one relation that its sensitivity was measured under, where it is held to one."""
        return self

    @property
    def as_sample(self) -> "tuple[PrivacyLoss, Fraction]":
        """(base, rate) such that this is the loss of `base` on a Poisson sample; (itself, 1) where it is on none."""
        return self, Fraction(1)

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

    def dominates(self, other: "PrivacyLoss") -> bool:
        """Whether the pair of this loss is known to be above every pair that `other` allows."""
        if self.response is not None:
            epsilon, delta = self.response
            limit = other.failing_epsilon
            return limit is not None and limit <= epsilon and other.failure <= delta
        if self.normal_mu_squared is not None:
            return other.failure == 0 and other.mu_squared is not None and other.mu_squared <= self.normal_mu_squared
        ours, theirs = self.laplace_epsilon, other.laplace_epsilon
        return ours is not None and theirs is not None and theirs <= ours

    def _divergences(self, order: Fraction) -> "Directions":
        """The Rényi divergences of an order >= 1: (with the unit, without it) and (without, with)."""
        from deniable.privacy.notions.renyi import divergences_of_laws

        return divergences_of_laws(self, order)

    def _divergences_below_one(self, order: Fraction) -> "Directions":
        from deniable.privacy.notions.renyi import divergences_below_one

        return divergences_below_one(self, order)

    def charge(self) -> "Charge":
        """What a ledger books for this loss, in every currency that is proved."""
        from deniable.privacy.charge import Charge

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

    # --- the algebra ---------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> "PrivacyLoss":
        from deniable.privacy.composition.compose import compose

        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return compose([self, other])

    def __radd__(self, other: object) -> "PrivacyLoss":
        """Lets `sum(losses)` start from 0."""
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:
            return self
        return NotImplemented

    def __mul__(self, count: object) -> "PrivacyLoss":
        from deniable.privacy.composition.compose import compose

        if isinstance(count, bool) or not isinstance(count, int):
            return NotImplemented
        return compose(self, count)

    __rmul__ = __mul__

    def poisson_sampled(self, *, rate: Real, relation: Relation = Relation.ADD_REMOVE) -> "PrivacyLoss":
        """The loss of the same mechanism on a sample that each unit joins with probability `rate`, independently.

        Args:
            relation: what the result is to hold for; the loss itself is stated for add/remove in either case.
        Raises: UnprovedError unless the loss holds under add/remove; for replace it must have a pair of laws.
        """
        from deniable.privacy.amplification.sampling.poisson import poisson_sampled

        return poisson_sampled(self, rate, relation)

    def capped_poisson_sampled(
        self, *, rate: Real, cap: int, population: int, relation: Relation = Relation.ADD_REMOVE
    ) -> "PrivacyLoss":
        """The loss on a Poisson sample of at most `population` units, cut to a random `cap` of them if it has more."""
        from deniable.privacy.amplification.sampling.capped import CappedPoissonLoss

        return CappedPoissonLoss(self, rate, cap, population, relation)

    def sampled_without_replacement(self, *, size: int, population: int) -> "PrivacyLoss":
        """The loss, under replace, on a uniformly random set of `size` units out of `population`."""
        from deniable.privacy.amplification.sampling.subsets import sampled_without_replacement

        return sampled_without_replacement(self, size, population)

    def sampled_with_replacement(self, *, draws: int, population: int) -> "PrivacyLoss":
        """The loss, under replace, on `draws` units drawn with replacement out of `population`."""
        from deniable.privacy.amplification.sampling.draws import DrawnLoss

        return DrawnLoss(self, draws, population)

    def randomly_allocated(self, *, of: int, uses: int = 1, relation: Relation = Relation.ADD_REMOVE) -> "PrivacyLoss":
        """The loss of `of` runs in `uses` equal blocks; each unit takes part in one run of each block, at random."""
        from deniable.privacy.amplification.sampling.allocation import randomly_allocated

        return randomly_allocated(self, of, uses, relation)

    def group(self, size: int, *, one_direction: bool = False) -> "PrivacyLoss":
        """The loss of the same mechanism for `size` units together: a family, all records of one person.

        Args:
            one_direction: all units are added or all are removed; by default some may be added and others removed.
        """
        from deniable.privacy.composition.group import GroupLoss, checked_size

        units = checked_size(size)
        together = self._grouped_one_way(units) if one_direction else None
        return self if units == 1 else together or self._grouped(units) or GroupLoss(self, units)

    def _grouped_one_way(self, units: int) -> "PrivacyLoss | None":
        """The loss of a group that is added or removed as one, where it is less than that of any group."""
        return None

    def _grouped(self, units: int) -> "PrivacyLoss | None":
        """The loss of a group of 2 or more where it has a form of its own; None: it is computed from the curve."""
        return None

    def under_replace(self) -> "PrivacyLoss":
        """The loss under replace of one that is stated under add/remove: a unit is removed and another one added.

        A loss that holds for either relation, such as `PureLoss(1)`, is what was measured under add/remove here, and
        counts twice; one that is stated for replace alone is returned as it is. So a bound that was proved for replace
        already needs no call of this method, and a second call changes nothing.

        Guarantee: for groups of two, so (2 epsilon, (1 + e^epsilon) delta) for (epsilon, delta). The converse does not
            hold: replace says nothing about add/remove.
        Source: docs/theory/privacy/group.md.

        >>> from deniable.privacy import PureLoss
        >>> print(PureLoss(1).under_replace().epsilon(0).upper)
        2.0
        """
        from deniable.privacy.composition.group import GroupLoss

        if Relation.ADD_REMOVE not in self.relations:
            return self
        return self._replaced() or GroupLoss(self, 2, Relation.REPLACE)

    def _replaced(self) -> "PrivacyLoss | None":
        """The loss under replace where it has a form of its own: that of two units, where it holds for replace too."""
        from deniable.privacy.composition.restricted import RestrictedLoss

        two = self._grouped(2)
        return RestrictedLoss(two, Relation.REPLACE) if two is not None and Relation.REPLACE in two.relations else None

    def _poisson_sampled(self, rate: Fraction) -> "PrivacyLoss | None":
        """The loss under add/remove on a Poisson sample where it is one of the same form, in exact numbers."""
        return None

    def as_randomizer(self) -> "Randomizer | None":
        """What one user applies, where this is the loss of a report that can be shuffled; None elsewhere."""
        return None

    # --- serialisation -------------------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON: the kind and the fields, rationals as text."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"loss": self.kind, **{self.words.get(name, name): _encoded(getattr(self, name)) for name in names}}

    @classmethod
    def _from_fields(cls, values: dict[str, object]) -> "PrivacyLoss":
        given = {cls.words.get(name, name): value for name, value in values.items()}  # older ledgers name the field
        if len(given) < len(values):
            raise TypeError("a parameter is given twice")
        return cls(**given)

    @staticmethod
    def from_data(data: object) -> "PrivacyLoss":
        """The inverse of `to_data`; every check of the constructors runs again."""
        if not isinstance(data, Mapping) or not isinstance(data.get("loss"), str) or data["loss"] not in _KINDS:
            raise InvalidParameterError(f"a loss needs a field 'loss' with one of {sorted(_KINDS)}, got {data!r}")
        values = {str(name): value for name, value in data.items() if name != "loss"}
        if "sensitivity" in values:
            values["sensitivity"] = Sensitivity.from_data(values["sensitivity"])
        if isinstance(values.get("base"), Mapping):
            values["base"] = PrivacyLoss.from_data(values["base"])
        try:
            return _KINDS[data["loss"]]._from_fields(values)
        except TypeError as error:
            wrong = f"these are not the fields of a {data['loss']} loss: {sorted(values)}"
            raise InvalidParameterError(wrong) from error

    def to_json(self) -> str:
        """Canonical JSON text: equal losses have equal text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "PrivacyLoss":
        """The inverse of `to_json`."""
        return PrivacyLoss.from_data(read_json(text, "a loss"))


def _encoded(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
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
        return repr(str(value))
    return str(f"Relation.{value.name}" if isinstance(value, Relation) else repr(value))
