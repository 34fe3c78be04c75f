"""What is the true epsilon of the mechanisms on which auditors are compared, and how long does it take to prove?

python benchmarks/audit/true_epsilon.py [--output FILE.md]

The mechanisms of Bichsel, Steffen, Bogunovic, Vechev (2021), "DP-Sniper", with a claim of epsilon 0.1. Their search
drew 10.7 million outputs to fit and 2 * 10^8 to test, for bounds at confidence 0.9; here nothing is drawn: each row is
the certified loss of one event on one pair of inputs. The share is of the supremum over all events and inputs, known
by a theorem or a formula. Two published bounds lie above it: of the fourth sparse vector (a p-value) and of RAPPOR.
"""

import argparse
import math
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.audit import measure_exactly
from deniable.audit.gallery.chances import (
    Chances,
    event,
    exponential,
    geometric,
    laplace,
    threshold_answers,
)
from deniable.numbers.balls import ball, certified_masses


def stream(data: tuple[int, ...], *, threshold: int | Fraction, query: int | Fraction, ups: int) -> Chances:
    """Answers "below" and then `ups` times "above"."""
    pattern = [False] * (len(data) - ups) + [True] * ups
    return event(threshold_answers(data, pattern, threshold_scale=threshold, query_scale=query))


def streams(level: int, ups: int, *, threshold: int | Fraction, query: int | Fraction) -> "Row":
    """Ten questions at a level, of which the first move up and the last down."""
    low, high = (level,) * (10 - ups) + (1 - level,) * ups, (level + 1,) * (10 - ups) + (-level,) * ups
    return low, high, lambda data: stream(data, threshold=threshold, query=query, ups=ups)


def votes(data: tuple[int, int]) -> Chances:
    gap = Fraction(data[1] - data[0], 20)
    return event((1 + ball(gap) / 2) * ball(-gap).exp() / 2)


def largest(noise: Callable[[Fraction], Any], least: int) -> Callable[[int], Chances]:
    """Whether the largest of five noisy scores is below a bound."""
    return lambda score: event(noise(Fraction(least - score)) ** 5)


def bits(truth: Fraction) -> Callable[[int], Chances]:
    """Whether six bits, in which two answers differ, all tell for the first."""
    return lambda first: event(truth**6 if first else (1 - truth) ** 6)


Row = tuple[Any, Any, Callable[[Any], Chances]]
RAPPOR = (
    Fraction(3, 4) / 2 + Fraction(55, 100) / 4,
    Fraction(95, 200),
)  # P[1 | 1]; the lie of one-time
ROWS: dict[str, tuple[float, float | None, float, Row]] = {  # best published bound, its seconds, truth, pair and law
    "Laplace": (0.0998, 20, 0.1, (0, 1, lambda x: event(laplace(10)(Fraction(-x))))),
    "truncated geometric (k = 3)": (0.1169, 18, math.log(9 / 8), (2, 3, lambda x: geometric(x, 0, 5, Fraction(8, 9)))),
    "noisy histogram 1": (0.0994, 35, 0.1, (0, 1, lambda x: event(laplace(10)(Fraction(-x))))),
    "noisy histogram 2": (4.602, 35, 10.0, (0, 1, lambda x: event(laplace(Fraction(1, 10))(Fraction(-x))))),
    "noisy max 1 (Laplace)": (0.0921, 59, 0.1, ((0, 9999), (1, 9998), votes)),
    "noisy max 2 (exponential)": (0.0997, 59, 0.1, ((0, 99), (1, 98), lambda x: event(
        ball(Fraction(x[0] - x[1], 20)).exp() / 2))),
    "noisy max 3 (prints its value)": (0.2488, 59, 0.25, (0, 1, largest(laplace(20), -50))),
    "noisy max 4 (the same, exponential)": (0.3534, 60, math.inf, (0, 1, largest(exponential(20), 1))),
    "sparse vector 1 (Lyu, Su, Li)": (0.0858, 118, 0.1, streams(99, 1, threshold=20, query=40)),
    "sparse vector 3 (Roth), ten questions": (0.1822, 150, 0.5, ((20,) * 10, (21,) * 10, lambda x: event(
        threshold_answers(x, [False] * 9 + [True], threshold_scale=20, query_scale=20, value=(-60, -59))))),
    "sparse vector 4 (Lee, Clifton)": (0.179, 123, 0.175, streams(99, 1, threshold=40, query=Fraction(40, 3))),
    "sparse vector 5 (Stoddard et al.)": (14.31, 56, math.inf, ((0, 1), (1, 0), lambda x: event(
        laplace(20)(Fraction(x[1])) - laplace(20)(Fraction(x[0])) if x[1] > x[0] else Fraction(0)))),
    "sparse vector 6 (Chen et al.), ten questions": (0.322, 91, 0.5, streams(100, 5, threshold=20, query=20)),
    "RAPPOR (three pairs of bits)": (0.3008, 131, 6 * math.log(RAPPOR[0] / (1 - RAPPOR[0])), (1, 0, bits(RAPPOR[0]))),
    "one-time RAPPOR (the same)": (0.5999, 80, 6 * math.log(21 / 19), (1, 0, bits(1 - RAPPOR[1]))),
    "twenty Laplace counts of 0.005": (0.0350, 96, 0.1, (0, 1, lambda x: event(laplace(200)(Fraction(-x)) ** 20))),
    "prefix sums of ten counts": (0.5774, 92, 1.0, (0, 1, lambda x: event(laplace(10)(Fraction(-x)) ** 10))),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = ["| mechanism | best published | its seconds | certified here | of the truth | seconds |"]
    lines.append("|---|---|---|---|---|---|")
    for name, (published, spent, truth, (data, neighbour, chances)) in ROWS.items():
        start = time.perf_counter()
        found = measure_exactly(lambda x, law=chances: certified_masses(lambda: law(x)), [(data, neighbour)])
        seconds = time.perf_counter() - start
        share = "exact" if found.epsilon == truth else "" if math.isinf(truth) else f"{found.epsilon / truth:.2%}"
        lines.append(f"| {name} | {published} | {spent} | {found.epsilon:.6g} | {share} | {seconds:.2f} |")
    text = "\n".join(lines)
    print(text)
    if output is not None:
        said = " ".join((__doc__ or "").split("\n\n")[2].split())
        output.write_text(f"# True epsilon of published mechanisms\n\n{said}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
