"""Means of numbers and vectors: laws by enumeration, draws against them, estimates, intervals, variances."""

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import Collector, MeanProtocol, pack, protocol_of, unpack
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(11)
DuchiMean, PiecewiseMean, HybridMean = partial(MeanProtocol, share=0), partial(MeanProtocol, share=1), MeanProtocol
KINDS: list[Any] = [DuchiMean, PiecewiseMean, HybridMean]
SMALL = [kind(bounds=(-1, 1), epsilon=epsilon, steps=12) for kind in KINDS for epsilon in ("1/2", 2)]


def name(protocol: Any) -> str:
    return f"{protocol.share}-{protocol.epsilon}"


@pytest.mark.parametrize("protocol", SMALL, ids=name)
def test_the_greatest_loss_over_all_pairs_is_epsilon(protocol: Any) -> None:
    rows = protocol.channel(range(13))
    assert all(sum(row) == 1 for row in rows)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert worst == protocol.likelihood_ratio
    assert float(worst) == pytest.approx(math.exp(protocol.epsilon), rel=1e-8)


@pytest.mark.parametrize("protocol", SMALL, ids=name)
def test_scores_have_no_bias_and_the_stated_variance(protocol: Any) -> None:
    law = np.array(protocol.channel(range(13)), dtype=np.float64)
    grid = np.linspace(-1, 1, 13)
    assert law @ protocol.scores == pytest.approx(grid, abs=1e-9)
    variance = law @ protocol.scores**2 - grid**2
    assert [protocol.variance([x], people=1)[0] for x in grid] == pytest.approx(variance)
    assert protocol.variance(people=1) == pytest.approx(variance.max())


@pytest.mark.parametrize("protocol", SMALL, ids=name)
def test_reports_are_drawn_from_the_law(protocol: Any) -> None:
    """Chi-square at level 1e-6, six protocols, fixed bits."""
    runs = 40_000
    drawn = protocol.supports(protocol.encode(np.full(runs, -1 / 6), bits=BITS))
    expected = runs * np.array(protocol.channel([5])[0], dtype=np.float64)
    assert stats.chisquare(drawn, expected).pvalue > 1e-6


def test_on_a_fine_grid_the_variances_are_those_of_the_literature() -> None:
    """C^2 - t^2 (Duchi), t^2/(e^(eps/2)-1) + (e^(eps/2)+3)/(3 (e^(eps/2)-1)^2) (Piecewise): Wang et al. (2019)."""
    for epsilon, t in ((0.5, 0.0), (2, 0.5), (4, 1.0)):
        grown, half = math.exp(epsilon), math.exp(epsilon / 2)
        facts: dict[str, Any] = {"bounds": (-1, 1), "epsilon": str(epsilon), "steps": 10_000}
        duchi = ((grown + 1) / (grown - 1)) ** 2 - t**2
        piecewise = t**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        assert DuchiMean(**facts).variance([t], people=1) == pytest.approx(duchi, rel=1e-8)
        usual = PiecewiseMean(**facts, window=round(10_000 / half))
        assert usual.variance([t], people=1) == pytest.approx(piecewise, rel=1e-3)
    for epsilon in ("0.3", "0.6", "0.7", "1.3", "3", "6"):
        worst = [kind(bounds=(0, 1), epsilon=epsilon).variance(people=1)[0] for kind in KINDS]
        assert worst[2] <= min(worst[:2]) * (1 + 1e-9)


def test_windows_and_coins_are_the_best_of_all() -> None:
    """By trying every window of a grid of 30, and every coin of 64."""
    facts: dict[str, Any] = {"bounds": (0, 1), "steps": 30}
    for epsilon in ("1/2", "2", "5"):
        tried = [PiecewiseMean(**facts, epsilon=epsilon, window=w).variance(people=1)[0] for w in range(1, 31)]
        assert PiecewiseMean(**facts, epsilon=epsilon).variance(people=1) == pytest.approx(min(tried))
        coins = [HybridMean(**facts, epsilon=epsilon, share=Fraction(i, 64)).variance(people=1)[0] for i in range(65)]
        assert HybridMean(**facts, epsilon=epsilon).variance(people=1) == pytest.approx(min(coins))


@pytest.mark.parametrize("protocol", [kind(bounds=(10, 30), epsilon=1) for kind in KINDS], ids=name)
@pytest.mark.parametrize("people", [200, 2000])
def test_estimates_and_intervals(protocol: Any, people: int) -> None:
    """400 runs: mean within five standard errors, variance within 35%, 90% intervals cover at least 85%."""
    values, runs = np.linspace(10, 25, people), 400
    reports = protocol.encode(np.tile(values, runs), bits=BITS).reshape(runs, people, -1)
    answers = [protocol.estimate(each) for each in reports]
    found = np.array([answer["mean"][0] for answer in answers])
    variance, truth = protocol.variance(values, people=people), float(values.mean())
    assert found.mean() == pytest.approx(truth, abs=0.02 + 5 * math.sqrt(variance[0] / runs))
    assert found.var() == pytest.approx(variance, rel=0.35)
    ends = [answer.intervals(0.9)["mean"] for answer in answers]
    assert np.mean([end.lower[0] <= truth <= end.upper[0] for end in ends]) >= 0.85


def test_numbers_that_are_none_and_numbers_outside_are_reports_like_any_other() -> None:
    protocol = HybridMean(bounds=(0, 1), epsilon=1)
    assert protocol.encode([None, "x", float("nan"), -1e300, float("inf"), 10**400], bits=BITS).shape == (
        6,
        protocol.width,
    )
    assert protocol.grid_points(np.array([-5.0, 5.0, np.nan, 0.4996])).tolist() == [0, 1000, 0, 500]


def test_the_wire_carries_them() -> None:
    protocol = HybridMean(bounds=(0, Fraction(1, 3)), epsilon=3)
    assert protocol_of(protocol.to_json()) == protocol
    collector = Collector(protocol)
    collector.add(pack(protocol, protocol.encode([0.1] * 50, bits=BITS)))
    assert 0 <= collector.estimate().intervals(0.5)["mean"].lower[0] <= 1 / 3
    with pytest.raises(InvalidParameterError, match="another protocol"):
        collector.add(pack(PiecewiseMean(bounds=(0, 1), epsilon=3), np.zeros((1, 2), dtype=np.uint8)))
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(np.full((1, protocol.width), 255, dtype=np.uint8))
    with pytest.raises(InvalidParameterError, match="add up"):
        protocol.estimate(np.zeros(protocol.size, dtype=np.int64), people=5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": (1, 1)},
        {"steps": 0},
        {"epsilon": 0},
        {"bounds": (float("nan"), 1)},
        {"share": 2},
        {"window": 1001},
        {"columns": 2**16},
    ],
)
def test_protocols_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        HybridMean(**{"bounds": (0, 1), "epsilon": 1, **wrong})


def test_the_greatest_loss_over_all_pairs_of_vectors_is_at_most_epsilon() -> None:
    """Given the place, codes are independent; so probabilities are products over the coordinates that it names."""
    protocol = MeanProtocol(columns=3, bounds=(0, 1), epsilon=2, sampled=2, steps=2)
    rows = protocol.channel(range(3))
    ratios = [max(a / b for a, b in zip(x, y, strict=True)) for x, y in product(rows, rows)]
    assert max(one * other for one, other in product(ratios, ratios)) <= math.exp(2)
    assert float(max(ratios)) ** 2 == pytest.approx(math.exp(2), rel=1e-8)


@pytest.mark.parametrize("sampled", [1, 3])
def test_estimates_variances_and_intervals(sampled: int) -> None:
    """300 runs of 1200 people: means within five standard errors, variances within 45%, 90% intervals cover 84%."""
    protocol = MeanProtocol(columns=4, bounds=(-1, 1), epsilon=2, sampled=sampled)
    people, runs = 1200, 300
    rows = np.tile([[0.5, 0, -1, 1], [0.1, 0, -1, 0.5]], (people // 2, 1))
    answers = [protocol.estimate(protocol.encode(rows, bits=BITS)) for _ in range(runs)]
    found, truth = np.array([answer["mean"] for answer in answers]), rows.mean(axis=0)
    variance = protocol.variance(rows[:2], people=people)
    assert np.abs(found.mean(axis=0) - truth) / np.sqrt(variance / runs) == pytest.approx(0, abs=5)
    assert found.var(axis=0) == pytest.approx(variance, rel=0.45)
    assert (variance <= protocol.variance(people=people) + 1e-15).all()
    ends = [answer.intervals(0.9)["mean"] for answer in answers]
    assert np.mean([(end.lower <= truth) & (truth <= end.upper) for end in ends], axis=0).min() >= 0.84


def test_coordinates_are_chosen_by_epsilon_and_hostile_rows_are_rows() -> None:
    assert [MeanProtocol(columns=9, bounds=(0, 1), epsilon=e).sampled for e in (1, 6, 40)] == [1, 2, 9]
    protocol = MeanProtocol(columns=2, bounds=(0, 1), epsilon=1)
    for columns in (1, 3):
        with pytest.raises(InvalidParameterError, match="rows must have 2 columns"):
            protocol.encode(np.ones((4, columns)), bits=BITS)
    odd: list[Any] = [[0.5, None], "ab", [1], None, [float("nan"), 10**400]]
    reports = protocol.encode(odd, bits=BITS)
    assert reports.shape == (5, protocol.width)
    assert (unpack(protocol, pack(protocol, reports)) == reports).all()
    assert protocol_of(protocol.to_json()) == protocol
    with pytest.raises(InvalidParameterError, match="invalid report"):
        protocol.supports(np.full((1, protocol.width), 255, dtype=np.uint8))
