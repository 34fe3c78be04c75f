"""One function for all linear regressions."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_integer
from deniable.privacy import AddRemove, Relation
from deniable.release import Release
from deniable.rows import Container
from deniable.statistics.bounds import for_each_column
from deniable.statistics.call import asks
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.linear import Regression
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen
from deniable.statistics.statistic import BoundsLike, Options, release

METHODS: dict[str, type[Regression]] = {
    "sufficient": SufficientRegression,
    "ada_ssp": AdaptiveRidge,
    "theil_sen": TheilSen,
}


_NOISY_SUMS = 0.005  # expected error of the sums above which medians are often better, ...
_SHARP_MEDIANS = 0.06  # ... and expected rank error of the medians up to which they are sharp


def regression(
    *,
    bounds: Sequence[BoundsLike],
    target_bounds: BoundsLike,
    method: Literal["auto", "sufficient", "ada_ssp", "theil_sen"] = "auto",
    size: int | None = None,
    matchings: int | None = None,
    interval: float | None = 0.95,
    epsilon: Real | None = None,
    delta: Real = 0,
    rho: Real | None = None,
    relation: Relation = AddRemove,
    rows: int = 1,
) -> Regression:
    """Return the regression by this method; parameters as of `linear_regression`."""
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        raise InvalidParameterError(f"method must be one of auto, {', '.join(METHODS)}, got {method!r}")
    public: dict[str, Any] = {
        **{"bounds": bounds, "target_bounds": target_bounds},
        **{"epsilon": epsilon, "delta": delta, "rho": rho, "relation": relation, "rows": rows},
    }
    medians = {**public, "interval": interval} | ({} if matchings is None else {"matchings": matchings})
    if method == "auto":
        about = None if size is None else positive_integer("size", size)
        method = "sufficient" if about is None or interval is not None else _best(about, public, medians)
    if method == "theil_sen":
        return TheilSen(**medians)
    if matchings is not None:
        raise InvalidParameterError(f"matchings is for method='theil_sen', and this is {method!r}")
    return METHODS[method](**public)


@asks(regression)
def linear_regression(
    features: Container,
    target: Container,
    *,
    bounds: BoundsLike | Sequence[BoundsLike],
    target_bounds: BoundsLike,
    method: Literal["auto", "sufficient", "ada_ssp", "theil_sen"] = "auto",
    size: int | None = None,
    matchings: int | None = None,
    interval: float | None = 0.95,
    **options: Unpack[Options],
) -> Release:
    """Return the noisy coefficients of a linear regression, the intercept first.

    Args:
        features: a table of private numbers, or one column.
        target: one column of private numbers.
        bounds: for each feature a public pair (lower, upper), or "auto"; the word "auto" alone stands for all.
        target_bounds: a public pair (lower, upper), or "auto".
        method: "sufficient" for least squares (`SufficientRegression`); "ada_ssp" for many features (`AdaptiveRidge`);
            "theil_sen" for one feature with outliers (`TheilSen`). "auto" is "sufficient", but "theil_sen" for one
            feature where, for that many rows at this price, sums are noisy and medians are sharp already: about 150 to
            1,200 / epsilon rows, under replace 200 to 2,400 / epsilon. It takes them with interval=None alone, because
            their interval is half of the price. Name "sufficient" where scatter is skewed, as medians are another line
            there, and where most rows may have one value of the feature: pairs of equal features are of no use.
        size: about how many rows there are, from public knowledge; "auto" needs it to consider "theil_sen".
        matchings: for "theil_sen" alone, how many times rows are paired; 10 if left out.
        interval: for "theil_sen" alone, the level of its intervals, or None to spend the whole price on the estimates;
            the other methods have intervals at every level at no further cost.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of the method, in `deniable.statistics.regression`.
    Proof: docs/theory/statistics/regression.md.

    >>> import deniable as dn
    >>> answer = dn.statistics.linear_regression(
    ...     [1, 2, 3, 4], [1.1, 2.3, 2.9, 4.2], bounds=[(0, 5)], target_bounds=(0, 5), epsilon=1
    ... )
    """
    public = {"bounds": for_each_column(bounds, features), "target_bounds": target_bounds}
    own = {"method": method, "size": size, "matchings": matchings, "interval": interval}
    return release(regression, (features, target), public | own, options)


def _best(size: int, public: Mapping[str, Any], medians: Mapping[str, Any]) -> Literal["sufficient", "theil_sen"]:
    """Return the better method for `size` rows, by public numbers alone.

    The thresholds are from benchmarks/results/statistics-regression.md.
    """
    sums = SufficientRegression(**public)
    if sums.features > 1 or sums.expected_error(size) < _NOISY_SUMS:
        return "sufficient"
    return "theil_sen" if TheilSen(**medians).expected_error(size) <= _SHARP_MEDIANS else "sufficient"
