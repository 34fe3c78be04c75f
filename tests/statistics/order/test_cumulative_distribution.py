import importlib
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise import laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import cumulative_distribution
from deniable.statistics.order.cumulative_distribution import CumulativeDistribution

module = importlib.import_module("deniable.statistics.order.cumulative_distribution")

AT = [float(k) for k in range(0, 101, 5)]


def truth(values: np.ndarray, at: list[float]) -> np.ndarray:
    return np.array([np.mean(values <= value) for value in at])


def test_shares_are_monotone_and_near_the_truth() -> None:
    values = np.random.default_rng(1).normal(50, 10, 5000)
    answer = cumulative_distribution(values, AT, epsilon=1, bits=DeterministicBits(1))
    assert np.all(np.diff(answer["share"]) >= 0)
    assert answer["share"].min() >= 0
    assert answer["share"].max() <= 1
    assert np.abs(answer["share"] - truth(values, AT)).max() < 0.01
    assert answer["value"].tolist() == AT


def test_a_value_at_an_edge_counts_there() -> None:
    answer = cumulative_distribution([10, 10, 20], [10, 15], epsilon=1000, bits=DeterministicBits(1))
    assert np.allclose(answer["share"], [2 / 3, 2 / 3])


@pytest.mark.parametrize("places", [21, 81])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_intervals_cover_each_share(relation: Relation, places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At level 0.9, 60 runs of shares that hang together: below 0.8 lies more than five standard errors off. The few
    places have no tree, the many have one."""
    monkeypatch.setattr(module, "_DRAWS", 500)  # enough for this level
    at = np.linspace(0, 100, places).tolist()
    plan = CumulativeDistribution(at=at, epsilon=1, relation=relation)
    covered, inner = [], []
    for seed in range(60):
        values = np.random.default_rng(seed).normal(50, 20, 300)
        lower, upper = plan(values, bits=DeterministicBits(seed)).intervals(0.9)["share"]
        covered.append((lower <= truth(values, at)) & (truth(values, at) <= upper))
        inner.append(np.mean(upper - lower))
    assert 0.8 < np.mean(covered) <= 0.99
    assert np.mean(inner) < (0.12 if relation is Replace or places > 21 else 0.06)


def test_a_level_that_the_draws_cannot_tell_gives_what_is_certain() -> None:
    answer = cumulative_distribution([1.0], [1, 2], epsilon=1, bits=DeterministicBits(1))
    assert answer.intervals(0.999)["share"].lower.tolist() == [0, 0]
    assert answer.intervals(0.999)["share"].upper.tolist() == [1, 1]


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/2"}])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("places", [21, 105])
def test_the_expected_error_is_known_before(
    places: int, relation: Relation, price: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are spread evenly and many, so that hardly a share is moved: but for trees, a root mean square of 60 runs is
    known to 8%, as errors of a run hang together."""
    monkeypatch.setattr(module, "_DRAWS", 1)  # intervals are not asked for
    at = np.linspace(0, 100, places).tolist()
    plan = CumulativeDistribution(at=at, relation=relation, **price)  # type: ignore[arg-type]
    values = np.random.default_rng(1).uniform(0, 105, 20_000)
    errors = [plan(values, bits=DeterministicBits(seed))["share"] - truth(values, at) for seed in range(60)]
    measured = np.sqrt(np.mean(np.square(errors)))
    assert 0.7 * plan.expected_error(20_000) < measured < 1.25 * plan.expected_error(20_000)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_few_places_are_as_near_as_by_a_histogram_alone(relation: Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 cells divided by their own noisy total are what a user could do by hand. Ratios of mean squares over 60 runs
    are known to a fifth; the twin, sums that are not divided by what they add up to, has three times as much."""
    monkeypatch.setattr(module, "_DRAWS", 1)
    values = np.random.default_rng(1).normal(50, 15, 5000)
    at = [float(k) for k in range(5, 100, 5)]
    plan = CumulativeDistribution(at=at, epsilon=1, relation=relation)
    counts = np.bincount(np.searchsorted(at, values), minlength=20)
    mine, theirs, twin = [], [], []
    for seed in range(60):
        mine.append(plan(values, bits=DeterministicBits(seed))["share"] - truth(values, at))
        noise = laplace.sample(scale=1 if relation is AddRemove else 2, size=20, bits=DeterministicBits(seed + 1000))
        noisy = np.maximum(counts + noise, 0)
        theirs.append(np.cumsum(noisy)[:-1] / noisy.sum() - truth(values, at))
        twin.append(np.cumsum(counts + noise)[:-1] / 5000 - truth(values, at))
    assert np.mean(np.square(mine)) < 1.2 * np.mean(np.square(theirs))
    assert np.mean(np.square(twin)) > 1.8 * np.mean(np.square(theirs))


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("values", [[], [5.0], [np.nan, np.inf, -np.inf]])
def test_few_rows_give_an_answer(values: list[float], relation: Relation) -> None:
    answer = cumulative_distribution(values, AT, epsilon=1, relation=relation, bits=DeterministicBits(1))
    assert len(answer) == len(AT)
    assert np.all((answer["share"] >= 0) & (answer["share"] <= 1))
    lower, upper = answer.intervals()["share"]
    assert np.all(lower <= upper)


def test_missing_values_stand_in_the_middle_under_replace() -> None:
    answer = cumulative_distribution(
        [np.nan] * 10, [1, 2, 3], epsilon=1000, relation=Replace, bits=DeterministicBits(1)
    )
    assert answer["share"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/10"}])
def test_the_charge_is_the_price(price: dict[str, object]) -> None:
    charge = CumulativeDistribution(at=AT, **price).privacy_loss.charge()  # type: ignore[arg-type]
    if "rho" in price:
        assert Fraction(99, 1000) <= charge.rho <= Fraction(1, 10)
    else:
        assert Fraction(99, 100) <= charge.epsilon <= 1
        assert charge.delta in (0, Fraction(str(price.get("delta", 0))))  # noise that needs no delta costs none


@pytest.mark.parametrize("at", [[], 5, "12", [2, 1], [1, 1], [0, float("inf")], list(range(1024)), None])
def test_wrong_lists_are_refused(at: object) -> None:
    with pytest.raises(InvalidParameterError, match="at "):
        CumulativeDistribution(at=at, epsilon=1)  # type: ignore[arg-type]
