"""Errors of statistics at equal epsilon and equal relation, ours beside OpenDP, diffprivlib, PyDP and SmartNoise.

    python benchmarks/statistics/accuracy.py --data DIRECTORY --peer opendp=PYTHON --peer pydp=PYTHON --parts FOLDER
    python benchmarks/statistics/accuracy_table.py FOLDER benchmarks/results/statistics-accuracy.md

DIRECTORY holds `adult.csv`, `PUMS_pid.csv` and `histograms.npz`. Each PYTHON has one peer installed, and numpy. The
errors of each data set go to a file of FOLDER when it is done; data sets that have one are not measured again.

Every cell gets at least 200 releases. Where ours then seem to be worse than a peer's, both are measured again with many
more, and those releases alone count: what made the cell look bad by chance does not stay.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from scores import CHOSEN, OF_CODES, POINTS, SHARES, dense, measure, truth

import deniable as dn

EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6  # of key_counts
KEYS = ("histogram", "key_counts", "top_k", "mode")
CORE = ("count", "sum", "mean", "variance", "standard_deviation", "median", "quantile_90", *KEYS)
ENDS = ("minimum", "maximum", "interquartile_range")
MANY = ("deciles", "cumulative_distribution")
STEPPED = ("median", "quantile_90", "minimum", "maximum", "interquartile_range")  # measured with step= too
FIRST = {"seconds": 0.1, "least": 200, "most": 4000, "patience": 12.0}
AGAIN = {"seconds": 1.0, "least": 200, "most": 40000, "patience": 60.0}
UNHURRIED = {"patience": np.inf}
UNSURE = 1.5  # standard errors of the logarithm of the ratio above which a cell is measured again

Task = dict[str, Any]
Measured = dict[str, Any]


@dataclass(frozen=True)
class Data:
    name: str
    values: np.ndarray
    lower: float
    upper: float
    statistics: tuple[str, ...]
    cells: int = 20

    @cached_property
    def codes(self) -> np.ndarray:
        """The place of every row among equal cells: all that histograms and counts of keys look at."""
        share = (self.values - self.lower) / (self.upper - self.lower)
        return np.minimum(np.floor(share * self.cells), self.cells - 1).astype(np.int64)

    @property
    def stem(self) -> str:
        return f"{self.name} {len(self.values)}".replace(" ", "-")


def datasets(directory: Path) -> Iterator[Data]:
    """Real columns of 10^2 to 10^6 rows, with bounds that their metadata state; the most telling ones first."""
    pick = np.random.default_rng(1)
    pums = np.genfromtxt(directory / "PUMS_pid.csv", delimiter=",", names=True)
    titles = (directory / "adult.csv").open(encoding="utf-8").readline().strip().split(",")
    adult = np.loadtxt(directory / "adult.csv", delimiter=",", skiprows=1)
    age, hours = (adult[:, titles.index(title)] for title in ("age", "hours-per-week"))
    histograms = np.load(directory / "histograms.npz")

    def drawn(name: str, size: int | None, *statistics: str) -> Data:
        counts = histograms[name]
        counts = counts if size is None else pick.multinomial(size, counts / counts.sum())
        return Data(name, pick.permutation(np.repeat(np.arange(4096.0), counts)), 0.0, 4096.0, statistics, 64)

    yield Data("PUMS age", pums["age"], 0.0, 100.0, (*CORE, *ENDS, *MANY))
    yield drawn("INCOME", 10_000, *CORE, *ENDS, *MANY)
    yield drawn("INCOME", 100, *CORE, *ENDS)
    yield drawn("INCOME", 1_000_000, *CORE)
    yield Data("Adult age", age, 0.0, 84.0, CORE)
    yield Data("PUMS income", pums["income"], 0.0, 500000.0, (*CORE, *ENDS))
    yield drawn("INCOME", 100_000, *CORE)
    yield Data("PUMS age", pums["age"][:100], 0.0, 100.0, CORE)
    yield drawn("INCOME", 1_000, *CORE)
    for name in ("MEDCOST", "ADULT", "NETTRACE", "SEARCHLOGS", "HEPTH"):
        yield drawn(name, None, "median", *KEYS)
    yield Data("Adult hours", hours, 0.0, 98.0, CORE)
    yield Data("Adult age", pick.choice(age, 10_000, replace=False), 0.0, 84.0, CORE)
    yield Data("PUMS income", pums["income"][:100], 0.0, 500000.0, CORE)


def tasks_of(data: Data, folder: Path) -> Iterator[Task]:
    """Every question about the data, with the rows in a file for the peers."""
    paths = {False: folder / "values.npy", True: folder / "codes.npy"}
    np.save(paths[False], data.values)
    np.save(paths[True], data.codes)
    for statistic in data.statistics:
        for relation in ("add/remove", "replace"):
            for epsilon in EPSILONS:
                if (statistic, relation) != ("count", "replace"):  # public
                    yield {
                        "statistic": statistic,
                        "relation": relation,
                        "epsilon": epsilon,
                        "delta": DELTA,
                        "lower": data.lower,
                        "upper": data.upper,
                        "cells": data.cells,
                        "path": str(paths[statistic in OF_CODES]),
                    }


def variants(statistic: str) -> Iterator[dict[str, bool]]:
    """What ours are told: nothing; the points of OpenDP; that bounds are tight, which all peers assume."""
    yield {"step": False, "tight": False}
    if statistic in STEPPED:
        yield {"step": True, "tight": False}
    if statistic in ("minimum", "maximum"):
        yield {"step": False, "tight": True}


def ours(task: Task, *, step: bool, tight: bool) -> Callable[[], object]:
    """Releases of deniable."""
    s, name = dn.statistics, task["statistic"]
    relation = dn.AddRemove if task["relation"] == "add/remove" else dn.Replace
    options: dict[str, Any] = {"epsilon": task["epsilon"], "relation": relation}
    bounds = {"bounds": (task["lower"], task["upper"])}
    order = bounds | ({"step": (task["upper"] - task["lower"]) / (POINTS - 1)} if step else {})
    keys = list(range(task["cells"]))
    plans: dict[str, tuple[Callable[[], Any], str]] = {
        "count": (lambda: s.Count(**options), "count"),
        "sum": (lambda: s.Sum(**bounds, **options), "sum"),
        "mean": (lambda: s.Mean(**bounds, **options), "mean"),
        "variance": (lambda: s.Variance(**bounds, **options), "variance"),
        "standard_deviation": (lambda: s.StandardDeviation(**bounds, **options), "standard_deviation"),
        "median": (lambda: s.Median(**order, **options), "median"),
        "quantile_90": (lambda: s.Quantile(share=0.9, **order, **options), "quantile"),
        "minimum": (lambda: s.Minimum(**order, **options, tight=tight), "minimum"),
        "maximum": (lambda: s.Maximum(**order, **options, tight=tight), "maximum"),
        "interquartile_range": (lambda: s.InterquartileRange(**order, **options), "interquartile_range"),
        "deciles": (lambda: s.Quantiles(shares=SHARES["deciles"], **order, **options), "value"),
        "cumulative_distribution": (lambda: s.CumulativeDistribution(at=keys[:-1], **options), "share"),
        "histogram": (lambda: s.Histogram(keys=keys, **options), "count"),
        "key_counts": (lambda: s.KeyCounts(delta=task["delta"], **options), "count"),
        "top_k": (lambda: s.TopK(k=CHOSEN["top_k"], keys=keys, **options), "key"),
        "mode": (lambda: s.Mode(keys=keys, **options), "mode"),
    }
    make, column = plans[name]
    plan, rows = make(), np.load(task["path"])

    def released() -> object:
        release = plan(rows)
        if name == "key_counts":
            return dense(release["key"], release["count"], task["cells"])
        if name == "cumulative_distribution":  # all rows lie in the cells, as OpenDP is told too
            return np.append(release["share"], 1.0)
        return np.squeeze(release[column])

    return released


class Peer:
    """A process that answers tasks, one line each."""

    def __init__(self, name: str, python: str) -> None:
        command = [python, str(Path(__file__).with_name("peers.py")), name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __call__(self, task: Task, effort: Task) -> Measured:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task | {"effort": effort}) + "\n")
        self.process.stdin.flush()
        answer: Measured = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def excess(mine: Measured, theirs: Measured) -> float:
    """How far our squared error is above theirs, in standard errors of the logarithm of the ratio."""
    if mine["square"] == 0 or "none" in theirs:
        return -np.inf
    if theirs["square"] == 0:
        return np.inf
    spread = np.hypot(mine["spread"] / mine["square"], theirs["spread"] / theirs["square"])
    return float(log(mine["square"] / theirs["square"]) / spread)


def cell(task: Task, peers: dict[str, Peer]) -> Iterator[Measured]:
    """The errors of everybody, for the question and, where it has one, for the variant on declared points."""
    exact = truth(task, np.load(task["path"]))
    found = {name: peer(task, FIRST) for name, peer in peers.items()}
    for told in variants(task["statistic"]):
        # OpenDP alone chooses among declared points, and is asked the same question in both variants
        shown = {name: part for name, part in found.items() if not told["step"] or name == "opendp"}
        mine = measure(task, ours(task, **told), exact, **FIRST | UNHURRIED)
        doubtful = [name for name, part in shown.items() if excess(mine, part) > UNSURE]
        if doubtful:
            mine = measure(task, ours(task, **told), exact, **AGAIN | UNHURRIED)
            shown |= {name: peers[name](task, AGAIN) for name in doubtful}
        kept = {key: task[key] for key in ("statistic", "relation", "epsilon")}
        yield {**kept, **told, "deniable": mine, **shown, "again": doubtful}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--parts", type=Path, required=True, help="a folder: one file a data set")
    parser.add_argument("--only", default="", help="the data sets whose names hold this text")
    arguments = parser.parse_args()
    arguments.parts.mkdir(parents=True, exist_ok=True)
    for place, data in enumerate(datasets(arguments.data)):
        part = arguments.parts / f"{place:02}-{data.stem}.json"
        if part.exists() or arguments.only not in data.stem:
            continue
        peers = {name: Peer(name, python) for name, python in (entry.split("=", 1) for entry in arguments.peer)}
        cells = []
        with tempfile.TemporaryDirectory() as folder:
            for task in tasks_of(data, Path(folder)):
                for measured in cell(task, peers):
                    cells.append({"data": data.name, "rows": len(data.values), **measured})
                    print(data.stem, summary(cells[-1]), file=sys.stderr, flush=True)
        for peer in peers.values():
            peer.close()
        part.write_text(json.dumps(cells, indent=0) + "\n", encoding="utf-8")


def summary(measured: Measured) -> str:
    """One line for the log."""
    names = ("deniable", "opendp", "diffprivlib", "pydp", "smartnoise")
    parts = [(name, measured[name]) for name in names if name in measured]
    errors = [f"{name} {part['square'] ** 0.5:.4g} ({part['runs']})" for name, part in parts if "square" in part]
    failed = [f"{name} {part['none']} {part.get('why', '')}" for name, part in parts if part.get("none")]
    told = " step" * measured["step"] + " tight" * measured["tight"]
    head = f"{measured['statistic']}{told} {measured['relation']} {measured['epsilon']:g}:"
    return " ".join([head, *errors, *failed, *(f"again: {name}" for name in measured["again"])])


if __name__ == "__main__":
    main()
