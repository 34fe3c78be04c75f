"""Lower bounds for the sparse vector technique, by streams of queries and events.

Given the threshold's noise, answers are independent, so that the probability of an event is one integral. Good streams
and events are searched in floats, and the integral of the best one is certified. Docs: docs/theory/privacy/losses.md.

Given the threshold's noise, answers are independent, so that the probability of an event is one integral. Good streams
and events are searched in floats, and the integral of the best one is certified. Docs: docs/theory/privacy/losses.md.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import PROBABILITIES, REAL, Interval, round_down
from deniable.privacy.pld.law import FiniteLaw
from deniable.privacy.pld.laws import NOTHING

if TYPE_CHECKING:
    from flint import acb

_MAX_ABOVE = 50  # answers "above" that are counted
_DOUBLINGS = 12  # of the number of queries
_LEVELS_TRIED = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # in sums of both scales, around the usual level
_NODES = 601  # of integrals in floats
_MIN_PROBABILITY = 1e-9  # rarer events are not tried
_MAX_EPSILON = 700  # which floats can exponentiate
_PRECISION = 128  # bits
_THRESHOLD_RANGE = 70  # scales of the threshold's noise; the rest has a probability below 1e-30


class Event(NamedTuple):
    """Event of a stream: few answers "above" first, then all of the last ones "above".

    Fewer than `above` of `asked` queries at `level` are answered "above"; then all of `last` ones at `high` are.

    counted: the other event, at least `above`, where nothing follows. moved, moved_high: how much higher the queries
    are in the second world; levels are counted from the threshold, in sensitivities.

    counted: the other event, at least `above`, where nothing follows.
    moved, moved_high: how much higher the questions are in the second world; levels are counted from the threshold, in
        sensitivities.
    """

    asked: int
    above: int
    level: Fraction
    last: int
    high: Fraction
    counted: bool
    moved: int
    moved_high: int


class EventStreams:
    """Events that are tried for one technique and one order of the worlds.

    Args:
        scales: of the threshold's noise and of that of a query, over the sensitivity.
        answers: how often "above" is answered before the technique stops.
        ways: -1 and 1, as the queries of the second world may be lower or higher; 1 alone or -1 alone when monotone.
    """

    def __init__(self, scales: tuple[Fraction, Fraction], answers: int, ways: frozenset[int]) -> None:
        self.scales = scales
        self.events = _events(scales, answers, ways)
        threshold, question = (float(scale) for scale in scales)
        line = np.sinh(np.linspace(-8.0, 8.0, _NODES))
        self._z = line / line[-1] * 40 * threshold
        self._weights = np.exp(-np.abs(self._z) / threshold) / (2 * threshold) * np.gradient(self._z)
        self._scale = question
        self._known: dict[Event, tuple[Interval, Interval]] = {}
        self._chances = np.array([self._both(event) for event in self.events])  # (events, worlds)

    def delta(self, epsilon: Fraction) -> float:
        """Return the best event's probability less e^epsilon times the other world's.

        0 if that is negative.
        """
        p, q = self._chances.T
        if epsilon > _MAX_EPSILON:
            return 0.0
        gains = np.where(p > _MIN_PROBABILITY, p - math.exp(epsilon) * q, -1.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            return 0.0
        ours, theirs = self._certified(self.events[best])
        growth = Fraction(certified(lambda: ball(epsilon).exp(), within=REAL).upper)
        return round_down(max(Fraction(ours.lower) - growth * Fraction(theirs.upper), Fraction(0)))

    def law(self) -> FiniteLaw:
        """Return the law of one event, the best one in compositions, which happens or not."""
        p, q = self._chances.T
        usual = (p > 1e-4) & (p < 1 - 1e-4) & (q > 1e-4) & (q < 1 - 1e-4)
        gains = np.where(usual, (p - q) ** 2 / (p * (1 - p) + q * (1 - q) + 1e-300), -1.0)
        event = self.events[int(np.argmax(gains))]
        p, q = (interval.lower for interval in self._certified(event))
        if not 0 < q < p < 1:  # nothing is found where scales are extreme
            return NOTHING
        losses = np.array([_log_ratio(1 - p, 1 - q), _log_ratio(p, q)])
        spacing = float(losses[1] - losses[0])
        return FiniteLaw(losses, np.array([1 - p, p]), np.array([1 - q, q]), spacing=spacing, roundings=2**14)

    def _certified(self, event: Event) -> tuple[Interval, Interval]:
        """Return the probabilities of an event in both worlds, certified.

        Those that are far off are not known to more digits.
        """
        from flint import ctx

        if event not in self._known:
            with ctx.workprec(_PRECISION):
                ours, theirs = (Interval.of_ball(self.chance(event, world), within=PROBABILITIES) for world in (0, 1))
            self._known[event] = ours, theirs
        return self._known[event]

    def chance(self, event: Event, world: int) -> Arb:
        """Return the probability of an event, in ball arithmetic.

        It is analytic on each piece of the line.
        """
        from flint import acb, arb

        threshold, question = self.scales
        levels = event.level + world * event.moved, event.high + world * event.moved_high
        radius = _THRESHOLD_RANGE * threshold
        inner = {level for level in (Fraction(0), *levels) if abs(level) < radius}
        ends = sorted({-radius, *inner, radius})
        total = arb(0)
        for start, end in pairwise(ends):
            middle = (start + end) / 2

            def above(z: "acb", level: Fraction, middle: Fraction = middle) -> "acb":
                away = (z - ball(level)) / ball(question)
                return (-away).exp() / 2 if middle > level else 1 - away.exp() / 2

            def density(z: "acb", _: bool, middle: Fraction = middle) -> "acb":
                side = -z if middle > 0 else z
                chance = above(z, levels[0])
                fewer = sum(
                    (
                        math.comb(event.asked, j) * chance**j * (1 - chance) ** (event.asked - j)
                        for j in range(min(event.above, event.asked + 1))
                    ),
                    acb(0),
                )
                seen = 1 - fewer if event.counted else fewer
                return seen * above(z, levels[1]) ** event.last * (side / ball(threshold)).exp()

            total += acb.integral(density, acb(ball(start)), acb(ball(end))).real
        return total / ball(2 * threshold) + ball(Fraction(-_THRESHOLD_RANGE)).exp() * arb(0.5, 0.5)

    def _both(self, event: Event) -> tuple[float, float]:
        """Return the probabilities of an event in both worlds, in floats."""
        from scipy.special import bdtr

        probabilities = []
        for world in (0, 1):
            low, high = (float(event.level + world * event.moved), float(event.high + world * event.moved_high))
            seen = bdtr(event.above - 1, event.asked, self._above(low)) if event.asked else np.ones(_NODES)
            seen = 1 - seen if event.counted else seen
            probabilities.append(float((self._weights * seen * self._above(high) ** event.last).sum()))
        return probabilities[0], probabilities[1]

    def _above(self, level: float) -> Floats:
        """Return the probability that a query at a level is answered "above", by noise."""
        away = (self._z - level) / self._scale
        return np.asarray(np.where(away > 0, np.exp(-np.maximum(away, 0)) / 2, 1 - np.exp(np.minimum(away, 0)) / 2))


def _events(scales: tuple[Fraction, Fraction], answers: int, ways: frozenset[int]) -> tuple[Event, ...]:
    """Return events with numbers of queries in powers of two.

    Their levels are where about the number that is counted is above.
    """
    unit = float(sum(scales))
    counted = min(answers, _MAX_ABOVE)
    events = []
    offsets = [_rounded(level_tried * unit) for level_tried in _LEVELS_TRIED]
    half = Fraction(1, 2)
    for power in range(_DOUBLINGS):
        for above in sorted({1, counted}):
            asked = above * 2**power
            usual = -float(scales[1]) * math.log(asked / above)
            for offset in offsets:
                level = _rounded(usual) + offset
                if 1 in ways:
                    events.append(Event(asked, above, level - half, 0, Fraction(0), False, 1, 0))
                if -1 in ways:
                    events.append(Event(asked, above, level + half, 0, Fraction(0), True, -1, 0))
                if above == 1 and 1 in ways:
                    fall = -1 if -1 in ways else 0
                    events += [
                        Event(asked, 1, level - half, answers, high - half * fall, False, 1, fall) for high in offsets
                    ]
    return tuple(events)


def _log_ratio(a: float, b: float) -> float:
    """Return ln(a / b), rounded down."""
    return certified(lambda: ball(Fraction(a) / Fraction(b)).log(), within=REAL).lower


def _rounded(level: float) -> Fraction:
    """Return a level as a multiple of 1/8."""
    return Fraction(round(8 * level), 8)


@lru_cache(maxsize=64)
def streams(scales: tuple[Fraction, Fraction], answers: int, ways: frozenset[int]) -> EventStreams:
    """Return the streams of one technique, searched once."""
    return EventStreams(scales, answers, ways)
