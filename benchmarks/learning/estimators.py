"""Naive Bayes, scaler, components and mixtures beside scikit-learn without privacy, and diffprivlib where installed.

    python benchmarks/learning/estimators.py [--runs 10]

Every run draws a split, a quarter of the rows to test on, and noise. Bounds of digits are public (0 to 16); those of
the others are powers of two about the values, which is no public knowledge: every library gets the same. diffprivlib
promises pure epsilon and takes the number of rows as public. Means of all runs, and their standard errors.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets, decomposition, mixture, naive_bayes, neighbors

from deniable.learning import PCA, CategoricalNB, GaussianMixture, GaussianNB, NearestCentroid, StandardScaler

try:
    from diffprivlib import models as peer
except ImportError:
    peer = None

Table = tuple[np.ndarray, np.ndarray, list[tuple[float, float]]]
PRICES: dict[str, dict[str, Any]] = {"pure": {}, "delta 1e-5": {"delta": "1e-5"}}


def table(name: str) -> Table:
    rows, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        return rows, labels, [(0, 16)] * rows.shape[1]
    widths = 2.0 ** np.ceil(np.log2(np.abs(rows).max(axis=0)))
    return (
        rows,
        labels,
        [(0.0 if least >= 0 else -width, float(width)) for least, width in zip(rows.min(axis=0), widths, strict=True)],
    )


def splits(given: Table, runs: int) -> Iterator[tuple[np.ndarray, ...]]:
    rows, labels, _ = given
    for seed in range(runs):
        test, train = np.split(np.random.default_rng(seed).permutation(len(rows)), [len(rows) // 4])
        yield rows[train], labels[train], rows[test], labels[test]


def mean(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values) / np.sqrt(len(values)):.3f}"


def line(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def header(*cells: str) -> None:
    line(*cells)
    line(*["---"] * len(cells))


def scores(given: Table, runs: int, make: Callable[[], Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mean([make().fit(X, y).score(Z, z) for X, y, Z, z in splits(given, runs)])


def classifiers(runs: int) -> None:
    print("\nAccuracy of naive Bayes and of the nearest centroid\n")
    header("table", "model", "epsilon", "pure", "delta 1e-5", "diffprivlib, pure", "without privacy")
    for name in ("digits", "breast_cancer", "wine", "iris"):
        given = table(name)
        public = {"bounds": given[2], "classes": range(int(given[1].max()) + 1)}
        ends = tuple(np.array(given[2], dtype=float).T)
        for kind, plain in ((GaussianNB, naive_bayes.GaussianNB), (NearestCentroid, neighbors.NearestCentroid)):
            for epsilon in (1, 3):
                makers = [partial(kind, **public, epsilon=epsilon, **price) for price in PRICES.values()]
                if peer and kind is GaussianNB:
                    makers.append(partial(peer.GaussianNB, epsilon=epsilon, bounds=ends))
                found = [scores(given, runs, make) for make in makers]
                line(name, kind.__name__, epsilon, *found, *["-"] * (3 - len(found)), scores(given, runs, plain))
    rows, labels, _ = table("digits")
    bits = ((rows > 7).astype(int), labels, [])
    public = {"categories": [[0, 1]] * 64, "classes": range(10)}
    for epsilon in (1, 3):
        makers = [partial(CategoricalNB, **public, epsilon=epsilon, **price) for price in PRICES.values()]
        found = [scores(bits, runs, make) for make in makers]
        line("digits > 7", "CategoricalNB", epsilon, *found, "-", scores(bits, runs, naive_bayes.BernoulliNB))


def scalers(runs: int) -> None:
    print("\nScaler at epsilon 1: root mean squared error of means, and of scales, in standard deviations\n")
    header("table", "pure", "delta 1e-5", "diffprivlib, pure")
    for name in ("digits", "breast_cancer", "wine"):
        rows, _, bounds = table(name)
        some = rows.std(axis=0) > 0.3
        rows, bounds = rows[:, some], [pair for pair, kept in zip(bounds, some, strict=True) if kept]
        makers = [partial(StandardScaler, bounds=bounds, epsilon=1, **price) for price in PRICES.values()]
        if peer:
            makers.append(partial(peer.StandardScaler, epsilon=1, bounds=tuple(np.array(bounds, dtype=float).T)))
        line(name, *[errors(make, rows, runs) for make in makers])


def errors(make: Callable[[], Any], rows: np.ndarray, runs: int) -> str:
    spread, found = rows.std(axis=0), [make().fit(rows) for _ in range(runs)]
    means = [np.sqrt((((model.mean_ - rows.mean(axis=0)) / spread) ** 2).mean()) for model in found]
    return f"{mean(means)}, {mean([np.sqrt(((model.scale_ / spread - 1) ** 2).mean()) for model in found])}"


def components(runs: int) -> None:
    print("\nComponents: variance that they hold, as a share of what the best ones hold\n")
    header("table", "kept", "epsilon", "pure", "delta 1e-5", "diffprivlib, pure", "chance")
    for name, kept in (("digits", 5), ("digits", 10), ("iris", 2)):
        rows, _, bounds = table(name)
        ends = np.array(bounds, dtype=float)
        for epsilon in (1, 3):
            makers = [
                partial(PCA, bounds=bounds, n_components=kept, epsilon=epsilon, **price) for price in PRICES.values()
            ]
            if peer and len(bounds) < 10:  # it takes minutes on digits
                norm = float(np.linalg.norm(ends.max(axis=1)))
                makers.append(partial(peer.PCA, kept, epsilon=epsilon, bounds=tuple(ends.T), data_norm=norm))
            found = [mean([held(make().fit(rows.copy()).components_, rows) for _ in range(runs)]) for make in makers]
            random = [np.random.default_rng(seed).normal(size=(kept, rows.shape[1])) for seed in range(20)]
            line(name, kept, epsilon, *found, *["-"] * (3 - len(found)), mean([held(axes, rows) for axes in random]))


def held(axes: np.ndarray, rows: np.ndarray) -> float:
    basis = np.linalg.qr(axes.T)[0]
    best = decomposition.PCA(len(axes)).fit(rows).explained_variance_.sum()
    return float(np.trace(basis.T @ np.cov(rows.T) @ basis) / best)


def mixtures(runs: int) -> None:
    print("\nMixtures: mean log-likelihood of rows that were not used\n")
    header("table", "law", "epsilon", "pure", "delta 1e-5", "without privacy", "one component without privacy")
    tables = {
        "4 in 2 columns, 4,000 rows": (4, 2),
        "6 in 2 columns, 4,000 rows": (6, 2),
        "3 in 5 columns, 4,000 rows": (3, 5),
    }
    for name, (blocks, columns) in tables.items():
        for law in ("diag", "full"):
            for epsilon in (1, 3):
                found: dict[str, list[float]] = {"pure": [], "delta 1e-5": [], "plain": [], "one": []}
                for seed in range(100, 100 + runs):
                    train, test = generated(seed, blocks, columns)
                    public = {"bounds": [(-10, 10)] * columns, "n_components": blocks, "covariance_type": law}
                    for price, given in PRICES.items():
                        found[price].append(GaussianMixture(**public, epsilon=epsilon, **given).fit(train).score(test))
                    plain = mixture.GaussianMixture(blocks, covariance_type=law, n_init=3, random_state=0)
                    found["plain"].append(plain.fit(train).score(test))
                    found["one"].append(mixture.GaussianMixture(1, covariance_type=law).fit(train).score(test))
                line(name, law, epsilon, *map(mean, found.values()))


def generated(seed: int, blocks: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    centres = random.uniform(-7, 7, (blocks, columns))
    scales, shares = random.uniform(0.4, 1.2, (blocks, columns)), random.dirichlet([4] * blocks)
    chosen = random.choice(blocks, 6000, p=shares)
    rows = centres[chosen] + scales[chosen] * random.normal(size=(6000, columns))
    return rows[:4000], rows[4000:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=["classifiers", "scalers", "components", "mixtures"])
    asked = parser.parse_args()
    for each in (classifiers, scalers, components, mixtures):
        if asked.only in (None, each.__name__):
            each(asked.runs)


if __name__ == "__main__":
    main()
