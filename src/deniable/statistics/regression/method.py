"""One function for all linear regressions."""

from typing import Any, Literal, Unpack

from deniable.errors import InvalidParameterError
from deniable.release import Release
from deniable.statistics.call import in_words
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.linear import Regression
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen
from deniable.statistics.statistic import Options, release

METHODS: dict[str, type[Regression]] = {
    "sufficient": SufficientRegression,
    "ada_ssp": AdaptiveRidge,
    "theil_sen": TheilSen,
}


@in_words
def linear_regression(
    features: object,
    target: object,
    *,
    bounds: object,
    target_bounds: object,
    method: Literal["sufficient", "ada_ssp", "theil_sen"] = "sufficient",
    **options: Unpack[Options],
) -> Release:
    """The coefficients of target = intercept + sum of slope * feature, one a row.

    Args:
        features: a table, or one column.
        target: one column.
        bounds: for each feature a pair (lower, upper), or "auto".
        target_bounds: a pair (lower, upper), or "auto".
        method: "sufficient" for least squares (`SufficientRegression`), the best choice for most data; "ada_ssp" for
            many features (`AdaptiveRidge`); "theil_sen" for one feature with outliers (`TheilSen`).

    >>> import deniable as dn
    >>> answer = dn.statistics.linear_regression(
    ...     [1, 2, 3, 4], [1.1, 2.3, 2.9, 4.2], bounds=[(0, 5)], target_bounds=(0, 5), epsilon=1
    ... )
    """
    if method not in METHODS:
        raise InvalidParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    parameters: dict[str, Any] = {"bounds": bounds, "target_bounds": target_bounds}
    return release(METHODS[method], (features, target), parameters, options)
