"""One contract over all frequency protocols: laws by enumeration, draws against them, estimates and intervals."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import (
    DirectResponse,
    HadamardResponse,
    LocalHashing,
    MeanProtocol,
    PrivUnit,
    SubsetSelection,
    UnaryEncoding,
)
from deniable.local.deployed import BitFlip, CountMeanSketch, HadamardSketch, LongitudinalUnary, OneBitMean
from deniable.local.deployed.sketches import keys_of
from deniable.local.protocol import likelihood_ratio_below
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(4)
SMALL = [
    DirectResponse(values=3, epsilon="1/2"),
    DirectResponse(values=300, epsilon=3),
    UnaryEncoding(values=3, epsilon=1),
    UnaryEncoding(values=4, epsilon=2, symmetric=True),
    HadamardResponse(values=5, epsilon=1),
    SubsetSelection(values=5, epsilon="1/2"),
    SubsetSelection(values=6, epsilon=4),
]
ALL = [*SMALL, LocalHashing(values=20, epsilon=1), LocalHashing(values=20, epsilon="0.3", cells=3)]


def names(protocol: Any) -> str:
    return f"{protocol.kind}-{protocol.size}"


def law(protocol: Any, own: int) -> dict[tuple[int, ...], Fraction]:
    """The probability of every report, written down anew from the definition of each protocol."""
    k, odds = protocol.size, protocol.likelihood_ratio
    if protocol.kind == "direct":
        return {report(protocol, code): (odds if code == own else 1) / (odds + k - 1) for code in range(k)}
    if protocol.kind == "unary":
        q = protocol.q
        p = 1 - q if protocol.symmetric else Fraction(1, 2)
        found = {}
        for bits in product((0, 1), repeat=k):
            chances = [(p if place == own else q) for place in range(k)]
            found[of_bits(bits)] = math.prod(
                (chance if bit else 1 - chance for bit, chance in zip(bits, chances, strict=True)), start=Fraction(1)
            )
        return found
    if protocol.kind == "hadamard":
        size = protocol.outputs
        inside = [z for z in range(size) if (z & (own + 1)).bit_count() % 2 == 0]
        assert len(inside) == size // 2
        return {report(protocol, z): (odds if z in inside else 1) * Fraction(2, size) / (odds + 1) for z in range(size)}
    w = protocol.chosen
    whole = odds * comb(k - 1, w - 1) + comb(k - 1, w)
    return {
        of_bits([place in chosen for place in range(k)]): (odds if own in chosen else 1) / whole
        for chosen in combinations(range(k), w)
    }


def report(protocol: Any, code: int) -> tuple[int, ...]:
    return tuple(code.to_bytes(protocol.width, "little"))


def of_bits(bits: Any) -> tuple[int, ...]:
    return tuple(np.packbits(np.array(bits, dtype=np.uint8), bitorder="little").tolist())


@pytest.mark.parametrize("protocol", SMALL, ids=names)
def test_no_report_is_likelier_than_e_to_epsilon_times_and_one_nearly_is(protocol: Any) -> None:
    laws = [law(protocol, own) for own in range(min(protocol.size, 4))]
    assert all(sum(each.values()) == 1 for each in laws)
    worst = max(one[y] / other[y] for one in laws for other in laws for y in one)
    assert worst <= protocol.likelihood_ratio <= Fraction(math.exp(protocol.epsilon)) * (1 + Fraction(1, 10**14))
    assert float(worst) == pytest.approx(math.exp(protocol.epsilon), rel=1e-8)


def test_odds_are_never_above_e_to_epsilon() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(7, 3), Fraction(40)):
        assert (
            0
            <= math.exp(epsilon) * (1 + 1e-14) - float(likelihood_ratio_below(epsilon))
            <= 2**-31 + math.exp(epsilon) * 2e-14
        )


@pytest.mark.parametrize("protocol", SMALL, ids=names)
def test_chances_of_support_are_those_of_the_law(protocol: Any) -> None:
    for value, own in ((1, 1), (1, 0), (0, 2)):
        found = Fraction(0)
        for told, mass in law(protocol, own).items():
            found += mass * int(protocol.supports(np.array([told], dtype=np.uint8))[value])
        assert found == (protocol.p if value == own else protocol.q)


@pytest.mark.parametrize("protocol", SMALL, ids=names)
def test_reports_are_drawn_from_the_law(protocol: Any) -> None:
    """Chi-square at level 1e-6 for each of 7 protocols, with fixed bits."""
    runs = 60_000
    drawn = Counter(map(tuple, protocol.encode(np.full(runs, 1), bits=BITS).tolist()))
    expected = law(protocol, 1)
    assert set(drawn) <= set(expected)
    tallies = [drawn[told] for told in expected]
    assert stats.chisquare(tallies, [runs * float(mass) for mass in expected.values()]).pvalue > 1e-6


@pytest.mark.parametrize("protocol", ALL, ids=names)
def test_estimates_have_no_bias_the_stated_variance_and_intervals_that_cover(protocol: Any) -> None:
    """300 runs of 400 people. The mean is within five standard errors, the variance within 35% (5 of its own standard
    errors), and exact 90% intervals cover at least 84% (3.5 standard errors below)."""
    people, runs = 400, 300
    values = np.where(np.arange(people) < 100, 1, 0)
    tallies = [protocol.supports(protocol.encode(values, bits=BITS)) for _ in range(runs)]
    found = [protocol.estimate(tally, people=people) for tally in tallies]
    for value, held in ((1, 100), (2, 0)):
        counts = np.array([release["count"][value] for release in found])
        variance = float(protocol.variance(held / people, people=people)) * people**2
        assert counts.mean() == pytest.approx(held, abs=5 * math.sqrt(variance / runs))
        assert counts.var() == pytest.approx(variance, rel=0.35)
        ends = [release.intervals(0.9)["count"] for release in found]
        assert np.mean([end.lower[value] <= held <= end.upper[value] for end in ends]) >= 0.84


@pytest.mark.parametrize("protocol", ALL, ids=names)
def test_bytes_that_no_client_sends_are_refused(protocol: Any) -> None:
    good = protocol.encode([0, 1], bits=BITS)
    with pytest.raises(InvalidParameterError, match="shape"):
        protocol.supports(good[:, :-1])
    with pytest.raises(InvalidParameterError, match="shape"):
        protocol.supports(good.astype(np.int64))
    bad = good.copy()
    bad[1] = 255
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(bad)
    with pytest.raises(InvalidParameterError, match="at least one report"):
        protocol.estimate(good[:0])


@pytest.mark.parametrize("protocol", ALL, ids=names)
def test_a_value_that_was_not_declared_is_a_report_like_any_other(protocol: Any) -> None:
    odd = np.array([None, "x", float("nan"), -1, 10**30, 1.5], dtype=object)
    assert protocol.encode(odd, bits=BITS).shape == (6, protocol.width)
    assert protocol.encode([], bits=BITS).shape == (0, protocol.width)


@pytest.mark.parametrize(
    "wrong", [{"values": 1}, {"values": "ab"}, {"values": ["a", "a"]}, {"epsilon": 0}, {"epsilon": 41}, {"values": 2.5}]
)
def test_protocols_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        DirectResponse(**{"values": 3, "epsilon": 1, **wrong})


PEOPLE = 300_000
COUNTED = [
    DirectResponse(values=6, epsilon=1),
    UnaryEncoding(values=5, epsilon=1),
    UnaryEncoding(values=5, epsilon=2, symmetric=True),
    LongitudinalUnary(values=4, epsilon=3, report_epsilon=1),
    HadamardResponse(values=5, epsilon=1),
    SubsetSelection(values=9, epsilon=1),
    LocalHashing(values=20, epsilon=1),
]


@pytest.mark.parametrize("protocol", COUNTED, ids=names)
def test_errors_of_shares_are_within_two_percent_of_the_exact_variance(protocol: Any) -> None:
    """300,000 reports of one value: what each says of a share is (b - q) / (p - q) with a bit b, so the share of bits
    gives the variance of single reports, with a standard error of at most 0.45%: 14 alarms of 1e-5 with fresh bits."""
    tally = protocol.supports(protocol.encode(np.ones(PEOPLE, dtype=np.int64), bits=BITS))
    for value, held in ((1, 1.0), (2, 0.0)):
        share = tally[value] / PEOPLE
        found = share * (1 - share) / float(protocol.p - protocol.q) ** 2
        assert found == pytest.approx(protocol.variance(held, people=1), rel=0.02)
        assert found != pytest.approx(protocol.variance(held, people=1) * 1.04, rel=0.02)


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_errors_of_sketches_are_within_two_percent_of_the_exact_variance(kind: Any) -> None:
    """300,000 reports of one value, as above, with the factor m / (m - 1) of cells that collide."""
    sketch = kind(epsilon=2, hashes=4, cells=8)
    table = sketch.supports(sketch.encode(["a"] * PEOPLE, bits=BITS)).reshape(4, -1)
    share = int(sketch.support(table, np.arange(4), keys_of(["a"]))[0]) / PEOPLE
    found = share * (1 - share) / float(sketch.row.p - sketch.row.q) ** 2 * (8 / 7) ** 2
    assert found == pytest.approx(sketch.variance(1, people=1, squares=0), rel=0.02)


@pytest.mark.parametrize("chosen", [1, 3])
def test_errors_of_buckets_are_within_two_percent(chosen: int) -> None:
    """300,000 reports of one value, as above; k / d (b - q) / (p - q) of a bucket among a client's, else 0."""
    flips = BitFlip(values=4, epsilon=2, chosen=chosen)
    table = flips.supports(flips.encode(np.ones(PEOPLE, dtype=np.int64), bits=BITS)).reshape(4, -1)
    p, q = float(flips.row.p), float(flips.row.q)
    for value, held in ((1, 1.0), (2, 0.0)):
        groups = [(table[(value - place) % 4, 0], table[(value - place) % 4, 1 + place]) for place in range(chosen)]
        ones, among = sum(each[1] for each in groups), sum(each[0] for each in groups)
        scale = 4 / chosen / (p - q)
        square = scale**2 * (ones * (1 - q) ** 2 + (among - ones) * q**2) / PEOPLE
        found = square - (scale * (ones - among * q) / PEOPLE) ** 2
        assert found == pytest.approx(flips.variance(held, people=1), rel=0.02)


MEANS: list[tuple[Any, Any]] = [
    *((MeanProtocol(bounds=(-1, 1), epsilon=2, share=share), 0.5) for share in (0, 1, None)),
    (MeanProtocol(bounds=(-1, 1), epsilon=2, columns=3), [0.5, 0, -1]),
    (OneBitMean(bounds=(-1, 1), epsilon=1, steps=4), 0.5),
    (PrivUnit(columns=3, epsilon=2, directions=8), [0.6, 0, 0.7]),
]


@pytest.mark.parametrize(("protocol", "value"), MEANS)
def test_errors_of_means_are_within_two_percent_of_the_exact_variance(protocol: Any, value: Any) -> None:
    """300,000 reports of one value; scores are bounded, so the standard error is below 0.4%, and alarms have 1e-6."""
    reports = protocol.encode(np.tile(value, (PEOPLE, 1) if isinstance(value, list) else PEOPLE), bits=BITS)
    tally = protocol.supports(reports)
    if isinstance(protocol, PrivUnit):
        first, second = (tally / (2**30 * PEOPLE)).reshape(2, -1) / protocol.moments[0]
        found = second / protocol.moments[0] - first**2
    else:
        scale, table = protocol.columns / protocol.sampled, tally.reshape(protocol.columns, -1) / PEOPLE
        found = scale**2 * table @ protocol.scores**2 - (scale * table @ protocol.scores) ** 2
    assert found == pytest.approx(protocol.variance([value], people=1), rel=0.02)
