"""Sensitivities that are too small, and facts about the table that nobody meant to release."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, geometric, laplace
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import specimen

_RECORDED = "Re:cord-play (2026), arXiv:2602.17454"


@specimen("count clamped to the number of rows", epsilon=TWOFOLD, data=13, neighbour=14, truth=math.inf,
          source="a tutorial's count program; errata E53")  # fmt: skip
def clamped_to_size(rows: Any) -> Chances:
    """The upper bound of the answer is a private number."""
    return geometric(rows, 0, rows)


@specimen("number of rows", epsilon=1, data=(0, 0), neighbour=(0, 0, 0), truth=math.inf, source="errata E05")
def number_of_rows(rows: Any) -> Chances:
    """It costs nothing under replace, and is claimed under add/remove."""
    return {len(rows): Fraction(1)}


@specimen("mean with noise for the drawn size", epsilon=1, data=1, neighbour=2, truth=math.inf,
          source="diffprivlib, sensitivity / array.size")  # fmt: skip
def mean_of_private_size(rows: Any) -> Chances:
    """The scale of the noise is (upper - lower)/rows, and the number of rows is private; all values are 0."""
    return above(laplace(Fraction(1, rows)), 0, 5)


@specimen("sum without clipping", epsilon=1, data=0, neighbour=1000, truth=math.inf, source=_RECORDED)
def without_clipping(value: Any) -> Chances:
    """Bounds are declared and not enforced."""
    return above(laplace(1), value, 500)


@specimen("clamp before the expression", epsilon=TWOFOLD, data=1, neighbour=0, truth=10 * math.log(2),
          source="SmartNoise SDK, issue 201")  # fmt: skip
def clamped_too_early(value: Any) -> Chances:
    """x is clamped to [0, 1], and the sum is of 10 x."""
    return geometric(10 * value, -8, 18)


@specimen("no bounds, no noise", epsilon=1, data=3, neighbour=4, truth=math.inf, source="SmartNoise SDK, issue 317")
def without_noise(total: Any) -> Chances:
    """A sum without bounds has sensitivity None, which is read as 0."""
    return {total: Fraction(1)}


@specimen("bound used twice", epsilon=1, data=3, neighbour=4, truth=math.inf, source="diffprivlib, issue 104")
def lower_bound_twice(total: Any) -> Chances:
    """Sensitivity lower - lower is 0: a coefficient of a regression is released as it is."""
    lower, scale = 1, 1
    return {total: Fraction(1)} if not lower - scale else above(laplace(1), total, 0)


@specimen("not a number through a clip", epsilon=TWOFOLD, data=math.nan, neighbour=1.0, truth=math.inf,
          source="PipelineDP, combiners; " + _RECORDED)  # fmt: skip
def not_a_number(value: Any) -> Chances:
    """min(max(x, lower), upper) lets NaN pass, and a sum with it is NaN whatever the noise."""
    clipped = value if math.isnan(value) else min(max(value, 0.0), 1.0)
    return {"NaN": Fraction(1)} if math.isnan(clipped) else geometric(int(clipped), -8, 9)


@specimen("columns that occur", epsilon=TWOFOLD, data=("a", "b"), neighbour=("a", "a"), truth=math.inf,
          source=_RECORDED)  # fmt: skip
def columns_that_occur(rows: Any) -> Chances:
    """One column for each category in the data: the shape of the output is exact."""
    return {("columns", len(set(rows))): Fraction(1)}


@specimen("error on division by zero", epsilon=TWOFOLD, data=(1, 0), neighbour=(1, 1), truth=math.inf,
          source="BigQuery, which refunds what fails")  # fmt: skip
def error(rows: Any) -> Chances:
    """An expression fails on one row, and the failure is shown."""
    return {"error": Fraction(1)} if 0 in rows else geometric(len(rows), -8, 9)


@specimen("epsilon that is at least 1e-12", epsilon=0, data=0, neighbour=1, truth=1e-12,
          source="a tutorial's count program; errata E54")  # fmt: skip
def invalid_epsilon(count: Any) -> Chances:
    """epsilon = 0 is accepted, and replaced by 1e-12."""
    return above(laplace(10**12), count, 1)


@specimen("histogram with scale epsilon", epsilon="0.1", data=0, neighbour=1, truth=10.0,
          source="NoisyHist2: Ding et al. (2018); Bichsel et al. (2021)")  # fmt: skip
def inverted_scale(count: Any) -> Chances:
    """Noise of scale epsilon and not 1/epsilon."""
    return above(laplace(Fraction(1, 10)), count, 1)


@specimen("change of a group under replace", epsilon=TWOFOLD, data=-1, neighbour=1, truth=2 * math.log(2),
          source="OpenDP, issue 2945")  # fmt: skip
def change_of_a_group(value: Any) -> Chances:
    """The largest group is taken for the largest change; a row of -1 may become 1."""
    return geometric(value, -8, 9)


@specimen("k-means with ties", epsilon=1, data=6, neighbour=1, truth=2.5, source="errata E12")
def ties(clusters: Any) -> Chances:
    """A point at equal distance from six centres counts in all six, and noise fits two."""
    chance: Any = 1
    for cluster in range(1, 6):  # the first counts it in both worlds
        chance *= above(laplace(2), int(cluster < clusters), 1)[True]
    return event(chance)


@specimen("k-means on a box", epsilon=1, data=(1, 1, 1, 0, 0, 0), neighbour=(0, 0, 0, 1, 1, "0.85"), truth=2.925,
          source="errata E13")  # fmt: skip
def box(sums: Any) -> Chances:
    """Points of [0, 1]^3 move two sums by 5.85 in the l1 norm, and noise fits 2."""
    chance: Any = 1
    for value, up in zip(sums, (1, 1, 1, -1, -1, -1), strict=True):
        chance *= above(laplace(2), up * Fraction(value), 1 if up > 0 else 0)[True]
    return event(chance)


@specimen("twenty counts", epsilon="0.1", data=0, neighbour=1, truth=0.1, sound=True,
          source="LaplaceParallel: Bichsel et al. (2021)")  # fmt: skip
def sound(count: Any) -> Chances:
    """Nothing: twenty counts with epsilon 0.005 each."""
    return event(above(laplace(200), count, 1)[True] ** 20)
