"""Le Cam's bounds against the best mechanisms and tests on tiny domains, and against laws in closed form."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, norm

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.limits import (
    local_floor,
    marginals_error,
    mean_error,
    population_error,
    population_rows,
    two_point_error,
)
from deniable.privacy import ApproximateLoss, GaussianDPLoss, PrivacyLoss, PureLoss
from deniable.privacy.constructors import SparseVectorLoss
from tests.limits.programs import best_worst_case

LOSSES = [(PureLoss("0.5"), 0.5, 0.0), (PureLoss(1), 1.0, 0.0), (ApproximateLoss("0.5", "0.02"), 0.5, 0.02)]


def chain(rows: int) -> list[tuple[int, int]]:
    return [(k, k + 1) for k in range(rows)]


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
def test_no_mechanism_has_a_smaller_mean_error_and_one_is_within_three_times(
    loss: PrivacyLoss, epsilon: float, delta: float
) -> None:
    """All mechanisms for a count of 0..8 whose answers are multiples of 1/16 of the rows."""
    counts, answers = np.arange(9) / 8, np.arange(17) / 16
    best = best_worst_case(np.abs(answers - counts[:, None]), chain(8), epsilon=epsilon, delta=delta)
    assert best / 3 < mean_error(loss, rows=8) <= best


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
@pytest.mark.parametrize("units", [1, 4])
def test_no_test_errs_less_and_the_best_attains_the_rate(
    loss: PrivacyLoss, epsilon: float, delta: float, units: int
) -> None:
    """The tables between the two ask for nothing: they are only to be private."""
    losses = np.full((units + 1, 2), math.inf)
    losses[0], losses[units] = (0, 1), (1, 0)
    best = best_worst_case(losses, chain(units), epsilon=epsilon, delta=delta)
    assert two_point_error(loss, units=units) == pytest.approx(best, rel=1e-3)
    delta_k = loss.group(units).delta(units * epsilon).upper  # item 226: (1 - delta_k) / (1 + e^(k epsilon))
    assert best >= (1 - delta_k) / (1 + math.exp(units * epsilon)) - 1e-9


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
def test_no_test_of_populations_errs_less_and_one_is_within_twice(
    loss: PrivacyLoss, epsilon: float, delta: float
) -> None:
    """Six coins of 0.2 or of 0.5; the test sees their number of ones. p[c] is the probability of saying "0.5"."""
    first, second = binom.pmf(range(7), 6, 0.2), binom.pmf(range(7), 6, 0.5)
    rows, limits = [], []
    for a, b in [pair for k in range(6) for pair in ((k, k + 1), (k + 1, k))]:
        row = np.zeros(7)
        row[a], row[b] = 1, -math.exp(epsilon)
        rows.append(row)
        limits.append(delta)
        other = np.zeros(7)  # the same for the answer 0: (1 - p[a]) <= e^epsilon (1 - p[b]) + delta
        other[a], other[b] = -1, math.exp(epsilon)
        rows.append(other)
        limits.append(math.exp(epsilon) - 1 + delta)
    found = linprog((first - second) / 2, A_ub=np.array(rows), b_ub=limits, bounds=[(0, 1)] * 7)
    best = 0.5 + found.fun
    bound = population_error(loss, rows=6, distance="0.3")
    assert best / 2 < bound <= best


def test_rows_for_populations_grow_as_one_over_epsilon() -> None:
    needed = [population_rows(PureLoss(epsilon), distance="0.01", failure="0.1") for epsilon in ("0.5", "1")]
    assert needed[0] == pytest.approx(2 * needed[1], rel=0.1)
    assert population_error(PureLoss("0.5"), rows=needed[0], distance="0.01") <= 0.1
    assert population_error(PureLoss("0.5"), rows=needed[0] - 1, distance="0.01") > 0.1
    assert 0.5 * math.exp(-4 * needed[0] * 0.005 * 0.5) < 0.1  # Laplace noise, of scale 1 / (n epsilon), for 4 n


def test_gaussian_releases_are_told_apart_as_normal_laws_are() -> None:
    """k rows are a shift of k mu."""
    assert two_point_error(GaussianDPLoss(mu="0.5"), units=3) == pytest.approx(norm.cdf(-0.75), rel=1e-4)
    assert 0.1 < mean_error(GaussianDPLoss(mu="0.1"), rows=1000) * 1000 * 0.1 < math.sqrt(2 / math.pi)


def test_local_reports_are_above_their_floor_by_at_most_six_times() -> None:
    """Randomized response about bits; without sampling in it the floor of large epsilons would be too large."""
    for people, epsilon in ((10_000, 0.1), (10_000, 1), (10**6, 2)):
        floor, spread = local_floor(people, epsilon=epsilon), 0.5 / math.tanh(epsilon / 2) / math.sqrt(people)
        assert floor < spread < 6 * floor
    assert local_floor(100, epsilon=20) < 0.05


def test_what_has_no_bound_is_refused() -> None:
    with pytest.raises(UnprovedError, match="replace"):
        mean_error(SparseVectorLoss(threshold_multiplier=1, query_multiplier=1, answers=1, monotone=True), rows=10)
    for call in (
        lambda: mean_error(1, rows=10),  # type: ignore[arg-type]
        lambda: mean_error(PureLoss(1), rows=0),
        lambda: population_error(PureLoss(1), rows=5, distance=2),
        lambda: population_rows(PureLoss(1), distance="0.1", failure="0.6"),
    ):
        with pytest.raises(InvalidParameterError):
            call()
    assert mean_error(PureLoss("0.00001"), rows=100_000) > 0.01  # more units than are looked at count for nothing


@pytest.mark.parametrize("epsilon", ["2.5e-8", "1e-9", "1e-300"])
def test_the_floor_of_local_reports_is_that_of_series_for_tiny_epsilons(epsilon: str) -> None:
    """c = epsilon^2 to sixteen digits; 2 cosh(epsilon) - 2 in floats is 30% too small, or 0."""
    for people in (1, 10**15, 10**18):
        slope = math.sqrt(people) * float(epsilon) / 2
        distance = min(1.0, 2 / (3 * slope)) if slope > 1e-9 else 1.0
        exact = distance / 2 * math.sqrt(1 - slope * distance)
        assert exact * (1 - 1e-8) < local_floor(people, epsilon=epsilon) <= exact


@pytest.mark.parametrize("rows", [10**30, 10**400])
def test_more_rows_than_computers_count_are_refused(rows: int) -> None:
    for call in (mean_error, marginals_error, population_error):
        given = {marginals_error: {"columns": 2}, population_error: {"distance": "0.5"}}.get(call, {})
        with pytest.raises(InvalidParameterError, match=r"rows must be <= 2\^62"):
            call(PureLoss(1), rows=rows, **given)  # type: ignore[arg-type]
