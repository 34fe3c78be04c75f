"""Table of what is possible, what is impossible and what `deniable` attains."""

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from deniable import layout
from deniable.limits.learning import iterated_logarithm
from deniable.limits.marginals import marginals_error
from deniable.limits.packing import histogram_error, packed_error, threshold_error
from deniable.limits.questions import gaussian_noise
from deniable.limits.two_points import local_floor, mean_error, size_of
from deniable.numbers.rationals import Real, positive_rational, probability, whole_number
from deniable.privacy import ApproximateLoss, PureLoss

_HEADINGS = ("task", "error", "possible", "impossible below", "deniable", "source")
_FAILURE = Fraction(1, 20)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Limits of one task: what is possible, impossible, and attained by the library.

    Args:
        task, error: what is released, and what is measured; errors are shares of the rows.
        possible: the rate of the best mechanism that is known.
        impossible: no mechanism has an error below this on all tables; None where only the growth is known.
        deniable: the error of the library's mechanism.
        source: of both.
    """

    task: str
    error: str
    possible: str
    impossible: float | None
    deniable: float
    source: str

    @property
    def factor(self) -> float | None:
        """Library's error over what is proved impossible; None if that is 0 or unknown."""
        return self.deniable / self.impossible if self.impossible else None


@dataclass(frozen=True)
class LimitTable:
    """Table of limits, as text, HTML (in notebooks) and JSON."""

    title: str
    rows: tuple[Limit, ...]

    def __str__(self) -> str:
        return "\n".join([self.title, *layout.aligned([_HEADINGS, *map(_shown, self.rows)])])

    def _repr_html_(self) -> str:
        return layout.table(map(_shown, self.rows), heads=_HEADINGS, caption=self.title)

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {"title": self.title, "rows": [asdict(row) | {"factor": row.factor} for row in self.rows]}

    def to_json(self) -> str:
        """Return the table as JSON text."""
        return json.dumps(self.to_data())


def table(*, n: int, columns: int, epsilon: Real, delta: Real = 0, values: int = 1000) -> LimitTable:
    """Return what is possible, impossible and attained, for tasks on n rows.

    Args:
        n: rows, public; privacy is under replace.
        columns: of zeros and ones, whose means are released together.
        epsilon, delta: of each task by itself; with delta 0 the rows for approximate privacy are left out.
        values: that a column of categories, or of whole numbers, can have.

    Guarantee: what is called impossible is proved (docs/theory/limits/lower_bounds.md); largest errors are those
        exceeded with probability 5%.

    >>> print(table(n=10_000, columns=20, epsilon=1))  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    10000 rows, epsilon = 1, delta = 0, under replace; errors as shares of the rows
    task   error   possible   impossible below   deniable   source
    ...
    >>> all(row.factor > 1 for row in table(n=10_000, columns=20, epsilon=1, delta="1e-6").rows if row.factor)
    True
    """
    rows, width = size_of("n", n), size_of("columns", columns)
    size = whole_number("values", values, lower=3, upper=10**9)
    budget, failure = positive_rational("epsilon", epsilon), probability("delta", delta)
    scale = 1 / (rows * float(budget))
    miss = float(_FAILURE)
    pure = PureLoss(budget)
    maximum = "largest of all"
    limits = [
        Limit(
            task="mean of one column",
            error="expected",
            possible="1 / (n epsilon): Laplace; staircase noise is best",
            impossible=mean_error(pure, rows=rows),
            deniable=scale,
            source="Le Cam; Geng, Viswanath (2014)",
        ),
        Limit(
            task=f"means of {width} columns",
            error=maximum,
            possible="columns / (n epsilon): norms of the cube",
            impossible=packed_error(pure, sets=2 ** min(width, 999), rows=rows, failure=_FAILURE),
            deniable=width * scale * math.log(width / miss),
            source="Hardt, Talwar (2010); Steinke, Ullman (2015)",
        ),
        Limit(
            task=f"histogram of {size} cells",
            error=maximum,
            possible="ln(cells) / (n epsilon): Laplace",
            impossible=histogram_error(pure, rows=rows, cells=size, failure=_FAILURE),
            deniable=2 * scale * math.log(size / miss),
            source="Hardt, Talwar (2010)",
        ),
        Limit(
            task=f"threshold among {size} values",
            error="share of wrong rows",
            possible="ln(values) / (n epsilon): exponential mechanism",
            impossible=threshold_error(pure, rows=rows, domain=size, failure=_FAILURE),
            deniable=2 * scale * math.log(size / miss),
            source="Beimel, Kasiviswanathan, Nissim (2010); Kasiviswanathan and others (2008)",
        ),
        Limit(
            task="mean, from local reports",
            error="standard, with sampling",
            possible="1 / (sqrt(n) epsilon): randomized response",
            impossible=local_floor(rows, epsilon=budget),
            deniable=0.5 / math.tanh(float(budget) / 2) / math.sqrt(rows),
            source="Duchi, Jordan, Wainwright (2013)",
        ),
    ]
    if failure:
        limits += _approximate(rows, width, size, budget, failure)
    price = f"epsilon = {float(budget):g}, delta = {float(failure):g}"
    title = f"{rows} rows, {price}, under replace; errors as shares of the rows"
    return LimitTable(title, tuple(sorted(limits, key=lambda row: row.task)))


def _approximate(rows: int, width: int, size: int, epsilon: Fraction, delta: Fraction) -> list[Limit]:
    """Return the tasks that a delta makes easier."""
    loss = ApproximateLoss(epsilon, delta)
    miss = float(_FAILURE)
    scale = 1 / (rows * float(epsilon))
    cell = gaussian_noise(size, epsilon, delta, changed=2) / rows * math.sqrt(2 * math.log(size / miss))
    return [
        Limit(
            task=f"means of {width} columns, with delta",
            error="root mean square",
            possible="sqrt(columns ln(1 / delta)) / (n epsilon): Gaussian",
            impossible=marginals_error(loss, rows=rows, columns=width),
            deniable=gaussian_noise(width, epsilon, delta) / rows,
            source="Bun, Ullman, Vadhan (2014)",
        ),
        Limit(
            task=f"histogram of {size} cells, with delta",
            error="largest of all",
            possible="min(ln(cells), ln(1 / delta)) / (n epsilon): stability",
            impossible=histogram_error(loss, rows=rows, cells=size, failure=_FAILURE),
            deniable=min(2 * scale * math.log(size / miss), cell),
            source="Bun, Nissim, Stemmer (2016)",
        ),
        Limit(
            task=f"threshold among {size} values, with delta",
            error="share of wrong rows",
            possible=f"about log*(values) = {iterated_logarithm(size)}, / (n epsilon)",
            impossible=None,
            deniable=2 * scale * math.log(size / miss),
            source="Bun, Nissim, Stemmer, Vadhan (2015); Cohen and others (2023)",
        ),
    ]


def _shown(row: Limit) -> tuple[str, ...]:
    impossible = "growth only" if row.impossible is None else f"{row.impossible:.3g}"
    return (row.task, row.error, row.possible, impossible, f"{row.deniable:.3g}", row.source)
