"""The page docs/reference/statistics.md, made from the docstrings of the statistics."""

import inspect
import re

from mechanism_table import cells

from deniable import statistics
from deniable.statistics.statistic import Statistic

FAMILIES: dict[str, tuple[type[Statistic], ...]] = {
    "Counts": (
        statistics.Count,
        statistics.Histogram,
        statistics.CumulativeDistribution,
        statistics.KeyCounts,
        statistics.TopK,
        statistics.Mode,
    ),
    "Sums and moments": (
        statistics.Sum,
        statistics.Mean,
        statistics.Variance,
        statistics.StandardDeviation,
        statistics.Covariance,
        statistics.Correlation,
    ),
    "Order": (
        statistics.Median,
        statistics.Quantile,
        statistics.Quantiles,
        statistics.InterquartileRange,
        statistics.Minimum,
        statistics.Maximum,
    ),
    "Vectors without tight bounds": (statistics.VectorMean, statistics.VectorCovariance),
    "Lines": (statistics.SufficientRegression, statistics.AdaptiveRidge, statistics.TheilSen),
    "Hypothesis tests": (
        statistics.OneSampleTTest,
        statistics.TwoSampleTTest,
        statistics.Anova,
        statistics.MannWhitney,
        statistics.BinomialTest,
        statistics.ChiSquaredFit,
        statistics.ChiSquaredIndependence,
        statistics.SubsampledTest,
    ),
}

HEADER = """# Statistics

<!-- Made by `make pages`. Do not edit. -->

Every statistic takes a price, a relation, and `rows`, the number of rows of one unit that count. It costs its price,
under either relation; the guarantee says why. [The Python reference](api/statistics.md) has the parameters of each, and
[the guide](../guide/statistics.md) helps to choose.
"""
COLUMNS = "| statistic | what it answers | guarantee |\n|---|---|---|\n"
SOURCES = """
## Proofs and sources

| statistic | proof | source |
|---|---|---|
"""


def page() -> str:
    """The page as Markdown text."""
    families = "".join(
        f"\n## {family}\n\n{COLUMNS}" + "".join(map(_row, members)) for family, members in FAMILIES.items()
    )
    return HEADER + families + SOURCES + "".join(_sources(one) for members in FAMILIES.values() for one in members)


def section(statistic: type[Statistic], name: str) -> str:
    """What the docstring says under this heading, or else that of the nearest class above that has it."""
    for kind in statistic.__mro__:
        found = re.search(rf"^{name}:((?:.*\n?)(?:[ ]+\S.*\n?)*)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE)
        if found:
            return " ".join(found[1].split()).rstrip(".")
    return ""


def _row(statistic: type[Statistic]) -> str:
    purpose = (statistic.__doc__ or "").partition("\n")[0].rstrip(".")
    return cells(f"`{statistic.__name__}`, `{statistic.name}`", purpose, section(statistic, "Guarantee"))


def _sources(statistic: type[Statistic]) -> str:
    proof = re.sub(r"docs/theory/(\w+)/(\w+)\.md", r"[\2](../theory/\1/\2.md)", section(statistic, "Proof"))
    return cells(f"`{statistic.__name__}`", proof, section(statistic, "Source"))
