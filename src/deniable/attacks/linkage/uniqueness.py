"""Uniqueness: rows whose quasi-identifiers single a person out."""

from typing import Any

import numpy as np

from deniable.attacks.frames import Names, as_frame, number, read_columns
from deniable.attacks.numbers import real, whole
from deniable.attacks.result import AttackResult, Curve, Share
from deniable.errors import InvalidParameterError


def measure_uniqueness(frame: Any, columns: Names, *, cells: float | None = None) -> AttackResult:
    """Count the rows whose combination of values nobody else has.

    A missing value is a value. The curve shows how the share grows as columns are taken one after the other. For
    comparison: on ZIP code, date of birth and sex, 87% of the people of the United States were found to be unique by
    Sweeney (2000), 63% by Golle (2006), as the abstract of Golle's "Revisiting the uniqueness of simple demographics in
    the US population" reports.

    Args:
        frame: of pandas, Polars or Arrow, one row for each person.
        columns: names of the quasi-identifiers.
        cells: number of possible combinations; it gives the share to expect if all were equally likely.

    Returns: `learned` is true for each row that is unique.
    Raises: InvalidParameterError for a table without rows or a column that it lacks.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02138", "02139"], "sex": ["f", "f", "f"]})
    >>> measure_uniqueness(people, ["zip", "sex"]).success.right
    1
    """
    read = read_columns(columns, as_frame(frame), role="columns")
    classes = [number(one.codes for one in read[: last + 1]) for last in range(len(read))]
    shares = np.array([(np.bincount(codes) == 1).sum() / len(codes) for codes in classes])
    rows = len(classes[-1])
    sizes = np.bincount(classes[-1])[classes[-1]]
    facts: dict[str, object] = {
        "different combinations": f"{classes[-1].max() + 1:,}",
        "people who share theirs with the median person": int(np.median(sizes)),
    }
    if cells is not None:
        facts["unique if all combinations were equally likely"] = f"{expected_unique_share(rows, cells):.1%}"
    names = ", ".join(column.name for column in read)
    return AttackResult(
        attack=f"Uniqueness of {names}",
        target="person singled out",
        success=Share(right=int((sizes == 1).sum()), attempts=rows),
        baseline=1 / rows,
        guess="pointing at a row",
        learned=sizes == 1,
        facts=facts,
        curves=(Curve(label="share of unique people", x=np.arange(1.0, len(shares) + 1), y=shares),),
        axes=(f"columns taken: {names}", "share of people who are unique"),
    )


def expected_unique_share(people: int, cells: float) -> float:
    """Return the expected share of unique people for equally likely combinations.

    None of the other people - 1 falls into a person's cell with probability (1 - 1/cells)^(people - 1). Real values
    are less even, which lowers the share.

    Args:
        people: number of people, at least 1, such as the inhabitants of a ZIP code.
        cells: number of combinations, at least 1, such as 365.25 x 2 x 75 for date of birth and sex.

    Raises: InvalidParameterError for fewer than one of either.

    >>> round(expected_unique_share(10_000, 365.25 * 2 * 75), 3)
    0.833
    """
    if not real("cells", cells) >= 1:
        raise InvalidParameterError(f"cells must be at least 1, got {cells}")
    return float((1 - 1 / cells) ** (whole("people", people) - 1))
