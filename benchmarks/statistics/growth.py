"""How the cost of three releases grows: with rows, with candidates, with parameters. Exponents of fitted powers.

The notes say O(n) for a count, O(n + m) for a choice among m candidates, and O(B d) for a step of DP-SGD on B rows with
d parameters. A power that fits times t(k) for sizes k is the slope of log t against log k; fixed costs flatten it.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from deniable import statistics
from deniable.learning import NoisyDescent, Poisson, TrainingPlan
from deniable.learning.losses import Logistic
from deniable.learning.sets import L2Ball

REPEATS = 5


def seconds(run: Callable[[], object]) -> float:
    """The least time of several runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def exponent(sizes: Sequence[int], make: Callable[[int], Callable[[], object]]) -> tuple[float, list[float]]:
    """Slope of log time against log size, and the times."""
    times = [seconds(make(size)) for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return float(slope), times


def count(rows: int) -> Callable[[], object]:
    values = np.ones(rows)
    return lambda: statistics.count(values, epsilon=1)


def choice(rows: int, candidates: int) -> Callable[[], object]:
    values = np.arange(rows) % candidates
    return lambda: statistics.mode(values, keys=range(candidates), epsilon=1)


def step(rows: int, columns: int) -> Callable[[], object]:
    features = np.full((rows, columns), 1 / columns)
    labels = np.ones(rows)
    plan = TrainingPlan(sampler=Poisson(rate="1/2"), noise_multiplier=1, steps=5, dimensions=columns)
    feasible = L2Ball(radius=1, columns=columns)
    descent = NoisyDescent(loss=Logistic(), feasible=feasible, plan=plan, size=rows, step_size=1)
    return lambda: descent.release(features, labels)


def main() -> None:
    """Print the table."""
    cases: list[tuple[str, Sequence[int], Callable[[int], Callable[[], object]]]] = [
        ("count, rows n", (10**6, 4 * 10**6, 16 * 10**6), count),
        ("choice, rows n (1,000 candidates)", (10**6, 4 * 10**6, 16 * 10**6), lambda n: choice(n, 1000)),
        ("choice, candidates m (10^5 rows)", (10**4, 4 * 10**4, 16 * 10**4), lambda m: choice(10**5, m)),
        ("DP-SGD, rows (256 parameters)", (4000, 16_000, 64_000), lambda n: step(n, 256)),
        ("DP-SGD, parameters (16,000 rows)", (64, 256, 1024), lambda d: step(16_000, d)),
    ]
    print(f"{'release, and what grows by 4 and by 16':40} {'exponent':>8}  seconds")
    for name, sizes, make in cases:
        slope, times = exponent(sizes, make)
        print(f"{name:40} {slope:8.2f}  {'  '.join(f'{each:.4f}' for each in times)}")


if __name__ == "__main__":
    main()
