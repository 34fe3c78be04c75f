"""Intersection: two anonymous releases reveal, together, the people in both."""

from typing import Any

import numpy as np

from deniable.attacks.anonymity.view import View, see
from deniable.attacks.frames import Codes, Names, as_frame, read_columns
from deniable.attacks.result import AttackResult
from deniable.errors import InvalidParameterError


def attack_by_intersection(first: Any, second: Any, *, person: str, quasi: Names, sensitive: str) -> AttackResult:
    """Guess the secrets of people in two releases from both of their classes.

    A secret is possible if both classes hold it; the guess is the one with the greatest product of shares. Where no
    secret is in both, the first release alone decides.

    Args:
        first, second: rows of pandas, Polars or Arrow, one for each person, as two data holders generalised them.
        person: column that identifies people, which joins the two releases. The attacker does not use it: they know the
            targets' quasi-identifiers, and so their class in each release.
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
    (column,) = read_columns(person, as_frame(first), as_frame(second), role="person")
    ours, theirs = np.split(column.codes, [len(one.cell)])
    if any(len(np.unique(held)) < len(held) for held in (ours, theirs)):
        raise InvalidParameterError(f"{person} must identify people, but one of its values occurs twice")
    _, here, there = np.intersect1d(ours, theirs, return_indices=True)
    if not len(here):
        raise InvalidParameterError(f"no {person} is in both releases")
    return guess_by_both(one, other, here, there)


def guess_by_both(one: View, other: View, here: Codes, there: Codes) -> AttackResult:
    """Guess for targets at positions `here` of one view and `there` of the other.

    They are the same people.
    """
    values = (*one.values, *(value for value in other.values if value not in set(one.values)))
    views = (one.over(values), other.over(values))
    targets = (here, there)
    cells = np.stack([view.cell[rows] for view, rows in zip(views, targets, strict=True)])
    pairs, pair = np.unique(cells, axis=1, return_inverse=True)
    shares = [view.counts.multiply(1 / np.maximum(view.counts.sum(axis=1), 1e-300)[:, None]).tocsr() for view in views]
    product = shares[0][pairs[0]].multiply(shares[1][pairs[1]]).tocsr()
    both = View(one.name, product, pair.reshape(-1), views[0].secret[here], values)
    alone = [view.best[rows] for view, rows in zip(views, targets, strict=True)]
    single = [int((view.held == 1)[rows].sum()) for view, rows in zip(views, targets, strict=True)]
    guess = np.where(both.held > 0, both.best, alone[0])
    certain = both.held == 1
    facts: dict[str, object] = {
        "people with one secret left by both": int(certain.sum()),
        "of these, right": int((certain & (guess == both.secret)).sum()),
        "people with one secret left by one release alone": f"{single[0]}, {single[1]}",
        "right from one release alone": ", ".join(str((one_guess == both.secret).sum()) for one_guess in alone),
    }
    return both.judge("Intersection attack", guess, facts=facts)
