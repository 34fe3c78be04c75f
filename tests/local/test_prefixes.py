"""Heavy hitters: what is found and what is not, the law of a report, thresholds, and two traps of other libraries."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local import HeavyHitters, pack, protocol_of, unpack
from deniable.local.prefixes import _cells
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(14)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_frequent_texts_are_found_and_others_are_not(step: int, whole: bool) -> None:
    """A threshold still finds texts in three groups: pure-LDP's PEM then finds none (local.md, section 9)."""
    protocol = HeavyHitters(alphabet="abcde", length=5, epsilon=4, step=step, whole=whole)
    rare = ["".join(word) for word in product("abcde", repeat=4)]
    people = ["decade"[:5]] * 9000 + ["bee"] * 8000 + [""] * 5000 + rare * 10 + ["not in it"] * 1000
    answer = protocol.estimate(protocol.encode(people, bits=BITS))
    counts = dict(zip(answer["text"], answer["count"], strict=True))
    assert set(counts) == {"decad", "bee", ""}
    ends = answer.intervals(0.999)["count"]
    truth = [{"decad": 9000, "bee": 8000, "": 6000}[text] for text in answer["text"]]
    assert (ends.lower <= truth).all()
    assert (truth <= ends.upper).all()
    assert "is found with probability 0.9" in answer.notes[0]


def test_prefixes_have_different_codes_that_say_which_text_they_are() -> None:
    """Apple's SFP in pure-LDP multiplies a hash with a place, and 0 times any place is 0 (local.md, section 9)."""
    protocol = HeavyHitters(alphabet="ab", length=4, epsilon=1)
    texts = ["".join(word) for size in range(5) for word in product("ab", repeat=size)]
    found = [protocol.code(text) for text in texts]
    assert len(set(found)) == len(texts) == 31
    assert [protocol._text(code) for code in found] == texts
    grown = np.zeros(1, dtype=np.int64)
    for turn in range(4):
        grown = protocol._extended(grown, start=turn == 0)
    assert sorted(grown) == sorted(found)
    assert protocol.code("abc") == protocol.code("ababa") == protocol.code(None) == protocol.code("") == 0


def test_the_law_of_a_cell_keeps_epsilon_and_support_is_as_stated() -> None:
    """The share of reports that support the own and another text, within five standard errors of 200,000 reports."""
    for whole, epsilon in ((False, 1.0), (True, 2.0)):
        protocol = HeavyHitters(alphabet=LETTERS, length=12, epsilon=str(epsilon), whole=whole)
        odds, cells = protocol.cell.likelihood_ratio, protocol.cell.cells
        assert float(odds) == pytest.approx(math.e, rel=1e-8)
        assert (odds <= math.e, cells) == (True, 4)
        own, other = protocol.code("heavy"), protocol.code("light")
        reports = protocol._hashed(np.full(200_000, own), BITS)
        functions = np.ascontiguousarray(reports[:, :-1]).view("<u8").astype(np.uint64)
        away = (reports[:, -1] - _cells(functions, np.uint64(own), cells).astype(int)) % cells
        for lie in range(1, cells):
            chance = float((1 - protocol.cell.p) / (cells - 1))
            assert (away == lie).mean() == pytest.approx(chance, abs=5 * math.sqrt(chance / 200_000))
        shares = protocol._support(reports, np.array([own, other])) / 200_000
        for share, chance in zip(shares, (float(protocol.cell.p), float(protocol.cell.q)), strict=True):
            assert share == pytest.approx(chance, abs=5 * math.sqrt(chance * (1 - chance) / 200_000))


def test_hashed_values_of_two_codes_are_independent() -> None:
    """Codes that differ in the high half alone: all pairs of four cells, within five standard errors."""
    functions = BITS.words(300_000).reshape(-1, 3)
    one, other = (_cells(functions, np.uint64(code), 4) for code in (5, 5 + 2**40))
    pairs = np.bincount(one * 4 + other, minlength=16) / 100_000
    assert pairs == pytest.approx(1 / 16, abs=5 * math.sqrt(1 / 16 / 100_000))


def test_the_threshold_keeps_what_nobody_holds_out_at_the_stated_rate() -> None:
    """100 runs without a frequent text, failure 0.3: false finds in at most 45 (3.3 standard errors above)."""
    protocol = HeavyHitters(alphabet="ab", length=2, epsilon=1)
    found = [protocol.estimate(protocol.encode([""] * 300, bits=BITS), failure="0.3") for _ in range(100)]
    assert sum(any(text != "" for text in answer["text"]) for answer in found) <= 45


def test_a_text_at_the_stated_share_is_found_as_often_as_said() -> None:
    """100 runs: 90 expected; at least 78 (4 standard errors below), and below 100: the share is not far above."""
    protocol = HeavyHitters(alphabet="ab", length=3, epsilon=2)
    some = ["aab"] * 600 + ["bbb"] * 300 + ["b"] * 1100
    note = protocol.estimate(protocol.encode(some, bits=BITS)).notes[0]
    held = round(float(note.split()[6]) * 2000)
    rows = ["bab"] * held + [("a", "aa", "bb", "abb")[i % 4] for i in range(2000 - held)]
    hits = sum("bab" in protocol.estimate(protocol.encode(rows, bits=BITS))["text"] for _ in range(100))
    assert 78 <= hits <= 99


def test_the_wire_carries_them_and_bad_input_is_refused() -> None:
    protocol = HeavyHitters(alphabet=LETTERS, length=6, epsilon=2, whole=True)
    assert protocol_of(protocol.to_json()) == protocol
    odd: list[Any] = [None, 3, "x" * 99, float("nan"), "ok", b"ok"]
    reports = protocol.encode(odd, bits=BITS)
    assert (unpack(protocol, pack(protocol, reports)) == reports).all()
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(np.full((1, protocol.width), 255, dtype=np.uint8))
    with pytest.raises(InvalidParameterError, match="keep them"):
        protocol.estimate(protocol.supports(reports), people=6)
    with pytest.raises(InvalidParameterError, match="all 6 lengths"):
        protocol.estimate(reports[:1])
    for wrong in ({"alphabet": "aa"}, {"alphabet": ""}, {"length": 30}, {"step": 7}, {"whole": 2}):
        with pytest.raises(InvalidParameterError):
            HeavyHitters(**{"alphabet": LETTERS, "length": 6, "epsilon": 1, **wrong})
