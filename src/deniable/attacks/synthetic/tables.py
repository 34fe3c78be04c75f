"""Three tables read alike: the original, the synthetic one and the control."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError

Floats = NDArray[np.float64]
Kind = Literal["number", "time", "label"]
_CELLS = 4_000_000  # of a distance matrix held at once


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows as numbers.

    Args:
        names: of the columns; kinds likewise.
        rows: shape (rows, columns): numbers, microseconds since 1970, or codes of labels that all tables share. A
            missing number or time is NaN, a missing label has a code of its own.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, names: list[str]) -> list[int]:
        """Places of the named columns."""
        if unknown := [name for name in names if name not in self.names]:
            raise InvalidParameterError(f"no column {unknown[0]!r}; there are {', '.join(self.names)}")
        return [self.names.index(name) for name in names]

    def draw(self, count: int, dice: np.random.Generator) -> "Table":
        """Some rows, each at most once."""
        kept = dice.permutation(len(self))[:count]
        return Table(names=self.names, kinds=self.kinds, rows=self.rows[kept])


def read_tables(original: Any, synthetic: Any, control: Any) -> tuple[Table, Table, Table]:
    """Read three frames of pandas, Polars or Arrow by the columns of the synthetic one.

    Raises: InvalidParameterError for what is no frame, an empty one, a missing column, a column of numbers that is one
        of labels elsewhere, or infinity.
    """
    frames = [
        _frame(name, one) for name, one in (("original", original), ("synthetic", synthetic), ("control", control))
    ]
    names = tuple(frames[1].columns)
    kinds: list[Kind] = []
    columns: list[list[Floats]] = []
    for name in names:
        found = []
        for title, frame in zip(("original", "synthetic", "control"), frames, strict=True):
            if name not in frame.columns:
                raise InvalidParameterError(f"the {title} table has no column {name!r}")
            found.append(frame[name])
        # A column without any value has no kind of its own.
        said = {_kind(one) for one in found if one.null_count() < len(one)} or {"label"}
        if len(said) > 1:
            raise InvalidParameterError(
                f"column {name!r} must hold one kind in all tables, got {', '.join(sorted(said))}"
            )
        kind = said.pop()
        kinds.append(kind)
        try:
            columns.append(_labels(found) if kind == "label" else [_numbers(one) for one in found])
        except Exception:  # each library has its own for a type that it cannot turn into text
            raise InvalidParameterError(f"column {name!r} has a type that cannot be compared. Make it text") from None
        if any(np.isinf(one).any() for one in columns[-1]):
            raise InvalidParameterError(f"column {name!r} holds infinity. Replace it or leave the column out")
    first, second, third = (
        Table(names=names, kinds=tuple(kinds), rows=np.column_stack(parts)) for parts in zip(*columns, strict=True)
    )
    return first, second, third


def _frame(title: str, given: Any) -> Any:
    import narwhals as nw

    try:
        frame = nw.from_native(given, eager_only=True, pass_through=True)
        named = not isinstance(frame, nw.DataFrame) or all(isinstance(name, str) for name in frame.columns)
    except nw.exceptions.DuplicateError:
        named = False
    if not named:
        raise InvalidParameterError(f"the {title} table must have columns of different names, all of them text")
    if not isinstance(frame, nw.DataFrame):
        raise InvalidParameterError(f"the {title} table must be a frame of pandas, Polars or Arrow")
    if not len(frame) or not frame.columns:
        raise InvalidParameterError(f"the {title} table needs at least one row and one column")
    return frame


def _kind(series: Any) -> Kind:
    import narwhals as nw

    if series.dtype.is_numeric():
        return "number"
    return "time" if series.dtype in (nw.Date, nw.Datetime) else "label"


def _numbers(series: Any) -> Floats:
    import narwhals as nw

    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    if series.dtype == nw.Datetime:
        series = series.dt.timestamp("us")
    return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _labels(found: list[Any]) -> list[Floats]:
    import narwhals as nw

    texts = [np.asarray(one.cast(nw.String).fill_null("").to_numpy()).astype(str) for one in found]
    every = np.concatenate(texts)
    every = np.where(every == "True", "true", np.where(every == "False", "false", every))  # as libraries differ
    codes = np.unique(every, return_inverse=True)[1].astype(np.float64)
    codes[np.concatenate([np.asarray(one.is_null().to_numpy(), dtype=bool) for one in found])] = -1
    return np.split(codes, np.cumsum([len(one) for one in found])[:-1])


def nearest(targets: Table, pool: Table, places: list[int], *, count: int = 1) -> NDArray[np.intp]:
    """Rows of the pool nearest to each target by Gower's distance, the mean over columns; ties take the first row.

    A number or time adds its difference over the pool's range, at most 1; a label adds 1 where it differs; a missing
    value is 0 from another and 1 from all else. Source: Gower (1971).

    Args:
        targets: whose neighbours are sought.
        pool: where.
        places: columns that are compared.
        count: neighbours of each target.

    Returns: shape (targets, count).
    """
    found = np.empty((len(targets), count), dtype=np.intp)
    step = max(1, _CELLS // len(pool))
    for start in range(0, len(targets), step):
        far = np.zeros((min(step, len(targets) - start), len(pool)))
        for place in places:
            far += _apart(targets.rows[start : start + step, place], pool.rows[:, place], targets.kinds[place])
        far = np.round(far, 12)  # equal sums stay equal in another order of columns
        found[start : start + step] = (
            far.argmin(axis=1)[:, None] if count == 1 else far.argsort(axis=1, kind="stable")[:, :count]
        )
    return found


def _apart(targets: Floats, pool: Floats, kind: Kind) -> NDArray[Any]:
    if kind == "label":
        return np.not_equal.outer(targets, pool)
    known = pool[~np.isnan(pool)]
    span = known.max() - known.min() if len(known) else 0.0
    apart = np.abs(np.subtract.outer(targets, pool))
    apart = np.minimum(apart / span, 1) if span > 0 else np.where(np.isnan(apart), np.nan, apart > 0)
    if len(known) == len(pool) and not np.isnan(targets).any():
        return np.asarray(apart)
    return np.where(np.isnan(apart), ~np.logical_and.outer(np.isnan(targets), np.isnan(pool)), apart)
