"""Probabilities of the gallery's mechanisms: cells of noise, events, thresholds."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from deniable.numbers.balls import Arb, ball

Chance: TypeAlias = Any
"""A probability: a Fraction, or a ball at the working precision."""

Chances: TypeAlias = dict[Any, Chance]
"""Output -> its probability."""

Below: TypeAlias = Callable[[Fraction], Chance]
"""Probability that some noise is below a number."""

_TAIL_SCALES = 250  # scales of the threshold's noise; what lies beyond has probability below e^-250


def laplace(scale: Fraction | int) -> Below:
    """Return the distribution function of Laplace noise."""

    def below(x: Fraction) -> Chance:
        tail = ball(-abs(Fraction(x)) / scale).exp() / 2
        return tail if x < 0 else 1 - tail

    return below


def exponential(scale: Fraction | int) -> Below:
    """Return the distribution function of exponential noise, which is never below 0."""
    return lambda x: Fraction(0) if x <= 0 else 1 - ball(-Fraction(x) / scale).exp()


def normal(sigma: Fraction | int) -> Below:
    """Return the distribution function of Gaussian noise."""
    return lambda x: (-ball(Fraction(x) / sigma) / ball(Fraction(2)).sqrt()).erfc() / 2


def event(chance: Chance) -> Chances:
    """Return the distribution of an indicator."""
    return {True: chance, False: 1 - chance}


def above(noise: Below, value: Fraction | int, threshold: Fraction | int) -> Chances:
    """Return the distribution of whether value + noise exceeds a threshold."""
    return event(1 - noise(Fraction(threshold) - Fraction(value)))


def geometric(value: int, lower: int, upper: int, ratio: Fraction = Fraction(1, 2)) -> Chances:
    """Return the distribution of an integer plus clamped discrete Laplace noise.

    P(k) = (1 - r)/(1 + r) r^abs(k), clamped to public bounds.
    """
    tail = 1 / (1 + ratio)  # times ratio^distance: the probability of all at that distance or beyond, on one side

    def beyond(distance: int) -> Fraction:
        return tail * ratio**distance if distance > 0 else 1 - tail * ratio ** (1 - distance)

    inside = {k: (1 - ratio) * tail * ratio ** abs(k - value) for k in range(lower + 1, upper)}
    return {lower: beyond(value - lower), **inside, upper: beyond(upper - value)}


def threshold_answers(
    answers: Sequence[int],
    pattern: Sequence[bool],
    *,
    threshold_scale: Fraction | int,
    query_scale: Fraction | int,
    value: tuple[int, int] | None = None,
) -> Arb:
    """Return the probability of a pattern of noisy answers around a noisy threshold.

    All noise is Laplace, and the threshold is around 0.

    Given the threshold's noise z the answers are independent: the integral of the density of z times their chances,
    certified piece by piece between the points where a formula changes.

    Args:
        answers: exact answers to the questions, in order.
        pattern: whether each noisy answer is above the threshold.
        threshold_scale, query_scale: of the noise.
        value: bounds of the noisy last answer, which is printed when it is above.
    """
    from flint import acb, arb

    outer, inner = Fraction(threshold_scale), Fraction(query_scale)
    kinks = {Fraction(0), *map(Fraction, answers), *map(Fraction, value or ())}
    far = max(map(abs, kinks)) + _TAIL_SCALES * outer

    def below(x: Any, side: Fraction) -> Any:
        """Return the probability that a question's noise is below x, by its side."""
        return (x / ball(inner)).exp() / 2 if side < 0 else 1 - (-x / ball(inner)).exp() / 2

    def chance(z: Any, middle: Fraction, answer: int, up: bool, printed: bool) -> Any:
        if not printed or value is None:
            under = below(z - answer, middle - answer)
            return 1 - under if up else under
        low, high = value
        if middle >= high:
            return acb(0)
        top = below(acb(high - answer), Fraction(high - answer))
        start = below(z - answer, middle - answer) if middle > low else below(acb(low - answer), Fraction(low - answer))
        return top - start

    total = arb(0, 1) * ball(Fraction(-_TAIL_SCALES)).exp()
    for left, right in pairwise([-far, *sorted(kinks), far]):
        middle = (left + right) / 2

        def density(z: Any, _: bool, middle: Fraction = middle) -> Any:
            product = (z / ball(outer) * (-1 if middle > 0 else 1)).exp() / (2 * ball(outer))
            for index, (answer, up) in enumerate(zip(answers, pattern, strict=True)):
                product *= chance(z, middle, answer, up, index == len(answers) - 1)
            return product

        total += acb.integral(density, ball(left), ball(right)).real
    return total


def binomial(count: int, chance: Fraction) -> Chances:
    """Return the distribution of a number of successes."""
    good = chance.numerator
    bad = chance.denominator - chance.numerator
    bottom = chance.denominator**count
    return {k: Fraction(math.comb(count, k) * good**k * bad ** (count - k), bottom) for k in range(count + 1)}
