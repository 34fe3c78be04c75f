"""How long does it take to see what exact answers give away?

python benchmarks/attacks/exact_answers.py [--output FILE.md]

Seconds of processor time, beside the part that no method can leave out: for a log of counts, the product of its groups
with themselves in single precision; for a block, one solution of the integer program that has its counts and means
without its medians, by HiGHS. The block is proved to have one solution.
"""

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint, milp

from deniable.attacks import find_differences, solve_block, tabulate_block
from deniable.attacks.census import BlockTables
from deniable.attacks.census.tables import GARFINKEL_GROUPS, MARRIED_AT_15

ATTRIBUTES = {
    "sex": ("female", "male"),
    "race": ("black or African American", "white"),
    "marital_status": ("single", "married"),
}
BLACK, WHITE = ATTRIBUTES["race"]
PEOPLE = [
    (8, "female", BLACK, "single"),
    (18, "male", WHITE, "single"),
    (24, "female", WHITE, "single"),
    (30, "male", WHITE, "married"),
    (36, "female", BLACK, "married"),
    (66, "female", BLACK, "married"),
    (84, "male", BLACK, "married"),
]


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the quickest of three runs."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def block() -> BlockTables:
    """The example of Garfinkel, Abowd and Martindale (2018)."""
    people = [dict(zip(("age", *ATTRIBUTES), one, strict=True)) for one in PEOPLE]
    tables = tabulate_block(
        people, list(GARFINKEL_GROUPS.values())[1:], attributes=ATTRIBUTES, ages=(1, 125), minimum_count=3
    )
    return BlockTables(
        attributes=ATTRIBUTES,
        ages=tables.ages,
        statistics=tables.statistics,
        impossible=(MARRIED_AT_15,),
        minimum_count=3,
    )


def relaxed(tables: BlockTables) -> object:
    """One solution with the published counts and means."""
    values = itertools.product(range(1, 126), *ATTRIBUTES.values())
    people = [dict(zip(("age", *ATTRIBUTES), one, strict=True)) for one in values]
    ages = np.array([one["age"] for one in people], dtype=float)
    rows, low, high = [], [], []
    for line in tables.statistics:
        inside = np.array([line.group.holds(one) for one in people], dtype=float)
        rows.append(inside)
        low.append(line.count or 0)
        high.append(line.count if line.count is not None else 2)
        if line.count and line.mean is not None:
            rows.append(inside * ages)
            low.append(line.count * (line.mean - 0.05))
            high.append(line.count * (line.mean + 0.05))
    return milp(np.zeros(len(people)), constraints=LinearConstraint(np.array(rows), low, high), integrality=1)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = ["| question | seconds | part that none can leave out | ratio |", "|---|---|---|---|"]
    for queries, rows in ((300, 100_000), (1000, 100_000)):
        dice = np.random.default_rng(0)
        log = dice.random((queries, rows)) < dice.random((queries, 1))
        plain = log.astype(np.float32)
        ours, least = seconds(lambda log=log: find_differences(log, fewer_than=5)), seconds(lambda p=plain: p @ p.T)
        lines.append(
            f"| log of {queries} counts over {rows:,} people | {ours:.2f} | {least:.2f} | {ours / least:.1f} |"
        )
    tables = block()
    assert solve_block(tables).unique
    ours, least = seconds(lambda: solve_block(tables)), seconds(lambda: relaxed(tables))
    lines.append(f"| block of seven people, proof included | {ours:.2f} | {least:.2f} | {ours / least:.1f} |")
    text = "\n".join(lines)
    if output is None:
        print(text)
    else:
        assert __doc__ is not None
        note = " ".join(__doc__.split("\n\n")[2].split())
        output.write_text(f"# What exact answers give away\n\n{note}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
