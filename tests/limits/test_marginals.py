"""Fingerprinting: its identity by enumeration, its bound against the best mechanisms and against Gaussian noise."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from deniable.limits import marginals_error
from deniable.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from tests.limits.programs import best_worst_case


def test_whoever_follows_the_mean_follows_the_rows() -> None:
    """E[f(x) sum (x - p)] = 2 E[p f(x)] over a uniform p, for random f on {-1, 1}^3, by Gauss-Legendre quadrature."""
    random, (nodes, weights) = np.random.default_rng(1), np.polynomial.legendre.leggauss(12)
    tables = np.array(list(itertools.product((-1, 1), repeat=3)))
    for _ in range(20):
        f = random.uniform(-1, 1, 8)
        left = right = 0.0
        for p, weight in zip(nodes, weights / 2, strict=True):
            law = np.prod((1 + tables * p) / 2, axis=1)
            left += weight * (law * f * (tables - p).sum(axis=1)).sum()
            right += weight * 2 * p * (law * f).sum()
        assert left == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.05", 0), ("0.2", 0), ("0.05", "0.001")])
def test_no_mechanism_for_one_column_errs_less_and_one_is_within_seven_times(epsilon: str, delta: object) -> None:
    """All mechanisms for a count of 0..30 with answers on that grid; squares of errors."""
    grid = np.arange(31) / 30
    squares = (grid - grid[:, None]) ** 2
    best = best_worst_case(squares, [(k, k + 1) for k in range(30)], epsilon=float(epsilon), delta=float(delta))
    loss = ApproximateLoss(epsilon, delta) if delta else PureLoss(epsilon)
    bound = marginals_error(loss, rows=30, columns=1)
    assert math.sqrt(best) / 7 < bound <= math.sqrt(best)


def proved_floor(c: float, delta: float, rows: int, columns: int) -> float:
    """The least error that the inequality of the proof allows, found by bisection for every size of a table."""
    floors = [0.0]
    for m in np.unique(np.geomspace(1, rows, 400).astype(int)):

        def slack(error: float, m: int = m) -> float:
            near = 2 * error * rows / m + math.sqrt(2 / (3 * m))  # sqrt(v), of a table of m rows
            leaning = columns * (2 / 3 - 2 * near / math.sqrt(3))
            return float(m * (c * math.sqrt(columns) * near + 8 * delta * columns / 3) - leaning)

        if slack(0) < 0:
            floors.append(float(brentq(slack, 0, 1, xtol=1e-14)))
    return max(floors)


def test_the_bound_is_the_least_error_that_the_proof_allows() -> None:
    """Concentrated losses have the chi-square divergence e^(2 rho) - 1, pure ones at most 4 sinh(epsilon / 2)^2."""
    concentrated = marginals_error(ConcentratedLoss("0.01"), rows=10**6, columns=10**5)
    assert concentrated == pytest.approx(proved_floor(math.sqrt(math.expm1(0.02)), 0, 10**6, 10**5), rel=1e-6)
    limit = math.sqrt(10**12 / math.expm1(0.02)) / (3 * 10**9)  # of many columns
    assert 0.97 * limit < marginals_error(ConcentratedLoss("0.01"), rows=10**9, columns=10**12) < limit
    both = marginals_error(ApproximateLoss("0.1", "1e-9"), rows=10**6, columns=10**5)
    assert both == pytest.approx(proved_floor(2 * math.sinh(0.05), 1e-9, 10**6, 10**5), rel=1e-3)


def test_gaussian_noise_is_within_five_times_under_concentrated_privacy() -> None:
    for rho, rows, columns in (("0.01", 10**6, 1000), ("0.1", 10**6, 10**5), ("0.001", 10**5, 100)):
        noise = math.sqrt(columns / (2 * float(rho))) / rows
        assert noise / 5 < marginals_error(ConcentratedLoss(rho=rho), rows=rows, columns=columns) < noise


def test_the_bound_grows_as_the_root_of_columns_and_pure_privacy_pays_the_rest() -> None:
    """Items 216 and 221: d against sqrt(d)."""
    loss = ApproximateLoss("0.1", "1e-9")
    four = [marginals_error(loss, rows=10**6, columns=columns) for columns in (10**4, 4 * 10**4)]
    assert four[1] == pytest.approx(2 * four[0], rel=0.1)


def test_with_a_large_delta_nothing_but_delta_counts() -> None:
    assert marginals_error(ApproximateLoss(1, "0.01"), rows=10**5, columns=100) < marginals_error(
        ApproximateLoss(1, "1e-9"), rows=10**5, columns=10**4
    )
