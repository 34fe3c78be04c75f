"""Arithmetic that is not what the proof says: floats, generators, integers of 32 bits."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.audit.gallery.chances import Chances, above, event, geometric, laplace
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import specimen


def _evenly(outputs: list[float]) -> Chances:
    law: dict[float, Fraction] = {}
    for output in outputs:
        law[output] = law.get(output, Fraction(0)) + Fraction(1, len(outputs))
    return law


@specimen("Laplace noise in floats", epsilon="0.5", data=0.0, neighbour=1.0, truth=math.inf,
          source="Mironov (2012); errata E55")  # fmt: skip
def float_laplace(count: Any) -> Chances:
    """Noise by the inverse distribution function of a uniform float: one count reaches sums that another cannot."""
    uniforms = (np.arange(1024) + 0.5) / 1024 - 0.5  # of 10 bits, where the program has 53
    noise = -2 * np.sign(uniforms) * np.log1p(-2 * np.abs(uniforms))
    return _evenly((count + noise).tolist())


@specimen("Mersenne Twister with a short seed", epsilon="0.5", data=0.0, neighbour=1.0, truth=math.inf,
          source="a tutorial's programs; errata E56")  # fmt: skip
def short_seed(count: Any) -> Chances:
    """A seed of 8 bits, where the programs have 32: as many noises as seeds, and no other."""
    return _evenly([count + np.random.RandomState(seed).laplace(scale=2.0) for seed in range(256)])


@specimen("truncated Laplace noise as printed", epsilon=1, delta="1e-6", data=0, neighbour=1, truth=math.inf,
          source="errata E19")  # fmt: skip
def truncated(count: Any) -> Chances:
    """The density ends at its own scale tau, for which nothing is said: half of it lies where the neighbour's is 0."""
    lower = Fraction(count - 1)  # the event: below 0
    inside = (laplace(1)(-Fraction(count)) - laplace(1)(Fraction(-1))) if lower < 0 else Fraction(0)
    return event(inside / (1 - 2 * laplace(1)(Fraction(-1))) if inside else Fraction(0))


@specimen("sum of 32 bits", epsilon=1, data=2**31 - 1, neighbour=2**31, truth=2.0**32 - 1,
          source="errata E55; Casacuberta et al. (2022), arXiv:2207.10635")  # fmt: skip
def wrapped(total: Any) -> Chances:
    """A sum one above the largest integer is the smallest one."""
    return above(laplace(1), int(np.uint32(total).astype(np.int32)), 0)


@specimen("sum of floats", epsilon=1, data=(2.0**53,), neighbour=(2.0**53, 3.0), truth=4 / 3,
          source="Casacuberta et al. (2022), arXiv:2207.10635; errata E93")  # fmt: skip
def rounded_sum(rows: Any) -> Chances:
    """A row of at most 3 moves the sum by 4: it is rounded to an even float."""
    return above(laplace(3), int(sum(rows)) - 2**53, 4)


@specimen("integer noise on an integer", epsilon=TWOFOLD, data=0, neighbour=1, truth=math.log(2), sound=True,
          source="Ghosh, Roughgarden, Sundararajan (2009)")  # fmt: skip
def sound(count: Any) -> Chances:
    """Nothing: discrete Laplace noise, clamped to public bounds."""
    return geometric(count, -20, 20)
