"""How far off are totals and windows of a stream, and how fast is it?

    python benchmarks/stream/errors.py [--quick] [--output FILE.md]

Standard deviations per unit of noise multiplier for one participation, beside the binary tree of the textbook, fresh
noise in every step, and the best that is known: the square root for the greatest error of totals, the certified optimum
for root mean squares. Then the speed of an exact stream that is saved every thousand steps, and of 1,000 counters over
365 days. Peers: none of OpenDP 0.16, jax_privacy 2.0, Google's library or Tumult has a counter that can be restarted.
"""

import argparse
import math
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from deniable.mechanisms.correlated import Tree, Triangular, Uses, WholeBuffered
from deniable.mechanisms.correlated.triangular import optimal, workload_gram
from deniable.mechanisms.correlated.whole import LASTING_STEPS
from deniable.stream import Counter


def square_root(steps: int) -> float:
    """The least greatest error of a Toeplitz matrix."""
    return float((np.cumprod(np.append(1, 1 - 1 / (2 * np.arange(1, steps)))) ** 2).sum())


def binary_tree(steps: int) -> float:
    """The greatest error of the tree whose nodes are not improved by those below: sqrt(levels * ones of a step)."""
    levels = steps.bit_length()
    return math.sqrt(levels * max(bin(step).count("1") for step in range(1, steps + 1)))


def totals(steps: int, buffers: int) -> str:
    """One row: the greatest error of totals."""
    uses = Uses(steps=steps, dimensions=1, lattice=2**10)
    begin = time.process_time()
    ours = WholeBuffered.best(uses, buffers=buffers).errors(uses)[0]
    spent = time.process_time() - begin
    others = f"{binary_tree(steps):.3f} | {Tree().errors(uses)[0]:.3f} | {square_root(steps):.4f}"
    return f"| totals, n = {steps:,}, {buffers} buffers | {others} | {ours:.4f} | {spent:.2f} |"


def windows(steps: int, window: int) -> str:
    """One row: the root mean square of sums over a window, from totals, by fresh noise, and by our strategy."""
    uses = Uses(steps=steps, dimensions=1, lattice=2**10)
    begin = time.process_time()
    made = Triangular.best(uses, windows=[window])
    spent = time.process_time() - begin
    prefix = Triangular.best(uses, totals=True)

    def error(strategy: Triangular) -> float:
        return math.sqrt(float((strategy.spreads(uses, window=window) ** 2).mean())) * strategy.norm(uses)

    lower = optimal(workload_gram(steps, windows=[window], totals=False)).lower
    others = f"{error(prefix):.3f} | {math.sqrt(window):.3f} | {lower:.4f}"
    return f"| {window}-day sums, n = {steps} | {others} | {error(made):.4f} | {spent:.2f} |"


def unbounded() -> str:
    """The ratio of variances to those of the best stream of each length."""
    begin = time.process_time()
    made = WholeBuffered.lasting()
    spent = time.process_time() - begin
    norm = made._norm(Uses(steps=LASTING_STEPS, dimensions=1))
    spreads = made.spreads(Uses(steps=2**24, dimensions=1)) * norm
    optima = np.cumsum(np.cumprod(np.append(1, 1 - 1 / (2 * np.arange(1, 2**24)))) ** 2)
    ratios = (spreads / optima) ** 2
    shown = ", ".join(f"{2**k:,}: {ratios[2**k - 1]:.3f}" for k in (0, 3, 6, 10, 16, 20, 24))
    return (
        f"variance over that of the best stream of each length, no horizon ({spent:.1f} CPU s): {shown}; at most "
        f"{ratios[63:].max():.3f} from step 64"
    )


def speed(steps: int, keys: int) -> str:
    """One row: CPU seconds of exact steps, saved a thousand at a time, and the peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        names = list(range(keys)) if keys > 1 else None
        facts = {"steps": steps, "epsilon": 1, "delta": "1e-9", "keys": names}
        counter = Counter(Path(folder) / "x.stream", **facts)
        counts = np.random.default_rng(0).integers(0, 100, (1000 if keys == 1 else 1, keys))
        begin = time.process_time()
        for _ in range(0, steps, len(counts)):
            if keys == 1:
                counter.extend(counts)
            else:
                counter.add(counts[0])
                counter.release()
        spent = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"| {steps:,} steps of {keys:,} counters | {spent:.1f} | {steps / spent:,.0f} | {peak:.0f} |"


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out a million steps")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    uses = Uses(steps=365, dimensions=1)
    lines = ["| exact, with its state on disk | CPU s | steps a second | peak, MB |", "|---|---|---|---|"]
    lines += [
        speed(365, 1000),
        speed(20_000 if options.quick else 10**6, 1),
    ]  # first, for the peak
    lines += ["", "| greatest error | tree | Honaker | square root | ours | CPU s |", "|---|---|---|---|---|---|"]
    lines += [totals(steps, buffers) for steps, buffers in ((365, 4), (1024, 3), (1024, 4), (10**6, 4), (10**6, 6))]
    lines += ["", "| root mean square | from totals | fresh noise | lower bound | ours | CPU s |"]
    best = Triangular.best(uses, totals=True).errors(uses)[1]
    bound = optimal(workload_gram(365, windows=[], totals=True)).lower
    lines += ["|---|---|---|---|---|---|", f"| totals, n = 365 | | {math.sqrt(183):.3f} | {bound:.4f} | {best:.4f} | |"]
    lines += [*(windows(365, window) for window in (7, 30, 90)), "", unbounded()]
    text = "\n".join(lines)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
