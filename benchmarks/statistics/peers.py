"""Releases of one peer library, for `accuracy.py`: run with that library's own Python, not with ours.

Reads tasks as JSON lines on standard input: {"statistic", "relation", "path" of a .npy file, "lower", "upper",
"epsilon", "runs"}; writes for each a line with the list of releases, or with the reason why there are none. Every
library is called as its documentation shows, with the row as the privacy unit and with what the relation makes public:
the number of rows under replace, nothing under add/remove.
"""

import argparse
import json
import math
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
QUANTILE = {"median": 0.5, "quantile_90": 0.9}


class NotOffered(Exception):
    """The library has no such statistic for this relation."""


def opendp(task, values):
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "floating-point")
    lower, upper, epsilon, size = task["lower"], task["upper"], task["epsilon"], len(values)
    name, sized = task["statistic"], task["relation"] == "replace"
    distance = 2 if sized else 1  # of the symmetric metric
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    bounded = plain >> dp.t.then_clamp((lower, upper))
    known = bounded >> dp.t.then_resize(size, constant=(lower + upper) / 2)

    def laplace(query):
        return dp.binary_search_chain(lambda scale: query >> dp.m.then_laplace(scale), distance, epsilon)

    if name == "count":
        if sized:
            raise NotOffered("the count is public")
        query = plain >> dp.t.then_count()
        release = laplace(query)
        return lambda: release(values)
    if name == "sum":
        release = laplace((known if sized else bounded) >> dp.t.then_sum())
        return lambda: release(values)
    if name in ("mean", "variance", "standard_deviation"):
        if not sized:
            raise NotOffered("needs the number of rows")
        if name == "mean":
            release = laplace(known >> dp.t.then_mean())
            return lambda: release(values)
        release = laplace(known >> dp.t.then_variance())
        return lambda: release(values) if name == "variance" else math.sqrt(max(release(values), 0))
    if name in QUANTILE:
        candidates = np.linspace(lower, upper, 1001).tolist()

        def quantile(scale):
            return dp.m.make_private_quantile(*plain, dp.max_divergence(), candidates, QUANTILE[name], scale)

        release = dp.binary_search_chain(quantile, distance, epsilon)
        return lambda: release(values)
    if name == "histogram":
        keys = list(range(task["cells"]))
        whole = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
        query = whole >> dp.t.then_count_by_categories(categories=keys, null_category=False)
        release = laplace(query)
        integers = values.astype(int).tolist()
        return lambda: release(integers)
    raise NotOffered(name)


def diffprivlib(task, values):
    from diffprivlib import tools

    if task["relation"] != "replace":
        raise NotOffered("takes the number of rows as public")
    bounds, epsilon, name = (task["lower"], task["upper"]), task["epsilon"], task["statistic"]
    functions = {"sum": tools.sum, "mean": tools.mean, "variance": tools.var, "standard_deviation": tools.std}
    if name in functions:
        return lambda: float(functions[name](values, epsilon=epsilon, bounds=bounds))
    if name in QUANTILE:
        return lambda: float(tools.quantile(values, QUANTILE[name], epsilon=epsilon, bounds=bounds))
    if name == "histogram":
        cells = task["cells"]
        # its sensitivity of 1 is that of add/remove: half of what replace needs
        edges = (-0.5, cells - 0.5)
        return lambda: list(tools.histogram(values, epsilon=epsilon / 2, bins=cells, range=edges)[0])
    raise NotOffered(name)


def pydp(task, values):
    from pydp.algorithms import laplacian as dp

    if task["relation"] != "add/remove":
        raise NotOffered("add/remove only")
    lower, upper, epsilon, name = task["lower"], task["upper"], task["epsilon"], task["statistic"]
    rows = values.tolist()
    common = {"epsilon": epsilon, "lower_bound": lower, "upper_bound": upper, "dtype": "float"}
    makes = {
        "count": lambda: dp.Count(epsilon=epsilon, dtype="float"),
        "sum": lambda: dp.BoundedSum(**common),
        "mean": lambda: dp.BoundedMean(**common),
        "variance": lambda: dp.BoundedVariance(**common),
        "standard_deviation": lambda: dp.BoundedStandardDeviation(**common),
        "median": lambda: dp.Percentile(percentile=0.5, **common),
        "quantile_90": lambda: dp.Percentile(percentile=0.9, **common),
    }
    if name not in makes:
        raise NotOffered(name)
    return lambda: float(makes[name]().quick_result(rows))


def smartnoise(task, values):
    import pandas as pd
    import snsql
    from snsql import Privacy

    if task["relation"] != "add/remove":
        raise NotOffered("add/remove only")
    words = {
        "count": "COUNT(*)",
        "sum": "SUM(x)",
        "mean": "AVG(x)",
        "variance": "VAR(x)",
        "standard_deviation": "STDDEV(x)",
    }
    name = task["statistic"]
    if name not in words:
        raise NotOffered(name)
    column = {"type": "float", "lower": task["lower"], "upper": task["upper"]}
    table = {"row_privacy": True, "rows": len(values), "censor_dims": False, "x": column}
    frame = pd.DataFrame({"x": values})
    # epsilon is spent on each column of the rewritten query: an average is a sum and a count
    parts = {"mean": 2, "variance": 3, "standard_deviation": 3}.get(name, 1)
    privacy = Privacy(epsilon=task["epsilon"] / parts, delta=1e-9)
    reader = snsql.from_df(frame, metadata={"": {"S": {"T": table}}}, privacy=privacy)
    text = f"SELECT {words[name]} AS y FROM S.T"
    return lambda: float(reader.execute(text)[1][0])


SLOW = {"smartnoise": 30}  # it copies the frame into SQLite for every answer: so many runs at most
LIBRARIES = {"opendp": opendp, "diffprivlib": diffprivlib, "pydp": pydp, "smartnoise": smartnoise}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=sorted(LIBRARIES))
    name = parser.parse_args().library
    library = LIBRARIES[name]
    for line in sys.stdin:
        task = json.loads(line)
        try:
            release = library(task, np.load(task["path"]))
            answer = {"releases": [release() for _ in range(min(task["runs"], SLOW.get(name, 10**9)))]}
        except NotOffered as reason:
            answer = {"not_offered": str(reason)}
        except Exception as error:
            answer = {
                "error": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150] if str(error) else ''}"
            }
        print(json.dumps(answer, default=float), flush=True)


if __name__ == "__main__":
    main()
