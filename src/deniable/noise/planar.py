"""Planar Laplace noise on exact places, rounded to a public grid: density proportional to exp(-|noise| / scale).

The direction is that of a uniform point (a, b) of the unit disc; s = a^2 + b^2 is uniform and independent of it, so the
radius, which is Gamma(2), is -ln s - ln u for one more uniform u. Three words give a draw, without a Lambert function.

Guarantee: each result is the rounding of (place + ideal noise) / step, so what is proved of the ideal sum holds for it.
Floats decide only where their error, below 2^-42 scale (1 + radius) + 2^-50 |place|, cannot matter: with s > 2^-20 and
u > 2^-16 the words know s and u within 2^-49, relatively, and logarithms are within 2^-46. Balls decide the rest.
Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi (2013), arXiv:1212.1984, for the law.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import refine
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.certified import log
from deniable.numbers.rationals import strict_rational

_BLOCK = 1 << 15
_LARGEST = 2**62


def sample(*, places: NDArray[np.float64], scale: Fraction, step: Fraction, bits: Bits = SECURE) -> NDArray[np.int64]:
    """The grid indices nearest to the places plus planar Laplace noise; shape (places, 2).

    Args:
        places: secret and finite, of shape (places, 2); scale and step have their unit.
        scale: the mean distance is twice this; in [2^-20, 2^40] steps.
        step: of the grid.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if scale or step is a float or out of range.
    """
    step = strict_rational("step", step, lower=Fraction(1, 2**200), upper=Fraction(2**200))
    if (
        not Fraction(1, 2**20)
        <= strict_rational("scale", scale, lower=Fraction(0), upper=2**240 * step) / step
        <= 2**40
    ):
        raise InvalidParameterError("scale must be in [2^-20, 2^40] steps of the grid. Choose another step.")
    found = np.empty(places.shape, dtype=np.int64)
    for start in range(0, len(places), _BLOCK):
        part = places[start : start + _BLOCK]
        waiting = np.arange(len(part))
        while waiting.size:
            indices, counts = _some(part[waiting], scale, step, bits)
            found[start + waiting[counts]] = indices[counts]
            waiting = waiting[~counts]
    return found


def _some(
    places: NDArray[np.float64], scale: Fraction, step: Fraction, bits: Bits
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """One attempt a place: indices, and which attempts fell into the disc."""
    words = bits.words(3 * len(places)).reshape(3, -1)
    a, b = words[:2].view(np.int64) * 2.0**-63
    s, u = a * a + b * b, (words[2] + 0.5) * 2.0**-64
    with np.errstate(all="ignore"):
        radius = -log(np.clip(s, 2.0**-20, 1.0)) - log(u)
        length = float(scale / step) * radius
        centre = places / float(step)
        shifted = np.stack([a, b], axis=1) * (length / np.sqrt(s))[:, None] + centre + 0.5
        nearest = np.floor(shifted)
        margin = (float(scale / step) * 2.0**-42 * (1 + radius))[:, None] + 2.0**-50 * (1 + np.abs(centre))
    counts = s < 1
    open_ = ((shifted - nearest < margin) | (nearest + 1 - shifted < margin)).any(axis=1) & counts
    open_ |= (np.abs(s - 1) < 2.0**-48) | (s < 2.0**-20) | (u < 2.0**-16)
    indices = np.clip(np.nan_to_num(nearest), -_LARGEST, _LARGEST).astype(np.int64)
    for i in np.flatnonzero(open_):
        prefixes = [refine.Prefix(int(words[j, i]) ^ ((j < 2) << 63), 64) for j in range(3)]
        exact = [Fraction(float(place)) / step for place in places[i]]
        decided = exactly(prefixes, exact, scale / step, bits)
        counts[i] = decided is not None
        indices[i] = decided or (0, 0)
    return indices, counts


def exactly(
    prefixes: list[refine.Prefix], centre: list[Fraction], scale: Fraction, bits: Bits
) -> tuple[int, int] | None:
    """The indices for uniform numbers that begin like this, or None if they are no point of the disc."""
    from flint import arb, ctx, fmpz

    while True:
        with ctx.workprec(prefixes[0].length + 2 * refine.GUARD_BITS):
            balls = [arb(fmpz(2 * prefix.value + 1), 1) / arb(2) ** (prefix.length + 1) for prefix in prefixes]
            a, b = 2 * balls[0] - 1, 2 * balls[1] - 1
            s = a * a + b * b
            if s > 1:
                return None
            if s < 1 and s > 0 and balls[2] > 0:
                factor = -(s.log() + balls[2].log()) / s.sqrt() * ball(scale)
                ends = [
                    (factor * side + ball(middle + Fraction(1, 2))).floor().unique_fmpz()
                    for side, middle in ((a, centre[0]), (b, centre[1]))
                ]
                found = [min(max(int(end), -_LARGEST), _LARGEST) for end in ends if end is not None]
                if len(found) == 2:
                    return found[0], found[1]
        prefixes = [prefix.extended(bits) for prefix in prefixes]
