"""The measures of anonymity, one function each."""

from collections.abc import Sequence
from typing import Any

from deniable.attacks.anonymity.classes import Missing, Secrets, read_classes, read_secrets
from deniable.attacks.anonymity.closeness import Ground, distances
from deniable.attacks.anonymity.columns import Column
from deniable.errors import InvalidParameterError

Names = str | Sequence[str]


def k_anonymity(frame: Any, *, quasi: Names, missing: Missing = "value") -> int:
    """Return k: the size of the smallest class of people whose quasi-identifiers are equal.

    Args:
        frame: rows of pandas, Polars or Arrow, one a person. Rows are positions: an index is not read.
        quasi: names of the quasi-identifiers.
        missing: "value" (missing is a value like others, as an attacker may read it) or "wildcard" (missing is equal
            to every value; a row's class is all rows that agree with it wherever both are known).

    Raises: InvalidParameterError if a column is unknown, or there are no rows.
    Source: Samarati, Sweeney (1998).

    >>> import pyarrow as pa
    >>> k_anonymity(pa.table({"age": [30, 30, None, None, None]}), quasi="age")
    2
    >>> k_anonymity(pa.table({"age": [30, 30, None, None, None]}), quasi="age", missing="wildcard")
    5
    """
    return int(read_classes(frame, quasi, missing).sizes.min())


def l_diversity(
    frame: Any,
    *,
    quasi: Names,
    sensitive: Names,
    kind: str = "distinct",
    joint: bool | None = None,
    missing: Missing = "value",
) -> float:
    """Return l: how many different secrets every class holds at least.

    Args:
        frame, quasi, missing: as for `k_anonymity`. A missing secret is a value of its own.
        sensitive: names of the sensitive attributes.
        kind: "distinct" counts the values; "entropy" is exp of the least entropy, a real number.
        joint: for several sensitive attributes: False measures each alone and returns the worst, True takes their
            tuples as one.

    Raises: InvalidParameterError if a column is unknown, `kind` is, or several attributes come without `joint`.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007).

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "flu", "cold"]})
    >>> l_diversity(table, quasi="age", sensitive="illness")
    2.0
    >>> round(l_diversity(table, quasi="age", sensitive="illness", kind="entropy"), 3)
    1.755
    """
    if kind not in ("distinct", "entropy"):
        raise InvalidParameterError(f'kind must be "distinct" or "entropy", got {kind!r}')
    least = Secrets.least_distinct if kind == "distinct" else Secrets.least_entropy
    return min(least(held) for _, held in _count(frame, quasi, sensitive, joint, missing))


def recursive_diversity(
    frame: Any,
    *,
    quasi: Names,
    sensitive: Names,
    values: int = 2,
    joint: bool | None = None,
    missing: Missing = "value",
) -> float:
    """Return the c above which recursive (c, l)-diversity holds, for l = `values`.

    With counts r1 >= r2 >= ... of the secrets in a class it demands r1 < c (r_l + ... + r_m): the commonest secret
    stays rare even after l - 2 others are ruled out. Infinite if a class holds fewer than l secrets.

    Args:
        frame, quasi, sensitive, joint, missing: as for `l_diversity`.
        values: l, at least 1.

    Raises: InvalidParameterError as `l_diversity`.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007).

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "flu", "cold"]})
    >>> recursive_diversity(table, quasi="age", sensitive="illness")
    3.0
    """
    if values < 1:
        raise InvalidParameterError(f"values must be at least 1, got {values}")
    return max(held.greatest_recursion(values) for _, held in _count(frame, quasi, sensitive, joint, missing))


def t_closeness(
    frame: Any,
    *,
    quasi: Names,
    sensitive: Names,
    ground: Ground = "auto",
    joint: bool | None = None,
    missing: Missing = "value",
) -> float:
    """Return t: the greatest earth mover's distance between the secrets of a class and those of the table.

    Args:
        frame, quasi, sensitive, joint, missing: as for `l_diversity`.
        ground: how far one secret is from another: "equal" (1 if they differ), "ordered" (difference of the ranks of
            the values that occur, over its maximum; a missing value comes first), "numeric" (difference over the
            range), a sequence (all values in their order), or a mapping (tree: each node to its parent, values as
            leaves; height of the lowest common ancestor over that of the root). "auto": "ordered" for numbers, dates
            and ordered categories, "equal" for others.

    Raises: InvalidParameterError as `l_diversity`, or if the ground does not fit the values.
    Source: Li, Li, Venkatasubramanian (2007); its example is below.

    >>> import pyarrow as pa
    >>> salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> table = pa.table({"zip": ["476**"] * 3 + ["4790*"] * 3 + ["4760*"] * 3, "salary": salary})
    >>> round(t_closeness(table, quasi="zip", sensitive="salary"), 4)
    0.375
    """
    counted = _count(frame, quasi, sensitive, joint, missing)
    return max(float(distances(column, held, ground).max()) for column, held in counted)


def delta_disclosure(
    frame: Any, *, quasi: Names, sensitive: Names, joint: bool | None = None, missing: Missing = "value"
) -> float:
    """Return delta: the greatest |ln(share in a class / share in the table)| over classes and secrets.

    Infinite if a secret of the table is absent from a class.

    Args:
        frame, quasi, sensitive, joint, missing: as for `l_diversity`.

    Raises: InvalidParameterError as `l_diversity`.
    Source: Brickell, Shmatikov (2008), "The cost of privacy".

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 40, 40], "illness": ["flu", "cold", "cold", "cold"]})
    >>> delta_disclosure(table, quasi="age", sensitive="illness")
    inf
    """
    return max(held.greatest_disclosure() for _, held in _count(frame, quasi, sensitive, joint, missing))


def _count(
    frame: Any, quasi: Names, sensitive: Names, joint: bool | None, missing: Missing
) -> list[tuple[Column, Secrets]]:
    classes = read_classes(frame, quasi, missing)
    return [(column, classes.count(column)) for column in read_secrets(frame, sensitive, joint, apart=quasi)]
