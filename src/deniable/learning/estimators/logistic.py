"""Logistic regression of two classes or more, by noisy gradient descent."""

# ruff: noqa: N803 - X is what scikit-learn calls it

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Classifier, Work, same_length
from deniable.learning.estimators.reading import Bounds, Features, Labels
from deniable.learning.losses import products
from deniable.learning.plan import Clip, Poisson, TrainingPlan
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.rows import Container, Floats, silence

_STEPS = 60
_MOMENTUM = 0.9
_SPEED = 0.55  # found on training rows of Adult, with noise of several sizes
_BETWEEN = {"steps": "steps", "rate": "a sampler", "clip": "a clip", "relation": "a relation"}


class LogisticRegression(Classifier):
    """Predict one of several declared classes, by gradient descent with noise on every sum of gradients.

    Features are cut to their bounds and scaled; a constant is added, and every row is divided by its l2 norm. A value
    that is no number counts as 0 where bounds start at 0, else as the middle of them. A row whose label is not among
    the classes pushes nowhere. The model is the average of the later half of the steps.

    Nothing is chosen by looking at rows: bounds, classes and the expected number of rows are public knowledge.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        classes: all labels that may occur, in the order of `classes_`.
        expected_rows: about how many rows there are, as the public knows it; only under replace it may be left out.
        epsilon, delta: what the fit may cost; the least noise for it is found.
        plan: a plan of your own in their place.
        steps: how many; by default 60.
        rate: with which each row joins each step; by default 1.
        clip: l2 norm to which the gradient of a row is cut; by default 1 for two classes,
            where it is never longer, and 1/2 for more.
        relation: AddRemove, or Replace where the number of rows is public.
        learning_rate: by default one that is smaller where the noise of the plan is larger, and at most what momentum
            of 0.9 keeps stable.

    Guarantee: `privacy_loss_`, that of the plan: all that is kept after `fit` is computed from its noisy sums.
    Source: Abadi et al. (2016), arXiv:1607.00133; momentum of Polyak (1964); the
        average of the later half of the steps: Rakhlin, Shamir, Sridharan (2012), arXiv:1109.5647.

    >>> from deniable.learning import LogisticRegression
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> public = {"bounds": [(0, 1)], "classes": ["low", "high"], "expected_rows": 2000}
    >>> model = LogisticRegression(**public, epsilon=1, delta="1e-6")
    >>> model.fit(rows, labels).predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    coef_: Floats
    intercept_: Floats
    _features: Features

    def __init__(
        self,
        *,
        bounds: Bounds,
        classes: Sequence[object],
        expected_rows: int | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        plan: TrainingPlan | None = None,
        steps: int | None = None,
        rate: Real | None = None,
        clip: Real | None = None,
        relation: Relation | None = None,
        learning_rate: Real | None = None,
    ) -> None:
        self.bounds = bounds
        self.classes = classes
        self.expected_rows = expected_rows
        self.epsilon = epsilon
        self.delta = delta
        self.plan = plan
        self.steps = steps
        self.rate = rate
        self.clip = clip
        self.relation = relation
        self.learning_rate = learning_rate

    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""
        self._check_fitted()
        with silence():
            return _probabilities(_rows(self._features, X), np.column_stack([self.coef_, self.intercept_]))

    def _planned(self, X: Container, y: Container | None) -> Work:
        rows = same_length(X, y)
        rule = _Rule(Features.of(self.bounds, X), Labels.of(self.classes, y))
        plan, loss = self._plan(rule)
        size = self._expected(plan, rows)
        speed = self._speed(rule, plan, size)

        def train(bits: Bits) -> dict[str, Any]:
            weights = _descend(
                rule, _rows(rule.features, X), rule.labels.places(y), plan, size=size, speed=speed, bits=bits
            )
            return {
                "plan_": plan,
                "classes_": np.array(rule.labels.classes),
                "n_features_in_": rule.features.count,
                "coef_": weights[:, :-1],
                "intercept_": weights[:, -1],
                "_features": rule.features,
            }

        return Work(
            loss=loss,
            how=f"{plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were.",
            train=train,
            relation=plan.relation,
            delta="1e-6" if self.delta is None else self.delta,
            unit=plan.unit.noun,
        )

    def _plan(self, rule: "_Rule") -> tuple[TrainingPlan, PrivacyLoss]:
        """The plan, and its loss as it is booked."""
        if self.plan is not None:
            both = [name for name in ("epsilon", *_BETWEEN) if getattr(self, name) is not None]
            if both:
                raise InvalidParameterError(f"a plan has its own {both[0]}. Give the plan, or {both[0]}, not both.")
            if not isinstance(self.plan, TrainingPlan) or self.plan.dimensions != rule.dimensions:
                raise InvalidParameterError(
                    f"plan must be a TrainingPlan with dimensions={rule.dimensions}: a weight for each feature and one "
                    "more, for each class if there are more than two"
                )
            return self.plan, self.plan.privacy_loss()
        if self.epsilon is None or self.delta is None:
            raise InvalidParameterError("say what the fit may cost: epsilon=1 with delta=1e-6, or a plan.")
        price = Price.of(self.epsilon, self.delta, None)
        plan = TrainingPlan.calibrate(
            epsilon=self.epsilon,
            delta=self.delta,
            steps=_STEPS if self.steps is None else self.steps,
            dimensions=rule.dimensions,
            sampler=Poisson(rate=1 if self.rate is None else self.rate),  # type: ignore[arg-type]
            clip=Clip(norm=rule.clip if self.clip is None else self.clip),  # type: ignore[arg-type]
            relation=AddRemove if self.relation is None else self.relation,
        )
        return plan, price.stated(plan.privacy_loss())

    def _expected(self, plan: TrainingPlan, rows: int) -> int:
        if self.expected_rows is not None:
            return whole_number("expected_rows", self.expected_rows, lower=1)
        if plan.relation is AddRemove:
            raise InvalidParameterError(
                "expected_rows must be about how many rows there are, from public knowledge: under add/remove their "
                "number is private. Or use relation=Replace, where it is public."
            )
        return max(rows, 1)

    def _speed(self, rule: "_Rule", plan: TrainingPlan, size: int) -> float:
        """The learning rate: by default the root of how far all steps exceed their noise, a public number."""
        if self.learning_rate is not None:
            return float(positive_rational("learning_rate", self.learning_rate))
        noise = float(plan.noise_multiplier * plan.clip.norm / plan.sampler.share() / size)
        told = math.sqrt(plan.steps / plan.dimensions) / noise
        return min(_SPEED * math.sqrt(told), 2 * (1 + _MOMENTUM) / rule.smoothness)


@dataclass(frozen=True, eq=False)
class _Rule:
    """What declared features and classes decide about a plan."""

    features: Features
    labels: Labels

    @property
    def dimensions(self) -> int:
        """Numbers in a gradient."""
        return (self.features.count + 1) * self._outputs

    @property
    def clip(self) -> Fraction:
        """The default clipping norm: two classes have gradients of norm at most 1, more of at most sqrt(2)."""
        return Fraction(1, min(self._outputs, 2))

    @property
    def smoothness(self) -> float:
        """The largest second derivative of the loss of a row of norm 1 (Boehning 1992)."""
        return 1 / 4 if self._outputs == 1 else 1 / 2

    @property
    def _outputs(self) -> int:
        return 1 if len(self.labels.classes) == 2 else len(self.labels.classes)


def _rows(features: Features, values: object) -> Floats:
    """Scaled rows with a constant, each of l2 norm 1."""
    scaled = features.scaled(values)
    whole = np.column_stack([scaled, np.ones(len(scaled))])
    return np.asarray(whole / np.sqrt(squared_norms(whole))[:, np.newaxis])


def _descend(
    rule: _Rule, rows: Floats, labels: NDArray[np.int64], plan: TrainingPlan, *, size: int, speed: float, bits: Bits
) -> Floats:
    """The average of the later half of the steps, of shape (outputs, columns)."""
    shape = (rule.dimensions // rows.shape[1], rows.shape[1])
    weights, move, total = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for step, batch in enumerate(plan.batches(len(rows), bits=bits)):
        gradients = per_row_gradients(rows[batch], labels[batch], weights)
        downhill = plan.mean_gradient(gradients, expected_rows=size, bits=bits).reshape(shape)
        move = _MOMENTUM * move - speed * downhill
        weights = weights + move
        if step >= plan.steps // 2:
            total += weights
    return np.asarray(total / (plan.steps - plan.steps // 2))


def per_row_gradients(rows: Floats, labels: NDArray[np.int64], weights: Floats) -> Floats:
    """The gradient of -log(probability of the label) of each row, of shape (rows, weights).

    Args:
        labels: places among the classes; a row with another one has gradient 0.
        weights: of shape (classes, columns), or (1, columns) for the log odds of the second of two.
    """
    found = _probabilities(rows, weights)
    known = labels < found.shape[1]
    found[np.flatnonzero(known), labels[known]] -= 1.0
    found[~known] = 0.0
    residual = found[:, 1:] if len(weights) == 1 else found
    return np.asarray((residual[:, :, np.newaxis] * rows[:, np.newaxis, :]).reshape(len(rows), weights.size))


def _probabilities(rows: Floats, weights: Floats) -> Floats:
    """Chances of shape (rows, classes), each row by the same operations, so that none moves how another is rounded."""
    odds = products(rows, weights)
    if len(weights) == 1:
        odds = np.column_stack([np.zeros(len(odds)), odds])
    found = np.exp(odds - odds.max(axis=1, keepdims=True))
    total = np.zeros(len(found))
    for column in found.T:
        total += column
    return np.asarray(found / total[:, np.newaxis])
