"""Public result table."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, MissingExtraError, UnsafeReleaseError
from deniable.privacy.budget.rule import Remaining
from deniable.privacy.loss import PrivacyLoss
from deniable.release.columns import Bounds, Estimate, Key, Measure, Noisy, Numbers, free, select
from deniable.release.intervals import check_level, of_measure
from deniable.release.stored import document, from_document

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

    from deniable.release.provenance import Provenance

MARK = "unsafe_test_noise"  # the column that says that nothing here may be published


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Noisy answers with intervals, their cost, and what is left; all public.

    Args:
        parts: the columns in order; each is a public key, a measure of noisy values, or an estimate.
        noisy: the noisy values that the measures read, one row for each row of the table.
        cost: the privacy loss of this release.
        budget_left: what the ledger had left after it; None if there is no ledger.
        text: the question as it was asked.
        safe: False if the noise came from a test stream. Such a release says so wherever it is shown, its tables in
            every form begin with the column `unsafe_test_noise`, and it is not a number unless `unsafe=True` is said.
        notes: what a reader must know, one sentence each.
        protects: whose data the cost is about, such as "one patient of visits (add/remove)"; empty if not known.
        provenance: the payment in the ledger and the policy; None if there is no ledger.
        level: at which intervals are shown and exported, unless another is asked for.

    >>> import deniable as dn
    >>> answer = dn.statistics.mean([31, 45, 28], bounds=(0, 100), epsilon=1)
    >>> answer.columns, answer.cost.epsilon(0).upper
    (('mean',), 1.0)
    """

    parts: tuple[Key | Measure | Estimate, ...]
    noisy: tuple[Noisy, ...] = ()
    cost: PrivacyLoss
    budget_left: Remaining | None = None
    text: str = ""
    safe: bool = True
    notes: tuple[str, ...] = ()
    protects: str = ""
    provenance: "Provenance | None" = None
    level: float = 0.95

    def __post_init__(self) -> None:
        names, bases = [part.name for part in self.parts], [base.name for base in self.noisy]
        if len(set(names)) != len(names) or len(set(bases)) != len(bases):
            raise InvalidParameterError(f"columns of a release need distinct names, got {names} from {bases}")
        unknown = {base for part in self.parts if isinstance(part, Measure) for base in part.bases} - set(bases)
        if unknown or not self.parts:
            raise InvalidParameterError(f"measures read {sorted(unknown)}, but the noisy columns are {bases}")
        lengths = {len(base.values) for base in self.noisy} | {len(key.values) for key in self.keys}
        lengths |= {len(part.estimates) for part in self.parts if isinstance(part, Estimate)}
        if len(lengths) > 1:
            raise InvalidParameterError(f"columns of a release need one length, got {sorted(lengths)}")

    @property
    def paid(self) -> PrivacyLoss:
        """Cost of this answer when it was charged.

        That is `cost`; of a stored answer, which is free, that of the first.
        """
        return self.cost if self.provenance is None else self.provenance.paid

    # --- what is in it -------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(part.name for part in self.parts)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns with public values."""
        return tuple(part for part in self.parts if isinstance(part, Key))

    @property
    def measures(self) -> tuple[Measure | Estimate, ...]:
        """The columns with noisy values and with estimates."""
        return tuple(part for part in self.parts if not isinstance(part, Key))

    def __len__(self) -> int:
        if self.noisy:
            return len(self.noisy[0].values)
        first = self.parts[0]
        return len(first.estimates if isinstance(first, Estimate) else self.keys[0].values)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the values of one column; NaN where a measure is undefined."""
        for part in self.parts:
            if part.name == name:
                return _objects(part.values) if isinstance(part, Key) else self._values[name]
        raise InvalidParameterError(f"there is no column {name!r}; the columns are {', '.join(self.columns)}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return the rows, each as a dictionary with interval ends."""
        return iter(self.to_dicts())

    def scalar(self, *, unsafe: bool = False) -> float | int:
        """Return the one value of a release with one row and one column.

        `float(release)` is the same.

        Args:
            unsafe: take the number although the noise came from a test stream: a number has no room for the mark.

        Raises: InvalidParameterError if this is a table, UnsafeReleaseError if it holds test noise.
        """
        if len(self) != 1 or len(self.parts) != 1 or not self.measures:
            raise InvalidParameterError(
                f"scalar() needs one row and one noisy column, got {len(self)} rows of {', '.join(self.columns)}. "
                'Take a column with release["name"].'
            )
        if not self.safe and not unsafe:
            raise UnsafeReleaseError(
                "this release holds noise of a test stream, which anyone can compute, and a bare number cannot say so. "
                "Leave the argument bits out to publish it; in a test, take it with scalar(unsafe=True)."
            )
        value: float | int = self[self.columns[0]][0].item()
        return value

    def __float__(self) -> float:
        return float(self.scalar())

    def __int__(self) -> int:
        value = self.scalar()
        if not isinstance(value, int):
            raise InvalidParameterError("int() takes a release of a whole number. Write round(float(release)).")
        return value

    def intervals(self, level: float | None = None) -> dict[str, Bounds]:
        """Return confidence intervals of each measure: arrays `lower` and `upper` by name.

        By default at `self.level`.

        Each interval is for one true value, after the contributions were bounded; the level holds for one interval,
        not for all together. Infinite ends mean that the noise leaves the value open. How they are made, and when
        the level is exact, stands in `deniable.release.intervals`.
        """
        level = self.level if level is None else level
        check_level(level)
        if level not in self._bounds:
            self._bounds[level] = {
                part.name: part.bounds(level)
                if isinstance(part, Estimate)
                else of_measure(part, self._by_name, level=level)
                for part in self.measures
            }
        return dict(self._bounds[level])

    def take(self, rows: Sequence[int] | NDArray[np.int64], *, note: str = "") -> "Release":
        """Return the release with these rows in this order.

        The note says how they were chosen, for instance by HAVING or ORDER BY.
        """
        index = np.asarray(rows, dtype=np.int64)
        parts = tuple(part if isinstance(part, Measure) else select(part, index) for part in self.parts)
        noisy = tuple(select(base, index) for base in self.noisy)
        return replace(self, parts=parts, noisy=noisy, notes=(*self.notes, note) if note else self.notes)

    def select(self, names: Sequence[str]) -> "Release":
        """Return the release with these columns in this order."""
        for name in names:
            self[name]
        return replace(self, parts=tuple(part for name in names for part in self.parts if part.name == name))

    # --- other forms ---------------------------------------------------------------------------------------------

    def to_dicts(self, *, intervals: bool = True, level: float | None = None) -> list[dict[str, Any]]:
        """Return one dictionary per row; None stands for undefined or unbounded values.

        Columns as in `to_arrow`.
        """
        table = self._table(intervals=intervals, level=level)
        lists = [_plain(values) for values, _ in table.values()]
        return [dict(zip(table, row, strict=True)) for row in zip(*lists, strict=True)]

    def to_json(self, *, intervals: bool = True, level: float | None = None, indent: int | None = None) -> str:
        """Return rows, cost, notes and provenance as JSON text, which `from_json` reads."""
        level = self.level if level is None else level
        return json.dumps(document(self, level if intervals else None), indent=indent, default=str, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Read the text of `to_json`, with the intervals of its level.

        At a higher level nothing is known.

        Raises: InvalidParameterError if it is something else.
        """
        return from_document(text, cls)

    def to_arrow(self, *, intervals: bool = True, level: float | None = None) -> "pyarrow.Table":
        """Return an Arrow table with `name_lower` and `name_upper` beside each measure.

        Undefined values are null.

        If the noise came from a test stream, the first column is `unsafe_test_noise`, and true in every row. The
        metadata of the table hold under `deniable`, as JSON, what `to_json` says beside the rows.
        """
        import pyarrow as pa

        from deniable.release.provenance import as_metadata

        table = self._table(intervals=intervals, level=level)
        arrays = [
            pa.array(values, from_pandas=True)
            if isinstance(values, np.ndarray)
            else pa.array(values, None if kind is None else pa.type_for_alias(kind))
            for values, kind in table.values()
        ]
        described = as_metadata(self, (self.level if level is None else level) if intervals else None)
        return pa.Table.from_arrays(arrays, names=list(table), metadata=described)

    def to_csv(
        self, path: str | Path | None = None, *, intervals: bool = True, level: float | None = None
    ) -> str | None:
        """Return, or write, comma-separated values with columns as in `to_arrow`.

        Returns None if they were written.

        Nothing between commas is a missing value, "" an empty text. Spreadsheets take a text that begins with = + - or
        @ for a formula, so such a text gets an apostrophe before it; what cannot be seen is escaped. Beside a file
        `answer.csv` a file `answer.csv.json` says what was asked and paid: see `csv_facts`.
        """
        from deniable.release.csv import as_csv

        text = as_csv(self.to_arrow(intervals=intervals, level=level))
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="")
        Path(f"{path}.json").write_text(self.csv_facts(intervals=intervals, level=level), encoding="utf-8")
        return None

    def csv_facts(self, *, intervals: bool = True, level: float | None = None) -> str:
        """Return all facts of `to_json` but the rows, for which a CSV file has no room."""
        from deniable.release.provenance import facts

        level = self.level if level is None else level
        return json.dumps(facts(self, level if intervals else None), indent=2, default=str, allow_nan=False) + "\n"

    def to_parquet(self, path: Any, *, intervals: bool = True, level: float | None = None) -> None:
        """Write columns and metadata as in `to_arrow` to a Parquet file, or an open file."""
        import pyarrow.parquet

        pyarrow.parquet.write_table(self.to_arrow(intervals=intervals, level=level), path)

    def to_html(self, path: str | Path | None = None, *, title: str = "") -> str | None:
        """Return, or write, a page with error bars and provenance that loads nothing.

        Returns None if it was written.
        """
        from deniable.release.display import as_page

        page = as_page(self, title=title)
        if path is None:
            return page
        Path(path).write_text(page, encoding="utf-8")
        return None

    def to_pandas(self, *, intervals: bool = True, level: float | None = None) -> "pandas.DataFrame":
        """Return a pandas frame with columns as in `to_arrow`."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("to_pandas() needs pandas. Install it: pip install pandas") from error
        frame: pandas.DataFrame = self.to_arrow(intervals=intervals, level=level).to_pandas()
        return frame

    def to_polars(self, *, intervals: bool = True, level: float | None = None) -> "polars.DataFrame":
        """Return a Polars frame with columns as in `to_arrow`."""
        try:
            import polars
        except ImportError as error:
            raise MissingExtraError("to_polars() needs polars. Install it: pip install polars") from error
        frame = polars.from_arrow(self.to_arrow(intervals=intervals, level=level))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the Arrow table, for any library that speaks Arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def plot(self, measure: str | None = None, *, level: float | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw one measure with its intervals; needs the extra `plot`."""
        from deniable.release.plot import draw

        return draw(self, measure, level=self.level if level is None else level, ax=ax)

    def __str__(self) -> str:
        from deniable.release.display import as_text

        return as_text(self)

    def __repr__(self) -> str:
        from deniable.release.display import as_line

        return as_line(self)

    def _repr_html_(self) -> str:
        from deniable.release.display import as_html

        return as_html(self)

    # --- inside --------------------------------------------------------------------------------------------------

    @cached_property
    def _by_name(self) -> Mapping[str, Noisy]:
        return {base.name: base for base in self.noisy}

    @cached_property
    def _values(self) -> Mapping[str, NDArray[Any]]:
        arrays: dict[str, Numbers] = {base.name: base.values for base in self.noisy}
        return {
            part.name: np.asarray(part.estimates)
            if isinstance(part, Estimate)
            else np.broadcast_to(part.values(arrays), (len(self),))
            for part in self.measures
        }

    @cached_property
    def _bounds(self) -> dict[float, dict[str, Bounds]]:
        return {}

    def _table(self, *, intervals: bool, level: float | None) -> dict[str, tuple[Any, str | None]]:
        """Return values and Arrow kinds by name, with interval columns where asked for."""
        bounds = self.intervals(level) if intervals else {}
        table: dict[str, tuple[Any, str | None]] = {}
        if not self.safe:
            table[free(MARK, self.columns)] = (np.ones(len(self), dtype=bool), None)
        for part in self.parts:
            if isinstance(part, Key):
                table[part.name] = (list(part.values), part.kind)
                continue
            table[part.name] = (self._values[part.name], None)
            if intervals:
                for end, values in zip(("lower", "upper"), bounds[part.name], strict=True):
                    table[free(f"{part.name}_{end}", self.columns)] = (values, None)
        return table


def _objects(values: Sequence[object]) -> NDArray[Any]:
    """Return public values as an array that keeps each as it is."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _plain(values: Any) -> list[Any]:
    """Return values that JSON knows, where there are such."""
    if not isinstance(values, np.ndarray):
        return [_key(value.item() if isinstance(value, np.generic) else value) for value in values]
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values.tolist()]


def _key(value: Any) -> Any:
    """Return a key that is never None, which would be another key."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
