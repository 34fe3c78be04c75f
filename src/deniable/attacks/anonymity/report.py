"""One report of a table's anonymity, over all measures."""

import html
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deniable import layout
from deniable.attacks.anonymity.closeness import Ground, distances, name_ground
from deniable.attacks.anonymity.measures import Secrets, count_secrets, read_classes
from deniable.attacks.frames import Names, read_names
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """Measures of one sensitive attribute.

    Args:
        distinct_l, entropy_l: l of l-diversity.
        recursive_c: the c above which recursive (c, 2)-diversity holds.
        t: of t-closeness, over `ground`.
        delta: of delta-disclosure.
        homogeneous: share of people in classes that hold one secret, whose secret can be read off.

    >>> import pyarrow as pa
    >>> from deniable.attacks import measure_anonymity
    >>> table = pa.table({"age": [30, 30, 40], "illness": ["flu", "cold", "flu"]})
    >>> measured = measure_anonymity(table, quasi="age", sensitive="illness").sensitive["illness"]
    >>> measured.distinct_l, round(measured.homogeneous, 2)
    (1, 0.33)
    """

    distinct_l: int
    entropy_l: float
    recursive_c: float
    t: float
    ground: str
    delta: float
    homogeneous: float


@dataclass(frozen=True, kw_only=True)
class Anonymity:
    """Anonymity of the people of a table.

    Args:
        rows: number of rows, one for each person.
        quasi: the quasi-identifiers.
        classes: number of distinct tuples of quasi-identifiers.
        k: size of the smallest class.
        unique: number of people whose class holds nobody else.
        sensitive: the measures for each sensitive attribute.

    >>> import pyarrow as pa
    >>> from deniable.attacks import measure_anonymity
    >>> print(measure_anonymity(pa.table({"age": [30, 30, 40]}), quasi="age"))
    1-anonymous: 3 people in 2 classes of age; 1 (33.3%) are alone in theirs
    """

    rows: int
    quasi: tuple[str, ...]
    classes: int
    k: int
    unique: int
    sensitive: Mapping[str, Diversity]

    def _table(self) -> list[tuple[str, ...]]:
        """Return a table of measures in rows and attributes in columns."""
        names = [name.replace("_", " ") for name in Diversity.__dataclass_fields__]
        held = [[name, *map(_show, vars(one).values())] for name, one in self.sensitive.items()]
        return list(zip(["sensitive", *names], *held, strict=True))

    @property
    def sentence(self) -> str:
        """Classes in words."""
        return (
            f"{self.k}-anonymous: {self.rows:,} people in {self.classes:,} classes of {', '.join(self.quasi)}; "
            f"{self.unique:,} ({self.unique / self.rows:.1%}) are alone in theirs"
        )

    def __repr__(self) -> str:
        return f"<Anonymity: {self.sentence}>"

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(layout.aligned(self._table()) if self.sensitive else [])])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.sentence)}</p>{layout.table(self._table())}"

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON; an infinite measure is the text "infinity"."""
        held = {
            name: {key: "infinity" if value == math.inf else value for key, value in asdict(one).items()}
            for name, one in self.sensitive.items()
        }
        return {**asdict(self), "quasi": list(self.quasi), "sensitive": held}

    def to_json(self) -> str:
        """Return `to_data()` as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)


def measure_anonymity(
    frame: Any, *, quasi: Names, sensitive: Names = (), grounds: Mapping[str, Ground] | None = None
) -> Anonymity:
    """Measure the anonymity of a table by every measure.

    Args:
        frame, quasi: as for `k_anonymity`.
        sensitive: names of the sensitive attributes, each measured alone; without one, classes alone are reported.
        grounds: sensitive attribute -> ground of its t-closeness, as for `t_closeness`; "auto" for others.

    Returns: an `Anonymity`.
    Raises: InvalidParameterError if a column is unknown, or there are no rows.

    >>> import deniable as dn
    >>> measured = measure_anonymity(dn.datasets.survey(), quasi=["department", "age"], sensitive="leaving")
    >>> measured.k, measured.classes, measured.sensitive["leaving"].distinct_l
    (4, 294, 1)
    """
    of_row = read_classes(frame, quasi)
    grounds = grounds or {}
    names = [] if sensitive == () else read_names(sensitive, role="sensitive")
    if unknown := set(grounds) - set(names):
        raise InvalidParameterError(f"grounds must name sensitive attributes, got {', '.join(map(str, unknown))}")
    sizes = np.bincount(of_row)
    return Anonymity(
        rows=len(of_row),
        quasi=(quasi,) if isinstance(quasi, str) else tuple(quasi),
        classes=len(sizes),
        k=int(sizes.min()),
        unique=int((sizes == 1).sum()),
        sensitive={name: _measure(count_secrets(frame, quasi, name), grounds.get(name, "auto")) for name in names},
    )


def _measure(held: Secrets, ground: Ground) -> Diversity:
    """Measure one sensitive attribute."""
    return Diversity(
        distinct_l=int(held.distinct.min()),
        entropy_l=held.least_entropy(),
        recursive_c=held.greatest_recursion(2),
        t=float(distances(held.secret, held.counts, ground).max()),
        ground=name_ground(held.secret, ground),
        delta=held.greatest_disclosure(),
        homogeneous=float((held.distinct == 1)[held.of_row].mean()),
    )


def _show(value: object) -> str:
    """Return a measure as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
