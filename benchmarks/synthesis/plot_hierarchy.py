"""Draw how far small areas are off, for docs/guide/hierarchies.md: a made-up country on four levels.

    python benchmarks/synthesis/plot_hierarchy.py [FOLDER]

The folder is docs/assets unless another one is named. 5,000 towns of 200 counties of 10 states, whose sizes spread over
three powers of ten, with eight cells each; the total and the cells are measured on every level at equal shares.
"""

import sys
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.noise.lattice import Lattice
from deniable.numbers.arrays import Integers
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity import of_spread_sum
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.counts import HierarchicalCounts
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.plan import HierarchyPlan

FOLDER = Path(__file__).parents[2] / "docs" / "assets"
LEVELS = ("state", "county", "town")
COLORS = {"1/100": "#88aacc", "1/10": "#3366aa", "1": "#112244"}
DRAWS = 20  # of the errors by level
STEPS = {"measured": "#cccccc", "least squares": "#88aacc", "whole": "#223344"}


def country() -> tuple[Geography, Integers]:
    """Units, and the people of every town by cell."""
    random = np.random.default_rng(0)
    paths = [(town // 500, town // 25, town) for town in range(5_000)]
    sizes = np.exp(random.normal(5.5, 1.6, size=5_000))
    shares = random.dirichlet([2.0, 1.0, 1.0, 0.5, 0.5, 0.2, 0.1, 0.05], size=5_000)
    return Geography(LEVELS, paths), random.poisson(sizes[:, None] * shares).astype(np.int64)


def made(tree: Geography, truth: Integers, rho: str, seed: int = 1) -> HierarchicalCounts:
    cells = CountedCells(("group",), (tuple(range(8)),))
    plan = HierarchyPlan.of(
        tree,
        cells,
        weights={level: {"total": 1, "cells": 1} for level in tree.all_levels},
        price=Price(rho=Fraction(rho)),
        sensitivity_of=lambda count: of_spread_sum(lower=0, upper=1, total_rows=1, relation=AddRemove, cells=count),
        lattice=Lattice(exponent=0),
    )
    measured = plan.measure(truth.ravel(), DeterministicBits(seed))
    return HierarchicalCounts(measured=measured, constraints=Constraints(tree, cells), cost=plan.loss)


def draw() -> plt.Figure:
    """Relative error of totals by size; error of totals by level and step; bias of cells by their true count."""
    tree, truth = country()
    levels = [truth[tree.leaf_order]]
    for level in (3, 2, 1):
        levels.insert(0, tree.sums(level, levels[0]))
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
    true_totals = np.concatenate([each.sum(axis=1) for each in levels])
    edges = np.geomspace(3, true_totals.max() * 1.01, 14)
    inside = np.digitize(true_totals, edges)
    for rho, color in COLORS.items():
        counts = made(tree, truth, rho)
        error = np.abs(np.concatenate([each.sum(axis=1) for each in counts.numbers]) - true_totals)
        relative = [100 * np.median(error[inside == bin] / true_totals[inside == bin]) for bin in range(1, len(edges))]
        left.loglog(
            np.sqrt(edges[1:] * edges[:-1]),
            np.maximum(relative, 1e-4),
            "o-",
            color=color,
            markersize=3,
            label=f"rho {rho}",
        )
    left.set(xlabel="people in the unit", ylabel="median error of its total, percent")
    left.legend(fontsize="small")
    errors: dict[str, list[list[float]]] = {said: [] for said in STEPS}
    for seed in range(DRAWS):
        counts = made(tree, truth, "1/10", seed)
        of_steps = {
            "measured": [noisy[0].ravel() for noisy in counts.measured.noisy if noisy[0] is not None],
            "least squares": [each.sum(axis=1) for each in counts.estimates.values],
            "whole": [each.sum(axis=1) for each in counts.numbers],
        }
        for said, totals in of_steps.items():
            errors[said].append(
                [float(np.abs(one - each.sum(axis=1)).mean()) for one, each in zip(totals, levels, strict=True)]
            )
    for index, (said, each) in enumerate(errors.items()):
        middle.bar(np.arange(4) + 0.27 * (index - 1), np.mean(each, axis=0), 0.27, color=STEPS[said], label=said)
    middle.set(xticks=range(4), xticklabels=("all", *LEVELS), ylabel="mean error of totals, rho 1/10", ylim=(0, 7))
    middle.legend(fontsize="small", ncols=2)
    for said, values in (("least squares", counts.estimates.values[3]), ("whole", counts.numbers[3])):
        bias = [float((values - levels[3])[levels[3] == count].mean()) for count in range(16)]
        right.plot(range(16), bias, "o-", color=STEPS[said], markersize=3, label=said)
    right.axhline(0, color="#888888", linewidth=0.8)
    right.set(xlabel="people in the cell of a town", ylabel="mean error, rho 1/10")
    right.legend(fontsize="small")
    return figure


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    draw().savefig(folder / "synthesis-areas.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
