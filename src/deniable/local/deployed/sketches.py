"""Report a row of a sketch of all values: count mean sketch, and its Hadamard form of one bit (Apple)."""

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
from deniable.release import Bounds, Estimate, Key, Release
from deniable.rows import Container, codes, distinct

PRIME = 2**31 - 1
GROUP = 2  # bytes
_BLOCK = 2**16  # cells that are looked up at once


def keys_of(values: Container) -> Integers:
    """A number below 2^31 - 1 for each value, from its digest; equal values share one, others with chance 2^-31."""
    found, known = codes(values)
    names = [name_of(form).encode() for form in [*known, None]]
    keys = [int.from_bytes(hashlib.sha256(name).digest()[:8], "little") % PRIME for name in names]
    return np.array(keys, dtype=np.int64)[found]


@lru_cache(maxsize=64)
def _coefficients(functions: int) -> Integers:
    drawn = hashlib.shake_256(f"deniable {functions}".encode()).digest(24 * functions)
    return (np.frombuffer(drawn, dtype="<u8") % PRIME).astype(np.int64).reshape(3, functions)


def cells_of(functions: Integers, keys: Integers, *, shape: tuple[int, int]) -> Integers:
    """The cell of each key under each function: polynomials of degree 2 over 2^31 - 1 elements, three-wise independent.

    Their coefficients follow from `shape`, functions and cells, so that client and server always have the same ones.
    Source: Wegman, Carter (1981), "New hash functions and their use in authentication and set equality".
    """
    two, one, zero = _coefficients(shape[0])[:, functions]
    return np.asarray(((two * keys + one) % PRIME * keys + zero) % PRIME % shape[1])


class Grouped(PureProtocol):
    """Reports of a public group that the client draws, and of a row about cells that public functions give a value."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def row(self) -> FrequencyProtocol:
        """How rows are written, and told where a report is about one cell."""

    @property
    def width(self) -> int:
        return GROUP + self.row.width

    @property
    def size(self) -> int:
        return self.groups * (1 + self.row.size)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Groups, of two bytes."""
        return to_bytes(uniform.below(self.groups, size=people, bits=bits), GROUP)

    def _sound(self, reports: Bytes) -> NDArray[np.bool_]:
        groups, rows = np.split(reports, [GROUP], axis=1)
        return np.asarray((of_bytes(groups) < self.groups) & self.row._sound(rows))

    def _add(self, tally: Integers, reports: Bytes) -> None:
        """For each group how many reports it has, and the tally of their rows."""
        table, groups, rows = tally.reshape(self.groups, -1), of_bytes(reports[:, :GROUP]), reports[:, GROUP:]
        order = np.argsort(groups, kind="stable")
        own, starts = np.unique(groups[order], return_index=True)
        for group, part in zip(own, np.split(rows[order], starts[1:]), strict=False):
            table[group, 0] += len(part)
            table[group, 1:] += self.row._supports(part)

    def asked(self, reports: Any, people: int | None, candidates: Any) -> tuple[Integers, int, tuple[Any, ...]]:
        """The tally by group, how many people it has, and the values that are asked about; what is none is refused."""
        if candidates is None or not len(candidates):
            raise InvalidParameterError("this protocol needs candidates: the values that are asked about")
        flat, count = self.tallied(reports, people)
        table = flat.reshape(self.groups, -1)
        if table[:, 0].sum() != count or (table > table[:, :1]).any():
            raise InvalidParameterError("a tally must have the rows of all people")
        return table, count, distinct(tuple(candidates))


def normal_counts(found: Floats, variance: Floats) -> Estimate:
    """Estimated counts with normal intervals."""

    def ends(level: float) -> Bounds:
        half = ndtri((1 + level) / 2) * np.sqrt(variance)
        return Bounds(found - half, found + half)

    return Estimate(name="count", estimates=found, ends=ends)


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Grouped):
    """Report values that nobody has listed: a public function, drawn, and a row of bits about its cell of the value.

    Args:
        hashes: public functions, from 1 to 65536; more average collisions out.
        cells: of each function, from 4 to 65536.

    Guarantee: that of `row`, here symmetric unary encoding: odds of at most e^(epsilon/2) in each of two cells.
    Source: Apple (2017), "Learning with privacy at scale" (CMS).

    >>> from deniable.local import CountMeanSketch
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
        """How the cell is told."""
        return UnaryEncoding(values=self.cells, epsilon=self.epsilon, symmetric=True)

    @property
    def groups(self) -> int:
        return self.hashes

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        keys = keys_of(values)
        return self.tell(keys, self.settle(len(keys), bits=bits), bits=bits)

    def tell(self, keys: Integers, settled: Bytes, *, bits: Bits) -> Bytes:
        """Reports of keys by public functions that were drawn."""
        cells = cells_of(of_bytes(settled), keys, shape=(self.hashes, self.cells))
        return np.concatenate([settled, self.row._draw(cells, bits)], axis=1)

    def support(self, table: Integers, functions: Integers, keys: Integers) -> Integers:
        """How many reports of these functions support each key."""
        blocks, shape = np.array_split(keys, len(keys) * len(functions) // _BLOCK + 1), (self.hashes, self.cells)
        cells = (cells_of(functions, block[:, np.newaxis], shape=shape) for block in blocks)
        return np.concatenate([table[functions, 1 + found].sum(axis=1) for found in cells])

    def estimate(self, reports: Any, *, people: int | None = None, candidates: Any = None) -> Release:
        """The number of people with each candidate value that is asked about, without bias over coins and functions.

        m / (m - 1) (sum over functions of the estimate for the value's cell - n / m). Intervals are normal ones by
        `variance`, where all people with none of the candidates are taken to hold one value, the worst case.
        """
        table, count, names = self.asked(reports, people, candidates)
        return self.published(count, Key(name="value", values=names), self.counts(table, names), normal=True)

    def counts(self, table: Integers, names: tuple[Any, ...]) -> Estimate:
        """The estimate for values, from the rows of a tally."""
        p, q, count = float(self.row.true), float(self.row.false), int(table[:, 0].sum())
        sums = (self.support(table, np.arange(self.hashes), keys_of(list(names))) - q * count) / (p - q)
        found = np.asarray(self.cells / (self.cells - 1) * (sums - count / self.cells), dtype=np.float64)
        held = np.clip(found, 0, count)
        squares = (held**2).sum() - held**2 + max(count - held.sum(), 0) ** 2
        return normal_counts(found, self.variance(held, people=count, squares=squares))

    def variance(self, counts: Any, *, people: int, squares: Any) -> Floats:
        """The variance of the estimated count of a value, over coins and public functions; collisions are in it.

        With V(f) the variance of `row` for one person, v = (1 - 1/m) / m, k functions, and n_x people for each other x:
        (m / (m - 1))^2 [(n - n_d) (V(1/m) + v) + n_d V(1) + v (squares - (n - n_d)) / k], where `counts` has n_d,
        `people` is n, and `squares` the sum of n_x^2.
        """
        own, chance = np.asarray(counts, dtype=np.float64), (1 - 1 / self.cells) / self.cells
        one, others = people - own, float(self.row.variance(1 / self.cells, people=1)) + chance
        shared = np.maximum(np.asarray(squares) - one, 0) * chance / self.hashes
        whole = one * others + own * float(self.row.variance(1, people=1)) + shared
        return np.asarray((self.cells / (self.cells - 1)) ** 2 * whole)


@dataclass(frozen=True, kw_only=True)
class HadamardSketch(CountMeanSketch):
    """Report a public function, drawn, and one sign of a Hadamard matrix from the column of the value's cell.

    Guarantee: that of Hadamard response, which has the law of an entry that is drawn evenly and told with its sign.
    Source: Apple (2017), "Learning with privacy at scale" (HCMS).

    >>> from deniable.local import HadamardSketch
    >>> HadamardSketch(epsilon=4).width
    4
    """

    kind: ClassVar[str] = "hcms"

    @cached_property
    def row(self) -> FrequencyProtocol:
        return HadamardResponse(values=self.cells, epsilon=self.epsilon)
