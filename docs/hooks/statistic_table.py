"""The page docs/reference/statistics.md, made from the docstrings of the statistics."""

import inspect
import re
from collections.abc import Callable
from typing import Any

from mechanism_table import cells

from deniable import statistics
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen

Asking = Callable[..., Any]
"""A function that asks for a statistic, or the class behind one of its methods."""

FAMILIES: dict[str, tuple[Asking, ...]] = {
    "Counts": (
        statistics.count,
        statistics.histogram,
        statistics.cumulative_distribution,
        statistics.key_counts,
        statistics.top_k,
        statistics.mode,
    ),
    "Sums and moments": (
        statistics.sum,
        statistics.mean,
        statistics.variance,
        statistics.standard_deviation,
        statistics.covariance,
        statistics.correlation,
    ),
    "Order": (
        statistics.median,
        statistics.quantile,
        statistics.quantiles,
        statistics.interquartile_range,
        statistics.minimum,
        statistics.maximum,
    ),
    "Vectors without tight bounds": (statistics.vector_mean, statistics.vector_covariance),
    "Methods of linear_regression": (SufficientRegression, AdaptiveRidge, TheilSen),
    "Hypothesis tests": (
        statistics.one_sample_t_test,
        statistics.two_sample_t_test,
        statistics.anova,
        statistics.mann_whitney,
        statistics.binomial_test,
        statistics.chi_squared_fit,
        statistics.chi_squared_independence,
        statistics.subsampled_test,
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


def section(statistic: Asking, name: str) -> str:
    """What the docstring says under this heading; of a class, or else that of the nearest class above that has it."""
    for kind in getattr(statistic, "__mro__", (statistic,)):
        found = re.search(rf"^{name}:((?:.*\n?)(?:[ ]+\S.*\n?)*)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE)
        if found:
            return " ".join(found[1].split()).rstrip(".")
    return ""


def _row(statistic: Asking) -> str:
    purpose = (statistic.__doc__ or "").partition("\n")[0].rstrip(".")
    return cells(f"`{statistic.__name__}`", purpose, section(statistic, "Guarantee"))


def _sources(statistic: Asking) -> str:
    proof = re.sub(r"docs/theory/(\w+)/(\w+)\.md", r"[\2](../theory/\1/\2.md)", section(statistic, "Proof"))
    return cells(f"`{statistic.__name__}`", proof, section(statistic, "Source"))
