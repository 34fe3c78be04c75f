"""Draw the errors that `accuracy.py --json FILE` measured: one panel a statistic, peers above or below our line.

python benchmarks/statistics/plot.py FILE docs/assets/statistics-accuracy.svg
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

PEERS = {
    "opendp": ("OpenDP", "o", "#4477aa"),
    "diffprivlib": ("diffprivlib", "s", "#ee6677"),
    "pydp": ("PyDP", "^", "#228833"),
    "smartnoise": ("SmartNoise", "D", "#ccbb44"),
}


def main() -> None:
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    names = list(dict.fromkeys(entry["statistic"] for entry in measured))
    mpl.rcParams["svg.hashsalt"] = "deniable"  # the same picture for the same numbers
    figure, panels = plt.subplots(2, (len(names) + 1) // 2, figsize=(12, 6), sharey=True, layout="constrained")
    for panel, name in zip(panels.flat, names, strict=False):
        for peer, (label, marker, colour) in PEERS.items():
            points = [
                (entry["epsilon"], entry[peer] / entry["deniable"], entry["relation"] == "replace")
                for entry in measured
                if entry["statistic"] == name and isinstance(entry.get(peer), float) and entry["deniable"] > 0
            ]
            if points:
                epsilon, ratio, replaced = (np.array(part, dtype=float) for part in zip(*points, strict=True))
                shift = 0.82 ** (list(PEERS).index(peer) - 1.5)
                for kind, face in ((0, colour), (1, "none")):
                    kept = replaced == kind
                    panel.scatter(epsilon[kept] * shift, ratio[kept], s=22, c=face, marker=marker, edgecolors=colour)
                panel.scatter([], [], s=22, c=colour, marker=marker, label=label)
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(title=name, xscale="log", yscale="log", ylim=(0.3, 30), xticks=[0.1, 1, 10])
        panel.set_xticklabels(["0.1", "1", "10"])
    for panel in panels[:, 0]:
        panel.set_ylabel("error of the peer / ours")
    for panel in panels[-1]:
        panel.set_xlabel("epsilon")
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.suptitle(
        "Above the line: the peer errs more. Filled: add/remove; hollow: replace. Beyond the frame: cut off"
    )
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
