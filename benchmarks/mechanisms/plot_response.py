"""Draw how far a share is off by randomised response, and by a count with Laplace noise, as rows grow (inventory 51).

    python benchmarks/mechanisms/plot_response.py [FILE]

The file is docs/assets/mechanisms-response.svg unless another one is named. Points are measured, lines computed.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from deniable.mechanisms import Laplace, RandomizedResponse, Shares
from deniable.noise.bits import DeterministicBits

FILE = Path(__file__).parents[2] / "docs" / "assets" / "mechanisms-response.svg"
ROWS = [100, 1_000, 10_000, 100_000]
RUNS = 100


def measured(epsilon: int, rows: int) -> tuple[float, float]:
    """Root mean squared errors of the share of ones, of which there are three in ten."""
    bits = DeterministicBits(rows + epsilon)
    people, response, noise = np.arange(rows) % 10 < 3, RandomizedResponse(epsilon=epsilon), Laplace(scale=1 / epsilon)
    shares = [
        Shares.of_reports(response, response.release(people.astype(np.int64), bits=bits).value).values[1]
        for _ in range(RUNS)
    ]
    counts = noise.release(np.full(RUNS, people.sum()), bits=bits).value / rows
    return tuple(float(np.sqrt(np.mean((np.array(each) - 0.3) ** 2))) for each in (shares, counts))


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for panel, epsilon in zip(panels, (1, 4), strict=True):
        found = np.array([measured(epsilon, rows) for rows in ROWS])
        response = RandomizedResponse(epsilon=epsilon)
        expected = [
            [Shares(mechanism=response, tally=(rows // 2, rows - rows // 2)).variance()[0] ** 0.5 for rows in ROWS],
            [Laplace(scale=1 / epsilon).standard_deviation() / rows for rows in ROWS],
        ]
        for place, (label, colour, marker) in enumerate(
            (("randomised response", "#ee6677", "s"), ("a count with Laplace noise", "#4477aa", "o"))
        ):
            panel.plot(ROWS, expected[place], color=colour, linewidth=1)
            panel.plot(ROWS, found[:, place], color=colour, marker=marker, linestyle="", markersize=5, label=label)
        panel.set(title=f"epsilon {epsilon}", xscale="log", yscale="log", xlabel="people")
    panels[0].set_ylabel("error of a share")
    panels[0].legend()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else FILE, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
