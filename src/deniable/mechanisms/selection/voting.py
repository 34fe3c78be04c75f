"""Votes as scores for a private choice, with their true sensitivities.

Monotone under add/remove.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.numbers.rationals import positive_integer, whole_number
from deniable.privacy import Relation, Sensitivity, of_count
from deniable.rows import left_out, replaced

_MOST_CANDIDATES = 10**8


def approvals(ballots: ArrayLike, candidates: int) -> NDArray[np.int64]:
    """Return how many voters approve of each candidate.

    Args:
        ballots: secret; zeros and ones or booleans, shape (voters, candidates). A row with anything else is a spoilt
            ballot, and does not count.
        candidates: how many there are.
    """
    number = positive_integer("candidates", candidates)
    table = replaced("ballots", ballots, by=-1, lower=-1, upper=2, columns=number)
    valid = ((table == 0) | (table == 1)).all(axis=1)
    return np.asarray(table[valid].sum(axis=0), dtype=np.int64)


def of_approvals(candidates: int, *, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the approvals to one voter.

    Each moves by at most 1, all of them perhaps, under either relation.
    """
    number = positive_integer("candidates", candidates)
    together = Fraction(number)
    return Sensitivity(l1=together, l2_squared=together, linf=Fraction(1), relation=relation, coordinates=number)


def pluralities(votes: ArrayLike, candidates: int) -> NDArray[np.int64]:
    """Return how many voters name each candidate.

    Args:
        votes: secret; for each voter one number of 0, ..., candidates - 1. All else is a spoilt vote, and does not
            count.
        candidates: how many there are, up to 10^8.
    """
    number = whole_number("candidates", candidates, lower=1, upper=_MOST_CANDIDATES)
    array = left_out("votes", votes, lower=-1, upper=number)
    return np.bincount(array[(array >= 0) & (array < number)], minlength=number)


def of_pluralities(*, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the pluralities to one voter.

    One candidate moves by 1, or two in opposite directions under replace.
    """
    return of_count(rows=1, groups=1, relation=relation)
