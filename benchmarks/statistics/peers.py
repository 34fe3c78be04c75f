"""Errors of one peer library, for `accuracy.py`: run with that library's own Python, not with ours.

Reads tasks as JSON lines on standard input, as `scores.py` describes them, with the "effort" of `scores.measure`;
writes for each a line with the errors, or with the reason why there are none. Every library is called as its
documentation shows, with the row as the privacy unit and with what the relation makes public: the number of rows under
replace, nothing under add/remove.

What a library computes from the rows before it draws noise is computed once (OpenDP: a chain of a transformation and a
measurement is cut between them; PyDP: the rows are added once, and every release starts from that summary; SmartNoise:
`pre_aggregated`), so a million rows cost no more than a hundred. The laws of the releases are the same.
"""

import argparse
import json
import math
import sys
import warnings
from functools import lru_cache

import numpy as np
from scores import CHOSEN, POINTS, SHARES, TooSlow, dense, measure, truth

warnings.filterwarnings("ignore")
load = lru_cache(maxsize=4)(np.load)


class NotOffered(Exception):
    """The library has no such statistic for this relation."""


def kept(function):
    """Remember what is computed from the rows of a path, whatever the epsilon."""
    memory = {}

    def remembered(task, label, *rest):
        place = task["path"], task["statistic"], task["relation"], label
        if place not in memory:
            memory[place] = function(task, label, *rest)
        return memory[place]

    return remembered


@kept
def opendp_exact(task, _label, query):
    return query(load(task["path"]).tolist())


def least_scale(make, distance, epsilon):
    """The scale that costs epsilon, which is in inverse proportion to it; the library's own map confirms it."""
    scale = make(1.0).map(distance) / epsilon
    while not make(scale).check(distance, epsilon):
        scale *= 1 + 1e-12
    assert not make(scale * (1 - 1e-9)).check(distance, epsilon)
    return scale


def opendp(task, size):
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    lower, upper, epsilon, name = task["lower"], task["upper"], task["epsilon"], task["statistic"]
    sized = task["relation"] == "replace"
    distance, public = (2, {"size": size}) if sized else (1, {})  # of the symmetric metric
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False), **public), dp.symmetric_distance()
    bounded = plain >> dp.t.then_clamp((lower, upper))
    whole = dp.vector_domain(dp.atom_domain(T=int), **public), dp.symmetric_distance()

    def noisy(query, part, label):
        """Laplace noise for a part of epsilon on what the query finds."""
        scale = least_scale(lambda s: query >> dp.m.then_laplace(s), distance, part)
        noise = dp.m.make_laplace(query.output_domain, query.output_metric, scale)
        exact = opendp_exact(task, label, query)
        return lambda: noise(exact)

    if name in ("count", "sum", "mean"):
        if sized and name == "count":
            raise NotOffered("the count is public")
        if sized and name == "mean":
            return noisy(bounded >> dp.t.then_mean(), epsilon, "mean")
        part = epsilon / 2 if name == "mean" else epsilon  # as .dp.mean of its frames: a sum and a count
        total = noisy(bounded >> dp.t.then_sum(), part, "sum")
        count = noisy(plain >> dp.t.then_count(), part, "count")
        return {"count": count, "sum": total, "mean": lambda: total() / max(count(), 1)}[name]
    if name in ("variance", "standard_deviation"):
        if not sized:
            raise NotOffered("needs the number of rows")
        release = noisy(bounded >> dp.t.then_variance(ddof=0), epsilon, "variance")
        return release if name == "variance" else lambda: math.sqrt(max(release(), 0))
    if name in SHARES:
        candidates = np.linspace(lower, upper, POINTS).tolist()

        def quantile(share):
            scores = dp.t.make_quantile_score_candidates(*plain, candidates, share)

            def choice(scale):
                return dp.m.make_noisy_max(
                    scores.output_domain, scores.output_metric, dp.max_divergence(), scale, negate=True
                )

            part = epsilon / len(SHARES[name])
            scale = least_scale(lambda s: scores >> choice(s), distance, part)
            choose, exact = choice(scale), opendp_exact(task, share, scores)
            return lambda: candidates[choose(exact)]

        choices = [quantile(share) for share in SHARES[name]]
        if name == "interquartile_range":
            return lambda: choices[1]() - choices[0]()
        return lambda: [choose() for choose in choices]
    cells = task["cells"]
    query = dp.t.make_count_by_categories(*whole, categories=list(range(cells)), null_category=False)
    if name == "histogram":
        return noisy(query, epsilon, "counts")
    if name == "cumulative_distribution":
        counts, share = noisy(query, epsilon, "counts"), dp.t.make_cdf(TA=float)
        return lambda: share([float(max(count, 0)) for count in counts()])
    if name == "key_counts":
        counting = dp.t.make_count_by(*whole)

        def rule(scale, threshold):
            return counting >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)

        far = 2**30
        scale = dp.binary_search(lambda s: rule(s, far).map(distance)[0] <= epsilon, bounds=(1e-3, 1e6))
        fits = lambda t: rule(scale, t).map(distance)[1] <= task["delta"]  # noqa: E731
        threshold = distance + 1 if fits(distance + 1) else dp.binary_search(fits, bounds=(distance + 1, far))
        # OpenDP 0.16 publishes a key whose noisy count equals the threshold, but its delta is that of a count above it
        threshold += 1
        draw = dp.m.make_laplace_threshold(counting.output_domain, counting.output_metric, scale, threshold)
        exact = opendp_exact(task, "keys", counting)

        def release():
            found = draw(exact)
            return dense(list(found), list(found.values()), cells)

        return release
    if name in CHOSEN:
        exact = opendp_exact(task, "counts", query)
        domain = dp.vector_domain(dp.atom_domain(T=int), cells)
        # one row moves every count by 1 at most: all the same way under add/remove, two counts apart under replace
        metric = dp.linf_distance(T=int, monotonic=not sized)
        wanted = CHOSEN[name]

        def top(scale):
            if wanted == 1:
                return dp.m.make_noisy_max(domain, metric, dp.max_divergence(), scale)
            return dp.m.make_noisy_top_k(domain, metric, dp.max_divergence(), wanted, scale)

        choose = top(least_scale(top, 1, epsilon))
        return lambda: [choose(exact)] if wanted == 1 else choose(exact)
    raise NotOffered(name)


def diffprivlib(task, size):
    from diffprivlib import mechanisms, tools

    name, epsilon, cells = task["statistic"], task["epsilon"], task["cells"]
    sized, values = task["relation"] == "replace", load(task["path"])
    if name == "mode":
        counts = np.bincount(values, minlength=cells).tolist()
        choice = mechanisms.PermuteAndFlip(epsilon=epsilon, sensitivity=1, utility=counts, monotonic=not sized)
        return lambda: [choice.randomise()]
    if not sized:
        raise NotOffered("takes the number of rows as public")
    bounds = task["lower"], task["upper"]
    functions = {"sum": tools.sum, "mean": tools.mean, "variance": tools.var, "standard_deviation": tools.std}
    if name in functions:
        return lambda: float(functions[name](values, epsilon=epsilon, bounds=bounds))
    if name in SHARES:
        values = np.sort(values)
        shares = list(SHARES[name])
        if name == "interquartile_range":
            return lambda: float(np.diff(tools.quantile(values, shares, epsilon=epsilon, bounds=bounds))[0])
        return lambda: tools.quantile(values, shares, epsilon=epsilon, bounds=bounds)
    if name == "histogram":
        # its sensitivity of 1 is that of add/remove: half of what replace needs
        edges = (-0.5, cells - 0.5)
        return lambda: tools.histogram(values, epsilon=epsilon / 2, bins=cells, range=edges)[0]
    raise NotOffered(name)


@kept
def pydp_summary(task, _label, make):
    algorithm = make()
    algorithm.add_entries(load(task["path"]).astype(float).tolist())
    return algorithm.serialize()


def pydp(task, size):
    from pydp.algorithms import laplacian as dp
    from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy
    from pydp.algorithms.quantile_tree import QuantileTree

    if task["relation"] != "add/remove":
        raise NotOffered("add/remove only")
    lower, upper, epsilon, name = task["lower"], task["upper"], task["epsilon"], task["statistic"]
    common = {"epsilon": epsilon, "lower_bound": lower, "upper_bound": upper, "dtype": "float"}
    makes = {
        "count": lambda: dp.Count(epsilon=epsilon, dtype="float"),
        "sum": lambda: dp.BoundedSum(**common),
        "mean": lambda: dp.BoundedMean(**common),
        "variance": lambda: dp.BoundedVariance(**common),
        "standard_deviation": lambda: dp.BoundedStandardDeviation(**common),
        "median": lambda: dp.Percentile(percentile=0.5, **common),
        "quantile_90": lambda: dp.Percentile(percentile=0.9, **common),
        "minimum": lambda: dp.Min(**common),
        "maximum": lambda: dp.Max(**common),
    }
    if name in makes:
        summary = pydp_summary(task, name, makes[name])

        def release():
            algorithm = makes[name]()
            algorithm.merge(summary)
            return float(algorithm.result())

        return release
    if name in SHARES:
        tree = QuantileTree(lower, upper, 4, 16)
        for value in load(task["path"]).tolist():
            tree.add_entry(value)
        several = lambda: tree.compute_quantiles(epsilon, 0.0, 1, 1, list(SHARES[name]), "laplace")  # noqa: E731
        return (lambda: float(np.diff(several())[0])) if name == "interquartile_range" else several
    if name == "key_counts":
        counts = np.bincount(load(task["path"]), minlength=task["cells"])
        keys = np.flatnonzero(counts)
        makers = {}
        for key in keys:
            count = dp.Count(epsilon=epsilon / 2, dtype="float")
            count.add_entries([1.0] * int(counts[key]))
            makers[key] = count.serialize()

        def noisy(key):
            count = dp.Count(epsilon=epsilon / 2, dtype="float")
            count.merge(makers[key])
            return float(count.result())

        strategy = create_truncated_geometric_partition_strategy(epsilon / 2, task["delta"], 1)

        def keys_and_counts():
            chosen = [key for key in keys if strategy.should_keep(int(counts[key]))]
            return dense(chosen, [noisy(key) for key in chosen], task["cells"])

        return keys_and_counts
    raise NotOffered(name)


@lru_cache(maxsize=2)
def frame_of(path):
    import pandas as pd

    return pd.DataFrame({"x": np.load(path)})


@kept
def smartnoise_exact(task, _label, reader, query):
    return reader._get_reader(query)._execute_ast(query)


def smartnoise(task, size):
    import snsql
    from snsql import Privacy

    if task["relation"] != "add/remove":
        raise NotOffered("add/remove only")
    words = {
        "count": "COUNT(*) AS y FROM S.T",
        "sum": "SUM(x) AS y FROM S.T",
        "mean": "AVG(x) AS y FROM S.T",
        "variance": "VAR(x) AS y FROM S.T",
        "standard_deviation": "STDDEV(x) AS y FROM S.T",
        "key_counts": "x, COUNT(*) AS y FROM S.T GROUP BY x",
    }
    name = task["statistic"]
    if name not in words:
        raise NotOffered(name)
    keyed = name == "key_counts"
    column = {"type": "int"} if keyed else {"type": "float", "lower": task["lower"], "upper": task["upper"]}
    table = {"row_privacy": True, "rows": size, "censor_dims": keyed, "x": column}
    # epsilon is spent on each column of the rewritten query: an average is a sum and a count
    parts = {"mean": 2, "variance": 3, "standard_deviation": 3}.get(name, 1)
    privacy = Privacy(epsilon=task["epsilon"] / parts, delta=task["delta"] if keyed else 1e-9)
    reader = snsql.from_df(frame_of(task["path"]), metadata={"": {"S": {"T": table}}}, privacy=privacy)
    query = reader.parse_query_string(f"SELECT {words[name]}")
    for option in ("row_privacy", "censor_dims", "clamp_counts", "clamp_columns", "use_dpsu"):
        setattr(reader._options, option, getattr(query, option))
    reader._refresh_options()
    pair = reader._rewrite_ast(query)
    exact = smartnoise_exact(task, name, reader, pair[0])
    # the plan and its noise scales depend on nothing but the query: found once, not for every answer
    noises = reader._get_mechanisms(pair[0])
    reader._rewrite_ast, reader._get_mechanisms = (lambda _: pair), (lambda _: noises)

    def release():
        rows = reader._execute_ast(query, pre_aggregated=exact)[1:]
        if not keyed:
            return float(rows[0][0])
        return dense([row[0] for row in rows], [row[1] for row in rows], task["cells"])

    return release


LIBRARIES = {"opendp": opendp, "diffprivlib": diffprivlib, "pydp": pydp, "smartnoise": smartnoise}


def answer_of(library, task):
    values = load(task["path"])
    exact = truth(task, values)
    try:
        return measure(task, library(task, len(values)), exact, **task["effort"])
    except NotOffered:
        return {"none": ""}
    except TooSlow:
        return {"none": "too slow"}
    except Exception as error:
        words = str(error).strip().splitlines() or [""]
        return {"none": "fails", "why": f"{type(error).__name__}: {words[0][:100]}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=sorted(LIBRARIES))
    library = LIBRARIES[parser.parse_args().library]
    for line in sys.stdin:
        print(json.dumps(answer_of(library, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
