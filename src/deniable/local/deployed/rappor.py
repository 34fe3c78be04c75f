"""Report a Bloom filter of text, randomised once for good and again for every report (RAPPOR)."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local.codes import last_bits, of_bytes, row_width, to_bytes
from deniable.local.deployed.hashes import Bytes, HashFamily, Integers, keys_of, rows_of_coins, sums_by_group
from deniable.local.deployed.memo import Memoised, log_above
from deniable.local.protocol import fine_above
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import probability, whole_number
from deniable.privacy.call import read_fields
from deniable.release import Bounds, Estimate, Key, Release
from deniable.rows import Container, distinct

Floats = NDArray[np.float64]

_COHORT = 2  # bytes


@dataclass(frozen=True, kw_only=True)
class Rappor(Memoised):
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

    Guarantee: `privacy_loss` is 2 h ln((1 - f/2) / (f/2)) for all reports of one value, and `report_loss` is
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
    f: Annotated[Fraction, probability] = Fraction(1, 2)
    p: Annotated[Fraction, probability] = Fraction(1, 2)
    q: Annotated[Fraction, probability] = Fraction(3, 4)

    def __post_init__(self) -> None:
        read_fields(self)
        for name, least, most in (("cells", 2, 4096), ("hashes", 1, 16), ("cohorts", 1, 4096)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), lower=least, upper=most))
        rounded = (2 * fine_above(self.f / 2), fine_above(self.p), 1 - fine_above(1 - self.q))
        for name, value in zip("fpq", rounded, strict=True):
            object.__setattr__(self, name, value)
        if not 0 < self.f < 1 or not self.p < self.q:
            raise InvalidParameterError("f must be in (0, 1), and p below q")

    # --- what it costs -------------------------------------------------------------------------------------------

    @property
    def odds(self) -> Fraction:
        """The greatest ratio of the chances of a permanent answer: two values differ in two bits a hash."""
        return ((2 - self.f) / self.f) ** (2 * self.hashes)

    @property
    def report_odds(self) -> Fraction:
        """The greatest ratio of the chances of a report."""
        one, zero = self.chances
        return (one * (1 - zero) / (zero * (1 - one))) ** self.hashes

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The chances that a report has 1 for a bit of the value, and for another one: q* and p*."""
        fair = self.f * (self.p + self.q) / 2
        return fair + (1 - self.f) * self.q, fair + (1 - self.f) * self.p

    @cached_property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """The loss of all reports of one value."""
        return log_above(self.odds)

    @cached_property
    def report_epsilon(self) -> Fraction:  # type: ignore[override]
        """The loss of one report alone."""
        return log_above(self.report_odds)

    # --- on the client -------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return _COHORT + row_width(self.cells)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Cohorts, of two bytes."""
        return to_bytes(uniform.below(self.cohorts, size=people, bits=bits), _COHORT)

    def _places(self, values: Container) -> Integers:
        return keys_of(values)

    def _keys(self, places: Integers, settled: Bytes) -> Integers:
        return places

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        filters = np.packbits(self._filters(of_bytes(settled), keys), axis=-1, bitorder="little")
        return filters ^ rows_of_coins(p=self.f / 2, people=len(keys), columns=self.cells, bits=bits)

    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        ones, zeros = (rows_of_coins(p=p, people=len(answers), columns=self.cells, bits=bits) for p in (self.q, self.p))
        return np.concatenate([settled, (answers & ones) | (~answers & zeros)], axis=1)

    def _filters(self, cohorts: Integers, keys: Integers) -> NDArray[np.bool_]:
        """Bloom filters of shape (..., cells)."""
        functions = cohorts[..., np.newaxis] * self.hashes + np.arange(self.hashes)
        cells = self._family.cells_of(functions, keys[..., np.newaxis])
        found = np.zeros((*cells.shape[:-1], self.cells), dtype=bool)
        np.put_along_axis(found, cells, True, axis=-1)
        return found

    @cached_property
    def _family(self) -> HashFamily:
        return HashFamily(self.cohorts * self.hashes, self.cells)

    # --- on the server -------------------------------------------------------------------------------------------

    def _sound(self, reports: Bytes) -> NDArray[np.bool_]:
        return np.asarray((of_bytes(reports[:, :_COHORT]) < self.cohorts) & (reports[:, -1] <= last_bits(self.cells)))

    def _supports(self, reports: Bytes) -> Integers:
        """Reports of each cohort, and how many of them have each bit, of shape (cohorts, 1 + cells)."""
        own = of_bytes(reports[:, :_COHORT])
        ones = sums_by_group(own, reports[:, _COHORT:], count=self.cohorts, columns=self.cells)
        return np.column_stack([np.bincount(own, minlength=self.cohorts), ones])

    def estimate(self, reports: Any, *, people: int | None = None, candidates: Any = None) -> Release:
        """The number of people with each candidate value, and last, with the key None, of those with any other value.

        Bits without the bias of noise, (c - p* N) / (q* - p*), are fitted by least squares to the filters of the
        candidates, and to the mean filter of a value that is none of them. Without bias over the coins, the cohorts and
        the filters of other values. Intervals are normal ones; their variance has the coins and the cohorts, and it
        leaves out what filters of other values have beyond their mean.

        Args:
            reports: what clients sent, or the tally of `supports` together with `people`.
            people: how many reports are in the tally.
            candidates: the values that are asked about.

        Raises: InvalidParameterError for no reports, or candidates that the filters do not tell apart.
        """
        tally = self.supports(np.asarray(reports)) if people is None else np.asarray(reports, dtype=np.int64)
        if tally.shape != (self.cohorts, 1 + self.cells) or tally.min() < 0 or (tally > tally[:, :1]).any():
            raise InvalidParameterError("an estimate needs a tally of bits for every cohort")
        count = int(tally[:, 0].sum())
        if not count or people not in (None, count):
            raise InvalidParameterError("an estimate needs at least one report, and a tally of all people")
        if candidates is None or not len(candidates):
            raise InvalidParameterError("RAPPOR needs candidates: the values that are asked about")
        names = distinct(tuple(candidates))
        one, zero = map(float, self.chances)
        sizes, ones = tally[:, :1], tally[:, 1:]
        held = (ones - zero * sizes) / (one - zero)
        filters = self._filters(np.arange(self.cohorts)[:, np.newaxis], keys_of(list(names))).astype(float)
        other = np.full((self.cohorts, 1, self.cells), 1 - (1 - 1 / self.cells) ** self.hashes)
        design = np.concatenate([filters, other], axis=1)  # (cohorts, names, cells)
        flat = design.transpose(1, 0, 2).reshape(len(names) + 1, -1) / self.cohorts
        spread = np.linalg.eigvalsh(flat @ flat.T)
        if spread[0] < 1e-9 * spread[-1]:
            raise InvalidParameterError("these filters do not tell the candidates apart: ask about fewer values")
        fit = np.linalg.solve(flat @ flat.T, flat)
        found = fit @ held.ravel()
        bits = np.clip(held, 0, sizes)
        coins = fit**2 @ ((bits * one * (1 - one) + (sizes - bits) * zero * (1 - zero)) / (one - zero) ** 2).ravel()
        squares = np.zeros((len(found), len(found)))
        for cohort, part in enumerate(np.split(fit, self.cohorts, axis=1)):  # of one person, by cohort
            squares += (part @ design[cohort].T) ** 2
        drawn = np.maximum(squares / self.cohorts - np.eye(len(found)), 0) @ np.maximum(found, 0)
        error = np.sqrt(coins + drawn)

        def ends(level: float) -> Bounds:
            half = stats.norm.ppf((1 + level) / 2) * error
            return Bounds(found - half, found + half)

        return Release(
            parts=(Key(name="value", values=(*names, None)), Estimate(name="count", estimates=found, ends=ends)),
            cost=self.privacy_loss,
            text=f"Rappor: {count} reports",
            protects="one person's value (replace)",
            notes=(
                "The last row counts people with a value that is no candidate; intervals take the filters of such "
                "values to be like their mean.",
            ),
        )

    def to_data(self) -> dict[str, object]:
        numbers = {name: getattr(self, name) for name in ("cells", "hashes", "cohorts")}
        return {"protocol": self.kind, **numbers, **{name: str(getattr(self, name)) for name in "fpq"}}
