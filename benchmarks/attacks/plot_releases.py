"""Attack one real table in five releases, and draw the three pictures of docs/guide/attacks.md (items 185 and 201).

    python benchmarks/attacks/plot_releases.py [FOLDER]

The folder is docs/assets unless another one is named; results/attacks-releases.md holds what it prints. The table is
`fair` of statsmodels. Private noise is drawn from secure bits, so the last column differs a little from run to run.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from matplotlib.colors import LinearSegmentedColormap

import deniable as dn
from deniable import attacks
from deniable.attacks import reconstruction
from deniable.statistics.count import Count

FOLDER = Path(__file__).parents[2] / "docs" / "assets"
LEAST, EPSILON = 5, 0.1  # least count, base of rounding and k; epsilon of all that one attack asks of a release
RELEASES = ("exact", f"suppressed\nbelow {LEAST}", f"rounded\nto {LEAST}", f"k-anonymous\nk = {LEAST}",
            f"private\nepsilon {EPSILON}")  # fmt: skip
FOUND, GUESSED, EDGE = "#b04a3a", "#9aa5b1", "#223344"

fair = sm.datasets.fair.load_pandas().data
PEOPLE = fair.astype(int).assign(affair=fair.affairs > 0).drop(columns="affairs")
SECRET = PEOPLE["affair"].to_numpy()
QUASI = ["age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb"]


def private_counts(queries: int) -> reconstruction.Answerer:
    """Counts by Laplace noise that cost EPSILON together if a person is in all of them."""
    mechanism = Count(epsilon=EPSILON / queries).mechanism
    return lambda groups: (
        mechanism.release(np.asarray(groups @ SECRET.astype(float)).round().astype(int).tolist()).value
    )


def private_table(rows: Any) -> Any:
    """Noisy counts of every combination of the quasi-identifiers and the secret."""
    columns = [*QUASI, "affair"]
    keys = {name: dn.Keys(PEOPLE[name].unique().tolist()) for name in columns}
    db = dn.connect(rows, name="people", unit=dn.each_row(), budget=dn.Budget(epsilon=EPSILON), columns=keys)
    names = ", ".join(columns)
    text = f"SELECT {names}, COUNT(*) AS count FROM people GROUP BY {names}"
    return db.sql(text, epsilon=EPSILON).to_arrow(intervals=False)


def counted(attack: Callable[[reconstruction.Answerer], attacks.AttackResult], queries: int) -> list[Any]:
    """One attack that asks for counts; a table of classes answers none."""
    answers = [reconstruction.answer_exactly(SECRET), reconstruction.answer_unless_small(SECRET, below=LEAST),
               reconstruction.answer_rounded(SECRET, base=LEAST), None, private_counts(queries)]  # fmt: skip
    return [None if answer is None else attack(answer) for answer in answers]


def rows_of_the_picture() -> dict[str, list[Any]]:
    groups = reconstruction.choose_subsets(people=len(SECRET))
    noise = Count(epsilon=EPSILON / groups.shape[0]).expected_error(len(SECRET))
    best = partial(attacks.estimate_by_least_squares, share=SECRET.mean(), noise=noise)  # who is told of the noise
    found = {
        "Count one person alone": counted(lambda answer: attacks.isolate_people(answer, SECRET), 1),
        "Subtract two counts": counted(lambda answer: attacks.subtract_counts(answer, SECRET), 2),
        f"Solve {groups.shape[0]:,} counts": counted(
            lambda answer: attacks.attack_by_reconstruction(answer, SECRET, subsets=groups), groups.shape[0]
        ),
    }
    compared = attacks.compare_anonymity(PEOPLE, quasi=QUASI, sensitive="affair", k=LEAST, private=private_table)
    names = {"homogeneity": "Look up a person's class", "background knowledge": "... knowing two others in it",
             "intersection": "... in two releases"}  # fmt: skip
    asked = attacks.attack_by_reconstruction(private_counts(groups.shape[0]), SECRET, subsets=groups, estimate=best)
    found[f"Solve {groups.shape[0]:,} counts"][-1] = asked
    return found | {names[name]: list(one.values()) for name, one in compared.attacks.items()}


def draw_releases(found: dict[str, list[Any]], guess: float) -> plt.Figure:
    shares = np.array([[np.nan if one is None else one.success.value for one in row] for row in found.values()])
    colours = LinearSegmentedColormap.from_list("gain", ["#ffffff", FOUND])
    colours.set_bad("#e8ebee")
    figure, ax = plt.subplots(figsize=(8.4, 4.2), layout="constrained")
    ax.imshow(np.ma.masked_invalid(shares), cmap=colours, vmin=guess, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        text = "no such question" if np.isnan(share) else f"{share:.0%}"
        dark = share > (1 + guess) / 2
        ax.text(column, row, text, ha="center", va="center", color="white" if dark else EDGE,
                fontsize=8 if np.isnan(share) else 13)  # fmt: skip
    ax.set_xticks(range(len(RELEASES)), RELEASES)
    ax.set_yticks(range(len(found)), list(found))
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(len(RELEASES) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(found) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=EDGE, linewidth=0.5)
    ax.tick_params(which="minor", length=0)
    ax.set_xlabel(f"share of {len(SECRET):,} secrets that came out right; a guess gets {guess:.0%}")
    return figure


def draw_noise(found: attacks.AttackResult) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    *measured, predicted = found.curves
    for curve, marker in zip(measured, "osD", strict=True):
        ax.plot(curve.x, curve.y, marker, markersize=5, label=curve.label)
    ax.plot(predicted.x, predicted.y, color=EDGE, linewidth=1, label="theory")
    ax.axhline(0.5, color=GUESSED, linestyle="--", label="a guess")
    ax.axvline(1, color=FOUND, linewidth=1)
    ax.text(1.06, 0.93, "noise = square root\nof the people", color=FOUND)
    ax.set(xscale="log", ylim=(0.45, 1.03), xlabel="noise of an answer / square root of the people",
           ylabel="share of secrets that came out right")  # fmt: skip
    ax.set_xticks([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4], ["1/16", "1/8", "1/4", "1/2", "1", "2", "4"])
    ax.minorticks_off()
    ax.legend(loc="lower left")
    return figure


def draw_reconstruction(row: list[Any]) -> plt.Figure:
    named = {name: one for name, one in zip(RELEASES, row, strict=True) if one is not None}
    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    attacks.Comparison(named).plot(ax=ax).set_xticks(range(len(named)), list(named))
    return figure


def main() -> None:
    mpl.rcParams |= {"svg.hashsalt": "deniable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10}
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    found = rows_of_the_picture()
    _, _, solved, *_ = found.values()
    pictures = {
        "reconstruction": draw_reconstruction(solved),
        "releases": draw_releases(found, solved[0].baseline),
        "noise": draw_noise(attacks.sweep_noise()),
    }
    for name, figure in pictures.items():
        figure.savefig(folder / f"attacks-{name}.svg", metadata={"Date": None, "Creator": None})
    print("| attack | " + " | ".join(name.replace("\n", " ") for name in RELEASES) + " | guess |")
    print("|---" * (len(RELEASES) + 2) + "|")
    for name, row in found.items():
        cells = ["" if one is None else str(one.success) for one in row]
        print(f"| {name} | " + " | ".join(cells) + f" | {row[0].baseline:.1%} |")


if __name__ == "__main__":
    main()
