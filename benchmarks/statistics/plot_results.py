"""Draw the tables of benchmarks/results as pictures of the guide.

    python benchmarks/statistics/plot_results.py [FOLDER]

The folder is docs/assets unless another one is named. Text stays text, so the files are small.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "results"
ASSETS = Path(__file__).parents[2] / "docs" / "assets"
COLOURS = ["#4477aa", "#ee6677", "#228833", "#aa7700", "#aa3377", "#777777"]  # told apart by the colour-blind
MARKERS = "os^Dvx"

Row = dict[str, str]


def table(name: str, first: str) -> list[Row]:
    """The rows of the table of a page whose first column has this title."""
    lines = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {first} |"))
    titles, rows = cells(lines[start]), []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(titles, cells(line), strict=True)))
    return rows


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip("|").split("|")]


def number(cell: str) -> float:
    return float(cell.replace(",", "")) if cell not in ("", "-") else float("nan")


def lines(panel: Axes, rows: list[Row], places: Iterable[float], columns: Iterable[str]) -> None:
    """One line for each column, over the same places."""
    at = list(places)
    for column, colour, marker in zip(columns, COLOURS, MARKERS, strict=False):
        values = [number(row[column]) for row in rows]
        panel.plot(at, values, color=colour, marker=marker, markersize=4, linewidth=1.2, label=column)


def legend(figure: Figure) -> None:
    handles = {}
    for panel in figure.axes:
        handles |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))


def quantiles() -> Figure:
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    rows = table("statistics-quantiles", "data")
    for panel, data in zip(panels, dict.fromkeys(row["data"] for row in rows), strict=True):
        kept = [row for row in rows if row["data"] == data]
        counts = [number(row["quantiles"]) for row in kept]
        lines(panel, kept, counts, ("ours", "with intervals", "one by one", "OpenDP", "diffprivlib", "PyDP"))
        panel.set(title=f"1,000 rows of {data}, epsilon 1", xscale="log", yscale="log", xlabel="quantiles at once")
        panel.set_xticks(counts, [f"{count:g}" for count in counts], minor=False)
        panel.set_xticks([], minor=True)
    panels[0].set_ylabel("error in ranks")
    return figure


def coinpress() -> Figure:
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    rows = [row | {"ours, replace": row["ours"]} for row in table("statistics-coinpress", "task")]
    columns = ("not private", "published", "ours, replace", "ours, add/remove")
    for panel, (title, word, of) in zip(
        panels,
        (
            ("rho 0.5", "rows", lambda task: task.split(", ")[1].split()[0] if task.count(",") == 1 else ""),
            ("rho 0.5, 1,000 rows", "radius of the bounds", lambda task: task.partition(" radius ")[2]),
            ("2,000 rows", "rho", lambda task: task.partition(" rho ")[2]),
        ),
        strict=True,
    ):
        kept = [row for row in rows if row["task"].startswith("mean") and of(row["task"])]
        lines(panel, kept, (number(of(row["task"])) for row in kept), columns)
        panel.set(title=title, xlabel=word, ylim=(0, None), xscale="linear" if word == "rows" else "log")
    panels[0].set_ylabel("error of the mean of 50 columns")
    return figure


def regression() -> Figure:
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.8), sharey=True, layout="constrained")
    rows = table("statistics-regression", "data")
    shown = (
        "made up, 1 feature, 1,000 rows, scatter 5%",
        "made up, 1 feature, 10,000 rows, scatter 25%",
        "PUMS, income by educ",
        "Adult, hours by age",
    )
    for panel, data in zip(panels, shown, strict=True):
        kept = [row for row in rows if row["data"] == data]
        columns = ("auto", "sufficient", "ada_ssp", "theil_sen", "OpenDP", "diffprivlib")
        lines(panel, kept, (number(row["epsilon"]) for row in kept), columns)
        title = data.removeprefix("made up, ").replace("feature, ", "feature,\n").replace("PUMS, ", "PUMS,\n")
        panel.set(title=title.replace("Adult, ", "Adult,\n"), xscale="log", yscale="log", xlabel="epsilon")
        panel.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    panels[0].set_ylabel("distance from least squares, %")
    return figure


def hypothesis() -> Figure:
    figure, panels = plt.subplots(2, 4, figsize=(12, 5.6), sharex=True, sharey=True, layout="constrained")
    rows = table("statistics-hypothesis", "test")
    columns = ("epsilon = 0.1", "epsilon = 1", "epsilon = 10", "public")
    for panel, test in zip(panels.flat, dict.fromkeys(row["test"] for row in rows), strict=True):
        kept = [
            row | {column: row[column].partition(" / ")[2] for column in columns} for row in rows if row["test"] == test
        ]
        lines(panel, kept, (number(row["rows"]) for row in kept), columns)
        panel.set(title=test, xscale="log", ylim=(0, 1.05))
        panel.axhline(0.05, color="black", linewidth=0.6, linestyle=":")
    for panel in panels[:, 0]:
        panel.set_ylabel("false hypotheses rejected")
    for panel in panels[-1]:
        panel.set_xlabel("rows")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "statistics-quantiles": quantiles,
    "statistics-coinpress": coinpress,
    "statistics-regression": regression,
    "statistics-hypothesis": hypothesis,
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ASSETS
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    for name, draw in PICTURES.items():
        figure = draw()
        legend(figure)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
