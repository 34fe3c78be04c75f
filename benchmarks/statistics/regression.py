"""How far are private lines from the least-squares line, beside those of other libraries at equal epsilon?

    python benchmarks/statistics/regression.py [--diffprivlib PYTHON] [--opendp PYTHON] [--runs 50]
                                               [--data ../shared/data] [--output FILE.md]

PYTHON is the interpreter of an environment that has the library. The error is the root mean squared distance of the
fitted line from the least-squares line of the same rows, over these rows, in percent of half the width of the target's
bounds. Bounds are public and the same for all. OpenDP's Theil-Sen has its default candidates, and the scale that its
own privacy map allows for one row more or less. diffprivlib states no relation, and its noise for squares and products
of a column with a large upper bound is too small (its issue 104), so its column is no private answer.
"""

import argparse
import json
import subprocess
from importlib.metadata import version
from pathlib import Path

import numpy as np

from deniable.privacy import AddRemove, Replace
from deniable.statistics import AdaptiveRidge, SufficientRegression, TheilSen

EPSILONS = (0.1, 1.0, 10.0)
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
        scale = dp.binary_search(lambda s: make(s).measurement.map(1) <= epsilon, bounds=(1e-3, 1e6))
        for run in range(task["runs"]):
            try:
                fit = make(scale).fit(x, y)
                fits.setdefault(str(epsilon), []).append([float(fit.intercept_), *map(float, np.ravel(fit.coef_))])
            except Exception as error:
                fits["error"] = repr(error)[:200]
                break
print(json.dumps(fits))
"""

Case = tuple[str, np.ndarray, np.ndarray, list[tuple[float, float]], tuple[float, float]]


def cases(data: Path) -> list[Case]:
    """Names, features, targets and public bounds."""
    generator = np.random.default_rng(7)
    x = generator.uniform(0, 10, size=(1000, 3))
    y = 3 + x @ [1.5, -0.5, 0.25] + generator.normal(size=1000)
    found: list[Case] = [
        ("made up, 1 feature, 100 rows", x[:100, :1], y[:100], [(0, 10)], (-10, 30)),
        ("made up, 1 feature, 1,000 rows", x[:, :1], y, [(0, 10)], (-10, 30)),
        ("made up, 3 features, 1,000 rows", x, y, [(0, 10)] * 3, (-10, 30)),
    ]
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


def rows(case: Case, options: argparse.Namespace) -> list[str]:
    columns = [
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
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "# Lines beside those of other libraries",
        "",
        f"deniable {version('deniable')}; {options.runs} runs. Root mean squared distance from the least-squares line,",
        "in percent of half the width of the target's bounds, at equal epsilon and bounds. The first four columns",
        f"protect under {AddRemove}, the fifth under {Replace}. diffprivlib's noise is below what its epsilon needs;",
        "so, by its source, is OpenDP's: its map counts one change of a pair, but one row more exchanges a pair, which",
        "is two, where the number of rows is even.",
        "",
        "| data | epsilon | sufficient | ada_ssp | theil_sen | OpenDP Theil-Sen | sufficient, replace | diffprivlib |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in cases(options.data):
        lines += rows(case, options)
        print(*lines[-3:], sep="\n", flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
