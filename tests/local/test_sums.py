"""Shuffled sums: tiny instances enumerated against the claim, the law of the noise, estimates, four refusals."""

import math
from collections import Counter
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import Collector, ShuffledSum, Shuffler, analyse, pack, protocol_of, shuffled_loss
from deniable.local.sums import mixing_distance
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(41)
TINY: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "delta": "1e-3"}


def views(modulus: int, messages: int, inputs: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The exact law of all messages in order of size, every share but the last of each person being uniform."""
    free = messages - 1
    drawn = np.array(list(product(range(modulus), repeat=len(inputs) * free)))
    shares = drawn.reshape(len(drawn), len(inputs), free)
    last = (np.array(inputs) - shares.sum(axis=2)) % modulus
    told = np.sort(np.concatenate([drawn, last], axis=1), axis=1)
    rows, counts = np.unique(told, axis=0, return_counts=True)
    return {tuple(row): count / len(drawn) for row, count in zip(rows.tolist(), counts.tolist(), strict=True)}


def over(p: dict[Any, float], q: dict[Any, float], factor: float = 1.0) -> float:
    return sum(max(0.0, mass - factor * q.get(key, 0.0)) for key, mass in p.items())


TRIED = [(2, 2, 8), (3, 2, 5), (2, 3, 5)]  # people, modulus, messages


@pytest.mark.parametrize(("people", "modulus", "messages"), TRIED)
def test_messages_of_equal_sums_are_as_near_as_claimed(people: int, modulus: int, messages: int) -> None:
    """Two inputs are each within the bound of one law; these break what holds for three times the messages."""
    bound = mixing_distance(people, messages, modulus)
    assert bound < 0.5
    laws = {inputs: views(modulus, messages, inputs) for inputs in product(range(modulus), repeat=people)}
    apart = [over(p, q) for a, p in laws.items() for b, q in laws.items() if (sum(a) - sum(b)) % modulus == 0]
    assert max(apart) <= 2 * bound
    assert max(apart) > 2 * mixing_distance(people, 3 * messages, modulus)


@pytest.mark.parametrize(("people", "modulus", "messages"), TRIED)
def test_the_whole_protocol_has_its_epsilon_and_delta(people: int, modulus: int, messages: int) -> None:
    """Everybody's share of the noise included: over all numbers of the others and both directions of a change."""
    scale, reach = 2.0, 60  # numbers are 0 and 1, epsilon is 1 / 2
    one = stats.nbinom.pmf(np.arange(reach), 1 / people, -math.expm1(-1 / scale))
    share = np.zeros(modulus)
    np.add.at(share, np.arange(1 - reach, reach) % modulus, np.convolve(one, one[::-1]))
    laws = {inputs: views(modulus, messages, inputs) for inputs in product(range(modulus), repeat=people)}

    def law(numbers: tuple[int, ...]) -> Counter[tuple[int, ...]]:
        found: Counter[tuple[int, ...]] = Counter()
        for noise in product(range(modulus), repeat=people):
            weight = math.prod(share[each] for each in noise)
            for view, mass in laws[tuple((x + z) % modulus for x, z in zip(numbers, noise, strict=True))].items():
                found[view] += weight * mass
        return found

    claim = (1 + math.exp(0.5)) * mixing_distance(people, messages, modulus)
    for others in product((0, 1), repeat=people - 1):
        there, back = law((0, *others)), law((1, *others))
        assert max(over(there, back, math.exp(0.5)), over(back, there, math.exp(0.5))) <= claim


def test_the_distance_bounds_the_mean_over_all_permutations_and_is_near_it() -> None:
    """E M^(C - 1), C the parts of n points under two permutations: all of them for n = 4."""
    n, modulus, total = 4, 3, 0
    for one, two in product(permutations(range(n)), repeat=2):
        part = list(range(n))
        for _ in range(n):
            for i in range(n):
                for j in (one[i], two[i]):
                    part[i] = part[j] = min(part[i], part[j])
        total += modulus ** (len(set(part)) - 1)
    exact = math.sqrt(total / math.factorial(n) ** 2 - 1) / 2
    assert exact <= mixing_distance(n, 3, modulus) <= 1.4 * exact
    assert mixing_distance(2, 3, 2) == pytest.approx(math.sqrt(1 / 2) / 2, rel=1e-5)  # c = 1: E_2 = M + M / 2
    assert mixing_distance(2, 3, 16) >= math.sqrt(15 / 4) / 2  # above one half, too


def test_the_distance_falls_with_people_and_messages_also_where_it_is_cut() -> None:
    found = [[mixing_distance(n, k, 2**24) for k in (8, 10)] for n in (1024, 1025, 1026, 1027, 10**8)]
    assert (np.diff(found, axis=0) < 0).all()
    assert (np.diff(found, axis=1) < 0).all()
    assert found[-1][0] == pytest.approx(2**12 * 10**-24 / 2, rel=1e-3)  # sqrt(M n^-6) / 2: one point alone
    assert mixing_distance(2**32, 9, 2**48) == pytest.approx(2**24 * 2**-112 / 2, rel=3e-6)  # logarithms keep digits
    assert mixing_distance(10**8, 4, 2**48) == 1  # more messages are needed before anything is known


def test_the_noise_is_discrete_laplace_and_the_interval_that_of_its_law() -> None:
    """8000 sums of 3 people: chi-square at level 1e-6, twins of 0.8 and 1.25 of the scale are refused; 4 people have
    a third more variance (12%, five standard errors), and 90% intervals cover between 88.5% and 95% (steps)."""
    facts: dict[str, Any] = {"bounds": (0, 4), "steps": 4, "epsilon": 2, "delta": "1e-1", "min_people": 3, "people": 4}
    protocol, runs = ShuffledSum(**facts), 8000
    for people in (3, 4):
        reports = protocol.encode(np.tile(np.arange(people), runs), bits=BITS).reshape(runs, people, -1)
        tallies = protocol._messages(reports.reshape(-1, protocol.width)).reshape(runs, -1).sum(axis=1)
        told = {tally: protocol.estimate(np.array([tally]), people=people) for tally in set(tallies.tolist())}
        truth = people * (people - 1) // 2
        off = np.array([told[tally]["sum"][0] for tally in tallies.tolist()]) - truth
        assert off.mean() == pytest.approx(0, abs=5 * math.sqrt(protocol.variance(people=people) / runs))
        assert off.var() == pytest.approx(protocol.variance(people=people), rel=0.12)
        ends = {tally: answer.intervals(0.9)["sum"] for tally, answer in told.items()}
        cover = np.mean([ends[t].lower[0] <= truth <= ends[t].upper[0] for t in tallies.tolist()])
        assert 0.885 <= cover < 0.95
        if people == 3:
            drawn = [np.count_nonzero(off == k) for k in range(-9, 10)]
            drawn.append(runs - sum(drawn))
            for factor, right in ((1, True), (0.8, False), (1.25, False)):
                law = stats.dlaplace(1 / (float(protocol.scale) * factor)).pmf(np.arange(-9, 10))
                expected = runs * np.append(law, 1 - law.sum())
                assert (stats.chisquare(drawn, expected).pvalue > 1e-6) == right


def test_the_error_does_not_grow_with_people_and_messages_are_few() -> None:
    found = [ShuffledSum(**{**TINY, "delta": "1e-6"}, min_people=n, people=n) for n in (100, 10_000, 10**6)]
    assert [round(float(each.variance(people=each.min_people)), 3) for each in found] == [2, 2, 2]
    assert [each.messages for each in found] == sorted((each.messages for each in found), reverse=True)
    assert found[1].messages == 7
    for each in found:
        assert each.privacy_loss.delta(1).upper <= 1e-6
        apart = mixing_distance(each.min_people, each.messages, 2**each.bits)  # of each of two laws from one of the sum
        assert each.privacy_loss.delta(1).upper == pytest.approx(apart + math.e * apart, rel=1e-5)
        fewer = {**TINY, "delta": "1e-6", "messages": each.messages - 1}
        with pytest.raises(InvalidParameterError, match="do not reach delta"):
            ShuffledSum(**fewer, min_people=each.min_people, people=each.min_people)


def test_encode_shuffle_analyse() -> None:
    protocol = ShuffledSum(**TINY, min_people=20, people=30)
    assert protocol_of(protocol.to_json()) == protocol
    values: list[Any] = [0.5] * 20 + [None, float("nan"), -1, 7, "x"]
    shuffler = Shuffler(protocol, min_reports=20)
    reports = protocol.encode(values, bits=BITS)
    for sender, each in enumerate(reports):
        shuffler.add(pack(protocol, each[np.newaxis]), sender=str(sender))
    message = shuffler.release(bits=BITS)
    answer = analyse(protocol, message, min_reports=20)
    assert answer.cost == protocol.privacy_loss == shuffled_loss(protocol, 25)
    assert answer["sum"][0] == pytest.approx(11, abs=15)
    mixed = protocol._messages(np.frombuffer(message[17:], dtype=np.uint8).reshape(25, -1))
    assert sorted(mixed.ravel()) == sorted(protocol._messages(reports).ravel())
    assert not {tuple(sorted(row)) for row in mixed} & {tuple(sorted(row)) for row in protocol._messages(reports)}
    with pytest.raises(InvalidParameterError, match="enough people"):
        shuffled_loss(protocol, 19)
    with pytest.raises(InvalidParameterError, match="20 to 30 people"):
        protocol.estimate(reports[:19])
    collector = Collector(protocol)
    collector.add(pack(protocol, reports))
    assert collector.estimate()["sum"] == answer["sum"]
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(np.full((20, protocol.width), 255, dtype=np.uint8))


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": (1, 1)},
        {"delta": 0},
        {"delta": "1e-299"},
        {"epsilon": "1e-4"},
        {"least": 1},
        {"least": 31},
        {"messages": 2},
        {"steps": 2**15},
    ],
)
def test_protocols_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        ShuffledSum(**{**TINY, "least": 20, "people": 30, **wrong})
