"""Which way to draw many quantiles has the smallest rank error: recursion, one joint draw, or slices?

    python benchmarks/statistics/quantile_methods.py [--relation add/remove|replace]
        [--output benchmarks/results/statistics-quantile-methods.md]

All three are ours, exact, without intervals, and answer for the same tables. The last column of each epsilon is what
`Quantiles` takes when it knows the number of rows.
"""

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from deniable.mechanisms.ranks import JointQuantiles, RecursiveQuantiles, SliceQuantiles
from deniable.mechanisms.ranks.base import SeveralQuantiles
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.noise.bits import SECURE
from deniable.privacy import AddRemove, Relation, Replace, of_count
from deniable.statistics.order.grid import ValueGrid
from deniable.statistics.order.quantiles import Quantiles, add_digits

NUMBERS = (2, 3, 5, 9, 19, 49, 99)
EPSILONS = ("0.1", "1", "10")
SIZES = {"N(0, 5)": (200, 1000, 10**4, 10**5), "half zeros": (10**4,)}
RELATIONS = {"add/remove": AddRemove, "replace": Replace}
METHODS: tuple[type[SeveralQuantiles], ...] = (RecursiveQuantiles, JointQuantiles, SliceQuantiles)
BOUNDS = (-100, 100)
ANSWERS = 120  # at least, for each mean error
DRAW = np.random.default_rng(1)


def table(law: str, size: int) -> np.ndarray:
    """A table of that many values."""
    values = DRAW.normal(0, 5, size)
    return values if law == "N(0, 5)" else np.where(DRAW.random(size) < 0.5, 0.0, values)


def error(ordered: np.ndarray, shares: list[Fraction], answers: np.ndarray) -> float:
    """Ranks from what was asked to what was answered; a value that many rows have is at all their ranks."""
    wanted = len(ordered) * np.array(shares, dtype=float)
    low, high = np.searchsorted(ordered, answers, side="left"), np.searchsorted(ordered, answers, side="right")
    return float(np.mean(np.maximum(0, np.maximum(low - wanted, wanted - high))))


def measured(methods: list[SeveralQuantiles], law: str, size: int, shares: list[Fraction]) -> list[float]:
    """The mean errors over fresh tables; infinite for a method that would take minutes."""
    found: list[list[float]] = [[] for _ in methods]
    for _ in range(max(6, ANSWERS // len(shares))):
        codes = np.sort(GRID.codes(table(law, size)))
        fine = codes.copy()
        digits = add_digits(fine, GRID.size, bits=SECURE)
        records = SortedRecords(np.sort(fine))
        for errors, method in zip(found, methods, strict=True):
            if method.is_quick:
                answers = np.array(method.release(records, bits=SECURE).value)
                errors.append(error(codes, shares, answers >> digits))
    return [float(np.mean(errors)) if errors else np.inf for errors in found]


def cells(law: str, size: int, shares: list[Fraction], epsilon: str, relation: Relation) -> list[str]:
    """The errors of all methods, the smallest one bold, and the name of the one that is taken."""
    options = {"bounds": BOUNDS, "epsilon": epsilon, "relation": relation}
    unit, price = of_count(rows=1, groups=1, cells=1, relation=relation), Fraction(epsilon)
    methods = [
        kind.calibrated(unit, epsilon=price / kind.rounds(len(shares)), quantiles=shares, points=POINTS)
        for kind in METHODS
    ]
    errors = measured(methods, law, size, shares)
    texts = ["-" if e == np.inf else f"**{e:.2f}**" if e == min(errors) else f"{e:.2f}" for e in errors]
    return [*texts, Quantiles(shares=shares, size=size, **options).chosen.name]


def lines(relation: str) -> Iterator[str]:
    """The table for one relation."""
    yield f"\n## {relation.capitalize()}\n"
    names = [*(kind.name for kind in METHODS), "taken"]
    yield "| data | rows | quantiles | " + " | ".join(f"{n}, {e}" for e in EPSILONS for n in names) + " |"
    yield "|---" * (3 + len(names) * len(EPSILONS)) + "|"
    for law, sizes in SIZES.items():
        for size in sizes:
            for count in NUMBERS:
                shares = [Fraction(place, count + 1) for place in range(1, count + 1)]
                found = [cell for e in EPSILONS for cell in cells(law, size, shares, e, RELATIONS[relation])]
                line = f"| {law} | {size:,} | {count} | {' | '.join(found)} |"
                print(line, file=sys.stderr, flush=True)
                yield line


HEAD = """# Ways to draw many quantiles

Mean rank errors of evenly spaced quantiles without intervals, on [-100, 100], for three epsilons. Each is a mean over
{answers} answers or more from fresh tables, six at least, the same ones for all methods; so differences below a fifth,
and below a third for 49 quantiles and more, mean nothing. A dash: the method would take minutes. Taken is what
`Quantiles` chooses for this number of rows before it sees any. Intervals would take a fifth of epsilon, so all errors
would be a quarter larger.
"""
GRID = ValueGrid.between(BOUNDS)
POINTS = GRID.candidates(60 - GRID.size.bit_length())


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
