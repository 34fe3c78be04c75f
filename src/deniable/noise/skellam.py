"""Skellam law: the difference of two independent Poisson numbers.

Each has half the variance as its mean.

P(k) = exp(-variance) I_|k|(variance), I the modified Bessel function. Sums of independent draws follow the same law,
with the sum of their variances. A word is the beginning of a uniform real number U, and the size of the draw is the
least k with U < P(|X| <= k), by a table of thresholds; where 64 bits do not say which, further words are appended to U.

Guarantee: draws have exactly this law, tails included; each is an independent function of fresh bits.
Source: Skellam (1946); Abramowitz and Stegun (1964), 9.6.26, for I_(k-1) - I_(k+1) = (2k/variance) I_k.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.noise import refine
from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.numbers.balls import ball
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    from flint import arb

LARGEST_VARIANCE = Fraction(2**26)
SMALLEST_VARIANCE = Fraction(1, 2**20)


def sample(*, variance: Fraction | int, size: Size = None, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Draw independently from the Skellam distribution.

    Args:
        variance: in the squared unit of the draws, exact, in [2^-20, 2^26].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if the variance is a float or outside its range.
    """
    shape = shape_of(size)
    variance = strict_rational("variance", variance, lower=SMALLEST_VARIANCE, upper=LARGEST_VARIANCE)
    count = math.prod(shape)
    below, above = _table(variance)
    words = bits.words(count)
    signs = bits.words(-(-count // 64)).view(np.uint8)
    sizes = np.searchsorted(below, words, side="right")
    doubtful = (sizes == below.size) | ((sizes > 0) & (words < above[sizes - 1]))
    for index in np.flatnonzero(doubtful):
        sizes[index] = _exactly(refine.Prefix(int(words[index]), 64), variance, bits)
    return np.where(np.unpackbits(signs, count=count), -sizes, sizes).reshape(shape)


@lru_cache(maxsize=4)
def _table(variance: Fraction) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return, for every size, the words surely below its probability, or not.

    Words below the first number are surely below P(|X| <= size), from the second on surely not.
    """
    from flint import arb, ctx

    with ctx.workprec(160):
        scaled = [chance * arb(2) ** 64 for chance in _cumulated(variance, 64)]
        below = [int(each.lower().floor().fmpz()) for each in scaled]
        above = [min(int(each.upper().ceil().fmpz()), 2**64 - 1) for each in scaled]
    return np.array(below, dtype=np.uint64), np.array(above, dtype=np.uint64)


def _cumulated(variance: Fraction, length: int) -> "list[arb]":
    """Return P(|X| <= k) for k = 0, 1, ..., at the working precision.

    Until about 2^-length is left.

    Ratios r_k = I_k / I_(k-1), in (0, 1), come from r_k = 1/(2k/variance + r_(k+1)), which forgets where it began.
    """
    from flint import arb

    nats = 0.7 * length + 1
    half = ball(variance) / 2
    terms = math.ceil(nats / 3 + math.sqrt(nats**2 / 9 + 2 * nats * float(variance))) + 1  # Bernstein's inequality
    ratio = arb(0.5, 0.5)
    ratios = []
    for k in range(2 * terms + 64, 0, -1):
        ratio = 1 / (k / half + ratio)
        ratios.append(ratio)
    mass = ball(variance).bessel_i(0, scaled=True)
    cumulated = [mass]
    for ratio in reversed(ratios[-terms:]):
        mass *= ratio
        cumulated.append(cumulated[-1] + 2 * mass)
    return cumulated


def _exactly(uniform: refine.Prefix, variance: Fraction, bits: Bits) -> int:
    """Return the least size k with U < P(|X| <= k).

    With as many more bits of U as that takes.
    """
    from flint import arb, ctx, fmpz

    while True:
        with ctx.workprec(uniform.length + 96):
            before, low, high = arb(0), arb(fmpz(uniform.value)), arb(fmpz(uniform.value + 1))
            for size, chance in enumerate(_cumulated(variance, uniform.length)):
                until = chance * arb(2) ** uniform.length
                if high <= until:
                    if low >= before:
                        return size
                    break
                before = until
        uniform = uniform.extended(bits)
