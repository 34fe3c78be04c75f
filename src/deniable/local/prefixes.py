"""Heavy hitters: texts that many people hold, found letter by letter among all that there could be."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from deniable.errors import InvalidParameterError
from deniable.local.codes import to_bytes
from deniable.local.frequencies import LocalHashing
from deniable.local.protocol import PureProtocol
from deniable.mechanisms.response.tally import shares_of_population
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers, Words
from deniable.numbers.rationals import Real, probability, shown, whole_number, yes_or_no
from deniable.release import Bounds, Estimate, Key, Release
from deniable.rows import Container, codes

Reports = NDArray[np.uint8]

_HALF, _CODES, _PART = 2**32, 2**62, 25  # bytes of a hash function and a cell
_RECALL = 0.9


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(PureProtocol):
    """The texts that many people hold, out of all over an alphabet, with a threshold and the recall that it gives.

    A client draws a length and reports its text's first letters, hashed by a function of its own (PEM). The server
    keeps the prefixes above a threshold, and looks for each one's extensions among those who drew the next length.

    Args:
        alphabet: all letters, each once. A text with another letter, or too long, is reported as the empty one.
        length: the most letters of a text; (letters + 1)^length is at most 2^62.
        step: letters by which lengths grow.
        whole: whether every client also reports its whole text, each report with half of epsilon (TreeHist).

    Guarantee: the length and the functions are independent of the text, and each cell is reported as by `LocalHashing`.
    Source: Wang, Li, Jha (2018), arXiv:1708.06674; Bassily, Nissim, Stemmer, Thakurta (2017), arXiv:1707.04982.

    >>> from deniable.local import HeavyHitters
    >>> protocol = HeavyHitters(alphabet="ab", length=3, epsilon=4)
    >>> answer = protocol.estimate(protocol.encode(["aba"] * 3000 + ["b"] * 2000))
    """

    kind: ClassVar[str] = "prefixes"

    alphabet: str
    length: int
    step: int = 1
    whole: Annotated[bool, yes_or_no] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        letters: object = self.alphabet
        if not isinstance(letters, str) or not letters or len({*letters, "\0"}) <= len(letters):
            raise InvalidParameterError(f"alphabet must be a text of different letters, got {shown(letters)}")
        object.__setattr__(self, "length", whole_number("length", self.length, lower=1, upper=62))
        object.__setattr__(self, "step", whole_number("step", self.step, lower=1, upper=self.length))
        if (len(letters) + 1) ** self.length > _CODES:
            raise InvalidParameterError("there are more than 2^62 such texts; take a smaller length or alphabet")

    @property
    def lengths(self) -> range:
        """How many letters are left out, for each length that a client can draw: 0 for the last."""
        return range(self.length - self.step, -self.step, -self.step)

    @property
    def size(self) -> int:
        """A tally is how many people drew each length, and finds no texts."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        return 1 + _PART * (1 + self.whole)

    @cached_property
    def cell(self) -> LocalHashing:
        """The law of one cell."""
        return LocalHashing(values=2**31, epsilon=self.epsilon / 2 if self.whole else self.epsilon)

    def _encode(self, values: Container, bits: Bits) -> Reports:
        places, keys = codes(values)
        own = np.array([*(self.code(each) for each in keys), 0], dtype=np.int64)[places]
        drawn = uniform.below(self.size, size=places.shape, bits=bits)
        base = len(self.alphabet) + 1
        divisor = np.array([base ** max(rest, 0) for rest in self.lengths])[drawn]
        parts = [to_bytes(drawn, 1), self._hashed(own // divisor, bits)]
        return np.concatenate([*parts, *([self._hashed(own, bits)] if self.whole else [])], axis=1)

    def code(self, text: object) -> int:
        """The text as a number with a digit for each letter, and 0 for those that it lacks; no two texts share one."""
        found = 0
        known = isinstance(text, str) and len(text) <= self.length and set(text) <= set(self.alphabet)
        for letter in (str(text) if known else "").ljust(self.length, "\0"):
            found = found * (len(self.alphabet) + 1) + self.alphabet.find(letter) + 1
        return found

    def _hashed(self, own: Integers, bits: Bits) -> Reports:
        functions, cells = bits.words(3 * len(own)).reshape(-1, 3), self.cell.cells
        cell = _cells(functions, own.astype(np.uint64), cells)
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.cell.true, size=own.shape, bits=bits))
        cell[lies] = (cell[lies] + 1 + uniform.below(cells - 1, size=lies.size, bits=bits)) % cells
        return np.concatenate([functions.astype("<u8").view(np.uint8), to_bytes(cell, 1)], axis=1)

    def _sound(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray((reports[:, 0] < self.size) & (reports[:, _PART::_PART] < self.cell.cells).all(axis=1))

    def _supports(self, reports: Reports) -> Integers:
        return np.bincount(reports[:, 0], minlength=self.size)

    def _support(self, part: Reports, candidates: Integers) -> Integers:
        functions = np.ascontiguousarray(part[:, :-1]).view("<u8").astype(np.uint64)
        cells = (_cells(functions, one, self.cell.cells) for one in candidates.astype(np.uint64))
        return np.array([np.count_nonzero(cell == part[:, -1]) for cell in cells], dtype=np.int64)

    def estimate(
        self, reports: Reports | Integers, *, people: int | None = None, failure: Real = "0.05", most: int = 1000
    ) -> Release:
        """The texts that many people hold, with counts and intervals; a note says which share is found.

        Args:
            failure: the probability, of all lengths together, that a prefix is kept which nobody holds.
            most: prefixes of a length that are kept at most; where that leaves some out, no recall is stated.
        """
        if people is not None:
            raise InvalidParameterError("texts are found in reports, not in a tally: keep them, or use FragmentPuzzle")
        groups, count = self.tallied(reports, None)
        chance, most = float(probability("failure", failure)), whole_number("most", most, lower=1)
        if not groups.all() or not chance:
            raise InvalidParameterError(f"texts need reports about all {self.size} lengths, and a failure above 0")
        given, kept = np.asarray(reports, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        true, false, shares = float(self.cell.true), float(self.cell.false), np.geomspace(1e-6, 1, 4000)
        found, full = np.ones(len(shares)), False
        for at, rest in enumerate(self.lengths):
            part = given[given[:, 0] == at, 1 : 1 + _PART]
            for turn in range(self.step + min(rest, 0)):
                kept = self._extended(kept, start=at + turn == 0)
            told = self._support(part, kept)
            tails = bdtrc(np.arange(len(part) + 1), len(part), false)  # P[support > 0, 1, ...] where nobody holds it
            least = int((tails > chance / self.size / max(len(kept), 1)).sum()) + 1
            found *= bdtrc(least - 1, len(part), shares * true + (1 - shares) * false)
            order = np.argsort(-told, kind="stable")
            order = order[told[order] >= least]
            full |= len(order) > most
            kept, told = kept[order[:most]], told[order[:most]]
        if self.whole:
            part = given[:, 1 + _PART :]
            told = self._support(part, kept)

        def ends(level: float) -> Bounds:
            return Bounds(*(count * end for end in shares_of_population(told, len(part), true, false, 1 - level)))

        note = recall_note(shares, found * (not full))
        counts = count * (told / len(part) - false) / (true - false)
        texts = Key(name="text", values=tuple(self._text(int(code)) for code in kept))
        return self.published(count, texts, Estimate(name="count", estimates=counts, ends=ends), note=note)

    def _extended(self, prefixes: Integers, *, start: bool) -> Integers:
        """All prefixes with one letter more; a text that has ended stays so."""
        base = len(self.alphabet) + 1
        longer = prefixes[:, np.newaxis] * base + np.arange(base)
        ended = (prefixes % base == 0) & (not start)
        return np.asarray(longer[~ended[:, np.newaxis] | (np.arange(base) == 0)])

    def _text(self, code: int) -> str:
        letters = ""
        while code:
            code, digit = divmod(code, len(self.alphabet) + 1)
            letters = ("\0" + self.alphabet)[digit] + letters
        return letters.rstrip("\0")


def recall_note(shares: NDArray[np.float64], found: NDArray[np.float64]) -> str:
    """Which texts are found, by the probability with which those of each share are."""
    if found[-1] < _RECALL:
        return "too few people for a text to be found surely"
    share = shares[np.argmax(found >= _RECALL)]
    return f"a text that a share of {share:.3g} of the people holds is found with probability {_RECALL}"


def _cells(functions: Words, codes: Words, cells: int) -> Integers:
    """Each code, or one for all, by vector multiply-shift: ((a lo + b hi + c) mod 2^64) / 2^32, cut into runs.

    For any two codes the two values are independent and even: Thorup (2015), arXiv:1504.06804, section 3.5.
    """
    low, high = codes & np.uint64(_HALF - 1), codes >> np.uint64(32)
    hashed = (functions[:, 0] * low + functions[:, 1] * high + functions[:, 2]) >> np.uint64(32)
    return np.asarray((hashed * np.uint64(cells)) >> np.uint64(32), dtype=np.int64)
