"""Errors of statistics at equal epsilon and equal relation, ours beside OpenDP, diffprivlib, PyDP and SmartNoise.

    python benchmarks/statistics/accuracy.py --data DIRECTORY --peer opendp=PYTHON --peer pydp=PYTHON --output FILE

DIRECTORY holds `adult.csv`, `PUMS_pid.csv` and `histograms.npz`. Each PYTHON has one peer installed, and numpy.
The error is the root mean squared distance from the exact statistic of the same rows, over `--runs` releases.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import deniable as dn

EPSILONS = (0.1, 1.0, 10.0)
STATISTICS = ("count", "sum", "mean", "variance", "standard_deviation", "median", "quantile_90", "histogram")
CELLS = 20


@dataclass(frozen=True)
class Data:
    name: str
    values: np.ndarray
    lower: float
    upper: float


@dataclass(frozen=True)
class Task:
    data: Data
    statistic: str
    relation: str
    epsilon: float
    runs: int

    def to_json(self, path: Path) -> str:
        facts = {"statistic": self.statistic, "relation": self.relation, "path": str(path), "epsilon": self.epsilon}
        return json.dumps(
            {**facts, "lower": self.data.lower, "upper": self.data.upper, "runs": self.runs, "cells": CELLS}
        )

    @property
    def rows(self) -> np.ndarray:
        return cells_of(self.data) if self.statistic == "histogram" else self.data.values


def datasets(directory: Path) -> Iterator[Data]:
    """Real columns: small, middle and large, with bounds that their metadata state."""
    pums = np.genfromtxt(directory / "PUMS_pid.csv", delimiter=",", names=True)
    yield Data("PUMS age, 100 rows", pums["age"][:100], 0.0, 100.0)
    yield Data("PUMS income", pums["income"], 0.0, 500000.0)
    adult = np.genfromtxt(directory / "adult.csv", delimiter=",", names=True, deletechars="")
    yield Data("Adult age", adult["age"], 0.0, 84.0)
    yield Data("Adult hours", adult[adult.dtype.names[list(adult.dtype.names).index("hours-per-week")]], 0.0, 98.0)
    income = np.load(directory / "histograms.npz")["INCOME"]
    drawn = np.random.default_rng(1).choice(len(income), size=1_000_000, p=income / income.sum())
    yield Data("INCOME, 10^6 rows", drawn.astype(float), 0.0, 4095.0)


def cells_of(data: Data) -> np.ndarray:
    """The place of every row among CELLS equal bins."""
    share = (data.values - data.lower) / (data.upper - data.lower)
    return np.minimum(np.floor(share * CELLS), CELLS - 1)


def exact(task: Task) -> np.ndarray:
    values = task.data.values
    return np.asarray(
        {
            "count": lambda: len(values),
            "sum": values.sum,
            "mean": values.mean,
            "variance": values.var,
            "standard_deviation": values.std,
            "median": lambda: np.quantile(values, 0.5),
            "quantile_90": lambda: np.quantile(values, 0.9),
            "histogram": lambda: np.bincount(cells_of(task.data).astype(int), minlength=CELLS),
        }[task.statistic]()
    )


def ours(task: Task) -> list[object] | None:
    """Releases of deniable; None where the relation makes the answer public."""
    relation = dn.AddRemove if task.relation == "add/remove" else dn.Replace
    options = {"epsilon": task.epsilon, "relation": relation}
    bounds = {"bounds": (task.data.lower, task.data.upper)}
    s = dn.statistics
    if task.statistic == "count":
        if relation is dn.Replace:
            return None
        plan, column = s.Count(**options), "count"
    elif task.statistic in ("median", "quantile_90"):
        share = 0.5 if task.statistic == "median" else 0.9
        plan, column = s.Quantile(share=share, interval=None, **bounds, **options), None
    elif task.statistic == "histogram":
        plan, column = s.Histogram(keys=list(range(CELLS)), **options), None
    else:
        names = {"sum": s.Sum, "mean": s.Mean, "variance": s.Variance, "standard_deviation": s.StandardDeviation}
        plan, column = names[task.statistic](**bounds, **options), None
    rows = task.rows.astype(np.int64) if task.statistic == "histogram" else task.rows
    releases = (plan(rows) for _ in range(task.runs))
    return [np.asarray(release[column or release.measures[0].name]) for release in releases]


def error(releases: list[object], truth: np.ndarray) -> float:
    """Root mean squared error; infinite or undefined answers count as they are."""
    return float(np.sqrt(np.mean((np.asarray(releases, dtype=np.float64).reshape(len(releases), -1) - truth) ** 2)))


def peer_answers(tasks: list[Task], peers: dict[str, str], folder: Path, limit: float) -> dict[str, list[str | float]]:
    """The errors of each peer, or in words why there is none; a peer that is too slow is cut off."""
    lines = []
    for place, task in enumerate(tasks):
        path = folder / f"{place}.npy"
        np.save(path, task.rows)
        lines.append(task.to_json(path))
    found: dict[str, list[str | float]] = {}
    script = Path(__file__).with_name("peers.py")
    for name, python in peers.items():
        found[name] = []
        try:
            done = subprocess.run(
                [python, str(script), name],
                input="\n".join(lines),
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as late:
            done = late.stdout.decode() if isinstance(late.stdout, bytes) else (late.stdout or "")
        answers = [json.loads(line) for line in done.splitlines() if line.startswith("{")]
        for task, answer in zip(tasks, answers, strict=False):
            if "releases" in answer:
                found[name].append(error(answer["releases"], exact(task)))
            else:
                found[name].append("" if "not_offered" in answer else answer["error"])
        found[name] += ["too slow"] * (len(tasks) - len(answers))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one peer on one data set")
    parser.add_argument("--only", default=",".join(STATISTICS), help="statistics, separated by commas")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--json", type=Path, help="all errors, for the plot of the documentation")
    arguments = parser.parse_args()
    peers = dict(entry.split("=", 1) for entry in arguments.peer)
    chosen = arguments.only.split(",")
    rows, raw = [], []
    for data in datasets(arguments.data):
        runs = arguments.runs if len(data.values) < 10**5 else max(arguments.runs // 10, 1)
        tasks = [
            Task(data, statistic, relation, epsilon, runs)
            for statistic in chosen
            for relation in ("add/remove", "replace")
            for epsilon in EPSILONS
        ]
        with tempfile.TemporaryDirectory() as folder:
            found = peer_answers(tasks, peers, Path(folder), arguments.limit)
        for place, task in enumerate(tasks):
            releases = ours(task)
            if releases is None:
                continue
            mine = error(releases, exact(task))
            theirs = {name: found[name][place] for name in peers}
            best = min((value for value in theirs.values() if isinstance(value, float)), default=None)
            ratio = None if best is None else mine / best if best else float("inf") if mine else 1.0
            shown = [f"{value:.4g}" if isinstance(value, float) else value for value in theirs.values()]
            cells = [data.name, task.statistic, task.relation, f"{task.epsilon:g}", f"{mine:.4g}", *shown]
            rows.append([*cells, "" if ratio is None else f"{ratio:.2f}"])
            raw.append(
                {**dict(zip(("data", "statistic", "relation"), cells[:3], strict=True)), "epsilon": task.epsilon}
            )
            raw[-1] |= {"rows": len(data.values), "deniable": mine, **theirs, "ratio": ratio}
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["data", "statistic", "relation", "epsilon", "deniable", *peers, "ours / best"]
    text = "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)])
    spread = 100 / np.sqrt(arguments.runs)
    title = f"""# Errors of statistics at equal epsilon

Made by `benchmarks/statistics/accuracy.py`. Root mean squared errors over {arguments.runs} releases (a tenth of it
above 10^5 rows), so a ratio of two equal errors varies by about {spread:.0f}% (three times that above 10^5 rows).
SmartNoise, which takes a tenth of a second an answer, has at most 30 releases: 13%.
An empty cell: the library does not offer the statistic under that relation. Quantiles: OpenDP chooses among 1001
evenly spaced points; the others, deniable among them, choose between the bounds without a step.

"""
    if arguments.output:
        arguments.output.write_text(title + text + "\n", encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    print(title + text)


if __name__ == "__main__":
    main()
