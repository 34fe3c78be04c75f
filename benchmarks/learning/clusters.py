"""k-means on blobs: inertia of private centres over that of scikit-learn's, beside diffprivlib where it is installed.

    python benchmarks/learning/clusters.py [--seeds 20]

10,000 rows in 4 dimensions around 5 centres with standard deviation 1, in bounds of -10 and 10; all see the same rows.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans as Plain
from sklearn.datasets import make_blobs

from deniable.learning import KMeans

BOUNDS = [(-10, 10)] * 4


def private(epsilon: str) -> dict[str, object]:
    """Models by name, each for one price; the last one of another library."""
    public = {"n_clusters": 5, "bounds": BOUNDS, "epsilon": epsilon}
    found: dict[str, object] = {
        "from a grid": KMeans(**public),
        "from a grid, delta 1e-6": KMeans(**public, delta="1e-6"),
        "Lloyd of the lectures": KMeans(**public, method="lloyd"),
        "Lloyd, Gaussian, delta 1e-6": KMeans(**public, delta="1e-6", method="lloyd"),
    }
    try:
        from diffprivlib.models import KMeans as Other
    except ImportError:
        return found
    return {**found, "diffprivlib": Other(5, epsilon=float(epsilon), bounds=(np.full(4, -10.0), np.full(4, 10.0)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    tables = []
    for seed in range(asked.seeds):
        drawn, _ = make_blobs(10000, 4, centers=5, cluster_std=1.0, center_box=(-8, 8), random_state=seed)
        rows = np.clip(drawn, -10, 10)
        tables.append((rows, Plain(5, n_init=10, random_state=seed).fit(rows).inertia_))
    print("| epsilon | model | median ratio | mean | quartiles | seconds |\n|---|---|---|---|---|---|")
    for epsilon in ("0.1", "1", "10"):
        for name, model in private(epsilon).items():
            ratios, start = [], time.process_time()
            for rows, best in tables:
                centres = model.fit(rows).cluster_centers_  # type: ignore[attr-defined]
                ratios.append(((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum() / best)
            spent = (time.process_time() - start) / len(tables)
            low, middle, high = np.percentile(ratios, [25, 50, 75])
            print(
                f"| {epsilon} | {name} | {middle:.3f} | {np.mean(ratios):.3f} | {low:.3f} to {high:.3f} | {spent:.3f} |"
            )


if __name__ == "__main__":
    main()
