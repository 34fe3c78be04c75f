from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace
from deniable.statistics.bootstrap import bootstrap
from deniable.statistics.histograms import Histogram
from deniable.statistics.means import Mean
from deniable.statistics.models import Bernoulli, Exponential, Multinomial, Normal, NormalVectors
from deniable.statistics.vectors.mean import VectorMean

GENERATOR = np.random.default_rng(4)


def coverage(rows: Any, fitted: Any, truth: float, *, plan: Mean, kind: str, repeats: int = 60) -> tuple[float, float]:
    """How often 90% intervals hold the truth: those of the bootstrap, and those of the release."""
    hits = []
    for seed in range(repeats):
        bits = DeterministicBits(seed)
        answer = plan(rows(), bits=bits)
        found = bootstrap(
            plan,
            answer,
            fitted(answer.scalar(unsafe=True)),
            size=100,
            runs=99,
            kind=kind,
            bits=bits,  # type: ignore[arg-type]
        )
        hits.append(
            [
                bool(lower[0] <= truth <= upper[0])
                for lower, upper in (each.intervals(0.9)["mean"] for each in (found, answer))
            ]
        )
    ours, noise_alone = np.mean(hits, axis=0)
    return float(ours), float(noise_alone)


@pytest.mark.parametrize("kind", ["pivotal", "percentile"])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_intervals_hold_the_mean_of_the_population(kind: str, relation: Any) -> None:
    """60 repeats at 90%: a right interval is below 0.78 for one seed in 200; the interval for the noise fails."""
    plan = Mean(bounds=(-5, 5), epsilon=2, relation=relation)
    ours, noise_alone = coverage(
        lambda: GENERATOR.normal(1, 1, 100),
        lambda mean: Normal(mean=mean, deviation=1),
        1.0,
        plan=plan,
        kind=kind,
    )
    assert ours >= 0.78
    assert noise_alone < 0.78


def test_shares_are_covered_too() -> None:
    ours, _ = coverage(
        lambda: GENERATOR.uniform(size=100) < 0.3,
        lambda mean: Bernoulli(chance=min(max(mean, 0), 1)),
        0.3,
        plan=Mean(bounds=(0, 1), epsilon=1),
        kind="pivotal",
    )
    assert ours >= 0.78


def test_bias_by_clamping_is_corrected_by_the_pivotal_interval() -> None:
    """Waiting times of mean 1 clamped at 2 have mean 0.86: 90% intervals for 1 from simulations of a fitted model."""
    plan = Mean(bounds=(0, 2), epsilon=10)
    answer = plan(GENERATOR.exponential(1, 20_000), bits=DeterministicBits(1))
    model, options = Exponential(mean=1.0), {"size": 20_000, "runs": 99, "bits": DeterministicBits(2)}
    lower, upper = bootstrap(plan, answer, model, **options).intervals(0.9)["mean"]  # type: ignore[arg-type]
    assert lower[0] <= 1 <= upper[0]
    assert answer.scalar(unsafe=True) < 0.9
    low, high = bootstrap(plan, answer, model, kind="percentile", **options).intervals(0.9)["mean"]  # type: ignore[arg-type]
    assert high[0] < 0.9
    assert low[0] <= answer.scalar(unsafe=True) <= high[0]


def test_an_answer_is_in_its_interval_and_a_note_says_if_that_was_widened() -> None:
    """Rows of mean 1 clamped at 0.5: simulated answers lie far below the model's mean, so errors have one sign."""
    plan, model = Mean(bounds=(0, 0.5), epsilon=10), Exponential(mean=1.0)
    answer = plan(GENERATOR.exponential(1, 2000), bits=DeterministicBits(1))
    for kind, size in (("pivotal", 2000), ("percentile", 20)):
        found = bootstrap(plan, answer, model, size=size, runs=99, kind=kind, bits=DeterministicBits(2))  # type: ignore[arg-type]
        assert (kind == "pivotal") == any("widened" in note for note in found.notes)
        for level in (0.1, 0.5, 0.95):
            lower, upper = found.intervals(level)["mean"]
            assert lower[0] <= found["mean"][0] <= upper[0]


def test_answers_with_many_rows_keep_their_keys() -> None:
    plan = VectorMean(bounds=[(-9, 9)] * 2, deviations=2, rho=1)
    rows = GENERATOR.normal([1, -1], [1, 2], size=(400, 2))
    answer = plan(rows, bits=DeterministicBits(1))
    model = NormalVectors(means=answer["mean"].tolist(), covariance=[[1, 0], [0, 4]])
    found = bootstrap(plan, answer, model, size=400, truth=answer["mean"], runs=99, bits=DeterministicBits(2))
    assert found.columns == ("column", "mean")
    widths = np.subtract(*found.intervals(0.9)["mean"][::-1])
    assert widths == pytest.approx(2 * 1.645 * np.array([1, 2]) / 20, rel=0.4)
    assert "population" in found.notes[-1]


def test_a_model_of_keys_goes_through_a_histogram() -> None:
    keys = ["a", "b"]
    plan = Histogram(keys=keys, epsilon=1)
    answer = plan(GENERATOR.choice(keys, 200), bits=DeterministicBits(1))
    model = Multinomial(keys=keys, chances=[1, 1])
    found = bootstrap(plan, answer, model, size=200, truth=[100, 100], runs=49, bits=DeterministicBits(1))
    lower, upper = found.intervals(0.9)[found.measures[0].name]
    assert (upper - lower > 10).all()


def test_nothing_is_spent_and_progress_is_told() -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    plan = Mean(bounds=(0, 1), epsilon=1)
    answer = plan([0.2, 0.4], ledger=ledger, bits=DeterministicBits(1))
    told: list[tuple[int, int]] = []
    found = bootstrap(
        plan,
        answer,
        Bernoulli(chance=0.5),
        size=20,
        runs=5,
        progress=lambda done, runs: told.append((done, runs)),
        bits=DeterministicBits(1),
    )
    assert told == [(done, 5) for done in range(1, 6)]
    assert ledger.spent().epsilon == 1
    assert found.cost == answer.cost
    lower, upper = found.intervals(0.95)["mean"]  # five runs cannot tell
    assert (lower[0], upper[0]) == (0, 1)  # the bounds of the measure


def test_units_with_many_rows_are_simulated_as_units_of_one() -> None:
    plan = Mean(bounds=(0, 1), epsilon=1, rows=3)
    answer = plan([0.2, 0.4], units=[1, 1], bits=DeterministicBits(1))
    found = bootstrap(plan, answer, Bernoulli(chance=0.5), size=50, runs=19, bits=DeterministicBits(1))
    assert found.intervals(0.9)["mean"].upper[0] <= 1


def test_what_cannot_be_simulated_is_refused() -> None:
    plan = Mean(bounds=(0, 1), epsilon=1)
    answer = plan([0.2, 0.4], bits=DeterministicBits(1))
    model = Normal(mean=0.5, deviation=0.1)
    for wrong in (
        {"kind": "normal"},
        {"size": 0},
        {"runs": 0},
        {"column": "median"},
        {"truth": [1, 2]},
        {"truth": float("nan")},
    ):
        with pytest.raises(InvalidParameterError):
            bootstrap(plan, answer, model, **{"size": 9, "runs": 3, **wrong})  # type: ignore[arg-type]
    two = VectorMean(bounds=[(0, 1)] * 2, deviations=1, epsilon=1)
    pair = two([[0, 1]], bits=DeterministicBits(1))
    one = VectorMean(bounds=[(0, 1)], deviations=1, epsilon=1)
    alone = NormalVectors(means=[0], covariance=[[1]])
    with pytest.raises(InvalidParameterError, match="1 rows for simulated data"):
        bootstrap(one, pair, alone, size=9, runs=3, truth=0)
    with pytest.raises(InvalidParameterError, match="Give truth"):
        bootstrap(two, pair, NormalVectors(means=[0, 0], covariance=[[1, 0], [0, 1]]), size=9, runs=3)
    with pytest.raises(InvalidParameterError, match="Give truth"):
        bootstrap(plan, answer, Multinomial(keys=[0, 1], chances=[1, 1]), size=9, runs=3)
    with pytest.raises(InvalidParameterError, match="takes a statistic"):
        bootstrap("mean", answer, model, size=9)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="method sample"):
        bootstrap(plan, answer, "normal", size=9)  # type: ignore[arg-type]
