"""Four private minimisers of one risk: mean logistic loss at each epsilon, beside the least without privacy.

    python benchmarks/learning/minimisers.py [--plot FILE]

One table is made up, 2,000 rows in 2 columns, which the exponential mechanism can do; the other is breast cancer, with
30 features and a constant. Nothing is tuned: strengths, steps and candidates are the defaults, which follow from public
numbers. Bounds of the features are those of the table.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer

from deniable.learning import compare_minimisers
from deniable.learning.erm.minimiser import METHODS, RiskComparison
from deniable.learning.losses import Logistic
from deniable.learning.sets import L2Ball

EPSILONS = ["1/4", 1, 4]


def made_up() -> RiskComparison:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    labels = np.where(rows @ [6, -3] + rng.logistic(size=2000) > 0, 1, -1)
    return compared(rows, labels, METHODS, radius=10)


def cancer() -> RiskComparison:
    table = load_breast_cancer()
    rows = (table.data - table.data.min(axis=0)) / np.ptp(table.data, axis=0) * 2 - 1
    rows = np.column_stack([rows, np.ones(len(rows))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return compared(rows, np.where(table.target == 1, 1, -1), METHODS[1:], radius=20)


def compared(rows: np.ndarray, labels: np.ndarray, methods: tuple[str, ...], *, radius: int) -> RiskComparison:
    return compare_minimisers(
        rows,
        labels,
        epsilons=EPSILONS,
        methods=methods,
        runs=10,
        loss=Logistic(),
        feasible=L2Ball(radius=radius, columns=rows.shape[1]),
        expected_rows=len(rows),
        delta="1e-5",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot")
    file = parser.parse_args().plot
    for name, found in (("made up", made_up()), ("breast cancer", cancer())):
        print(f"\n{name}: least {found.floor:.3f}\n\n| method | " + " | ".join(map(str, EPSILONS)) + " |")
        print("|---" * (len(EPSILONS) + 1) + "|")
        for method, values in found.risks.items():
            print(f"| {method} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        if file and name == "made up":
            found.plot().figure.savefig(file)


if __name__ == "__main__":
    main()
