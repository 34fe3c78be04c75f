"""Trees on Adult and breast cancer, on rows that were not used, beside other libraries where they are installed.

    python benchmarks/learning/tables.py --data DIRECTORY [--runs 3]

DIRECTORY holds `adult.csv` and `adult-domain.json`. Settings are the defaults, chosen on validation rows taken out of
the training rows of Adult; but the fewest leaves of boosted trees, and the depth of the tree, after a look at other
splits of breast cancer too: its numbers are a little optimistic. Bounds of breast cancer are powers of two above the
values of the table, which is not public: a comparison, in which every library gets the same bounds. diffprivlib has a
forest, for pure epsilon, and interpret the DP-EBM.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deniable.learning import DecisionTreeClassifier, GradientBoostingClassifier

DELTA = "1e-5"
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
Make = Callable[[], Any]


def models(
    epsilon: float, bounds: list[Any], categories: dict[int, list[int]], depth: int
) -> dict[str, Callable[[], Any]]:
    """What makes each model; what has to be imported may be absent."""
    public: dict[str, Any] = {"bounds": bounds, "categories": categories, "classes": [0, 1], "epsilon": str(epsilon)}
    tops = [len(categories[place]) - 1 if pair is None else pair[1] for place, pair in enumerate(bounds)]

    def forest() -> Any:
        from diffprivlib.models import RandomForestClassifier

        limits = (np.zeros(len(tops)), np.array(tops, dtype=float))
        return RandomForestClassifier(epsilon=epsilon, bounds=limits, classes=[0, 1])

    def ebm() -> Any:
        from interpret.privacy import DPExplainableBoostingClassifier

        kinds = ["nominal" if pair is None else "continuous" for pair in bounds]
        limits = {place: (0, top) for place, top in enumerate(tops)}
        return DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=float(DELTA), n_jobs=1, feature_types=kinds, privacy_bounds=limits
        )

    return {
        f"tree of depth {depth}, pure epsilon": lambda: DecisionTreeClassifier(**public, depth=depth),
        "boosted trees": lambda: GradientBoostingClassifier(**public, delta=DELTA),
        "diffprivlib forest, pure epsilon": forest,
        "interpret DP-EBM": ebm,
    }


def area(chances: np.ndarray, labels: np.ndarray) -> float:
    """The area under the curve of true against false positives; ties count half."""
    values, places = np.unique(chances, return_inverse=True)
    ones = np.bincount(places, weights=labels, minlength=len(values))
    zeros = np.bincount(places, weights=1 - labels, minlength=len(values))
    return float((ones * (np.cumsum(zeros) - zeros / 2)).sum() / (ones.sum() * zeros.sum()))


def adult(folder: Path) -> tuple[np.ndarray, np.ndarray, list[Any], dict[int, list[int]]]:
    table = np.loadtxt(folder / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    sizes = list(json.loads((folder / "adult-domain.json").read_text()).items())[:-1]
    bounds = [(0, size - 1) if name in NUMBERS else None for name, size in sizes]
    lists = {place: list(range(size)) for place, (name, size) in enumerate(sizes) if name not in NUMBERS}
    return table[:, :-1], table[:, -1], bounds, lists


def cancer() -> tuple[np.ndarray, np.ndarray, list[Any], dict[int, list[int]]]:
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    return rows, labels, [(0, float(2 ** np.ceil(np.log2(column.max())))) for column in rows.T], {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    print("| table | epsilon | model | accuracy | AUC | seconds |\n|---|---|---|---|---|---|")
    for name, (rows, labels, bounds, lists), depth, share, runs in (
        ("Adult", adult(asked.data), 4, 5, asked.runs),
        ("breast cancer", cancer(), 2, 4, 7 * asked.runs),
    ):
        for epsilon in (1.0, 3.0):
            for title, make in models(epsilon, bounds, lists, depth).items():
                accuracy, areas, start = [], [], time.process_time()
                for run in range(runs):
                    order = np.random.default_rng(0 if name == "Adult" else run).permutation(len(rows))
                    test, train = np.split(order, [len(rows) // share])
                    try:
                        model = make()
                    except ImportError:
                        break
                    chances = model.fit(rows[train], labels[train]).predict_proba(rows[test])[:, 1]
                    accuracy.append(((chances > 0.5) == labels[test]).mean())
                    areas.append(area(chances, labels[test]))
                spent = (time.process_time() - start) / runs
                told = (
                    f"{np.mean(accuracy):.4f} | {np.mean(areas):.4f} | {spent:.2f}" if accuracy else "not installed | |"
                )
                print(f"| {name} | {epsilon:g} | {title} | {told} |", flush=True)


if __name__ == "__main__":
    main()
