"""Intervals of noise at their corners, coarse bounds, limits on words, and the order of contenders."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.noise import contest, race, refine
from deniable.noise.contest import Contender, Noise
from tests.noise.streams import ScriptedBits

KINDS: list[Noise] = ["gumbel", "exponential", "laplace"]
EXTREME = [0, 1, 2, 3, 2**11, 2**30, 2**53 - 1, 2**62, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**63 + 2**11]
EXTREME += [2**64 - 2**12, 2**64 - 2**11, 2**64 - 3, 2**64 - 2, 2**64 - 1]
any_word = st.integers(0, 2**64 - 1) | st.sampled_from(EXTREME)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def noise_at(kind: Noise, uniform: mp.mpf) -> mp.mpf:
    """The noise as a function of the uniform number."""
    arrival = mp.inf if uniform == 0 else -mp.log(uniform)
    if kind == "exponential":
        return arrival
    return -mp.inf if arrival == mp.inf else mp.inf if arrival == 0 else -mp.log(arrival)


def corners(kind: Noise, word: int, width: int) -> tuple[mp.mpf, mp.mpf]:
    """The least and the largest noise of the numbers that begin with this word; all are monotone in them."""
    if kind == "laplace":
        low, high = corners("exponential", word % 2 ** (width - 1), width - 1)
        return (low, high) if word < 2 ** (width - 1) else (-high, -low)
    found = [noise_at(kind, (mp.mpf(word) + j) / mp.mpf(2) ** width) for j in (0, 1)]
    return min(found), max(found)


@pytest.mark.parametrize("kind", KINDS)
@given(word=any_word)
def test_the_interval_of_a_word_holds_both_corners(kind: Noise, word: int) -> None:
    with mp.workdps(60):
        centre, below, above = (float(x[0]) for x in contest.enclose(kind, np.array([word], dtype=np.uint64)))
        low, high = corners(kind, word, 64)
        assert mp.mpf(centre) - mp.mpf(below) <= low
        assert mp.mpf(centre) + mp.mpf(above) >= high
        if 2**40 < word < 2**63 - 2**40 or 2**63 + 2**40 < word < 2**64 - 2**40:
            assert below < 1e-6
            assert above < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@given(word=any_word)
def test_the_coarse_bound_is_above_the_noise_but_not_by_much(kind: Noise, word: int) -> None:
    with mp.workdps(60):
        found = float(contest.coarse_above(kind, np.array([word], dtype=np.uint64))[0])
        high = corners(kind, word, 64)[1]
        assert mp.mpf(found) + mp.mpf(contest.margin(0.0, 0.0)) >= high
        if 3 < high < 40:
            assert found < high + 1.4


@pytest.mark.parametrize("kind", KINDS)
@given(word=any_word, needed=st.floats(-5, 60))
def test_words_that_are_passed_over_cannot_reach(kind: Noise, word: int, needed: float) -> None:
    with mp.workdps(60):
        found = contest.who_may_reach(kind, np.array([word], dtype=np.uint64), needed)
        high = corners(kind, word, 64)[1]
        if found is not None and not found.size:
            assert high < needed
        if 1 < needed < 40 and high < needed - 1:
            assert found is not None
            assert not found.size


@pytest.mark.parametrize("kind", KINDS)
def test_of_small_words_just_those_that_may_reach_are_kept(kind: Noise) -> None:
    """All words of 4 bits: nobody who may reach is lost, and about as many others at most."""
    words = np.arange(16, dtype=np.uint64)
    for needed in np.linspace(0.05, 4, 60):
        found = contest.who_may_reach(kind, words, float(needed), 4)
        kept = set(range(16)) if found is None else set(found.tolist())
        able = {word for word in range(16) if corners(kind, word, 4)[1] >= needed}
        assert able <= kept
        if kind != "gumbel" and found is not None:
            assert len(kept) <= 2 * len(able) + 1


@pytest.mark.parametrize("kind", KINDS)
@given(
    word=any_word,
    score=st.integers(-(2**63), 2**63 - 1),
    reference=st.integers(-(2**63), 2**63 - 1),
    weight=st.integers(1, 2**63 - 1),
    rate=st.fractions(Fraction(1, 10**12), 2**90, max_denominator=10**12),
)
def test_noisy_scores_lie_between_their_ends(kind: Noise, word, score, reference, weight, rate) -> None:
    with mp.workdps(80):
        base, error = contest.base_of(np.array([score]), float(reference), float(rate), np.array([weight]))
        low, high = contest.ends(kind, np.array([word], dtype=np.uint64), base, error)
        exact = mp.mpf(rate.numerator) / rate.denominator * (score - reference) + mp.log(weight)
        least, most = corners(kind, word, 64)
        assert mp.mpf(float(low[0])) <= exact + least
        assert mp.mpf(float(high[0])) >= exact + most


@pytest.mark.parametrize("kind", KINDS)
@given(prefix=st.integers(1, 2**80 - 2))
def test_balls_hold_the_noise_and_are_narrow(kind: Noise, prefix: int) -> None:
    from flint import ctx

    with ctx.workprec(200), mp.workdps(60):
        ball = contest._ball(kind, refine.Prefix(prefix, 80))
        low, high = corners(kind, prefix, 80)
        slack = mp.mpf(10) ** -40 * (1 + abs(low))
        if ball.is_finite():
            assert mp.mpf(str(ball.lower().mid().str(60, radius=False))) <= low + slack
            assert mp.mpf(str(ball.upper().mid().str(60, radius=False))) >= high - slack
        else:
            assert kind == "laplace"
            assert prefix % 2**79 in {0, 2**79 - 1}


def contender(index: int, word: int, low: float, high: float) -> Contender:
    return Contender(index, race.exact_base(Fraction(1), 0, 0, 1), refine.Prefix(word, 64), low, high)


def test_intervals_that_do_not_overlap_are_ordered_without_a_word() -> None:
    members = [contender(0, 5, 0.0, 1.0), contender(1, 5, 4.0, 9.0), contender(2, 5, 2.0, 3.0)]
    found = contest.settle("exponential", members, 3, ScriptedBits([]), width=64, guard=64)
    assert found == [1, 2, 0]


def test_only_those_who_overlap_get_further_words() -> None:
    """A wide interval that reaches over a narrow one ties three of them together; the first is alone."""
    third = 2**62  # -ln of 1/4 is 1.39, of 1/8 it is 2.08
    members = [
        contender(0, third, 0.0, 5.0),
        contender(1, 2**61, 2.0, 2.5),
        contender(2, 2**63, 0.5, 0.6),
        contender(3, 1, 6.0, 7.0),
    ]
    bits = ScriptedBits([1, 2, 3])
    assert contest.settle("exponential", members, 4, bits, width=64, guard=64) == [3, 1, 0, 2]
    assert bits.used == 3
    lonely = ScriptedBits([])
    assert contest.settle("exponential", members, 1, lonely, width=64, guard=64) == [3]
