"""95% intervals hold the truth 95 times in 100, for every aggregate; benchmarks/query/coverage.py has the table.

A right method covers 95% or so: with 400 runs the limits below are 4 standard errors away, so it fails one of them with
probability below 10^-3 in all, once for the fixed seed.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

from deniable.noise.bits import DeterministicBits

_SPEC = importlib.util.spec_from_file_location(
    "coverage_of_queries", Path(__file__).parents[2] / "benchmarks" / "query" / "coverage.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
table = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = table
_SPEC.loader.exec_module(table)

RUNS, LIMITS = 400, (0.906, 0.985)


@pytest.mark.parametrize("aggregate", table.TOTALS)
def test_an_interval_of_a_total_covers_what_it_says(aggregate: str) -> None:
    found = table.coverage(table.TOTALS[aggregate], RUNS, DeterministicBits(3), epsilon="0.2")
    assert LIMITS[0] <= found.holds <= LIMITS[1], found


@pytest.mark.parametrize("aggregate", table.RANKED)
def test_an_interval_of_a_quantile_covers_at_least_what_it_says(aggregate: str) -> None:
    """Its ends miss with 5% at most whatever the data are, so on these it is wider than it has to be."""
    assert table.coverage(table.RANKED[aggregate], 40, DeterministicBits(3), epsilon="0.2").holds >= 0.9


def test_mode_is_within_its_rows_as_often_as_it_says() -> None:
    assert table.mode(RUNS, DeterministicBits(3), epsilon="0.01") >= LIMITS[0]


@pytest.mark.parametrize("width", [0.7, 1.5])
def test_intervals_of_another_width_are_found_out(width: float) -> None:
    """They cover 88% or 99%, beyond the limits by more than 3 standard errors and by 1."""
    found = table.coverage(table.TOTALS["COUNT(*)"], 4000, DeterministicBits(3), width=width, epsilon="0.2")
    assert not LIMITS[0] <= found.holds <= LIMITS[1]
