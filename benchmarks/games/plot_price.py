"""Draw the private price of docs/guide/games.md: what prices earn and how likely they are, and the price of privacy.

    python benchmarks/games/plot_price.py [FOLDER]

The folder is docs/assets unless another one is named. All numbers are exact laws of the made-up bids, without any draw.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import deniable as dn
from deniable.games import DigitalGoods

FOLDER = Path(__file__).parents[2] / "docs" / "assets"
BAR, LINE, BOUND = "#88aacc", "#223344", "#aa4444"


def draw() -> plt.Figure:
    """The revenue of each price with its probability at epsilon = 0.01; the mean revenue and its bound by epsilon."""
    bids = dn.datasets.bids()["bid"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2), layout="constrained")
    sale = DigitalGoods(prices=range(1, 41), epsilon="0.01")
    earned, law = sale.revenues(bids), sale.probabilities(bids)
    best = float(max(earned.values()))
    left.bar([float(price) for price in earned], [float(one) for one in earned.values()], color=BAR)
    left.set(xlabel="price", ylabel="revenue")
    chances = left.twinx()
    chances.plot([float(price) for price in law], [mass.upper for mass in law.values()], "o-", color=LINE, markersize=3)
    chances.set_ylim(bottom=0)
    chances.set_ylabel("probability at epsilon = 0.01")
    epsilons = [10 ** (step / 8) for step in range(-32, 9)]
    sales = [DigitalGoods(prices=range(1, 41), epsilon=f"{epsilon:.6g}") for epsilon in epsilons]
    right.semilogx(epsilons, [one.expected_revenue(bids).upper for one in sales], color=LINE, label="expected")
    right.semilogx(epsilons, [best - one.expected_gap() for one in sales], "--", color=BOUND, label="bound")
    right.axhline(best, color=BAR, label="best listed price")
    right.set(xlabel="epsilon", ylabel="revenue", ylim=(0, 1.1 * best))
    right.legend(loc="lower right", fontsize="small")
    return figure


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    draw().savefig(folder / "games-price.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
