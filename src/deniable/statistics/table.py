"""The reference table of statistics, made from their docstrings: `python -m deniable.statistics.table [FILE]`."""

import inspect
import re
import sys
from dataclasses import fields

from deniable import statistics
from deniable.mechanisms.table import write
from deniable.statistics import Statistic

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

_HEADER = """# Statistics

<!-- Made by `python -m deniable.statistics.table docs/reference/statistics.md`. Do not edit. -->

Every statistic takes a price, a relation and `rows`, how many rows of one unit count, besides the parameters named here
([guide](../guide/statistics.md)). Each guarantee makes it cost its price, under either relation.
"""
_COLUMNS = """
| statistic | function | parameters | what it answers | guarantee | source | proof |
|---|---|---|---|---|---|---|
"""
_COMMON = {field.name for field in fields(Statistic)}


def table() -> str:
    """The page as Markdown text."""
    return _HEADER + "".join(
        f"\n## {family}\n{_COLUMNS}" + "".join(f"| {' | '.join(_row(statistic))} |\n" for statistic in members)
        for family, members in FAMILIES.items()
    )


def section(statistic: type[Statistic], name: str) -> str:
    """What the docstring says under this heading, or else that of the nearest class above that has it."""
    for kind in statistic.__mro__:
        found = re.search(rf"^{name}:((?:.*\n?)(?:[ ]+\S.*\n?)*)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE)
        if found:
            return " ".join(found[1].split())
    return ""


def _row(statistic: type[Statistic]) -> list[str]:
    own = [field.name for field in fields(statistic) if field.name not in _COMMON]
    purpose = (statistic.__doc__ or "").partition("\n")[0]
    proof = re.sub(r"docs/theory/(\w+)/(\w+)\.md", r"[\2](../theory/\1/\2.md)", section(statistic, "Proof"))
    texts = [purpose, section(statistic, "Guarantee"), section(statistic, "Source"), proof]
    cells = [f"`{statistic.__name__}`", f"`{statistic.name}`", ", ".join(f"`{name}`" for name in own)]
    return [cell.replace("|", r"\|") for cell in cells + [text.rstrip(".") for text in texts]]


def main(arguments: list[str]) -> None:
    """Write the page to the file named, or to standard output."""
    write(arguments, table(), subject="statistics")


if __name__ == "__main__":
    main(sys.argv[1:])
