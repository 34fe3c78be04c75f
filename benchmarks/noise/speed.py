"""How fast is exact noise? One core, one run: numpy's insecure draws, ours, and OpenDP's, as ratios.

    python benchmarks/noise/speed.py [--opendp-python PATH] [--output benchmarks/results/noise-speed.md]

PATH is the Python of an environment that has opendp; without it the column stays empty.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np

from deniable.noise import gaussian, laplace, race

DRAWS = 1 << 22
SCALES = [1, 10, 10**4, 10**9]

PEER = """
import json, time
from importlib.metadata import version
import opendp.prelude as dp
dp.enable_features("contrib")
vector = dp.vector_domain(dp.atom_domain(T="i64"))
def seconds(call, count):
    call(); best = 1e9
    for _ in range(3):
        start = time.perf_counter(); call(); best = min(best, time.perf_counter() - start)
    return best / count
found = {"version": version("opendp")}
zeros = [0] * 10_000
for scale in SCALES:
    laplace = dp.m.make_laplace(vector, dp.l1_distance(T="i64"), scale=float(scale))
    gaussian = dp.m.make_gaussian(vector, dp.l2_distance(T="f64"), scale=float(scale))
    found[f"laplace {scale}"] = seconds(lambda: laplace(zeros), len(zeros))
    found[f"gaussian {scale}"] = seconds(lambda: gaussian(zeros), len(zeros))
noisy_max = dp.m.make_noisy_max(vector, dp.linf_distance(T="i64"), dp.max_divergence(), scale=20.0)
found["race"] = seconds(lambda: noisy_max(zeros), len(zeros))
print(json.dumps(found))
"""


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Best of some runs."""
    call()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def two_sided_geometric(scale: int) -> Callable[[], object]:
    """What a numpy user writes: two geometric draws and their difference, from a generator that is not secure."""
    generator, p = np.random.default_rng(), float(-np.expm1(-1 / scale))
    return lambda: generator.geometric(p, DRAWS) - generator.geometric(p, DRAWS)


def vector_rows(peer: dict[str, float]) -> list[str]:
    rows = []
    for scale in SCALES:
        base = seconds(two_sided_geometric(scale), 3) / DRAWS
        ours = {
            "laplace": seconds(lambda scale=scale: laplace.sample(scale=scale, size=DRAWS)) / DRAWS,
            "gaussian": seconds(lambda scale=scale: gaussian.sample(sigma_squared=scale**2, size=DRAWS)) / DRAWS,
        }
        base = min(base, seconds(two_sided_geometric(scale), 3) / DRAWS)  # before and after, the faster one
        for law, mine in ours.items():
            other = peer.get(f"{law} {scale}")
            against = f"{other * 1e9:,.0f} | {other / mine:,.0f}" if other else "absent | -"
            numbers = f"{mine * 1e9:.1f} | {1e-6 / mine:.0f} | {base * 1e9:.1f} | {base / mine:.1f}"
            rows.append(f"| {law} | {scale:,} | {numbers} | {against} |")
    return rows


def small_rows() -> list[str]:
    rows = []
    for size in (1, 50, 1000):
        lap = seconds(lambda size=size: laplace.sample(scale=Fraction(29, 3), size=size), 200)
        gau = seconds(lambda size=size: gaussian.sample(sigma_squared=Fraction(3000), size=size), 200)
        rows.append(f"| {size:,} draws, table there | {lap * 1e6:.0f} | {gau * 1e6:.0f} |")
    fresh = [Fraction(1000 + i, 7) for i in range(30)]
    lap = sum(seconds_once(lambda s=s: laplace.sample(scale=s)) for s in fresh) / 30
    gau = sum(seconds_once(lambda s=s: gaussian.sample(sigma_squared=s)) for s in fresh) / 30
    rows.append(f"| 1 draw, new parameter | {lap * 1e6:.0f} | {gau * 1e6:.0f} |")
    lap, gau = cold("laplace.sample(scale=3)") * 1e6, cold("gaussian.sample(sigma_squared=3)") * 1e6
    rows.append(f"| 1 draw, new process that has numpy, imports included | {lap:.0f} | {gau:.0f} |")
    return rows


def seconds_once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cold(call: str) -> float:
    """Seconds to the first draw of a process that has numpy; median of nine."""
    code = (
        "import numpy, time; start = time.perf_counter()\n"
        f"from deniable.noise import laplace, gaussian; {call}; print(time.perf_counter() - start)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return float(np.median([float(run.stdout) for run in runs]))


def race_rows(peer: dict[str, float]) -> list[str]:
    rows = []
    other = peer.get("race")
    scores = np.random.default_rng(1).integers(0, 1000, 1_000_000)
    for count in (1000, 1_000_000):
        part = scores[:count]
        for name, run in (
            ("exponential mechanism", race.exponential_mechanism),
            ("permute-and-flip", race.permute_and_flip),
        ):
            mine = seconds(lambda run=run, part=part: run(part, rate=Fraction(1, 20))) / count
            against = f"{other * 1e9:,.0f} | {other / mine:,.0f}" if other else "absent | -"
            rows.append(f"| {name} | {count:,} | {mine * 1e9:.0f} | {against} |")
    return rows


def machine(peer: dict[str, float]) -> str:
    model = "unknown processor"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "cryptography", "python-flint"))
    return (
        f"One core of {model}, Python {platform.python_version()}, {packages}, opendp {peer.get('version', 'absent')}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opendp-python", help="Python of an environment with opendp")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    peer: dict[str, float] = {}
    if arguments.opendp_python:
        code = PEER.replace("SCALES", repr(SCALES))
        done = subprocess.run([arguments.opendp_python, "-c", code], capture_output=True, text=True, check=True)
        peer = json.loads(done.stdout)
    text = "\n".join([
        "# Noise: speed", "", machine(peer),
        f"Nanoseconds a draw, {DRAWS:,} draws at a time, best of several; ratios are against ours, from this one run.",
        "numpy's column is `rng.geometric(p, n) - rng.geometric(p, n)` of the same scale: neither secure nor exact. "
        "OpenDP's is its vector mechanism, 10,000 coordinates.", "",
        "| law | scale or sigma | ours, ns | million/s | numpy, ns | times numpy | OpenDP, ns | times OpenDP |",
        "|---|---|---|---|---|---|---|---|", *vector_rows(peer), "",
        "Few draws, microseconds a call:", "", "| call | Laplace | Gaussian |", "|---|---|---|", *small_rows(), "",
        "Races, nanoseconds a candidate:", "",
        "| race | candidates | ours, ns | OpenDP noisy max, ns | times OpenDP |", "|---|---|---|---|---|",
        *race_rows(peer), "",
    ])  # fmt: skip
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
