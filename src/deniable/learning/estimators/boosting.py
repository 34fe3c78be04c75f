"""Gradient-boosted trees of one feature each, with noise on every sum of residuals: an additive model."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.bins import Bins, Categories, Columns
from deniable.learning.estimators.estimator import Classifier, Priced, Regressor, Work, same_length
from deniable.learning.estimators.logistic import probabilities
from deniable.learning.estimators.reading import Labels, targets
from deniable.mechanisms import Gaussian
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import clipped
from deniable.noise import simulation
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import Relation, of_count
from deniable.privacy.notions.gaussian_dp import largest_mu_squared
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import Container, silence, without_rows
from deniable.statistics.statistic import checked_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Residuals: TypeAlias = Callable[[], Callable[[Floats], Floats]]

_STEPS = 2**20  # of the lattice, to the longest residual
_COUNTS = 10  # one part in so many of mu^2 buys the counts of bins
_HIDDEN, _FEWEST = 8, 3  # rows of a leaf per standard deviation of its sum; leaves: chosen on training rows of Adult


@dataclass(kw_only=True, eq=False, repr=False)
class _Boosting(Priced):
    """Trees of one feature each, in turn, whose leaves move by a noisy sum of residuals over a noisy count.

    A leaf is one bin, or some neighbours between random cuts where noisy counts tell that noise would hide single bins.
    Leaves with few rows are shrunk. Sums cost the same whatever the number of leaves, because a row is in one of them.
    """

    bounds: Columns
    categories: Categories | None = None
    rounds: int = 40
    learning_rate: Real = "1/10"
    bins: int = 16
    feature_values_: tuple[Floats, ...] = field(init=False)
    intercept_: Floats = field(init=False)
    bins_: Bins = field(init=False)

    def plot(self, feature: int, *, ax: "Axes | None" = None) -> "Axes":
        """Draw what one feature, given by its place, adds to the prediction, by bin or category; needs matplotlib."""
        from deniable.privacy.reports.plot import axes_for

        self._check_fitted()
        feature = whole_number("feature", feature, lower=0, upper=len(self.feature_values_) - 1)
        axes, names = axes_for(ax), self.bins_.names(feature)
        axes.step(range(len(names)), self.feature_values_[feature], where="mid")
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize="small")
        axes.set(xlabel=f"feature {feature}", ylabel="added to the prediction")
        return axes

    def _sums(self, X: Container) -> Floats:
        """The intercept plus what each feature adds, of shape (rows, outputs)."""
        self._check_fitted(X)
        with silence():
            codes = self.bins_.codes(X)
            parts = [part[code] for part, code in zip(self.feature_values_, codes.T, strict=True)]
        return sum(parts, np.tile(self.intercept_, (len(codes), 1)))

    def _boosted(self, X: Container, outputs: int, curvature: float, goal: Residuals, more: dict[str, Any]) -> Work:
        """The work of a fit to targets that `goal` reads; it gives what turns sums into residuals.

        Residuals are cut to a norm of sqrt(2), or 1 for one output; `curvature` is a typical one of the loss.
        """
        price, relation = Price.of(self.epsilon, self.delta, self.rho), Relation.checked(self.relation)
        if price.rho is None and not price.delta:
            raise InvalidParameterError("so many sums need delta, for example 1e-6, or rho, with epsilon")
        rounds = whole_number("rounds", self.rounds, lower=1)
        speed = float(positive_rational("learning_rate", self.learning_rate))
        bins = Bins.of(self.bounds, self.categories, self.bins, X)
        features, most = len(bins.edges), int(bins.sizes.max())
        radius = 1.0 if outputs == 1 else math.sqrt(2)
        kind = "mu_squared" if price.rho is None else "rho"
        budget = price.rho or largest_mu_squared(price.epsilon, price.delta)
        counting = of_count(rows=1, groups=1, cells=most, relation=relation)
        summing = of_ball_sum(radius=_STEPS, dimensions=most * outputs, rows=1, relation=relation)
        counter = Gaussian.calibrated(counting, **{kind: budget / _COUNTS / features})
        noise = Gaussian.calibrated(summing, **{kind: budget * (_COUNTS - 1) / _COUNTS / features / rounds})
        loss = counter.privacy_loss(counting) * features + noise.privacy_loss(summing) * (features * rounds)
        unit, shrink = radius / _STEPS, radius / _STEPS * noise.standard_deviation()

        def train(bits: Bits) -> dict[str, Any]:
            codes, residuals = bins.codes(X), goal()
            exact = [np.bincount(code, minlength=size) for size, code in zip(bins.sizes, codes.T, strict=True)]
            counts = [np.maximum(counter.release(each, bits=bits).value.astype(np.float64), 0.0) for each in exact]
            values = [np.zeros((size, outputs)) for size in bins.sizes]
            sums = np.zeros((len(codes), outputs))
            for place in [*range(features)] * rounds:
                code, size = codes[:, place], bins.sizes[place]
                few = int(np.clip(counts[place].sum() / (_HIDDEN * shrink), _FEWEST, size))
                leaf = np.arange(size)
                if few < size and bins.ordered[place]:
                    cuts = np.argsort(simulation.uniforms((size - 1,), bits=bits))[: few - 1]
                    leaf = np.cumsum(np.isin(leaf, cuts + 1))
                whole = clipped(residuals(sums), radius=radius, steps=_STEPS)
                totals = [np.bincount(leaf[code], weights=column, minlength=leaf[-1] + 1) for column in whole.T]
                noisy = noise.release(np.column_stack(totals).astype(np.int64), bits=bits).value.astype(np.float64)
                rows = np.bincount(leaf, weights=counts[place])
                step = (speed * unit * noisy / (curvature * rows + shrink)[:, np.newaxis])[leaf]
                values[place] += step
                sums += step[code]
            pairs = zip(values, counts, strict=True)
            middles = [np.average(part, axis=0, weights=count + 1e-9) for part, count in pairs]
            return {**more, "bins_": bins, "n_features_in_": features, "intercept_": np.sum(middles, axis=0),
                    "feature_values_": tuple(map(np.subtract, values, middles))}  # fmt: skip

        how = f"{rounds} rounds over {features} features, with Gaussian noise on the sum of residuals of each bin."
        return self._work(how, price.stated(loss), train)


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingClassifier(_Boosting, Classifier):
    """Predict one of several declared classes by boosted trees of one feature each: an additive, readable model.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one for each, None for those that are categories.
        classes: all labels that may occur. A row with another one pushes nowhere.
        epsilon, delta, rho, relation: what the fit may cost: epsilon with delta, or rho; under AddRemove or Replace.
        categories: all values of each feature whose bounds are None, by its place.
        rounds, learning_rate: how many trees each feature gets; of each of them.
        bins: how many bins of equal width there are between the bounds of each number; one more is for what is missing.

    After a fit, `feature_values_` holds what each bin of each feature adds to the log odds, of shape (bins, 1) for two
    classes and (bins, classes) for more, and `intercept_` the rest.

    Guarantee: `cost_`, the composition of Gaussian noise on all counts and sums. A row is in one bin of each
        feature, so it moves counts by 1 and each sum of residuals by their largest norm; under replace see
        `of_ball_sum`. Residuals are functions of released trees.
    Source: Nori, Caruana, Bu, Shen, Kulkarni (2021), "Accuracy, interpretability, and differential privacy via
        explainable boosting", with as many leaves as the noise allows, and shrinkage.

    >>> from deniable.learning import GradientBoostingClassifier
    >>> rows, labels = [["a", 1], ["a", 9], ["b", 1], ["b", 9]] * 500, ["low", "low", "low", "high"] * 500
    >>> model = GradientBoostingClassifier(bounds=[None, (0, 10)], categories={0: ["a", "b"]}, epsilon=2, delta="1e-6",
    ...                                    classes=["low", "high"])
    >>> model.fit(rows, labels).predict([["b", 9], ["a", 1]]).tolist()
    ['high', 'low']
    """

    classes: Sequence[object]

    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""
        return probabilities(self._sums(X))

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        labels = Labels.of(self.classes, y)
        classes = len(labels.classes)

        def residuals() -> Callable[[Floats], Floats]:
            places = labels.places(y)
            wanted, known = np.eye(classes + 1)[places][:, :classes], (places < classes)[:, np.newaxis]
            return lambda sums: ((wanted - probabilities(sums)) * known)[:, int(classes == 2) :]

        outputs = 1 if classes == 2 else classes
        return self._boosted(X, outputs, 1 / 4, residuals, {"classes_": np.array(labels.classes)})


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingRegressor(_Boosting, Regressor):
    """Predict a number by boosted trees of one feature each: an additive, readable model.

    Args:
        target_bounds: a pair (lower, upper): public bounds of what is predicted. All else: as in the classifier.

    Guarantee and source are those of the classifier; a residual counts as at most half of the width of these bounds.

    >>> from deniable.learning import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(bounds=[(0, 10)], target_bounds=(0, 100), epsilon=1, delta="1e-6")
    >>> bool(15 < model.fit([[2], [8]] * 2000, [20, 80] * 2000).predict([[2]])[0] < 25)
    True
    """

    target_bounds: tuple[Real, Real]
    range_: tuple[float, float] = field(init=False)

    def predict(self, X: Container) -> Floats:
        """The predicted number of each row, within `target_bounds`."""
        shares = (self._sums(X)[:, 0] + 1) / 2
        lower, upper = self.range_
        return np.clip(lower + shares * (upper - lower), lower, upper)

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        lower, upper = checked_bounds(self.target_bounds, "target_bounds")
        targets(without_rows(y), (lower, upper))

        def residuals() -> Callable[[Floats], Floats]:
            wanted = (targets(y, (lower, upper)) - lower)[:, np.newaxis] * 2 / (upper - lower) - 1
            return lambda sums: wanted - sums

        return self._boosted(X, 1, 1.0, residuals, {"range_": (lower, upper)})
