"""The trimmed mean of a private number of records: its bound against all small tables."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.smooth import SmoothCentralMean, SmoothStudentT, SmoothTrimmedMean
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.smooth.laws import rounded
from tests.mechanisms.tables import multisets

DOMAIN = range(5)


def noise_of(beta: str) -> SmoothStudentT:
    return SmoothStudentT(epsilon=6, degrees=1, beta=beta, bounds=(0, 4))


def larger(table: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All tables with one record more."""
    return [tuple(sorted((*table, value))) for value in DOMAIN]


def statistic(table: tuple[int, ...], trimmed: int) -> float:
    kept = sorted(table)[trimmed : len(table) - trimmed]
    return float(np.mean(kept)) if kept else 2.0


@pytest.mark.parametrize("trimmed", [0, 1, 2])
@pytest.mark.parametrize("beta", ["0.05", "0.5", "2"])
def test_the_bound_holds_and_is_smooth_for_all_small_tables(trimmed: int, beta: str) -> None:
    """At least the change to every neighbour, and within e^beta of the neighbour's, for all tables up to 7 records."""
    mechanism = SmoothCentralMean(noise=noise_of(beta), trimmed=trimmed)
    tables = [table for size in range(8) for table in multisets(DOMAIN, size)]
    measured = {table: mechanism.measured(table) for table in [*tables, *multisets(DOMAIN, 8)]}
    tightest = math.inf
    for table in tables:
        value, bound = map(float, measured[table])
        assert value == pytest.approx(statistic(table, trimmed))
        for other in larger(table):
            moved, there = abs(statistic(other, trimmed) - value), float(measured[other][1])
            assert moved <= min(bound, there) * (1 + 1e-9)
            assert abs(math.log(bound / there)) <= float(Fraction(beta)) * (1 + 1e-12)
            tightest = min(tightest, bound / moved) if moved else tightest
    assert tightest < 2.1


def test_the_bound_is_the_discounted_maximum_of_its_definition() -> None:
    """max over tables within seven changes of e^(-beta k) G, with G as in the proof, found by walking."""
    trimmed, beta = 1, 1.0
    mechanism = SmoothCentralMean(noise=noise_of("1"), trimmed=trimmed)

    def largest_change(table: tuple[int, ...]) -> float:
        kept = len(table) - 2 * trimmed
        if kept <= 1:
            return 4.0
        x = [0, *table, 4]
        s, e = trimmed + 1, len(table) - trimmed
        return max((x[e] - x[s]) / kept, (x[e + 1] - x[s]) / (kept + 1), (x[e] - x[s - 1]) / (kept + 1))

    for start in multisets(DOMAIN, 4):
        reached, edge, best = {start}, {start}, largest_change(start)
        for k in range(1, 4):
            more = {other for table in edge for other in larger(table)}
            less = {table[:i] + table[i + 1 :] for table in edge for i in range(len(table))}
            edge = (more | less) - reached
            reached |= edge
            best = max([best, *(math.exp(-beta * k) * largest_change(table) for table in edge)])
        assert float(mechanism.measured(start)[1]) == pytest.approx(best, rel=1e-8)


def test_all_neighbours_keep_to_epsilon_and_local_sensitivity_does_not() -> None:
    """Exact laws of all tables of two to six records; the twin's noise has the scale of the local sensitivity."""
    noise = SmoothStudentT(epsilon=3, degrees=1, beta="1/2", bounds=(0, 4))
    mechanism = SmoothCentralMean(noise=noise, trimmed=1)
    smooth, naive = {}, {}
    for table in (table for size in range(2, 7) for table in multisets(DOMAIN, size)):
        value, bound = map(float, mechanism.measured(table))
        local = max(abs(statistic(other, 1) - value) for other in larger(table))
        smooth[table] = rounded(noise, value, bound)[1]
        naive[table] = rounded(noise, value, max(local, 0.05))[1]
    for laws, low, high in ((smooth, 1.0, 3), (naive, 3.1, 99)):
        pairs = ((x, y) for x in laws for y in larger(x) if y in laws)
        losses = [np.abs(np.log(laws[x] / laws[y])).max() for x, y in pairs]
        assert low < max(losses) <= high * (1 + 1e-9)


def test_of_many_records_it_has_little_more_noise_than_with_a_public_number() -> None:
    rows = np.sort(np.random.default_rng(1).normal(500, 50, 2001).astype(np.int64))
    noise = SmoothStudentT.calibrated(epsilon=1, bounds=(0, 1000))
    value, bound = SmoothCentralMean(noise=noise, trimmed=100).measured(rows)
    public_value, public_bound = SmoothTrimmedMean(noise=noise, trimmed=100).measured(rows)
    assert value == public_value
    assert bound <= public_bound * Fraction(101, 100)


def test_wide_bounds_and_small_beta_are_searched_to_their_end() -> None:
    """Against all pairs at once."""
    rng = np.random.default_rng(2)
    rows = np.sort(rng.integers(0, 10**6, 300))
    noise = SmoothStudentT(epsilon=1, degrees=1, beta="0.01", bounds=(0, 10**6))
    x, t, kept = np.concatenate([[0], rows, [10**6]]).astype(float), 40, 220
    p, r = np.arange(t + 2)[:, None], np.arange(t + 2)[None, :]
    widths = (x[300 - t + p] - x[t + 1 - r]) / (kept + p + r) * np.exp(-0.01 * np.maximum(p + r - 1, 0))
    truth = max(widths.max(), 10**6 * math.exp(-0.01 * (kept - 1)))
    assert float(SmoothCentralMean(noise=noise, trimmed=t).measured(rows)[1]) == pytest.approx(truth, rel=1e-6)


def test_it_is_proved_for_add_remove_alone() -> None:
    mechanism = SmoothCentralMean(noise=noise_of("1"), trimmed=1)
    assert mechanism.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=AddRemove)).pure_epsilon == 12
    with pytest.raises(UnprovedError, match="add/remove"):
        mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
    with pytest.raises(InvalidParameterError, match="trimmed must be >= 0"):
        SmoothCentralMean(noise=noise_of("1"), trimmed=-1)
    assert mechanism.measured([])[0] == 2
