"""Local randomizers, which every user applies to their own value.

Bounds on their shuffled reports: `shuffled.py` and docs/theory/privacy/shuffling.md.

How their shuffled reports are bounded: `shuffled.py` and docs/theory/privacy/shuffling.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Annotated, ClassVar, NamedTuple

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import (
    decimal_above,
    nonnegative_rational,
    positive_integer,
    positive_rational,
    quotient_text,
)
from deniable.privacy.notions.gaussian_dp import DIGITS

_MAX_CELLS = 10**5  # pairs of values times reports of a channel


class ReportClass(NamedTuple):
    """Equally likely reports: probability under both values, and what hides them.

    first, second: probability of one such report when the victim holds the first or the second value.
    hidden: how often another user sends it, at least (from above), or exactly (in a given population).
    copies: how many such reports there are.
    """

    first: Arb
    second: Arb
    hidden: Arb
    copies: int


Reports = Callable[[], list[ReportClass]]  # evaluated at the working precision of python-flint


class Randomizer(ABC):
    """Local randomizer that every user applies independently, the same for all."""

    kind: ClassVar[str]

    @abstractmethod
    def blankets(self) -> list[Reports]:
        """Return, for each pair of values that matters, what all others send at least.

        Whatever values they hold.
        """

    @abstractmethod
    def populations(self) -> list[Reports]:
        """Return choices of the victim's two values and of one law for all other reports."""

    @property
    @abstractmethod
    def pure_epsilon(self) -> Fraction | None:
        """Bound on the local epsilon, rounded up; None when it is infinite."""

    @property
    def largest_loss(self) -> Interval:
        """Interval around the local epsilon."""
        return INFINITE if self.pure_epsilon is None else Interval.around(self.pure_epsilon)

    @property
    def infinite_mass(self) -> Fraction:
        """Greatest probability of a report that another value cannot cause."""
        return Fraction(0)

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        shown = {name: quotient_text(value) if isinstance(value, Fraction) else value for name, value in values.items()}
        return {"randomizer": self.kind, **shown}


@dataclass(frozen=True, kw_only=True)
class KaryResponse(Randomizer):
    """Randomised response among several values, where the true one is the likeliest.

    Args:
        epsilon: the local epsilon; the true value is e^epsilon times as likely as each other value.
        categories: the number of values, at least 2.
    """

    kind: ClassVar[str] = "kary_response"
    epsilon: Annotated[Fraction, positive_rational]
    categories: Annotated[int, positive_integer]

    def __post_init__(self) -> None:
        read_fields(self)
        if self.categories < 2:
            raise InvalidParameterError(f"categories must be >= 2, got {self.categories}")

    @property
    def pure_epsilon(self) -> Fraction:
        """Local epsilon, as given."""
        return self.epsilon

    def blankets(self) -> list[Reports]:
        """Return the reports of the two values, and of any other."""

        def reports() -> list[ReportClass]:
            rare, often = self._probabilities()
            return _present(
                [
                    ReportClass(often, rare, rare, 1),
                    ReportClass(rare, often, rare, 1),
                    ReportClass(rare, rare, rare, self.categories - 2),
                ]
            )

        return [reports]

    def populations(self) -> list[Reports]:
        """Return populations at the second, the first, or a third value; or spread evenly."""

        def at(value: int) -> Reports:
            def reports() -> list[ReportClass]:
                rare, often = self._probabilities()
                hidden = [often if value == index else rare for index in range(3)]
                sent = [ReportClass(often, rare, hidden[0], 1), ReportClass(rare, often, hidden[1], 1)]
                if value == 2:
                    sent += [ReportClass(rare, rare, often, 1), ReportClass(rare, rare, rare, self.categories - 3)]
                else:
                    sent += [ReportClass(rare, rare, rare, self.categories - 2)]
                return _present(sent)

            return reports

        def evenly() -> list[ReportClass]:
            rare, often = self._probabilities()
            even = ball(Fraction(1, self.categories))
            reports = [ReportClass(often, rare, even, 1), ReportClass(rare, often, even, 1)]
            return _present([*reports, ReportClass(rare, rare, even, self.categories - 2)])

        return [evenly, at(1), at(0)] + ([at(2)] if self.categories > 2 else [])

    def _probabilities(self) -> tuple[Arb, Arb]:
        """Return the probabilities of a given other value and of the true one."""
        grown = ball(self.epsilon).exp()
        rare = 1 / (grown + self.categories - 1)
        return rare, grown * rare


@dataclass(frozen=True, kw_only=True)
class AnyRandomizer(Randomizer):
    """Any epsilon-LDP randomizer, known by nothing else.

    It is bounded by clones (Feldman, McMillan, Talwar 2021).

    Args:
        epsilon: the local epsilon.
    """

    kind: ClassVar[str] = "any"
    epsilon: Annotated[Fraction, positive_rational]

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def pure_epsilon(self) -> Fraction:
        """Local epsilon, as given."""
        return self.epsilon

    def blankets(self) -> list[Reports]:
        """Return the reports of binary response, hidden by clones."""

        def reports() -> list[ReportClass]:
            p = 1 / (1 + ball(-self.epsilon).exp())
            hidden = ball(-self.epsilon).exp() / 2
            return [ReportClass(p, 1 - p, hidden, 1), ReportClass(1 - p, p, hidden, 1)]

        return [reports]

    def populations(self) -> list[Reports]:
        """Return the populations of binary and of ternary response.

        They are such randomizers.
        """
        binary, ternary = (KaryResponse(epsilon=self.epsilon, categories=size) for size in (2, 3))
        return binary.populations() + ternary.populations()


@dataclass(frozen=True, init=False)
class Channel(Randomizer):
    """Finite local randomizer, given by its exact probabilities.

    Args:
        rows: `rows[x][y]` is the probability of report y from a user who holds x; each row has sum 1.
    """

    kind: ClassVar[str] = "channel"
    rows: tuple[tuple[Fraction, ...], ...]

    def __init__(self, rows: Iterable[Iterable[object]]) -> None:
        table = tuple(tuple(nonnegative_rational("a probability", entry) for entry in row) for row in rows)
        if len(table) < 2 or len({len(row) for row in table}) != 1:
            raise InvalidParameterError("rows must hold at least two rows of equal length, one for each value")
        if len(table) ** 2 * len(table[0]) > _MAX_CELLS:
            raise InvalidParameterError(
                f"a channel of {len(table)} values and {len(table[0])} reports is too large to try every two values. "
                "Use KaryResponse or AnyRandomizer."
            )
        for index, row in enumerate(table):
            if sum(row) != 1:
                raise InvalidParameterError(f"row {index} must sum to 1 exactly, got {sum(row)}. Use fractions.")
        read_fields(self, rows=table)

    def to_data(self) -> dict[str, object]:
        return {"randomizer": self.kind, "rows": [[quotient_text(entry) for entry in row] for row in self.rows]}

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Logarithm of the largest ratio of probabilities of a report; None if infinite."""
        ratio = self._largest_ratio
        return None if ratio is None else decimal_above(Fraction(self.largest_loss.upper), DIGITS)

    @property
    def largest_loss(self) -> Interval:
        ratio = self._largest_ratio
        if ratio is None:
            return INFINITE
        return certified(lambda: ball(ratio).log(), within=NONNEGATIVE)

    @property
    def _largest_ratio(self) -> Fraction | None:
        """Largest ratio of probabilities of one report; None if infinite."""
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
        """Return every pair of values with the least probability of each report."""
        minima = [min(column) for column in zip(*self.rows, strict=True)]
        return self._cases([minima], self._pairs())

    def populations(self) -> list[Reports]:
        """Return every pair of values with each other value, and with their mean."""
        even = [sum(column, Fraction(0)) / len(column) for column in zip(*self.rows, strict=True)]
        return self._cases([even, *self.rows], self._pairs())

    def _pairs(self) -> list[tuple[int, int]]:
        """Return all ordered pairs of values."""
        size = len(self.rows)
        return [(x, y) for x in range(size) for y in range(size) if x != y]

    def _cases(self, hidden: Sequence[Sequence[Fraction]], pairs: list[tuple[int, int]]) -> list[Reports]:
        """Return every pair with every law of the others; equal cases are kept once."""
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
    """Return a function that makes reports at the working precision."""
    return lambda: [ReportClass(ball(a), ball(b), ball(w), count) for (a, b, w), count in table]


def _present(reports: list[ReportClass]) -> list[ReportClass]:
    """Return the reports that occur."""
    return [report for report in reports if report.copies]


RANDOMIZERS: dict[str, type[KaryResponse | AnyRandomizer | Channel]] = {
    cls.kind: cls for cls in (KaryResponse, AnyRandomizer, Channel)
}
