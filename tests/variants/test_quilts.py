"""Markov quilts: influences by enumeration, the claim by the checker, noise between the bounds that are known."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.variants import MarkovChain, MarkovQuilt, Pufferfish, record_pairs
from deniable.variants.quilts import _influences, _laws, _powers
from tests.variants.test_pufferfish import noisy

EVEN = MarkovChain(initial=["1/2", "1/2"], transition=[["0.6", "0.4"], ["0.4", "0.6"]])
TILTED = MarkovChain(initial=["0.1", "0.9"], transition=[["0.7", "0.3"], ["0.2", "0.8"]])
SURE = MarkovChain(initial=[1, 0, 0], transition=[["0.5", "0.5", 0], [0, "0.5", "0.5"], ["0.5", 0, "0.5"]])


@pytest.mark.parametrize("chain", [EVEN, TILTED, SURE])
def test_influences_are_those_of_the_enumerated_series(chain: MarkovChain) -> None:
    length, time = 5, 2  # times before and after are 2 and 2
    model, states = chain.model(length), range(len(chain.initial))
    table = _influences(*_powers(chain, 2), np.resize(_laws(chain, 3), (3, len(states)))[::-1])
    for a, b in product(range(3), repeat=2):
        ends = [time - a] * (a > 0) + [time + b] * (b > 0)
        laws = {}
        for x in states:
            mass = sum(p for series, p in model.items() if series[time] == x)
            if mass:
                laws[x] = {
                    y: sum(p for s, p in model.items() if s[time] == x and [s[e] for e in ends] == list(y)) / mass
                    for y in product(states, repeat=len(ends))
                }
        ratios = [(laws[x][y], laws[z][y]) for x in laws for z in laws for y in laws[x] if laws[x][y]]
        expected = max(math.log(p / q) if q else math.inf for p, q in ratios)
        assert table[a, b] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("chain", [EVEN, TILTED])
@pytest.mark.parametrize("epsilon", [1, 3])
def test_the_noise_keeps_the_claim_in_the_enumerated_scenario(chain: MarkovChain, epsilon: int) -> None:
    length = 6
    scenario = Pufferfish(pairs=record_pairs((0, 1), length), models=[chain.model(length)])
    quilt = MarkovQuilt(length=length, epsilon=epsilon, chains=[chain])
    assert scenario.epsilon(noisy(sum, float(quilt.scale), upper=length)).upper <= epsilon
    assert quilt.scale <= Fraction(length, epsilon) * (1 + Fraction(1, 2**30))
    assert scenario.epsilon(noisy(sum, 0.5 / epsilon, upper=length)).lower > epsilon  # the twin


def test_independent_times_need_the_noise_of_differential_privacy() -> None:
    coin = MarkovChain(initial=["0.3", "0.7"], transition=[["0.3", "0.7"]] * 2)
    assert float(MarkovQuilt(length=50, epsilon=2, chains=[coin]).scale) == pytest.approx(0.5, rel=1e-9)


def test_a_chain_that_never_moves_needs_the_noise_of_the_group() -> None:
    still = MarkovChain(initial=["1/2", "1/2"], transition=[[1, 0], [0, 1]])
    assert float(MarkovQuilt(length=20, epsilon=2, chains=[still]).scale) == pytest.approx(10, rel=1e-9)


def test_the_best_quilt_of_a_long_chain_is_found() -> None:
    """Brute force with its own formula: for the two-state chain with flips f, P^t has (1 +- (1 - 2 f)^t) / 2."""
    length, epsilon, memory = 1000, 1.0, 0.8

    def influence(t: int) -> float:
        return math.log((1 + memory**t) / (1 - memory**t))

    sides = range(1, 65)
    best = min(
        (a + b - 1) / (epsilon - influence(a) - influence(b))
        for a in sides
        for b in sides
        if influence(a) + influence(b) < epsilon
    )
    chain = MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.1"], ["0.1", "0.9"]])
    quilt = MarkovQuilt(length=length, epsilon=1, chains=[chain])
    assert float(quilt.scale) == pytest.approx(best, rel=1e-9)
    approximate = MarkovQuilt(length=length, epsilon=1, states=2, smallest="1/2", gap="0.36")
    assert quilt.scale <= approximate.scale < 60  # 3 logarithms in place of 2


def test_approximate_noise_is_above_exact_noise_whatever_the_start() -> None:
    """The facts of the chain: stationary law (0.4, 0.6), second eigenvalue 0.5, so 1 - 0.5^2 = 0.75."""
    for initial in (["0.4", "0.6"], ["0.1", "0.9"], [1, 0]):
        chain = MarkovChain(initial=initial, transition=[["0.7", "0.3"], ["0.2", "0.8"]])
        exact = MarkovQuilt(length=60, epsilon=1, chains=[chain], window=20)
        assert exact.scale <= MarkovQuilt(length=60, epsilon=1, states=2, smallest="0.4", gap="0.75").scale


def test_a_class_needs_the_noise_of_its_worst_chain_at_least() -> None:
    alone = [MarkovQuilt(length=30, epsilon=1, chains=[chain], window=15).scale for chain in (EVEN, TILTED)]
    assert MarkovQuilt(length=30, epsilon=1, chains=[EVEN, TILTED], window=15).scale >= max(alone)


def test_counts_of_states_have_the_noise_of_two_counts() -> None:
    quilt = MarkovQuilt(length=6, epsilon=400, chains=[EVEN])
    found = quilt.release([0, 1, 1, float("nan"), 7, "text"], bits=DeterministicBits(1))
    assert found.value.tolist() == [4, 2]
    assert not found.safe
    with pytest.raises(InvalidParameterError, match="declared length, 6, got 2"):
        quilt.release([0, 1])


def test_tiny_probabilities_are_on_the_private_side() -> None:
    chain = MarkovChain(initial=["1/2", "1/2"], transition=[["1e-299", 1 - Fraction(1, 10**299)], ["1/2", "1/2"]])
    assert np.isinf(_influences(*_powers(chain, 1), np.full((2, 2), 0.5))[0, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 0},
        {"epsilon": 0},
        {"chains": []},
        {"gap": 1},
        {"chains": [EVEN, SURE]},
        {"chains": [], "smallest": "0.1", "gap": 2, "states": 2},
        {"chains": [], "smallest": "0.1", "gap": 1},
    ],
)
def test_bad_input_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        MarkovQuilt(**{"length": 10, "epsilon": 1, "chains": [EVEN], **wrong})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError):
        MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.2"], ["0.1", "0.9"]])
