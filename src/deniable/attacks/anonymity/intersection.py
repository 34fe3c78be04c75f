"""Intersection: two releases that are anonymous each give away, together, who is in both."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.attacks.anonymity.columns import Codes, as_frame, read_columns, recode
from deniable.attacks.anonymity.homogeneity import most_frequent
from deniable.attacks.anonymity.view import View, see
from deniable.attacks.result import AttackResult
from deniable.errors import InvalidParameterError


def attack_by_intersection(
    first: Any, second: Any, *, person: str, quasi: str | Sequence[str], sensitive: str
) -> AttackResult:
    """Guess the secrets of those who are in two releases from both of their classes.

    A secret is possible if both classes hold it; the guess is the one with the greatest product of shares. Where no
    secret is in both, the first release alone decides.

    Args:
        first, second: rows of pandas, Polars or Arrow, one a person, as two keepers of data generalised them.
        person: a column that identifies people, and tells who of one release is who of the other. The attacker does
            not use it: they know the targets' quasi-identifiers, and so their class in each release.
        quasi, sensitive: names of columns of both.

    Raises: InvalidParameterError if a column is unknown, a person comes twice, or nobody is in both.
    Source: Ganta, Kasiviswanathan, Smith (2008), "Composition attacks and auxiliary information in data privacy".

    >>> import pyarrow as pa
    >>> one = pa.table({"id": [1, 2, 3], "age": ["under 40"] * 3, "ill": ["flu", "cold", "cold"]})
    >>> two = pa.table({"id": [1, 5, 6], "age": ["30 to 50"] * 3, "ill": ["flu", "burn", "burn"]})
    >>> attack_by_intersection(one, two, person="id", quasi="age", sensitive="ill").success.right
    1
    """
    one, other = (see(release, quasi=quasi, sensitive=sensitive) for release in (first, second))
    here, there = (read_columns(as_frame(release), person, role="person")[0] for release in (first, second))
    for column in (here, there):
        if len(column.values) < len(column.codes):
            raise InvalidParameterError(f"{person} must identify people, but a value of it comes twice")
    place = recode(here, there.values)
    found = np.flatnonzero(place >= 0)
    row = np.argsort(there.codes)[place[found]]
    if not len(found):
        raise InvalidParameterError(f"no {person} is in both releases")
    return guess_by_both(one, other, found, row)


def guess_by_both(one: View, other: View, here: Codes, there: Codes) -> AttackResult:
    """Guess for the targets at places `here` of one view and `there` of the other, who are the same people."""
    values = (*one.values, *(value for value in other.values if value not in set(one.values)))
    one, other = one.over(values), other.over(values)
    cells = np.stack([one.cell[here], other.cell[there]], axis=1)
    pairs, pair = np.unique(cells, axis=0, return_inverse=True)
    shares = [
        view.counts.multiply(1 / np.maximum(view.counts.sum(axis=1), 1e-300)[:, None]).tocsr() for view in (one, other)
    ]
    product = shares[0][pairs[:, 0]].multiply(shares[1][pairs[:, 1]]).tocsr()
    both = View(one.name, product, pair.reshape(-1), one.secret[here], values)
    alone = [most_frequent(view)[rows] for view, rows in ((one, here), (other, there))]
    guess = np.where(both.held[both.cell] > 0, both.first(1)[0][both.cell, 0], alone[0])
    certain = (both.held == 1)[both.cell]
    single = [(view.held == 1)[view.cell[rows]] for view, rows in ((one, here), (other, there))]
    right = [int((one_guess == both.secret).sum()) for one_guess in alone]
    return both.judge(
        "Intersection attack",
        guess,
        baseline=both.baseline,
        says="guessing everybody's most frequent secret",
        facts={
            "people with one secret left by both": int(certain.sum()),
            "of these, right": int((certain & (guess == both.secret)).sum()),
            "people with one secret left by one release alone": f"{single[0].sum()}, {single[1].sum()}",
            "right from one release alone": f"{right[0]}, {right[1]}",
        },
    )
