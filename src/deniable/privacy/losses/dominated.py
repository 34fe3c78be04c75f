"""Losses of your own: a pair of distributions by functions, with an argument."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_above
from deniable.privacy.notions.gaussian_dp import DIGITS, mu_squared_of_pure
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs, ReversedLaw, Tails
from deniable.privacy.pld.laws import NOTHING
from deniable.privacy.relation import Relation, Replace
from deniable.privacy.statement import Statement

Probabilities = Callable[[Floats], tuple[Floats, Floats]]

_SHORTEST_ARGUMENT = 20  # letters of an argument
# at which the functions of a law are checked
_THRESHOLDS_TRIED = np.concatenate((-np.geomspace(30.0, 1e-3, 60), np.geomspace(1e-3, 30.0, 60)))
_MAX_EXPONENT = 700.0  # of a float


class FunctionLaw(LossLaw):
    """Law of a loss L by functions for its tails.

    The two functions are tried at 120 thresholds, and refused where they contradict each other or these numbers. That
    finds slips, and proves nothing.

    Args:
        above: for an array of thresholds l, P(l < L < inf) and Q(L > l).
        below: for the same, P(L <= l) and Q(-inf < L <= l).
        error: both functions are relatively within this of the truth, rounding included, ...
        slack: ... for thresholds that may be off by this much.
        infinite: P(L = inf).
        vanishing: Q(L = -inf).
        lowest: no finite loss is lower.
        highest: no finite loss is higher.
    """

    def __init__(
        self,
        above: Probabilities,
        below: Probabilities,
        *,
        error: float,
        slack: float = 0.0,
        infinite: float = 0.0,
        vanishing: float = 0.0,
        lowest: float = -math.inf,
        highest: float = math.inf,
    ) -> None:
        for name, value, lower, upper in (
            ("error", error, 2.0**-52, 1e-3),
            ("slack", slack, 0.0, 1e-3),
            ("infinite", infinite, 0.0, 1.0),
            ("vanishing", vanishing, 0.0, 1.0),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not lower <= value <= upper:
                raise InvalidParameterError(f"{name} must be a number from {lower:g} to {upper:g}, got {value!r}")
        if not lowest < highest:
            raise InvalidParameterError(f"lowest must be below highest, got {lowest!r} and {highest!r}")
        self._functions = {"above": above, "below": below}
        self._error, self._slack = float(error), float(slack)
        self.infinite, self.vanishing, self.lowest, self.highest = infinite, vanishing, lowest, highest
        self._check()

    def above(self, losses: Floats) -> Tails:
        """Return the tails by the function that was given."""
        return self._tails("above", losses)

    def below(self, losses: Floats) -> Tails:
        """Return the lower tails by the function that was given."""
        return self._tails("below", losses)

    def slack(self, magnitude: float) -> float:
        """Return the slack that was given, and 4 roundings of the magnitude."""
        return self._slack + 4 * UNIT * magnitude

    def _tails(self, name: str, losses: Floats) -> Tails:
        """Return the answer of one function, with its error."""
        p, q = (np.asarray(probabilities, dtype=np.float64) for probabilities in self._functions[name](losses))
        return Tails(p, q, np.full(losses.shape, self._error + 4 * UNIT))

    def _check(self) -> None:
        """Check totals, monotonicity, and that in each bin P is between e^l Q at its ends."""
        above, below = self.above(_THRESHOLDS_TRIED), self.below(_THRESHOLDS_TRIED)
        room = 1e-9 + 4 * self._error
        for p, q, name in ((above.p, above.q, "above"), (below.p, below.q, "below")):
            if (
                p.shape != _THRESHOLDS_TRIED.shape
                or q.shape != _THRESHOLDS_TRIED.shape
                or not np.all(np.isfinite(p) & np.isfinite(q))
            ):
                raise InvalidParameterError(f"{name} must return two finite arrays of the shape of its argument")
        bins = np.diff(below.p), np.diff(below.q)
        ends = np.exp(_THRESHOLDS_TRIED - self._slack)[:-1], np.exp(_THRESHOLDS_TRIED + self._slack)[1:]
        wrong = (
            np.any(np.abs(above.p + below.p + self.infinite - 1) > room)
            or np.any(np.abs(above.q + below.q + self.vanishing - 1) > room)
            or np.any(bins[0] < -room)
            or np.any(bins[1] < -room)
            or np.any(bins[0] < ends[0] * (bins[1] - room) - room)
            or np.any(bins[0] > ends[1] * (bins[1] + room) + room)
        )
        if wrong:
            raise InvalidParameterError(
                "the functions contradict each other: P(L > l) + P(L <= l) + infinite must be 1, likewise under Q with "
                "vanishing, and between two losses P must be e^loss times Q"
            )


@dataclass(frozen=True)
class DominatedStatement(Statement):
    """Loss of a mechanism that is dominated by a pair you know.

    Args:
        law: a `LossLaw` of the pair (P, Q), such as a `FunctionLaw`.
        name: of the mechanism, for print and JSON.
        argument: why H(M(D) || M(D')) <= H(P || Q) for every two neighbours and every hockey-stick divergence H, in
            words or as a citation. Under add/remove, D has the unit and D' has not; under replace, for both orders.
        relation: the neighbouring relation of the argument.
        attained: the argument also shows that some two neighbours attain the pair; else lower ends are 0.

    Guarantee: that of the argument, which nobody but its author has checked. With it, curve, composition and sampling
        are certified as everywhere. Functions cannot be written to JSON: what is written describes the loss, and cannot
        be read back.
    """

    kind: ClassVar[str] = "dominated"
    law: LossLaw
    name: str
    argument: str
    relation: Relation
    attained: bool = False

    def __init__(self, law: LossLaw, *, name: str, argument: str, relation: Relation, attained: bool = False) -> None:
        if not isinstance(law, LossLaw):
            raise InvalidParameterError(f"law must be a LossLaw, such as FunctionLaw(above, below, ...), got {law!r}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidParameterError(f"name must be a non-empty text, got {name!r}")
        Relation.checked(relation)
        if not isinstance(argument, str) or len(argument.strip()) < _SHORTEST_ARGUMENT:
            raise UnprovedError(
                f"{name}: no argument says why this pair dominates the mechanism, so no bound follows from it. Give "
                "argument=... with the theorem or the proof, in a sentence at least."
            )
        read_fields(
            self, law=law, name=name.strip(), argument=argument.strip(), relation=relation, attained=bool(attained)
        )

    def __repr__(self) -> str:
        return f"DominatedLoss(name={self.name!r}, argument={self.argument!r}, relation=Relation.{self.relation.name})"

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta from the law, in both directions."""
        intervals = [curve_of(law, epsilon) for law in self._both]
        lower = max(interval.lower for interval in intervals) if self.attained else 0.0
        return Interval(lower, max(interval.upper for interval in intervals))

    @property
    def _both(self) -> tuple[LossLaw, LossLaw]:
        """Laws of both directions; under replace each is the law itself.

        Either order of two neighbours is dominated by it.
        """
        return (self.law, self.law) if self.relation is Replace else (self.law, ReversedLaw(self.law))

    def laws(self) -> Pairs:
        """Return the law in both directions; attained only if the argument says so."""
        upper = self._both
        return Pairs(upper, upper if self.attained else (NOTHING, NOTHING))

    @property
    def infinite_mass(self) -> Fraction:
        return Fraction(self.law.infinite) * (1 - Fraction(1, 2**50)) if self.attained else Fraction(0)

    @property
    def _range(self) -> Fraction | None:
        """Length of the interval that holds all losses, when there is one."""
        if self.law.infinite or self.law.vanishing or not math.isfinite(self.law.highest - self.law.lowest):
            return None
        return decimal_above(Fraction(self.law.highest) - Fraction(self.law.lowest), DIGITS)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Greatest size of a loss, if losses are bounded."""
        if self._range is None:
            return None
        return decimal_above(max(Fraction(self.law.highest), -Fraction(self.law.lowest)), DIGITS)

    @property
    def failing_rho(self) -> Fraction | None:
        """Value r^2/8 of a loss that lies in an interval of length r."""
        return None if self._range is None else self._range**2 / 8

    @property
    def mu_squared(self) -> Fraction | None:
        """Value of mu^2 of r/2-DP, for a loss that lies in an interval of length r."""
        return None if self._range is None else mu_squared_of_pure(self._range / 2)

    def to_data(self) -> dict[str, object]:
        """Return a description, which cannot be read back.

        Equal names and arguments give equal text.
        """
        described = {"name": self.name, "argument": self.argument, "attained": self.attained}
        return {"loss": self.kind, **described, "relation": self.relation.value}

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        raise InvalidParameterError(
            f"{values.get('name')!r} was given by functions, which JSON does not hold. Build the same DominatedLoss in "
            "code, or describe the mechanism by a finite pair (FiniteLoss)."
        )


def curve_of(law: LossLaw, epsilon: Fraction) -> Interval:
    """Return delta at `epsilon` from the tails of a law, with their errors and slack.

    Below: any event E has P(E) - e^epsilon Q(E) <= delta. Above: the curve falls, so delta is at most its value
    P(L > l) - e^l Q(L > l) at a threshold l <= epsilon; the one asked for is two slacks lower.
    """
    at = float(min(epsilon, Fraction(10**6)))
    slack = law.slack(abs(at)) + 4 * UNIT * abs(at)
    tails = law.above(np.array([at, at - 2 * slack]))
    margin = float(tails.error.max()) + 32 * UNIT
    p, q = tails.p, tails.q
    infinite = law.infinite * (1 + 16 * UNIT)
    growth, lower_growth = (math.exp(min(power, _MAX_EXPONENT)) for power in (at, at - 3 * slack))
    upper = infinite + float(p[1]) * (1 + margin) - lower_growth * float(q[1]) * (1 - margin)
    lower = law.infinite * (1 - 4 * UNIT)
    if at < _MAX_EXPONENT:
        lower = max(lower, lower + float(p[0]) * (1 - margin) - growth * float(q[0]) * (1 + margin))
    upper = min(max(upper, infinite), 1.0)
    return Interval(min(max(lower, 0.0), upper), upper)
