"""Selection of columns by a holdout, plain and reusable: the experiment of Dwork and others (Science 2015), figure 1.

    python benchmarks/adaptive/selection.py [--rows 10000] [--columns 10000] [--plot FILE.svg]

Rows of standard normal columns, labels of +-1. An analyst keeps the columns whose correlation with the label exceeds
1 / sqrt(rows) with the same sign in training set and holdout, takes those of the largest training correlation, and lets
their signs vote. With signal, 20 columns are shifted by 6 / sqrt(rows) times the label.
"""

import argparse
import math
import time

import numpy as np

from deniable.adaptive import ReusableHoldout
from deniable.privacy import Budget

BOUND = 4.0  # values times labels are clamped to this before they become shares
COUNTS = (10, 20, 30, 45, 70, 100, 150, 200, 250, 300, 350, 400, 450, 500)


def sample(random: np.random.Generator, rows: int, columns: int, signal: float) -> tuple[np.ndarray, np.ndarray]:
    labels = np.where(random.random(rows) < 0.5, 1, -1).astype(np.float32)
    data = random.standard_normal((rows, columns), dtype=np.float32)
    data[:, :20] += signal * labels[:, None]
    return data, labels


def scores(data: np.ndarray, labels: np.ndarray, columns: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return np.where(data[:, columns] @ signs > 0, 1, -1) == labels


def run(rows: int, columns: int, signal: float, corrections: int, seed: int) -> dict[str, list[float]]:
    random, edge = np.random.default_rng(seed), 1 / math.sqrt(rows)
    train, held, fresh = (sample(random, rows, columns, signal) for _ in range(3))
    correlations = [(data.T @ labels) / rows for data, labels in (train, held)]
    begun = time.time()
    columns_holdout = ReusableHoldout(
        rows=rows,
        questions=columns,
        corrections=corrections,
        threshold=4 * edge / (2 * BOUND),
        budget=Budget(rho=corrections),
    )
    told = np.empty(columns)
    for j in range(columns):
        values = np.clip(held[0][:, j] * held[1], -BOUND, BOUND) / (2 * BOUND) + 0.5
        answer = columns_holdout.ask(0.5 + correlations[0][j] / (2 * BOUND), values)
        told[j] = (answer.value - 0.5) * 2 * BOUND if answer.from_holdout else correlations[0][j]
    scores_holdout = ReusableHoldout(
        rows=rows, questions=len(COUNTS), corrections=len(COUNTS), threshold="0.04", budget=Budget(rho=1)
    )
    found: dict[str, list[float]] = {
        name: [] for name in ("train", "plain holdout", "plain fresh", "reusable", "fresh")
    }
    for name, known in (("plain", correlations[1]), ("reusable", told)):
        alike = (np.abs(correlations[0]) > edge) & (known * np.sign(correlations[0]) > edge)
        order = np.flatnonzero(alike)[np.argsort(-np.abs(correlations[0][alike]))]
        for count in COUNTS:
            chosen = order[:count]
            signs = np.sign(correlations[0][chosen]).astype(np.float32)
            right = [scores(*part, chosen, signs) for part in (train, held, fresh)]
            if name == "plain":
                found["plain holdout"].append(right[1].mean())
                found["plain fresh"].append(right[2].mean())
            else:
                found["train"].append(right[0].mean())
                found["reusable"].append(scores_holdout.ask(right[0].mean(), right[1]).value)
                found["fresh"].append(right[2].mean())
    used = corrections - columns_holdout.corrections_left
    print(
        f"signal {signal * math.sqrt(rows):.0f} / sqrt(rows): {used} of {corrections} corrections of columns, "
        f"{len(COUNTS) - scores_holdout.corrections_left} of scores; proved error of a corrected score "
        f"{scores_holdout.corrected_error:.3f}; {columns + len(COUNTS)} questions in {time.time() - begun:.0f} s"
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--corrections", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot")
    asked = parser.parse_args()
    curves = {}
    for name, signal in (("no signal", 0.0), ("signal", 6 / math.sqrt(asked.rows))):
        curves[name] = found = run(asked.rows, asked.columns, signal, asked.corrections, asked.seed)
        print(f"{'columns':>8}" + "".join(f"{key:>15}" for key in found))
        for place, count in enumerate(COUNTS):
            print(f"{count:>8}" + "".join(f"{values[place]:>15.3f}" for values in found.values()))
    if asked.plot:
        draw(curves, asked.plot)


def draw(curves: dict[str, dict[str, list[float]]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "selection"
    import matplotlib.pyplot as plt

    styles = {
        "train": ("#9aa5b1", "-", "training score"),
        "plain holdout": ("#b04a3a", "-", "plain holdout"),
        "plain fresh": ("#b04a3a", ":", "plain holdout: fresh data"),
        "reusable": ("#2f6f5e", "-", "reusable holdout"),
        "fresh": ("#2f6f5e", ":", "reusable holdout: fresh data"),
    }
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for panel, (title, found) in zip(panels, curves.items(), strict=True):
        for key, values in found.items():
            colour, line, label = styles[key]
            panel.plot(COUNTS, values, line, color=colour, label=label)
        panel.set(title=title, xlabel="selected columns")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of right answers")
    panels[1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
