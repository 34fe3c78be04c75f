"""Linear classifiers by noisy gradient descent.

The sums of gradients are exact products of integer matrices.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.clips import Clip
from deniable.learning.estimators.estimator import Classifier, Work, same_length
from deniable.learning.estimators.reading import Bounds, Features, Labels
from deniable.learning.plan import TrainingPlan, TrainingRun
from deniable.learning.samplers import Poisson
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import chunks, clipped, squared_norms
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import AddRemove, PrivacyLoss
from deniable.rows import Container, silence

_LATTICE_STEPS = 2**28  # to the norm of a gradient: 2^14 for a row, times 2^14
_LARGE_SAMPLE = 10_000  # rows times epsilon from which gradients are clipped less, and steps are more
_MOMENTUM = 0.9
_STEPS_PER_CENTRING = 10  # one step in ten releases the sum of rows: chosen on validation rows
_CONSTANT = 0.3  # of the norm of a centred row
_RATE_FACTOR, _RATE_POWER = 1.2, 0.7  # of the learning rate: see `_learning_rate`
_MAX_EXACT = 2**52  # floats hold integers up to twice this
_MAX_ROWS_PER_PRODUCT = 2**20  # so that sums of products stay below 2^53


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """Map from rows to the integer vectors of a linear classifier.

    Rows are scaled, extended by a constant and divided by their norm, then cut around a public centre. Both maps keep
    every linear boundary of the scaled features, but for the cut.

    Args:
        features: their public bounds.
        steps: lattice steps to a norm of 1; a power of two of at most 2^15.
        centre: of shape (features + 1,); None before it is known.
        radius: rows further than this from the centre are moved to it.
    """

    features: Features
    steps: int
    centre: Floats | None = None
    radius: float = 1.0

    @property
    def columns(self) -> int:
        """Number of integers in a row of `integers`."""
        return self.features.count + 1 + (self.centre is not None)

    def around(self, mean: Floats, deviation: float) -> "IntegerRows":
        """Return the map around a noisy mean of rows.

        The mean is shrunk by the expected share of noise in its squared length.

        Args:
            mean: of unit vectors, with noise.
            deviation: of the noise in each entry.
        """
        squared = float(mean @ mean)
        noise = len(mean) * deviation**2
        shrinkage = max(0.0, 1 - noise / max(squared, noise, 1e-300))
        centre = mean * min(shrinkage, 1 / math.sqrt(max(squared, 1e-300)))
        return replace(self, centre=centre, radius=math.sqrt(max(1 - float(centre @ centre), 0.01)))

    def unit_vectors(self, values: object) -> Floats:
        """Return scaled rows with a constant, each divided by its norm.

        Each is computed by itself.
        """
        vectors = np.ones((len(values), self.features.count + 1))  # type: ignore[arg-type]
        vectors[:, :-1] = self.features.scaled(values)
        for part in chunks(vectors):
            np.divide(part, np.sqrt(squared_norms(part))[:, np.newaxis], out=part)
        return vectors

    def integers(self, unit_vectors: Floats) -> Floats:
        """Return integers as floats, each row with a norm of at most `steps`.

        Args:
            unit_vectors: as `unit_vectors` returns them.
        """
        inner = math.isqrt(self.steps**2 - self._constant**2)
        integers = np.full((len(unit_vectors), self.columns), float(self._constant))
        start = 0
        for part in chunks(unit_vectors):
            away = part if self.centre is None else part - self.centre
            rows = slice(start, start + len(part))
            integers[rows, : unit_vectors.shape[1]] = clipped(away, radius=self.radius, steps=inner)
            start += len(part)
        return integers

    @property
    def _constant(self) -> int:
        """Last entry of a centred row."""
        return 0 if self.centre is None else round(_CONSTANT * self.steps)


def predictions(rows: Floats, weights: Floats) -> Floats:
    """Return rows @ weights.T, exact: weights are rounded so that no sum is.

    Rows are integers. So it does not matter in which order a library adds them up: no row moves how another is rounded.
    By the inequality of Cauchy and Schwarz no partial sum exceeds 2^53. Norms of rows are at most 2^15, weights
    (outputs, columns).
    """
    longest = math.sqrt(float((weights**2).sum(axis=1).max()))
    multiplier = 2.0 ** math.floor(math.log2(_MAX_EXACT / 2**16 / max(longest, 2.0**-60)))
    return np.asarray((np.rint(weights * multiplier) @ rows.T / multiplier).T)


def gradient_sum(rows: Floats, residual_gradients: Floats, *, radius: float, steps: int) -> NDArray[np.int64]:
    """Return the sum of outer products of clipped residual gradients and rows.

    Guarantee: exact, and a row moves it by at most `steps` times its norm in l2: squared norms of clipped residual
        gradients are integers below 2^53, which floats hold, and so are sums over 2^20 rows, in any order.

    Args:
        rows: integers of norms of at most 2^15, of shape (rows, columns).
        residual_gradients: derivatives of each row's loss by its predictions, of shape (rows, outputs).
        radius: to which residual gradients are clipped.
        steps: lattice steps to the radius, at most 2^15.
    """
    total = np.zeros((residual_gradients.shape[1], rows.shape[1]), dtype=np.int64)
    factors = steps / np.maximum(np.sqrt(squared_norms(residual_gradients)), radius)
    whole = np.trunc(residual_gradients * factors[:, np.newaxis])
    whole = np.where((squared_norms(whole) <= steps**2)[:, np.newaxis], whole, 0.0)  # exact norms; NaN is not below
    for start in range(0, len(rows), _MAX_ROWS_PER_PRODUCT):
        part = slice(start, start + _MAX_ROWS_PER_PRODUCT)
        total += (whole[part].T @ rows[part]).astype(np.int64)
    return total


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(Classifier):
    """Base class of linear classifiers, by noisy descent around a centre.

    A tenth of the steps releases the sum of the rows, from which the centre is computed; the others are gradients.
    `coef_` has the weights of the scaled features around the centre, `intercept_` the prediction where all are 0.
    """

    bounds: Bounds
    classes: Sequence[object]
    expected_rows: int | None = None
    epsilon: Real | None = None
    delta: Real | None = None
    plan: TrainingPlan | None = None
    learning_rate: Real | None = None
    coef_: Floats = field(init=False)
    intercept_: Floats = field(init=False)
    _rows: IntegerRows = field(init=False)
    _weights: Floats = field(init=False)

    @property
    @abstractmethod
    def _curvature(self) -> float:
        """Largest second derivative of the loss of a row of norm 1."""

    @abstractmethod
    def _residual_gradients(self, logits: Floats, labels: NDArray[np.int64]) -> Floats:
        """Return the derivatives of each row's loss with respect to its predictions.

        Shape (rows, outputs).

        Zero for an undeclared label. There is one output for two classes. Labels are indices of the classes.
        """

    def decision_function(self, X: Container) -> Floats:
        """Return predictions: above 0 for the second of two classes.

        Args:
            X: rows, of shape (rows, features).

        Returns: shape (rows,) for two classes, else (rows, classes).
        """
        logits = self._logits(X)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def _logits(self, X: Container) -> Floats:
        """Return the predictions of each output, shape (rows, outputs)."""
        self._check_fitted(X)
        with silence():
            return predictions(self._rows.integers(self._rows.unit_vectors(X)), self._weights) / self._rows.steps

    def _planned(self, X: Container, y: Container | None) -> Work:
        rows = same_length(X, y)
        features = Features.of(self.bounds, X)
        labels = Labels.of(self.classes, y)
        outputs = 1 if len(labels.classes) == 2 else len(labels.classes)
        size = self._expected(rows)
        plan, loss = self._plan((features.count + 2) * outputs, rows, size)
        learning_rate = self._learning_rate(plan, size)
        plan.run(rows, expected_rows=size)  # a sampler or unit that does not fit is refused here

        def train(bits: Bits) -> dict[str, Any]:
            descent = _Descent(self, features, plan, size=size, learning_rate=learning_rate)
            mapped, weights = descent.run(X, labels.indices(y), bits)
            neutral = mapped.integers(mapped.unit_vectors(features.neutral[np.newaxis]))
            intercept = (predictions(neutral, weights) / mapped.steps)[0]
            return {
                "plan_": plan,
                "classes_": np.array(labels.classes),
                "n_features_in_": features.count,
                "coef_": weights[:, :-2],
                "intercept_": intercept,
                "_rows": mapped,
                "_weights": weights,
            }

        return Work(
            loss=loss, others=(plan.known_loss,), train=train, relation=plan.relation, unit=plan.unit.noun,
            how=f"{plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were.",
            delta="1e-6" if self.delta is None else self.delta,
        )  # fmt: skip

    def _plan(self, dimensions: int, rows: int, size: int) -> tuple[TrainingPlan, PrivacyLoss]:
        """Return the plan, and its loss as it is charged.

        Constants were chosen on validation rows.
        """
        if self.plan is not None:
            if self.epsilon is not None:
                raise InvalidParameterError("a plan has its own epsilon. Give the plan, or epsilon, not both.")
            own = self.plan
            flat = isinstance(own, TrainingPlan) and own.clip == Clip(norm=own.clip.norm, lattice=own.clip.lattice)
            if not flat or own.dimensions != dimensions:
                raise InvalidParameterError(
                    f"plan must be a TrainingPlan with dimensions={dimensions}: a weight for each feature and two "
                    "more, for each class if there are more than two; its clip has a norm and a lattice alone"
                )
            return own, own.booked("1e-6" if self.delta is None else self.delta)
        if self.epsilon is None or self.delta is None:
            raise InvalidParameterError("specify the budget: epsilon=1 with delta=1e-6, or a plan.")
        price = Price.of(self.epsilon, self.delta, None)
        if size * positive_rational("epsilon", self.epsilon) >= _LARGE_SAMPLE:
            return _calibrated(price, 120, Fraction(1, 2), dimensions)
        return _calibrated(price, 80, Fraction(1, 4), dimensions)

    def _expected(self, rows: int) -> int:
        """Return the public number of rows."""
        if self.expected_rows is not None:
            return whole_number("expected_rows", self.expected_rows, lower=1)
        if getattr(self.plan, "relation", AddRemove) is AddRemove:
            raise InvalidParameterError(
                "expected_rows must be the approximate number of rows, from public knowledge: under add/remove their "
                "number is private. Or give a plan with relation=Replace, where it is public."
            )
        return max(rows, 1)

    def _learning_rate(self, plan: TrainingPlan, size: int) -> float:
        """Return the learning rate, a public number.

        By default it is the larger, the less noise the steps have.

        The power and the factor were chosen on validation rows out of the training rows of three tables.
        """
        if self.learning_rate is not None:
            return float(positive_rational("learning_rate", self.learning_rate))
        signal_to_noise = size * math.sqrt(plan.steps) * float(plan.sampler.share() / plan.noise_multiplier)
        rate = _RATE_FACTOR * signal_to_noise**_RATE_POWER / (float(plan.clip.norm) * plan.steps)
        return float(min(rate, 4 * (1 + _MOMENTUM) / self._curvature))


@lru_cache(maxsize=64)
def _calibrated(price: Price, steps: int, norm: Fraction, dimensions: int) -> tuple[TrainingPlan, PrivacyLoss]:
    """Return the plan with the least noise for the price, and the loss charged."""
    assert price.epsilon is not None
    clip = Clip(norm=norm, lattice=_LATTICE_STEPS)
    plan = TrainingPlan.calibrate(
        epsilon=price.epsilon, delta=price.delta, steps=steps, dimensions=dimensions, clip=clip
    )
    return plan, price.stated(plan.privacy_loss)


class _Descent:
    """Noisy descent of a linear classifier.

    First steps find a centre of the rows, later ones are gradient steps around it.

    Args:
        model: gives residual gradients.
        features: of the rows.
        plan: of all steps.
        size: the public number of rows.
        learning_rate: of the gradient steps.
    """

    def __init__(
        self, model: LinearClassifier, features: Features, plan: TrainingPlan, *, size: int, learning_rate: float
    ) -> None:
        self._model = model
        self._features = features
        self._plan = plan
        self._size = size
        self._learning_rate = learning_rate
        # The lattice of a step is the product of two: one for rows, one for residual gradients.
        self._row_steps = 2 ** min((plan.clip.lattice.bit_length() - 1) // 2, 15)
        self._steps = min(plan.clip.lattice // self._row_steps, 2**15)
        self._expected = float(plan.sampler.share() * size * self._row_steps * self._steps)
        self._shape = plan.dimensions // (features.count + 2), features.count + 2  # outputs, columns
        self._centring_steps = plan.steps // _STEPS_PER_CENTRING

    def run(self, values: Container, labels: NDArray[np.int64], bits: Bits) -> tuple[IntegerRows, Floats]:
        """Return the map of rows around their centre, and averaged weights.

        The average is over the later half of the steps.
        """
        run = self._plan.run(len(labels), expected_rows=self._size, bits=bits)
        mapped = IntegerRows(self._features, self._row_steps)
        unit_vectors = mapped.unit_vectors(values)
        rows = mapped.integers(unit_vectors) if self._centring_steps else unit_vectors
        rows[labels == len(self._model.classes)] = 0.0
        mean = self._noisy_mean(run, rows)
        mapped = mapped.around(mean, self._deviation() if self._centring_steps else 0.0)
        return mapped, self._averaged_weights(run, mapped.integers(unit_vectors), labels)

    def _batch(self, run: TrainingRun) -> NDArray[np.int64] | None:
        """Return the rows of the next step, None for all of them."""
        batch = next(run)
        return None if self._plan.sampler == Poisson() else batch

    def _noisy(self, run: TrainingRun, exact: NDArray[np.int64]) -> Floats:
        """Return the noisy mean over the rows that are expected."""
        return run.noisy(exact)[0].astype(np.float64) / self._expected

    def _deviation(self) -> float:
        """Return the standard deviation of the noise in the mean of the rows."""
        plan = self._plan
        deviation = float(plan.noise_multiplier) * plan.clip.lattice / self._expected
        return deviation / math.sqrt(max(self._centring_steps, 1))

    def _noisy_mean(self, run: TrainingRun, rows: Floats) -> Floats:
        """Return the mean of noisy means of rows, over the first steps."""
        mean = np.zeros(self._features.count + 1)
        for _ in range(self._centring_steps):
            exact = np.zeros(self._shape, dtype=np.int64)
            exact[0, :-1] = _taken(rows, self._batch(run)).sum(axis=0).astype(np.int64) * self._steps
            mean += self._noisy(run, exact)[0, :-1] / self._centring_steps
        return mean

    def _averaged_weights(self, run: TrainingRun, rows: Floats, labels: NDArray[np.int64]) -> Floats:
        """Return the average of the weights in the later half of the steps.

        The steps are those of descent with momentum.
        """
        norm = float(self._plan.clip.norm)
        half = self._plan.steps // 2
        weights, move, total = np.zeros(self._shape), np.zeros(self._shape), np.zeros(self._shape)
        for step in range(self._centring_steps, self._plan.steps):
            batch = self._batch(run)
            part = _taken(rows, batch)
            logits = predictions(part, weights) / self._row_steps
            gradients = self._model._residual_gradients(logits, _taken(labels, batch))
            exact = gradient_sum(part, gradients, radius=norm, steps=self._steps)
            move = _MOMENTUM * move - self._learning_rate * norm * self._noisy(run, exact)
            weights = weights + move
            if step >= half:
                total += weights
        return np.asarray(total / (self._plan.steps - half))


def _taken(values: NDArray[Any], batch: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the rows of a batch; None stands for all of them, without a copy."""
    return values if batch is None else values[batch]
