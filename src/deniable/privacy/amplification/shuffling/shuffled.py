"""Shuffled local reports: all users apply one randomizer, senders are dropped.

Proofs of both sides: docs/theory/privacy/shuffling.md.

Proofs of both sides: docs/theory/privacy/shuffling.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

from deniable.arguments import made_of, read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball
from deniable.numbers.interval import INFINITE, Interval
from deniable.numbers.rationals import positive_integer
from deniable.privacy.amplification.shuffling.randomizers import RANDOMIZERS, Randomizer, Reports
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE, Wish
from deniable.privacy.pld.curve_law import (
    Between,
    exp_epsilon_grid,
    heights_above,
    heights_around,
    law_above,
    law_below,
)
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.positive_part import PRECISION, Bound, StepBounds, positive_part_above, positive_part_below
from deniable.privacy.relation import Replace
from deniable.privacy.statement import Stated, Statement, statement_of

_TOLERANCE_SHARE = 0.1  # share of the tolerance for delta on each side
_SEARCH_SHARE = 0.01  # share of the tolerance for the search of epsilon
_MAX_LOSS = 600.0  # which floats can exponentiate
_MIN_EPSILON = 1e-9  # at which a search ends
_MIN_DELTA = 1e-60  # a smaller delta may be wider than the tolerance
_ROUGH_TOLERANCE = 0.1  # of delta, to choose between cases
_CURVE_TOLERANCE = 5e-3  # of curves that are composed
_POINTS_ABOVE = 192  # of upper curves that are composed
_POINTS_BELOW = 128  # of lower curves that are composed


@dataclass(frozen=True, init=False, repr=False)
class ShuffledStatement(Statement):
    """Loss of the shuffled reports of users who all apply one local randomizer.

    One report each, no sender, no order, no time.

    Args:
        randomizer: a `KaryResponse`, a `Channel`, `AnyRandomizer`, or a `RandomizedResponseLoss`, which is one.
        users: the number of users.

    Guarantee: under replace (one user's value changes), delta is at most the privacy-blanket bound, or for
        `AnyRandomizer` the clones bound; and at least the exact value of the worst population tried. Both ends include
        numerical error, at most the tolerance; the rest of their distance is that of the theorems.
    Source: Balle, Bell, Gascon, Nissim (2019), arXiv:1903.02837; Feldman, McMillan, Talwar (2021), arXiv:2012.12803;
        proofs in docs/theory/privacy/shuffling.md.

    >>> from deniable.privacy import RandomizedResponseLoss, ShuffledLoss
    >>> loss = ShuffledLoss(RandomizedResponseLoss(truth="3/4", choices=2), users=10_000)
    >>> loss.epsilon("1e-6").upper < 0.1
    True
    """

    kind: ClassVar[str] = "shuffled"
    randomizer: Randomizer
    users: Annotated[int, positive_integer]
    relations = frozenset({Replace})

    def __init__(self, randomizer: Randomizer | Stated, users: object) -> None:
        read_fields(self, randomizer=_randomizer_of(randomizer), users=users)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        return cls(made_of("randomizer", values.pop("randomizer", None), RANDOMIZERS), **values)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, from blankets above and populations below."""
        return self.delta_within(epsilon, DEFAULT_TOLERANCE)

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        """Return delta at `epsilon`; each end is computed to the tolerance."""
        upper = self._greatest(self.randomizer.blankets(), epsilon, tolerance)
        lower = self._below(self._worst_population(epsilon), epsilon, tolerance)
        wide = self._is_wide(tolerance, upper, lower)
        return Interval(min(lower.value, upper.value), upper.value, wide=wide)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        """Return the least epsilon at `delta`; each end is computed to the tolerance."""
        if delta < self.infinite_mass:
            return INFINITE
        limit = self.randomizer.largest_loss
        if delta == 0:
            return limit
        top = min(limit.upper, _MAX_LOSS)
        cases = self.randomizer.blankets()

        def above(epsilon: float) -> Bound:
            return self._greatest(cases, Fraction(epsilon), tolerance)

        fine = _SEARCH_SHARE * tolerance
        upper = _crossing(lambda epsilon: above(epsilon).value, delta, top, self._guess(delta, top), fine)[1]
        start = min(upper, top)
        worst = self._worst_population(Fraction(start) * Fraction(99, 100))

        def below(epsilon: float) -> Bound:
            return self._below(worst, Fraction(epsilon), tolerance)

        lower = _crossing(lambda epsilon: below(epsilon).value, delta, start, 0.999 * start, fine)[0]
        wide = self._is_wide(tolerance, above(start), below(lower))
        if upper == top:
            upper = limit.upper
        return Interval(min(lower, upper), upper, wide=wide)

    def _is_wide(self, tolerance: float, *bounds: Bound) -> bool:
        """Return whether the tolerance is missed; raise if it was asked for."""
        missed = [bound for bound in bounds if bound.gap > tolerance and bound.value > _MIN_DELTA]
        if not isinstance(tolerance, Wish):
            for bound in missed:
                raise InvalidParameterError(
                    f"tolerance={tolerance:g} cannot be reached: delta, near {bound.value:.3g}, is known only to "
                    f"a relative width of {bound.gap:.2g}. Ask for a larger tolerance."
                )
        return bool(missed)

    def laws(self) -> Pairs | None:
        """Return laws from points of both curves.

        None when a report may be revealed for certain.
        """
        return None if self.infinite_mass else self._laws

    @cached_property
    def _laws(self) -> Pairs:
        cases = self.randomizer.blankets()

        def above(epsilon: Fraction) -> float:
            return self._greatest(cases, epsilon, _CURVE_TOLERANCE).value

        grid = exp_epsilon_grid(above, self.failing_epsilon, _POINTS_ABOVE)
        points = heights_above(above, grid)
        worst = self._worst_population(Fraction(math.log(grid[_POINTS_ABOVE // 3])))

        def between(case: Reports) -> list[Between]:
            exp_epsilons = exp_epsilon_grid(
                lambda epsilon: self._below(case, epsilon, 0.5).value, self.failing_epsilon, _POINTS_BELOW
            )
            return heights_around(
                lambda epsilon: self._below(case, epsilon, _CURVE_TOLERANCE).value,
                lambda epsilon: self._above(case, epsilon, _CURVE_TOLERANCE).value,
                exp_epsilons,
            )

        there, back = between(worst), between(_exchanged(worst))
        ways = (law_below(there, back), law_below(back, there))
        upper = law_above(points, points)
        return Pairs((upper, upper), ways)

    def _guess(self, delta: Fraction, top: float) -> float:
        """Return an epsilon near the closed form of clones, which need not hold here."""
        grown = math.exp(min(top, 30.0))
        root = math.sqrt(grown * math.log(4 / float(delta)) / self.users)
        return min(math.log1p((grown - 1) / (grown + 1) * 2 * root), 0.9 * top)

    def _worst_population(self, epsilon: Fraction) -> Reports:
        """Return the population with the largest delta, to a few digits.

        Any population is valid.
        """
        return max(self.randomizer.populations(), key=lambda case: self._below(case, epsilon, _ROUGH_TOLERANCE))

    def _greatest(self, cases: list[Reports], epsilon: Fraction, tolerance: float) -> Bound:
        """Return the greatest of the upper bounds.

        Those that are surely below another one are not computed finely.
        """
        if len(cases) > 1:
            rough = [self._above(case, epsilon, _ROUGH_TOLERANCE) for case in cases]
            floor = max(bound.value * (1 - bound.gap) for bound in rough) * (1 - 1e-9)
            cases = [case for case, bound in zip(cases, rough, strict=True) if bound.value >= floor]
        return max(self._above(case, epsilon, tolerance) for case in cases)

    def _above(self, case: Reports, epsilon: Fraction, tolerance: float) -> Bound:
        """Return an upper bound on delta for one pair of values."""
        if self._is_beyond(epsilon):
            return Bound(0.0, 0.0)
        steps, exposed = _steps(case, epsilon)
        bound = positive_part_above(steps, self.users, _TOLERANCE_SHARE * tolerance)
        return Bound(min((exposed.upper + bound.value / self.users) * _ROUNDED_UP, 1.0), bound.gap)

    def _below(self, case: Reports, epsilon: Fraction, tolerance: float) -> Bound:
        """Return a lower bound on delta for one population."""
        if self._is_beyond(epsilon):
            return Bound(0.0, 0.0)
        steps, exposed = _steps(case, epsilon)
        bound = positive_part_below(steps, self.users, _TOLERANCE_SHARE * tolerance)
        return Bound((exposed.lower + bound.value / self.users) / _ROUNDED_UP, bound.gap)

    def _is_beyond(self, epsilon: Fraction) -> bool:
        """Return whether `epsilon` is at least the local epsilon."""
        limit = self.failing_epsilon
        return limit is not None and epsilon >= limit

    @property
    def infinite_mass(self) -> Fraction:
        return self.randomizer.infinite_mass

    @property
    def failing_epsilon(self) -> Fraction | None:
        return self.randomizer.pure_epsilon


_ROUNDED_UP = 1 + 2.0**-50  # a product with it is at least the exact sum


def _randomizer_of(given: object) -> Randomizer:
    """Return a randomizer as it is; randomised response as the channel that it is."""
    if isinstance(given, Randomizer):
        return given
    randomizer = statement_of("randomizer", given).as_randomizer() if hasattr(given, "statement") else None
    if randomizer is not None:
        return randomizer
    raise InvalidParameterError(
        "randomizer must be what one user applies, a KaryResponse, Channel, AnyRandomizer or RandomizedResponseLoss, "
        f"got {given!r}. For a local randomizer known by its epsilon alone use AnyRandomizer(epsilon=...)."
    )


def _exchanged(case: Reports) -> Reports:
    """Return the reports with the victim's two values exchanged."""
    return lambda: [report._replace(first=report.second, second=report.first) for report in case()]


def _steps(case: Reports, epsilon: Fraction) -> tuple[StepBounds, Interval]:
    """Return the steps (first - e second) / hidden, and the mass that nothing hides."""
    from flint import arb, ctx

    with ctx.workprec(PRECISION):
        e = ball(epsilon).exp()
        exposed = arb(0)
        values, weights = [], []
        for report in case():
            excess = report.first - e * report.second
            if report.hidden == 0:
                exposed += report.copies * excess.max(arb(0))
            else:
                values.append(excess / report.hidden)
                weights.append(report.hidden * report.copies)
        return StepBounds.of_balls(values, weights), Interval.of_ball(exposed, within=Interval(0.0, 1.0))


def _crossing(
    curve: Callable[[float], float], delta: Fraction, top: float, guess: float, fine: float
) -> tuple[float, float]:
    """Return (low, high), `fine` apart, with curve(low) > delta >= curve(high).

    high = top may be unchecked, and a low of 0. sqrt(-log delta) is close to a line in epsilon: false position there.

    A low of 0 may be unchecked. sqrt(-log delta) is close to a line in epsilon: false position there.
    """

    def depth(epsilon: float) -> float:
        value = curve(epsilon)
        root = math.sqrt(max(-math.log(value), 0.0)) if value > 0 else math.inf
        return max(root, goal) if Fraction(value) <= delta else min(root, math.nextafter(goal, 0.0))

    goal = math.sqrt(-math.log(float(delta)))
    low = 0.0
    high = top
    shallow = 0.0
    deep = math.inf
    trial = min(guess, 0.9999 * top)
    stride = 2e-3
    for step in range(200):
        value = depth(trial)
        if value < goal:
            low, shallow = trial, value
        else:
            high, deep = trial, value
        if high - low <= fine * high or high < _MIN_EPSILON:
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
