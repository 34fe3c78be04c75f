"""Accuracy of logistic regression on Adult at several epsilons, on rows that were not used.

    python benchmarks/learning/adult.py --data DIRECTORY

DIRECTORY holds `adult.csv` and `adult-domain.json`. Features are public: one for each code, numbers in bins, with two
flags for capital. The bins were chosen on validation rows, which this script takes out of the training rows with
--validate.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from deniable.learning import LogisticRegression

NUMBERS = {"age": 12, "hours-per-week": 12, "education-num": 16}
CAPITAL = ("capital-gain", "capital-loss")
RUNS = 3


def features(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows between 0 and 1, and labels."""
    table = np.loadtxt(folder / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    parts = []
    for (name, size), column in zip(
        json.loads((folder / "adult-domain.json").read_text()).items(), table.T, strict=True
    ):
        if name in CAPITAL:
            share = column / (size - 1)
            parts.append(np.column_stack([share, column > 0, share > 0.5]))
        elif name not in ("fnlwgt", "income>50K"):
            bins = NUMBERS.get(name, size)
            codes = column if bins >= size else np.minimum(column * bins // (size - 1), bins - 1)
            parts.append(np.eye(bins)[codes])
    return np.column_stack(parts), table[:, -1]


def split(rows: np.ndarray, labels: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Rows and labels to train on, and a fifth of them to test on."""
    order = np.random.default_rng(seed).permutation(len(rows))
    test, train = np.split(order, [len(rows) // 5])
    return rows[train], labels[train], rows[test], labels[test]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--validate", action="store_true")
    asked = parser.parse_args()
    rows, labels, test_rows, test_labels = split(*features(asked.data), 0)
    if asked.validate:
        rows, labels, test_rows, test_labels = split(rows, labels, 1)
    print("| epsilon | accuracy |\n|---|---|")
    for epsilon in ("0.5", "1", "3"):
        model = LogisticRegression(
            bounds=(0, 1), classes=[0, 1], expected_rows=len(rows), epsilon=epsilon, delta="1e-5"
        )
        found = [model.fit(rows, labels).score(test_rows, test_labels) for _ in range(RUNS)]
        print(f"| {epsilon} | {np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f}) |", flush=True)


if __name__ == "__main__":
    main()
