"""Frequent texts from sketches of their fragments, joined by a hash (Apple's SFP)."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, rel_entr

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import Bytes, of_bytes
from deniable.local.deployed.sketches import PRIME, CountMeanSketch, HadamardSketch, keys_of
from deniable.local.prefixes import HeavyHitters, recall_note
from deniable.local.protocol import PureProtocol
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import Real, probability, whole_number, yes_or_no
from deniable.release import Release
from deniable.release.columns import Key
from deniable.rows import Container, codes

_SHARES = np.geomspace(1e-6, 1, 4000)  # of people, for which recall is computed
_MAX_CODES = 2**21  # pairs of a hash and a fragment, which the server looks up for every position


@dataclass(frozen=True, kw_only=True)
class FragmentPuzzle(PureProtocol):
    """The texts that many people hold, from tallies of bounded memory.

    All texts over an alphabet are possible.

    A client draws a position, and reports the fragment of its text there with a hash of the whole text, the puzzle
    piece; and it reports the whole text. The server keeps frequent pairs of a piece and a fragment, joins fragments of
    one piece to texts that have this piece, and keeps those that the reports of whole texts confirm.

    Args:
        epsilon: of both reports together, in (0, 40].
        alphabet: all letters, each once. A text with another letter, or too long, is reported as the empty one.
        length: the most letters of a text: `step` times 2, 3, ...
        step: letters of a fragment.
        pieces: values of the hash.
        hashes: public functions of each sketch, for each position; more of them average collisions out.
        cells: of each function.
        share: of epsilon for the fragment, in (0, 1); the rest is for the whole text.
        signs: whether the sketches are `HadamardSketch`, with reports of a few bytes; else `CountMeanSketch`.

    Guarantee: the position is independent of the text, and two reports of sketches cost share epsilon and
        (1 - share) epsilon. Position, piece and fragment have different codes below 2^31 - 1 where one of them differs.
    Source: Apple (2017), "Learning with privacy at scale" (SFP).

    >>> from deniable.local.deployed import FragmentPuzzle
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
        read_fields(self, share=probability("share", self.share))
        if not self.share:
            raise InvalidParameterError("share must be above 0 and below 1: both reports need a part of epsilon")
        if self.texts.length % self.texts.step or self.positions < 2:
            raise InvalidParameterError("length must be step times two or more: texts are joined from fragments")
        pairs = self.pieces * self.fragments
        if pairs > _MAX_CODES or self.positions * pairs >= PRIME:
            raise InvalidParameterError("there are too many fragments to look up; take a smaller step, or fewer pieces")
        _ = self.parts, self.words

    @cached_property
    def texts(self) -> HeavyHitters:
        """Reader of texts."""
        return HeavyHitters(alphabet=self.alphabet, length=self.length, step=self.step, epsilon=self.epsilon)

    @property
    def positions(self) -> int:
        """Number of fragments of a text."""
        return self.length // self.step

    @property
    def fragments(self) -> int:
        """Number of possible fragments, with a letter for the end of a text."""
        return int((len(self.alphabet) + 1) ** self.step)

    @cached_property
    def parts(self) -> CountMeanSketch:
        """Sketch of pieces and fragments, with functions of its own for every position."""
        kind = HadamardSketch if self.signs else CountMeanSketch
        return kind(epsilon=self.epsilon * self.share, hashes=self.positions * self.hashes, cells=self.cells)

    @cached_property
    def words(self) -> CountMeanSketch:
        """Sketch of whole texts."""
        kind = HadamardSketch if self.signs else CountMeanSketch
        return kind(epsilon=self.epsilon * (1 - self.share), hashes=self.hashes, cells=self.cells)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """Greatest ratio of two probabilities of both reports together."""
        return self.parts.likelihood_ratio * self.words.likelihood_ratio

    @property
    def width(self) -> int:
        """Number of bytes of both reports together."""
        return self.parts.width + self.words.width

    @property
    def size(self) -> int:
        """Number of entries of both tallies together."""
        return self.parts.size + self.words.size

    def _encode(self, values: Container, bits: Bits) -> Bytes:
        """Randomise a fragment of each text and the whole text."""
        text_of_row, texts = codes(values)
        own = np.array([*(self.texts.code(text) for text in texts), 0], dtype=np.int64)
        keys = keys_of([self.texts._text(int(code)) for code in own])[text_of_row]
        settled = self.parts.settle(len(keys), bits=bits)
        code = self.code(own[text_of_row], keys % self.pieces, of_bytes(settled) // self.hashes)
        whole = self.words.report(keys, self.words.settle(len(keys), bits=bits), bits=bits)
        return np.concatenate([self.parts.report(code, settled, bits=bits), whole], axis=1)

    def code(self, own: Integers, piece: Integers, position: Integers) -> Integers:
        """Return the number of a position, a piece and the fragment there.

        Args:
            own: codes of texts.
            piece: hashes of texts.
            position: of the fragment.
        """
        rest = self.fragments ** (self.positions - 1 - position)
        return np.asarray((position * self.pieces + piece) * self.fragments + own // rest % self.fragments)

    def _sound(self, reports: Bytes) -> NDArray[np.bool_]:
        """Return whether both reports of each client are valid."""
        part, whole = np.split(reports, [self.parts.width], axis=1)
        return self.parts._sound(part) & self.words._sound(whole)

    def _add(self, tally: Integers, reports: Bytes) -> None:
        """Add reports to both tallies."""
        part, whole = np.split(reports, [self.parts.width], axis=1)
        self.parts._add(tally[: self.parts.size], part)
        self.words._add(tally[self.parts.size :], whole)

    def estimate(
        self, reports: Any, *, people: int | None = None, failure: Real = "0.05", max_texts: int = 10_000
    ) -> Release:
        """Estimate the texts that many people hold, with counts and intervals.

        A note states the share of people for which a text is found. Whatever people hold, a text of none of them is
        kept with probability `failure` in all, over coins and public functions. The share of functions where it shares
        a cell with others exceeds r with probability at most exp(-k KL(r, 1/m)) for k functions of m cells (Chernoff;
        by Hölder's inequality it is worst where all hold one text), and given that, supports are at most binomial with
        q + (p - q) r (Hoeffding, 1956).

        Args:
            reports, people: as in `Protocol.estimate`.
            failure: in (0, 1).
            max_texts: texts of one piece that are considered; if that leaves some out, no recall is stated.
        """
        tally, count = self.tallied(reports, people)
        chance = float(probability("failure", failure))
        max_texts = whole_number("max_texts", max_texts, lower=1)
        if not chance:
            raise InvalidParameterError("failure must be above 0: some text may appear that nobody holds")
        kept, recall = self._frequent_pairs(tally[: self.parts.size], count)
        width = max(int(max_texts ** (1 / self.positions) + 1e-9), 1)
        names, truncated = self._joined(kept, width=width)
        table, _, _ = self.words.grouped_tally(tally[self.parts.size :], count, [0])
        supports = self.words.support(table, np.arange(self.hashes), keys_of(names))
        threshold, tail = self._test(self.words, count, chance / max(len(names), 1))
        order = np.argsort(-supports, kind="stable")
        texts = tuple(names[index] for index in order if supports[index] >= threshold)
        note = recall_note(_SHARES, recall * tail * (not truncated))
        counts = self.words.counts(table, texts)
        return self.published(count, Key(name="text", values=texts), counts, note=note, normal=True)

    def _frequent_pairs(self, tally: Integers, count: int) -> tuple[list[Integers], NDArray[np.float64]]:
        """Return frequent pairs of a piece and a fragment, and the recall.

        Pairs are by position; the recall is that of all tests together.
        """
        table, _, _ = self.parts.grouped_tally(tally, count, [0])
        pairs = np.arange(self.pieces * self.fragments)
        kept = []
        recall = np.ones(len(_SHARES))
        for position in range(self.positions):
            functions = position * self.hashes + np.arange(self.hashes)
            supports = self.parts.support(table, functions, pairs + position * len(pairs))
            people = int(table[functions, 0].sum())
            threshold, tail = self._test(self.parts, people, 1 / self.fragments)  # one wrong fragment for every piece
            recall = recall * tail
            order = np.argsort(-supports, kind="stable")
            kept.append(order[supports[order] >= threshold])
        return kept, recall

    def _test(self, sketch: CountMeanSketch, people: int, chance: float) -> tuple[int, NDArray[np.float64]]:
        """Return a threshold, and the probability that a text of each share reaches it.

        The threshold is the least support that a key of nobody has with at most this chance.
        """
        shares = np.arange(self.hashes + 1) / self.hashes
        even = -(-PRIME // self.cells) / PRIME
        divergence = rel_entr(shares, even) + rel_entr(1 - shares, 1 - even)
        unlikely = self.hashes * divergence >= np.log(2 / chance)
        collisions = shares[unlikely & (shares > even)].min(initial=1.0)
        p, q = float(sketch.row.p), float(sketch.row.q)

        def tail(support: int) -> float:
            return -float(bdtrc(support, people, q + (p - q) * collisions))

        threshold = bisect_left(range(people), -chance / 2, key=tail) + 1
        return threshold, bdtrc(threshold - 1, people, q + (p - q) * _SHARES)

    def _joined(self, kept: list[Integers], *, width: int) -> tuple[list[str], bool]:
        """Return texts whose fragments are all kept with the text's own piece.

        Returns also whether some were left out.
        """
        names = []
        truncated = False
        for piece in set.intersection(*(set((pairs // self.fragments).tolist()) for pairs in kept)):
            joined = np.zeros(1, dtype=np.int64)
            for pairs in kept:
                fragments = pairs[pairs // self.fragments == piece] % self.fragments
                truncated |= len(fragments) > width
                joined = (joined[:, np.newaxis] * self.fragments + fragments[:width]).ravel()
            texts = [text for code in joined.tolist() if self.texts.code(text := self.texts._text(code)) == code]
            names += [text for text, key in zip(texts, keys_of(texts), strict=True) if key % self.pieces == piece]
        return names, truncated
