"""Which way to draw many quantiles has the smallest rank error: recursion, one joint draw, or slices?

    python benchmarks/statistics/quantile_methods.py [--relation add/remove|replace]
        [--output benchmarks/results/statistics-quantile-methods.md]

Recursion and the joint draw are ours, exact, without intervals. Slices (Imola et al., 2025, arXiv:2505.13662) are a
plain float simulation for comparison: noise on the wanted ranks from a tree, then one exponential mechanism among the
rows around each noisy rank. It is flattered where there is a choice: the best tree and the best share of epsilon for
it, and noise that need not be whole. Where noisy ranks lie too near to each other or to the ends, the method gives up.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil, log
from pathlib import Path

import numpy as np

from deniable.noise.bits import SECURE
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.grid import Grid
from deniable.statistics.order.joint import Joint
from deniable.statistics.order.tree import Recursion, scattered
from deniable.statistics.price import Price

NUMBERS = (1, 2, 3, 5, 9, 19, 49, 99)
EPSILONS = ("0.1", "1", "10")
SIZES = {"N(0, 5)": (200, 1000, 10**4, 10**5), "half zeros": (1000, 10**4)}
RELATIONS = {"add/remove": AddRemove, "replace": Replace}
BOUNDS = (-100, 100)
ANSWERS = 120  # at least, for each mean error
_FAILS = 0.05  # of all slices together, at most
DRAW = np.random.default_rng(1)

Method = Callable[[np.ndarray, int], np.ndarray]  # from codes in order and the size of the grid to codes


def table(law: str, size: int) -> np.ndarray:
    """A table of that many values."""
    values = DRAW.normal(0, 5, size)
    return values if law == "N(0, 5)" else np.where(DRAW.random(size) < 0.5, 0.0, values)


def ours(kind: type[Recursion] | type[Joint], shares: list[Fraction], epsilon: str, relation: Relation) -> Method:
    plan = kind(shares=tuple(shares), price=Price(epsilon=Fraction(epsilon)), relation=relation, rows=1)
    return lambda codes, size: plan.draw(codes, size, measure=MEASURE, bits=SECURE)[0]


def slices(shares: list[Fraction], epsilon: str, relation: Relation) -> Method:
    """Noisy ranks, then one exponential mechanism for the middle of the rows around each of them.

    A row that comes, goes or is replaced moves the ranks like two leaves of the tree that change by 1. Then it is in
    one slice, or under replace in two, of a fixed number of rows.
    """
    touched = 1 if relation is AddRemove else 2
    levels, branches = best_tree(len(shares) + 1)
    terms = levels * (branches - 1)
    weights = np.cbrt([2 * terms * levels**2, 2 * (2 * touched) ** 2])  # the least sum of variances
    of_noise, of_draws = float(epsilon) * weights / weights.sum()
    rate = of_draws / (2 * touched)
    half = ceil(log(len(shares) * 10**9 / _FAILS) / rate) - 1

    def draw(codes: np.ndarray, size: int) -> np.ndarray:
        noise = DRAW.laplace(0, levels / of_noise, (len(shares), terms)).sum(axis=1)
        ranks = np.rint(np.array([float(share * codes.size) for share in shares]) + noise).astype(int)
        if np.any(np.diff(ranks) < 2 * half + 1) or ranks[0] < half or ranks[-1] > codes.size - half:
            raise ArithmeticError("it gives up")
        found = []
        for rank in ranks:
            ends = np.concatenate([[0], codes[rank - half : rank + half] + 1, [size]])
            weights = np.diff(MEASURE.below(ends)).astype(float)
            with np.errstate(divide="ignore"):
                chances = np.log(weights) - rate * np.abs(np.arange(2 * half + 1) - half)
            gap = int(np.argmax(chances + DRAW.gumbel(size=chances.size)))
            found.append(int(DRAW.integers(ends[gap], ends[gap + 1])))
        return np.sort(np.array(found))

    return draw


def best_tree(leaves: int) -> tuple[int, int]:
    """Levels and branches for the least variance: half the nodes to the left less those to the right, in each level."""
    trees = [(max(1, ceil(log(leaves, branches) - 1e-9)), branches) for branches in range(2, leaves + 1)]
    return min(trees, key=lambda tree: tree[0] ** 3 * (tree[1] - 1))


def error(values: np.ndarray, shares: list[Fraction], answers: np.ndarray) -> float:
    """Ranks from what was asked to what was answered; a value that many rows have is at all their ranks."""
    ordered, wanted = np.sort(values), len(values) * np.array(shares, dtype=float)
    low, high = np.searchsorted(ordered, answers, side="left"), np.searchsorted(ordered, answers, side="right")
    return float(np.mean(np.maximum(0, np.maximum(low - wanted, wanted - high))))


def measured(method: Method, law: str, size: int, shares: list[Fraction]) -> float:
    """The mean error over fresh tables; infinite if the method gives up more than half of the time."""
    found: list[float] = []
    runs = max(6, ANSWERS // len(shares))
    for _ in range(runs):
        codes = np.sort(GRID.codes(table(law, size)))
        fine, digits = scattered(codes.copy(), GRID.size, bits=SECURE)
        with suppress(ArithmeticError):
            found.append(error(codes, shares, method(fine, GRID.size << digits) >> digits))
    return float(np.mean(found)) if 2 * len(found) >= runs else np.inf


def lines(relation: str) -> Iterator[str]:
    """The table for one relation."""
    yield f"\n## {relation.capitalize()}\n"
    names = ["recursion", "joint", "slices"]
    yield "| data | rows | quantiles | " + " | ".join(f"{n}, {e}" for e in EPSILONS for n in names) + " |"
    yield "|---" * (3 + len(names) * len(EPSILONS)) + "|"
    for law, sizes in SIZES.items():
        for size in sizes:
            for count in NUMBERS:
                shares = [Fraction(place, count + 1) for place in range(1, count + 1)]
                cells = []
                for epsilon in EPSILONS:
                    asked = shares, epsilon, RELATIONS[relation]
                    methods = [ours(Recursion, *asked), ours(Joint, *asked), slices(*asked)]
                    errors = [measured(method, law, size, shares) for method in methods]
                    cells += [
                        "-" if e == np.inf else f"**{e:.2f}**" if e == min(errors) else f"{e:.2f}" for e in errors
                    ]
                line = f"| {law} | {size:,} | {count} | {' | '.join(cells)} |"
                print(line, file=sys.stderr, flush=True)
                yield line


HEAD = """# Ways to draw many quantiles

Mean rank errors of evenly spaced quantiles without intervals, on [-100, 100], for three epsilons. Each is a mean over
{answers} answers or more from fresh tables, six at least, so differences below a fifth, and below a third for 49
quantiles and more, mean nothing. Recursion and the joint draw are ours; slices are a flattered simulation, with a dash
where they give up more often than not. Intervals would take a fifth of epsilon, so all errors of ours would be a
quarter larger.
"""
GRID = Grid.between(BOUNDS)
MEASURE = GRID.measure(60 - GRID.size.bit_length())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relation", choices=RELATIONS, action="append")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    text = HEAD.format(answers=ANSWERS)
    text += "\n".join(line for relation in chosen.relation or RELATIONS for line in lines(relation)) + "\n"
    if chosen.output:
        chosen.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
