"""Prices of the local model in people, and estimates with known totals."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable.limits import local_floor
from deniable.local.means import MeanProtocol
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.numbers.simplex import onto_simplex
from deniable.release import Release
from deniable.release.columns import Estimate


class LocalPrice(NamedTuple):
    """Result of `local_price`: standard deviations of a mean.

    The mean is of numbers in [0, 1], the worst ones.

    Args:
        sampling: of exact numbers, drawn from a population.
        central: added by a trusted server's Laplace noise.
        local: added by reports of `MeanProtocol`.
        floor: a lower bound for any independent local reports, sampling included.
        people: the number of exact answers with the error of these reports: about people epsilon^2 / (4 columns).
    """

    sampling: float
    central: float
    local: float
    floor: float
    people: float


def local_price(people: int, *, epsilon: Real, columns: int = 1) -> LocalPrice:
    """Compare the error of a mean in the clear, in central and in local privacy.

    The floor is `deniable.limits.local_floor`.

    Args:
        people: who report.
        epsilon: of one report.
        columns: coordinates of a vector, of which the error is that of one.

    >>> from deniable.local import local_price
    >>> price = local_price(10_000, epsilon=1)
    >>> price.central < price.floor < price.local
    True
    """
    count = positive_integer("people", people)
    budget = positive_rational("epsilon", epsilon)
    protocol = MeanProtocol(columns=columns, bounds=(Fraction(0), Fraction(1)), epsilon=budget)
    local = math.sqrt(protocol.variance(people=count)[0])
    sampling = 0.5 / math.sqrt(count)
    central = math.sqrt(2) * columns / (count * float(budget))
    return LocalPrice(sampling, central, local, local_floor(count, epsilon=budget), 0.25 / (local**2 + sampling**2))


def consistent(release: Release, *, people: int) -> Release:
    """Add counts to a release that are >= 0 and add up to the number of people.

    They have less error and a bias, so the counts without bias stay beside them (Norm-Sub: Wang et al. 2020).

    Args:
        release: with a column `count`.
        people: who reported.

    >>> from deniable.local import DirectResponse, consistent
    >>> protocol = DirectResponse(values=4, epsilon=1)
    >>> round(consistent(protocol.estimate(protocol.encode([0] * 100)), people=100)["consistent"].sum())
    100
    """
    counts = np.asarray(release["count"], dtype=np.float64)
    projected = onto_simplex(counts, positive_integer("people", people))
    moved = "moved to the nearest counts that are not negative and add up: biased"
    column = Estimate(name="consistent", estimates=projected, post_processing=moved)
    return replace(release, parts=(*release.parts, column))
