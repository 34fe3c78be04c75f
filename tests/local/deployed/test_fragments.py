"""Fragments and a puzzle piece: the law by enumeration, what is found and what is not, and codes without collisions."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import Collector, pack
from deniable.local.deployed import FragmentPuzzle
from deniable.local.deployed.sketches import PRIME, cells_of, keys_of
from deniable.noise.bits import DeterministicBits
from tests.local.deployed.test_sketches import BITS

TINY = [
    FragmentPuzzle(alphabet="ab", length=2, step=1, pieces=2, hashes=1, cells=4, epsilon=2, share="1/4", signs=signs)
    for signs in (True, False)
]
SMALL = FragmentPuzzle(alphabet="abc", length=4, pieces=8, hashes=64, cells=64, epsilon=6, signs=True)
TEXTS = ["".join(text) for size in range(3) for text in product("ab", repeat=size)]


def rows(sketch: Any, cell: int) -> dict[int, Fraction]:
    """The probability of every row about a cell of 4, from the definition of the sketch."""
    if sketch.kind == "hcms":
        share = Fraction(2, sketch.row.outputs) / (sketch.likelihood_ratio + 1)
        return {
            z: share * (1 if (z & (cell + 1)).bit_count() % 2 else sketch.likelihood_ratio)
            for z in range(sketch.row.outputs)
        }
    q = sketch.row.q
    return {z: math.prod(1 - q if (z >> at & 1) == (at == cell) else q for at in range(4)) for z in range(16)}


def law(puzzle: Any, text: str) -> dict[tuple[int, ...], Fraction]:
    """The probability of every report: an even place, and two rows, of a cell by place, piece and fragment."""
    letters, key = text.ljust(2, "\0"), int(keys_of([text])[0])
    found = {}
    for place in range(2):
        code = (place * 2 + key % 2) * 3 + "\0ab".index(letters[place])
        one = int(cells_of(np.array(place), np.array(code), shape=(2, 4)))
        two = int(cells_of(np.array(0), np.array(key), shape=(1, 4)))
        for (part, first), (whole, second) in product(rows(puzzle.parts, one).items(), rows(puzzle.words, two).items()):
            found[place, 0, part, 0, 0, whole] = first * second / 2
    return found


@pytest.mark.parametrize("puzzle", TINY, ids=lambda each: each.parts.kind)
def test_no_pair_of_texts_exceeds_the_claim_and_draws_have_the_law(puzzle: Any) -> None:
    """Seven texts, all pairs; chi-square at level 1e-6 with fixed bits."""
    laws = {text: law(puzzle, text) for text in TEXTS}
    assert all(sum(each.values()) == 1 for each in laws.values())
    worst = max(one[y] / other[y] for one in laws.values() for other in laws.values() for y in one)
    assert worst <= puzzle.likelihood_ratio
    assert math.log(worst) == pytest.approx(2, rel=1e-8)
    expected, runs = laws["ba"], 20_000
    drawn = Counter(map(tuple, puzzle.encode(["ba"] * runs, bits=BITS).tolist()))
    assert set(drawn) <= set(expected)
    observed = [drawn[told] for told in expected]
    assert stats.chisquare(observed, [runs * float(mass) for mass in expected.values()]).pvalue > 1e-6


def test_places_pieces_and_fragments_have_codes_of_their_own() -> None:
    """pure-LDP's codes, hash * (place + 1) and the fragment, do not: 0 times any place is 0 (local.md, section 9)."""
    triples = list(product(range(SMALL.positions), range(SMALL.pieces), range(SMALL.fragments)))
    place, piece, fragment = np.array(triples).T
    own = np.where(place == 0, fragment * SMALL.fragments, fragment)
    found = SMALL.code(own, piece, place)
    assert len(set(found.tolist())) == len(triples)
    assert found.min() >= 0
    assert found.max() < PRIME
    assert len(set(zip((piece * (place + 1)).tolist(), fragment.tolist(), strict=True))) < len(triples)


@pytest.mark.parametrize("signs", [True, False])
def test_frequent_texts_are_found_with_their_counts_in_tallies_of_bounded_memory(signs: bool) -> None:
    puzzle = FragmentPuzzle(alphabet="abcde", length=6, epsilon=8, pieces=32, hashes=128, cells=512, signs=signs)
    held = {"decade": 9000, "bee": 8000, "": 6000}
    people = [text for text, count in held.items() for _ in range(count)] + [
        "".join(x) for x in product("abc", repeat=6)
    ]
    collector = Collector(puzzle)
    for part in np.array_split(np.array(people, dtype=object), 5):
        collector.add(pack(puzzle, puzzle.encode(part, bits=BITS)))
    answer = collector.estimate()
    assert set(answer["text"]) == set(held)
    ends, truth = answer.intervals(0.999)["count"], np.array([held[text] for text in answer["text"]])
    assert (ends.lower <= truth).all()
    assert (truth <= ends.upper).all()
    assert "is found with probability 0.9" in answer.notes[0]
    assert "too few" in puzzle.estimate(puzzle.encode(["bee"], bits=BITS)).notes[0]


@pytest.mark.parametrize(("hashes", "cells", "people"), [(16, 16, 5000), (64, 256, 20_000), (256, 1024, 500)])
@pytest.mark.parametrize("chance", [0.2, 0.01, 1e-5])
def test_no_absent_text_passes_the_threshold_more_often_than_said(
    hashes: int, cells: int, people: int, chance: float
) -> None:
    """Everybody holds another text, whose cell the absent one's function meets with probability 1 / cells: exactly."""
    puzzle = FragmentPuzzle(alphabet="ab", length=4, hashes=hashes, cells=cells, epsilon=6)
    p, q = float(puzzle.words.row.p), float(puzzle.words.row.q)
    met = np.arange(hashes + 1)

    def passing(least: int) -> float:
        tails = stats.binom.sf(least - 1, people, q + (p - q) * met / hashes)
        return float((stats.binom.pmf(met, hashes, 1 / cells) * tails).sum())

    assert passing(puzzle._test(puzzle.words, people, chance)[0]) <= chance
    if people > 1000:  # without an allowance for functions that meet
        assert passing(int(stats.binom.isf(chance, people, q + (p - q) / cells)) + 1) > chance


def test_a_text_at_the_stated_share_is_found_as_often_as_said(monkeypatch: Any) -> None:
    """30 runs with functions of their own: 27 expected at least, 20 is 4.2 standard errors below."""
    source, hits = np.random.default_rng(3), 0
    some = ["aab"] * 600 + ["bbb"] * 300 + ["b"] * 3100
    held = math.ceil(float(SMALL.estimate(SMALL.encode(some, bits=BITS)).notes[0].split()[6]) * 4000)
    for _ in range(30):
        drawn = {count: source.integers(0, PRIME, (3, count)) for count in (64, 128)}
        monkeypatch.setattr("deniable.local.deployed.sketches._coefficients", drawn.__getitem__)
        people = ["bab"] * held + [("a", "aa", "bb", "abb")[i % 4] for i in range(4000 - held)]
        hits += "bab" in SMALL.estimate(SMALL.encode(people, bits=BITS))["text"]
    assert held < 2000
    assert hits >= 20


def test_other_texts_are_the_empty_one_and_puzzles_that_cannot_be_are_refused() -> None:
    odd = ["abcda", "d", None, 3, b"ab", "", "\0"]
    seeded = [SMALL.encode([value], bits=DeterministicBits(1)).tolist() for value in odd]
    assert all(each == seeded[0] for each in seeded)
    assert SMALL.encode(["ab"], bits=DeterministicBits(1)).tolist() != seeded[0]
    for wrong in (
        {"length": 5},
        {"length": 2},
        {"share": 0},
        {"share": 1},
        {"pieces": 0},
        {"step": 4, "alphabet": "abcdefghijklmnopqrstuvwxyz"},
        {"hashes": 2**16},
        {"alphabet": "aa"},
        {"signs": 2},
    ):
        with pytest.raises(InvalidParameterError):
            FragmentPuzzle(**{"alphabet": "ab", "length": 4, "epsilon": 1, **wrong})
    for failure in (0, 1):
        with pytest.raises(InvalidParameterError, match="failure"):
            SMALL.estimate(SMALL.encode(["ab"], bits=BITS), failure=failure)
