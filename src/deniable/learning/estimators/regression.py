"""Linear and ridge regression with scikit-learn's conventions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from deniable.learning.estimators.estimator import Priced, Regressor, Work, same_length
from deniable.learning.estimators.reading import Bounds, Features, targets
from deniable.learning.losses import products
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real
from deniable.rows import Container, silence, without_rows
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.linear import Regression
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.statistic import checked_bounds


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(Priced, Regressor):
    """Predict a number by least squares, from noisy sums of products.

    This is `statistics.linear_regression` as an estimator. All values are cut to their bounds. A row in which one is
    no number is left out under add/remove, and has the middle of the bounds there under replace.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        target_bounds: a pair (lower, upper) for the values to predict.
        epsilon, delta, rho, relation: what the fit may cost, as in `StandardScaler`.

    Guarantee: `cost_`, that of the statistic. `coef_` and `intercept_` are in the units of the columns.
    Source: Vu, Slavkovic (2009); Wang (2018), arXiv:1803.02596, for `Ridge`.

    >>> from deniable.learning import LinearRegression
    >>> rows = np.array([[3.0], [4.0], [6.0], [9.0]] * 5000)
    >>> model = LinearRegression(bounds=(0, 10), target_bounds=(0, 30), epsilon=1, delta="1e-6")
    >>> print(model.fit(rows, 3 * rows[:, 0]).predict([[5.0]]).round())
    [15.]
    """

    _statistic: ClassVar[type[Regression]] = SufficientRegression
    bounds: Bounds
    target_bounds: tuple[Real, Real]
    coef_: Floats = field(init=False)
    intercept_: float = field(init=False)

    def predict(self, X: Container) -> Floats:
        """The predicted number of each row, within the declared bounds."""
        self._check_fitted(X)
        with silence():
            features, ends = self._fitted
            values = products(features.cut(X), self.coef_[np.newaxis])[:, 0] + self.intercept_
        return np.asarray(np.clip(values, *ends))

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        features = Features.of(self.bounds, X)
        ends = checked_bounds(self.target_bounds)
        targets(without_rows(y), ends)
        pairs = tuple(zip(features.lower.tolist(), features.upper.tolist(), strict=True))
        price: Any = {"epsilon": self.epsilon, "delta": self.delta or 0, "rho": self.rho, "relation": self.relation}
        statistic = self._statistic(bounds=pairs, target_bounds=ends, **price)

        def train(bits: Bits) -> Mapping[str, Any]:
            coefficients = np.asarray(statistic((X, y), bits=bits)["coefficient"], dtype=np.float64)
            return {"coef_": coefficients[1:], "intercept_": float(coefficients[0]), "n_features_in_": features.count,
                    "_fitted": (features, ends)}  # fmt: skip

        return self._work(f"one call of {statistic.name}, whatever the rows were.", statistic.privacy_loss, train)


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(LinearRegression):
    """Predict a number by ridge regression (AdaSSP).

    The ridge is no larger than the noise needs.

    The smallest eigenvalue of the second moments is released first, and the ridge is what it lacks. This is
    `statistics.linear_regression(method="ada_ssp")` as an estimator.

    Args:
        bounds, target_bounds, epsilon, delta, rho, relation: as in `LinearRegression`.

    >>> from deniable.learning import Ridge
    >>> model = Ridge(bounds=(0, 10), target_bounds=(0, 30), epsilon=1, delta="1e-6")
    >>> rows = np.array([[3.0], [4.0], [6.0], [9.0]] * 5000)
    >>> print(model.fit(rows, 3 * rows[:, 0]).predict([[5.0]]).round())
    [15.]
    """

    _statistic = AdaptiveRidge
