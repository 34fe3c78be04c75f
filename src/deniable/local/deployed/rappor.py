"""Report a Bloom filter of text, randomised once for good and again for every report (RAPPOR)."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, of_bytes, rows_of_coins
from deniable.local.deployed.memo import Memoised
from deniable.local.deployed.sketches import Grouped, cells_of, keys_of, normal_counts
from deniable.local.frequencies import UnaryEncoding
from deniable.local.protocol import fine_above
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.balls import ball, certified_floor
from deniable.numbers.rationals import positive_rational, probability, whole_number
from deniable.release import Key, Release
from deniable.rows import Container


@dataclass(frozen=True, kw_only=True)
class Rappor(Grouped, Memoised):
    """Report values that nobody has listed, such as text, as bits of a Bloom filter: one of several by cohort.

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

    >>> from deniable.local import Rappor
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
        for name, least, most in (("cells", 2, 4096), ("hashes", 1, 16), ("cohorts", 1, 4096)):
            whole_number(name, getattr(self, name), lower=least, upper=most)
        f, p, q = (probability(name, getattr(self, name)) for name in "fpq")
        facts = {"f": 2 * fine_above(f / 2), "p": fine_above(p), "q": 1 - fine_above(1 - q)}
        if not 0 < facts["f"] < 1 or facts["p"] >= facts["q"]:
            raise InvalidParameterError("f must be in (0, 1), and p below q")
        self.__dict__.update(facts)
        one, zero = self.chances
        told, kept = one * (1 - zero) / (zero * (1 - one)), ((2 - self.f) / self.f) ** 2
        self.__dict__.update(epsilon=log_above(kept**self.hashes), report_epsilon=log_above(told**self.hashes))
        super().__post_init__()

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The chances that a report has 1 for a bit of the value, and for another one: q* and p*."""
        fair = self.f * (self.p + self.q) / 2
        return fair + (1 - self.f) * self.q, fair + (1 - self.f) * self.p

    @property
    def groups(self) -> int:
        return self.cohorts

    @cached_property
    def row(self) -> UnaryEncoding:
        return UnaryEncoding(values=self.cells, epsilon=self.epsilon)

    def _places(self, values: Container) -> Integers:
        return keys_of(values)

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        filters = np.packbits(self._filters(of_bytes(settled), keys), axis=-1, bitorder="little")
        return filters ^ rows_of_coins(p=self.f / 2, people=len(keys), columns=self.cells, bits=bits)

    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        ones, zeros = (rows_of_coins(p=p, people=len(answers), columns=self.cells, bits=bits) for p in (self.q, self.p))
        return np.concatenate([settled, (answers & ones) | (~answers & zeros)], axis=1)

    def _filters(self, cohorts: Integers, keys: Integers) -> NDArray[np.bool_]:
        """Bloom filters of shape (..., cells)."""
        functions = cohorts[..., np.newaxis] * self.hashes + np.arange(self.hashes)
        cells = cells_of(functions, keys[..., np.newaxis], shape=(self.cohorts * self.hashes, self.cells))
        found = np.zeros((*cells.shape[:-1], self.cells), dtype=bool)
        np.put_along_axis(found, cells, True, axis=-1)
        return found

    def estimate(self, reports: Any, *, people: int | None = None, candidates: Any = None) -> Release:
        """The number of people with each candidate value, and last, with the key None, of those with any other value.

        Bits without the bias of noise, (c - p* N) / (q* - p*), are fitted by least squares to the filters of the
        candidates, and to the mean filter of a value that is none of them: without bias over coins, cohorts and the
        filters of other values. The normal intervals have the coins and the cohorts, and not what the filters of other
        values have beyond their mean.
        """
        tally, count, names = self.asked(reports, people, candidates)
        one, zero = map(float, self.chances)
        sizes, ones = tally[:, :1], tally[:, 1:]
        held = (ones - zero * sizes) / (one - zero)
        known = self._filters(np.arange(self.cohorts)[:, np.newaxis], keys_of(list(names)))
        other = np.full((self.cohorts, 1, self.cells), 1 - (1 - 1 / self.cells) ** self.hashes)
        design = np.concatenate([known, other], axis=1)  # (cohorts, names, cells)
        flat = design.transpose(1, 0, 2).reshape(len(names) + 1, -1) / self.cohorts
        if np.linalg.cond(flat @ flat.T) > 1e9:
            raise InvalidParameterError("these filters do not tell the candidates apart: ask about fewer values")
        fit = np.linalg.solve(flat @ flat.T, flat)
        found = fit @ held.ravel()
        bits = np.clip(held, 0, sizes) * (one * (1 - one) - zero * (1 - zero)) + sizes * zero * (1 - zero)
        coins = fit**2 @ bits.ravel() / (one - zero) ** 2
        parts = zip(np.split(fit, self.cohorts, axis=1), design, strict=True)  # of one person, by cohort
        squares = sum((part @ filters.T) ** 2 for part, filters in parts)
        drawn = np.maximum(squares / self.cohorts - np.eye(len(found)), 0) @ np.maximum(found, 0)
        counts = normal_counts(found, coins + drawn)
        return self.published(count, Key(name="value", values=(*names, None)), counts, normal=True)


def log_above(odds: Fraction) -> Fraction:
    """The least multiple of 2^-32 that is certainly at least ln(odds)."""
    return Fraction(-certified_floor(lambda: -ball(odds).log() * 2**32), 2**32)
