"""Whatever is legal gives no warning, and finite answers within their intervals: the smallest and largest bounds and
prices, and rows of every kind. Warnings are errors in all tests."""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from deniable.errors import DeniableError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.covariances import Correlation, Covariance
from deniable.statistics.means import Mean
from deniable.statistics.statistic import Statistic
from deniable.statistics.sums import Sum
from deniable.statistics.variances import StandardDeviation, Variance
from deniable.statistics.vectors.covariance import VectorCovariance
from deniable.statistics.vectors.mean import VectorMean

BOUNDS: list[object] = [(-1e75, 1e75), (-1e-150, 1e-150), (1e16, 1e16 + 2), "auto"]
PRICES = [{"epsilon": 1}, {"epsilon": 1e15}, {"epsilon": 1e-3, "delta": 1e-300}, {"rho": 1e-12}, {"rho": 1e6}]
ROWS = [[], [np.nan, 3.0], [np.inf, -np.inf, 0.0], [1e300, -1e300, 5e-324, 1e16]]
ONE: dict[str, Callable[..., Statistic]] = {
    each.__name__: partial(each) for each in (Mean, Sum, Variance, StandardDeviation)
}
ONE["Variance, rows 3"] = partial(Variance, rows=3)
DEVIATIONS = {"1": 1, "tiny": 1e-75, "huge": 1e75}


def pair(kind: type[Covariance], *, bounds: object, **options: object) -> Statistic:
    return kind(bounds=[bounds, (0, 1)], **options)  # type: ignore[list-item, arg-type]


def vectors(kind: Callable[..., Statistic], deviations: object, *, bounds: object, **options: object) -> Statistic:
    given = ["auto" if deviations == "auto" and bounds == "auto" else 1, 1] if deviations == "auto" else deviations
    return kind(bounds=[bounds, (0, 1)], deviations=given, **options)


TWO: dict[str, Callable[..., Statistic]] = {each.__name__: partial(pair, each) for each in (Covariance, Correlation)}
TWO |= {
    f"{each.__name__}, deviations {word}": partial(vectors, each, deviations)
    for each in (VectorMean, VectorCovariance)
    for word, deviations in {**DEVIATIONS, "auto": "auto"}.items()
}


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_extremes_give_no_warning(name: str, bounds: object) -> None:
    made = 0
    for number, price in enumerate(PRICES):
        relation = (AddRemove, Replace)[number % 2]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made += answers({**ONE, **TWO}[name], bounds, relation, 1 if name in ONE else 2, price)
    assert made or bounds != "auto"


def answers(
    make: Callable[..., Statistic], bounds: object, relation: Relation, columns: int, price: dict[str, object]
) -> bool:
    """Whether it is legal; if so, expected errors and answers are numbers."""
    try:
        statistic = make(bounds=bounds, relation=relation, **price)
    except DeniableError:
        return False
    for size in (0, 1, 1000, 10**300):
        assert np.isfinite(statistic.expected_error(size))
    for rows in ROWS:
        column = np.array(rows, dtype=np.float64)
        units = None if statistic.rows == 1 else np.arange(len(rows)) // 2
        values = column if columns == 1 else np.column_stack([column] * 2)
        answer = statistic(values, units=units, bits=DeterministicBits(3))
        for level in (0.5, 0.95):
            for name, (lower, upper) in answer.intervals(level).items():
                assert np.isfinite(answer[name]).all()
                assert (lower <= answer[name]).all()
                assert (answer[name] <= upper).all()
    return True
