"""Sketches of values from an open domain (Apple)."""

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, of_bytes, to_bytes
from deniable.local.frequencies import HadamardResponse, UnaryEncoding
from deniable.local.protocol import FrequencyProtocol, PureProtocol
from deniable.local.values import name_of
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import whole_number
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, codes, distinct

PRIME = 2**31 - 1
GROUP_BYTES = 2
_CELLS_AT_ONCE = 2**16  # that are looked up: it bounds memory


def keys_of(values: Container) -> Integers:
    """Return a number below 2^31 - 1 for each value, from its digest.

    Equal values share one, different ones with probability 2^-31.
    """
    code_of_row, distinct_values = codes(values)
    names = [name_of(form).encode() for form in [*distinct_values, None]]
    keys = [int.from_bytes(hashlib.sha256(name).digest()[:8], "little") % PRIME for name in names]
    return np.array(keys, dtype=np.int64)[code_of_row]


@lru_cache(maxsize=64)
def _coefficients(functions: int) -> Integers:
    drawn = hashlib.shake_256(f"deniable {functions}".encode()).digest(24 * functions)
    return (np.frombuffer(drawn, dtype="<u8") % PRIME).astype(np.int64).reshape(3, functions)


def cells_of(functions: Integers, keys: Integers, *, shape: tuple[int, int]) -> Integers:
    """Return the cell of each key under each function.

    Functions are polynomials of degree 2 over 2^31 - 1 elements, three-wise independent. Their coefficients follow from
    `shape`, functions and cells, so that client and server always have the same ones.
    Source: Wegman, Carter (1981), "New hash functions and their use in authentication and set equality".
    """
    two, one, zero = _coefficients(shape[0])[:, functions]
    return np.asarray(((two * keys + one) % PRIME * keys + zero) % PRIME % shape[1])


class GroupedReports(PureProtocol):
    """Base class of reports of a random public group and a row of bits.

    The row is about the cells of a value in that group.
    """

    @property
    @abstractmethod
    def groups(self) -> int:
        """Number of groups."""

    @property
    @abstractmethod
    def row(self) -> FrequencyProtocol:
        """Format of a row; its randomizer where a report is about one cell."""

    @property
    def width(self) -> int:
        """Number of bytes of a report: the group and the row."""
        return GROUP_BYTES + self.row.width

    @property
    def size(self) -> int:
        """Number of entries of a tally.

        For each group its reports, and the tally of their rows.
        """
        return self.groups * (1 + self.row.size)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Draw groups, of two bytes."""
        return to_bytes(uniform.below(self.groups, size=people, bits=bits), GROUP_BYTES)

    def _sound(self, reports: Bytes) -> NDArray[np.bool_]:
        """Return whether the group and the row of each report are valid."""
        groups, rows = np.split(reports, [GROUP_BYTES], axis=1)
        return np.asarray((of_bytes(groups) < self.groups) & self.row._sound(rows))

    def _add(self, tally: Integers, reports: Bytes) -> None:
        """Add, for each group, its reports and the tally of their rows."""
        table = tally.reshape(self.groups, -1)
        groups = of_bytes(reports[:, :GROUP_BYTES])
        rows = reports[:, GROUP_BYTES:]
        order = np.argsort(groups, kind="stable")
        own, starts = np.unique(groups[order], return_index=True)
        for group, part in zip(own, np.split(rows[order], starts[1:]), strict=False):
            table[group, 0] += len(part)
            table[group, 1:] += self.row._supports(part)

    def grouped_tally(self, reports: Any, people: int | None, candidates: Any) -> tuple[Integers, int, tuple[Any, ...]]:
        """Return the tally by group, its number of people, and the distinct candidates.

        Args:
            reports, people: as in `Protocol.estimate`.
            candidates: the values that are asked about.

        Raises: InvalidParameterError without candidates, or for an invalid tally.
        """
        if candidates is None or not len(candidates):
            raise InvalidParameterError("this protocol needs candidates: the values that are asked about")
        flat, count = self.tallied(reports, people)
        table = flat.reshape(self.groups, -1)
        if table[:, 0].sum() != count or (table > table[:, :1]).any():
            raise InvalidParameterError("a tally must have the rows of all people")
        return table, count, distinct(tuple(candidates))


def normal_counts(counts: Floats, variance: Floats) -> Estimate:
    """Return estimated counts with normal intervals."""

    def ends(level: float) -> Bounds:
        half = ndtri((1 + level) / 2) * np.sqrt(variance)
        return Bounds(counts - half, counts + half)

    return Estimate(name="count", estimates=counts, ends=ends)


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(GroupedReports):
    """Report values from an open domain by a random hash function and its cell.

    The hash function is public; bits of the cell are noisy.

    Args:
        epsilon: of one report, in (0, 40].
        hashes: public functions, from 1 to 65536; more average collisions out.
        cells: of each function, from 4 to 65536.

    Guarantee: that of `row`, here symmetric unary encoding: ratios of at most e^(epsilon/2) in each of two cells.
    Source: Apple (2017), "Learning with privacy at scale" (CMS).

    >>> from deniable.local.deployed import CountMeanSketch
    >>> sketch = CountMeanSketch(epsilon=4, hashes=64, cells=256)
    >>> answer = sketch.estimate(sketch.encode(["smile"] * 900 + ["cat"] * 100), candidates=["smile", "cat", "dog"])
    """

    kind: ClassVar[str] = "cms"

    hashes: int = 1024
    cells: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("hashes", self.hashes, lower=1, upper=2**16)
        whole_number("cells", self.cells, lower=4, upper=2**16)

    @cached_property
    def row(self) -> FrequencyProtocol:
        """Randomizer for the hash cell."""
        return UnaryEncoding(values=self.cells, epsilon=self.epsilon, symmetric=True)

    @property
    def groups(self) -> int:
        """Number of hash functions."""
        return self.hashes

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        """Draw a function for each value, and randomise its cell."""
        keys = keys_of(values)
        return self.report(keys, self.settle(len(keys), bits=bits), bits=bits)

    def report(self, keys: Integers, settled: Bytes, *, bits: Bits) -> Bytes:
        """Draw reports of keys by public functions that were drawn.

        Args:
            keys: of the values, shape (people,).
            settled: the functions.
            bits: where randomness comes from.
        """
        cells = cells_of(of_bytes(settled), keys, shape=(self.hashes, self.cells))
        return np.concatenate([settled, self.row._draw(cells, bits)], axis=1)

    def support(self, table: Integers, functions: Integers, keys: Integers) -> Integers:
        """Return the number of reports of these functions that support each key.

        Args:
            table: a tally by function.
            functions: shape (functions,).
            keys: shape (keys,).
        """
        blocks = np.array_split(keys, len(keys) * len(functions) // _CELLS_AT_ONCE + 1)
        supports = []
        for block in blocks:
            cells = cells_of(functions, block[:, np.newaxis], shape=(self.hashes, self.cells))
            supports.append(table[functions, 1 + cells].sum(axis=1))
        return np.concatenate(supports)

    def estimate(self, reports: Any, *, people: int | None = None, candidates: Any = None) -> Release:
        """Estimate the number of people with each candidate value.

        Without bias over coins and functions:

        m / (m - 1) (sum over functions of the estimate for the value's cell - n / m). Intervals are normal ones by
        `variance`, where all people with none of the candidates are taken to hold one value, the worst case.

        Args:
            reports, people: as in `Protocol.estimate`.
            candidates: the values that are asked about.
        """
        table, count, names = self.grouped_tally(reports, people, candidates)
        return self.published(count, Key(name="value", values=names), self.counts(table, names), normal=True)

    def counts(self, table: Integers, names: tuple[Any, ...]) -> Estimate:
        """Return the estimate for some values, from a tally by function.

        Args:
            table: the tally.
            names: the values.
        """
        p, q = float(self.row.p), float(self.row.q)
        count = int(table[:, 0].sum())
        sums = (self.support(table, np.arange(self.hashes), keys_of(list(names))) - q * count) / (p - q)
        counts = np.asarray(self.cells / (self.cells - 1) * (sums - count / self.cells), dtype=np.float64)
        held = np.clip(counts, 0, count)
        squares = (held**2).sum() - held**2 + max(count - held.sum(), 0) ** 2
        return normal_counts(counts, self.variance(held, people=count, squares=squares))

    def variance(self, counts: Any, *, people: int, squares: Any) -> Floats:
        """Return the variance of the estimated count of a value.

        It is over coins and public functions.

        With V(f) the variance of `row` for one person, v = (1 - 1/m) / m, k functions, and n_x people for each other x:
        (m / (m - 1))^2 [(n - n_d) (V(1/m) + v) + n_d V(1) + v (squares - (n - n_d)) / k], where `counts` has n_d,
        `people` is n, and `squares` the sum of n_x^2.

        Args:
            counts: people with the value, in any shape.
            people: all who report.
            squares: the sum of squared counts of all other values.
        """
        own = np.asarray(counts, dtype=np.float64)
        collision = (1 - 1 / self.cells) / self.cells
        others = people - own
        of_other = float(self.row.variance(1 / self.cells, people=1)) + collision
        shared = np.maximum(np.asarray(squares) - others, 0) * collision / self.hashes
        whole = others * of_other + own * float(self.row.variance(1, people=1)) + shared
        return np.asarray((self.cells / (self.cells - 1)) ** 2 * whole)


@dataclass(frozen=True, kw_only=True)
class HadamardSketch(CountMeanSketch):
    """Report a random hash function and one Hadamard sign for its cell.

    The sign is an entry of the matrix, in the column of the cell.

    Args:
        epsilon, hashes, cells: as in `CountMeanSketch`.

    Guarantee: that of Hadamard response, which has the law of a uniform entry that is reported with its sign.
    Source: Apple (2017), "Learning with privacy at scale" (HCMS).

    >>> from deniable.local.deployed import HadamardSketch
    >>> HadamardSketch(epsilon=4).width
    4
    """

    kind: ClassVar[str] = "hcms"

    @cached_property
    def row(self) -> FrequencyProtocol:
        """Randomizer for the hash cell: Hadamard response."""
        return HadamardResponse(values=self.cells, epsilon=self.epsilon)
