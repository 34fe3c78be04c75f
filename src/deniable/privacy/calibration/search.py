"""Search for the setting of a mechanism whose certified cost meets its target."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import decimal_above, decimal_below, decimal_text

SMALLEST_SETTING = Fraction(1, 10**12)  # lower end of a domain that begins at 0
ROUGH_TOLERANCE = 0.05  # tolerance of the first trials, which are quick
_ROUGH_GOAL = 0.02  # relative distance to the target at which the rough trials end
_FIRST_STRIDE = math.log(4.0)  # distance in ln(setting) from the first trial to the next
_LARGEST_STRIDE = math.log(256.0)  # largest distance from one trial to the next
_MAX_TRIALS = 100  # of one search; false position needs some ten


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Settings that may be tried, from `lower` > 0 to `upper`.

    Args:
        lower: the least setting.
        upper: the largest setting.
        digits: significant decimal digits of a setting; None for integers.
    """

    lower: Fraction
    upper: Fraction
    digits: int | None

    def nearest(self, logarithm: float, *, upward: bool) -> Fraction:
        """Return the setting next to exp(logarithm), above or below it, inside the domain."""
        exact = Fraction(f"{math.exp(min(max(logarithm, -690.0), 690.0)):.13g}")
        if self.digits is None:
            rounded = Fraction(math.ceil(exact) if upward else math.floor(exact))
        else:
            rounded = (decimal_above if upward else decimal_below)(exact, self.digits)
        return min(max(rounded, self.lower), self.upper)


@dataclass(frozen=True)
class Trial:
    """Setting that was tried, with ln(cost / target) there.

    The logarithm is infinite where only the side is known, NaN where nothing is.
    """

    setting: Fraction
    excess: float

    @property
    def logarithm(self) -> float:
        """Natural logarithm of the setting."""
        return math.log(self.setting)

    @property
    def known(self) -> bool:
        """Whether the cost could be computed."""
        return not math.isnan(self.excess)


Judge = Callable[[Fraction], Trial]


def best_setting(
    excess: Callable[[Fraction, float], float],
    domain: Domain,
    tolerance: float,
    *,
    start: Fraction | None = None,
    infinite: str | None = None,
) -> Fraction:
    """Return the setting with the largest excess <= 0.

    It is found to within `tolerance`, or lies next to a setting with an excess > 0.

    Args:
        excess: ln(cost / target) of a setting, computed to a tolerance; at most 0 only if the target is proved, NaN if
            it cannot be computed. It grows with the setting throughout, or shrinks.
        near: the setting to begin with.
        infinite: the error text if all excesses were infinite.

    Raises: InvalidParameterError if no setting has an excess <= 0.
    """

    def rough(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, max(ROUGH_TOLERANCE, tolerance)))

    def fine(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, tolerance))

    stride = _FIRST_STRIDE if start is None else _FIRST_STRIDE / 8
    trials, upward = _both_sides(rough, domain, start, stride, 3 * ROUGH_TOLERANCE)
    search = _Search(domain, upward=upward)
    within = (-tolerance if domain.digits else 0.0, 0.0)
    is_refined = tolerance < ROUGH_TOLERANCE
    best = search.close_in(rough, trials, (-_ROUGH_GOAL, _ROUGH_GOAL) if is_refined else within)
    if is_refined and best.known:
        best = search.close_in(fine, [fine(search.ahead(best, -tolerance / 2))], within)
    if not best.excess <= 0:
        if infinite is not None and all(trial.excess == math.inf for trial in [*trials, best]):
            raise InvalidParameterError(infinite)
        raise InvalidParameterError(
            f"no setting from {decimal_text(domain.lower)} to {decimal_text(domain.upper)} is proved to meet the "
            f"target; the last one tried was {decimal_text(best.setting)}. Give a larger target, or other settings "
            "with over=."
        )
    return best.setting


def closer_setting(
    excess: Callable[[Fraction, float], float], domain: Domain, tolerance: float, start: Fraction
) -> Fraction:
    """Return a better setting, from a private one `near` that is almost the best.

    All trials are computed to the full tolerance.
    """

    def fine(setting: Fraction) -> Trial:
        return Trial(setting, excess(setting, tolerance))

    trials, upward = _both_sides(fine, domain, start, tolerance, 3 * tolerance)
    best = _Search(domain, upward=upward).close_in(fine, trials, (0.0, 0.0))
    return best.setting if best.excess <= 0 else start


def _both_sides(
    judge: Judge, domain: Domain, start: Fraction | None, stride: float, apart: float
) -> tuple[list[Trial], bool]:
    """Return trials whose costs differ by `apart`, and whether larger is more private.

    The trials run from end to end of the domain where no two costs differ by so much.
    """
    begin = Fraction(1) if domain.lower <= 1 <= domain.upper / 4 else max(domain.upper / 100, domain.lower)
    low = high = domain.nearest(math.log(start or begin), upward=True)
    trials = [judge(low)]
    while low > domain.lower or high < domain.upper:
        for upward in (True, False):
            if upward and high < domain.upper:
                high = domain.nearest(math.log(high) + stride, upward=True)
                trials.append(judge(high))
            elif not upward and low > domain.lower:
                low = domain.nearest(math.log(low) - stride, upward=False)
                trials.append(judge(low))
            known_trials = sorted((trial for trial in trials if trial.known), key=lambda trial: trial.setting)
            if known_trials and _differ(known_trials[0], known_trials[-1], apart):
                return trials, known_trials[-1].excess < known_trials[0].excess
        stride = min(4 * stride, _LARGEST_STRIDE)
    return trials, True


def _differ(low: Trial, high: Trial, apart: float) -> bool:
    """Return whether the excesses of two trials are at least `apart` apart."""
    return low.excess != high.excess and not abs(low.excess - high.excess) < apart


class _Search:
    """False position on the excess over ln(setting), inside a bracket if there is one.

    Positions are ln(setting), signed so that larger ones are more private.

    Places are turned so that larger ones are more private.
    """

    def __init__(self, domain: Domain, *, upward: bool) -> None:
        self.domain = domain
        self.sign = 1 if upward else -1
        self.slope: float | None = None

    def close_in(self, judge: Judge, known: list[Trial], within: tuple[float, float]) -> Trial:
        """Return a trial with an excess `within` these two bounds.

        Otherwise the best private trial, or the last one if none is private.
        """
        trials = sorted(known, key=lambda trial: -abs(trial.excess) if trial.known else -math.inf)
        for turn in range(_MAX_TRIALS):
            if within[0] <= trials[-1].excess <= within[1]:
                return trials[-1]
            self._learn(trials)
            setting = self._next(trials, sum(within) / 2, halve=turn % 4 == 3)
            if setting is None:
                break
            trials.append(judge(setting))
        return self._best(trials) or trials[-1]

    def ahead(self, trial: Trial, goal: float) -> Fraction:
        """Return the setting at which the slope so far predicts an excess of `goal`.

        A trial that meets the target exactly is kept.
        """
        if trial.excess == 0:
            return trial.setting
        position = self._position(trial) + min(max(self._step(trial, goal, 0.0), -_FIRST_STRIDE), _FIRST_STRIDE)
        return self.domain.nearest(self.sign * position, upward=self.sign > 0)

    def _best(self, trials: list[Trial]) -> Trial | None:
        """Return the private trial that reveals most."""
        return min((trial for trial in trials if trial.excess <= 0), key=self._position, default=None)

    def _ends(self, trials: list[Trial]) -> tuple[Trial | None, Trial | None]:
        """Return the trials around the target: one that is not private, then one that is.

        A trial of unknown cost is a wall: nothing is tried beyond it, seen from the other end.
        """
        best = self._best(trials)
        if best is not None:
            below = [
                trial for trial in trials if not trial.excess <= 0 and self._position(trial) < self._position(best)
            ]
            return max(below, key=self._position, default=None), best
        worst = max((trial for trial in trials if trial.excess > 0), key=self._position, default=None)
        if worst is None:
            return None, None
        walls = [trial for trial in trials if not trial.known and self._position(trial) > self._position(worst)]
        return worst, min(walls, key=self._position, default=None)

    def _learn(self, trials: list[Trial]) -> None:
        """Update the slope by the last trial and its nearest, if the sign is right."""
        last = trials[-1]
        others = [trial for trial in trials if trial.setting != last.setting and math.isfinite(trial.excess)]
        if others and math.isfinite(last.excess):
            nearest = min(others, key=lambda trial: abs(trial.logarithm - last.logarithm))
            slope = (last.excess - nearest.excess) / (self._position(last) - self._position(nearest))
            self.slope = slope if slope < 0 else self.slope

    def _step(self, last: Trial, goal: float, otherwise: float) -> float:
        """Return the predicted distance to an excess of `goal`, or `otherwise`."""
        return (goal - last.excess) / self.slope if self.slope and math.isfinite(last.excess) else otherwise

    def _next(self, trials: list[Trial], goal: float, *, halve: bool) -> Fraction | None:
        """Return a new setting between the ends or beyond the only end; None without one."""
        worst, best = self._ends(trials)
        step = self._step(trials[-1], goal, math.inf)
        if worst is not None and best is not None:
            low, high = self._position(worst), self._position(best)
            position = self._position(trials[-1]) + step
            if halve or not math.isfinite(position):
                position = (low + high) / 2
            edge = (high - low) / 100
            position = min(max(position, low + edge), high - edge)
        elif worst is not None:
            stride = min(max(1.1 * step, 1e-9), _LARGEST_STRIDE) if math.isfinite(step) else _FIRST_STRIDE
            position = self._position(worst) + stride
        elif best is not None:
            stride = max(min(1.1 * step, -1e-9), -_LARGEST_STRIDE) if math.isfinite(step) else -_FIRST_STRIDE
            position = self._position(best) + stride
        else:
            return None
        ends = [trial.setting for trial in (best, worst) if trial is not None]
        for upward in (self.sign > 0, self.sign < 0):
            setting = self.domain.nearest(self.sign * position, upward=upward)
            if setting not in ends:
                return setting
        return None

    def _position(self, trial: Trial) -> float:
        """Return the signed position of a trial."""
        return self.sign * trial.logarithm
