"""How long does reconstruction take: linear programs beside HiGHS's own time, least squares for 10^5 people?

python benchmarks/attacks/reconstruction.py [--people 2000] [--many 100000] [--limit 180] [--output FILE.md]

Linear programs: 20 queries a person, each about 16 people, errors uniform in [-1, 1]. (Groups of half the people would
be 40 million entries at 2,000 people, which no simplex or interior point code here solves in minutes; the second block
shows them at 300.) "HiGHS" is the time inside its solver in the same call, and "plain" the program as it is usually
written, with a row or two a query, solved by HiGHS's own choice of method, under a limit. Least squares: exact answers,
and Gaussian noise of a twentieth of the square root of the people.
"""

import argparse
import platform
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import _linprog_highs, linprog
from scipy.sparse import csr_array, eye_array, hstack

from deniable.attacks import estimate_by_least_squares, estimate_by_linear_program
from deniable.attacks.reconstruction import (
    Subsets,
    answer_exactly,
    answer_with_gaussian,
    answer_within,
    hadamard_subsets,
    linear_program,
    random_subsets,
    sparse_subsets,
)

SIZE, PER_PERSON = 16, 20


def inside_highs() -> dict[str, float]:
    """A clock that adds up the seconds inside HiGHS from here on."""
    clock, solve = {"seconds": 0.0}, _linprog_highs._highs_wrapper

    def timed(*given: Any, **named: Any) -> Any:
        start = time.perf_counter()
        try:
            return solve(*given, **named)
        finally:
            clock["seconds"] += time.perf_counter() - start

    _linprog_highs._highs_wrapper = timed
    return clock


def plain(subsets: csr_array, answers: np.ndarray, norm: str, limit: float) -> tuple[float, np.ndarray | None]:
    """Seconds of the program as it is usually written, and its bits; None if it reached the limit."""
    queries, people = subsets.shape
    start = time.perf_counter()
    if norm == "largest":
        program = linear_program(subsets, answers)
        bounds = np.stack([program.lower, program.upper], axis=1)
        solved = linprog(program.costs, program.rows, program.limits, bounds=bounds, options={"time_limit": limit})
    else:
        rows = hstack([subsets, eye_array(queries), -eye_array(queries)], format="csr")
        costs = np.append(np.zeros(people), np.ones(2 * queries))
        bounds = np.array([(0, 1)] * people + [(0, np.inf)] * (2 * queries))
        solved = linprog(costs, A_eq=rows, b_eq=answers, bounds=bounds, options={"time_limit": limit})
    return time.perf_counter() - start, solved.x[:people] if solved.status == 0 else None


def programs(people: int, sparse: bool, limit: float, clock: dict[str, float]) -> list[str]:
    truth = np.random.default_rng(0).integers(0, 2, people)
    queries = PER_PERSON * people
    groups = sparse_subsets(people=people, queries=queries, size=SIZE) if sparse else None
    asked = csr_array(random_subsets(people=people, queries=queries), dtype=float) if groups is None else groups
    told = answer_within(truth, error=1)(asked)
    lines = []
    for norm in ("sum", "largest"):
        clock["seconds"], start = 0.0, time.perf_counter()
        found = estimate_by_linear_program(asked, told, norm=norm)
        ours, inside = time.perf_counter() - start, clock["seconds"]
        other, same = plain(asked, told, norm, limit)
        shown = f"{other:.1f}" if same is not None else f"over {limit:.0f}"
        ratio = f"{other / ours:.1f}" if same is not None else f"over {limit / ours:.1f}"
        wrong = int((found.round() != truth).sum())
        asked_of = f"{queries:,} of {SIZE} people" if sparse else f"{queries:,} of half of them"
        lines.append(
            f"| {people:,} | {asked_of} | {norm} | {ours:.1f} | {inside:.1f} | {ours / inside:.2f} | {shown} | {ratio} "
            f"| {wrong} |"
        )
        print(lines[-1], flush=True)
    return lines


def squares(people: int) -> list[str]:
    truth = np.random.default_rng(0).integers(0, 2, people)
    kinds: dict[str, Callable[[], Subsets]] = {
        "Hadamard halves": lambda: hadamard_subsets(people=people),
        "4 a person of 20 people": lambda: sparse_subsets(people=people, queries=4 * people, size=20),
    }
    lines = []
    for kind, make in kinds.items():
        for noise in (0.0, np.sqrt(people) / 20):
            start = time.perf_counter()
            groups = make()
            made = time.perf_counter()
            answerer = answer_with_gaussian(truth, sigma=noise) if noise else answer_exactly(truth)
            told = answerer(groups)
            answered = time.perf_counter()
            wrong = int(((estimate_by_least_squares(groups, told) > 0.5) != truth).sum())
            solved = time.perf_counter() - answered
            lines.append(f"| {people:,} | {kind} | {noise:.1f} | {made - start:.2f} | {solved:.2f} | {wrong:,} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=180)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    clock = inside_highs()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy"))
    lines = [
        "# Reconstruction: seconds",
        "",
        f"{platform.machine()}, Python {platform.python_version()}, {versions}; one run each: compare the ratios.",
        "",
        "| people | queries | residual | ours, s | HiGHS, s | ours / HiGHS | plain, s | plain / ours | wrong bits |",
        "|---|---|---|---|---|---|---|---|---|",
        *programs(given.people, True, given.limit, clock),
        *programs(300, False, given.limit, clock),
        "",
        "| people | queries | noise | making queries, s | least squares, s | wrong bits |",
        "|---|---|---|---|---|---|",
        *squares(given.many),
    ]
    if given.output is not None:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
