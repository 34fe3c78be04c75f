"""Last iterate of noisy gradient descent, where later noise hides earlier steps.

Proofs: docs/theory/privacy/iteration.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import (
    decimal_above,
    decimal_below,
    decimal_text,
    nonnegative_rational,
    positive_integer,
    positive_rational,
)
from deniable.privacy.notions.gaussian_dp import DIGITS, gaussian_delta
from deniable.privacy.pld.law import LossLaw, Pairs
from deniable.privacy.pld.laws import NOTHING, NormalLaw
from deniable.privacy.statement import Statement

_MAX_STARTS = 100_000  # first uses that are tried; all of them up to this number


@dataclass(frozen=True, kw_only=True, repr=False)
class LastIterateStatement(Statement):
    """Loss of the last iterate of noisy gradient descent; earlier ones stay secret.

    The updates are w <- project(w - learning_rate (gradient(w) + noise)).

    Args:
        steps: the number of updates.
        noise_multiplier: standard deviation of the Gaussian noise over the l2 sensitivity of the gradient of one step,
            whatever w is.
        learning_rate: the step size; times smoothness at most 2.
        smoothness: an upper bound on the curvature of every step's loss function, for every data set. Clipped gradients
            of single records do not qualify: clipping breaks the curvature.
        strong_convexity: a lower bound on that curvature; 0 when the loss is only convex.
        batches: number of batches into which the data are split once, used in turn; 1 for the full batch.
        steps_after: how many steps follow the last one that uses the unit; 0, the worst case, for all units.
        diameter: of the convex set that w is projected on; None when it is unbounded, or not projected at all.
        gradient_sensitivity: in the unit of the gradient; needed with `diameter` only.

    Guarantee: mu-GDP. With c = max(|1 - rate m|, |1 - rate M|), for the full batch and t steps mu^2 = (1 - c^t)(1 + c)
        / ((1 + c^t)(1 - c)) / noise_multiplier^2, or t / noise_multiplier^2 when c = 1; in general the formula in
        docs/theory/privacy/iteration.md. Attained by quadratic losses when c = 1 - rate m, with the full batch and no
        diameter; the lower end is what quadratic losses attain.
    Source: Bok, Su, Altschuler (2024), arXiv:2403.00278; Feldman, Mironov, Talwar, Thakurta (2018), arXiv:1808.06651.
    """

    kind: ClassVar[str] = "last_iterate"
    steps: Annotated[int, positive_integer]
    noise_multiplier: Annotated[Fraction, positive_rational]
    learning_rate: Annotated[Fraction, positive_rational]
    smoothness: Annotated[Fraction, positive_rational]
    strong_convexity: Annotated[Fraction, nonnegative_rational] = Fraction(0)
    batches: Annotated[int, positive_integer] = 1
    steps_after: int = 0
    diameter: Annotated[Fraction | None, positive_rational] = None
    gradient_sensitivity: Annotated[Fraction | None, positive_rational] = None

    def __post_init__(self) -> None:
        read_fields(self)
        if isinstance(self.steps_after, bool) or not isinstance(self.steps_after, int) or self.steps_after < 0:
            raise InvalidParameterError(f"steps_after must be a whole number >= 0, got {self.steps_after!r}")
        if self.steps_after >= self.steps:
            raise InvalidParameterError(
                f"steps_after must be below steps={self.steps}, got {self.steps_after}: the unit would never be used"
            )
        if self.strong_convexity > self.smoothness:
            raise InvalidParameterError(
                f"strong_convexity must be at most smoothness={decimal_text(self.smoothness)}, "
                f"got {decimal_text(self.strong_convexity)}"
            )
        if self.learning_rate * self.smoothness > 2:
            raise UnprovedError(
                "amplification by iteration is proved for steps that do not expand: learning_rate * smoothness must be "
                f"at most 2, got {decimal_text(self.learning_rate * self.smoothness)}. Take a smaller learning_rate, "
                "or account for all steps: GaussianLoss(...) * steps."
            )
        if (self.diameter is None) != (self.gradient_sensitivity is None):
            raise InvalidParameterError("diameter and gradient_sensitivity must be given together")

    @property
    def contraction(self) -> Fraction:
        """Upper bound on the factor of the distance of two iterates in one step."""
        ends = (self.strong_convexity, self.smoothness)
        return max(abs(1 - self.learning_rate * curvature) for curvature in ends)

    @property
    def uses(self) -> int:
        """Number of steps that use the unit."""
        return (self.steps - 1 - self.steps_after) // self.batches + 1

    @property
    def mu_squared(self) -> Fraction:
        """Value of mu^2 by the best schedule of shifts, or by all steps together."""
        shifts = [_Schedule(self.contraction, self.batches, self.steps_after, self.uses, Fraction(0))]
        if self.diameter is not None and self.gradient_sensitivity is not None:
            far = self.diameter / (self.learning_rate * self.gradient_sensitivity)
            shifts.append(_best_start(self.contraction, self.batches, self.steps_after, self.uses, far))
        best = min(certified(shift.cost, within=NONNEGATIVE).upper for shift in shifts)
        plain = Fraction(self.uses)  # all steps together
        return min(decimal_above(Fraction(best), DIGITS), plain) / self.noise_multiplier**2

    @property
    def attained_mu_squared(self) -> Fraction:
        """Value of mu^2 that quadratic losses attain; 0 where this says nothing.

        All iterates are then Gaussian.
        """
        kept = 1 - self.learning_rate * self.strong_convexity
        if kept < 0 or self.diameter is not None:
            return Fraction(0)

        def formula() -> Arb:
            c = ball(kept)
            drift = c**self.steps_after * _sum_of_powers(c**self.batches, self.uses)
            return drift**2 / _sum_of_powers(c**2, self.steps)

        attained = decimal_below(Fraction(certified(formula, within=NONNEGATIVE).lower), DIGITS)
        return min(attained / self.noise_multiplier**2, self.mu_squared)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by GDP, with mu^2 and the attained one."""
        upper = gaussian_delta(self.mu_squared, epsilon).upper
        return Interval(min(gaussian_delta(self.attained_mu_squared, epsilon).lower, upper), upper)

    def laws(self) -> Pairs:
        """Return normal laws with mu, and with the attained one."""
        lower: LossLaw = NOTHING
        if self.attained_mu_squared:
            lower = NormalLaw(float(self.attained_mu_squared) ** 0.5)
        return Pairs.symmetric(NormalLaw(float(self.mu_squared) ** 0.5), lower)


@dataclass(frozen=True)
class _Schedule:
    """Schedule of a unit's `uses`, every `period` steps, the last `after` steps early.

    start: how far apart the two processes may be before the first of these uses, in units of one step's shift.

    start: how far apart the two processes may be before the first of these uses, in units of one step's shift.
    """

    contraction: Fraction
    period: int
    after: int
    uses: int
    start: Fraction

    def cost(self) -> Arb:
        """Return the least sum of squared shifts that joins the two processes at the end."""
        c = ball(self.contraction)
        steps = self.after + (self.uses - 1) * self.period + 1
        first = c**self.after
        early = _sum_of_powers(c**2, self.after + 1)
        total = first * _sum_of_powers(c**self.period, self.uses) + c**steps * ball(self.start)
        room = _sum_of_powers(c**2, steps)
        if steps == self.after + 1 or total * early >= first * room:
            return total**2 / room
        return first**2 / early + (total - first) ** 2 / (room - early)


def _sum_of_powers(ratio: Arb, count: int) -> Arb:
    """Return 1 + ratio + ... + ratio^(count - 1)."""
    gap = 1 - ratio
    if gap.contains(0):
        return (count * ratio**count).union(ball(Fraction(count))) if gap != 0 else ball(Fraction(count))
    return (1 - ratio**count) / gap


def _best_start(contraction: Fraction, period: int, after: int, uses: int, start: Fraction) -> _Schedule:
    """Return the schedule that counts only from the best use on.

    Before it the processes are at most `start` apart.
    """
    counts = np.unique(np.round(np.geomspace(1, uses, min(uses, _MAX_STARTS))))
    c = float(contraction)
    steps = after + (counts - 1) * period + 1
    powers, squares = _float_sums(c**period, counts), _float_sums(c * c, steps)
    first = c**after
    early = float(_float_sums(c * c, np.array([after + 1.0]))[0])
    total = first * powers + c**steps * float(start)
    corner = (total * early < first * squares) & (counts > 1)
    rest = np.where(corner, squares - early, 1.0)
    costs = np.where(corner, first**2 / early + (total - first) ** 2 / rest, total**2 / squares)
    return _Schedule(contraction, period, after, int(counts[int(np.argmin(costs))]), start)


def _float_sums(ratio: float, counts: Floats) -> Floats:
    """Return 1 + ratio + ... + ratio^(count - 1) for each count, in floats."""
    if ratio > 1 - 1e-12:
        return np.asarray(counts, dtype=np.float64)
    return np.asarray((1 - ratio**counts) / (1 - ratio))
