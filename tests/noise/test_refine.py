"""The slow path: prefixes, comparisons that need many words, certified floors."""

from fractions import Fraction

import mpmath as mp
import pytest

from deniable.noise import refine
from deniable.numbers import balls
from tests.noise.streams import ScriptedBits, enumerate_law


def test_a_prefix_grows_by_appending() -> None:
    longer = refine.Prefix(5, 3).extended(ScriptedBits([9]), 4)
    assert longer == refine.Prefix(5 * 16 + 9, 7)


@pytest.mark.parametrize("bound", [Fraction(1, 3), Fraction(5, 8), Fraction(1, 1000), Fraction(999, 1000)], ids=str)
def test_every_string_is_on_its_side_of_a_rational(bound: Fraction) -> None:
    def draw(bits: ScriptedBits) -> bool:
        first = refine.Prefix(int(bits.words(1)[0]), 4)
        return refine.below(first, lambda: balls.ball(bound), bits, 4)

    found, still_open = enumerate_law(draw, width=4, depth=4)
    assert found[True] == int(bound * 2**16)
    assert found[True] + found[False] + still_open == 2**16
    assert still_open == (0 if bound == Fraction(5, 8) else 1)


def test_a_fresh_number_instead_of_more_bits_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the mistake that biases the law, and the enumeration that notices."""
    monkeypatch.setattr(
        refine.Prefix, "extended", lambda self, bits, width: refine.Prefix(int(bits.words(1)[0]), width)
    )

    def draw(bits: ScriptedBits) -> bool:
        return refine.below(refine.Prefix(int(bits.words(1)[0]), 4), balls.exp_of_minus(Fraction(2)), bits, 4)

    found, _ = enumerate_law(draw, width=4, depth=3)
    assert found[True] != int(mp.floor(mp.exp(-2) * 2**12))


def test_a_comparison_that_ties_for_a_thousand_bits_is_decided() -> None:
    with mp.workprec(1300):
        digits = int(mp.floor(mp.exp(-mp.mpf(3) / 7) * mp.mpf(2) ** 1088))
    words = [(digits >> (64 * i)) & (2**64 - 1) for i in reversed(range(17))]
    for last, result in ((words[-1] - 1, True), (words[-1] + 1, False)):
        bits = ScriptedBits([*words[1:-1], last])
        assert refine.below(refine.Prefix(words[0], 64), balls.exp_of_minus(Fraction(3, 7)), bits) is result
        assert bits.used == 16
