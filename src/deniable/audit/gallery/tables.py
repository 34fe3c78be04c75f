"""Sensitivities that are too small, and facts that are released by accident."""

import math
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, above, event, geometric, laplace
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import hang

_RECORDED = "Re:cord-play (2026), arXiv:2602.17454"

# fmt: off
hang("count clamped to the number of rows", "The upper bound of the answer is a private number.",
     "a tutorial's count program; errata E53", lambda rows: geometric(rows, 0, rows), 13, 14, epsilon=TWOFOLD,
     truth=inf)
hang("number of rows", "It costs nothing under replace, and is claimed under add/remove.", "errata E05",
     lambda rows: {len(rows): Fraction(1)}, (0, 0), (0, 0, 0), truth=inf)
hang("mean with noise for the drawn size",
     "The scale of the noise is (upper - lower)/rows, and the number of rows is private; all values are 0.",
     "diffprivlib, sensitivity / array.size", lambda rows: above(laplace(Fraction(1, rows)), 0, 5), 1, 2, truth=inf)
hang("sum without clipping", "Bounds are declared and not enforced.", _RECORDED,
     lambda value: above(laplace(1), value, 500), 0, 1000, truth=inf)
hang("clamp before the expression", "x is clamped to [0, 1], and the sum is of 10 x.", "SmartNoise SDK, issue 201",
     lambda value: geometric(10 * value, -8, 18), 1, 0, epsilon=TWOFOLD, truth=10 * math.log(2))
hang("no bounds, no noise", "A sum without bounds has sensitivity None, which is read as 0.",
     "SmartNoise SDK, issue 317", lambda total: {total: Fraction(1)}, 3, 4, truth=inf)
hang("bound used twice", "Sensitivity lower - lower is 0: a coefficient of a regression is released as it is.",
     "diffprivlib, issue 104", lambda total: {total: Fraction(1)}, 3, 4, truth=inf)
hang("not a number through a clip",
     "min(max(x, lower), upper) lets NaN pass, and a sum with it is NaN whatever the noise.",
     "PipelineDP, combiners; " + _RECORDED,
     lambda value: {"NaN": Fraction(1)} if math.isnan(value) else geometric(int(min(max(value, 0.0), 1.0)), -8, 9),
     math.nan, 1.0, epsilon=TWOFOLD, truth=inf)
hang("columns that occur", "One column for each category in the data: the shape of the output is exact.", _RECORDED,
     lambda rows: {("columns", len(set(rows))): Fraction(1)}, ("a", "b"), ("a", "a"), epsilon=TWOFOLD, truth=inf)
hang("error on division by zero", "An expression fails on one row, and the failure is shown.",
     "BigQuery, which refunds what fails",
     lambda rows: {"error": Fraction(1)} if 0 in rows else geometric(len(rows), -8, 9), (1, 0), (1, 1), epsilon=TWOFOLD,
     truth=inf)
hang("epsilon that is at least 1e-12", "epsilon = 0 is accepted, and replaced by 1e-12.",
     "a tutorial's count program; errata E54", lambda count: above(laplace(10**12), count, 1), 0, 1, epsilon=0,
     truth=1e-12)
hang("histogram with scale epsilon", "Noise of scale epsilon and not 1/epsilon.",
     "NoisyHist2: Ding et al. (2018); Bichsel et al. (2021)", lambda count: above(laplace(Fraction(1, 10)), count, 1),
     0, 1, epsilon="0.1", truth=10.0)
hang("change of a group under replace", "The largest group is taken for the largest change; a row of -1 may become 1.",
     "OpenDP, issue 2945", lambda value: geometric(value, -8, 9), -1, 1, epsilon=TWOFOLD, truth=2 * math.log(2))
hang("k-means with ties", "A point at equal distance from six centres counts in all six, and noise fits two.",
     "errata E12",
     lambda clusters: event(math.prod(above(laplace(2), int(cluster < clusters), 1)[True] for cluster in range(1, 6))),
     6, 1, truth=2.5)

def box(sums: Any) -> Chances:
    moves = zip(sums, (1, 1, 1, -1, -1, -1), strict=True)
    return event(math.prod(above(laplace(2), up * Fraction(value), max(up, 0))[True] for value, up in moves))

hang("k-means on a box", "Points of [0, 1]^3 move two sums by 5.85 in the l1 norm, and noise fits 2.", "errata E13",
     box, (1, 1, 1, 0, 0, 0), (0, 0, 0, 1, 1, "0.85"), truth=2.925)
hang("twenty counts", "Nothing: twenty counts with epsilon 0.005 each.", "LaplaceParallel: Bichsel et al. (2021)",
     lambda count: event(above(laplace(200), count, 1)[True] ** 20), 0, 1, epsilon="0.1", truth=0.1)
