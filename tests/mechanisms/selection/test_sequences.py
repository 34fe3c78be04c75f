"""Counting sequences by brute force, pieces of gaps, and their weights in 50 digits."""

from fractions import Fraction
from itertools import permutations
from math import prod

import mpmath as mp
import numpy as np
import pytest
from flint import ctx

from deniable.mechanisms.selection import sequences


def in_order(generator: np.random.Generator, below: int, size: int) -> np.ndarray:
    behind = np.sort(generator.integers(0, below, size))
    return np.asarray(behind - behind[0])


def gaps_of(behind: np.ndarray, count: int) -> np.ndarray:
    every = permutations(range(behind.size), count)
    return np.array([max(behind[i] - behind[place] for place, i in enumerate(chosen)) for chosen in every])


def test_numbers_of_sequences_agree_with_enumeration() -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        size = int(generator.integers(1, 7))
        behind, count = in_order(generator, 9, size), int(generator.integers(1, size + 1))
        every, gaps = gaps_of(behind, count), np.arange(12)
        numbers = np.array(
            [prod(int(n) - i for i, n in enumerate(row)) for row in sequences.open_places(behind, count, gaps)]
        )
        assert (numbers == (every[:, None] <= gaps).sum(axis=0)).all()
        assert sequences.log_number(behind, count, gaps) == pytest.approx(np.log(numbers), abs=1e-9)


@pytest.mark.parametrize(("below", "rate"), [(2, 0.5), (50, 0.5), (10**5, 1e-3), (2**61, 1e-16), (2**61, 3.0)])
def test_pieces_cover_every_gap_once_and_the_number_grows_little_where_it_matters(below: int, rate: float) -> None:
    behind, count = in_order(np.random.default_rng(2), below, 300), 7
    stop = int(behind[-1])
    start, end = sequences.pieces(behind, count, stop, rate)
    order = np.argsort(start)
    start, end = start[order], end[order]
    assert start[0] == 0
    assert end[-1] == stop - 1
    assert (start[1:] == end[:-1] + 1).all()
    low, high = (sequences.log_number(behind, count, each) for each in (start, end))
    mass = np.log(-np.expm1(-rate * (end - start + 1))) - rate * start
    matters = high + mass > (low + mass).max() - sequences.FAINT
    assert ((high - low <= sequences.GROWTH) | (start == end) | ~matters).all()
    assert start.size <= 62 * count * np.log(300) + 1


def test_nothing_is_cut_where_all_are_equal() -> None:
    start, end = sequences.pieces(np.zeros(5, dtype=np.int64), 2, 0, 1.0)
    assert start.size == end.size == 0


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 50), Fraction(3), Fraction(10**4, 7)])
def test_float_weights_lie_within_their_errors_of_the_exact_ones(rate: Fraction) -> None:
    """Of pieces of all lengths, the last without an end; the enclosures of the slow way hold the same numbers."""
    behind, count = in_order(np.random.default_rng(4), 300, 40), 6
    start, end = np.array([0, 1, 2, 9, 40, 170]), np.array([0, 1, 8, 39, 169])
    numbers = [
        prod(int(n) - i for i, n in enumerate(row)) for row in sequences.open_places(behind, count, np.append(end, 300))
    ]
    logs = sequences.log_number(behind, count, np.append(end, 300))
    base, error = sequences.log_weights(logs, start, end - start[:-1] + 1, count, float(rate))
    assert (error < 1e-4).all()
    with mp.workdps(50), ctx.workprec(200):
        r = mp.mpf(rate.numerator) / rate.denominator
        for m, number in enumerate(numbers):
            length = int(end[m] - start[m]) + 1 if m < end.size else None
            truth = mp.log(number) - r * int(start[m])
            if length is not None:
                truth += mp.log(-mp.expm1(-r * length))
            assert abs(mp.mpf(float(base[m])) - truth) <= mp.mpf(float(error[m]))
            ball = sequences.weight(rate, int(start[m]), number, length)()
            assert float(ball.mid()) == pytest.approx(float(truth), rel=1e-14)
            assert float(ball.rad()) < 1e-30


def test_the_chance_to_reach_a_gap_is_the_sum_of_its_weights() -> None:
    rate = Fraction(2, 7)
    mass = np.exp(-float(rate) * np.arange(2000))
    for length in (2, 5, None):
        for offset in (1, 3, 4):
            if length is None or offset < length:
                share = mass[offset:length].sum() / mass[:length].sum()
                assert float(sequences.reaches(rate, offset, length)().mid()) == pytest.approx(share, rel=1e-12)


def test_tiny_rates_lose_no_digits() -> None:
    """With almost equal weights 3 of 8 gaps are reached, not 0/0."""
    with ctx.workprec(128):
        found = sequences.reaches(Fraction(1, 2**100), 5, 8)()
    assert float(found.mid()) == pytest.approx(3 / 8, rel=1e-15)
    assert float(found.rad()) < 1e-15
