"""Draw the maps of docs/guide/places.md: reports of places before and after remapping, and counts of people by day.

    python benchmarks/variants/plot_places.py LOCATIONS.npz [FOLDER]

LOCATIONS.npz holds counts of taxi trips in 256 x 256 cells as BEIJING_CABS_E; the folder is docs/assets unless another
one is named. The file has counts only, so places and people are drawn from them. The noise of the counts comes from
secure bits: the second picture differs a little from run to run.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from matplotlib.patches import Circle

import deniable as dn
from deniable.noise.bits import DeterministicBits
from deniable.variants import PlanarLaplace

FOLDER = Path(__file__).parents[2] / "docs" / "assets"
TOP, BOTTOM = 16, 40  # rows of the map of 64 x 64 cells with trips in them
PEOPLE, DAYS, USUAL = 30_000, 10, 5  # the first five days are the baseline; from the seventh on people stay at home
LEAST = 100  # people in a cell on a usual day, for its change to be published
EDGE = "#223344"


def blocks(counts: np.ndarray, side: int) -> np.ndarray:
    """Counts of side x side larger cells."""
    width = len(counts) // side
    return counts.reshape(side, width, side, width).sum(axis=(1, 3))


def draw_reports(trips: np.ndarray) -> plt.Figure:
    """Where 20,000 places, their reports, and the remapped reports lie; lengths in cells of the map."""
    counts = blocks(trips, 64)[TOP:BOTTOM]
    points = np.argwhere(counts > 0)
    prior = counts[tuple(points.T)]
    draw, bits = np.random.default_rng(1), DeterministicBits(1)
    places = points[draw.choice(len(points), 20_000, p=prior / prior.sum())]
    mechanism = PlanarLaplace(epsilon="0.7", step="1/8", bounds=((0, 0), (BOTTOM - TOP - 1, 63)), unit="cell")
    reports = mechanism.release(places, bits=bits).value
    moved = mechanism.remap(reports, points=points, prior=prior)
    figure, panels = plt.subplots(3, 1, figsize=(6.4, 8.2), sharex=True, layout="constrained")
    for panel, found, title in zip(
        panels, (places, reports, moved), ("places", "reports", "reports, remapped"), strict=True
    ):
        off = np.hypot(*(found - places).T)
        shown = np.histogram2d(*np.rint(found).T, bins=[np.arange(BOTTOM - TOP + 1) - 0.5, np.arange(65) - 0.5])[0]
        panel.imshow(np.ma.masked_equal(shown, 0), norm=mpl.colors.LogNorm(1, 300), cmap="viridis_r")
        panel.set_title(title if found is places else f"{title}: {off.mean():.1f} cells off on average")
        panel.set(xticks=[], yticks=[])
    for panel in panels:
        panel.add_patch(Circle((6.7, 16.4), mechanism.radius(0.95), fill=False, color=EDGE))
    panels[0].text(6.7, 16.4, "95% of\nreports", ha="center", va="center", fontsize=7, color=EDGE)
    return figure


def visits(trips: np.ndarray) -> pa.Table:
    """Trips of people on ten days: everybody has three cells of his own, and goes to each on four days of five."""
    counts = blocks(trips, 16)[4:10].ravel().astype(float)
    draw = np.random.default_rng(2)
    own = draw.choice(counts.size, (PEOPLE, 3), p=counts / counts.sum())
    kept = draw.uniform(0.35, 1.05, counts.size)[own][
        ..., None
    ]  # share of the usual trips to a cell from the seventh day
    often = np.where(np.arange(DAYS) < 6, 0.8, 0.8 * kept)
    person, place, day = np.nonzero(draw.random(often.shape) < often)
    return pa.table({"person": person, "cell": own[person, place], "day": day})


def changes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of each day's change from the median of the usual days, (cells, days); NaN below LEAST people."""
    least, most = (np.median(side[:, :USUAL], axis=1, keepdims=True) for side in (low, high))
    least = np.where(least >= LEAST, least, np.nan)
    return np.maximum(low, 0) / most - 1, high / least - 1


def draw_mobility(trips: np.ndarray) -> plt.Figure:
    """A map of one day's change, blank where its interval is wide, and the change of one cell by day."""
    cells = range(6 * 16)
    keys = {"cell": dn.Keys(cells), "day": dn.Keys(range(DAYS))}
    budget = dn.Budget(epsilon=2)
    db = dn.connect(visits(trips), name="visits", unit="person", rows=1, groups=30, columns=keys, budget=budget)
    counts = db.sql("SELECT cell, day, COUNT(*) AS people FROM visits GROUP BY cell, day", epsilon=2)
    bounds = counts.intervals(1 - 0.05 / (USUAL + 1))["people"]
    low, high = changes(*(side.reshape(-1, DAYS) for side in (bounds.lower, bounds.upper)))
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.2), height_ratios=[1.2, 1], layout="constrained")
    middle, clear = 50 * (low + high), high - low < 0.2  # NaN is not below
    shown = np.ma.masked_where(~clear[:, -1], middle[:, -1]).reshape(6, 16)
    image = above.imshow(shown, cmap="RdBu", vmin=-100, vmax=100)
    for (row, column), change in np.ma.ndenumerate(shown):
        above.text(column, row, f"{change:+.0f}", ha="center", va="center", fontsize=8, color=EDGE)
    above.set(
        xticks=[],
        yticks=[],
        title=f"change of visitors on day {DAYS}, in per cent",
    )
    figure.colorbar(image, ax=above, shrink=0.8)
    for cell, colour in zip(
        np.argsort(high[:, -1] - low[:, -1])[[0, 10, 24]], ("#4477aa", "#228833", "#ee6677"), strict=True
    ):
        days = np.arange(1, DAYS + 1)
        below.fill_between(days, 100 * low[cell], 100 * high[cell], color=colour, alpha=0.35, linewidth=0)
        below.plot(days, middle[cell], color=colour, marker="o", markersize=3, label=f"cell {cell}")
    below.axhline(0, color=EDGE, linewidth=0.7)
    below.set(xlabel="day", ylabel="change, per cent", xticks=range(1, DAYS + 1))
    below.legend(loc="lower left")
    return figure


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    trips = np.load(sys.argv[1])["BEIJING_CABS_E"]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    for name, figure in (("reports", draw_reports(trips)), ("mobility", draw_mobility(trips))):
        figure.savefig(folder / f"places-{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
