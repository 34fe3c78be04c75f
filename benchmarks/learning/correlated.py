"""What correlated noise buys: errors of sums of steps at equal mu, and accuracy of a model on digits at equal epsilon.

    python benchmarks/learning/correlated.py [--runs 5]

Training: softmax regression on 1,437 of the 1,797 digits of scikit-learn, one row in each of 8 epochs of 16 steps, in
cycles, so that no sampling amplifies: the noise is that of the same rows in the same order. Delta is 1e-5. The learning
rate is the best of four on 360 validation rows, for each noise by itself; accuracy is that on these rows, so all are a
little optimistic in the same way.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from deniable.learning import Clip, CyclicPoisson, TrainingPlan
from deniable.mechanisms.correlated import Banded, Buffered, Tree, Uses

EPOCHS, PERIOD = 8, 16
ONE = Banded(coefficients=(1.0,))


def errors() -> None:
    for steps, times, separation in ((1024, 1, 1), (2048, 8, 256)):
        uses = Uses(steps=steps, dimensions=1, times=times, separation=separation)
        print(
            f"\n{steps} steps, {times} uses at least {separation} apart: error of sums, greatest and root mean square"
        )
        makers = {
            "independent": lambda uses: ONE,
            "tree": lambda uses: Tree(),
            "16 bands": lambda uses: Banded.best(uses, bands=16),
            "1 buffer": lambda uses: Buffered.best(uses, buffers=1),
            "2 buffers": lambda uses: Buffered.best(uses, buffers=2),
            "4 buffers": lambda uses: Buffered.best(uses, buffers=4),
        }
        for name, make in makers.items():
            start = time.process_time()
            greatest, mean = make(uses).errors(uses)
            print(f"  {name:12} {greatest:8.4f} {mean:8.4f}   {time.process_time() - start:5.2f} s")


def accuracy(plan: TrainingPlan, rate: float, rows: tuple[np.ndarray, ...]) -> float:
    features, labels, others, truth = rows
    weights, run = np.zeros((10, features.shape[1])), plan.run(len(features), expected_rows=len(features))
    total = np.zeros_like(weights)
    for batch in run:
        odds = np.exp(features[batch] @ weights.T)
        residual = odds / odds.sum(axis=1, keepdims=True) - np.eye(10)[labels[batch]]
        gradients = residual[:, :, np.newaxis] * features[batch][:, np.newaxis]
        weights = weights - rate * run.mean_gradient(gradients.reshape(len(batch), -1)).reshape(weights.shape)
        total += weights if run.step > plan.steps // 2 else 0
    return float(((others @ total.T).argmax(axis=1) == truth).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    errors()
    images, labels = load_digits(return_X_y=True)
    images = np.column_stack([images / 16, np.ones(len(images))])
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(images))
    train, other = order[360:], order[:360]
    rows = images[train], labels[train], images[other], labels[other]
    steps = EPOCHS * PERIOD
    uses = Uses(steps=steps, dimensions=650, times=EPOCHS, separation=PERIOD)
    kinds = {"independent": None, "tree": Tree(), "16 bands": Banded.best(uses, bands=16),
             "2 buffers": Buffered.best(uses, buffers=2)}  # fmt: skip
    print("\naccuracy on digits: mean of runs, and noise multiplier")
    for epsilon in (2, 8):
        for name, correlation in kinds.items():
            plan = TrainingPlan.calibrate(
                epsilon=epsilon, delta="1e-5", steps=steps, dimensions=650, clip=Clip(norm="0.5"),
                sampler=CyclicPoisson(classes=PERIOD), correlation=correlation,
            )  # fmt: skip
            best = max(np.mean([accuracy(plan, rate, rows) for _ in range(runs)]) for rate in (1, 2, 4, 8))
            print(f"  epsilon {epsilon}  {name:12} {best:.3f}   {float(plan.noise_multiplier):.3f}")


if __name__ == "__main__":
    main()
