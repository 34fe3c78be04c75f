"""Many losses together: a multiset, with the tightest bound that is proved so far."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.concentrated import concentrated_delta
from deniable.privacy.filters import Charge
from deniable.privacy.gaussian_dp import gaussian_delta
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.gaussian import GaussianLoss
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.relation import Relation


@dataclass(frozen=True, init=False, repr=False)
class Composed(PrivacyLoss):
    """Several losses about the same unit, chosen in advance, in any order; `parts` holds (loss, count) pairs.

    Guarantee: delta is at most each of these. (a) Basic sums of the booked (epsilon, delta). (b) Failures set aside and
        added, the rest bounded by the sum of pure epsilons. (c) The same, the rest bounded by the sum of rho. (d) The
        curve of the sum of mu^2. It is at least the delta of every part. Real Gaussians alone are exact.
    Source: docs/theory/filters.md, where the same sums are proved for parameters that depend on earlier answers.
    """

    kind: ClassVar[str] = "composed"
    parts: tuple[tuple[PrivacyLoss, int], ...]

    def __init__(self, parts: Iterable[tuple[PrivacyLoss, int]]) -> None:
        counted: Counter[PrivacyLoss] = Counter()
        for loss, count in parts:
            for part, inner in loss.parts if isinstance(loss, Composed) else ((loss, 1),):
                counted[part] += inner * count
        ordered = sorted(
            ((loss, count) for loss, count in counted.items() if count), key=lambda pair: pair[0].to_json()
        )
        object.__setattr__(self, "parts", tuple(ordered))
        if not self.relations:
            raise UnprovedError(
                "these losses are proved for different neighbouring relations and have no common guarantee: "
                + "; ".join(f"{loss!r}" for loss, _ in ordered)
                + ". Build all of them for one relation."
            )

    def __repr__(self) -> str:
        if not self.parts:
            return "Composed([])"
        return " + ".join(f"{loss!r}" if count == 1 else f"{loss!r} * {count}" for loss, count in self.parts)

    def _delta(self, epsilon: Fraction) -> Interval:
        if all(isinstance(loss, GaussianLoss) for loss, _ in self.parts):
            return gaussian_delta(self.mu_squared or Fraction(0), epsilon)
        lower = max(loss._delta(epsilon).lower for loss, _ in self.parts)
        bounds = [1.0]
        booked = self.charge()
        if booked.epsilon is not None and booked.epsilon <= epsilon:
            bounds.append(Interval.around(min(booked.delta, Fraction(1))).upper)
        if self.pure_epsilon is not None:
            bounds.append(mixed_with_failure(pure_delta(self.pure_epsilon, epsilon), self.failure).upper)
        if self.rho is not None:
            rest = Interval(0.0, concentrated_delta(self.rho, epsilon))
            bounds.append(mixed_with_failure(rest, self.failure).upper)
        if self.mu_squared is not None:
            bounds.append(gaussian_delta(self.mu_squared, epsilon).upper)
        return Interval(min(lower, *bounds), min(bounds))

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset(Relation).intersection(*(loss.relations for loss, _ in self.parts))

    @property
    def failure(self) -> Fraction:
        return min(sum((loss.failure * count for loss, count in self.parts), Fraction(0)), Fraction(1))

    @property
    def infinite_mass(self) -> Fraction:
        return max((loss.infinite_mass for loss, _ in self.parts), default=Fraction(0))

    @property
    def pure_epsilon(self) -> Fraction | None:
        return _sum_of([(loss.pure_epsilon, count) for loss, count in self.parts])

    @property
    def rho(self) -> Fraction | None:
        return _sum_of([(loss.rho, count) for loss, count in self.parts])

    @property
    def mu_squared(self) -> Fraction | None:
        return _sum_of([(loss.mu_squared, count) for loss, count in self.parts])

    def charge(self) -> Charge:
        return sum((loss.charge() * count for loss, count in self.parts), Charge.nothing())

    def to_data(self) -> dict[str, object]:
        parts = [{"part": loss.to_data(), "count": count} for loss, count in self.parts]
        return {"loss": self.kind, "parts": parts}

    @classmethod
    def _from_fields(cls, values: dict[str, object]) -> PrivacyLoss:
        parts = values.pop("parts")
        if (
            values
            or not isinstance(parts, list)
            or not all(isinstance(p, dict) and set(p) == {"part", "count"} for p in parts)
        ):
            raise InvalidParameterError("a composed loss needs the field 'parts': a list of {part, count}")
        return compose([compose(PrivacyLoss.from_data(p["part"]), _checked_count(p["count"])) for p in parts])


def compose(losses: PrivacyLoss | Iterable[PrivacyLoss], count: int = 1) -> PrivacyLoss:
    """The loss of everything in `losses`, `count` times over; a single part is returned as itself.

    `compose(loss, 3) == compose([loss, loss, loss])`. Nothing at all is `compose([])`, which reveals nothing.
    """
    count = _checked_count(count)
    given = [losses] if isinstance(losses, PrivacyLoss) else list(losses)
    for loss in given:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(f"losses must be privacy losses, got {loss!r}")
    together = Composed((loss, count) for loss in given)
    if len(together.parts) == 1 and together.parts[0][1] == 1:
        return together.parts[0][0]
    return together


def _checked_count(count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidParameterError(f"count must be a whole number >= 0, got {count!r}")
    return count


def _sum_of(values: list[tuple[Fraction | None, int]]) -> Fraction | None:
    """The weighted sum, or None when one summand is unknown."""
    total = Fraction(0)
    for value, count in values:
        if value is None:
            return None
        total += value * count
    return total
