"""How much of the true epsilon does a black-box audit find, how fast, and how often does it raise a false alarm?

python benchmarks/audit/black_box.py [--output FILE.md] [--audits 10000]

First the mechanisms of Bichsel, Steffen, Bogunovic, Vechev (2021), "DP-Sniper", whose search drew 10.7 million outputs
to fit and 2 * 10^8 to test, for bounds at confidence 0.9; here the outputs of the third column are all that is drawn,
for fitting, choosing and testing, at confidence 0.9, by one process. Then every specimen of the gallery at confidence
0.99, drawn from its law. Then audits of correct mechanisms at a nominal rate of false alarms of 1e-4.
Where an event is too rare for so few outputs the bound is 0: exact audits (true_epsilon.py) find it without drawing.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.audit import list_pairs, measure, search_pairs
from deniable.audit.gallery import GALLERY
from deniable.mechanisms import MECHANISMS
from deniable.noise.bits import DeterministicBits

EPSILON, TEN = 0.1, 10
RNG = np.random.default_rng(1)


def laplace(data: Any, runs: int, scale: float) -> NDArray[np.float64]:
    values = np.asarray(data, dtype=np.float64)
    return values + RNG.laplace(scale=scale, size=(runs, *values.shape))


def geometric(data: int, runs: int) -> NDArray[np.int64]:
    noise = RNG.geometric(1 / 9, runs) - RNG.geometric(1 / 9, runs)
    return np.clip(data + noise, 0, 5)


def noisy_max(data: Any, runs: int, noise: str, value: bool) -> NDArray[np.float64]:
    scores = np.array(data) + getattr(RNG, noise)(scale=2 / EPSILON, size=(runs, len(data)))
    return scores.max(axis=1) if value else scores.argmax(axis=1).astype(np.float64)


def sparse_vector(
    data: Any, runs: int, *, threshold: float, query: float, stop: bool = True, value: bool = False
) -> NDArray[np.float64]:
    scores = np.array(data) + (RNG.laplace(scale=query, size=(runs, len(data))) if query else 0)
    above = scores >= 1 + RNG.laplace(scale=threshold, size=(runs, 1))
    shown = np.where(above, scores, -1000.0) if value else above.astype(np.float64)
    if stop:
        shown[above.cumsum(axis=1) - above > 0] = -2000.0
    return shown


def rappor(data: int, runs: int, once: bool) -> NDArray[np.int64]:
    """Three pairs of bits: the two inputs share none of their hashed bits."""
    bits = np.repeat([data, 1 - data], 3)
    if once:
        return np.where(RNG.random((runs, 6)) < 0.95, RNG.integers(0, 2, (runs, 6)), bits)
    kept = np.where(RNG.random((runs, 6)) < 0.75, RNG.integers(0, 2, (runs, 6)), bits)
    return (RNG.random((runs, 6)) < np.where(kept == 1, 0.55, 0.45)).astype(np.int64)


def prefix_sums(data: Any, runs: int) -> NDArray[np.float64]:
    return laplace(data, runs, 1 / EPSILON).cumsum(axis=1)


ANSWERS = list_pairs("answers", length=TEN)
FIVE = list_pairs("answers", length=5)
ONE = [(0, 1)]
WIDE = [([0] * 20, [1] * 20)]
Published = tuple[float, float, float, Callable[..., Any], Any, int]
ROWS: dict[str, Published] = {  # best published bound, its seconds, truth, mechanism, pairs, runs on either input
    "Laplace": (0.0998, 20, 0.1, partial(laplace, scale=10), ONE, 4_000_000),
    "truncated geometric": (0.1169, 18, math.log(9 / 8), geometric, [(2, 3)], 4_000_000),
    "noisy histogram 1": (0.0994, 35, 0.1, partial(laplace, scale=10), [([1, 0], [0, 0])], 1_000_000),
    "noisy histogram 2": (4.602, 35, 10.0, partial(laplace, scale=0.1), [([1, 0], [0, 0])], 1_000_000),
    "noisy max 1 (Laplace)": (0.0921, 59, 0.1, partial(noisy_max, noise="laplace", value=False), FIVE, 1_000_000),
    "noisy max 2 (exponential)": (
        0.0997, 59, 0.1, partial(noisy_max, noise="exponential", value=False), FIVE, 1_000_000),
    "noisy max 3 (its value)": (0.2488, 59, 0.25, partial(noisy_max, noise="laplace", value=True), FIVE, 1_000_000),
    "noisy max 4 (its value)": (
        0.3534, 60, math.inf, partial(noisy_max, noise="exponential", value=True), FIVE, 1_000_000),
    "sparse vector 1": (0.0858, 118, 0.1, partial(sparse_vector, threshold=20, query=40), ANSWERS, 300_000),
    "sparse vector 3": (0.1822, 150, 0.5, partial(sparse_vector, threshold=20, query=20, value=True), ANSWERS, 300_000),
    "sparse vector 4": (0.179, 123, 0.175, partial(sparse_vector, threshold=40, query=40 / 3), ANSWERS, 300_000),
    "sparse vector 5": (
        14.31, 56, math.inf, partial(sparse_vector, threshold=20, query=0, stop=False), ANSWERS,
        300_000),
    "sparse vector 6": (0.322, 91, 0.5, partial(sparse_vector, threshold=20, query=20, stop=False), ANSWERS, 300_000),
    "RAPPOR": (0.3008, 131, 0.300063, partial(rappor, once=False), ONE, 1_000_000),
    "one-time RAPPOR": (0.5999, 80, 0.600501, partial(rappor, once=True), ONE, 1_000_000),
    "twenty Laplace counts": (0.035, 96, 0.1, partial(laplace, scale=200), WIDE, 300_000),
    "prefix sums": (0.5774, 92, 1.0, prefix_sums, [([0] * TEN, [1] * TEN)], 300_000),
}  # fmt: skip


def published() -> list[str]:
    lines = ["| mechanism | truth | outputs | bound here | seconds | best published | its seconds |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, (best, spent, truth, mechanism, pairs, runs) in ROWS.items():
        start = time.perf_counter()
        found = search_pairs(mechanism, pairs, runs=runs, confidence=0.9, batched=True, low_bits=False)
        seconds = time.perf_counter() - start
        ours = f"{found.runs / 1e6:.1f} M | {found.epsilon:.4f} | {seconds:.1f}"
        lines.append(f"| {name} | {truth:.4g} | {ours} | {best} | {spent} |")
    found = measure(partial(laplace, scale=10), 1.0, 1 / 3, confidence=0.9, batched=True)
    lines.append(
        f"| Laplace in floating point | inf | {found.runs / 1e6:.1f} M | {found.epsilon:.4f} | | 0.2521 | 1817 |"
    )
    return lines


def gallery() -> list[str]:
    lines = ["| specimen | claim | bound | verdict | seconds |", "|---|---|---|---|---|"]
    for name, specimen in GALLERY.items():
        start = time.perf_counter()
        inputs = (specimen.data, specimen.neighbour)
        found = measure(
            lambda side, count, one=specimen, pair=inputs: one.outputs(pair[side], runs=count, seed=side),
            0, 1, claim=specimen.claim, runs=400_000, batched=True,
        )  # fmt: skip
        verdict = "caught" if found.violated else "sound" if specimen.sound else "not caught"
        seconds = time.perf_counter() - start
        lines.append(f"| {name} | {found.claimed:.4g} | {found.epsilon:.4g} | {verdict} | {seconds:.1f} |")
    return lines


def alarms(audits: int) -> list[str]:
    """Audits of all mechanisms of ours at their worst pairs, with new draws each, by turns."""
    wrong, start = 0, time.perf_counter()
    cases = {name: mechanism.worst_case() for name, mechanism in MECHANISMS.items()}
    losses = {name: case.mechanism.privacy_loss(case.sensitivity) for name, case in cases.items()}
    claims = {name: float(loss.epsilon("0.01").upper) for name, loss in losses.items()}
    for seed in range(audits):
        name = list(cases)[seed % len(cases)]
        case, bits = cases[name], DeterministicBits(seed)
        found = measure(
            lambda exact, runs, one=case, stream=bits: one.mechanism.outcomes(exact, runs, bits=stream),
            case.exact, case.neighbour, delta=0.01, confidence=1 - 1e-4, runs=1000, batched=True, seed=seed,
        )  # fmt: skip
        wrong += found.epsilon > claims[name]
    most = stats.binom.isf(1e-3, audits, 1e-4)
    return [
        f"{wrong} false alarms in {audits:,} audits of the {len(cases)} mechanisms of ours, nominal rate 1e-4 (more "
        f"than {most:.0f} would be one in a thousand), {time.perf_counter() - start:.0f} seconds."
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    parser.add_argument("--audits", type=int, default=10_000)
    given = parser.parse_args()
    parts = []
    for title, lines in (
        ("Published mechanisms", published()), ("The gallery", gallery()), ("False alarms", alarms(given.audits))
    ):  # fmt: skip
        parts += [f"## {title}", "\n".join(lines)]
        print(f"\n## {title}\n\n" + "\n".join(lines), flush=True)
    if given.output is not None:
        said = " ".join((__doc__ or "").split("\n\n")[2].split())
        given.output.write_text("\n\n".join(["# Black-box audits", said, *parts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
