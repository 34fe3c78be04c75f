"""How near are synthetic rows to the rows they stand for, and what do they take?

    python benchmarks/synthesis/rows.py [--data ../shared/data] [--seeds 5] [--chain 100000x10] [--output FILE.md]

Mean total variation distance of all tables of pairs and triples between synthetic rows and the private ones: Adult, if
its CSV and domain are in the folder, at delta 1e-9; and chains of made-up columns with ten levels, where each column is
the one before it, plus a small step, seven times in ten. Beside them a resample of the private rows with replacement,
and columns drawn independently of each other from the exact counts. CPU seconds and the peak of memory are those of
one run, from rows to rows, exact noise included.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE
from deniable.numbers.arrays import MachineIntegers
from deniable.privacy import AddRemove
from deniable.synthesis.domain import Binned, DeclaredDomain, Listed
from deniable.synthesis.measurements import Measuring
from deniable.synthesis.model import fitted
from deniable.synthesis.rows import levels_of_rows

EPSILONS = ("0.1", "1", "10")
DELTA = "1e-9"
ORDERED = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def adult(folder: Path) -> tuple[MachineIntegers, DeclaredDomain]:
    """Rows of Adult as levels, of shape (columns, rows)."""
    sizes: dict[str, int] = json.loads((folder / "adult-domain.json").read_text())
    levels = np.loadtxt(folder / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64).T
    attributes = [
        Binned(name, "int64", Fraction(0), Fraction(size - 1), size)
        if name in ORDERED
        else Listed(name, "int64", tuple(range(size)))
        for name, size in sizes.items()
    ]
    return levels, DeclaredDomain(tuple(attributes))


def chain(rows: int, columns: int) -> tuple[MachineIntegers, DeclaredDomain]:
    """Columns of which each follows the one before it."""
    random = np.random.default_rng(0)
    levels = [random.integers(10, size=rows)]
    for _ in range(columns - 1):
        near = (levels[-1] + random.integers(2, size=rows)) % 10
        levels.append(np.where(random.random(rows) < 0.7, near, random.integers(10, size=rows)))
    names = [f"c{index}" for index in range(columns)]
    return np.stack(levels), DeclaredDomain(tuple(Listed(name, "int64", tuple(range(10))) for name in names))


def distance(one: MachineIntegers, other: MachineIntegers, sizes: tuple[int, ...], degree: int) -> float:
    """Mean total variation distance of all tables of so many columns."""
    found = []
    for columns in combinations(range(len(sizes)), degree):
        dimensions = [sizes[column] for column in columns]
        cells = int(np.prod(dimensions))
        shares = [
            np.bincount(np.ravel_multi_index(levels[list(columns)], dimensions), minlength=cells) / levels.shape[1]
            for levels in (one, other)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def synthetic(levels: MachineIntegers, domain: DeclaredDomain, epsilon: str, seed: int) -> MachineIntegers:
    price = Price.of(epsilon, DELTA, None)
    plan = Measuring(domain=domain, price=price, relation=AddRemove, rows=1)
    measured = plan.measure(levels, None, SECURE)
    return levels_of_rows(measured, fitted(measured), max(1, round(measured.total)), seed=seed)


def lines(name: str, levels: MachineIntegers, domain: DeclaredDomain, seeds: int, *, triples: bool) -> Iterator[str]:
    """Lines of the table about one set of rows."""
    random = np.random.default_rng(1)
    made = {
        ("resampled", "", ""): [levels[:, random.integers(levels.shape[1], size=levels.shape[1])]],
        ("independent", "", ""): [np.stack([random.permutation(column) for column in levels])],
    }
    for epsilon in EPSILONS:
        start = time.process_time()
        rows = [synthetic(levels, domain, epsilon, seed) for seed in range(seeds)]
        made["ours", epsilon, f"{(time.process_time() - start) / seeds:.2f}"] = rows
    for (said, epsilon, seconds), tables in made.items():
        pairs = np.mean([distance(levels, rows, domain.sizes, 2) for rows in tables])
        three = f"{distance(levels, tables[0], domain.sizes, 3):.4f}" if triples else ""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield f"| {name} | {said} | {epsilon} | {pairs:.4f} | {three} | {seconds} | {memory} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--chain", action="append", default=[])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    text = [
        "| rows | made by | epsilon | pairs | triples | CPU s | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    if (given.data / "adult.csv").exists():
        text += lines("Adult", *adult(given.data), given.seeds, triples=True)
    for size in given.chain or ["100000x10"]:
        rows, _, columns = size.partition("x")
        text += lines(f"chain {size}", *chain(int(rows), int(columns)), given.seeds, triples=False)
    written = "\n".join(text) + "\n"
    print(written)
    if given.output:
        given.output.write_text(written)


if __name__ == "__main__":
    main()
