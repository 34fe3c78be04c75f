"""Number of rows that private learners need."""

import math

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_rational, probability, whole_number


def learner_rows(
    hypotheses: int, *, error: Real, epsilon: Real, failure: Real = "0.05", realizable: bool = False
) -> int:
    """Bound how many rows suffice to learn from a finite class, epsilon-DP.

    The exponential mechanism then chooses a hypothesis at most `error` worse than the best.

    Args:
        hypotheses: in the class; for an infinite one there is no such number.
        error: on the population, in (0, 1].
        epsilon: of the choice by the exponential mechanism, as in `deniable.adaptive.learn_class`.
        failure: probability that the error is larger.
        realizable: whether some hypothesis never errs.

    Guarantee: with h = ln(hypotheses), f = failure: the least n with
        2 sqrt((h + ln(4 / f)) / (2 n)) + 2 (h + ln(2 / f)) / (n epsilon) <= error; realizable:
        max(8 (h + ln(2 / f)) / error, 4 (h + ln(2 / f)) / (error epsilon)).
    Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2008), arXiv:0803.0924; constants derived in
        docs/theory/limits/lower_bounds.md.

    >>> learner_rows(10**6, error="0.05", epsilon=1), learner_rows(10**6, error="0.05", epsilon=1, realizable=True)
    (15928, 2801)
    """
    size = whole_number("hypotheses", hypotheses, lower=2, upper=2**1000)
    share, budget = float(probability("failure", failure)), float(positive_rational("epsilon", epsilon))
    target = float(positive_rational("error", error))
    if share == 0 or target > 1:
        raise InvalidParameterError("failure must be above 0, and error at most 1")
    spread = (math.log(size) + math.log(4 / share)) / 2
    noise = math.log(size) + math.log(2 / share)
    if realizable:
        return math.ceil(max(8 * noise / target, 4 * noise / (target * budget)))
    root = (math.sqrt(spread) + math.sqrt(spread + 2 * noise * target / budget)) / target  # of n, by its square
    return math.ceil(root**2)


def iterated_logarithm(number: int) -> int:
    """Return log* of a number: how often to take log2 until it is at most 1.

    Learners of thresholds need rows that grow with log*(domain) under approximate privacy, by constants that are not
    known well, and with ln(domain) under pure privacy, see `threshold_error`.

    Args:
        number: at least 1.

    Source: Bun, Nissim, Stemmer, Vadhan (2015), arXiv:1504.07553; Alon, Livni, Malliaris, Moran (2019),
        arXiv:1806.00949; Cohen, Lyu, Nelson, Sarlos, Stemmer (2023), arXiv:2211.06387, for a learner near it.

    >>> [iterated_logarithm(2**power) for power in (1, 2, 4, 16, 65536)]
    [1, 2, 3, 4, 5]
    """
    value: float = whole_number("number", number, lower=1)
    taken = 0
    while value > 1:
        value = math.log2(value)
        taken += 1
    return taken
