"""Tracing: closed-form power against simulation, and exact, rounded and private frequencies."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import norm

from deniable.attacks import trace
from deniable.attacks.numbers import Floats
from deniable.attacks.tracing import attributes_to_trace, draw_pool, score_targets, tracing_power
from deniable.attacks.tracing.genomes import Pool, TracingStatistic
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity.aggregates import of_count

POOL = draw_pool(people=300, attributes=1500, strangers=1500, seed=3)


def power(pool: Pool, published: Floats, statistic: TracingStatistic, rate: float = 0.05) -> float:
    """Share of members above the strangers' own quantile: for laws, not for claims."""
    members, strangers = (
        score_targets(group, reference=pool.reference, published=published, statistic=statistic)
        for group in (pool.members, pool.strangers)
    )
    return float(np.mean(members > np.quantile(strangers, 1 - rate)))


@pytest.mark.parametrize("alleles", [1, 2])
def test_power_of_the_likelihood_is_that_of_theory(alleles: int) -> None:
    """Standard error 0.03 of members and 0.02 of the quantile; allowed 0.1."""
    pool = draw_pool(people=300, attributes=1500, strangers=2000, alleles=alleles, seed=7)
    theory = tracing_power(people=300, reference=pool.reference)
    assert theory == pytest.approx(norm.sf(norm.isf(0.05) - np.sqrt(5)))
    assert power(pool, pool.frequencies, "likelihood") == pytest.approx(theory, abs=0.1)


def test_the_likelihood_ratio_beats_homer_and_the_plain_score() -> None:
    best = power(POOL, POOL.frequencies, "likelihood")
    assert best > power(POOL, POOL.frequencies, "homer") + 0.05
    assert best > power(POOL, POOL.frequencies, "score") - 0.03
    assert power(POOL, POOL.frequencies, "homer") > 0.3


def test_noise_takes_power_as_theory_says() -> None:
    noise = 0.05
    noisy = POOL.frequencies + np.random.default_rng(1).normal(0, noise, 1500)
    theory = tracing_power(people=300, reference=POOL.reference, noise=noise)
    assert power(POOL, noisy, "score") == pytest.approx(theory, abs=0.1)
    assert tracing_power(people=300, reference=POOL.reference) > theory + 0.2


def test_the_number_of_attributes_inverts_the_power() -> None:
    for rate, share in ((0.05, 0.95), (1e-3, 0.5), (1e-6, 0.9)):
        count = attributes_to_trace(people=50, false_positive_rate=rate, power=share)
        assert tracing_power(people=50, reference=np.full(count, 0.3), false_positive_rate=rate) >= share
        assert tracing_power(people=50, reference=np.full(count - 2, 0.3), false_positive_rate=rate) < share
    assert attributes_to_trace(people=50, false_positive_rate=0.5, power=0.3) == 0


def test_homer_is_the_statistic_of_the_paper() -> None:
    y, p, m = np.array([[0.5, 1.0, 0.0]]), np.array([0.4, 0.6, 0.3]), np.array([0.5, 0.7, 0.5])
    moved = np.array([0.1, 0.1, -0.2])
    expected = moved.mean() / (moved.std(ddof=1) / np.sqrt(3))
    assert score_targets(y, reference=p, published=m, statistic="homer") == pytest.approx([expected], abs=1e-12)


def test_a_pool_like_the_population_tells_homer_nothing() -> None:
    """Twin: every D is 0, and so is its spread."""
    assert score_targets([[0, 1]], reference=[0.5, 0.5], published=[0.5, 0.5], statistic="homer").tolist() == [0]


def test_the_likelihood_is_the_ratio_of_the_two_laws() -> None:
    y, p, m = np.array([[1.0, 0.0, 1.0]]), np.array([0.2, 0.4, 0.5]), np.array([0.3, 0.1, 2.0])
    ratio = 0.3 * 0.9 * 0.999 / (0.2 * 0.6 * 0.5)
    assert score_targets(y, reference=p, published=m) == pytest.approx([np.log(ratio)])


PUBLISHERS: dict[str, Callable[[ArrayLike], Floats]] = {
    "exact": lambda members: np.mean(members, axis=0),
    "rounded": lambda members: np.mean(members, axis=0).round(2),
}


def test_the_curve_follows_that_of_theory() -> None:
    """Standard error of a measured rate up to 0.03; the whole curve within 0.12."""
    result = trace(POOL.members, POOL.strangers, reference=POOL.reference, published=POOL.frequencies)
    measured, _, theory = result.curves
    assert np.abs(np.interp(theory.x, measured.x, measured.y) - theory.y).max() < 0.12
    assert np.abs(theory.x - theory.y).max() > 0.5  # twin: a guess is far from it


def test_coarse_answers_are_traced_from_the_square_of_the_people() -> None:
    """Answers 0, 1/2 or 1 alone, an error of constant size: attributes n do not suffice, 9 n^2 do."""
    found = {}
    for attributes in (30, 9 * 30**2):
        pool = draw_pool(people=30, attributes=attributes, strangers=600, seed=5)
        found[attributes] = power(pool, np.round(2 * pool.frequencies) / 2, "score")
    assert found[30] < 0.3
    assert found[9 * 30**2] > 0.9


@pytest.mark.parametrize("name", PUBLISHERS)
def test_exact_and_rounded_frequencies_give_members_away(name: str) -> None:
    result = trace(POOL.members, POOL.strangers, reference=POOL.reference, published=PUBLISHERS[name])
    assert result.succeeded
    assert result.success.value > 0.4
    assert result.facts is not None
    assert result.facts["share found in theory"].startswith("0.7")


@pytest.mark.parametrize("statistic", ["likelihood", "homer", "score"])
def test_frequencies_from_our_own_mechanism_give_nobody_away(statistic: TracingStatistic) -> None:
    counts = POOL.members.sum(axis=0).astype(int)
    mechanism = Laplace.calibrated(of_count(rows=1, groups=1500, relation=AddRemove), epsilon=1)
    released = np.asarray(mechanism.release(counts, bits=DeterministicBits(4)).value, dtype=float) / 300
    result = trace(POOL.members, POOL.strangers, reference=POOL.reference, published=released, statistic=statistic,
                   noise=mechanism.standard_deviation() / 300)  # fmt: skip
    assert not result.succeeded
    assert tracing_power(people=300, reference=POOL.reference, noise=mechanism.standard_deviation() / 300) < 0.06


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": [0.5]}, "have the same attributes"),
        ({"reference": [0.5, 1.0]}, "leave out"),
        ({"published": [0.5, np.nan]}, "NaN or infinity"),
        ({"published": [0.5, np.inf]}, "NaN or infinity"),
        ({"targets": [[0.5, 2]]}, "targets must lie"),
        ({"targets": [[0.5, np.nan]]}, "targets must not hold"),
        ({"targets": np.zeros((0, 2))}, "targets must be a table"),
        ({"statistic": "magic"}, "statistic must"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], message: str) -> None:
    given = {"targets": [[0.0, 1.0]], "reference": [0.5, 0.5], "published": [0.4, 0.6]} | change
    with pytest.raises(InvalidParameterError, match=message):
        score_targets(**given)  # type: ignore[arg-type]


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="people must be >= 1"):
        draw_pool(people=0, attributes=3)
    with pytest.raises(InvalidParameterError, match="lower must"):
        draw_pool(people=1, attributes=3, lower=0.5)
    with pytest.raises(InvalidParameterError, match="noise must be >= 0"):
        tracing_power(people=3, reference=[0.5], noise=-1)
    with pytest.raises(InvalidParameterError, match="people must"):
        attributes_to_trace(people=0)
