"""One report of a table's anonymity, over all measures."""

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deniable.attacks.anonymity.classes import Classes, Missing, read_classes, read_secrets
from deniable.attacks.anonymity.closeness import Ground, distances, name_ground
from deniable.attacks.anonymity.columns import Column
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """What the measures say of one sensitive attribute.

    Args:
        distinct_l, entropy_l: l of l-diversity.
        recursive_c: the c above which recursive (c, 2)-diversity holds.
        t: of t-closeness, over `ground`.
        delta: of delta-disclosure.
        beta, enhanced_beta: of basic and enhanced beta-likeness.
        alpha: greatest share of one secret in a class.
        homogeneous: share of people in classes that hold one secret, so whose secret can be read off.
    """

    distinct_l: int
    entropy_l: float
    recursive_c: float
    t: float
    ground: str
    delta: float
    beta: float
    enhanced_beta: float
    alpha: float
    homogeneous: float


@dataclass(frozen=True, kw_only=True)
class Anonymity:
    """How anonymous the people of a table are.

    Args:
        rows: of the table, one a person.
        quasi: the quasi-identifiers.
        missing: what a missing quasi-identifier was taken for.
        classes: distinct tuples of quasi-identifiers.
        k: size of the smallest class.
        unique: people whose class holds nobody else.
        sensitive: the measures for each sensitive attribute.
    """

    rows: int
    quasi: tuple[str, ...]
    missing: str
    classes: int
    k: int
    unique: int
    sensitive: Mapping[str, Diversity]

    def _table(self) -> list[list[str]]:
        """Measures going down, attributes across."""
        names = [name.replace("_", " ") for name in Diversity.__dataclass_fields__]
        held = [[str(name), *map(_show, asdict(one).values())] for name, one in self.sensitive.items()]
        return [list(row) for row in zip(["sensitive", *names], *held, strict=True)] if held else []

    @property
    def sentence(self) -> str:
        """The classes in words."""
        return (
            f"{self.k}-anonymous: {self.rows:,} people in {self.classes:,} classes of {', '.join(self.quasi)}; "
            f"{self.unique:,} ({self.unique / self.rows:.1%}) are alone in theirs"
        )

    def __str__(self) -> str:
        rows = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join([self.sentence, *("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)])

    def _repr_html_(self) -> str:
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self._table())
        return f"<p>{html.escape(self.sentence)}</p><table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON; an infinite measure is the text "infinity"."""
        held = {
            str(name): {key: "infinity" if value == math.inf else value for key, value in asdict(one).items()}
            for name, one in self.sensitive.items()
        }
        return {**asdict(self), "quasi": list(self.quasi), "sensitive": held}

    def to_json(self) -> str:
        """The same as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)


def measure_anonymity(
    frame: Any,
    *,
    quasi: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    grounds: Mapping[str, Ground] | None = None,
    joint: bool = False,
    missing: Missing = "value",
) -> Anonymity:
    """Measure a table by every measure.

    Args:
        frame, quasi, missing: as for `k_anonymity`.
        sensitive: names of the sensitive attributes; without one, classes alone are reported.
        grounds: sensitive attribute -> ground of its t-closeness, as for `t_closeness`; "auto" for others. The name
            of joint attributes is theirs with commas between: "illness, salary".
        joint: whether several sensitive attributes are taken as one whose values are tuples; else each is measured
            alone.

    Raises: InvalidParameterError if a column is unknown, or there are no rows.

    >>> import deniable as dn
    >>> found = measure_anonymity(dn.datasets.survey(), quasi=["department", "age"], sensitive="leaving")
    >>> found.k, found.classes, found.sensitive["leaving"].distinct_l
    (4, 294, 1)
    """
    classes = read_classes(frame, quasi, missing)
    secrets = read_secrets(frame, sensitive, joint, apart=quasi) if sensitive else []
    grounds = dict(grounds or {})
    if unknown := set(grounds) - {column.name for column in secrets}:
        raise InvalidParameterError(f"grounds names no sensitive attribute: {', '.join(map(str, unknown))}")
    sizes = classes.sizes[classes.of_row]
    return Anonymity(
        rows=len(sizes),
        quasi=(quasi,) if isinstance(quasi, str) else tuple(map(str, quasi)),
        missing=missing,
        classes=len(classes.sizes),
        k=int(sizes.min()),
        unique=int((sizes == 1).sum()),
        sensitive={column.name: _measure(column, classes, grounds.get(column.name, "auto")) for column in secrets},
    )


def _measure(column: Column, classes: Classes, ground: Ground) -> Diversity:
    held = classes.count(column)
    beta, enhanced = held.greatest_gains()
    return Diversity(
        distinct_l=int(held.least_distinct()),
        entropy_l=held.least_entropy(),
        recursive_c=held.greatest_recursion(2),
        t=float(distances(column, held, ground).max()),
        ground=name_ground(column, ground),
        delta=held.greatest_disclosure(),
        beta=beta,
        enhanced_beta=enhanced,
        alpha=held.greatest_share(),
        homogeneous=float((held.distinct == 1)[classes.of_row].mean()),
    )


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
