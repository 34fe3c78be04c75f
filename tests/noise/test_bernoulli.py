"""Coins: every bit string at small words by the same arithmetic, forced ties, bad input."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb

from deniable.errors import InvalidParameterError
from deniable.noise import bernoulli, refine
from deniable.noise.bits import DeterministicBits
from deniable.numbers import balls
from tests.noise.streams import ScriptedBits, enumerate_law


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)], ids=str)
def test_coins_follow_p_and_not_its_neighbours(p: Fraction) -> None:
    n = 1_000_000
    heads = int(bernoulli.sample(p=p, size=n, bits=DeterministicBits(5)).sum())
    deviation = np.sqrt(n * float(p) * (1 - float(p)))
    assert abs(heads - n * float(p)) <= 5 * deviation  # false alarm 6e-7
    assert abs(heads - n * (float(p) + 0.01)) > 5 * deviation  # the twin


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(40), Fraction(2**40)], ids=str)
def test_exp_coins_follow_exp_of_minus_x(x: Fraction) -> None:
    n = 1_000_000
    p = float(mp.exp(-mp.mpf(x.numerator) / x.denominator))
    heads = int(bernoulli.sample_exp(x=x, size=n, bits=DeterministicBits(6)).sum())
    assert abs(heads - n * p) <= 5 * np.sqrt(n * p * (1 - p))
    assert abs(heads - n * (p + 0.01)) > 5 * np.sqrt(n * p * (1 - p))


def test_coins_packed_in_words_follow_every_digit_of_p() -> None:
    """Words in which no coin is open are set apart again and again: what is left over must find its place."""
    p, n = Fraction(0xAAAAAAAAAAAAAAAA, 2**64), 64 * 2**18
    heads = int(np.bitwise_count(bernoulli.packed(p=p, words=2**18, bits=DeterministicBits(3))).sum())
    deviation = np.sqrt(n * float(p) * (1 - float(p)))
    assert abs(heads - n * float(p)) <= 4 * deviation


def test_coins_that_are_set_apart_twice_find_their_word() -> None:
    """p = 0.101 in binary. Of 16 words 12 are below 0.1 at once; of 4 one is equal to 0.10, and then below 0.101."""
    ones = 2**64 - 1
    bits = ScriptedBits([*[0] * 12, *[ones] * 4, *[ones] * 3, 0, 0])
    found = bernoulli.packed(p=Fraction(5, 8), words=16, bits=bits)
    assert found.tolist() == [*[ones] * 12, 0, 0, 0, ones]
    assert bits.used == 21


def test_digits_behind_words_of_zeros_count() -> None:
    """2^-130 = 0, 0, then 2^62 of 2^64: the third word decides."""
    for last, result in ((2**62 - 1, True), (2**62, False)):
        bits = ScriptedBits([0, 0, last])
        assert bool(bernoulli.sample(p=Fraction(1, 2**130), bits=bits)) is result


def test_a_tie_of_the_first_word_is_settled_by_the_next_ones() -> None:
    third = (2**64 - 1) // 3  # 1/3 = 0.0101..., the word 0101... ties for ever
    for last, result in ((third - 1, True), (third + 1, False)):
        bits = ScriptedBits([third, third, last])
        assert bool(bernoulli.sample(p=Fraction(1, 3), bits=bits)) is result
        assert bits.used == 3


def test_a_tie_with_a_short_fraction_is_false() -> None:
    bits = ScriptedBits([2**63])  # v in [1/2, 1/2 + 2^-64) is not below 1/2
    assert not bernoulli.sample(p=Fraction(1, 2), bits=bits)
    assert bits.used == 1


def test_a_tie_of_exp_is_settled_by_the_next_words() -> None:
    with mp.workdps(60):
        first, second = divmod(int(mp.floor(mp.exp(-1) * mp.mpf(2) ** 128)), 2**64)
    for last, result in ((second - 1, True), (second + 1, False)):
        bits = ScriptedBits([first, last])
        assert bool(bernoulli.sample_exp(x=1, bits=bits)) is result
        assert bits.used == 2


def test_every_string_of_small_words_gives_exp_to_the_last_bit() -> None:
    def draw(bits: ScriptedBits) -> bool:
        prefix = refine.Prefix(int(bits.words(1)[0]), 3)
        return refine.below(prefix, balls.exp_of_minus(Fraction(2, 5)), bits, 3)

    found, still_open = enumerate_law(draw, width=3, depth=4)
    assert found[True] == int(mp.floor(mp.exp(-mp.mpf(2) / 5) * 2**12))
    assert still_open == 1


@pytest.mark.parametrize("p", [0.5, -1, 2, Fraction(3, 2), True, "1", None])
def test_wrong_p_is_refused(p: object) -> None:
    with pytest.raises(InvalidParameterError, match="p must be"):
        bernoulli.sample(p=p)  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [0.5, -1, True, float("nan"), 2**41])
def test_wrong_x_is_refused(x: object) -> None:
    with pytest.raises(InvalidParameterError, match="x must be"):
        bernoulli.sample_exp(x=x)  # type: ignore[arg-type]


def test_enclosed_coins_follow_their_number_and_not_its_neighbours() -> None:
    n, p = 1_000_000, 1 / np.sqrt(2)
    heads = int(bernoulli.sample_enclosed(p=lambda: 1 / arb(2).sqrt(), size=n, bits=DeterministicBits(7)).sum())
    assert abs(heads - n * p) <= 5 * np.sqrt(n * p * (1 - p))  # false alarm 6e-7
    assert abs(heads - n * (p + 0.01)) > 5 * np.sqrt(n * p * (1 - p))


def test_each_coin_has_its_own_probability() -> None:
    n, chances = 300_000, np.array([0.0, 0.1, 0.5, 1.0])
    near = np.tile(chances, n)
    exact = [lambda c=c: arb(c) for c in chances]
    tossed = bernoulli.sample_each(probabilities=near, exact=lambda i: exact[i % 4], bits=DeterministicBits(8))
    heads = tossed.reshape(n, 4).sum(axis=0)
    assert (np.abs(heads - n * chances) <= 5 * np.sqrt(n * chances * (1 - chances))).all()


@pytest.mark.parametrize(("last", "result"), [(0, True), (2**64 - 1, False)])
def test_an_open_comparison_asks_the_enclosure(last: int, result: bool) -> None:
    third = (2**64 - 1) // 3
    bits = ScriptedBits([third, last])
    tossed = bernoulli.sample_each(probabilities=np.array([1 / 3]), exact=lambda _: lambda: arb(1) / 3, bits=bits)
    assert bool(tossed[0]) is result
    assert bits.used == 2


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 2), Fraction(3, 8), Fraction(2**64 // 3, 2**64)])
def test_packed_coins_compare_digits_of_uniform_numbers(p: Fraction) -> None:
    """A million coins within five standard errors; every place of a word by itself within six."""
    words = bernoulli.packed(p=p, words=20_000, bits=DeterministicBits(3))
    places = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1)
    error = float(p * (1 - p)) ** 0.5
    assert places.mean() == pytest.approx(float(p), abs=5 * error / places.size**0.5 + 1e-12)
    assert places.mean(axis=0) == pytest.approx(float(p), abs=6 * error / 20_000**0.5 + 1e-12)


@pytest.mark.parametrize("p", [Fraction(1), Fraction(1, 3), 0.5])
def test_packed_coins_refuse_chances_without_64_digits(p: object) -> None:
    with pytest.raises(InvalidParameterError):
        bernoulli.packed(p=p, words=1)  # type: ignore[arg-type]
