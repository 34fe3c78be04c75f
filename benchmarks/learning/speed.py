"""Time of private logistic and softmax regression beside plain numpy of equal steps, in one run on one thread.

    OMP_NUM_THREADS=1 python benchmarks/learning/speed.py

Plain: rows with a constant at a norm of 1, then full-batch descent with momentum, each step by two matrix products.
Ours does the same with exact sums and noise; "fit" is what a user waits for, with accounting and the note, but with the
noise multiplier given.
"""

import time

import numpy as np

from deniable.learning import Clip, LogisticRegression, TrainingPlan
from deniable.noise.bits import SECURE

SHAPES = ((39_073, 116, 2, 80), (39_073, 116, 10, 80), (1_348, 64, 10, 80), (427, 30, 2, 80))
REPEATS = 5


def plain(rows: np.ndarray, labels: np.ndarray, classes: int, steps: int) -> np.ndarray:
    """Softmax regression without privacy; one output for two classes."""
    outputs = 1 if classes == 2 else classes
    rows = np.column_stack([np.clip(rows, 0, 1), np.ones(len(rows))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights, move = np.zeros((outputs, rows.shape[1])), np.zeros((outputs, rows.shape[1]))
    targets = labels[:, np.newaxis].astype(float) if outputs == 1 else np.eye(classes)[labels]
    for _ in range(steps):
        odds = rows @ weights.T
        if outputs == 1:
            chances = 1 / (1 + np.exp(-odds))
        else:
            chances = np.exp(odds - odds.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
        move = 0.9 * move - (chances - targets).T @ rows / len(rows)
        weights = weights + move
    return weights


def main() -> None:
    print("| rows | features | classes | plain | private | ratio | fit |\n|---|---|---|---|---|---|---|")
    for size, columns, classes, steps in SHAPES:
        rng = np.random.default_rng(0)
        rows, labels = rng.uniform(0, 1, (size, columns)), rng.integers(0, classes, size)
        outputs = 1 if classes == 2 else classes
        plan = TrainingPlan(noise_multiplier=33, steps=steps, dimensions=(columns + 2) * outputs,
                            clip=Clip(norm="1/4", lattice=2**28))  # fmt: skip
        model = LogisticRegression(bounds=(0, 1), classes=range(classes), expected_rows=size, plan=plan)
        work, times = model._planned(rows, labels), []
        for _ in range(REPEATS):
            moments = [time.perf_counter()]
            plain(rows, labels, classes, steps)
            moments.append(time.perf_counter())
            work.train(SECURE)
            moments.append(time.perf_counter())
            model.fit(rows, labels)
            moments.append(time.perf_counter())
            times.append(np.diff(moments))
        theirs, ours, whole = np.min(times, axis=0)
        print(
            f"| {size} | {columns} | {classes} | {theirs:.3f} s | {ours:.3f} s | {ours / theirs:.2f} | {whole:.3f} s |"
        )


if __name__ == "__main__":
    main()
