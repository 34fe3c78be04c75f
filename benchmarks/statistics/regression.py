"""How far are private lines from the least-squares line, beside those of other libraries at equal epsilon?

    python benchmarks/statistics/regression.py [--diffprivlib PYTHON] [--opendp PYTHON] [--runs 50]
                                               [--data ../shared/data] [--audit 20000] [--output FILE.md]

PYTHON is the interpreter of an environment that has the library. The error is the root mean squared distance of the
fitted line from the least-squares line of the same rows, over these rows, in percent of half the width of the target's
bounds. Bounds are public and the same for all. OpenDP's Theil-Sen has its default candidates, and the scale at which
its privacy map allows epsilon for *two* rows: one row more exchanges a pair, which its map counts as one change and not
two. --audit shows by so many runs that the loss is above that map. diffprivlib states no relation, and its noise for
squares and products of a column with a large upper bound is too small (its issue 104): its column is no private answer.
"""

import argparse
import json
import subprocess
from importlib.metadata import version
from pathlib import Path

import numpy as np

from deniable.privacy import AddRemove, Replace
from deniable.statistics import linear_regression
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DIFFPRIVLIB = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import LinearRegression
warnings.filterwarnings("ignore")
task = json.loads(sys.stdin.read())
x, y = np.array(task["x"]), np.array(task["y"])
low, high = zip(*task["bounds"])
fits = {}
for epsilon in task["epsilons"]:
    for run in range(task["runs"]):
        bounds = {"bounds_X": (np.array(low), np.array(high)), "bounds_y": tuple(task["target"])}
        model = LinearRegression(epsilon=epsilon, **bounds)
        model.fit(x, y)
        fits.setdefault(str(epsilon), []).append([float(model.intercept_), *map(float, model.coef_)])
print(json.dumps(fits))
"""
OPENDP = """
import json, sys, warnings
import numpy as np
import opendp.prelude as dp
warnings.filterwarnings("ignore")
dp.enable_features("contrib", "idealized-numerics", "floating-point", "honest-but-curious")
task = json.loads(sys.stdin.read())
x, y = np.array(task["x"]), np.array(task["y"])
fits = {}
if x.shape[1] == 1:
    for epsilon in task["epsilons"]:
        def make(scale):
            return dp.sklearn.linear_model.LinearRegression(
                dp.max_divergence(), x_bounds=[tuple(task["bounds"][0])], y_bounds=tuple(task["target"]), scale=scale)
        scale = dp.binary_search(lambda s: make(s).measurement.map(2) <= epsilon, bounds=(1e-3, 1e6))
        for run in range(task["runs"]):
            try:
                fit = make(scale).fit(x, y)
                fits.setdefault(str(epsilon), []).append([float(fit.intercept_), *map(float, np.ravel(fit.coef_))])
            except Exception as error:
                fits["error"] = repr(error)[:200]
                break
print(json.dumps(fits))
"""

AUDIT = """
import json, sys, warnings
import numpy as np
import opendp.prelude as dp
warnings.filterwarnings("ignore")
dp.enable_features("contrib", "idealized-numerics", "floating-point", "honest-but-curious")
task = json.loads(sys.stdin.read())
line = [(0.0, 0.7), (0.001, 0.7), (0.002, 0.7)]
above, below = (0.26, 1.0), (0.26, -1.0)
tables = np.array([*line, above]), np.array([below, *line, above])  # the second has one row more
found = []
for epsilon in task["epsilons"]:
    def make(scale):
        return dp.sklearn.linear_model.LinearRegression(dp.max_divergence(), x_bounds=[(0.0, 1.0)],
            y_bounds=(-1.0, 1.0), scale=scale, candidates_count=11).measurement
    release = make(dp.binary_search(lambda scale: make(scale).map(1) <= epsilon, bounds=(1e-3, 1e4)))
    hits = []
    for table in tables:
        lines = np.array([release(table) for _ in range(task["runs"])])
        heights = lines[:, :1] * [0.25, 0.75] + lines[:, 1:]
        hits.append(int(np.all(np.abs(heights - 0.8) < 0.01, axis=1).sum()))  # both medians between the two pairs
    found.append([epsilon, release.map(1), release.map(2), *hits])
print(json.dumps(found))
"""

Case = tuple[str, np.ndarray, np.ndarray, list[tuple[float, float]], tuple[float, float]]


def cases(data: Path) -> list[Case]:
    """Names, features, targets and public bounds."""
    generator = np.random.default_rng(7)
    x = generator.uniform(0, 10, size=(1000, 3))
    y = 3 + x @ [1.5, -0.5, 0.25] + generator.normal(size=1000)
    found: list[Case] = [
        ("made up, 3 features, 1,000 rows", x, y, [(0, 10)] * 3, (-10, 30)),
    ]
    for size in (100, 300, 1000, 3000, 10_000):
        for scatter in (1, 5):
            x = generator.uniform(0, 10, size=(size, 1))
            y = 3 + 1.5 * x[:, 0] + scatter * generator.normal(size=size)
            found.append((f"made up, 1 feature, {size:,} rows, scatter {5 * scatter}%", x, y, [(0, 10)], (-10, 30)))
    if (data / "PUMS_pid.csv").exists():
        rows = np.genfromtxt(data / "PUMS_pid.csv", delimiter=",", names=True)
        found.append(("PUMS, income by educ", rows["educ"][:, None], rows["income"], [(1, 16)], (0, 500_000)))
        adult = np.genfromtxt(data / "adult.csv", delimiter=",", names=True, deletechars="")
        hours, age, school = adult["hours-per-week"], adult["age"], adult["education-num"]
        found.append(("Adult, hours by age", age[:, None], hours, [(0, 84)], (0, 98)))
        both = np.column_stack([age, school])
        found.append(("Adult, hours by age and education", both, hours, [(0, 84), (0, 15)], (0, 98)))
    return found


def peer(python: str | None, code: str, case: Case, runs: int) -> dict[str, list[list[float]]]:
    if python is None:
        return {}
    _, x, y, bounds, target = case
    task = {"x": x.tolist(), "y": y.tolist(), "bounds": bounds, "target": target, "epsilons": EPSILONS, "runs": runs}
    done = subprocess.run([python, "-c", code], input=json.dumps(task), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-500:])
        return {}
    fits: dict[str, list[list[float]]] = json.loads(done.stdout)
    if "error" in fits:
        print(fits.pop("error"))
    return fits


def error(fits: list[list[float]], case: Case) -> float:
    _, x, y, _, target = case
    design = np.column_stack([np.ones(len(x)), x])
    true = np.linalg.lstsq(design, y, rcond=None)[0]
    apart = (np.array(fits) - true) @ design.T
    return float(np.sqrt((apart**2).mean())) / (target[1] - target[0]) * 200


def ours(kind: type, case: Case, runs: int, **options: object) -> dict[str, list[list[float]]]:
    _, x, y, bounds, target = case
    plans = {str(each): kind(bounds=bounds, target_bounds=target, epsilon=each, **options) for each in EPSILONS}
    return {epsilon: [plan((x, y))["coefficient"].tolist() for _ in range(runs)] for epsilon, plan in plans.items()}


def automatic(case: Case, runs: int) -> dict[str, list[list[float]]]:
    """The method that `linear_regression` chooses for about so many rows."""
    _, x, y, bounds, target = case
    public = {"bounds": bounds, "target_bounds": target, "size": len(x), "interval": None}
    return {
        str(epsilon): [linear_regression(x, y, **public, epsilon=epsilon)["coefficient"].tolist() for _ in range(runs)]
        for epsilon in EPSILONS
    }


def audit(python: str, runs: int) -> list[str]:
    """What two neighbouring tables show about OpenDP's privacy map."""
    from scipy.stats import beta

    task = json.dumps({"runs": runs, "epsilons": [1.0, 2.0, 4.0]})
    done = subprocess.run([python, "-c", AUDIT], input=task, capture_output=True, text=True, check=True)
    lines = [
        "## OpenDP's privacy map",
        "",
        f"{runs:,} runs on each of two tables, of four rows and of the same with one more in front; the event is that",
        "both medians lie between the two pairs of the first. Bounds are Clopper and Pearson's, together at 0.999.",
        "",
        "| map for one row | map for two | event, 4 rows | event, 5 rows | log ratio | lower bound on epsilon |",
        "|---|---|---|---|---|---|",
    ]
    for _, one, two, first, second in json.loads(done.stdout):
        least, most = beta.ppf(0.0005, first, runs - first + 1), beta.ppf(0.9995, second + 1, runs - second)
        point = f"{np.log(first / second):.2f}" if second else "-"
        bound = f"**{np.log(least / most):.2f}**"
        lines.append(f"| {one:.3g} | {two:.3g} | {first} | {second} | {point} | {bound} |")
    return [*lines, ""]


def rows(case: Case, options: argparse.Namespace) -> list[str]:
    columns = [
        automatic(case, options.runs),
        ours(SufficientRegression, case, options.runs),
        ours(AdaptiveRidge, case, options.runs),
        ours(TheilSen, case, options.runs, interval=None) if case[1].shape[1] == 1 else {},
        peer(options.opendp, OPENDP, case, min(options.runs, options.peer_runs)),
        ours(SufficientRegression, case, options.runs, relation=Replace),
        peer(options.diffprivlib, DIFFPRIVLIB, case, min(options.runs, options.peer_runs)),
    ]
    found = []
    for epsilon in map(str, EPSILONS):
        cells = [f"{error(column[epsilon], case):.3g}" if column.get(epsilon) else "-" for column in columns]
        found.append(f"| {case[0]} | {epsilon} | " + " | ".join(cells) + " |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--peer-runs", type=int, default=50)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--diffprivlib")
    parser.add_argument("--opendp")
    parser.add_argument("--audit", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "# Lines beside those of other libraries",
        "",
        f"deniable {version('deniable')}; {options.runs} runs. Root mean squared distance from the least-squares line,",
        "in percent of half the width of the target's bounds, at equal epsilon and bounds. `auto` is linear_regression",
        "told the number of rows, without an interval; `theil_sen` is without one, too. All columns but the last two",
        f"protect under {AddRemove}, that before the last under {Replace}; diffprivlib's noise is below what its",
        "epsilon needs. OpenDP has the scale that its map allows for two rows: see below.",
        "",
        "| data | epsilon | auto | sufficient | ada_ssp | theil_sen | OpenDP | sufficient, replace | diffprivlib |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases(options.data):
        lines += rows(case, options)
        print(*lines[-len(EPSILONS) :], sep="\n", flush=True)
    lines.append("")
    if options.opendp and options.audit:
        lines += audit(options.opendp, options.audit)
    if options.output:
        options.output.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
