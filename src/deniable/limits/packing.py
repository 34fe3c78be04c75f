"""Many data sets, close to each other, that demand different answers: packing."""

import math
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.limits.two_points import MOST_UNITS
from deniable.numbers.rationals import Real, positive_integer, probability, whole_number
from deniable.privacy import PrivacyLoss, Replace
from deniable.privacy.budget.filter import proved_for

_MAX_SETS = 2**1000
_LARGEST_EPSILON = 1e6
_SMALL_GROUP = 200
_SHARES = (0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9, 1)  # of the whole epsilon, that are tried


def packed_success(loss: PrivacyLoss, *, sets: int, units: int) -> float:
    """Bound from above how often any mechanism is right on all of many data sets.

    No mechanism gives a good answer with a larger probability on each of them.

    Args:
        loss: proved under replace.
        sets: data sets, of which no two have a good answer in common.
        units: rows in which one of them differs from each other one, at most.

    Guarantee: the least (1 + (sets - 1) e^-e delta_k) / (1 + (sets - 1) e^-e) over some pairs (e, delta_k) that groups
        of k rows keep. So epsilon k >= ln((sets - 1) s / (1 - s)) for a success of s under pure privacy.
    Source: Hardt, Talwar (2010), arXiv:0907.3754; proof in docs/theory/limits/lower_bounds.md.

    >>> from deniable.privacy import PureLoss
    >>> round(packed_success(PureLoss(1), sets=1000, units=3), 4)
    0.0197
    """
    others = whole_number("sets", sets, lower=2, upper=_MAX_SETS) - 1
    together = proved_for(Replace, loss).group(positive_integer("units", units))
    best = 1.0
    rare = 0 if loss.pure_epsilon is not None else max(loss.infinite_mass, Fraction(1, 10**9))
    whole = units * loss.epsilon(rare).upper
    for end in (whole * share for share in (_SHARES if units <= _SMALL_GROUP else (1,)) if whole < _LARGEST_EPSILON):
        weight = math.exp(min(math.log(others) - end, 700.0))
        best = min(best, (1 + weight * together.delta(end).upper) / (1 + weight))
    return best


def packed_error(loss: PrivacyLoss, *, sets: int, rows: int, failure: Real) -> float:
    """Bound from below the error of any mechanism on the worst of many data sets.

    Args:
        loss: proved under replace.
        rows: of each data set; the error is a share of them.
        sets: that differ in k rows each, for whichever k, and whose answers then differ by k / rows.
        failure: probability with which the error may be larger, in (0, 1/2].

    Guarantee: k / (2 rows) for the largest k whose `packed_success` is below 1 - failure.

    >>> from deniable.privacy import PureLoss
    >>> packed_error(PureLoss(1), sets=2**10, rows=1000, failure="0.05")      # k = 11; ln(1023 * 19) = 9.9
    0.0055
    """
    count, share = positive_integer("rows", rows), probability("failure", failure)
    if not 0 < share <= 0.5:
        raise InvalidParameterError(f"failure must be in (0, 1/2], got {failure}")

    def ruled_out(units: int) -> bool:
        return packed_success(loss, sets=sets, units=units) < 1 - share

    low = 0
    high = 1
    max_units = min(count, MOST_UNITS)
    while high <= max_units and ruled_out(high):
        low, high = high, 2 * high
    high = min(high, max_units + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ruled_out(middle) else (low, middle)
    return low / (2 * count)


def histogram_error(loss: PrivacyLoss, *, rows: int, cells: int, failure: Real = "0.05") -> float:
    """Bound from below the largest error of a cell of any private histogram.

    The error is a share of the rows; no mechanism stays below it on every table.

    Args:
        loss: proved under replace.
        rows: of the table.
        cells: of the histogram.
        failure: probability with which the error may be larger, in (0, 1/2].

    Guarantee: `packed_error`: k copies of one cell among copies of another are `cells` data sets. About
        ln(cells / failure) / (2 rows epsilon), where delta is small enough for that.
    Source: Hardt, Talwar (2010), arXiv:0907.3754; Bun, Nissim, Stemmer (2016), arXiv:1511.08552.

    >>> from deniable.privacy import PureLoss
    >>> histogram_error(PureLoss(1), rows=10_000, cells=1000)
    0.00055
    """
    return packed_error(loss, sets=cells, rows=rows, failure=failure)


def threshold_error(loss: PrivacyLoss, *, rows: int, domain: int, failure: Real = "0.05") -> float:
    """Bound from below the error of any private learner of thresholds.

    A learner names a t for "value >= t"; values are 0..domain - 1, and half of k rows stand on each side of a secret t.
    The error is the share of rows on the wrong side, on samples that some t separates.

    Args:
        loss: proved under replace.
        rows: of the sample.
        domain: number of values.
        failure: probability with which the error may be larger, in (0, 1/2].

    Guarantee: `packed_error` of domain - 1 samples: about ln(domain / failure) / (2 rows epsilon) for pure privacy. For
        approximate privacy the truth is about log*(domain), see `iterated_logarithm`.
    Source: Beimel, Kasiviswanathan, Nissim (2010); Bun, Nissim, Stemmer, Vadhan (2015), arXiv:1504.07553.

    >>> from deniable.privacy import PureLoss
    >>> threshold_error(PureLoss(1), rows=1000, domain=10**6) * 1000
    9.0
    """
    size = whole_number("domain", domain, lower=3, upper=_MAX_SETS)
    error = packed_error(loss, sets=size - 1, rows=rows, failure=failure)
    return round(2 * rows * error) // 2 / rows  # an even number of rows, half of it on each side
