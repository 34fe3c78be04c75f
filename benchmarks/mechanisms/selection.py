"""How fast is a private choice? One core, one run: numpy's insecure argmax, ours, and OpenDP's, as ratios.

    python benchmarks/mechanisms/selection.py [--opendp-python PATH] [--output FILE]

PATH is the Python of an environment that has opendp; without it its column stays empty. FILE is
benchmarks/results/mechanisms-selection.md.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np

from deniable.mechanisms import (
    ContinuousExponential,
    ExponentialMechanism,
    JointTopK,
    NoisyMax,
    PeelingTopK,
    PermuteAndFlip,
)
from deniable.noise import races
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity import of_distinct_units

RATE = Fraction(1, 20)
SIZES = [1000, 1_000_000]
SCORES = {
    "few": "0 to 999",
    "distinct": "all different, in random order",
    "equal": "all equal",
}

PEER = """
import json, time
from importlib.metadata import version
import opendp.prelude as dp
dp.enable_features("contrib")
vector = dp.vector_domain(dp.atom_domain(T="i64"))
def seconds(call):
    call(); best = 1e9
    for _ in range(3):
        start = time.perf_counter(); call(); best = min(best, time.perf_counter() - start)
    return best
found = {"version": version("opendp")}
noises = {"exponential": dp.max_divergence(), "gumbel": dp.zero_concentrated_divergence()}
for noise, measure in noises.items():
    try:
        choose = dp.m.make_noisy_max(vector, dp.linf_distance(T="i64"), measure, scale=20.0)
        for size in SIZES:
            scores = [i * 7919 % 1000 for i in range(size)]
            found[f"{noise} {size}"] = seconds(lambda: choose(scores)) / size
    except Exception as error:
        found[f"{noise} error"] = str(error)[:200]
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


def scores_of(kind: str, size: int) -> np.ndarray:
    if kind == "distinct":
        return np.random.default_rng(1).permutation(size)
    return np.arange(size) * 7919 % 1000 if kind == "few" else np.zeros(size, dtype=np.int64)


def rows_of_choices(peer: dict[str, float]) -> list[str]:
    generator = np.random.default_rng()
    rows = []
    for kind, size in product(SCORES, SIZES):
        scores = scores_of(kind, size)
        weights = tuple((1 + scores % 97).tolist())

        def insecure(scores: np.ndarray = scores) -> object:
            return np.argmax(scores * 0.05 + generator.gumbel(size=scores.size))

        repeats = 30 if size < 10**5 else 9
        base = seconds(insecure, repeats) / size
        ours = {
            "exponential mechanism": (ExponentialMechanism(rate=RATE), "gumbel"),
            "the same, weighted": (ExponentialMechanism(rate=RATE, weights=weights), ""),
            "permute-and-flip": (PermuteAndFlip(rate=RATE), "exponential"),
            "noisy max, Laplace": (NoisyMax(rate=RATE), ""),
            "top 10, Gumbel": (PeelingTopK(rate=RATE, count=10), ""),
            "top 10, exponential, 10 rounds": (PeelingTopK(rate=RATE, count=10, noise="exponential"), ""),
            "top 10, joint": (JointTopK(rate=RATE, count=10), ""),
            "top 100, joint": (JointTopK(rate=RATE, count=100), ""),
        }
        interval = ContinuousExponential(rate=RATE, bounds=(0, 2**40))
        breaks = np.sort(np.random.default_rng(2).integers(0, 2**40, size - 1))
        releases = {name: (partial(mechanism.release, scores), theirs) for name, (mechanism, theirs) in ours.items()}
        releases["over an interval, sorted breaks"] = (partial(interval.release, breaks, scores), "")
        for name, (release, theirs) in releases.items():
            mine = seconds(release, repeats) / size
            other = peer.get(f"{theirs} {size}") if kind == "few" else None
            against = f"{other * 1e9:,.0f} | {other / mine:,.0f}" if other else "- | -"
            rows.append(
                f"| {name} | {size:,} | {kind} | {mine * 1e9:,.1f} | {base * 1e9:.1f} | {base / mine:.2f} | {against} |"
            )
    return rows


def rows_of_small_races() -> list[str]:
    generator = np.random.default_rng(1)
    rows = []
    for candidates in (4, 10, 100):
        scores = generator.integers(0, 20, (100_000, candidates))
        floats = scores.astype(np.float64)
        base = seconds(lambda f=floats: (f + generator.gumbel(size=f.shape)).argmax(axis=1), 3)
        mine = seconds(lambda s=scores: races.exponential_mechanism(s, rate=Fraction(1, 4)), 3)
        rows.append(f"| 100,000 of {candidates} | {mine * 1e3:.0f} | {base * 1e3:.0f} | {base / mine:.2f} |")
    return rows


def rows_of_errors() -> list[str]:
    """Mean over runs of the largest miss of any place, for counts that fall slowly."""
    scores = (10**4 / np.arange(1, 10_001) ** 0.5).astype(np.int64)
    reach = of_distinct_units(groups=10_000, relation=AddRemove)  # a unit may be in every count
    rows = []
    for count in (5, 20, 100):
        best = scores[:count]
        cells = []
        for kind, options in (
            (JointTopK, {"epsilon": 1}),
            (PeelingTopK, {"epsilon": 1, "noise": "exponential"}),
            (PeelingTopK, {"epsilon": 1}),
            (PeelingTopK, {"epsilon": 1, "delta": "1e-6"}),
        ):
            mechanism = kind.calibrated(reach, count=count, monotone=True, **options)
            misses = [(best - scores[list(mechanism.release(scores).value)]).max() for _ in range(100)]
            cells.append(f"{np.mean(misses):,.1f}")
        rows.append(f"| {count} | {' | '.join(cells)} |")
    return rows


def machine(peer: dict[str, float]) -> str:
    model = "unknown processor"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"One core of {model}, Python {platform.python_version()}, numpy {version('numpy')}, "
        f"opendp {peer.get('version', 'absent')}."
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
        code = PEER.replace("SIZES", repr(SIZES))
        done = subprocess.run([arguments.opendp_python, "-c", code], capture_output=True, text=True, check=True)
        peer = json.loads(done.stdout)
        print({name: value for name, value in peer.items() if name.endswith("error")})
    text = "\n".join([
        "# Selection: speed", "", machine(peer),
        "Nanoseconds a candidate for one choice, best of several; ratios are against ours, from this one run. "
        f"The rate is 1/20. Scores: {', '.join(f'{kind} ({words})' for kind, words in SCORES.items())}.",
        "numpy's column is `argmax(scores * rate + rng.gumbel(size=n))`: neither secure nor exact. OpenDP's is "
        "`make_noisy_max` with the same noise, for few scores.", "",
        "| choice | candidates | scores | ours, ns | numpy, ns | numpy / ours | OpenDP, ns | OpenDP / ours |",
        "|---|---|---|---|---|---|---|---|", *rows_of_choices(peer), "",
        "Many races at once, milliseconds for all:", "",
        "| races | ours, ms | numpy, ms | numpy / ours |", "|---|---|---|---|", *rows_of_small_races(), "",
        "Errors of the first few out of 10,000 counts 10^4 / sqrt(rank) at epsilon 1, add/remove, a unit may be in "
        "every count: the largest miss of any place, mean of 100 runs. The last column has delta = 10^-6.", "",
        "| first | joint | rounds, exponential | rounds, Gumbel | rounds, Gumbel, delta |", "|---|---|---|---|---|",
        *rows_of_errors(), "",
    ])  # fmt: skip
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
