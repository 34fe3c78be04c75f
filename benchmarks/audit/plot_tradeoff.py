"""Draw the error rates that audits reach on three noisy sums beside the trade-off curve of the claim, epsilon = 1.

    python benchmarks/audit/plot_tradeoff.py [FILE]

The file is docs/assets/audit-tradeoff.svg unless another one is named.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from deniable.audit import measure

FILE = Path(__file__).parents[2] / "docs" / "assets" / "audit-tradeoff.svg"
SCALES = {"half of the noise": 0.5, "90% of the noise": 0.9, "the noise that it takes": 1.0}
RUNS = 100_000


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    figure, panels = plt.subplots(1, len(SCALES), figsize=(9, 3.2), sharey=True, layout="constrained")
    for panel, (name, scale) in zip(panels, SCALES.items(), strict=True):
        dice = np.random.default_rng(1)

        def noisy_sum(rows: list[int], runs: int, scale: float = scale, dice: np.random.Generator = dice) -> object:
            return sum(rows) + dice.laplace(scale=scale, size=runs)

        found = measure(noisy_sum, [1, 1], [1], epsilon=1, batched=True, low_bits=False, runs=RUNS)
        found.plot(ax=panel)
        panel.set_title(f"{name}:\nepsilon is at least {found.epsilon:.2f}")
        if panel is not panels[0]:
            panel.set_ylabel("")
            panel.get_legend().remove()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else FILE, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
