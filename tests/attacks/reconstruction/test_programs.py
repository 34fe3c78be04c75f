"""Linear programs: their matrices against the notes' program, their optima against other formulations."""

from typing import get_args

import numpy as np
import pytest
from scipy.optimize import linprog

from deniable.attacks import estimate_by_linear_program
from deniable.attacks.reconstruction import answer_within, linear_program, random_subsets
from deniable.attacks.reconstruction.programs import Norm
from deniable.errors import InvalidParameterError

SECRETS = np.random.default_rng(5).integers(0, 2, 24)
GROUPS = random_subsets(people=24, queries=90)
TOLD = answer_within(SECRETS, error=4)(GROUPS)  # too much for the bits, so that the optimum is not the truth


def test_the_program_has_the_size_of_exercise_2() -> None:
    """For n people and m answers n + 1 columns, 2 m rows and 2 n bounds."""
    program = linear_program(GROUPS, TOLD)
    assert program.rows.shape == (2 * 90, 24 + 1)
    assert np.isfinite([program.lower, program.upper]).sum() == 2 * 24


def test_a_point_is_feasible_exactly_if_its_residuals_are_at_most_t() -> None:
    program = linear_program(GROUPS, TOLD)
    for seed in range(20):
        dice = np.random.default_rng(seed)
        bits, largest = dice.uniform(0, 1, 24), dice.uniform(4, 12)
        point = np.append(bits, largest)
        feasible = bool((program.rows @ point <= program.limits).all())
        assert feasible == (np.abs(GROUPS @ bits - TOLD).max() <= largest)
        assert program.costs @ point == largest


def test_the_dual_finds_the_least_largest_residual() -> None:
    """Against the program of Exercise 2, and by convexity: no step towards a point of the cube makes it smaller."""
    program = linear_program(GROUPS, TOLD)
    bounds = np.stack([program.lower, program.upper], axis=1)
    plain = linprog(program.costs, A_ub=program.rows, b_ub=program.limits, bounds=bounds)
    best = estimate_by_linear_program(GROUPS, TOLD, norm="largest")
    least = np.abs(GROUPS @ best - TOLD).max()
    assert least == pytest.approx(plain.fun, rel=1e-9)
    others = np.random.default_rng(0).uniform(0, 1, (200, 24))
    moved = best + 1e-3 * (np.vstack([others, SECRETS, others.round()]) - best)
    assert (np.abs(moved @ GROUPS.T - TOLD).max(axis=1) >= least - 1e-9).all()
    assert least < np.abs(GROUPS @ SECRETS - TOLD).max()


def test_the_dual_finds_the_least_sum_of_residuals() -> None:
    """Against the program as it is usually written, with a column for each residual."""
    plain = linprog(
        np.append(np.zeros(24), np.ones(180)),
        A_eq=np.hstack([GROUPS, np.eye(90), -np.eye(90)]),
        b_eq=TOLD,
        bounds=[(0, 1)] * 24 + [(0, None)] * 180,
    )
    found = estimate_by_linear_program(GROUPS, TOLD, norm="sum")
    assert np.abs(GROUPS @ found - TOLD).sum() == pytest.approx(plain.fun, rel=1e-9)
    assert found == pytest.approx(plain.x[:24], abs=1e-6)


def test_small_errors_leave_no_bit_wrong() -> None:
    """n = 64, m = 10 n, errors uniform in [-1, 1]."""
    secrets = np.random.default_rng(1).integers(0, 2, 64)
    groups = random_subsets(people=64, queries=640)
    told = answer_within(secrets, error=1)(groups)
    for norm in get_args(Norm):
        assert (estimate_by_linear_program(groups, told, norm=norm).round() == secrets).all()


def test_the_sum_forgives_a_fifth_of_lies_and_the_largest_does_not() -> None:
    told = (GROUPS @ SECRETS).astype(float)
    told[::5] = 0
    assert (estimate_by_linear_program(GROUPS, told, norm="sum").round() == SECRETS).all()
    assert (estimate_by_linear_program(GROUPS, told, norm="largest").round() != SECRETS).any()


def test_withheld_answers_have_no_rows() -> None:
    told = np.where(np.arange(90) < 30, np.nan, TOLD)
    assert linear_program(GROUPS, told).rows.shape == (120, 25)
    for norm in get_args(Norm):
        kept = estimate_by_linear_program(GROUPS[30:], TOLD[30:], norm=norm)
        assert estimate_by_linear_program(GROUPS, told, norm=norm) == pytest.approx(kept)
    with pytest.raises(InvalidParameterError, match="not withheld"):
        linear_program(GROUPS, np.full(90, np.nan))
    with pytest.raises(InvalidParameterError, match="norm must"):
        estimate_by_linear_program(GROUPS, TOLD, norm="least")  # type: ignore[arg-type]
