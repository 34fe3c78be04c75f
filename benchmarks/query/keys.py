"""How many n-grams does a search find whose list is private, beside the rules of other libraries at an equal price?

python benchmarks/query/keys.py [EPSILON] [DELTA]

The data are ../shared/data/reddit_ngrams.parquet, 98,203 bigrams of 3,486 authors. The rules of others are run by
their published laws on the same bounded pairs: Laplace noise and a threshold (as OpenDP and Tumult for few groups),
the optimal rule for one group at epsilon / groups (PipelineDP), Gaussian noise and a threshold, DP-SIPS in three rounds
(Swanberg, Desfontaines, Haney 2023) and the policy Gaussian (Gopi et al. 2020). Ours is measured through `db.sql`.
"""

import sys
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

import deniable as dn

RUNS = 3
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def bounded(pairs: Pairs, groups: int, rng: np.random.Generator) -> Pairs:
    """At most `groups` keys of each author, drawn evenly."""
    order = np.lexsort((rng.random(len(pairs[0])), pairs[0]))
    author, key = pairs[0][order], pairs[1][order]
    starts = np.flatnonzero(np.diff(author, prepend=-1))
    rank = np.arange(len(author)) - np.repeat(starts, np.diff(starts, append=len(author)))
    return author[rank < groups], key[rank < groups]


def sigma_of(epsilon: float, delta: float) -> float:
    """The analytic Gaussian mechanism."""
    curve = lambda s: norm.cdf(1 / (2 * s) - epsilon * s) - exp(epsilon) * norm.cdf(-1 / (2 * s) - epsilon * s) - delta  # noqa: E731
    return float(brentq(curve, 0.05, 1e4))


def threshold(sigma: float, groups: int, delta: float) -> float:
    m = np.arange(1, groups + 1)
    return float(np.max(1 / np.sqrt(m) + sigma * norm.isf(delta / m)))


def laplace(pairs: Pairs, groups: int, epsilon: float, delta: float, rng: np.random.Generator) -> int:
    counts = np.bincount(bounded(pairs, groups, rng)[1])
    scale = groups / epsilon
    return int(
        ((counts > 0) & (counts + rng.laplace(0, scale, counts.size) > 1 + scale * log(groups / (2 * delta)))).sum()
    )


def optimal(pairs: Pairs, groups: int, epsilon: float, delta: float, rng: np.random.Generator) -> int:
    counts = np.bincount(bounded(pairs, groups, rng)[1])
    e, d, chance = epsilon / groups, delta / groups, [0.0]
    while chance[-1] < 1 and len(chance) <= counts.max():
        chance.append(min(exp(e) * chance[-1] + d, 1 - exp(-e) * (1 - chance[-1] - d), 1))
    return int((rng.random(counts.size) < np.array(chance)[np.minimum(counts, len(chance) - 1)]).sum())


def gaussian(pairs: Pairs, groups: int, epsilon: float, delta: float, rng: np.random.Generator) -> int:
    counts = np.bincount(bounded(pairs, groups, rng)[1])
    sigma = sqrt(groups) * sigma_of(epsilon, delta / 2)
    noisy = counts + rng.normal(0, sigma, counts.size)
    return int(((counts > 0) & (noisy > 1 + sigma * norm.isf(delta / 2 / groups))).sum())


def sips(pairs: Pairs, groups: int, epsilon: float, delta: float, rng: np.random.Generator) -> int:
    sigma, shares, total = sigma_of(epsilon, delta / 2), np.array([1, 3, 9]) / 13, 0
    for share in shares:
        author, key = bounded(pairs, groups, rng)
        weights = np.bincount(key, 1 / np.sqrt(np.bincount(author)[author]))
        noise = sigma / sqrt(share)
        noisy = weights + rng.normal(0, noise, weights.size)
        found = (weights > 0) & (noisy > threshold(noise, groups, delta / 2 * share))
        total += int(found.sum())
        kept = ~np.append(found, np.zeros(1 + pairs[1].max() - found.size, bool))[pairs[1]]
        pairs = pairs[0][kept], pairs[1][kept]
    return total


def policy(pairs: Pairs, groups: int, epsilon: float, delta: float, rng: np.random.Generator) -> int:
    author, key = bounded(pairs, groups, rng)
    sigma = sigma_of(epsilon, delta / 2)
    least = threshold(sigma, groups, delta / 2)
    weights, starts = np.zeros(key.max() + 1), np.flatnonzero(np.diff(author, prepend=-1))
    parts = np.split(key, starts[1:])
    for place in rng.permutation(len(parts)).tolist():
        gap = np.maximum(least + 4 * sigma - weights[parts[place]], 0)
        weights[parts[place]] += gap / max(1.0, float(np.sqrt((gap**2).sum())))
    return int(((weights > 0) & (weights + rng.normal(0, sigma, weights.size) > least)).sum())


def main() -> None:
    epsilon, delta = (float(each) for each in (sys.argv[1:] + ["3", "1e-5"][len(sys.argv) - 1 :]))
    table = pq.read_table(Path(__file__).resolve().parents[3] / "shared" / "data" / "reddit_ngrams.parquet")
    key = np.unique(np.array(table["ngram"].to_pylist()), return_inverse=True)[1].astype(np.int64)
    both = np.unique(np.stack([table["author_id"].to_numpy().astype(np.int64), key], axis=1), axis=0)
    pairs, rng = (both[:, 0], both[:, 1]), np.random.default_rng(1)
    rules = (laplace, optimal, gaussian, sips, policy)
    sys.stdout.write(
        f"keys found at epsilon={epsilon:g}, delta={delta:g}\ngroups  ours  {'  '.join(r.__name__ for r in rules)}\n"
    )
    for groups in (1, 3, 10, 30, 100, 300):
        db = dn.connect(table, name="t", unit="author_id", groups=groups, budget=dn.Budget(epsilon=999, delta="0.5"))
        ask = "SELECT ngram FROM t GROUP BY ngram"
        ours = mean(len(db.sql(ask, epsilon=epsilon, delta=delta, fresh=True)) for _ in range(RUNS))
        others = [mean(rule(pairs, groups, epsilon, delta, rng) for _ in range(RUNS)) for rule in rules]
        sys.stdout.write("  ".join(f"{value:6.1f}" for value in (groups, ours, *others)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
