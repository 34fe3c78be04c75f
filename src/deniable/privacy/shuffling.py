"""Local reports that lose their senders: n users apply one local randomizer, a shuffler forgets who sent what.

Proofs of both sides: docs/theory/shuffling.md.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from deniable.errors import InvalidParameterError
from deniable.privacy.exact import decimal_above, nonnegative_rational, positive_integer, positive_rational
from deniable.privacy.excess import PRECISION, Bound, Steps, excess_above, excess_below
from deniable.privacy.gaussian_dp import DIGITS, mu_squared_of_pure
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE
from deniable.privacy.profile import ball, certified
from deniable.privacy.relation import Relation, Replace

if TYPE_CHECKING:
    from flint import arb

_SHARE = 0.1  # of the tolerance, for delta on each side
_FINE = 0.01  # of the tolerance, for the search of epsilon
_FARTHEST = 600.0
_NEAREST = 1e-9
_SMALLEST = 1e-60  # below it, delta is as good as 0 and may be wider
_MOST_CELLS = 10**5


class Report(NamedTuple):
    """Equally likely reports: the probability of one under both values of the victim, and the part that hides it.

    first, second: probability of one such report when the victim holds the first or the second value.
    hidden: how often another user sends it, at least (from above), or exactly (in a given population).
    copies: how many such reports there are.
    """

    first: "arb"
    second: "arb"
    hidden: "arb"
    copies: int


Reports = Callable[[], list[Report]]  # evaluated at the working precision of python-flint


class Randomizer(ABC):
    """What every user applies to the own value, independently; the same for all."""

    kind: ClassVar[str]

    @abstractmethod
    def blankets(self) -> list[Reports]:
        """For every two values of the victim that matter: what all others send at least, whatever they hold."""

    @abstractmethod
    def populations(self) -> list[Reports]:
        """Choices of the victim's two values and of one law for every other user's report."""

    @property
    @abstractmethod
    def pure_epsilon(self) -> Fraction | None:
        """A bound on the local epsilon, rounded up; None when it is infinite."""

    @property
    def largest_loss(self) -> Interval:
        """Around the local epsilon."""
        return Interval(math.inf, math.inf) if self.pure_epsilon is None else Interval.around(self.pure_epsilon)

    @property
    def infinite_mass(self) -> Fraction:
        """The greatest probability of a report that another value cannot cause."""
        return Fraction(0)

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        shown = {name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()}
        return {"randomizer": self.kind, **shown}


@dataclass(frozen=True, kw_only=True)
class KaryResponse(Randomizer):
    """Tell the true one of `categories` values with odds e^epsilon to 1 against each other value."""

    kind: ClassVar[str] = "kary_response"
    epsilon: Fraction
    categories: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_rational("epsilon", self.epsilon))
        object.__setattr__(self, "categories", positive_integer("categories", self.categories))
        if self.categories < 2:
            raise InvalidParameterError(f"categories must be >= 2, got {self.categories}")

    @property
    def pure_epsilon(self) -> Fraction:
        return self.epsilon

    def blankets(self) -> list[Reports]:
        def reports() -> list[Report]:
            rare, often = self._odds()
            return _present(
                [
                    Report(often, rare, rare, 1),
                    Report(rare, often, rare, 1),
                    Report(rare, rare, rare, self.categories - 2),
                ]
            )

        return [reports]

    def populations(self) -> list[Reports]:
        """All others at the second, the first, or a third value; or spread evenly."""

        def at(place: int) -> Reports:
            def reports() -> list[Report]:
                rare, often = self._odds()
                hidden = [often if place == index else rare for index in range(3)]
                found = [Report(often, rare, hidden[0], 1), Report(rare, often, hidden[1], 1)]
                if place == 2:
                    found += [Report(rare, rare, often, 1), Report(rare, rare, rare, self.categories - 3)]
                else:
                    found += [Report(rare, rare, rare, self.categories - 2)]
                return _present(found)

            return reports

        def evenly() -> list[Report]:
            rare, often = self._odds()
            even = ball(Fraction(1, self.categories))
            found = [Report(often, rare, even, 1), Report(rare, often, even, 1)]
            return _present([*found, Report(rare, rare, even, self.categories - 2)])

        return [evenly, at(1), at(0)] + ([at(2)] if self.categories > 2 else [])

    def _odds(self) -> "tuple[arb, arb]":
        """The probabilities of a given other value and of the true one."""
        grown = ball(self.epsilon).exp()
        rare = 1 / (grown + self.categories - 1)
        return rare, grown * rare


@dataclass(frozen=True, kw_only=True)
class AnyRandomizer(Randomizer):
    """Any epsilon-LDP randomizer, known by nothing else: bounded by clones (Feldman, McMillan, Talwar 2021)."""

    kind: ClassVar[str] = "any"
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_rational("epsilon", self.epsilon))

    @property
    def pure_epsilon(self) -> Fraction:
        return self.epsilon

    def blankets(self) -> list[Reports]:
        def reports() -> list[Report]:
            p = 1 / (1 + ball(-self.epsilon).exp())
            hidden = ball(-self.epsilon).exp() / 2
            return [Report(p, 1 - p, hidden, 1), Report(1 - p, p, hidden, 1)]

        return [reports]

    def populations(self) -> list[Reports]:
        """Those of binary and of ternary response, which are such randomizers."""
        few, more = (KaryResponse(epsilon=self.epsilon, categories=size) for size in (2, 3))
        return few.populations() + more.populations()


@dataclass(frozen=True, init=False)
class Channel(Randomizer):
    """Any finite local randomizer: `rows[x][y]` is the exact probability of report y from a user who holds x."""

    kind: ClassVar[str] = "channel"
    rows: tuple[tuple[Fraction, ...], ...]

    def __init__(self, rows: Iterable[Iterable[object]]) -> None:
        table = tuple(tuple(nonnegative_rational("a probability", entry) for entry in row) for row in rows)
        if len(table) < 2 or len({len(row) for row in table}) != 1:
            raise InvalidParameterError("a channel needs at least two rows (values), all with the same reports")
        if len(table) ** 2 * len(table[0]) > _MOST_CELLS:
            raise InvalidParameterError(
                f"a channel of {len(table)} values and {len(table[0])} reports is too large to try every two values. "
                "Use KaryResponse or AnyRandomizer."
            )
        for index, row in enumerate(table):
            if sum(row) != 1:
                raise InvalidParameterError(f"row {index} must add up to 1 exactly, got {sum(row)}. Use fractions.")
        object.__setattr__(self, "rows", table)

    def to_data(self) -> dict[str, object]:
        return {"randomizer": self.kind, "rows": [[str(entry) for entry in row] for row in self.rows]}

    @property
    def pure_epsilon(self) -> Fraction | None:
        ratio = self._largest_ratio
        return None if ratio is None else decimal_above(Fraction(self.largest_loss.upper), DIGITS)

    @property
    def largest_loss(self) -> Interval:
        ratio = self._largest_ratio
        if ratio is None:
            return Interval(math.inf, math.inf)
        return certified(lambda: ball(ratio).log(), within=Interval(0.0, math.inf))

    @property
    def _largest_ratio(self) -> Fraction | None:
        columns = [(max(column), min(column)) for column in zip(*self.rows, strict=True)]
        if any(low == 0 < high for high, low in columns):
            return None
        ratios: list[Fraction] = [high / low for high, low in columns if high]
        return max(ratios)

    @property
    def infinite_mass(self) -> Fraction:
        return max(
            sum((a for a, b in zip(first, second, strict=True) if b == 0), Fraction(0))
            for first in self.rows
            for second in self.rows
        )

    def blankets(self) -> list[Reports]:
        least = [min(column) for column in zip(*self.rows, strict=True)]
        return self._cases([least], self._pairs())

    def populations(self) -> list[Reports]:
        even = [sum(column, Fraction(0)) / len(column) for column in zip(*self.rows, strict=True)]
        return self._cases([even, *self.rows], self._pairs())

    def _pairs(self) -> list[tuple[int, int]]:
        size = len(self.rows)
        return [(x, y) for x in range(size) for y in range(size) if x != y]

    def _cases(self, hidden: Sequence[Sequence[Fraction]], pairs: list[tuple[int, int]]) -> list[Reports]:
        """Every pair with every law of the others; what looks the same is kept once."""
        tables: dict[tuple[tuple[tuple[Fraction, Fraction, Fraction], int], ...], None] = {}
        for x, y in pairs:
            for law in hidden:
                counted: dict[tuple[Fraction, Fraction, Fraction], int] = {}
                for cell in zip(self.rows[x], self.rows[y], law, strict=True):
                    if cell[0] or cell[1]:
                        counted[cell] = counted.get(cell, 0) + 1
                tables[tuple(sorted(counted.items()))] = None
        return [_reports_of(table) for table in tables]


def _reports_of(table: tuple[tuple[tuple[Fraction, Fraction, Fraction], int], ...]) -> Reports:
    return lambda: [Report(ball(a), ball(b), ball(w), count) for (a, b, w), count in table]


def _present(reports: list[Report]) -> list[Report]:
    return [report for report in reports if report.copies]


_RANDOMIZERS: dict[str, type[KaryResponse | AnyRandomizer | Channel]] = {
    cls.kind: cls for cls in (KaryResponse, AnyRandomizer, Channel)
}


@dataclass(frozen=True, init=False)
class ShuffledLoss(PrivacyLoss):
    """The shuffled reports of `users` users who all apply `randomizer`; one report each, no sender, no order, no time.

    Guarantee: under replace (one user's value changes), delta is at most the privacy-blanket bound, or for
        `AnyRandomizer` the clones bound; and at least the exact value of the worst population tried. Both ends include
        numerical error, at most the tolerance; the rest of their distance is that of the theorems.
    Source: Balle, Bell, Gascon, Nissim (2019), arXiv:1903.02837; Feldman, McMillan, Talwar (2021), arXiv:2012.12803;
        proofs in docs/theory/shuffling.md.
    """

    kind: ClassVar[str] = "shuffled"
    randomizer: Randomizer
    users: int

    def __init__(self, randomizer: Randomizer, users: object) -> None:
        if not isinstance(randomizer, Randomizer):
            raise InvalidParameterError(
                f"randomizer must be a KaryResponse, a Channel or AnyRandomizer, got {randomizer!r}"
            )
        object.__setattr__(self, "randomizer", randomizer)
        object.__setattr__(self, "users", positive_integer("users", users))

    def __repr__(self) -> str:
        return f"ShuffledLoss({self.randomizer!r}, users={self.users})"

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "randomizer": self.randomizer.to_data(), "users": self.users}

    @classmethod
    def _from_fields(cls, values: dict[str, object]) -> PrivacyLoss:
        found = values.pop("randomizer", None)
        if not isinstance(found, Mapping) or found.get("randomizer") not in _RANDOMIZERS:
            raise InvalidParameterError(f"randomizer must be one of {sorted(_RANDOMIZERS)} with its fields")
        inner = {str(name): value for name, value in found.items() if name != "randomizer"}
        return cls(_RANDOMIZERS[str(found["randomizer"])](**inner), **values)

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({Replace})

    def _delta(self, epsilon: Fraction) -> Interval:
        return self._delta_within(epsilon, DEFAULT_TOLERANCE)

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        upper = max(self._above(case, epsilon, tolerance) for case in self.randomizer.blankets())
        lower = max(self._below(case, epsilon, tolerance) for case in self.randomizer.populations())
        self._check(tolerance, upper, lower)
        return Interval(min(lower.value, upper.value), upper.value)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        if delta < self.infinite_mass:
            return Interval(math.inf, math.inf)
        limit = self.randomizer.largest_loss
        if delta == 0:
            return limit
        top = min(limit.upper, _FARTHEST)
        cases = self.randomizer.blankets()

        def above(epsilon: float) -> Bound:
            return max(self._above(case, Fraction(epsilon), tolerance) for case in cases)

        fine = _FINE * tolerance
        upper = _crossing(lambda epsilon: above(epsilon).value, delta, top, self._guess(delta, top), fine)[1]
        near = min(upper, top)
        worst = self._worst_population(Fraction(near))

        def below(epsilon: float) -> Bound:
            return self._below(worst, Fraction(epsilon), tolerance)

        lower = _crossing(lambda epsilon: below(epsilon).value, delta, near, 0.999 * near, fine)[0]
        self._check(tolerance, above(near), below(lower))
        if upper == top:
            upper = limit.upper
        return Interval(min(lower, upper), upper)

    def _check(self, tolerance: float, *bounds: Bound) -> None:
        for bound in bounds:
            if bound.gap > tolerance and bound.value > _SMALLEST:
                raise InvalidParameterError(
                    f"tolerance={tolerance:g} cannot be reached: delta, near {bound.value:.3g}, is known to a relative "
                    f"{bound.gap:.2g} only. Ask for a larger tolerance."
                )

    def _guess(self, delta: Fraction, top: float) -> float:
        """Near the closed form of clones, which need not hold here."""
        grown = math.exp(min(top, 30.0))
        root = math.sqrt(grown * math.log(4 / float(delta)) / self.users)
        return min(math.log1p((grown - 1) / (grown + 1) * 2 * root), 0.9 * top)

    def _worst_population(self, epsilon: Fraction) -> Reports:
        """The population with the largest delta a little below this epsilon, to a few digits: any one is valid."""
        near = epsilon * Fraction(99, 100)
        return max(self.randomizer.populations(), key=lambda case: self._below(case, near, 0.1))

    def _above(self, case: Reports, epsilon: Fraction, tolerance: float) -> Bound:
        if self._is_beyond(epsilon):
            return Bound(0.0, 0.0)
        steps, exposed = _steps(case, epsilon)
        found = excess_above(steps, self.users, _SHARE * tolerance)
        return Bound(min((exposed.upper + found.value / self.users) * _UP, 1.0), found.gap)

    def _below(self, case: Reports, epsilon: Fraction, tolerance: float) -> Bound:
        if self._is_beyond(epsilon):
            return Bound(0.0, 0.0)
        steps, exposed = _steps(case, epsilon)
        found = excess_below(steps, self.users, _SHARE * tolerance)
        return Bound((exposed.lower + found.value / self.users) / _UP, found.gap)

    def _is_beyond(self, epsilon: Fraction) -> bool:
        limit = self.pure_epsilon
        return limit is not None and epsilon >= limit

    @property
    def infinite_mass(self) -> Fraction:
        return self.randomizer.infinite_mass

    @property
    def pure_epsilon(self) -> Fraction | None:
        return self.randomizer.pure_epsilon

    @property
    def rho(self) -> Fraction | None:
        return None if self.pure_epsilon is None else self.pure_epsilon**2 / 2

    @property
    def mu_squared(self) -> Fraction | None:
        return None if self.pure_epsilon is None else mu_squared_of_pure(self.pure_epsilon)


_UP = 1 + 2.0**-50


def _steps(case: Reports, epsilon: Fraction) -> tuple[Steps, Interval]:
    """The steps (first - e second) / hidden, and the mass of reports that nothing hides."""
    from flint import arb, ctx

    with ctx.workprec(PRECISION):
        e, exposed = ball(epsilon).exp(), arb(0)
        values, weights = [], []
        for report in case():
            excess = report.first - e * report.second
            if report.hidden == 0:
                exposed += report.copies * excess.max(arb(0))
            else:
                values.append(excess / report.hidden)
                weights.append(report.hidden * report.copies)
        return Steps.of_balls(values, weights), Interval.of_ball(exposed, within=Interval(0.0, 1.0))


def _crossing(
    curve: Callable[[float], float], delta: Fraction, top: float, guess: float, fine: float
) -> tuple[float, float]:
    """(low, high), relatively `fine` apart, with curve(low) > delta >= curve(high); high = top may be unchecked.

    A low of 0 may be unchecked. sqrt(-log delta) is close to a line in epsilon: false position there.
    """

    def depth(epsilon: float) -> float:
        value = curve(epsilon)
        found = math.sqrt(max(-math.log(value), 0.0)) if value > 0 else math.inf
        return max(found, goal) if Fraction(value) <= delta else min(found, math.nextafter(goal, 0.0))

    goal = math.sqrt(-math.log(float(delta)))
    low, high, shallow, deep = 0.0, top, 0.0, math.inf
    trial, stride = min(guess, 0.9999 * top), 2e-3
    for step in range(200):
        found = depth(trial)
        if found < goal:
            low, shallow = trial, found
        else:
            high, deep = trial, found
        if high - low <= fine * high or high < _NEAREST:
            break
        if low == 0.0 or math.isinf(deep):  # no bracket yet: walk, faster and faster
            trial = (low + high) / 2 if high == top else trial * (1 + stride if low else 1 / (1 + stride))
            trial, stride = min(trial, (low + top) / 2), min(4 * stride, 2.0)
            continue
        share = (goal - shallow) / (deep - shallow) if deep > shallow and step % 6 < 5 else 0.5
        edge = min(0.3 * fine * high / (high - low), 0.4)
        share = share + edge if step % 2 else share - edge
        trial = low + min(max(share, edge), 1 - edge) * (high - low)
    return low, high
