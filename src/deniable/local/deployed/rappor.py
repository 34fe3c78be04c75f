"""Bloom filters of text, with permanent and temporary noise (RAPPOR)."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, of_bytes, rows_of_coins
from deniable.local.deployed.memo import Memoised
from deniable.local.deployed.sketches import GroupedReports, cells_of, keys_of, normal_counts
from deniable.local.frequencies import UnaryEncoding
from deniable.local.protocol import coin_above
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.balls import ball, certified_floor
from deniable.numbers.rationals import positive_rational, probability, whole_number
from deniable.release import Release
from deniable.release.columns import Key
from deniable.rows import Container


@dataclass(frozen=True, kw_only=True)
class Rappor(GroupedReports, Memoised):
    """Report values from an open domain as noisy bits of a Bloom filter.

    A client draws its cohort once. The filter of a value has `hashes` bits. The permanent answer keeps each bit with
    probability 1 - f and is a fair coin otherwise; a report has 1 with probability q where the answer has 1, p where 0.

    Args:
        cells: bits of a filter, from 2 to 4096.
        hashes: bits of a value, from 1 to 16.
        cohorts: from 1 to 4096; more tell more candidates apart.
        f: the share of bits that are replaced for good, in (0, 1).
        p: the chance of a 1 for a bit 0 of the answer, in [0, q).
        q: the chance of a 1 for a bit 1 of the answer, in (p, 1).

    Guarantee: `epsilon` is 2 h ln((1 - f/2) / (f/2)) for all reports of one value, and `report_epsilon` is
        h ln(q* (1 - p*) / (p* (1 - q*))) for one, with q* = f (p + q)/2 + (1 - f) q and p* = f (p + q)/2 + (1 - f) p.
        Probabilities are rounded to the private side, to multiples of 2^-64.
    Source: Erlingsson, Pihur, Korolova (2014), arXiv:1407.6981.

    >>> from deniable.local.deployed import Rappor
    >>> rappor = Rappor(hashes=2, f="1/2", p="1/2", q="3/4")
    >>> round(float(rappor.epsilon), 6), round(float(rappor.report_epsilon), 6)
    (4.394449, 1.074286)
    >>> answer = rappor.estimate(rappor.encode(["tea"] * 900 + ["mate"] * 100), candidates=["tea", "coffee"])
    """

    kind: ClassVar[str] = "rappor"

    cells: int = 128
    hashes: int = 2
    cohorts: int = 64
    f: Fraction = Fraction(1, 2)
    p: Fraction = Fraction(1, 2)
    q: Fraction = Fraction(3, 4)
    epsilon: Annotated[Fraction, positive_rational] = field(init=False)
    report_epsilon: Fraction = field(init=False)

    def __post_init__(self) -> None:
        for name, lower, upper in (("cells", 2, 4096), ("hashes", 1, 16), ("cohorts", 1, 4096)):
            whole_number(name, getattr(self, name), lower=lower, upper=upper)
        f, p, q = (probability(name, getattr(self, name)) for name in "fpq")
        facts = {"f": 2 * coin_above(f / 2), "p": coin_above(p), "q": 1 - coin_above(1 - q)}
        if not 0 < facts["f"] < 1 or facts["p"] >= facts["q"]:
            raise InvalidParameterError("f must be in (0, 1), and p below q")
        read_fields(self, **facts)
        one, zero = self.chances
        ratio_of_report = one * (1 - zero) / (zero * (1 - one))
        ratio_of_answer = ((2 - self.f) / self.f) ** 2
        epsilon = log_above(ratio_of_answer**self.hashes)
        report_epsilon = log_above(ratio_of_report**self.hashes)
        read_fields(self, epsilon=epsilon, report_epsilon=report_epsilon)
        super().__post_init__()

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Probabilities q* and p* of a 1 in a report.

        For a bit of the value, and for another one.
        """
        fair = self.f * (self.p + self.q) / 2
        return fair + (1 - self.f) * self.q, fair + (1 - self.f) * self.p

    @property
    def groups(self) -> int:
        """Number of cohorts."""
        return self.cohorts

    @cached_property
    def row(self) -> UnaryEncoding:
        """Format of a row of bits."""
        return UnaryEncoding(values=self.cells, epsilon=self.epsilon)

    def _indices(self, values: Container) -> Integers:
        """Return the key of each value."""
        return keys_of(values)

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw permanent filters: each bit is replaced by a fair coin with probability f."""
        filters = np.packbits(self._filters(of_bytes(settled), keys), axis=-1, bitorder="little")
        return filters ^ rows_of_coins(p=self.f / 2, people=len(keys), columns=self.cells, bits=bits)

    def report(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw reports: a 1 with probability q where the answer has 1, p where 0."""
        ones = rows_of_coins(p=self.q, people=len(answers), columns=self.cells, bits=bits)
        zeros = rows_of_coins(p=self.p, people=len(answers), columns=self.cells, bits=bits)
        return np.concatenate([settled, (answers & ones) | (~answers & zeros)], axis=1)

    def _filters(self, cohorts: Integers, keys: Integers) -> NDArray[np.bool_]:
        """Return Bloom filters of keys, shape (..., cells)."""
        functions = cohorts[..., np.newaxis] * self.hashes + np.arange(self.hashes)
        cells = cells_of(functions, keys[..., np.newaxis], shape=(self.cohorts * self.hashes, self.cells))
        filters = np.zeros((*cells.shape[:-1], self.cells), dtype=bool)
        np.put_along_axis(filters, cells, True, axis=-1)
        return filters

    def estimate(self, reports: Any, *, people: int | None = None, candidates: Any = None) -> Release:
        """Estimate the number of people with each candidate value.

        The last one, with the key None, is of people with any other value. Bits without the bias of noise, (c - p* N) /
        (q* - p*), are fitted by least squares to the filters of the candidates, and to the mean filter of a value that
        is none of them: without bias over coins, cohorts and the filters of other values. The normal intervals cover
        the coins and the cohorts, and not the deviation of the filters of other values from their mean.

        Args:
            reports, people: as in `Protocol.estimate`.
            candidates: the values that are asked about.
        """
        tally, count, names = self.grouped_tally(reports, people, candidates)
        one, zero = map(float, self.chances)
        sizes = tally[:, :1]
        ones = tally[:, 1:]
        flat, design = self._design(names)
        if np.linalg.cond(flat @ flat.T) > 1e9:
            raise InvalidParameterError("these filters cannot distinguish the candidates: ask about fewer values")
        held = (ones - zero * sizes) / (one - zero)
        fit = np.linalg.solve(flat @ flat.T, flat)
        estimates = fit @ held.ravel()
        bits = np.clip(held, 0, sizes) * (one * (1 - one) - zero * (1 - zero)) + sizes * zero * (1 - zero)
        coins = fit**2 @ bits.ravel() / (one - zero) ** 2
        parts = zip(np.split(fit, self.cohorts, axis=1), design, strict=True)  # of one person, by cohort
        squares = sum((part @ filters.T) ** 2 for part, filters in parts)
        cohorts = np.maximum(squares / self.cohorts - np.eye(len(estimates)), 0) @ np.maximum(estimates, 0)
        counts = normal_counts(estimates, coins + cohorts)
        return self.published(count, Key(name="value", values=(*names, None)), counts, normal=True)

    def _design(self, names: tuple[Any, ...]) -> tuple[Floats, Floats]:
        """Return the filters of candidates and of another value, for all cohorts.

        Their shapes are (names, cohorts cells), divided by the number of cohorts, and (cohorts, names, cells).
        """
        known = self._filters(np.arange(self.cohorts)[:, np.newaxis], keys_of(list(names)))
        other = np.full((self.cohorts, 1, self.cells), 1 - (1 - 1 / self.cells) ** self.hashes)
        design = np.concatenate([known, other], axis=1)
        return design.transpose(1, 0, 2).reshape(len(names) + 1, -1) / self.cohorts, design


def log_above(ratio: Fraction) -> Fraction:
    """Return a multiple of 2^-32 that is at least ln(ratio), certified."""
    return Fraction(-certified_floor(lambda: -ball(ratio).log() * 2**32), 2**32)
