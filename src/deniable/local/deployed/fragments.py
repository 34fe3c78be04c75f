"""Frequent texts out of a sketch of their fragments, which a hash of the whole text joins (Apple's SFP)."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, rel_entr

from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, of_bytes
from deniable.local.deployed.sketches import PRIME, CountMeanSketch, HadamardSketch, keys_of
from deniable.local.prefixes import HeavyHitters, recall_note
from deniable.local.protocol import PureProtocol
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import Real, probability, whole_number, yes_or_no
from deniable.release import Key, Release
from deniable.rows import Container, codes

_SHARES = np.geomspace(1e-6, 1, 4000)
_MOST_CODES = 2**21  # of a hash and a fragment, which the server looks up for every place


@dataclass(frozen=True, kw_only=True)
class FragmentPuzzle(PureProtocol):
    """The texts that many people hold, out of all over an alphabet, from tallies of bounded memory.

    A client draws a place, and reports the fragment of its text there with a hash of the whole text, the puzzle piece;
    and it reports the whole text. The server keeps frequent pairs of a piece and a fragment, joins fragments of one
    piece to texts that have this piece, and keeps those that the reports of whole texts bear out.

    Args:
        alphabet: all letters, each once. A text with another letter, or too long, is reported as the empty one.
        length: the most letters of a text: `step` times 2, 3, ...
        step: letters of a fragment.
        pieces: values of the hash.
        hashes: public functions of each sketch, for each place; more of them average collisions out.
        cells: of each function.
        share: of epsilon that is spent on the fragment, in (0, 1); the rest is the whole text's.
        signs: whether the sketches are `HadamardSketch`, with reports of a few bytes; else `CountMeanSketch`.

    Guarantee: the place is independent of the text, and two reports of sketches cost share epsilon and
        (1 - share) epsilon. Place, piece and fragment have different codes below 2^31 - 1 where one of them differs.
    Source: Apple (2017), "Learning with privacy at scale" (SFP).

    >>> from deniable.local import FragmentPuzzle
    >>> puzzle = FragmentPuzzle(alphabet="abc", length=4, epsilon=8, signs=True, cells=128)
    >>> answer = puzzle.estimate(puzzle.encode(["abba"] * 3000 + ["cab"] * 2000))
    """

    kind: ClassVar[str] = "sfp"

    alphabet: str
    length: int
    step: int = 2
    pieces: int = 256
    hashes: int = 256
    cells: int = 1024
    share: Fraction = Fraction(1, 2)
    signs: Annotated[bool, yes_or_no] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("pieces", self.pieces, lower=1, upper=2**16)
        object.__setattr__(self, "share", probability("share", self.share))
        if not self.share:
            raise InvalidParameterError("share must be above 0 and below 1: both reports need a part of epsilon")
        if self.texts.length % self.texts.step or self.places < 2:
            raise InvalidParameterError("length must be step times two or more: texts are joined from fragments")
        if self.pieces * self.fragments > _MOST_CODES or self.places * self.pieces * self.fragments >= PRIME:
            raise InvalidParameterError("there are too many fragments to look up; take a smaller step, or fewer pieces")
        _ = self.parts, self.words

    @cached_property
    def texts(self) -> HeavyHitters:
        """The reader of texts."""
        return HeavyHitters(alphabet=self.alphabet, length=self.length, step=self.step, epsilon=self.epsilon)

    @property
    def places(self) -> int:
        """How many fragments a text has."""
        return self.length // self.step

    @property
    def fragments(self) -> int:
        """How many fragments there are; one that ends early is filled up with a letter of its own."""
        return int((len(self.alphabet) + 1) ** self.step)

    @cached_property
    def parts(self) -> CountMeanSketch:
        """The sketch of pieces and fragments, with functions of its own for every place."""
        kind = HadamardSketch if self.signs else CountMeanSketch
        return kind(epsilon=self.epsilon * self.share, hashes=self.places * self.hashes, cells=self.cells)

    @cached_property
    def words(self) -> CountMeanSketch:
        """The sketch of whole texts."""
        kind = HadamardSketch if self.signs else CountMeanSketch
        return kind(epsilon=self.epsilon * (1 - self.share), hashes=self.hashes, cells=self.cells)

    @cached_property
    def odds(self) -> Fraction:
        return self.parts.odds * self.words.odds

    @property
    def width(self) -> int:
        return self.parts.width + self.words.width

    @property
    def size(self) -> int:
        return self.parts.size + self.words.size

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        rows, known = codes(values)
        own = np.array([*(self.texts.code(each) for each in known), 0], dtype=np.int64)
        keys = keys_of([self.texts._text(int(code)) for code in own])[rows]
        settled = self.parts.settle(len(keys), bits=bits)
        code = self.code(own[rows], keys % self.pieces, of_bytes(settled) // self.hashes)
        whole = self.words.tell(keys, self.words.settle(len(keys), bits=bits), bits=bits)
        return np.concatenate([self.parts.tell(code, settled, bits=bits), whole], axis=1)

    def code(self, own: Integers, piece: Integers, place: Integers) -> Integers:
        """The number of a place, a piece and the fragment there, different for all that differ in one of them."""
        rest = self.fragments ** (self.places - 1 - place)
        return np.asarray((place * self.pieces + piece) * self.fragments + own // rest % self.fragments)

    def _sound(self, reports: Bytes) -> NDArray[np.bool_]:
        part, whole = np.split(reports, [self.parts.width], axis=1)
        return self.parts._sound(part) & self.words._sound(whole)

    def _add(self, tally: Integers, reports: Bytes) -> None:
        part, whole = np.split(reports, [self.parts.width], axis=1)
        self.parts._add(tally[: self.parts.size], part)
        self.words._add(tally[self.parts.size :], whole)

    def estimate(
        self, reports: Any, *, people: int | None = None, failure: Real = "0.05", most: int = 10_000
    ) -> Release:
        """The texts that many people hold, with counts and intervals; a note says which share is found.

        Whatever people hold, a text of none of them is kept with probability `failure` in all, over coins and public
        functions. The share of functions where it meets others' cells exceeds r with probability at most
        exp(-k KL(r, 1/m)) for k functions of m cells (Chernoff; by Hölder's inequality it is worst where all hold one
        text), and given that, supports are at most binomial with q + (p - q) r (Hoeffding, 1956).

        Args:
            failure: in (0, 1).
            most: texts of one piece that are looked at; where that leaves some out, no recall is stated.
        """
        tally, count = self.tallied(reports, people)
        chance, most = float(probability("failure", failure)), whole_number("most", most, lower=1)
        if not chance:
            raise InvalidParameterError("failure must be above 0: some text may seem to be there")
        table, _, _ = self.parts.asked(tally[: self.parts.size], count, [0])
        whole, _, _ = self.words.asked(tally[self.parts.size :], count, [0])
        found, kept, pairs = np.ones(len(_SHARES)), [], np.arange(self.pieces * self.fragments)
        for place in range(self.places):
            functions = place * self.hashes + np.arange(self.hashes)
            told = self.parts.support(table, functions, pairs + place * len(pairs))
            number = int(table[functions, 0].sum())
            least, tail = self._test(self.parts, number, 1 / self.fragments)  # about one wrong fragment for every piece
            order, found = np.argsort(-told, kind="stable"), found * tail
            kept.append(order[told[order] >= least])
        names, full = self._joined(kept, wide=max(int(most ** (1 / self.places) + 1e-9), 1))
        told = self.words.support(whole, np.arange(self.hashes), keys_of(names))
        least, tail = self._test(self.words, count, chance / max(len(names), 1))
        texts = tuple(names[place] for place in np.argsort(-told, kind="stable") if told[place] >= least)
        note, counts = recall_note(_SHARES, found * tail * (not full)), self.words.counts(whole, texts)
        return self.published(count, Key(name="text", values=texts), counts, note=note, normal=True)

    def _test(self, sketch: CountMeanSketch, people: int, chance: float) -> tuple[int, NDArray[np.float64]]:
        """The least support that a key of nobody has with at most this chance; how likely one of each share has it."""
        shares, even = np.arange(self.hashes + 1) / self.hashes, -(-PRIME // self.cells) / PRIME
        far = self.hashes * (rel_entr(shares, even) + rel_entr(1 - shares, 1 - even)) >= np.log(2 / chance)
        met = shares[far & (shares > even)].min(initial=1.0)
        p, q = float(sketch.row.true), float(sketch.row.false)
        most = bisect_left(range(people), -chance / 2, key=lambda most: -bdtrc(most, people, q + (p - q) * met))
        return most + 1, bdtrc(most, people, q + (p - q) * _SHARES)

    def _joined(self, kept: list[Integers], *, wide: int) -> tuple[list[str], bool]:
        """Texts whose fragments are all kept with the text's own piece, and whether some were left out."""
        names, full = [], False
        for piece in set.intersection(*(set((pairs // self.fragments).tolist()) for pairs in kept)):
            joined = np.zeros(1, dtype=np.int64)
            for pairs in kept:
                fragments = pairs[pairs // self.fragments == piece] % self.fragments
                full |= len(fragments) > wide
                joined = (joined[:, np.newaxis] * self.fragments + fragments[:wide]).ravel()
            texts = [text for code in joined.tolist() if self.texts.code(text := self.texts._text(code)) == code]
            names += [text for text, key in zip(texts, keys_of(texts), strict=True) if key % self.pieces == piece]
        return names, full
