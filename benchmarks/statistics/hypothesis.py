"""How often each private test rejects a true and a false hypothesis, beside the public test of the same rows.

    python benchmarks/statistics/hypothesis.py [--runs 200] [--output FILE]

The first number of a cell is the share of true hypotheses that are rejected at level 0.05 (it should be 0.05 or less),
the second the share of false ones (power). Rows are simulated: normal with standard deviation 0.15 inside [0, 1], or
categories; the false hypothesis is off by 0.05, or by 5 points of a share.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

import deniable as dn
from deniable.privacy import Relation

LEVEL = 0.05
SIZES = (100, 1000, 10_000)
EPSILONS = (0.1, 1.0, 10.0)
SHARES = np.array([0.2, 0.3, 0.5])
FEW = (20, 60)  # rows, and below them how little epsilon, for true hypotheses under both relations
LITTLE = (0.1, 1.0)
RELATIONS = {"add/remove": dn.AddRemove, "replace": dn.Replace}

Rows = Callable[[np.random.Generator, int, bool], object]


def normal(rng: np.random.Generator, size: int, true: bool) -> np.ndarray:
    return 0.5 + 0.15 * rng.standard_normal(size) + (0 if true else 0.05)


def two(rng: np.random.Generator, size: int, true: bool) -> tuple[np.ndarray, np.ndarray]:
    return normal(rng, size // 2, true), normal(rng, size // 2, True)


def grouped(rng: np.random.Generator, size: int, true: bool) -> tuple[np.ndarray, np.ndarray]:
    groups = rng.integers(0, 3, size)
    return normal(rng, size, True) + (0 if true else 0.05) * (groups - 1), groups


def coins(rng: np.random.Generator, size: int, true: bool) -> np.ndarray:
    return (rng.random(size) < (0.3 if true else 0.35)).astype(int)


def letters(rng: np.random.Generator, size: int, true: bool) -> np.ndarray:
    return rng.choice(3, size, p=SHARES + (0 if true else np.array([0.05, 0, -0.05])))


def crossed(rng: np.random.Generator, size: int, true: bool) -> tuple[np.ndarray, np.ndarray]:
    first, second = rng.integers(0, 2, size), letters(rng, size, True)
    return first, second if true else np.where(rng.random(size) < 0.1, first, second)


def table(rows: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.histogram2d(*rows, bins=(np.arange(3) - 0.5, np.arange(4) - 0.5))[0]


def questions(
    epsilon: float, relation: Relation = dn.AddRemove
) -> dict[str, tuple[object, Rows, Callable[[object], float]]]:
    """The private test, the rows, and the public test."""
    s, common = dn.statistics, {"epsilon": epsilon, "simulations": 999, "relation": relation}
    bounds, keys = {"bounds": (0, 1)}, {"keys": [0, 1, 2]}

    def chi(rows: np.ndarray) -> float:
        return stats.chisquare(np.bincount(rows, minlength=3), len(rows) * SHARES).pvalue

    return {
        "one_sample_t_test": (
            s.OneSampleTTest(mean="0.5", **bounds, **common),
            normal,
            lambda x: stats.ttest_1samp(x, 0.5).pvalue,
        ),
        "two_sample_t_test": (
            s.TwoSampleTTest(**bounds, **common),
            two,
            lambda x: stats.ttest_ind(*x, equal_var=False).pvalue,
        ),
        "anova": (
            s.Anova(**bounds, **keys, **common),
            grouped,
            lambda x: stats.f_oneway(*(x[0][x[1] == group] for group in range(3))).pvalue,
        ),
        "mann_whitney": (s.MannWhitney(**common), two, lambda x: stats.mannwhitneyu(*x).pvalue),
        "binomial_test": (
            s.BinomialTest(share="0.3", **common),
            coins,
            lambda x: stats.binomtest(int(x.sum()), len(x), 0.3).pvalue,
        ),
        "chi_squared_fit": (s.ChiSquaredFit(shares=[2, 3, 5], **keys, **common), letters, chi),
        "chi_squared_independence": (
            s.ChiSquaredIndependence(keys=[0, 1], other_keys=[0, 1, 2], **common),
            crossed,
            lambda x: stats.chi2_contingency(table(x)).pvalue,
        ),
        "subsampled_test": (
            s.SubsampledTest(test=lambda x: stats.ttest_1samp(x, 0.5).pvalue, blocks=20, **common),
            normal,
            lambda x: stats.ttest_1samp(x, 0.5).pvalue,
        ),
    }


def rejected(test: Callable[[object], float], rows: Rows, size: int, true: bool, runs: int) -> float:
    rng = np.random.default_rng(1)
    return float(np.mean([test(rows(rng, size, true)) <= LEVEL for _ in range(runs)]))


def true_hypotheses(runs: int) -> list[str]:
    """How often true ones are rejected, where rows are few and epsilon is little: the lines of a table."""
    settings = [(relation, epsilon) for relation in RELATIONS for epsilon in LITTLE]
    head = ["test", "rows", *(f"{relation}, epsilon = {epsilon:g}" for relation, epsilon in settings)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name in questions(1.0):
        for size in FEW:
            cells = []
            for relation, epsilon in settings:
                private, rows, _ = questions(epsilon, RELATIONS[relation])[name]
                cells.append(f"{rejected(lambda x, t=private: t(x)['p_value'][0], rows, size, True, runs):.3f}")
            lines.append(f"| {' | '.join([name, str(size), *cells])} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    head = ["test", "rows", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS), "public"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name in questions(1.0):
        for size in SIZES:
            start = time.perf_counter()
            cells = []
            for epsilon in EPSILONS:
                private, rows, public = questions(epsilon)[name]
                found = [
                    rejected(lambda x, t=private: t(x)["p_value"][0], rows, size, true, arguments.runs)
                    for true in (True, False)
                ]
                cells.append(" / ".join(f"{share:.2f}" for share in found))
            found = [rejected(public, rows, size, true, arguments.runs) for true in (True, False)]
            cells.append(" / ".join(f"{share:.2f}" for share in found))
            lines.append(f"| {' | '.join([name, str(size), *cells])} |")
            print(lines[-1], f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    page = f"""# Private tests: errors and power

Made by `benchmarks/statistics/hypothesis.py`, {arguments.runs} runs a number: a true 0.05 shows as 0.02 to 0.09.
Share of true hypotheses rejected at level 0.05 / share of false ones rejected, under add/remove.

{chr(10).join(lines)}

## True hypotheses, few rows, little epsilon

{5 * arguments.runs} runs a number: a true 0.05 shows as 0.03 to 0.07. Share of true hypotheses rejected at level 0.05.

{chr(10).join(true_hypotheses(5 * arguments.runs))}
"""
    if arguments.output:
        arguments.output.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
