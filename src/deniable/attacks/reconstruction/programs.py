"""Linear programs that find secret bits from answers to subset queries."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from deniable.attacks.numbers import Floats
from deniable.attacks.reconstruction.attack import read_answers
from deniable.attacks.reconstruction.queries import Subsets, as_rows
from deniable.errors import InvalidParameterError

METHODS = ("highs-ipm", "highs-ds")  # in this order; the interior point method is the faster one by several times
Norm = Literal["largest", "sum"]


@dataclass(frozen=True, kw_only=True)
class LinearProgram:
    """Linear program: minimise costs @ z where rows @ z <= limits.

    Also lower <= z <= upper. The first columns of z are the people's bits.

    Args:
        costs: shape (columns,).
        rows: shape (constraints, columns).
        limits: shape (constraints,).
        lower, upper: shape (columns,).

    >>> from deniable.attacks.reconstruction import linear_program
    >>> linear_program(np.array([[1, 1], [1, 0]], dtype=np.int8), [1, 1]).costs.tolist()
    [0.0, 0.0, 1.0]
    """

    costs: Floats
    rows: csr_array
    limits: Floats
    lower: Floats
    upper: Floats

    def __repr__(self) -> str:
        constraints, columns = self.rows.shape
        return f"<LinearProgram: {columns:,} columns, {constraints:,} constraints>"


def linear_program(subsets: Subsets, answers: ArrayLike) -> LinearProgram:
    """Return the program that finds bits with the least largest residual.

    It minimises t, where |rows @ x - answers| <= t. For n people and m answers it has n + 1 columns (the bits and t), 2
    m constraints (rows @ x - t <= answers and
    -rows @ x - t <= -answers) and 2 n bounds 0 <= x <= 1; t is free: docs/theory/attacks/reconstruction.md.

    Args:
        subsets: shape (queries, people), of 0 and 1.
        answers: shape (queries,); queries whose answer is NaN are left out.

    >>> program = linear_program(np.array([[1, 1], [1, 0]], dtype=np.int8), [1, 1])
    >>> program.rows.toarray().tolist()
    [[1.0, 1.0, -1.0], [1.0, 0.0, -1.0], [-1.0, -1.0, -1.0], [-1.0, 0.0, -1.0]]
    >>> program.limits.tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    asked, given = _answered(subsets, answers)
    queries, people = asked.shape
    error = csr_array(np.ones((queries, 1)))
    return LinearProgram(
        costs=np.append(np.zeros(people), 1.0),
        rows=csr_array(vstack([hstack([asked, -error]), hstack([-asked, -error])])),
        limits=np.concatenate([given, -given]),
        lower=np.append(np.zeros(people), -np.inf),
        upper=np.append(np.ones(people), np.inf),
    )


def estimate_by_linear_program(subsets: Subsets, answers: ArrayLike, *, norm: Norm = "largest") -> Floats:
    """Estimate every person's secret bit by a linear program over [0, 1].

    Round the estimates at 1/2 for the bits.

    The dual is solved, which has a row for each person in place of one for each query; its multipliers are the bits.

    Args:
        subsets: shape (queries, people), of 0 and 1.
        answers: shape (queries,); queries whose answer is NaN are left out.
        norm: of the residuals, which is minimised: the "largest" residual, for errors that are bounded, or the "sum" of
            the absolute residuals, for noise with tails, or for a share of answers that may be anything.

    Returns: shape (people,), in [0, 1].
    Source: Dinur and Nissim (2003), "Revealing information while preserving privacy"; Dwork, McSherry, Talwar (2007),
        "The price of privacy and the limits of LP decoding".
    Proof: docs/theory/attacks/reconstruction.md.

    >>> from deniable.attacks.reconstruction import answer_within, random_subsets
    >>> groups = random_subsets(people=8, queries=80)
    >>> estimate_by_linear_program(groups, answer_within([1, 0, 0, 1, 1, 0, 1, 0], error=0.4)(groups)).round().tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    """
    if norm not in get_args(Norm):
        raise InvalidParameterError(f"norm must be largest or sum, got {norm!r}")
    asked, given = _answered(subsets, answers)
    queries, people = asked.shape
    ones = np.ones(people)
    spare = -eye_array(people)
    if norm == "sum":  # max given @ y - sum(z), where asked.T @ y <= z, |y| <= 1, z >= 0
        costs = np.concatenate([-given, ones])
        rows = hstack([asked.T, spare])
        bounds = np.array([(-1, 1)] * queries + [(0, np.inf)] * people)
        total = {}
    else:  # the same with y = u - v, where sum(u + v) = 1 takes the place of |y| <= 1
        costs = np.concatenate([-given, given, ones])
        rows = hstack([asked.T, -asked.T, spare])
        bounds = np.array([(0, np.inf)] * (2 * queries + people))
        total = {"A_eq": csr_array(np.append(np.ones(2 * queries), 0 * ones)[None]), "b_eq": np.ones(1)}
    for method in METHODS:
        solved = linprog(costs, A_ub=csr_array(rows), b_ub=0 * ones, bounds=bounds, method=method, **total)
        if solved.status == 0:
            return np.asarray(np.clip(-solved.ineqlin.marginals, 0.0, 1.0))
    raise InvalidParameterError(f"HiGHS did not solve the program: {solved.message}")


def _answered(subsets: Subsets, answers: ArrayLike) -> tuple[csr_array, Floats]:
    """Return the queries that were answered, and their answers."""
    given, known = read_answers(subsets, answers)
    return csr_array(as_rows(subsets), dtype=np.float64)[known], given[known]
