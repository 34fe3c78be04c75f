"""What the local model costs in people, and estimates that agree with what is known."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable.limits import local_floor
from deniable.local.means import MeanProtocol
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.release import Estimate, Release


class LocalPrice(NamedTuple):
    """Standard deviations of a mean of numbers in [0, 1], for the worst numbers, and the people that they are worth."""

    sampling: float  # of exact numbers, drawn from a population
    central: float  # added by a trusted server's Laplace noise
    local: float  # added by reports of `MeanProtocol`
    floor: float  # below which no independent local reports stay, sampling included
    people: float  # exact answers with the error of these reports: about people epsilon^2 / (4 columns)


def local_price(people: int, *, epsilon: Real, columns: int = 1) -> LocalPrice:
    """The error of a coordinate's mean in the clear, with a trusted server, and with local reports.

    The floor is `deniable.limits.local_floor`.

    >>> from deniable.local import local_price
    >>> price = local_price(10_000, epsilon=1)
    >>> price.central < price.floor < price.local
    True
    """
    count, budget = positive_integer("people", people), positive_rational("epsilon", epsilon)
    vectors = MeanProtocol(columns=columns, lower=Fraction(0), upper=Fraction(1), epsilon=budget)
    local, sampling = math.sqrt(vectors.variance(people=count)[0]), 0.5 / math.sqrt(count)
    central = math.sqrt(2) * columns / (count * float(budget))
    return LocalPrice(sampling, central, local, local_floor(count, epsilon=budget), 0.25 / (local**2 + sampling**2))


def consistent(release: Release, *, people: int) -> Release:
    """The release with one more column: the nearest counts that are not negative and add up to the number of people.

    It has less error and a bias, so that the counts without bias stay beside it (Norm-Sub: Wang et al. 2020).

    >>> from deniable.local import DirectResponse, consistent
    >>> protocol = DirectResponse(values=4, epsilon=1)
    >>> round(consistent(protocol.estimate(protocol.encode([0] * 100)), people=100)["consistent"].sum())
    100
    """
    counts = np.asarray(release["count"], dtype=np.float64)
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - positive_integer("people", people)) / np.arange(1, len(counts) + 1)
    found = np.maximum(counts - excess[falling > excess][-1], 0)
    told = "moved to the nearest counts that are not negative and add up: biased"
    return replace(release, parts=(*release.parts, Estimate(name="consistent", estimates=found, post_processing=told)))
