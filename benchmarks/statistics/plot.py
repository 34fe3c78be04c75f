"""Draw the errors that `accuracy.py` measured: one panel a statistic, peers above or below our line.

python benchmarks/statistics/plot.py FOLDER docs/assets/statistics-accuracy.svg
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from accuracy_table import FEW, PEERS, cells_of, error, measured, name_of

STYLES = {
    "opendp": ("o", "#4477aa"),
    "diffprivlib": ("s", "#ee6677"),
    "pydp": ("^", "#228833"),
    "smartnoise": ("D", "#aa7700"),
}
EPSILONS = (0.1, 1.0, 10.0)
LOWEST, HIGHEST = 0.3, 30.0


def ratios(cells: list[dict], name: str, peer: str, epsilon: float) -> np.ndarray:
    """The error of the peer over ours, on every data set and under both relations, where either errs now and then."""
    pairs = [
        (measured(entry)[peer], entry["deniable"])
        for entry in cells
        if name_of(entry) == name and entry["epsilon"] == epsilon and peer in measured(entry)
    ]
    found = [error(a) / error(b) if b["wrong"] else np.inf for a, b in pairs if max(a["wrong"], b["wrong"]) > FEW]
    return np.clip(found, LOWEST, HIGHEST)


def main() -> None:
    cells = [entry for entry in cells_of(Path(sys.argv[1])) if measured(entry)]
    names = list(dict.fromkeys(name_of(entry) for entry in cells if not entry["step"]))
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    figure, panels = plt.subplots(4, (len(names) + 3) // 4, figsize=(12, 11), sharey=True, layout="constrained")
    for panel, name in zip(panels.flat, names, strict=False):
        for place, (peer, (marker, colour)) in enumerate(STYLES.items()):
            for epsilon in EPSILONS:
                found = ratios(cells, name, peer, epsilon)
                if len(found):
                    at, middle = epsilon * 1.35 ** (place - 1.5), np.median(found)
                    reach = [[middle - found.min()], [found.max() - middle]]
                    panel.errorbar(at, middle, reach, color=colour, marker=marker, markersize=5, linewidth=1.2)
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(title=name, xscale="log", yscale="log", xlim=(0.04, 25), ylim=(LOWEST, HIGHEST), xticks=EPSILONS)
        panel.set_xticklabels([f"{epsilon:g}" for epsilon in EPSILONS])
        panel.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
        panel.minorticks_off()
    for panel in panels[:, 0]:
        panel.set_ylabel("error of the peer / ours")
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    for peer, (marker, colour) in STYLES.items():
        panels.flat[0].plot([], [], color=colour, marker=marker, label=PEERS[peer])
    figure.legend(loc="outside lower center", ncols=len(PEERS))
    figure.suptitle(
        "Above the line: the peer errs more. Median, least and greatest over data sets of 100 to 1,000,000 rows and "
        "both relations, against epsilon"
    )
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(sys.argv[2], metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
