"""Two data sets, or two populations, that a private release cannot tell apart.

Le Cam's method.

Losses are under replace: the number of rows is public. Proofs: docs/theory/limits/lower_bounds.md.
"""

import math

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability, whole_number
from deniable.privacy import PrivacyLoss, Replace
from deniable.privacy.budget.filter import proved_for

MOST_UNITS = 10_000
"""Rows in which data sets differ, at most; more of them are taken for as different as can be."""

_ROW_COUNTS = 48  # numbers of rows that are looked at
ROUND_DOWN = 1 - 1e-9  # of every bound, whose floats are good to far more digits


def two_point_error(loss: PrivacyLoss, *, units: int) -> float:
    """Bound from below the error rate of every private test between two data sets.

    Args:
        loss: of the release that the test sees, proved under replace.
        units: rows in which the data sets differ.

    Guarantee: the greatest (1 - delta_k) / (1 + e^e) over the curve (e, delta_k) of groups of k rows, which is at least
        1 / (1 + e^(k epsilon)) for pure losses. An estimator whose target differs by t between the two is off by
        t / 2 or more with this probability on one of them.
    Source: Le Cam (1973); Acharya, Sun, Zhang (2021), arXiv:2004.07839.

    >>> from deniable.privacy import PureLoss
    >>> round(two_point_error(PureLoss("0.1"), units=10), 4)      # 1 / (1 + e) = 0.2689
    0.3033
    """
    return proved_for(Replace, loss).group(positive_integer("units", units)).tradeoff().minimax_error().lower


def mean_error(loss: PrivacyLoss, *, rows: int) -> float:
    """Bound from below the expected error of every private mean of numbers in [0, 1].

    Args:
        loss: of the release, proved under replace.
        rows: of the data set.

    Guarantee: k / (2 rows) (1 - TV_k) for the best k, where TV_k is the distance of releases when k rows differ; for
        pure losses about 0.37 / (rows epsilon), where Laplace noise has 1 / (rows epsilon).
    Source: Le Cam's method; Hardt, Talwar (2010), arXiv:0907.3754, for the rate.

    >>> from deniable.privacy import PureLoss
    >>> mean_error(PureLoss(1), rows=1000) * 1000 > 0.36
    True
    """
    count = size_of("rows", rows)
    proved = proved_for(Replace, loss)
    return max(k / (2 * count) * (1 - apart(proved, k)) for k in row_counts(count)) * ROUND_DOWN


def population_error(loss: PrivacyLoss, *, rows: int, distance: Real) -> float:
    """Bound from below the error rate of every private test between two populations.

    Args:
        loss: of the release that the test sees, proved under replace.
        rows: drawn independently from one of the populations.
        distance: of the populations in total variation, in (0, 1].

    Guarantee: (1 - E TV_K) / 2 with K binomial(rows, distance): samples can be drawn together so that only K rows
        differ. TV_k is at most k times the distance for one row, so privacy contracts the distance of samples to
        rows distance TV_1.
    Source: Acharya, Sun, Zhang (2021), arXiv:2004.07839, theorem 1.

    >>> from deniable.privacy import PureLoss
    >>> population_error(PureLoss("0.1"), rows=100, distance="0.05") > 0.35
    True
    """
    from scipy.stats import binom

    count = size_of("rows", rows)
    proved = proved_for(Replace, loss)
    share = float(positive_rational("distance", distance))
    if share > 1:
        raise InvalidParameterError(f"distance must be in (0, 1], got {distance}")
    ends = np.array([0, *row_counts(count)])
    below = np.diff(binom.cdf(ends, count, share), prepend=0.0)  # of (ends[i - 1], ends[i]]
    distances = np.array([0.0, *(apart(proved, int(k)) for k in ends[1:])])  # grows with k: the right end is safe
    return max(0.0, float(1 - below @ distances - (1 - below.sum()))) / 2 * ROUND_DOWN


def population_rows(loss: PrivacyLoss, *, distance: Real, failure: Real) -> int:
    """Bound from below how many rows a private test between populations needs.

    Args:
        loss: of the release that the test sees, proved under replace.
        distance: of the populations, in total variation.
        failure: the average error rate, in (0, 1/2).

    Guarantee: with fewer rows `population_error` is above `failure`.

    >>> from deniable.privacy import PureLoss
    >>> population_rows(PureLoss("0.1"), distance="0.01", failure="0.1") > 1500
    True
    """
    target = float(probability("failure", failure))
    if not 0 < target < 0.5:
        raise InvalidParameterError(f"failure must be in (0, 1/2), got {failure}")
    low, high = 0, 1
    while high < 2**50 and population_error(loss, rows=high, distance=distance) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if population_error(loss, rows=middle, distance=distance) > target else (low, middle)
    return high


def local_floor(people: int, *, epsilon: Real) -> float:
    """Bound from below the standard error of every locally private mean.

    Means are of numbers in [0, 1], made of independent epsilon-DP reports.

    Args:
        people: who send one report each.
        epsilon: of a report.

    Guarantee: Le Cam's bound for populations whose means differ by t: symmetrised divergences of n reports add up to at
        most n c t^2, with c = (e^epsilon - 1)^2 / e^epsilon up to epsilon = ln 2, then
        2 (e^epsilon - 1)^2 / (e^epsilon + 2). Sampling is included.
    Source: Duchi, Jordan, Wainwright (2013), arXiv:1302.3203, with min(4, e^(2 epsilon)) (e^epsilon - 1)^2 for c;
        this c is derived in docs/theory/limits/lower_bounds.md.

    >>> local_floor(10_000, epsilon=1) > 0.003
    True
    """
    count = size_of("people", people)
    budget = float(positive_rational("epsilon", epsilon))
    c = 4 * math.sinh(min(budget, 300) / 2) ** 2
    if budget > math.log(2):
        c = 2 * math.expm1(min(budget, 300)) ** 2 / (math.exp(min(budget, 300)) + 2)
    slope = math.sqrt(count * c) / 2  # the total variation of all reports is at most slope * t
    distance = 2 / max(2.0, 3 * slope)
    return distance / 2 * math.sqrt(1 - slope * distance) * ROUND_DOWN


def size_of(name: str, size: object) -> int:
    """Return a number of rows, columns or people, from 1 to 2^62."""
    return whole_number(name, size, lower=1, upper=2**62)


def apart(loss: PrivacyLoss, units: int) -> float:
    """Bound the total variation distance of releases when this many rows differ."""
    if units > MOST_UNITS:
        return 1.0
    return min(1.0, loss.group(units).delta(0).upper)


def row_counts(rows: int) -> list[int]:
    """Return some numbers of rows, up to all of them."""
    return sorted({min(rows, round(count)) for count in np.geomspace(1, rows, _ROW_COUNTS)})
