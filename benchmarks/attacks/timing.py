"""Does the time of a release tell its noise? A textbook loop beside our draws, statistics and queries, by the clock.

    python benchmarks/attacks/timing.py [--runs 2000] [--output benchmarks/results/attacks-timing.md]

Each line: how often the attack says rightly whether the noise is larger than usual, what guessing gets, the
correlation of seconds with |noise|, and the median time of a release. The textbook loop must leak, ours must not.
"""

import argparse
import platform
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.attacks.implementation import guess_noise_by_time, measure_work

SCALE = 10
DICE = np.random.default_rng(0)


def textbook() -> float:
    """Discrete Laplace noise by two loops that end at the first success."""
    lengths = [0, 0]
    for place in range(2):
        while DICE.random() < np.exp(-1 / SCALE):
            lengths[place] += 1
    return lengths[0] - lengths[1]


def targets() -> dict[str, Callable[[], float]]:
    """Name -> one release of a count of nobody."""
    nobody = pa.table({"person": range(100), "x": [0] * 100})
    columns = {"x": dn.Number(lower=0, upper=1)}
    budget = dn.Budget(epsilon=10**6)
    db = dn.connect(nobody, name="t", unit="person", budget=budget, columns=columns)
    asked = count(1)  # a new question each time: a stored answer has no new noise
    laplace, gaussian = dn.mechanisms.Laplace(scale=SCALE), dn.mechanisms.Gaussian(sigma_squared=2 * SCALE**2)
    return {
        "textbook loop": textbook,
        "mechanisms.Laplace": lambda: float(laplace.release([0]).value[0]),
        "mechanisms.Gaussian": lambda: float(gaussian.release([0]).value[0]),
        "statistics.sum": lambda: dn.statistics.sum([0.0] * 50, bounds=(-1, 1), epsilon=0.1).scalar(unsafe=True),
        "SELECT COUNT(*)": lambda: db.sql(f"SELECT COUNT(*) AS n FROM t WHERE x > {next(asked)}", epsilon=0.1)["n"][0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    lines = [
        f"{platform.machine()}, one thread, {asked.runs} releases each.\n",
        "| release | right | guessing | correlation | ms | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name, release in targets().items():
        measure_work(release, clock=time.perf_counter, runs=20)  # warm
        noise, seconds = measure_work(release, clock=time.perf_counter, runs=asked.runs)
        result = guess_noise_by_time(noise, seconds)
        found = (result.facts or {})["correlation of work with |noise|"]
        lines.append(
            f"| {name} | {result.success} | {result.baseline:.1%} | {found} | {np.median(seconds) * 1e3:.3g} | "
            f"{'leaks' if result.succeeded else 'tells nothing'} |"
        )
    print("\n".join(lines))
    if asked.output:
        asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
