"""A filter: the running sums of a conversation, and the rule that says whether one more loss fits."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from threading import Lock
from typing import ClassVar

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_text, nonnegative_rational, probability, read_json
from deniable.numbers.roots import inverse
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.relation import Relation

Amounts = dict[str, Fraction | None]  # None: no bound is proved, and none will be however much follows

_KINDS: dict[str, type["Filter"]] = {}
_NO_THEOREM = ("pld", "tradeoff", "trade-off", "f-dp", "profile")


class Filter(ABC):
    """What may still be asked when each mechanism *and its parameters* are chosen after seeing earlier answers.

    `charge(loss)` before the mechanism runs; it pays or raises and then nothing has changed. `delta` and `epsilon` are
    the guarantee of the whole conversation, however it goes.

    A subclass names its sums and their limits, and says what a loss adds to each. Sums are exact.

    Guarantee: docs/theory/privacy/budget.md, for every subclass by name. Mechanisms may be interactive and run at the
        same time (Haney et al. 2023, arXiv:2309.05901), if each is charged before it begins.
    """

    kind: ClassVar[str]
    remedy: ClassVar[str]  # what to use for a loss that has no cost here

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    def __init__(self, relation: Relation, limits: Mapping[str, Fraction]) -> None:
        if not isinstance(relation, Relation):
            raise InvalidParameterError(f"relation must be AddRemove or Replace, got {relation!r}")
        self.relation = relation
        self._limits = dict(limits)
        self._spent: Amounts = {name: Fraction(0) for name in limits}
        self._lock = Lock()

    # --- use -----------------------------------------------------------------------------------------------------

    def admits(self, loss: PrivacyLoss) -> bool:
        """Whether `loss` fits into what is left.

        Raises: UnprovedError if the loss has no proved cost in this currency, or is proved for another relation.
        """
        return self._fits(self._after(self._checked_cost(loss)))

    def charge(self, loss: PrivacyLoss) -> None:
        """Pay for `loss`; call it before the mechanism runs.

        Raises: BudgetExceededError if it does not fit; UnprovedError as `admits`. Both change nothing.
        """
        cost = self._checked_cost(loss)
        with self._lock:
            total = self._after(cost)
            if not self._fits(total):
                raise BudgetExceededError(
                    f"{loss!r} would cost {_shown(cost)}, but of the limits {_shown(self._limits)} only "
                    f"{_shown(self.remaining)} is left. Nothing was spent. Ask for less, or end the conversation."
                )
            self._spent = total

    @property
    def limits(self) -> dict[str, Fraction]:
        """How far each sum may go."""
        return dict(self._limits)

    @property
    def spent(self) -> Amounts:
        """Each sum so far, exact; None for one that nothing bounds any more."""
        return dict(self._spent)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """What each sum may still grow."""
        return {name: _minus(limit, self._spent[name]) for name, limit in self._limits.items()}

    def delta(self, epsilon: object) -> Interval:
        """The delta for which the whole conversation is (epsilon, delta)-DP, however it goes."""
        return self._delta(nonnegative_rational("epsilon", epsilon))

    def epsilon(self, delta: object) -> Interval:
        """The epsilon for which the whole conversation is (epsilon, delta)-DP; infinite where none is proved."""
        return inverse(self._delta, probability("delta", delta), limit=self._pure_limit())

    # --- what a currency says ------------------------------------------------------------------------------------

    @abstractmethod
    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        """What `loss` adds to each sum; None when nothing is proved."""

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> Interval:
        """The curve that the limits guarantee."""

    @abstractmethod
    def _settings(self) -> dict[str, object]:
        """The arguments that make this filter again, as plain data."""

    def _pure_limit(self) -> Fraction | None:
        """An epsilon at which the guarantee holds with the least delta that it ever has."""
        return None

    def _fits(self, total: Amounts) -> bool:
        """Whether sums are within the rule; smaller sums always are when larger ones are."""
        return all(self._within(name, total) for name in self._limits)

    def _within(self, name: str, total: Amounts) -> bool:
        value = total[name]
        return value is not None and value <= self._limits[name]

    def _after(self, cost: Amounts) -> Amounts:
        return {name: _plus(spent, cost[name]) for name, spent in self._spent.items()}

    def _checked_cost(self, loss: PrivacyLoss) -> Amounts:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(f"a filter is charged with a privacy loss, got {loss!r}")
        if self.relation not in loss.relations:
            raise UnprovedError(
                f"{loss!r} is not proved for {self.relation}, which this filter protects. State the loss for it."
            )
        cost = self._cost(loss)
        if cost is None:
            raise UnprovedError(
                f"{loss!r} has no proved cost in the sums {', '.join(self._limits)}. {self.remedy} Its privacy-loss "
                f"distribution cannot stand in: {_MISSING}"
            )
        return cost

    # --- serialisation -------------------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON: settings and sums, rationals as text."""
        spent = {name: None if value is None else str(value) for name, value in self._spent.items()}
        return {"filter": self.kind, "relation": self.relation.name, **self._settings(), "spent": spent}

    @staticmethod
    def from_data(data: object) -> "Filter":
        """The inverse of `to_data`; every check of the constructor runs again.

        Raises: UnprovedError for a kind of composition that no theorem makes a filter.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("filter"), str):
            raise InvalidParameterError(f"a filter needs a field 'filter' with one of {sorted(_KINDS)}, got {data!r}")
        kind = data["filter"]
        if kind.lower() in _NO_THEOREM:
            raise UnprovedError(f"There is no filter of kind {kind!r}: {_MISSING} Use one of {sorted(_KINDS)}.")
        if kind not in _KINDS or data.get("relation") not in Relation.__members__:
            raise InvalidParameterError(
                f"a filter is one of {sorted(_KINDS)} for one of {sorted(Relation.__members__)}, got {kind!r} for "
                f"{data.get('relation')!r}"
            )
        settings = {str(name): value for name, value in data.items() if name not in ("filter", "relation", "spent")}
        try:
            made = _KINDS[kind](relation=Relation[str(data["relation"])], **settings)
        except TypeError as error:
            raise InvalidParameterError(f"these are not the settings of a {kind} filter: {sorted(settings)}") from error
        made._restore(data.get("spent"))
        return made

    def _restore(self, spent: object) -> None:
        if not isinstance(spent, Mapping) or set(spent) != set(self._limits):
            raise InvalidParameterError(f"spent must hold the sums {sorted(self._limits)}, got {spent!r}")
        total = {
            name: None if spent[name] is None else nonnegative_rational(name, spent[name]) for name in self._limits
        }
        if not self._fits(total):
            raise InvalidParameterError(f"the sums {_shown(total)} are above the limits {_shown(self._limits)}")
        self._spent = total

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Filter":
        """The inverse of `to_json`."""
        return Filter.from_data(read_json(text, "a filter"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.relation}; spent {_shown(self._spent)} of {_shown(self._limits)})"


_MISSING = (
    "composed privacy-loss distributions and trade-off curves are no filter when parameters depend on answers; the "
    "theorem is missing because it is false (arXiv:2602.06756)."
)


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _minus(limit: Fraction, spent: Fraction | None) -> Fraction:
    return Fraction(0) if spent is None else max(limit - spent, Fraction(0))


def _shown(amounts: Mapping[str, Fraction | None]) -> str:
    parts = {name: "unbounded" if value is None else decimal_text(value) for name, value in amounts.items()}
    return ", ".join(f"{name}={part}" for name, part in parts.items())
