"""Planar Laplace noise on exact locations, rounded to a public grid.

Density proportional to exp(-|noise| / scale).

The direction is that of a uniform point (a, b) of the unit disc; s = a^2 + b^2 is uniform and independent of it, so the
radius, which is Gamma(2), is -ln s - ln u for one more uniform u. Three words give a draw, without a Lambert function.

Guarantee: each result is the rounding of (location + ideal noise) / step, so what is proved of the ideal sum holds for
it. Floats decide only where their error, below 2^-42 scale (1 + radius) + 2^-50 |location|, cannot matter: with s >
2^-20 and u > 2^-16 the words know s and u within 2^-49, relatively, and logarithms are within 2^-46. Balls decide the
rest.
Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi (2013), arXiv:1212.1984, for the law.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.noise import refine
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.certified import log
from deniable.numbers.rationals import strict_rational

_LOCATIONS_PER_BLOCK = 1 << 15  # worked on at a time, which bounds the memory of temporary arrays
_FAR = 2**62
MIN_SCALE, MAX_SCALE = Fraction(1, 2**20), Fraction(2**40)  # scales, in steps


def sample(
    *, locations: NDArray[np.float64], scale: Fraction, step: Fraction, bits: Bits = SECURE
) -> NDArray[np.int64]:
    """Draw the grid indices nearest to locations plus noise, shape (locations, 2).

    Locations are secret and finite; scale is in [2^-20, 2^40] steps.
    """
    ratio = strict_rational("scale / step", scale / step, lower=MIN_SCALE, upper=MAX_SCALE)
    nearest = np.empty(locations.shape, dtype=np.int64)
    for start in range(0, len(locations), _LOCATIONS_PER_BLOCK):
        part = locations[start : start + _LOCATIONS_PER_BLOCK]
        waiting = np.arange(len(part))
        while waiting.size:
            indices, counts = _some(part[waiting], ratio, step, bits)
            nearest[start + waiting[counts]] = indices[counts]
            waiting = waiting[~counts]
    return nearest


def _some(
    locations: NDArray[np.float64], scale: Fraction, step: Fraction, bits: Bits
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return one attempt a location, with a scale in steps.

    Indices, and which attempts fell into the disc.
    """
    words = bits.words(3 * len(locations)).reshape(3, -1)
    a, b = words[:2].view(np.int64) * 2.0**-63
    s = a * a + b * b
    u = (words[2] + 0.5) * 2.0**-64
    with np.errstate(all="ignore"):
        radius = -log(np.clip(s, 2.0**-20, 1.0)) - log(u)
        length = float(scale) * radius
        centre = locations / float(step)
        shifted = np.stack([a, b], axis=1) * (length / np.sqrt(s))[:, None] + centre + 0.5
        nearest = np.floor(shifted)
        margin = (float(scale) * 2.0**-42 * (1 + radius))[:, None] + 2.0**-50 * (1 + np.abs(centre))
    counts = s < 1
    open_ = ((shifted - nearest < margin) | (nearest + 1 - shifted < margin)).any(axis=1) & counts
    open_ |= (np.abs(s - 1) < 2.0**-48) | (s < 2.0**-20) | (u < 2.0**-16)
    indices = np.clip(np.nan_to_num(nearest), -_FAR, _FAR).astype(np.int64)
    for i in np.flatnonzero(open_):
        prefixes = [refine.Prefix(int(words[j, i]) ^ ((j < 2) << 63), 64) for j in range(3)]
        exact = [Fraction(float(coordinate)) / step for coordinate in locations[i]]
        decided = exactly(prefixes, exact, scale, bits)
        counts[i] = decided is not None
        indices[i] = decided or (0, 0)
    return indices, counts


def exactly(words: list[refine.Prefix], centre: list[Fraction], scale: Fraction, bits: Bits) -> tuple[int, int] | None:
    """Return the indices for uniform numbers that begin like this.

    None if they are not a point of the disc.
    """
    from flint import arb, ctx, fmpz

    while True:
        with ctx.workprec(words[0].length + 2 * refine.GUARD_BITS):
            balls = [arb(fmpz(2 * prefix.value + 1), 1) / arb(2) ** (prefix.length + 1) for prefix in words]
            a, b = 2 * balls[0] - 1, 2 * balls[1] - 1
            s = a * a + b * b
            if s > 1:
                return None
            if s < 1 and s > 0 and balls[2] > 0:
                factor = -(s.log() + balls[2].log()) / s.sqrt() * ball(scale)
                x = (factor * a + ball(centre[0] + Fraction(1, 2))).floor().unique_fmpz()
                y = (factor * b + ball(centre[1] + Fraction(1, 2))).floor().unique_fmpz()
                if x is not None and y is not None:
                    return min(max(int(x), -_FAR), _FAR), min(max(int(y), -_FAR), _FAR)
        words = [prefix.extended(bits) for prefix in words]
