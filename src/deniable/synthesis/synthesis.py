"""Synthetic rows with the noisy tables behind them, their cost, and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.noise.bits import DeterministicBits
from deniable.noise.simulation import uniforms
from deniable.numbers.rationals import shown, whole_number
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.release.display import price as price_text
from deniable.synthesis.domain import DeclaredDomain
from deniable.synthesis.measurements import Measurements, deviation_of
from deniable.synthesis.model import RecordMixture, fitted
from deniable.synthesis.paid import Paid
from deniable.synthesis.report import WARNING, page
from deniable.synthesis.rows import levels_of_rows
from deniable.synthesis.tables import free_name

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.numbers.arrays import Integers, MachineIntegers, Mask

MAX_ROWS = 10**9
MAX_REDRAWS = 100  # rounds in which rows that cannot be are drawn again
LEAST_REDRAWN = 1_000  # rows of one such round, so that rare ones are found
REDRAW_STRIDE = 1_000_003  # between the seeds of rounds, so that they are not those of other rows
FORMATS = (".parquet", ".csv")


@dataclass(frozen=True, kw_only=True, eq=False)
class Distance:
    """How far a table of the synthetic rows is from that of the private rows.

    Args:
        columns: one or two names.
        cells: of the measured table.
        measured: total variation distance between the synthetic and the noisy table.
        lower, upper: ends of a 95% interval for the distance to the table without noise.
    """

    columns: tuple[str, ...]
    cells: int
    measured: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesis(Paid):
    """Synthetic rows, made from noisy tables of private ones. All of it is public.

    Args:
        measured: the noisy tables.
        cost: the privacy loss of this answer; of a stored one, nothing.
        budget_left: what the ledger had left after it; None without a ledger.
        safe: False if the noise came from a test stream.
        protects: whose data the cost is about.
        notes: what a reader must know, one sentence each.
        provenance: the payment in the ledger; None without one.

    >>> import deniable as dn
    >>> columns = {"department": dn.Keys(["sales", "support"]), "leaving": dn.Boolean()}
    >>> unit, budget = dn.each_row("respondent"), dn.Budget(epsilon=1)
    >>> db = dn.connect(dn.datasets.survey(), name="survey", unit=unit, columns=columns, budget=budget)
    >>> made = db.synthesize(epsilon=1)
    >>> made.rows(100, seed=2).num_rows, [distance.columns for distance in made.distances()][-1]
    (100, ('department', 'leaving'))
    """

    measured: Measurements

    @property
    def domain(self) -> DeclaredDomain:
        """The columns and their levels."""
        return self.measured.measuring.domain

    @property
    def size(self) -> int:
        """Noisy number of private rows that counted."""
        return max(1, round(self.measured.total))

    @cached_property
    def model(self) -> RecordMixture:
        """The model that rows are drawn from, fitted when it is first needed."""
        return fitted(self.measured)

    def rows(
        self,
        size: int | None = None,
        *,
        seed: int = 0,
        given: Mapping[str, Any] | None = None,
        never: Sequence[Mapping[str, Any]] = (),
        unsafe: bool = False,
    ) -> pa.Table:
        """Return synthetic rows as an Arrow table with the columns of the private one.

        They have its types too.

        Args:
            size: how many; by default `size`, the noisy number of private rows.
            seed: of the draws, which are no secret: the same seed gives the same rows.
            given: values that columns have in every row, {"ward": "surgery"}; the others follow as the model says.
            never: combinations of values that cannot be, [{"ward": "children", "retired": True}]; a list of values
                stands for any of them. No row has one; the others are as likely as the model says.
            unsafe: return rows although the noise behind them came from a test stream.

        Raises: InvalidParameterError for a size or seed below 0, for a column or value outside of the domain, or if
            hardly any row is left; UnsafeReleaseError for test noise.
        """
        import pyarrow as pa

        if not self.safe and not unsafe:
            raise UnsafeReleaseError(
                "these rows come from noise of a test stream, which anyone can compute. Leave the argument bits out to "
                "publish rows; in a test, take them with rows(unsafe=True)."
            )
        fixed = {index: levels[0] for index, levels in self._read(given or {}, "given").items()}
        levels = self._possible(size, seed, fixed, [self._read(each, "never") for each in never])
        bits = DeterministicBits(seed + 1)
        pairs = zip(self.domain.attributes, levels, strict=True)
        columns = [attribute.decode(column, uniforms(column.shape, bits=bits)) for attribute, column in pairs]
        return pa.table(dict(zip(self.domain.names, columns, strict=True)))

    def _levels(self, size: int | None, seed: int, given: Mapping[int, int] | None = None) -> MachineIntegers:
        """Return levels of synthetic rows, checked as `rows` says."""
        count = self.size if size is None else whole_number("size", size, lower=0, upper=MAX_ROWS)
        seed = whole_number("seed", seed, lower=0)
        return levels_of_rows(self.measured, self.model, count, seed=seed, given=given)

    def _possible(
        self, size: int | None, seed: int, given: Mapping[int, int], never: Sequence[Mapping[int, list[int]]]
    ) -> MachineIntegers:
        """Return levels of synthetic rows without the combinations that cannot be."""
        levels = self._levels(size, seed, given)
        wanted = levels.shape[1]
        kept = levels[:, ~_in_any(levels, never)]
        for attempt in range(1, MAX_REDRAWS):
            missing = wanted - kept.shape[1]
            if not missing:
                return kept
            more = self._levels(max(missing, LEAST_REDRAWN), seed + attempt * REDRAW_STRIDE, given)
            kept = np.hstack([kept, more[:, ~_in_any(more, never)][:, :missing]])
        raise InvalidParameterError("never=... leaves hardly any row that the model knows. Exclude less.")

    def _read(self, values: Mapping[str, Any], what: str) -> dict[int, list[int]]:
        """Return public values as levels of columns, by the index of the column."""
        import pyarrow as pa

        if not isinstance(values, Mapping):
            raise InvalidParameterError(f'{what} maps names of columns to values, such as {{"ward": "surgery"}}.')
        levels: dict[int, list[int]] = {}
        for name, value in values.items():
            if name not in self.domain.names:
                raise InvalidParameterError(f"{what} names {name!r}; the columns are {', '.join(self.domain.names)}.")
            index = self.domain.names.index(name)
            attribute = self.domain.attributes[index]
            listed = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
            try:
                column = pa.chunked_array([pa.array(listed, type=pa.type_for_alias(attribute.kind))])
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                column = pa.chunked_array([pa.nulls(len(listed), type=pa.type_for_alias(attribute.kind))])
            read = attribute.encode(column).tolist()
            strange = [
                (level == attribute.size - 1) != (each is None) for level, each in zip(read, listed, strict=True)
            ]
            if not listed or any(strange) or (what == "given" and len(listed) > 1):
                raise InvalidParameterError(
                    f"{what} has a value of {name} that its domain does not have: {shown(value)}. None stands for a "
                    "missing value."
                )
            levels[index] = read
        return levels

    def counts(self, column: str) -> Release:
        """Return the noisy counts of one column, unbiased, with intervals.

        They are those that were measured, not those of the model.

        Args:
            column: name.

        Raises: InvalidParameterError for another column.
        """
        if column not in self.domain.names:
            raise InvalidParameterError(
                f"there is no column {column!r}; the columns are {', '.join(self.domain.names)}."
            )
        index = self.domain.names.index(column)
        attribute, noise = self.domain.attributes[index], self.measured.measuring.noises[index]
        key = Key(name=attribute.name, values=tuple(attribute.values), kind=attribute.kind, edge=attribute.edge)
        measure = Measure(name=free_name("count", [column]), bases=("noisy",))
        noisy = Noisy(name="noisy", values=self.measured.counts[index], law=noise.law())
        return self._release([key, measure], f"rows by {column}", [noisy])

    def to_bytes(self, ending: str, *, size: int | None = None, seed: int = 0) -> bytes:
        """Return rows as a file.

        Parquet says in its metadata what they cost and whom they protect.

        Args:
            ending: ".parquet" or ".csv".
            size, seed: as for `rows`.

        Raises: InvalidParameterError for another ending; as `rows`.
        """
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        if ending not in FORMATS:
            raise InvalidParameterError(f"synthetic rows are written as {' or '.join(FORMATS)}, got {ending!r}.")
        rows = self.rows(size, seed=seed)
        file = pa.BufferOutputStream()
        if ending == ".csv":
            pa.csv.write_csv(rows, file)
        else:
            origin = {"deniable": f"synthetic rows; cost {price_text(self.paid)}; protects {self.protects}"}
            pa.parquet.write_table(rows.replace_schema_metadata(origin), file)
        return file.getvalue().to_pybytes()  # type: ignore[no-any-return]

    def distances(self, size: int | None = None, *, seed: int = 0) -> list[Distance]:
        """Return how far all tables of columns and of pairs are from the private ones.

        Tables of pairs are on bins.

        Args:
            size, seed: of the rows that are compared, as for `rows`.

        Guarantee: each interval holds with probability 0.95 over the noise, up to a normal approximation of the sum
            of its absolute values.
        """
        return list(self._distances(self._levels(size, seed)))

    def _distances(self, levels: MachineIntegers) -> Iterator[Distance]:
        measured = self.measured
        names = self.domain.names
        for index, counts in enumerate(measured.counts):
            table = np.bincount(levels[index], minlength=counts.size)
            yield _distance((names[index],), table, counts, float(measured.deviations[index]), measured.total)
        parts = zip(measured.pair_indices, measured.pairs, measured.pair_noises, strict=True)
        for (one, other), counts, noise in parts:
            cells = measured.bins[one][levels[one]] * counts.shape[1] + measured.bins[other][levels[other]]
            table = np.bincount(cells, minlength=counts.size)
            columns = (names[one], names[other])
            yield _distance(columns, table, counts.ravel(), deviation_of(noise), measured.total)

    def report(self) -> str:
        """Return a page of HTML: measurements, cost, distances of the rows, and pictures."""
        return page(self)

    def __str__(self) -> str:
        """The columns, what was measured, what it cost and what is left."""
        lines = [
            f"synthetic rows of {len(self.domain)} columns, about {self.size:,} of them, from "
            f"{len(self.measured.counts)} tables of columns and {len(self.measured.pairs)} of pairs",
        ]
        for attribute, bins, deviation in zip(
            self.domain.attributes, self.measured.bin_sizes, self.measured.deviations, strict=True
        ):
            lines.append(f"  {attribute.name}: {attribute.size} levels, {bins} bins in pairs, counts +-{deviation:.3g}")
        lines.append(f"cost {price_text(self.cost)}" + (f"; left {self.budget_left}" if self.budget_left else ""))
        lines += [f"protects {self.protects}"] if self.protects else []
        lines += [*self.notes, WARNING]
        return "\n".join(lines)


def _in_any(levels: MachineIntegers, never: Sequence[Mapping[int, list[int]]]) -> Mask:
    """Return which rows have one of some combinations of levels."""
    excluded = np.zeros(levels.shape[1], dtype=np.bool_)
    for combination in never:
        inside = np.ones(levels.shape[1], dtype=np.bool_)
        for index, values in combination.items():
            inside &= np.isin(levels[index], values)
        excluded |= inside & bool(combination)
    return excluded


def _distance(columns: tuple[str, ...], table: Integers, counts: Integers, deviation: float, total: float) -> Distance:
    """Distance of shares, with an interval from the distance that noise alone makes."""
    shares = table / max(1, table.sum())
    measured = float(np.abs(shares - counts / total).sum()) / 2
    mean = counts.size * deviation * np.sqrt(2 / np.pi)
    spread = deviation * np.sqrt(counts.size * (1 - 2 / np.pi))
    noise = (mean + 1.645 * spread) / (2 * total)
    return Distance(
        columns=columns,
        cells=counts.size,
        measured=measured,
        lower=max(0.0, measured - noise),
        upper=min(1.0, measured + noise),
    )
