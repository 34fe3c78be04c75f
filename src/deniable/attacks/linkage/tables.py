"""Linkage of a table without names and a public roll with names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.attacks.frames import Names, as_frame, number, read_columns
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError


def link_tables(
    released: Any, roll: Any, *, columns: Names, name: str, truth: Sequence[object] | None = None
) -> AttackResult:
    """Name the rows of a table by the columns that it shares with a public roll.

    A row gets a name where its combination of values occurs once in the table and once in the roll. So Sweeney linked
    the hospital records of Massachusetts and the voter roll of Cambridge.

    Args:
        released: frame of pandas, Polars or Arrow, without names.
        roll: likewise, with names.
        columns: names of columns that both have; a missing value matches a missing one.
        name: column of the roll that names people.
        truth: names in the order of the rows of `released`, None for an unknown person; None: every name counts as
            right.

    Returns: `learned` holds a name or None for each row.
    Raises: InvalidParameterError for tables without rows, columns that are missing, or a truth of another length.
    Source: Sweeney (1997), "Weaving technology and policy together to maintain confidentiality".

    >>> import pyarrow
    >>> released = pyarrow.table({"birth": [1950, 1951, 1951], "illness": ["flu", "gout", "flu"]})
    >>> roll = pyarrow.table({"name": ["Ann", "Bob"], "birth": [1950, 1951]})
    >>> link_tables(released, roll, columns=["birth"], name="name").learned.tolist()
    ['Ann', None, None]
    """
    here = as_frame(released)
    public = as_frame(roll)
    rows = len(here)
    (named,) = read_columns(name, public, role="name")
    both = number(column.codes for column in read_columns(columns, here, public, role="columns"))
    if truth is not None and len(truth) != rows:
        raise InvalidParameterError(f"truth must have one name for each of {rows} rows, got {len(truth)}")
    ours, theirs = np.split(both, [rows])
    cells = int(both.max()) + 1
    owner = np.zeros(cells, dtype=np.int64)
    owner[theirs] = np.arange(len(theirs))
    claimed = (np.bincount(ours, minlength=cells)[ours] == 1) & (np.bincount(theirs, minlength=cells)[ours] == 1)
    names = np.array([*named.values], dtype=object)[named.codes[owner[ours]]]
    names[~claimed] = None
    right = claimed if truth is None else claimed & [one == two for one, two in zip(names, truth, strict=True)]
    return AttackResult(
        attack="Joining with a public roll",
        target="name of a row" if truth is not None else "name of a row, right or wrong",
        success=Share(right=int(right.sum()), attempts=rows),
        baseline=1 / len(theirs),
        guess="a name from the roll",
        learned=names,
        facts={
            "rows that get a name": int(claimed.sum()),
            "wrong names": "not checked" if truth is None else int((claimed & ~right).sum()),
            "names in the roll": len(theirs),
        },
    )
