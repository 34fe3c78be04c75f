"""Heavy hitters: frequent texts, found letter by letter."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import to_bytes
from deniable.local.frequencies import LocalHashing
from deniable.local.protocol import PureProtocol
from deniable.mechanisms.response.tally import shares_of_population
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers, Words
from deniable.numbers.rationals import Real, probability, shown, whole_number, yes_or_no
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, codes

Reports = NDArray[np.uint8]

_LOW_WORD = 2**32  # hash functions split codes of texts into two words
_MAX_TEXTS = 2**62  # codes of texts are int64
_PART_BYTES = 25  # a hash function and a cell
_RECALL = 0.9  # of the texts that the note promises


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(PureProtocol):
    """The texts that many people hold, out of all over an alphabet.

    Estimates have a threshold, and state the recall that it gives. A client draws a length and reports its text's first
    letters, hashed by a function of its own (PEM). The server keeps the prefixes above a threshold, and looks for each
    one's extensions among those who drew the next length.

    Args:
        epsilon: of one report, in (0, 40].
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
        read_fields(self, length=whole_number("length", self.length, lower=1, upper=62))
        read_fields(self, step=whole_number("step", self.step, lower=1, upper=self.length))
        if (len(letters) + 1) ** self.length > _MAX_TEXTS:
            raise InvalidParameterError("there are more than 2^62 such texts; take a smaller length or alphabet")

    @property
    def lengths(self) -> range:
        """Number of letters left out, for each length that a client can draw.

        0 for the last.
        """
        return range(self.length - self.step, -self.step, -self.step)

    @property
    def size(self) -> int:
        """Number of lengths: a tally counts the people who drew each, and finds no texts."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """Number of bytes of a report: the length, and one or two hashed texts."""
        return 1 + _PART_BYTES * (1 + self.whole)

    @cached_property
    def cell(self) -> LocalHashing:
        """Randomizer of a hashed text."""
        return LocalHashing(values=2**31, epsilon=self.epsilon / 2 if self.whole else self.epsilon)

    def _encode(self, values: Container, bits: Bits) -> Reports:
        """Draw a length for each text, and randomise its first letters."""
        text_of_row, texts = codes(values)
        own = np.array([*(self.code(text) for text in texts), 0], dtype=np.int64)[text_of_row]
        drawn = uniform.below(self.size, size=text_of_row.shape, bits=bits)
        base = len(self.alphabet) + 1
        divisor = np.array([base ** max(rest, 0) for rest in self.lengths])[drawn]
        parts = [to_bytes(drawn, 1), self._hashed(own // divisor, bits)]
        if self.whole:
            parts.append(self._hashed(own, bits))
        return np.concatenate(parts, axis=1)

    def code(self, text: object) -> int:
        """Return a text as a number, different for all texts.

        It has a digit for each letter, and 0 for missing ones.
        """
        number = 0
        known = isinstance(text, str) and len(text) <= self.length and set(text) <= set(self.alphabet)
        for letter in (str(text) if known else "").ljust(self.length, "\0"):
            number = number * (len(self.alphabet) + 1) + self.alphabet.find(letter) + 1
        return number

    def _hashed(self, own: Integers, bits: Bits) -> Reports:
        """Draw a hash function for each code, and randomise its cell."""
        functions = bits.words(3 * len(own)).reshape(-1, 3)
        cells = self.cell.cells
        cell = _cells(functions, own.astype(np.uint64), cells)
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.cell.p, size=own.shape, bits=bits))
        cell[lies] = (cell[lies] + 1 + uniform.below(cells - 1, size=lies.size, bits=bits)) % cells
        return np.concatenate([functions.astype("<u8").view(np.uint8), to_bytes(cell, 1)], axis=1)

    def _sound(self, reports: Reports) -> NDArray[np.bool_]:
        """Return whether the length and the cells of each report exist."""
        cells = reports[:, _PART_BYTES::_PART_BYTES]
        return np.asarray((reports[:, 0] < self.size) & (cells < self.cell.cells).all(axis=1))

    def _supports(self, reports: Reports) -> Integers:
        """Return the number of reports of each length."""
        return np.bincount(reports[:, 0], minlength=self.size)

    def _support(self, part: Reports, candidates: Integers) -> Integers:
        """Return the number of hashed texts that support each candidate."""
        functions = np.ascontiguousarray(part[:, :-1]).view("<u8").astype(np.uint64)
        cells = (_cells(functions, one, self.cell.cells) for one in candidates.astype(np.uint64))
        return np.array([np.count_nonzero(cell == part[:, -1]) for cell in cells], dtype=np.int64)

    def estimate(
        self, reports: Reports | Integers, *, people: int | None = None, failure: Real = "0.05", max_texts: int = 1000
    ) -> Release:
        """Estimate the texts that many people hold, with counts and intervals.

        A note states the share of people for which a text is found.

        Args:
            reports: bytes of shape (people, width).
            people: leave it out; a tally finds no texts.
            failure: the probability, over all lengths together, that a prefix is kept which nobody holds.
            max_texts: prefixes of a length that are kept; if that leaves some out, no recall is stated.
        """
        if people is not None:
            raise InvalidParameterError("texts are found in reports, not in a tally: keep them, or use FragmentPuzzle")
        groups, count = self.tallied(reports, None)
        failure_probability = float(probability("failure", failure))
        max_texts = whole_number("max_texts", max_texts, lower=1)
        if not groups.all() or not failure_probability:
            raise InvalidParameterError(f"texts need reports about all {self.size} lengths, and a failure above 0")
        given = np.asarray(reports, dtype=np.uint8)
        p, q = float(self.cell.p), float(self.cell.q)
        shares = np.geomspace(1e-6, 1, 4000)
        recall = np.ones(len(shares))
        truncated = False
        prefixes = np.zeros(1, dtype=np.int64)
        for index, rest in enumerate(self.lengths):
            part = given[given[:, 0] == index, 1 : 1 + _PART_BYTES]
            for letter in range(self.step + min(rest, 0)):
                prefixes = self._extended(prefixes, start=index + letter == 0)
            supports = self._support(part, prefixes)
            threshold = self._threshold(len(part), failure_probability / self.size / max(len(prefixes), 1))
            recall *= bdtrc(threshold - 1, len(part), shares * p + (1 - shares) * q)
            order = np.argsort(-supports, kind="stable")
            order = order[supports[order] >= threshold]
            truncated |= len(order) > max_texts
            prefixes, supports = prefixes[order[:max_texts]], supports[order[:max_texts]]
        if self.whole:
            part = given[:, 1 + _PART_BYTES :]
            supports = self._support(part, prefixes)

        def ends(level: float) -> Bounds:
            return Bounds(*(count * end for end in shares_of_population(supports, len(part), p, q, 1 - level)))

        counts = count * (supports / len(part) - q) / (p - q)
        texts = Key(name="text", values=tuple(self._text(int(code)) for code in prefixes))
        note = recall_note(shares, recall * (not truncated))
        return self.published(count, texts, Estimate(name="count", estimates=counts, ends=ends), note=note)

    def _threshold(self, people: int, chance: float) -> int:
        """Return the least support that a prefix of nobody has with at most this chance."""
        tails = bdtrc(np.arange(people + 1), people, float(self.cell.q))  # P[support > 0], P[support > 1], ...
        return int((tails > chance).sum()) + 1

    def _extended(self, prefixes: Integers, *, start: bool) -> Integers:
        """Return all prefixes with one letter more; a text that has ended stays so."""
        base = len(self.alphabet) + 1
        longer = prefixes[:, np.newaxis] * base + np.arange(base)
        ended = (prefixes % base == 0) & (not start)
        return np.asarray(longer[~ended[:, np.newaxis] | (np.arange(base) == 0)])

    def _text(self, code: int) -> str:
        """Return the text of a code."""
        letters = ""
        while code:
            code, digit = divmod(code, len(self.alphabet) + 1)
            letters = ("\0" + self.alphabet)[digit] + letters
        return letters.rstrip("\0")


def recall_note(shares: NDArray[np.float64], recall: NDArray[np.float64]) -> str:
    """Return the note that states which texts are found.

    Args:
        shares: of people who hold a text, increasing.
        recall: the probability with which a text of each share is found.
    """
    if recall[-1] < _RECALL:
        return "too few people for a text to be found reliably"
    share = shares[np.argmax(recall >= _RECALL)]
    return f"a text that a share of {share:.3g} of the people holds is found with probability {_RECALL}"


def _cells(functions: Words, codes: Words, cells: int) -> Integers:
    """Return the cell of each code, or of one code for all, by vector multiply-shift.

    It is ((a lo + b hi + c) mod 2^64) / 2^32, cut into runs. For any two codes the two values are independent and even:
    Thorup (2015), arXiv:1504.06804, section 3.5.
    """
    low = codes & np.uint64(_LOW_WORD - 1)
    high = codes >> np.uint64(32)
    hashed = (functions[:, 0] * low + functions[:, 1] * high + functions[:, 2]) >> np.uint64(32)
    return np.asarray((hashed * np.uint64(cells)) >> np.uint64(32), dtype=np.int64)
