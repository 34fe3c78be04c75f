"""How long do quantiles take beside numpy's sort, and how far are they off beside other methods and libraries?

    python benchmarks/statistics/quantiles.py [--opendp-python PATH] [--diffprivlib-python PATH] [--pydp-python PATH]
        [--output benchmarks/results/statistics-quantiles.md]

Each PATH is the Python of an environment that has that library; without it its column stays empty.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.statistics.order.quantile import Quantile
from deniable.statistics.order.quantiles import Quantiles

ROWS, RUNS, EPSILON = 1000, 40, 1
BOUNDS = (-100.0, 100.0)
NUMBERS = (1, 3, 9, 29, 99)
MANY = 10**7
PEERS = ("opendp", "diffprivlib", "pydp")

PEER = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
library, path, shares = sys.argv[1], sys.argv[2], json.loads(sys.argv[6])
epsilon, lower, upper = map(float, sys.argv[3:6])
tables = np.load(path)
each = epsilon / len(shares)
def make(share):
    if library == "opendp":
        import opendp.prelude as dp
        dp.enable_features("contrib", "honest-but-curious")
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
        candidates = np.linspace(lower, upper, 2001).tolist()
        return dp.binary_search_chain(
            lambda s: dp.m.make_private_quantile(*domain, dp.max_divergence(), candidates, share, s), 1, each)
    if library == "diffprivlib":
        from diffprivlib import tools
        return lambda values: tools.quantile(np.array(values), share, epsilon=each, bounds=(lower, upper))
    import pydp.algorithms.laplacian as dp
    return lambda values: dp.Percentile(epsilon=each, percentile=share, lower_bound=lower, upper_bound=upper,
        dtype="float").quick_result(values)
queries = [make(share) for share in shares]
answers = []
start = time.perf_counter()
for table in tables:
    rows = table.tolist()
    answers.append([float(query(rows)) for query in queries])
print(json.dumps({"answers": answers, "seconds": (time.perf_counter() - start) / len(tables)}))
"""


def tables(law: str) -> np.ndarray:
    """RUNS tables of ROWS values."""
    draw = np.random.default_rng(1)
    if law == "normal":
        return draw.normal(0, 5, (RUNS, ROWS))
    return draw.uniform(-5, 5, (RUNS, ROWS))


def shares(count: int) -> list[Fraction]:
    """Evenly spaced."""
    return [Fraction(place, count + 1) for place in range(1, count + 1)]


def rank_error(values: np.ndarray, wanted: list[Fraction], answers: np.ndarray) -> float:
    """Rows between what was asked and what was answered, on average."""
    ranks = np.searchsorted(np.sort(values), answers)
    return float(np.mean(np.abs(ranks - len(values) * np.array(wanted, dtype=np.float64))))


def ours(count: int, **options: object) -> Callable[[np.ndarray], np.ndarray]:
    """The recursion."""
    plan = Quantiles(shares=shares(count), bounds=BOUNDS, epsilon=EPSILON, **options)
    return lambda values: plan(values)["value"]


def one_by_one(count: int) -> Callable[[np.ndarray], np.ndarray]:
    """Independent quantiles of ours, each with its part of epsilon."""
    plans = [Quantile(share=share, bounds=BOUNDS, epsilon=Fraction(EPSILON, count)) for share in shares(count)]
    return lambda values: np.array([plan(values).scalar() for plan in plans])


def peer(library: str, python: str | None, law: str, count: int, folder: Path) -> float | None:
    """The mean rank error of a library, with independent quantiles, as it has no others."""
    if python is None:
        return None
    path = folder / f"{law}.npy"
    np.save(path, tables(law))
    wanted = shares(count)
    arguments = [library, str(path), str(EPSILON), *map(str, BOUNDS), json.dumps([float(share) for share in wanted])]
    done = subprocess.run([python, "-c", PEER, *arguments], capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    answers = json.loads(done.stdout.splitlines()[-1])["answers"]
    return float(np.mean([rank_error(t, wanted, np.array(a)) for t, a in zip(tables(law), answers, strict=True)]))


def errors(pythons: dict[str, str | None], folder: Path) -> Iterator[str]:
    """The table of rank errors."""
    yield f"## Rank errors\n\n{ROWS} rows, epsilon {EPSILON}, add/remove, bounds {BOUNDS}, {RUNS} tables."
    yield "The other libraries offer single quantiles, which share epsilon; OpenDP chooses among 2001 values.\n"
    yield "| data | quantiles | ours | with intervals | expected (rms) | one by one | OpenDP | diffprivlib | PyDP |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for law in ("normal", "uniform"):
        for count in NUMBERS:
            wanted = shares(count)
            methods = [ours(count), ours(count, interval=0.95), one_by_one(count)]
            found = [np.mean([rank_error(t, wanted, method(t)) for t in tables(law)]) for method in methods]
            plan = Quantiles(shares=wanted, bounds=BOUNDS, epsilon=EPSILON)
            others = [peer(library, pythons[library], law, count, folder) for library in PEERS]
            cells = [f"**{found[0]:.1f}**", f"{found[1]:.1f}", f"{plan.expected_error(ROWS):.1f}", f"{found[2]:.1f}"]
            cells += ["" if other is None else f"{other:.1f}" for other in others]
            line = f"| {'N(0, 5)' if law == 'normal' else 'U(-5, 5)'} | {count} | {' | '.join(cells)} |"
            print(line, file=sys.stderr)
            yield line


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Best of some runs, in processor time: all that is measured runs on one core."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def speed() -> Iterator[str]:
    """The table of times."""
    values = np.random.default_rng(1).normal(size=MANY)
    sort, partition = seconds(lambda: np.sort(values)), seconds(lambda: np.partition(values, MANY // 2))
    s, options = dn.statistics, {"bounds": (-10, 10)}
    calls = {
        "median": lambda: s.median(values, epsilon=1, **options),
        "median with interval": lambda: s.median(values, epsilon=1, interval=0.95, **options),
        "median, epsilon 10^-5": lambda: s.median(values, epsilon="1e-5", **options),
        "interquartile range": lambda: s.interquartile_range(values, epsilon=1, **options),
        "9 quantiles": lambda: s.quantiles(values, shares(9), epsilon=1, **options),
        "99 quantiles": lambda: s.quantiles(values, shares(99), epsilon=1, **options),
        "distribution at 20 values": lambda: s.cumulative_distribution(values, np.arange(-5, 5, 0.5), epsilon=1),
    }
    yield f"## Time\n\n{MANY:,} values; processor time, best of 3, in one run on one core of {platform.machine()}."
    yield f"numpy's sort takes {sort:.2f} s, its partition {partition:.3f} s.\n"
    yield "| question | seconds | times sort | times partition |\n|---|---|---|---|"
    for name, call in calls.items():
        taken = seconds(call)
        line = f"| {name} | {taken:.3f} | {taken / sort:.2f} | {taken / partition:.2f} |"
        print(line, file=sys.stderr)
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for library in PEERS:
        parser.add_argument(f"--{library}-python")
    parser.add_argument("--output", type=Path)
    chosen = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        pythons = {library: chosen[f"{library}_python"] for library in PEERS}
        text = "\n".join(["# Quantiles\n", *speed(), "", *errors(pythons, Path(folder)), ""])
    if chosen["output"]:
        chosen["output"].write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
