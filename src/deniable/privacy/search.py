"""The search for the setting of a mechanism at which a certified cost meets its target."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.privacy.exact import decimal_above, decimal_below, decimal_text

SMALLEST = Fraction(1, 10**12)  # where a domain that begins at 0 begins

_ROUGH = 0.05  # tolerance of the first trials, which are quick
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
    """A setting, and ln(cost / target) there: infinite where nothing is known but the side."""

    setting: Fraction
    excess: float

    @property
    def place(self) -> float:
        """ln(setting)."""
        return math.log(self.setting)


Judge = Callable[[Fraction], Trial]


def best_setting(excess: Callable[[Fraction, float], float], domain: Domain, tolerance: float) -> Fraction:
    """The setting with the largest excess <= 0: to within `tolerance`, or next to one with an excess > 0.

    Args:
        excess: ln(cost / target) of a setting, computed to a tolerance; at most 0 only if the target is proved. It
            grows with the setting throughout, or shrinks.

    Raises: InvalidParameterError if no setting has an excess <= 0.
    """

    def rough(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, max(_ROUGH, tolerance)))

    def fine(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, tolerance))

    low, high = _two_sides(rough, domain)
    search = _Search(domain, upward=high.excess < low.excess)
    within = (-tolerance if domain.digits else 0.0, 0.0)
    near = search.close_in(rough, [low, high], (-_NEAR, _NEAR) if tolerance < _ROUGH else within)
    if tolerance < _ROUGH:
        near = search.close_in(fine, [fine(search.ahead(near, -tolerance / 2))], within)
    if near.excess > 0:
        raise InvalidParameterError(
            f"no setting from {decimal_text(domain.lower)} to {decimal_text(domain.upper)} is proved to meet the "
            f"target; the last one tried was {decimal_text(near.setting)}. Give a larger target, or other settings "
            "with over=."
        )
    return near.setting


def _two_sides(judge: Judge, domain: Domain) -> tuple[Trial, Trial]:
    """Two settings whose costs differ, the smaller first, or the ends of the domain."""
    begin = Fraction(1) if domain.lower <= 1 <= domain.upper / 4 else max(domain.upper / 100, domain.lower)
    low = high = judge(domain.nearest(math.log(begin), upward=True))
    stride = _STRIDE
    while low.setting > domain.lower or high.setting < domain.upper:
        if high.setting < domain.upper:
            high = judge(domain.nearest(high.place + stride, upward=True))
            if _differ(low, high):
                break
        if low.setting > domain.lower:
            low = judge(domain.nearest(low.place - stride, upward=False))
            if _differ(low, high):
                break
        stride = min(4 * stride, _LEAP)
    return low, high


def _differ(low: Trial, high: Trial) -> bool:
    return low.excess != high.excess and not abs(low.excess - high.excess) < 3 * _ROUGH


class _Search:
    """False position on the excess over ln(setting), inside a bracket as soon as there is one.

    Places are turned so that larger ones are more private.
    """

    def __init__(self, domain: Domain, *, upward: bool) -> None:
        self.domain, self.sign = domain, 1 if upward else -1
        self.slope: float | None = None

    def close_in(self, judge: Judge, known: list[Trial], within: tuple[float, float]) -> Trial:
        """A trial with an excess `within` these two, or the best private one, or the last one if none is private."""
        trials = sorted(known, key=lambda trial: -abs(trial.excess))
        for turn in range(_MOST_TRIALS):
            if within[0] <= trials[-1].excess <= within[1]:
                return trials[-1]
            self._learn(trials)
            best, worst = self._bracket(trials)
            setting = self._next(trials[-1], best, worst, sum(within) / 2, halve=turn % 4 == 3)
            if setting is None:
                break
            trials.append(judge(setting))
        return self._bracket(trials)[0] or trials[-1]

    def ahead(self, near: Trial, goal: float) -> Fraction:
        """Where the slope so far leads to an excess of `goal`; a trial that meets the target exactly is kept."""
        if near.excess == 0:
            return near.setting
        step = (goal - near.excess) / self.slope if self.slope and math.isfinite(near.excess) else 0.0
        place = self._place(near) + min(max(step, -_STRIDE), _STRIDE)
        return self.domain.nearest(self.sign * place, upward=self.sign > 0)

    def _bracket(self, trials: list[Trial]) -> tuple[Trial | None, Trial | None]:
        """The private trial that reveals most, and beyond it the last one that is not private."""
        private = [trial for trial in trials if trial.excess <= 0]
        best = min(private, key=self._place, default=None)
        rest = [trial for trial in trials if trial.excess > 0]
        if best is not None:
            rest = [trial for trial in rest if self._place(trial) < self._place(best)]
        return best, max(rest, key=self._place, default=None)

    def _learn(self, trials: list[Trial]) -> None:
        """The slope through the last trial and the nearest to it, if it points the right way."""
        last = trials[-1]
        others = [trial for trial in trials if trial.setting != last.setting and math.isfinite(trial.excess)]
        if others and math.isfinite(last.excess):
            near = min(others, key=lambda trial: abs(trial.place - last.place))
            slope = (last.excess - near.excess) / (self._place(last) - self._place(near))
            self.slope = slope if slope < 0 else self.slope

    def _next(
        self, last: Trial, best: Trial | None, worst: Trial | None, goal: float, *, halve: bool
    ) -> Fraction | None:
        """A new setting inside the bracket, or beyond the only end; None if there is none."""
        step = (goal - last.excess) / self.slope if self.slope and math.isfinite(last.excess) else math.inf
        if best is not None and worst is not None:
            low, high = self._place(worst), self._place(best)
            edge = (high - low) / 100
            place = self._place(last) + step
            if halve or not math.isfinite(place):
                place = (low + high) / 2
            place = min(max(place, low + edge), high - edge)
        elif worst is not None:
            place = self._place(worst) + min(max(1.1 * step, 1e-9), _LEAP) if math.isfinite(step) else _STRIDE
        else:
            assert best is not None
            place = self._place(best) + (max(min(1.1 * step, -1e-9), -_LEAP) if math.isfinite(step) else -_STRIDE)
        ends = [trial.setting for trial in (best, worst) if trial is not None]
        for upward in (self.sign > 0, self.sign < 0):
            setting = self.domain.nearest(self.sign * place, upward=upward)
            if setting not in ends:
                return setting
        return None

    def _place(self, trial: Trial) -> float:
        return self.sign * trial.place
