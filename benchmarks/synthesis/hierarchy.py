"""What do counts of a hierarchy take, how near are they, and what would a solver of linear programs take?

    python benchmarks/synthesis/hierarchy.py [--leaves 10000] [--parents 100] [--cells 50] [--rho 1] [--solver]

A nation, `--parents` units and `--leaves` below them, each with `--cells` cells of which 70% are empty; the total and
the cells are measured on every level at equal shares. CPU seconds and the peak of memory are those of one process,
exact noise included. RMSE is per cell, and per unit total, of the raw measurement, of least squares and of the whole
numbers. With `--solver`, HiGHS rounds the nearest real tables of the same parents by transport problems, as a peer.
`--output FILE.md` keeps the table.
"""

import argparse
import resource
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import kron

from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE
from deniable.noise.lattice import Lattice
from deniable.numbers.arrays import Floats, Integers
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity import of_spread_sum
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.counts import HierarchicalCounts
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.integers import _dual, _potentials
from deniable.synthesis.hierarchy.plan import HierarchyPlan


def planned(leaves: int, parents: int, cells: int, rho: str) -> HierarchyPlan:
    paths = [(leaf * parents // leaves, leaf) for leaf in range(leaves)]
    columns = CountedCells(("cell",), (tuple(range(cells)),))
    weights = {level: {"total": 1, "cells": 1} for level in ("all", "middle", "leaf")}
    return HierarchyPlan.of(
        Geography(("middle", "leaf"), paths),
        columns,
        weights=weights,
        price=Price(rho=Fraction(rho)),
        sensitivity_of=lambda count: of_spread_sum(lower=0, upper=1, total_rows=1, relation=AddRemove, cells=count),
        lattice=Lattice(exponent=0),
    )


def rmse(found: Floats | Integers, truth: Integers) -> str:
    return f"{float(((found - truth) ** 2).mean() ** 0.5):.3f}"


def lines(plan: HierarchyPlan, truth: Integers) -> Iterator[str]:
    """Lines of the table: seconds so far, memory and errors after each step."""
    start = time.process_time()
    measured = plan.measure(truth.ravel(), SECURE)
    made = HierarchicalCounts(measured=measured, constraints=Constraints(plan.geography, plan.cells), cost=plan.loss)
    yield line("measured", start, measured.noisy[-1][1], measured.noisy[-1][0], truth)
    leaves = made.estimates.values[-1]
    yield line("least squares", start, leaves, leaves.sum(axis=1, keepdims=True), truth)
    leaves = made.numbers[-1]
    yield line("whole numbers", start, leaves, leaves.sum(axis=1, keepdims=True), truth)
    for level in (1, 2):
        assert np.array_equal(plan.geography.sums(level, made.numbers[level]), made.numbers[level - 1])


def line(
    said: str, start: float, cells: Floats | Integers | None, totals: Floats | Integers | None, truth: Integers
) -> str:
    assert cells is not None
    assert totals is not None
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    errors = f"{rmse(cells, truth)} | {rmse(totals, truth.sum(axis=1, keepdims=True))}"
    return f"| {said} | {time.process_time() - start:.2f} | {memory} | {errors} |"


def solver(plan: HierarchyPlan, truth: Integers, tried: int = 3) -> str:
    """CPU seconds of HiGHS to round the real tables of all parents, from a few of them."""
    parents, size = plan.geography.sizes[1], plan.cells.size
    height = plan.geography.sizes[2] // parents
    tables = truth.reshape(parents, height, size)[:tried]
    points = tables + np.random.default_rng(1).normal(scale=1.25, size=tables.shape)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    nearest, _, _ = _dual(points, rows, columns, _potentials(points, rows, columns))
    sums = np.concatenate(
        [kron(np.eye(height), np.ones(size)).toarray(), kron(np.ones(height), np.eye(size)).toarray()]
    )
    start = time.process_time()
    for table, of_rows, of_columns in zip(nearest, rows, columns, strict=True):
        floor = np.floor(table)
        left = np.concatenate([of_rows - floor.sum(axis=1), of_columns - floor.sum(axis=0)])
        linprog(1 - 2 * (table - floor).ravel(), A_eq=sums, b_eq=left, bounds=(0, 1), method="highs-ds")
    seconds = (time.process_time() - start) * parents / tried
    return f"| rounding by HiGHS alone | {seconds:.2f} | | | |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=10_000)
    parser.add_argument("--parents", type=int, default=100)
    parser.add_argument("--cells", type=int, default=50)
    parser.add_argument("--rho", default="1")
    parser.add_argument("--solver", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    plan = planned(given.leaves, given.parents, given.cells, given.rho)
    random = np.random.default_rng(0)
    filled = random.random((given.leaves, given.cells)) < 0.3
    truth = (filled * random.poisson(3, size=filled.shape)).astype(np.int64)
    text = [
        f"{given.leaves:,} leaves of {given.parents:,} parents, {given.cells} cells, rho {given.rho}",
        "",
        "| step | CPU s so far | peak MB | RMSE of cells | of totals |",
        "|---|---|---|---|---|",
        *lines(plan, truth),
    ]
    text += [solver(plan, truth)] if given.solver else []
    written = "\n".join(text) + "\n"
    print(written)
    if given.output:
        given.output.write_text(written)


if __name__ == "__main__":
    main()
