"""Pufferfish scenarios by enumeration: definitions, an erratum, and the Wasserstein mechanism."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.variants import MarkovChain, Pufferfish, independent, record_pairs

BITS = (0, 1)


def noisy(query: Callable[[Any], int], scale: float, *, upper: int) -> Callable[[Any], dict[int, Fraction]]:
    """The law of the query plus discrete Laplace noise, with the tails beyond [0, upper] in its ends; rational."""
    q = Fraction(math.exp(-1 / scale))

    def law(data: Any) -> dict[int, Fraction]:
        centre = query(data)
        mass = {k: (1 - q) / (1 + q) * q ** abs(k - centre) for k in range(1, upper)}
        return {0: q**centre / (1 + q), **mass, upper: q ** (upper - centre) / (1 + q)}

    return law


def erratum(data: tuple[int, int, int]) -> dict[int, Fraction]:
    """E75: how one bit of three is hidden depends on the two others."""
    chance = Fraction(1, 2)
    if data[1] != data[2]:
        chance = Fraction(9 if bool(data[0]) == (data[1:] == (0, 1)) else 1, 10)
    return {1: chance, 0: 1 - chance}


def test_independent_but_equal_laws_say_less_than_differential_privacy() -> None:
    """The example of E75: ln 9 for all products; ln 5, a limit, for products of one law."""
    assert Pufferfish.differential_privacy(BITS, records=3).worst_ratio(erratum) == 9
    last = Fraction(1)
    for power in range(1, 10):
        laws = [{1: p, 0: 1 - p} for p in (Fraction(1, 2**power), 1 - Fraction(1, 2**power))]
        alike = Pufferfish(pairs=record_pairs(BITS, 3), models=[independent(*[law] * 3) for law in laws])
        ratio = alike.worst_ratio(erratum)
        assert ratio is not None
        assert last <= ratio < 5
        last = ratio
    assert last > Fraction(489, 100)


def test_differential_privacy_is_the_ratio_over_neighbours() -> None:
    """Brute force over neighbours, for randomised response with three values on two records."""
    respond = {v: {w: Fraction(3 if v == w else 1, 5) for w in range(3)} for v in range(3)}

    def mechanism(data: tuple[int, int]) -> dict[Any, Fraction]:
        return {(a, b): respond[data[0]][a] * respond[data[1]][b] for a, b in product(range(3), repeat=2)}

    scenario = Pufferfish.differential_privacy(range(3), records=2)
    assert scenario.worst_ratio(mechanism) == 3
    assert scenario.epsilon(mechanism).lower <= math.log(3) <= scenario.epsilon(mechanism).upper


def test_an_output_that_excludes_a_secret_has_no_epsilon() -> None:
    scenario = Pufferfish.differential_privacy(BITS, records=1)
    assert scenario.worst_ratio(lambda data: {data[0]: 1}) is None
    assert scenario.epsilon(lambda data: {data[0]: 1}).upper == math.inf
    assert scenario.worst_ratio(lambda _: {"always": 1}) == 1


def test_secrets_that_a_model_excludes_say_nothing() -> None:
    sure = Pufferfish(pairs=record_pairs(BITS, 1), models=[{(1,): 1}])
    assert sure.worst_ratio(lambda data: {data[0]: 1}) == 1
    assert sure.wasserstein(sum) == 0


@pytest.mark.parametrize("stay", ["1/2", "0.8", "0.95", 1])
def test_the_wasserstein_mechanism_keeps_its_claim_and_less_noise_does_not(stay: object) -> None:
    """A flu that spreads along a chain of four people: noise for the distance is enough, and 0.7 of it is not."""
    leave = 1 - Fraction(str(stay))
    chain = MarkovChain(initial=["1/2", "1/2"], transition=[[1 - leave, leave], [leave, 1 - leave]])
    scenario = Pufferfish(pairs=record_pairs(BITS, 4), models=[chain.model(4)])
    distance = scenario.wasserstein(sum)
    assert distance == {"1/2": 1, "0.8": 2, "0.95": 2, 1: 4}[stay] or 1 <= distance <= 4
    assert scenario.noise(sum, epsilon=1).scale == distance
    assert scenario.epsilon(noisy(sum, distance, upper=4)).upper <= 1 + 1e-12
    if stay in ("1/2", 1):
        assert scenario.epsilon(noisy(sum, 0.7 * distance, upper=4)).lower > 1


def test_the_example_of_the_paper_has_its_distance() -> None:
    """Song et al. (2017): a flu among four who meet; so probable are 0, ..., 4 who are ill. W = 2, not 4."""
    ill = [Fraction(p) for p in ("0.1", "0.15", "0.5", "0.15", "0.1")]
    model = {data: ill[sum(data)] / math.comb(4, sum(data)) for data in product(BITS, repeat=4)}
    scenario = Pufferfish(pairs=record_pairs(BITS, 4), models=[model])
    assert scenario.wasserstein(sum) == 2
    assert scenario.epsilon(noisy(sum, 2, upper=4)).upper <= 1


def test_noise_for_independent_people_is_too_little_for_people_who_depend() -> None:
    """The twin: Laplace noise of scale 1 / epsilon, as for independent rows, gives away four people who are alike."""
    alike = Pufferfish(pairs=record_pairs(BITS, 4), models=[{(0,) * 4: "1/2", (1,) * 4: "1/2"}])
    assert alike.epsilon(noisy(sum, 1, upper=4)).lower == pytest.approx(4)


@pytest.mark.parametrize("turned", [False, True])
def test_quantiles_of_both_laws_and_ratios_of_both_directions_count(turned: bool) -> None:
    """A quarter of one law is 9 away from all of the other, at a level that the other does not have; a ratio is 5 one
    way and 9/5 the other."""
    pairs = [tuple(record_pairs(BITS, 1)[0][:: -1 if turned else 1])]
    apart = Pufferfish(pairs=pairs, models=[{(0, 0): "1/2", (1, -9): "1/8", (1, 0): "3/8"}])  # type: ignore[arg-type]
    assert apart.wasserstein(lambda data: data[1]) == 9
    answers = {0: {"a": Fraction(1, 2), "b": Fraction(1, 2)}, 1: {"a": Fraction(1, 10), "b": Fraction(9, 10)}}
    even = Pufferfish(pairs=pairs, models=[{(0,): "1/2", (1,): "1/2"}])  # type: ignore[arg-type]
    assert even.worst_ratio(lambda data: answers[data[0]]) == 5  # type: ignore[index]


def test_distance_is_that_of_a_brute_force_coupling() -> None:
    """W-infinity is the least w for which any places of the first law fit the w-neighbourhood of the second."""
    first = {0: Fraction(1, 2), 3: Fraction(1, 4), 7: Fraction(1, 4)}
    second = {1: Fraction(1, 3), 4: Fraction(2, 3)}
    model = {(0, k): p / 2 for k, p in first.items()} | {(1, k): p / 2 for k, p in second.items()}
    scenario = Pufferfish(pairs=record_pairs(BITS, 1), models=[model])

    def fits(width: int) -> bool:
        sets = [[k for k, chosen in zip(first, mask, strict=True) if chosen] for mask in product(BITS, repeat=3)]
        near = [sum(p for k, p in second.items() if any(abs(k - one) <= width for one in few)) for few in sets]
        return all(sum(first[k] for k in few) <= room for few, room in zip(sets, near, strict=True))

    assert scenario.wasserstein(lambda data: data[1]) == min(w for w in range(10) if fits(w))


def test_releases_are_near_the_answer_and_marked() -> None:
    scenario = Pufferfish.differential_privacy(BITS, records=3)
    found = scenario.noise(sum, epsilon=50).release(sum((1, 0, 1)), bits=DeterministicBits(1))
    assert found.value == 2
    assert not found.safe


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Pufferfish(pairs=[], models=[{0: 1}]),
        lambda: Pufferfish(pairs=record_pairs(BITS, 1), models=[]),
        lambda: Pufferfish(pairs=record_pairs(BITS, 1), models=[{(0,): "0.5"}]),
        lambda: Pufferfish(pairs=record_pairs(BITS, 1), models=[{(0,): 2, (1,): -1}]),
        lambda: Pufferfish(pairs=["ab"], models=[{(0,): 1}]),
        lambda: Pufferfish(pairs=record_pairs(BITS, 1), models={(0,): 1}),
        lambda: Pufferfish.differential_privacy([1], records=1),
        lambda: Pufferfish.differential_privacy(BITS, records=1).noise(sum, epsilon=0),
        lambda: Pufferfish.differential_privacy(BITS, records=1).noise(lambda data: data[0] / 2, epsilon=1),
        lambda: Pufferfish.differential_privacy(BITS, records=1).worst_ratio(lambda _: {0: "1/2"}),
        lambda: Pufferfish.differential_privacy(BITS, records=1).worst_ratio(lambda _: {0: 2, 1: -1}),
        lambda: independent({0: "1/2"}),
    ],
)
def test_bad_input_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameterError):
        wrong()
