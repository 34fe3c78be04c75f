"""Noisy tables of every column, and of every pair of columns on suggested bins.

The tables of columns suggest the bins.

Guarantee: every table is a count of rows by public levels plus exact noise. The tables of pairs are chosen by the
released tables of columns alone, so the whole costs what its parts cost, whatever the bins: see
docs/theory/synthesis/measurements.md.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import combinations
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Indices, Integers, MachineIntegers
from deniable.numbers.rationals import shown
from deniable.numbers.simplex import onto_simplex
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release.display import price as price_text
from deniable.statistics.units import bounded_rows
from deniable.synthesis.bins import merged, smoothed
from deniable.synthesis.domain import DeclaredDomain

COLUMNS_SHARE = Fraction(2, 5)  # of the price, for the tables of single columns
TARGET_WEIGHT = 16  # of the pairs with a target beside the others; 8 and 40 predict as well on Adult
WEIGHT_DIGITS = 16  # shares of the price are fractions with this power of two as denominator
TABLES = ("counts", "bins", "pairs")  # as a ledger keeps them
MISSING_DEVIATIONS = 3  # of noise, which a count of missing values must exceed to be drawn
LEAST_DEVIATION = 0.1  # that a fit tells apart: noise of huge prices has none
MAX_CELLS = 2**22  # of all tables of pairs together, about


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """Plan of the noisy tables for synthetic rows, with their cost.

    All of it is public.

    Args:
        domain: the columns and their levels.
        price: what all tables may cost together.
        relation: the neighbouring relation.
        rows: the most rows of one unit that count.
        target: name of a column that others shall predict, whose pairs get more of the price; None for none.

    Raises: InvalidParameterError for a target that is not in the domain.
    Guarantee: `privacy_loss`, for one unit with at most `rows` rows that count.
    """

    domain: DeclaredDomain
    price: Price
    relation: Relation
    rows: int
    target: str | None = None

    def __post_init__(self) -> None:
        if self.target is not None and self.target not in self.domain.names:
            raise InvalidParameterError(
                f"target is one of {', '.join(self.domain.names)}, the columns with a domain; got {shown(self.target)}."
            )

    @cached_property
    def parts(self) -> tuple[Price, ...]:
        """Prices of the tables of columns and of pairs; of one column, the whole price."""
        whole = self.price.concentrated()
        return whole.split(COLUMNS_SHARE, 1 - COLUMNS_SHARE) if len(self.domain) > 1 else (whole,)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves a table of counts."""
        return of_spread_sum(lower=0, upper=1, total_rows=self.rows, relation=self.relation)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss of all tables together."""
        return self.price.stated(self.price.concentrated().bound().under(self.relation))

    @cached_property
    def noises(self) -> tuple[AdditiveNoise, ...]:
        """Noise of the table of each column."""
        return self._noises(self.parts[0], self.domain.sizes, [1] * len(self.domain))

    @cached_property
    def pair_indices(self) -> list[tuple[int, int]]:
        """Indices of the two columns of each pair."""
        return list(combinations(range(len(self.domain)), 2))

    def noises_of_pairs(self, cells: Sequence[int]) -> tuple[AdditiveNoise, ...]:
        """Noise of the table of each pair, from their numbers of cells."""
        with_target = [
            self.target in (self.domain.names[one], self.domain.names[other]) for one, other in self.pair_indices
        ]
        return self._noises(self.parts[1], cells, [TARGET_WEIGHT if each else 1 for each in with_target])

    def _noises(self, price: Price, cells: Sequence[int], factors: Sequence[int]) -> tuple[AdditiveNoise, ...]:
        """Noise of tables that are released together.

        The sum of all cells' deviations is least, at a given sum of 1/sigma^2, where sigma is proportional to
        cells^(-1/3): so tables share rho in proportion to cells^(2/3), times a factor for what matters more.
        """
        shares = [count ** (2 / 3) * factor for count, factor in zip(cells, factors, strict=True)]
        weights = [Fraction(round(share * 2**WEIGHT_DIGITS), 2**WEIGHT_DIGITS) for share in shares]
        return price.noises([self.sensitivity] * len(weights), weights)

    def __str__(self) -> str:
        """The columns, how exactly each would be counted, and the cost."""
        columns = len(self.domain)
        lines = [f"noisy tables of {columns} columns and of {columns * (columns - 1) // 2} pairs of them, on bins"]
        for attribute, noise in zip(self.domain.attributes, self.noises, strict=True):
            lines.append(f"  {attribute.name}: {attribute.size} levels, counts +-{noise.standard_deviation():.3g}")
        return "\n".join([*lines, f"cost {price_text(self.privacy_loss)}"])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def measure(self, levels: MachineIntegers, units: object, bits: Bits) -> "Measurements":
        """Return noisy tables of private rows.

        The rows are given as levels, of shape (attributes, rows).
        """
        present = np.ones(levels.shape[1], dtype=np.bool_)
        held = levels[:, bounded_rows(units, rows=self.rows, present=present, bits=bits)]
        counts = []
        for column, size, noise in zip(held, self.domain.sizes, self.noises, strict=True):
            exact = np.bincount(column, minlength=size).astype(np.int64)
            counts.append(noise.release(exact, bits=bits).value.astype(np.int64))
        of_columns = Measurements(measuring=self, counts=tuple(counts), bins=(), pairs=())
        made = replace(of_columns, bins=of_columns.suggested_bins())
        pairs = []
        binned = [bins.astype(np.int32)[column] for bins, column in zip(made.bins, held, strict=True)]
        for (one, other), noise in zip(made.pair_indices, made.pair_noises, strict=True):
            rows, columns = made.bin_sizes[one], made.bin_sizes[other]
            cells = binned[one] * columns + binned[other]
            exact = np.bincount(cells, minlength=rows * columns).astype(np.int64)
            pairs.append(noise.release(exact, bits=bits).value.astype(np.int64).reshape(rows, columns))
        return replace(made, pairs=tuple(pairs))

    def measured_text(self, levels: MachineIntegers, units: object, bits: Bits) -> str:
        """Return noisy tables of private rows as a ledger keeps them."""
        return self.measure(levels, units, bits).to_text()


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """Noisy tables and what follows from them. All of it is public.

    Args:
        measuring: the plan by which they were measured.
        counts: noisy counts of the levels of each column, each of shape (levels,).
        bins: the bin of each level of each column; empty until `suggested_bins` are taken.
        pairs: noisy counts of each pair of bins, in the order of `pair_indices`; empty until they are measured.
    """

    measuring: Measuring
    counts: tuple[Integers, ...]
    bins: tuple[Indices, ...]
    pairs: tuple[Integers, ...]

    @cached_property
    def total(self) -> float:
        """Estimated number of rows that count, at least 1.

        It is the mean of the sums of the tables of columns, weighted by their precision.
        """
        sums = np.array([float(table.sum()) for table in self.counts])
        variances = np.array(
            [table.size * deviation**2 for table, deviation in zip(self.counts, self.deviations, strict=True)]
        )
        return max(1.0, float((sums / variances).sum() / (1 / variances).sum()))

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation of the noise of each column's counts."""
        return np.array([deviation_of(noise) for noise in self.measuring.noises])

    @cached_property
    def columns(self) -> tuple[Floats, ...]:
        """Counts of each column with less noise, not negative, with the sum `total`."""
        return tuple(self._tidied(index) for index in range(len(self.counts)))

    def _tidied(self, index: int) -> Floats:
        """Counts of one column; missing values within their noise of none are none."""
        *known, missing = self.counts[index].tolist()
        deviation = float(self.deviations[index])
        values = np.array(known, dtype=np.float64)
        if self.measuring.domain.attributes[index].ordered:
            values = smoothed(values, deviation)
        if missing > MISSING_DEVIATIONS * deviation:
            return onto_simplex(np.append(values, missing), self.total)
        return np.append(onto_simplex(values, self.total), 0.0)

    def suggested_bins(self) -> tuple[Indices, ...]:
        """Return a bin for each level of each column.

        A cell of two average bins holds as many records as one deviation of its noise: finer tables would show noise,
        and coarser ones would hide what can be seen.
        """
        if len(self.measuring.parts) == 1:
            return tuple(np.zeros(table.size, dtype=np.int64) for table in self.counts)
        number = len(self.pair_indices)
        noise = self.measuring.parts[1].split(*[1] * number)[0].noise(self.measuring.sensitivity)
        across = max(1.0, math.sqrt(min(self.total / deviation_of(noise), MAX_CELLS / number)))
        attributes = self.measuring.domain.attributes
        return tuple(
            merged(table, ordered=attribute.ordered, min_records=self.total / across)
            for attribute, table in zip(attributes, self.columns, strict=True)
        )

    @cached_property
    def bin_sizes(self) -> tuple[int, ...]:
        """Number of bins of each column."""
        return tuple(int(bins.max()) + 1 for bins in self.bins)

    @property
    def pair_indices(self) -> list[tuple[int, int]]:
        """Indices of the two columns of each pair."""
        return self.measuring.pair_indices

    @cached_property
    def pair_noises(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each pair's counts."""
        if not self.pair_indices:
            return ()
        cells = [self.bin_sizes[one] * self.bin_sizes[other] for one, other in self.pair_indices]
        return self.measuring.noises_of_pairs(cells)

    def to_text(self) -> str:
        """Return the tables as JSON, as a ledger keeps them."""
        return json.dumps({name: [table.tolist() for table in getattr(self, name)] for name in TABLES})

    @classmethod
    def from_text(cls, text: str, measuring: Measuring) -> "Measurements":
        """Return the tables of a text that `to_text` made, with their measured bins."""
        data: dict[str, Any] = json.loads(text)
        tables = {name: tuple(np.array(table, dtype=np.int64) for table in data[name]) for name in TABLES}
        return cls(measuring=measuring, **tables)


def deviation_of(noise: AdditiveNoise) -> float:
    """Return the standard deviation of a noise, at least LEAST_DEVIATION."""
    return max(noise.standard_deviation(), LEAST_DEVIATION)
