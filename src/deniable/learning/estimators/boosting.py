"""Gradient-boosted trees of one feature each: an additive model."""

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
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import PrivacyLoss, Relation, of_count
from deniable.privacy.notions.gaussian_dp import largest_mu_squared
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import Container, silence, without_rows
from deniable.statistics.statistic import checked_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Residuals: TypeAlias = Callable[[], Callable[[Floats], Floats]]

_LATTICE_STEPS = 2**20  # to the longest residual
_COUNTS = 10  # one tenth of mu^2 buys the counts of bins
# Rows of a leaf per standard deviation of its sum, and least number of leaves: chosen on training rows of Adult.
_ROWS_PER_DEVIATION = 8
_MIN_LEAVES = 3


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """Noise of a fit, on the counts of bins and on the sums of residuals.

    Counts are released once a feature, sums once a round and feature.

    Args:
        counter: noise on counts.
        summer: noise on sums of residuals, in lattice steps.
        radius: of the longest residual.
        loss: of all of them together.
    """

    counter: Gaussian
    summer: Gaussian
    radius: float
    loss: PrivacyLoss

    @classmethod
    def of(cls, price: Price, *, features: int, rounds: int, bins: int, outputs: int, relation: Relation) -> "_Noise":
        """Return the noise that a price buys.

        Args:
            price: of the fit.
            features, rounds: of the model.
            bins: the largest number of bins of a feature.
            outputs: numbers in a residual.
            relation: AddRemove or Replace.
        """
        radius = 1.0 if outputs == 1 else math.sqrt(2)
        kind = "mu_squared" if price.rho is None else "rho"
        budget = price.rho or largest_mu_squared(price.epsilon, price.delta)
        counting = of_count(rows=1, groups=1, cells=bins, relation=relation)
        summing = of_ball_sum(radius=_LATTICE_STEPS, dimensions=bins * outputs, rows=1, relation=relation)
        counter = Gaussian.calibrated(counting, **{kind: budget / _COUNTS / features})
        noise = Gaussian.calibrated(summing, **{kind: budget * (_COUNTS - 1) / _COUNTS / features / rounds})
        loss = counter.privacy_loss(counting) * features + noise.privacy_loss(summing) * (features * rounds)
        return cls(counter=counter, summer=noise, radius=radius, loss=loss)

    @property
    def unit(self) -> float:
        """One lattice step, in the unit of residuals."""
        return self.radius / _LATTICE_STEPS

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a sum, in the unit of residuals."""
        return self.unit * self.summer.standard_deviation()

    def counts(self, exact: Integers, bits: Bits) -> Floats:
        """Return noisy counts, at least 0."""
        return np.maximum(self.counter.release(exact, bits=bits).value.astype(np.float64), 0.0)

    def sums(self, residuals: Floats, leaf: Integers, leaves: int, bits: Bits) -> Floats:
        """Return noisy sums of clipped residuals by leaf, in lattice steps.

        Shape (leaves, outputs).
        """
        whole = clipped(residuals, radius=self.radius, steps=_LATTICE_STEPS)
        totals = [np.bincount(leaf, weights=column, minlength=leaves) for column in whole.T]
        exact = np.column_stack(totals).astype(np.int64)
        return self.summer.release(exact, bits=bits).value.astype(np.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class _Boosting(Priced):
    """Base class of boosting with trees of one feature each, in turn.

    Leaves move by a noisy sum of residuals over a noisy count. A leaf is one bin, or some neighbours between random
    cuts if noisy counts show that noise would hide single bins.
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
        """Draw the contribution of one feature to the prediction.

        By bin or category; needs matplotlib.

        Args:
            feature: its index.
            ax: matplotlib axes; new ones by default.
        """
        from deniable.privacy.reports.plot import axes_for

        self._check_fitted()
        feature = whole_number("feature", feature, lower=0, upper=len(self.feature_values_) - 1)
        axes = axes_for(ax)
        names = self.bins_.names(feature)
        axes.step(range(len(names)), self.feature_values_[feature], where="mid")
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize="small")
        axes.set(xlabel=f"feature {feature}", ylabel="added to the prediction")
        return axes

    def _sums(self, X: Container) -> Floats:
        """Return the intercept plus contributions of features, (rows, outputs)."""
        self._check_fitted(X)
        with silence():
            codes = self.bins_.codes(X)
            parts = [part[code] for part, code in zip(self.feature_values_, codes.T, strict=True)]
        return sum(parts, np.tile(self.intercept_, (len(codes), 1)))

    def _boosted(self, X: Container, outputs: int, curvature: float, goal: Residuals, more: dict[str, Any]) -> Work:
        """Return the work of a fit.

        Args:
            X: private rows.
            outputs: numbers in a residual; residuals are cut to a norm of sqrt(2), or 1 for one output.
            curvature: a typical one of the loss.
            goal: reads the targets, and returns the function from sums to residuals.
            more: further attributes of the fitted model.
        """
        price = Price.of(self.epsilon, self.delta, self.rho)
        relation = Relation.checked(self.relation)
        if price.rho is None and not price.delta:
            raise InvalidParameterError("this number of sums needs delta, for example 1e-6, or rho, with epsilon")
        rounds = whole_number("rounds", self.rounds, lower=1)
        rate = float(positive_rational("learning_rate", self.learning_rate))
        bins = Bins.of(self.bounds, self.categories, self.bins, X)
        features = len(bins.edges)
        largest = int(bins.sizes.max())
        noise = _Noise.of(price, features=features, rounds=rounds, bins=largest, outputs=outputs, relation=relation)

        def train(bits: Bits) -> dict[str, Any]:
            codes = bins.codes(X)
            residuals = goal()
            exact = [np.bincount(code, minlength=size) for size, code in zip(bins.sizes, codes.T, strict=True)]
            counts = [noise.counts(each, bits) for each in exact]
            values = [np.zeros((size, outputs)) for size in bins.sizes]
            sums = np.zeros((len(codes), outputs))
            for feature in [*range(features)] * rounds:
                code = codes[:, feature]
                leaf = _leaves(counts[feature], ordered=bool(bins.ordered[feature]), noise=noise, bits=bits)
                noisy = noise.sums(residuals(sums), leaf[code], int(leaf[-1]) + 1, bits)
                rows = np.bincount(leaf, weights=counts[feature])
                # Leaves with few rows are shrunk towards 0.
                step = (rate * noise.unit * noisy / (curvature * rows + noise.deviation)[:, np.newaxis])[leaf]
                values[feature] += step
                sums += step[code]
            return {**more, "bins_": bins, "n_features_in_": features, **_centred(values, counts)}

        how = f"{rounds} rounds over {features} features, with Gaussian noise on the sum of residuals of each bin."
        return self._work(how, price.stated(noise.loss), train)


def _leaves(counts: Floats, *, ordered: bool, noise: _Noise, bits: Bits) -> Integers:
    """Return the leaf of each bin.

    Leaves are neighbours between random cuts if noise would hide single bins.
    """
    bins = len(counts)
    leaves = int(np.clip(counts.sum() / (_ROWS_PER_DEVIATION * noise.deviation), _MIN_LEAVES, bins))
    leaf = np.arange(bins)
    if leaves < bins and ordered:
        cuts = np.argsort(simulation.uniforms((bins - 1,), bits=bits))[: leaves - 1]
        leaf = np.cumsum(np.isin(leaf, cuts + 1))
    return leaf


def _centred(values: Sequence[Floats], counts: Sequence[Floats]) -> dict[str, Any]:
    """Return values of bins relative to their means, and the sum of the means."""
    pairs = zip(values, counts, strict=True)
    means = [np.average(part, axis=0, weights=count + 1e-9) for part, count in pairs]
    return {"intercept_": np.sum(means, axis=0), "feature_values_": tuple(map(np.subtract, values, means))}


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingClassifier(_Boosting, Classifier):
    """Predict one of several declared classes by boosted trees of one feature each.

    The model is additive and readable: after a fit, `feature_values_` holds the contribution of each bin of each
    feature to the logits, of shape (bins, 1) for two classes and (bins, classes) for more, and `intercept_` the rest.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one for each, None for those that are categories.
        classes: all labels that may occur. Rows with another one contribute a zero residual.
        epsilon, delta, rho: the price of the fit: epsilon with delta, or rho.
        relation: AddRemove or Replace.
        categories: all values of each feature whose bounds are None, by its index.
        rounds: the number of trees of each feature.
        learning_rate: of each tree.
        bins: of equal width between the bounds of each number; one more is for missing values.

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
        """Return the probability of each class, shape (rows, classes).

        Args:
            X: rows, of shape (rows, features).
        """
        return probabilities(self._sums(X))

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        labels = Labels.of(self.classes, y)
        classes = len(labels.classes)

        def residuals() -> Callable[[Floats], Floats]:
            indices = labels.indices(y)
            one_hot = np.eye(classes + 1)[indices][:, :classes]
            known = (indices < classes)[:, np.newaxis]
            first = 1 if classes == 2 else 0  # two classes have one output
            return lambda sums: ((one_hot - probabilities(sums)) * known)[:, first:]

        outputs = 1 if classes == 2 else classes
        return self._boosted(X, outputs, 1 / 4, residuals, {"classes_": np.array(labels.classes)})


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingRegressor(_Boosting, Regressor):
    """Predict a number by boosted trees of one feature each.

    Args:
        target_bounds: a pair (lower, upper): public bounds of the target.
        bounds, epsilon, delta, rho, relation, categories, rounds, learning_rate, bins: as in
            `GradientBoostingClassifier`.

    Guarantee and source are those of the classifier; a residual counts as at most half of the width of these bounds.

    >>> from deniable.learning import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(bounds=[(0, 10)], target_bounds=(0, 100), epsilon=1, delta="1e-6")
    >>> bool(15 < model.fit([[2], [8]] * 2000, [20, 80] * 2000).predict([[2]])[0] < 25)
    True
    """

    target_bounds: tuple[Real, Real]
    range_: tuple[float, float] = field(init=False)

    def predict(self, X: Container) -> Floats:
        """Return the predicted number of each row, within `target_bounds`.

        Args:
            X: rows, of shape (rows, features).
        """
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
