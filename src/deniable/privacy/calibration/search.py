"""The search for the setting of a mechanism at which a certified cost meets its target."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import decimal_above, decimal_below, decimal_text

SMALLEST = Fraction(1, 10**12)  # where a domain that begins at 0 begins
ROUGH = 0.05  # tolerance of the first trials, which are quick
_NEAR = 0.02  # share of the target at which they end
_STRIDE, _LEAP = math.log(4.0), math.log(256.0)  # how far a trial may lie beyond the last, at first and at most
_MOST_TRIALS = 100


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The settings that may be tried, from `lower` > 0 to `upper`.

    Args:
        digits: significant decimal digits of a setting; None for integers.
    """

    lower: Fraction
    upper: Fraction
    digits: int | None

    def nearest(self, place: float, *, upward: bool) -> Fraction:
        """The setting next to exp(place), above or below it, moved into the domain."""
        exact = Fraction(f"{math.exp(min(max(place, -690.0), 690.0)):.13g}")
        if self.digits is None:
            rounded = Fraction(math.ceil(exact) if upward else math.floor(exact))
        else:
            rounded = (decimal_above if upward else decimal_below)(exact, self.digits)
        return min(max(rounded, self.lower), self.upper)


@dataclass(frozen=True)
class Trial:
    """A setting, and ln(cost / target) there: infinite where only the side is known, NaN where nothing is."""

    setting: Fraction
    excess: float

    @property
    def place(self) -> float:
        """ln(setting)."""
        return math.log(self.setting)

    @property
    def known(self) -> bool:
        """Whether the cost was found."""
        return not math.isnan(self.excess)


Judge = Callable[[Fraction], Trial]


def best_setting(
    excess: Callable[[Fraction, float], float],
    domain: Domain,
    tolerance: float,
    *,
    near: Fraction | None = None,
    infinite: str | None = None,
) -> Fraction:
    """The setting with the largest excess <= 0: to within `tolerance`, or next to one with an excess > 0.

    Args:
        excess: ln(cost / target) of a setting, computed to a tolerance; at most 0 only if the target is proved, NaN if
            it cannot be computed. It grows with the setting throughout, or shrinks.
        near: where to begin.
        infinite: what to say if all excesses were.

    Raises: InvalidParameterError if no setting has an excess <= 0.
    """

    def rough(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, max(ROUGH, tolerance)))

    def fine(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, tolerance))

    trials, upward = _both_sides(rough, domain, near, _STRIDE if near is None else _STRIDE / 8, 3 * ROUGH)
    search = _Search(domain, upward=upward)
    within = (-tolerance if domain.digits else 0.0, 0.0)
    found = search.close_in(rough, trials, (-_NEAR, _NEAR) if tolerance < ROUGH else within)
    if tolerance < ROUGH and found.known:
        found = search.close_in(fine, [fine(search.ahead(found, -tolerance / 2))], within)
    if not found.excess <= 0:
        if infinite is not None and all(trial.excess == math.inf for trial in [*trials, found]):
            raise InvalidParameterError(infinite)
        raise InvalidParameterError(
            f"no setting from {decimal_text(domain.lower)} to {decimal_text(domain.upper)} is proved to meet the "
            f"target; the last one tried was {decimal_text(found.setting)}. Give a larger target, or other settings "
            "with over=."
        )
    return found.setting


def closer_setting(
    excess: Callable[[Fraction, float], float], domain: Domain, tolerance: float, near: Fraction
) -> Fraction:
    """Like `best_setting`, from a private setting `near` that is almost the best: all trials are fine ones."""

    def fine(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, tolerance))

    trials, upward = _both_sides(fine, domain, near, tolerance, 3 * tolerance)
    found = _Search(domain, upward=upward).close_in(fine, trials, (0.0, 0.0))
    return found.setting if found.excess <= 0 else near


def _both_sides(
    judge: Judge, domain: Domain, near: Fraction | None, stride: float, apart: float
) -> tuple[list[Trial], bool]:
    """Trials until two costs are so far apart, or from end to end; and whether larger settings are more private."""
    begin = Fraction(1) if domain.lower <= 1 <= domain.upper / 4 else max(domain.upper / 100, domain.lower)
    low = high = domain.nearest(math.log(near or begin), upward=True)
    trials = [judge(low)]
    while low > domain.lower or high < domain.upper:
        for upward in (True, False):
            if upward and high < domain.upper:
                high = domain.nearest(math.log(high) + stride, upward=True)
                trials.append(judge(high))
            elif not upward and low > domain.lower:
                low = domain.nearest(math.log(low) - stride, upward=False)
                trials.append(judge(low))
            found = sorted((trial for trial in trials if trial.known), key=lambda trial: trial.setting)
            if found and _differ(found[0], found[-1], apart):
                return trials, found[-1].excess < found[0].excess
        stride = min(4 * stride, _LEAP)
    return trials, True


def _differ(low: Trial, high: Trial, apart: float) -> bool:
    return low.excess != high.excess and not abs(low.excess - high.excess) < apart


class _Search:
    """False position on the excess over ln(setting), inside a bracket as soon as there is one.

    Places are turned so that larger ones are more private.
    """

    def __init__(self, domain: Domain, *, upward: bool) -> None:
        self.domain, self.sign = domain, 1 if upward else -1
        self.slope: float | None = None

    def close_in(self, judge: Judge, known: list[Trial], within: tuple[float, float]) -> Trial:
        """A trial with an excess `within` these two, or the best private one, or the last one if none is private."""
        trials = sorted(known, key=lambda trial: -abs(trial.excess) if trial.known else -math.inf)
        for turn in range(_MOST_TRIALS):
            if within[0] <= trials[-1].excess <= within[1]:
                return trials[-1]
            self._learn(trials)
            setting = self._next(trials, sum(within) / 2, halve=turn % 4 == 3)
            if setting is None:
                break
            trials.append(judge(setting))
        return self._best(trials) or trials[-1]

    def ahead(self, near: Trial, goal: float) -> Fraction:
        """Where the slope so far leads to an excess of `goal`; a trial that meets the target exactly is kept."""
        if near.excess == 0:
            return near.setting
        place = self._place(near) + min(max(self._step(near, goal, 0.0), -_STRIDE), _STRIDE)
        return self.domain.nearest(self.sign * place, upward=self.sign > 0)

    def _best(self, trials: list[Trial]) -> Trial | None:
        """The private trial that reveals most."""
        return min((trial for trial in trials if trial.excess <= 0), key=self._place, default=None)

    def _ends(self, trials: list[Trial]) -> tuple[Trial | None, Trial | None]:
        """The trials around the target: one that is not private, then one that is.

        A trial of unknown cost is a wall: nothing is tried beyond it, seen from the other end.
        """
        best = self._best(trials)
        if best is not None:
            below = [trial for trial in trials if not trial.excess <= 0 and self._place(trial) < self._place(best)]
            return max(below, key=self._place, default=None), best
        worst = max((trial for trial in trials if trial.excess > 0), key=self._place, default=None)
        if worst is None:
            return None, None
        walls = [trial for trial in trials if not trial.known and self._place(trial) > self._place(worst)]
        return worst, min(walls, key=self._place, default=None)

    def _learn(self, trials: list[Trial]) -> None:
        """The slope through the last trial and the nearest to it, if it points the right way."""
        last = trials[-1]
        others = [trial for trial in trials if trial.setting != last.setting and math.isfinite(trial.excess)]
        if others and math.isfinite(last.excess):
            near = min(others, key=lambda trial: abs(trial.place - last.place))
            slope = (last.excess - near.excess) / (self._place(last) - self._place(near))
            self.slope = slope if slope < 0 else self.slope

    def _step(self, last: Trial, goal: float, otherwise: float) -> float:
        return (goal - last.excess) / self.slope if self.slope and math.isfinite(last.excess) else otherwise

    def _next(self, trials: list[Trial], goal: float, *, halve: bool) -> Fraction | None:
        """A new setting between the ends, or beyond the only one; None if there is none."""
        worst, best = self._ends(trials)
        step = self._step(trials[-1], goal, math.inf)
        if worst is not None and best is not None:
            low, high = self._place(worst), self._place(best)
            place = self._place(trials[-1]) + step
            if halve or not math.isfinite(place):
                place = (low + high) / 2
            edge = (high - low) / 100
            place = min(max(place, low + edge), high - edge)
        elif worst is not None:
            place = self._place(worst) + (min(max(1.1 * step, 1e-9), _LEAP) if math.isfinite(step) else _STRIDE)
        elif best is not None:
            place = self._place(best) + (max(min(1.1 * step, -1e-9), -_LEAP) if math.isfinite(step) else -_STRIDE)
        else:
            return None
        ends = [trial.setting for trial in (best, worst) if trial is not None]
        for upward in (self.sign > 0, self.sign < 0):
            setting = self.domain.nearest(self.sign * place, upward=upward)
            if setting not in ends:
                return setting
        return None

    def _place(self, trial: Trial) -> float:
        return self.sign * trial.place
