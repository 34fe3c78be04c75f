"""Markov quilts: influences by enumeration, the claim by the checker, noise between the bounds that are known."""

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from deniable.variants import MarkovChain, MarkovQuilt, Pufferfish, record_pairs
from deniable.variants.quilts import _influences, _laws, _powers
from tests.mechanisms.drawn import drawn_loss, recorded
from tests.variants.test_pufferfish import noisy

EVEN = MarkovChain(initial=["1/2", "1/2"], transition=[["0.6", "0.4"], ["0.4", "0.6"]])
TILTED = MarkovChain(initial=["0.1", "0.9"], transition=[["0.7", "0.3"], ["0.2", "0.8"]])
LAZY = MarkovChain(initial=[1, 0, 0], transition=[["0.2", "0.8", 0], [0, "0.3", "0.7"], ["0.9", 0, "0.1"]])
COIN = MarkovChain(initial=["1/2", "1/2"], transition=[["1/2", "1/2"]] * 2)
HISTOGRAMS = Path(__file__).parents[3] / "shared" / "data" / "histograms.npz"
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


@pytest.mark.parametrize(("chain", "least"), [(COIN, 1.9), (EVEN, 0.8), (TILTED, 0.9)])
def test_releases_of_one_mechanism_cost_at_most_the_sum(chain: MarkovChain, least: float) -> None:
    """The joint law of two releases; times that do not depend on each other attain the sum."""
    quilt = MarkovQuilt(length=5, epsilon=1, chains=[chain])
    scenario = Pufferfish(pairs=record_pairs((0, 1), 5), models=[chain.model(5)])

    def twice(data: Any) -> dict[int, Fraction]:
        law = noisy(sum, float(quilt.scale), upper=5)(data)
        return {10 * a + b: law[a] * law[b] for a, b in product(law, repeat=2)}

    assert least < scenario.epsilon(twice).upper <= 2


@pytest.mark.parametrize("chain", [LAZY, SURE, TILTED])
def test_counts_of_all_states_keep_the_claim_together(chain: MarkovChain) -> None:
    """All series of 5 times, and the law of the noisy counts of all states, clamped; scale 1/2 is too little."""
    length, states = 5, len(chain.initial)
    quilt = MarkovQuilt(length=length, epsilon=1, chains=[chain])

    def excess(scale: float) -> float:
        q, away = math.exp(-1 / scale), np.abs(np.arange(6)[:, None] - np.arange(6))
        noisy = (1 - q) / (1 + q) * q**away
        noisy[:, [0, -1]] /= 1 - q
        joint: dict[tuple[int, int], Any] = {}
        for series, p in chain.model(length).items():
            law: Any = float(p)
            for count in np.bincount(series, minlength=states):  # type: ignore[arg-type]
                law = np.multiply.outer(law, noisy[count])
            for secret in enumerate(series) if p else ():  # type: ignore[arg-type]
                joint[secret] = joint.get(secret, 0) + law
        laws = {secret: law / law.sum() for secret, law in joint.items()}
        return max(np.log(laws[t, x] / laws[t, y]).max() for t, x in laws for y in range(states) if (t, y) in laws)

    [(noise, *_)] = recorded(lambda: quilt.release([0] * length, bits=DeterministicBits(1)))
    assert excess(float(noise.scale)) <= 1  # type: ignore[attr-defined]
    assert excess(0.5) > 1


def test_independent_times_get_noise_that_attains_the_claim() -> None:
    """Of independent times the counts are those of differential privacy: half the scale has twice the loss."""
    quilt = MarkovQuilt(length=4, epsilon=1, chains=[COIN])
    run = lambda series, bits: quilt.release(series, bits=bits)  # noqa: E731
    drawn = drawn_loss(run, [0, 1, 0, 1], [1, 1, 0, 1], relation=Replace)
    assert 1 - 1e-8 < drawn.epsilon(0).upper <= quilt.epsilon


def test_independent_times_need_the_noise_of_differential_privacy() -> None:
    coin = MarkovChain(initial=["0.3", "0.7"], transition=[["0.3", "0.7"]] * 2)
    assert float(MarkovQuilt(length=50, epsilon=2, chains=[coin]).scale) == pytest.approx(0.5, rel=1e-9)


def test_influences_from_mixing_alone_have_the_published_form() -> None:
    """Song et al. (2017): the past counts twice, ln((pi + e^(-ga/2)) / (pi - e^(-ga/2))), the future once."""
    found = MarkovQuilt(length=100, epsilon=1, states=2, min_probability="2/5", gap="1/2")._mixed(12)

    def part(steps: int) -> float:
        far = math.exp(-steps / 4)
        return math.log((0.4 + far) / (0.4 - far)) if steps else 0.0

    for before, after in ((5, 0), (0, 5), (5, 9), (9, 5)):
        assert found[before, after] == pytest.approx(2 * part(before) + part(after), rel=1e-9)


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
    approximate = MarkovQuilt(length=length, epsilon=1, states=2, min_probability="1/2", gap="0.36")
    assert quilt.scale <= approximate.scale < 60  # 3 logarithms in place of 2


def test_the_example_of_the_paper_has_its_scales() -> None:
    """Song et al. (2017): 10.6402 for one chain. For the other, whose first state is known, they do not let a quilt end
    there: 13.0219; with it, an enumeration of all quilts gives 12.934051086."""
    known = MarkovChain(initial=[1, 0], transition=[["0.9", "0.1"], ["0.4", "0.6"]])
    other = MarkovChain(initial=["0.9", "0.1"], transition=[["0.8", "0.2"], ["0.3", "0.7"]])
    scales = [float(MarkovQuilt(length=100, epsilon=1, chains=chains).scale) for chains in ([other], [known])]
    assert scales == pytest.approx([10.64019298160811, 12.934051086186495], rel=1e-9)


def test_approximate_noise_is_above_exact_noise_whatever_the_start() -> None:
    """The facts of the chain: stationary law (0.4, 0.6), second eigenvalue 0.5, so 1 - 0.5^2 = 0.75."""
    for initial in (["0.4", "0.6"], ["0.1", "0.9"], [1, 0]):
        chain = MarkovChain(initial=initial, transition=[["0.7", "0.3"], ["0.2", "0.8"]])
        exact = MarkovQuilt(length=60, epsilon=1, chains=[chain], window=20)
        assert exact.scale <= MarkovQuilt(length=60, epsilon=1, states=2, min_probability="0.4", gap="0.75").scale


@pytest.mark.parametrize("chain", [EVEN, TILTED, LAZY])
def test_facts_of_mixing_are_those_of_the_powers(chain: MarkovChain) -> None:
    """The eigenvalues of P P* as it stands, and the bound that the facts promise, for 30 powers."""
    smallest, gap = chain.mixing
    matrix = np.array(chain.exact[1], dtype=float)
    stationary = np.linalg.matrix_power(matrix, 4000)[0]
    assert float(smallest) == pytest.approx(stationary.min(), rel=1e-9)
    reversal = matrix.T * stationary / stationary[:, None]
    second = np.sort(np.linalg.eigvals(matrix @ reversal).real)[-2]
    assert 1 - second - 1e-8 < gap <= 1 - second
    for power in range(1, 31):
        away = np.abs(np.linalg.matrix_power(matrix, power) / stationary - 1).max()
        assert away <= math.exp(-float(gap) * power / 2) / float(smallest) * (1 + 1e-9)


@pytest.mark.parametrize(
    "transition",
    [[[0, 1], [1, 0]], [[1, 0], [0, 1]], [[1, 0], ["1/2", "1/2"]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]],
)
def test_chains_that_do_not_mix_are_told_so(transition: list[list[object]]) -> None:
    """One that alternates, one that never moves, one that ends in a state, one that goes round."""
    size = len(transition)
    with pytest.raises(InvalidParameterError, match="does not mix"):
        _ = MarkovChain(initial=[Fraction(1, size)] * size, transition=transition).mixing  # type: ignore[arg-type]


@pytest.mark.skipif(not HISTOGRAMS.exists(), reason="needs the shared data")
def test_a_real_series_is_counted_with_less_noise_than_a_group_would_need() -> None:
    """Searches for a term at 4,096 times: none, some, many. The first quarter is public, and tells the chain."""
    searches = np.load(HISTOGRAMS)["SEARCHLOGS"]
    series = np.searchsorted([1, 100], searches, side="right")
    moves = np.ones((3, 3), dtype=int)
    np.add.at(moves, (series[:1023], series[1:1024]), 1)
    rows = [[Fraction(int(n), int(row.sum())) for n in row] for row in moves]
    start = MarkovChain(initial=["1/3"] * 3, transition=rows)
    chain = MarkovChain(initial=start.stationary, transition=rows)
    smallest, gap = chain.mixing
    exact = MarkovQuilt(length=3072, epsilon=1, chains=[chain], window=48)
    approximate = MarkovQuilt(length=3072, epsilon=1, states=3, min_probability=smallest, gap=gap, window=512)
    assert exact.scale < approximate.scale < 3072
    found = exact.release(series[1024:], bits=DeterministicBits(3)).value
    assert np.abs(found - np.bincount(series[1024:], minlength=3)).max() < 12 * 2 * exact.scale


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
    rare = Fraction(1, 10**330)  # no float, nor is its inverse
    gap = MarkovChain(initial=[1, 0], transition=[[1 - rare, rare], ["1/2", "1/2"]]).mixing[1]
    assert 0.75 - 1e-8 < gap <= 0.75


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 0},
        {"epsilon": 0},
        {"chains": []},
        {"gap": 1},
        {"chains": [EVEN, SURE]},
        {"chains": [], "min_probability": "0.1", "gap": 2, "states": 2},
        {"chains": [], "min_probability": "0.1", "gap": 1},
        {"chains": [], "min_probability": "0.6", "gap": 1, "states": 2},
        {"chains": EVEN},
        {"chains": ["even"]},
    ],
)
def test_bad_input_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        MarkovQuilt(**{"length": 10, "epsilon": 1, "chains": [EVEN], **wrong})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError):
        MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.2"], ["0.1", "0.9"]])
    with pytest.raises(InvalidParameterError, match="such as '1/3'"):
        MarkovChain(initial=[1 / 3] * 3, transition=[[1 / 3] * 3] * 3)


def test_units_in_ledgers_stay() -> None:
    chain = MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.1"], ["0.1", "0.9"]])
    exact = MarkovQuilt(length=1000, epsilon=1, chains=[chain])
    assert exact.privacy_unit.noun.endswith("under MarkovQuilt f62cc194e1051957")
    mixing = MarkovQuilt(length=10, epsilon="0.1", states=2, min_probability="0.5", gap="0.36")
    assert mixing.privacy_unit.noun.endswith("under MarkovQuilt 144978000768c6a7")
