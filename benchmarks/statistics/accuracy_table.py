"""Write the table of what `accuracy.py` measured, with a verdict on every cell that knows how much the errors vary.

    python benchmarks/statistics/accuracy_table.py FOLDER benchmarks/results/statistics-accuracy.md

Ours are compared with each peer by the ratio of mean squared errors. A ratio counts as above 1 only if it is so beyond
noise: at one-sided level FAMILY / comparisons each, so that a table of equal laws names any cell at all with
probability FAMILY. Errors that occur in a few releases alone are compared by how often they occur (Fisher's test).
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import fisher_exact, norm

PEERS = {"opendp": "OpenDP", "diffprivlib": "diffprivlib", "pydp": "PyDP", "smartnoise": "SmartNoise"}
FAMILY = 0.01
FEW = 20  # effective releases below which a mean of squares says little
NOTES = Path(__file__).with_name("accuracy_notes.md")

Cell = dict[str, Any]


def cells_of(folder: Path) -> list[Cell]:
    """All cells, by data set and number of rows."""
    found: list[Cell] = []
    for part in sorted(folder.glob("*.json")):
        found += json.loads(part.read_text(encoding="utf-8"))
    order = list(dict.fromkeys(entry["data"] for entry in found))
    return sorted(found, key=lambda entry: (order.index(entry["data"]), entry["rows"]))


def measured(entry: Cell) -> dict[str, Cell]:
    """The peers that have errors for this cell."""
    return {name: entry[name] for name in PEERS if "square" in entry.get(name, {})}


def error(part: Cell) -> float:
    """Root mean squared."""
    return float(np.sqrt(part["square"]))


def ratio(entry: Cell) -> float:
    """Our error over that of the best peer."""
    mine, best = error(entry["deniable"]), min(error(part) for part in measured(entry).values())
    return round(mine / best, 6) if best else np.inf if mine else 1.0


def rare(mine: Cell, theirs: Cell) -> bool:
    return min(mine["effective"], theirs["effective"]) < FEW


def chance(mine: Cell, theirs: Cell) -> float:
    """How likely so large a ratio would be if both erred alike (rare errors: as often)."""
    if rare(mine, theirs):
        counts = [[part["wrong"], part["runs"] - part["wrong"]] for part in (mine, theirs)]
        return float(fisher_exact(counts, alternative="greater").pvalue)
    return float(norm.sf(np.log(mine["square"] / theirs["square"]) / spread(mine, theirs)))


def spread(mine: Cell, theirs: Cell) -> float:
    """The standard error of the logarithm of the ratio of squared errors."""
    return float(np.hypot(mine["spread"] / mine["square"], theirs["spread"] / theirs["square"]))


def verdict(entry: Cell, level: float) -> str:
    """below: at or below the best peer; within: above it, as equal laws would be; above: worse than some peer."""
    if ratio(entry) <= 1:
        return "below"
    mine, others = entry["deniable"], measured(entry)
    return "above" if any(worse(mine, part, level) for part in others.values()) else "within"


def worse(mine: Cell, theirs: Cell, level: float) -> bool:
    """Whether our error is above theirs beyond noise; equal up to rounding is not above."""
    return bool(mine["square"] > theirs["square"] * (1 + 1e-6) and chance(mine, theirs) < level)


def name_of(entry: Cell) -> str:
    told = ", with step" if entry["step"] else ", told tight" if entry.get("tight") else ""
    return f"{entry['statistic'].replace('_', ' ')}{told}"


def number(value: float) -> str:
    """Three digits."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    return f"{float(f'{value:.3g}'):,.10g}" if 1e-4 <= abs(value) < 1e7 else f"{value:.2e}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(cells: list[Cell], level: float) -> str:
    """How many cells of each statistic are below, equal within noise, above."""
    rows = []
    for name in [*dict.fromkeys(name_of(entry) for entry in cells), "all"]:
        kept = [entry for entry in cells if name in ("all", name_of(entry))]
        counts = Counter(verdict(entry, level) for entry in kept)
        finite = [ratio(entry) for entry in kept if 0 < ratio(entry) < np.inf]
        middle = number(float(np.median(finite))) if finite else "-"
        rows.append([name, str(len(kept)), str(counts["below"]), str(counts["within"]), str(counts["above"]), middle])
    head = ["statistic", "cells", "at or below the best", "above, within noise", "above, beyond noise", "median ratio"]
    return table(head, rows)


def above(cells: list[Cell], level: float) -> str:
    """The cells that are worse than a peer beyond noise, with the interval of the ratio at the level of the family."""
    width, rows = float(norm.isf(level)), []
    for entry in cells:
        mine = entry["deniable"]
        for peer, theirs in measured(entry).items():
            if not worse(mine, theirs, level):
                continue
            if rare(mine, theirs):
                shown = f"wrong in {mine['wrong']} of {mine['runs']} releases, {theirs['wrong']} of {theirs['runs']}"
            else:
                middle = np.log(mine["square"] / theirs["square"]) / 2
                ends = middle + np.array([-1, 1]) * width * spread(mine, theirs) / 2
                shown = f"{np.exp(middle):.2f} ({np.exp(ends[0]):.2f} to {np.exp(ends[1]):.2f})"
            where = [entry["data"], f"{entry['rows']:,}", name_of(entry), entry["relation"], f"{entry['epsilon']:g}"]
            rows.append([*where, number(error(mine)), f"{PEERS[peer]} {number(error(theirs))}", shown])
    head = ["data", "rows", "statistic", "relation", "epsilon", "ours", "peer", "ratio (interval)"]
    return table(head, rows) if rows else "None."


def everything(cells: list[Cell], level: float) -> str:
    """All errors, a table for each data set; the three epsilons share a line."""
    epsilons = sorted({entry["epsilon"] for entry in cells})
    parts = []
    for data in dict.fromkeys(entry["data"] for entry in cells):
        lines: dict[tuple[str, ...], dict[float, Cell]] = {}
        for entry in cells:
            if entry["data"] == data:
                key = f"{entry['rows']:,}", name_of(entry), entry["relation"]
                lines.setdefault(key, {})[entry["epsilon"]] = entry
        rows = []
        for key, found in lines.items():
            ours = " / ".join(number(error(found[epsilon]["deniable"])) for epsilon in epsilons)
            theirs = [joined([part(found[epsilon], peer) for epsilon in epsilons]) for peer in PEERS]
            rows.append([*key, ours, *theirs, joined([judged(found[epsilon], level) for epsilon in epsilons])])
        head = ["rows", "statistic", "relation", "deniable", *PEERS.values(), "ours / best"]
        parts.append(f"### {data}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def joined(words: list[str]) -> str:
    return " / ".join(words) if any(words) else ""


def part(entry: Cell, peer: str) -> str:
    found = entry.get(peer, {"none": ""})
    return number(error(found)) if "square" in found else str(found["none"])


def judged(entry: Cell, level: float) -> str:
    if not measured(entry):
        return ""
    shown = f"{ratio(entry):.2f}"
    return f"**{shown}**" if verdict(entry, level) == "above" else shown


def failures(cells: list[Cell]) -> str:
    """What the peers said where they failed."""
    said = Counter(
        f"{PEERS[peer]}, {entry['statistic'].replace('_', ' ')}: {entry[peer]['why'].split(' Debugging')[0]}"
        for entry in cells
        for peer in PEERS
        if not (entry["step"] or entry.get("tight")) and "why" in entry.get(peer, {})
    )
    return "\n".join(f"- {words} (cells: {count})" for words, count in said.items()) or "None."


def main() -> None:
    cells = cells_of(Path(sys.argv[1]))
    compared = [entry for entry in cells if measured(entry)]
    comparisons = sum(len(measured(entry)) for entry in compared)
    level = FAMILY / comparisons
    runs = sorted(entry["deniable"]["runs"] for entry in cells)
    text = NOTES.read_text(encoding="utf-8").format(
        cells=f"{len(compared):,}",
        comparisons=f"{comparisons:,}",
        family=FAMILY,
        errors=f"{norm.isf(level):.1f}",
        least=runs[0],
        sets=", ".join(dict.fromkeys(f"{entry['data']} {entry['rows']:,}" for entry in compared)),
        most=f"{runs[-1]:,}",
        summary=summary(compared, level),
        above=above(compared, level),
        failures=failures(cells),
        everything=everything(cells, level),
    )
    Path(sys.argv[2]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
