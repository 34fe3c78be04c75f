"""How exact are tables that agree, and what do they take?

    python benchmarks/synthesis/tables.py [--attributes 6 10 15 20] [--ways 3] [--rows 48842] [--output FILE.md]

All tables of at most k of d columns with ten levels, at rho = 1/2: the root of the mean squared error of their counts
beside the published optimum (ResidualPlanner, arXiv:2305.08175, Synth-10^d), with the CPU seconds of the plan; then all
tables of at most two columns with the sizes of Adult, measured on made-up rows with exact noise.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE
from deniable.privacy import AddRemove
from deniable.synthesis.domain import DeclaredDomain, Listed
from deniable.synthesis.plan import MarginalPlan

PUBLISHED = {2: 1.3791, 6: 4.2752, 10: 9.3481, 12: 12.3596, 14: 15.6423, 15: 17.3782, 20: 26.9168, 30: 49.7132}
ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


def planned(sizes: tuple[int, ...], ways: int) -> MarginalPlan:
    """The plan of all tables of at most `ways` columns, at the privacy cost 1."""
    domain = DeclaredDomain(tuple(Listed(f"c{at}", "int64", tuple(range(n - 1))) for at, n in enumerate(sizes)))
    names = [each for size in range(ways + 1) for each in combinations(domain.names, size)]
    price = Price.of(None, None, "1/2")
    return MarginalPlan.of(domain, names, None, price=price, relation=AddRemove, rows=1, objective="counts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, nargs="+", default=[6, 10, 15, 20])
    parser.add_argument("--ways", type=int, default=3)
    parser.add_argument("--rows", type=int, default=48_842)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    lines = ["| columns | tables | error | published | CPU s |", "|---|---|---|---|---|"]
    for count in asked.attributes:
        start = time.process_time()
        plan = planned((10,) * count, asked.ways)
        error = plan.root_mean_square
        spent = time.process_time() - start
        known = PUBLISHED.get(count, float("nan")) if asked.ways == 3 else float("nan")
        lines.append(f"| {count} | {len(plan.tables)} | {error:.4f} | {known:.4f} | {spent:.2f} |")
    random = np.random.default_rng(0)
    levels = np.stack([random.integers(size, size=asked.rows) for size in ADULT])
    start = time.process_time()
    plan = planned(ADULT, 2)
    arrays = plan.measure(levels, None, SECURE)
    spent = time.process_time() - start
    cells = sum(array.size for array in arrays)
    lines.append(f"\nAdult, at most 2 columns: {len(plan.tables)} tables, {cells:,} counts measured, {spent:.2f} CPU s")
    print(text := "\n".join(lines))
    if asked.output is not None:
        asked.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
