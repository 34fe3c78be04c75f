"""Arithmetic that differs from the proof: floats, generators, 32-bit integers."""

import math
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from deniable.audit.gallery.chances import Chances, above, event, geometric, laplace
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import hang


def _evenly(outputs: list[float]) -> Chances:
    law: dict[float, Fraction] = {}
    for output in outputs:
        law[output] = law.get(output, Fraction(0)) + Fraction(1, len(outputs))
    return law


# fmt: off

def float_laplace(count: Any) -> Chances:
    uniforms = (np.arange(1024) + 0.5) / 1024 - 0.5  # of 10 bits, where the program has 53
    noise = -2 * np.sign(uniforms) * np.log1p(-2 * np.abs(uniforms))
    return _evenly((count + noise).tolist())

hang("Laplace noise in floats",
     "Noise by the inverse distribution function of a uniform float: one count reaches sums that another cannot.",
     "Mironov (2012); errata E55", float_laplace, 0.0, 1.0, epsilon="0.5", truth=inf)
hang("Mersenne Twister with a short seed",
     "A seed of 8 bits, where the programs have 32: as many noises as seeds, and no other.",
     "a tutorial's programs; errata E56",
     lambda count: _evenly([count + np.random.RandomState(seed).laplace(scale=2.0) for seed in range(256)]), 0.0, 1.0,
     epsilon="0.5", truth=inf)

def truncated(count: Any) -> Chances:
    lower = Fraction(count - 1)  # the event: below 0
    inside = (laplace(1)(-Fraction(count)) - laplace(1)(Fraction(-1))) if lower < 0 else Fraction(0)
    return event(inside / (1 - 2 * laplace(1)(Fraction(-1))) if inside else Fraction(0))

hang("truncated Laplace noise as printed",
     "The density ends at its own scale tau, for which nothing is said: half of it lies where the neighbour's is 0.",
     "errata E19", truncated, 0, 1, delta="1e-6", truth=inf)
hang("sum of 32 bits", "A sum one above the largest integer is the smallest one.",
     "errata E55; Casacuberta et al. (2022), arXiv:2207.10635",
     lambda total: above(laplace(1), int(np.uint32(total).astype(np.int32)), 0), 2**31 - 1, 2**31, truth=2.0**32 - 1)
hang("sum of floats", "A row of at most 3 moves the sum by 4: it is rounded to an even float.",
     "Casacuberta et al. (2022), arXiv:2207.10635; errata E93",
     lambda rows: above(laplace(3), int(sum(rows)) - 2**53, 4), (2.0**53,), (2.0**53, 3.0), truth=4 / 3)
hang("integer noise on an integer", "Nothing: discrete Laplace noise, clamped to public bounds.",
     "Ghosh, Roughgarden, Sundararajan (2009)", lambda count: geometric(count, -20, 20), 0, 1, epsilon=TWOFOLD,
     truth=math.log(2))
