"""The same questions asked of deniable and of other libraries: lines of code, error at an equal budget, time.

python benchmarks/query/peers.py --home FOLDER [--rows 500000] [--ngrams reddit_ngrams.parquet] [--only NAME]

FOLDER holds a virtual environment for each library: opendp (opendp[polars] 0.16), snsql
(smartnoise-sql 1.0), pipedp (pipeline-dp 0.3 with python-dp), tmlt (tmlt.analytics 0.21, which needs Java); those that
are missing are left out. Every library answers in a process of its own, once, with its import and the reading of the
file on the clock. Lines are those of the function here, without its first and without docstrings.

Questions, each at epsilon 1, and delta 1e-7 where the library asks for one, with the user as unit:
  totals: count and sum of `value`, clamped to [0, 200], by 50 public regions, at most 10 rows of a user.
  median: the median of `value` by 50 public regions, likewise; 2 rows in each of 10 regions, where a library bounds
      rows by region alone.
  ngrams: which bigrams occur in posts, found privately, at most 10 or 100 of a user; epsilon 3, delta 1e-5.
Every user of the table has 10 rows in regions at random, so that bounding them costs nobody accuracy. Errors are
relative to the exact answer: the root mean square over the regions, of one run.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answer = list[tuple[Any, ...]]
OF_USER = int(os.environ.get("NGRAMS_OF_USER", "100"))


def deniable_totals(path: str) -> Answer:
    import deniable as dn

    columns = {"region": dn.Keys(range(50)), "value": dn.Number(lower=0, upper=200)}
    db = dn.connect(path, name="t", unit="user_id", total_rows=10, budget=dn.Budget(epsilon=1), columns=columns)
    answer = db.sql("SELECT region, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY region", epsilon=1)
    return answer.to_pandas()[["region", "n", "s"]].values.tolist()


def deniable_median(path: str) -> Answer:
    import deniable as dn

    columns = {"region": dn.Keys(range(50)), "value": dn.Number(lower=0, upper=200)}
    db = dn.connect(path, name="t", unit="user_id", rows=2, groups=10, budget=dn.Budget(epsilon=1), columns=columns)
    answer = db.sql("SELECT region, MEDIAN(value) AS m FROM t GROUP BY region", epsilon=1)
    return answer.to_pandas()[["region", "m"]].values.tolist()


def deniable_ngrams(path: str) -> Answer:
    import deniable as dn

    db = dn.connect(path, name="t", unit="author_id", groups=OF_USER, budget=dn.Budget(epsilon=3, delta="1e-5"))
    answer = db.sql("SELECT ngram FROM t GROUP BY ngram", epsilon=3, delta="1e-5")
    return answer.to_pandas()[["ngram"]].values.tolist()


def opendp_totals(path: str) -> Answer:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("user_id", "region", "value"),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["region"], max_length=10_000_000, max_groups=50, invariant="keys")],
    )
    value = pl.col("value").fill_nan(0.0).fill_null(0.0)
    keys = pl.LazyFrame({"region": list(range(50))}, schema={"region": pl.Int32})
    query = context.query().truncate_per_group(10).group_by("region")
    query = query.agg(dp.len(signed=True).alias("n"), value.dp.sum((0.0, 200.0)).alias("s")).with_keys(keys)
    return query.release().collect().select("region", "n", "s").rows()


def opendp_median(path: str) -> Answer:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("user_id", "region", "value"),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["region"], max_length=10_000_000, max_groups=50, invariant="keys")],
    )
    value = pl.col("value").fill_nan(0.0).fill_null(0.0)
    keys = pl.LazyFrame({"region": list(range(50))}, schema={"region": pl.Int32})
    query = context.query().truncate_per_group(10).group_by("region")
    query = query.agg(value.dp.quantile(0.5, [place / 10 for place in range(2001)]).alias("m")).with_keys(keys)
    return query.release().collect().select("region", "m").rows()


def opendp_ngrams(path: str) -> Answer:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("author_id", "ngram"),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("author_id")),
        privacy_loss=dp.loss_of(epsilon=3.0, delta=1e-5),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["ngram"], max_length=1_000_000, max_groups=1_000_000)],
    )
    query = context.query().truncate_per_group(OF_USER).group_by("ngram").agg(dp.len().alias("n"))
    return query.release().collect().select("ngram").rows()


def snsql_totals(path: str) -> Answer:
    import pandas as pd
    from snsql import Privacy, from_df

    facts = {"row_privacy": False, "max_ids": 10, "sample_max_ids": True, "censor_dims": False, "rows": 1_000_000}
    user, region = {"type": "int", "private_id": True}, {"type": "int", "lower": 0, "upper": 49}
    table = facts | {"user_id": user, "region": region, "value": {"type": "float", "lower": 0.0, "upper": 200.0}}
    data = pd.read_parquet(path, columns=["user_id", "region", "value"])
    # its epsilon is that of a column of the answer: two here
    reader = from_df(data, metadata={"": {"S": {"T": table}}}, privacy=Privacy(epsilon=0.5, delta=1e-7))
    return reader.execute("SELECT region, COUNT(*) AS n, SUM(value) AS s FROM S.T GROUP BY region")[1:]


def pipedp_totals(path: str) -> Answer:
    import operator

    import pipeline_dp as p
    import pyarrow.parquet as pq

    columns = pq.read_table(path, columns=["user_id", "region", "value"])
    rows = list(zip(*(column.to_pylist() for column in columns.columns), strict=True))
    accountant = p.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-7)
    read = {"privacy_id_extractor": 0, "partition_extractor": 1, "value_extractor": 2}
    parameters = p.AggregateParams(
        metrics=[p.Metrics.COUNT, p.Metrics.SUM],
        noise_kind=p.NoiseKind.GAUSSIAN,
        max_partitions_contributed=10,
        max_contributions_per_partition=2,
        min_value=0.0,
        max_value=200.0,
    )
    extractors = p.DataExtractors(**{name: operator.itemgetter(place) for name, place in read.items()})
    engine = p.DPEngine(accountant, p.LocalBackend())
    answer = engine.aggregate(rows, parameters, extractors, public_partitions=list(range(50)))
    accountant.compute_budgets()
    return [(region, found.count, found.sum) for region, found in answer]


def pipedp_median(path: str) -> Answer:
    import operator

    import pipeline_dp as p
    import pyarrow.parquet as pq

    columns = pq.read_table(path, columns=["user_id", "region", "value"])
    rows = list(zip(*(column.to_pylist() for column in columns.columns), strict=True))
    accountant = p.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-7)
    read = {"privacy_id_extractor": 0, "partition_extractor": 1, "value_extractor": 2}
    parameters = p.AggregateParams(
        metrics=[p.Metrics.PERCENTILE(50)],
        noise_kind=p.NoiseKind.GAUSSIAN,
        max_partitions_contributed=10,
        max_contributions_per_partition=2,
        min_value=0.0,
        max_value=200.0,
    )
    extractors = p.DataExtractors(**{name: operator.itemgetter(place) for name, place in read.items()})
    engine = p.DPEngine(accountant, p.LocalBackend())
    answer = engine.aggregate(rows, parameters, extractors, public_partitions=list(range(50)))
    accountant.compute_budgets()
    return [(region, found[0]) for region, found in answer]


def pipedp_ngrams(path: str) -> Answer:
    import operator

    import pipeline_dp as p
    import pyarrow.parquet as pq

    columns = pq.read_table(path, columns=["author_id", "ngram"])
    rows = list(zip(*(column.to_pylist() for column in columns.columns), strict=True))
    accountant = p.NaiveBudgetAccountant(total_epsilon=3.0, total_delta=1e-5)
    strategy = p.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING
    parameters = p.SelectPartitionsParams(max_partitions_contributed=OF_USER, partition_selection_strategy=strategy)
    extractors = p.DataExtractors(
        privacy_id_extractor=operator.itemgetter(0), partition_extractor=operator.itemgetter(1)
    )
    answer = p.DPEngine(accountant, p.LocalBackend()).select_partitions(rows, parameters, extractors)
    accountant.compute_budgets()
    return [(key,) for key in answer]


def _tumult(path: str, unit: str, columns: list[str], budget: Any) -> Any:
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddRowsWithID, Session

    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp())
    spark = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "3g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(path).select(*columns)
    change = AddRowsWithID(id_column=unit)
    return Session.from_dataframe(privacy_budget=budget, source_id="t", dataframe=rows, protected_change=change)


def tmlt_totals(path: str) -> Answer:
    from tmlt.analytics import KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder

    session = _tumult(path, "user_id", ["user_id", "region", "value"], PureDPBudget(1))
    query = QueryBuilder("t").enforce(MaxRowsPerID(10)).groupby(KeySet.from_dict({"region": list(range(50))}))
    counts = session.evaluate(query.count(name="n"), PureDPBudget(0.5)).toPandas()
    sums = session.evaluate(query.sum("value", 0, 200, name="s"), PureDPBudget(0.5)).toPandas()
    return counts.merge(sums, on="region")[["region", "n", "s"]].values.tolist()


def tmlt_median(path: str) -> Answer:
    from tmlt.analytics import KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder

    session = _tumult(path, "user_id", ["user_id", "region", "value"], PureDPBudget(1))
    query = QueryBuilder("t").enforce(MaxRowsPerID(10)).groupby(KeySet.from_dict({"region": list(range(50))}))
    answer = session.evaluate(query.quantile("value", 0.5, 0, 200, name="m"), PureDPBudget(1)).toPandas()
    return answer[["region", "m"]].values.tolist()


def tmlt_ngrams(path: str) -> Answer:
    from tmlt.analytics import ApproxDPBudget, MaxRowsPerID, QueryBuilder

    session = _tumult(path, "author_id", ["author_id", "ngram"], ApproxDPBudget(3, 1e-5))
    query = QueryBuilder("t").enforce(MaxRowsPerID(OF_USER)).get_groups(["ngram"])
    return session.evaluate(query, ApproxDPBudget(3, 1e-5)).toPandas().values.tolist()


LIBRARIES = {
    "deniable": "deniable",
    "opendp": "OpenDP with Polars",
    "snsql": "SmartNoise SQL",
    "pipedp": "PipelineDP",
    "tmlt": "Tumult Analytics",
}
ASKED: dict[str, Callable[[str], Answer]] = {
    name: found for name, found in globals().items() if name.partition("_")[0] in LIBRARIES and callable(found)
}


def make(rows: int, path: str) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20261123)
    columns = {
        "user_id": rng.permutation(rows) // 10,
        "region": rng.integers(0, 50, rows, dtype=np.int32),
        "value": rng.lognormal(3.0, 1.0, rows),
    }
    pq.write_table(pa.table(columns), path)


def truth(path: str, question: str) -> dict[int, tuple[float, ...]]:
    import duckdb

    value = "least(greatest(value, 0), 200)"
    what = f"count(*), sum({value})" if question == "totals" else f"median({value})"
    return {row[0]: row[1:] for row in duckdb.sql(f"SELECT region, {what} FROM '{path}' GROUP BY 1").fetchall()}


def errors(answer: Answer, exact: dict[int, tuple[float, ...]]) -> list[float]:
    """Root mean squares of relative errors, one for each number of a group."""
    found = {int(row[0]): row[1:] for row in answer}
    gaps = [[(found[key][place] / value - 1) ** 2 for place, value in enumerate(exact[key])] for key in exact]
    return [(sum(each) / len(each)) ** 0.5 for each in zip(*gaps, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--home", type=Path, default=Path(".peers"))
    parser.add_argument("--ngrams", default="../shared/data/reddit_ngrams.parquet")
    parser.add_argument("--only", default="")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        began = time.perf_counter()
        answer = ASKED[options.serve[0]](options.serve[1])
        seconds = time.perf_counter() - began
        plain = [[value.item() if hasattr(value, "item") else value for value in row] for row in answer]
        print("\n" + json.dumps([seconds, plain], default=float))
        return
    folder = tempfile.TemporaryDirectory()
    table = f"{folder.name}/t.parquet"
    make(options.rows, table)
    print("| question | library | lines | seconds | error |\n|---|---|---|---|---|")
    for part in ("totals", "median", "ngrams 10", "ngrams 100"):
        question, _, of_user = part.partition(" ")
        for name, title in LIBRARIES.items():
            asked = f"{name}_{question}"
            python = Path(sys.executable) if name == "deniable" else options.home / name / "bin" / "python"
            if asked not in ASKED or not python.exists() or options.only not in asked:
                continue
            path = options.ngrams if question == "ngrams" else table
            command = [str(python), "-W", "ignore", __file__, "--serve", asked, path]
            given = {**os.environ, "PYSPARK_PYTHON": str(python), "NGRAMS_OF_USER": of_user or "0"}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
            if done.returncode:
                print(f"| {part} | {title} | | | {done.stderr.strip().splitlines()[-1][:120]} |")
                continue
            seconds, answer = json.loads(done.stdout.strip().splitlines()[-1])
            source = inspect.getsource(ASKED[asked])
            source += inspect.getsource(_tumult) if name == "tmlt" else ""
            lines = sum(bool(line.strip()) and not line.startswith("def") for line in source.splitlines())
            said = f"{len(answer):,} keys"
            if question != "ngrams":
                said = ", ".join(f"{each:.2%}" for each in errors(answer, truth(table, question)))
            print(f"| {part} | {title} | {lines} | {seconds:.1f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
