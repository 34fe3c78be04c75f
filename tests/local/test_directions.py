"""PrivUnit: exact losses over vectors, moments by closed forms, and the variance beside those of the literature."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from deniable.errors import InvalidParameterError
from deniable.local import Collector, MeanProtocol, PrivUnit, pack, protocol_of, unpack
from deniable.local.directions import directions, tops
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(31)
HOSTILE: list[Any] = [
    [1, 0, 0],
    [-1.0, 0.0, -0.0],
    [5e-324, 5e-324, 0],
    [1e308, 1e308, -1e308],
    [0, 0, 0],
    [float("nan"), 1, 0],
    [float("inf"), 0, 0],
    None,
    "abc",
    [0.1, 0.2, 0.3],
    [1],
]


def test_the_greatest_loss_over_all_pairs_of_vectors_is_epsilon_whatever_floats_say() -> None:
    for protocol in (
        PrivUnit(columns=3, epsilon=2, directions=8, cap_size=3),
        PrivUnit(columns=3, epsilon=6, repeats=2),
    ):
        for seed in (0, 1, 2**63 + 5):
            rows = protocol.channel(HOSTILE, seed=seed)
            assert len(rows) == len(HOSTILE)
            assert all(sum(row) == 1 for row in rows)
            worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
            assert worst == protocol.likelihood_ratio  # in rationals
            assert protocol.likelihood_ratio**protocol.repeats <= Fraction(math.exp(protocol.epsilon)) * (
                1 + Fraction(1, 10**14)
            )


def test_codes_are_drawn_from_the_channel() -> None:
    """Chi-square of the rank of a report at level 1e-6, given its seed; a channel with 0.8 of epsilon is refused."""
    protocol, twin = (PrivUnit(columns=4, epsilon=e, directions=6, cap_size=2) for e in (2, "1.6"))
    values = np.tile([0.5, 0.5, 0.5, -0.5], (20_000, 1))
    seeds, codes = protocol._parts(protocol.encode(values, bits=BITS))
    ranks = (protocol.ranked_codes(values, seeds) == codes[:, np.newaxis]).argmax(axis=1)
    drawn = np.bincount(ranks, minlength=12)
    for each, right in ((protocol, True), (twin, False)):
        odds = np.where(np.arange(12) < 2, float(each.likelihood_ratio), 1)
        assert (stats.chisquare(drawn, 20_000 * odds / odds.sum()).pvalue > 1e-6) == right


def test_directions_are_uniform_on_the_sphere() -> None:
    """Kolmogorov at level 1e-6: the cosine with any vector has density (1 - c^2)^((d - 3) / 2)."""
    for columns, seeds, codes in ((3, np.arange(20_000), 0), (10, 7, 2 * np.arange(20_000))):
        first, second = np.full(20_000, seeds, dtype=np.uint64), np.full(20_000, codes)
        found = directions(first, second, columns)
        assert (directions(first, second + 1, columns) == -found).all()
        along = (1 + found @ np.full(columns, columns**-0.5)) / 2
        assert stats.kstest(along, stats.beta((columns - 1) / 2, (columns - 1) / 2).cdf).pvalue > 1e-6


def test_the_words_at_both_ends_have_finite_directions() -> None:
    """Seeds whose first coordinate is the greatest word, and the least: who reports the first could break a tally."""

    def before(word: int) -> int:  # the word whose `mixed` it is
        for shift, factor in ((31, 1), (27, 0x94D049BB133111EB), (30, 0xBF58476D1CE4E5B9)):
            found = word = word * pow(factor, -1, 2**64) % 2**64
            for _ in range(64 // shift):
                found = word ^ (found >> shift)
            word = found
        return (word - 0x9E3779B97F4A7C15) % 2**64

    for word, sign in ((2**64 - 1, 1), (0, -1)):
        seed = np.array([before(before(before(word)))], dtype=np.uint64)
        found = directions(np.array(seed), np.array([0]), 3)
        assert np.isfinite(found).all()
        assert 0.9 < sign * found[0, 0] < 1


def test_moments_of_the_greatest_cosines() -> None:
    """On the sphere in three dimensions |c| is uniform; in any, all of them add up to what one has on average."""
    w = np.arange(1, 65)
    assert tops(3, 64)[0] == pytest.approx(np.cumsum(1 - w / 65), rel=1e-12)
    for columns in (2, 3, 17, 1000, 65_536):
        first, second = tops(columns, 512)
        mean = math.exp(math.lgamma(columns / 2) - math.lgamma((columns + 1) / 2)) / math.sqrt(math.pi)
        assert (first[-1] / 512, second[-1] / 512) == (
            pytest.approx(mean, rel=1e-9),
            pytest.approx(1 / columns, rel=1e-9),
        )


def priv_unit(columns: int, epsilon: float) -> float:
    """The least squared error of the continuous mechanism: caps of probability q, best q."""
    a, beta = (columns - 1) / 2, special.beta((columns - 1) / 2, 0.5)

    def error(q: float) -> float:
        gamma = math.sqrt(1 - special.betaincinv(a, 0.5, 2 * q))
        mean = (1 - gamma**2) ** a / (2 * a * beta)  # the integral of c over the cap
        p = q * math.exp(epsilon) / (q * math.exp(epsilon) + 1 - q)
        return 1 / (mean * (p / q - (1 - p) / (1 - q))) ** 2 - 1

    return float(optimize.minimize_scalar(error, bounds=(1e-6, 0.5 - 1e-9), method="bounded").fun)


def priv_unit_g(epsilon: float) -> float:
    """The least squared error a column of PrivUnitG."""

    def error(p: float) -> float:
        q = p / (p + (1 - p) * math.exp(epsilon))
        return 1 / (stats.norm.pdf(stats.norm.isf(q)) * (p / q - (1 - p) / (1 - q))) ** 2

    return float(optimize.minimize_scalar(error, bounds=(0.5, 1 - 1e-9), method="bounded").fun)


def test_the_variance_is_that_of_the_best_caps_and_far_below_that_of_coordinates() -> None:
    """Squared errors of one report: the best continuous caps, this protocol, and coordinates (`MeanProtocol`)."""
    gamma = 0.3  # the formula for the cap against an integral
    whole = integrate.quad(lambda c: (1 - c * c) ** 1, -1, 1)[0]
    cap = integrate.quad(lambda c: c * (1 - c * c) ** 1, gamma, 1)[0] / whole
    assert cap == pytest.approx((1 - gamma**2) ** 2 / (4 * special.beta(2, 0.5)))
    for columns, epsilon, most in (
        (2, 1, 1.01),
        (10, 1, 1.02),
        (10, 4, 1.06),
        (100, 2, 1.02),
        (100, 4, 1.03),
        (100, 8, 1.04),
    ):
        protocol = PrivUnit(columns=columns, epsilon=epsilon)
        found = float(protocol.variance(np.eye(columns)[:1], people=1).sum())
        cubes = MeanProtocol(bounds=(-1, 1), columns=columns, epsilon=epsilon)
        assert 0.9 < found / priv_unit(columns, epsilon) < most
        assert found < 0.6 * cubes.variance(np.eye(columns)[:1], people=1).sum()
    assert PrivUnit(columns=2000, epsilon=4).variance(people=1).size == 2000
    found = float(PrivUnit(columns=2000, epsilon=4).variance([[1, *[0] * 1999]], people=1).sum()) / 2000
    assert found == pytest.approx(priv_unit_g(4), rel=0.03)
    tried = [PrivUnit(columns=5, epsilon=3, cap_size=w).moments[0] for w in range(1, 65)]
    assert PrivUnit(columns=5, epsilon=3).cap_size == 1 + int(np.argmax(tried))
    once, twice = (PrivUnit(columns=50, epsilon=16, repeats=r).variance(people=1)[0] for r in (1, 2))
    assert (PrivUnit(columns=50, epsilon=16).repeats, twice < once) == (2, True)


@pytest.mark.parametrize("people", [200, 1200])
def test_estimates_variances_and_intervals(people: int) -> None:
    """120 runs: means within five standard errors, variances within 65% (five), 90% intervals cover 80%."""
    protocol, runs = PrivUnit(columns=3, epsilon=3, directions=16), 120
    rows = np.tile([[0.6, 0.8, 0], [0, 0, 0.25], [0.2, 0, 0], [3, 0, 4]], (people // 4, 1))
    truth = np.array([0.6 + 0.2 + 0.6, 0.8, 0.25 + 0.8]) / 4
    variance = protocol.variance(rows[:4], people=people)
    assert (variance <= protocol.variance(people=people)).all()
    reports = protocol.encode(np.tile(rows, (runs, 1)), bits=BITS).reshape(runs, people, -1)
    answers = [protocol.estimate(each) for each in reports]
    found = np.array([answer["mean"] for answer in answers])
    assert np.abs(found.mean(axis=0) - truth) / np.sqrt(variance / runs) == pytest.approx(0, abs=5)
    assert found.var(axis=0) == pytest.approx(variance, rel=0.65)
    ends = [answer.intervals(0.9)["mean"] for answer in answers]
    assert np.mean([(end.lower <= truth) & (truth <= end.upper) for end in ends], axis=0).min() >= 0.8


def test_hostile_rows_are_rows_and_the_wire_carries_them() -> None:
    protocol = PrivUnit(columns=3, epsilon=12, repeats=2)
    reports = protocol.encode(HOSTILE, bits=BITS)
    assert reports.shape == (len(HOSTILE), protocol.width)
    units, lengths = protocol._unit_vectors(HOSTILE)
    assert np.linalg.norm(units, axis=1) == pytest.approx(1)
    assert lengths.round(3).tolist() == [1, 1, 0, 1, 0, 0, 0, 0, 0, 0.374, 0]
    assert protocol_of(protocol.to_json()) == protocol
    collector = Collector(protocol)
    for each in reports:
        collector.add(pack(protocol, each[np.newaxis]))
    assert (collector.estimate()["mean"] == protocol.estimate(reports)["mean"]).all()
    assert (unpack(protocol, pack(protocol, reports)) == reports).all()
    with pytest.raises(InvalidParameterError, match="rows must have 3 columns"):
        protocol.encode(np.ones((2, 4)), bits=BITS)
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(np.full((1, protocol.width), 255, dtype=np.uint8))
    with pytest.raises(InvalidParameterError, match="tally"):
        protocol.estimate(np.full(protocol.size, 2**40), people=5)


@pytest.mark.parametrize(
    "wrong",
    [{"columns": 1}, {"directions": 2000}, {"near": 65}, {"repeats": 41}, {"columns": 2**16, "directions": 1000}],
)
def test_protocols_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        PrivUnit(**{"columns": 3, "epsilon": 1, **wrong})
