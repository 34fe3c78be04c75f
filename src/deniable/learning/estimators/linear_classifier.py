"""Linear classifiers by noisy gradient descent, where the sums of gradients are exact products of integer matrices."""

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
from deniable.learning.plan import TrainingPlan
from deniable.learning.samplers import Poisson
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import chunks, clipped, squared_norms
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import AddRemove, PrivacyLoss
from deniable.rows import Container, silence

_LATTICE = 2**28
_MANY = 10_000  # rows times epsilon from which gradients are clipped less, and steps are more
_MOMENTUM = 0.9
_CENTRED = 10  # one step in so many releases the sum of rows
_CONSTANT = 0.3  # of the norm of a centred row
_SPEED, _GROWTH = 1.2, 0.7
_EXACT = 2**52  # floats hold integers up to twice this
_MOST_ROWS = 2**20  # in one product


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a linear classifier sees them: scaled, with a constant, at a norm of 1; then cut around a public centre.

    Both maps keep every linear boundary of the scaled features, but for the cut.

    Args:
        features, steps: public bounds; lattice steps to a norm of 1; a power of two of at most 2^15.
        centre: of shape (features + 1,); None before it is known.
        radius: rows further than this from the centre are moved to it.
    """

    features: Features
    steps: int
    centre: Floats | None = None
    radius: float = 1.0

    @property
    def columns(self) -> int:
        """Numbers in a row as `integers` gives it."""
        return self.features.count + 1 + (self.centre is not None)

    def around(self, mean: Floats, deviation: float) -> "Rows":
        """The same around a noisy mean of rows, shrunk by as much as noise of this deviation has made it longer."""
        squared, noise = float(mean @ mean), len(mean) * deviation**2
        centre = mean * min(max(0.0, 1 - noise / max(squared, noise, 1e-300)), 1 / math.sqrt(max(squared, 1e-300)))
        return replace(self, centre=centre, radius=math.sqrt(max(1 - float(centre @ centre), 0.01)))

    def units(self, values: object) -> Floats:
        """Scaled rows with a constant, each divided by its norm and by itself."""
        found = np.ones((len(values), self.features.count + 1))  # type: ignore[arg-type]
        found[:, :-1] = self.features.scaled(values)
        for part in chunks(found):
            np.divide(part, np.sqrt(squared_norms(part))[:, np.newaxis], out=part)
        return found

    def integers(self, units: Floats) -> Floats:
        """Floats that are integers, each row with a norm of at most `steps`, from rows as `units` gives them."""
        inner = math.isqrt(self.steps**2 - self._constant**2)
        found = np.full((len(units), self.columns), float(self._constant))
        start = 0
        for part in chunks(units):
            away = part if self.centre is None else part - self.centre
            found[start : start + len(part), : units.shape[1]] = clipped(away, radius=self.radius, steps=inner)
            start += len(part)
        return found

    @property
    def _constant(self) -> int:
        return 0 if self.centre is None else round(_CONSTANT * self.steps)


def predictions(rows: Floats, weights: Floats) -> Floats:
    """rows @ weights.T, where rows are integers; weights are rounded so that every product and sum is exact.

    So it does not matter in which order a library adds them up: no row moves how another is rounded. By the inequality
    of Cauchy and Schwarz no partial sum exceeds 2^53. Norms of rows are at most 2^15, weights (outputs, columns).
    """
    longest = math.sqrt(float((weights**2).sum(axis=1).max()))
    finest = 2.0 ** math.floor(math.log2(_EXACT / 2**16 / max(longest, 2.0**-60)))
    return np.asarray((np.rint(weights * finest) @ rows.T / finest).T)


def gradient_sum(rows: Floats, pulls: Floats, *, radius: float, steps: int) -> NDArray[np.int64]:
    """The sum over rows of pull_i row_i^T, with pulls clipped to `radius`, which is `steps` steps long.

    Guarantee: exact, and a row moves it by at most `steps` times its norm in l2: squared norms of clipped pulls are
        integers below 2^53, which floats hold, and so are sums over 2^20 rows, in whatever order they are added.

    Args:
        rows: integers of norms of at most 2^15, of shape (rows, columns).
        pulls, steps: derivatives of each row's loss by its predictions, of shape (rows, outputs); at most 2^15.
    """
    total = np.zeros((pulls.shape[1], rows.shape[1]), dtype=np.int64)
    whole = np.trunc(pulls * (steps / np.maximum(np.sqrt(squared_norms(pulls)), radius))[:, np.newaxis])
    whole = np.where((squared_norms(whole) <= steps**2)[:, np.newaxis], whole, 0.0)  # exact norms; NaN is not below
    for start in range(0, len(rows), _MOST_ROWS):
        part = slice(start, start + _MOST_ROWS)
        total += (whole[part].T @ rows[part]).astype(np.int64)
    return total


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(Classifier):
    """What linear classifiers share: a plan, a private centre of the rows, and noisy descent on a loss of predictions.

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
    _rows: Rows = field(init=False)
    _weights: Floats = field(init=False)

    @property
    @abstractmethod
    def _curvature(self) -> float:
        """The largest second derivative of the loss of a row of norm 1."""

    @abstractmethod
    def _pulls(self, found: Floats, labels: NDArray[np.int64]) -> Floats:
        """The derivative of each row's loss by its predictions, of shape (rows, outputs); 0 for an unknown label.

        There is one output for two classes. Labels are places among the classes.
        """

    def decision_function(self, X: Container) -> Floats:
        """Predictions, of shape (rows,) for two classes, above 0 for the second, else of shape (rows, classes)."""
        found = self._odds(X)
        return found[:, 0] if found.shape[1] == 1 else found

    def _odds(self, X: Container) -> Floats:
        self._check_fitted(X)
        with silence():
            return predictions(self._rows.integers(self._rows.units(X)), self._weights) / self._rows.steps

    def _planned(self, X: Container, y: Container | None) -> Work:
        rows = same_length(X, y)
        features, labels = Features.of(self.bounds, X), Labels.of(self.classes, y)
        outputs = 1 if len(labels.classes) == 2 else len(labels.classes)
        size = self._expected(rows)
        plan, loss = self._plan((features.count + 2) * outputs, rows, size)
        speed = self._speed(plan, size)
        plan.run(rows, expected_rows=size)  # a sampler or unit that does not fit is refused here

        def train(bits: Bits) -> dict[str, Any]:
            seen, weights = _descend(self, features, (X, labels.places(y)), plan, size=size, speed=speed, bits=bits)
            neutral = predictions(seen.integers(seen.units(features.neutral[np.newaxis])), weights) / seen.steps
            return {"plan_": plan, "classes_": np.array(labels.classes), "n_features_in_": features.count,
                    "coef_": weights[:, :-2], "intercept_": neutral[0], "_rows": seen, "_weights": weights}  # fmt: skip

        how = f"{plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were."
        relation, delta = plan.relation, "1e-6" if self.delta is None else self.delta
        others = (plan.known_loss,)
        return Work(loss=loss, how=how, train=train, relation=relation, delta=delta, unit=plan.unit.noun, others=others)

    def _plan(self, dimensions: int, rows: int, size: int) -> tuple[TrainingPlan, PrivacyLoss]:
        """The plan, and its loss as it is booked. Constants were found on validation rows out of training rows."""
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
            raise InvalidParameterError("say what the fit may cost: epsilon=1 with delta=1e-6, or a plan.")
        many = size * positive_rational("epsilon", self.epsilon) >= _MANY
        return _calibrated(Price.of(self.epsilon, self.delta, None), 120 if many else 80, 2 if many else 4, dimensions)

    def _expected(self, rows: int) -> int:
        if self.expected_rows is not None:
            return whole_number("expected_rows", self.expected_rows, lower=1)
        if getattr(self.plan, "relation", AddRemove) is AddRemove:
            raise InvalidParameterError(
                "expected_rows must be about how many rows there are, from public knowledge: under add/remove their "
                "number is private. Or give a plan with relation=Replace, where it is public."
            )
        return max(rows, 1)

    def _speed(self, plan: TrainingPlan, size: int) -> float:
        """The learning rate: by default such that all steps go the further, the less noise they have; a public number.

        The power and the factor were found on validation rows out of the training rows of three tables.
        """
        if self.learning_rate is not None:
            return float(positive_rational("learning_rate", self.learning_rate))
        told = size * math.sqrt(plan.steps) * float(plan.sampler.share() / plan.noise_multiplier)
        far = _SPEED * told**_GROWTH / (float(plan.clip.norm) * plan.steps)
        return float(min(far, 4 * (1 + _MOMENTUM) / self._curvature))


@lru_cache(maxsize=64)
def _calibrated(price: Price, steps: int, least: int, dimensions: int) -> tuple[TrainingPlan, PrivacyLoss]:
    """The plan with the least noise for the price, clipping to 1 / least, and its loss as it is booked."""
    assert price.epsilon is not None
    clip, goal = Clip(norm=Fraction(1, least), lattice=_LATTICE), {"epsilon": price.epsilon, "delta": price.delta}
    plan = TrainingPlan.calibrate(**goal, steps=steps, dimensions=dimensions, clip=clip)
    return plan, price.stated(plan.privacy_loss)


def _descend(
    model: LinearClassifier, features: Features, data: tuple[Container, NDArray[np.int64]], plan: TrainingPlan, *,
    size: int, speed: float, bits: Bits,
) -> tuple[Rows, Floats]:  # fmt: skip
    """How rows were read, and the average of the later half of the steps, of shape (outputs, columns)."""
    values, labels = data
    fine = 2 ** min((plan.clip.lattice.bit_length() - 1) // 2, 15)
    steps = min(plan.clip.lattice // fine, 2**15)
    expected = float(plan.sampler.share() * size * fine * steps)
    shape = (plan.dimensions // (features.count + 2), features.count + 2)
    run = plan.run(len(labels), expected_rows=size, bits=bits)
    batches = (None if plan.sampler == Poisson() else batch for batch in run)

    def noisy(exact: NDArray[np.int64]) -> Floats:
        """The mean over the rows that are expected, in the unit of the exact rows."""
        return run.noisy(exact)[0].astype(np.float64) / expected

    seen, mean, first = Rows(features, fine), np.zeros(features.count + 1), plan.steps // _CENTRED
    units = seen.units(values)
    rows = seen.integers(units) if first else units
    rows[labels == len(model.classes)] = 0.0
    for batch in (next(batches) for _ in range(first)):
        exact = np.zeros(shape, dtype=np.int64)
        exact[0, :-1] = _taken(rows, batch).sum(axis=0).astype(np.int64) * steps
        mean += noisy(exact)[0, :-1] / first
    deviation = float(plan.noise_multiplier) * plan.clip.lattice / expected / math.sqrt(max(first, 1))
    seen = seen.around(mean, deviation if first else 0.0)
    rows = seen.integers(units)
    weights, move, total = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for step, batch in enumerate(batches, start=first):
        some = _taken(rows, batch)
        pulls = model._pulls(predictions(some, weights) / fine, _taken(labels, batch))
        exact = gradient_sum(some, pulls, radius=float(plan.clip.norm), steps=steps)
        move = _MOMENTUM * move - speed * float(plan.clip.norm) * noisy(exact)
        weights = weights + move
        if step >= plan.steps // 2:
            total += weights
    return seen, np.asarray(total / (plan.steps - plan.steps // 2))


def _taken(values: NDArray[Any], batch: NDArray[np.int64] | None) -> NDArray[Any]:
    """The rows of a batch; all of them without a copy where every step looks at all."""
    return values if batch is None else values[batch]
