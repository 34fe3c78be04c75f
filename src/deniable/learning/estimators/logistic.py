"""Logistic regression of two classes or more, by noisy gradient descent."""

# ruff: noqa: N803 - X is what scikit-learn calls it

import hashlib
import html
import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.losses import products
from deniable.learning.plan import Clip, Poisson, TrainingPlan
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, shown, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.rows import Container, Floats, distinct, places_of, silence, table
from deniable.statistics.statistic import Payer, checked_bounds, without_rows

Pairs = tuple[Real, Real] | Sequence[tuple[Real, Real]]

_STEPS = 60
_MOMENTUM = 0.9
_SPEED = 0.55  # found on training rows of Adult, with noise of several sizes
_BETWEEN = {"steps": "steps", "rate": "a sampler", "clip": "a clip", "relation": "a relation"}


class LogisticRegression:
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

    _estimator_type = "classifier"

    def __init__(
        self,
        *,
        bounds: Pairs,
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

    # --- scikit-learn's conventions --------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: object) -> "LogisticRegression":
        """Set parameters of the constructor; a model that was fitted stays as it is until the next fit.

        Raises: InvalidParameterError if there is no such parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InvalidParameterError(
                    f"there is no parameter {name}. LogisticRegression takes {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def fit(
        self, X: Container, y: Container, *, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> "LogisticRegression":
        """Pay, look, and train.

        Args:
            X: private rows: an array, a frame or a list of rows.
            y: their labels.
            ledger: who pays before a row is read; None: the caller keeps the books.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError for parameters that do not fit, before anything is paid or read.
        """
        if ledger is not None and not callable(getattr(ledger, "pay", None)):
            raise InvalidParameterError(f"ledger must be a Ledger, as Ledger.open gives it, got {shown(ledger)}")
        if not isinstance(bits, Bits):
            raise InvalidParameterError(f"bits must be a source of random bits, got {shown(bits)}. Leave it out.")
        rows = _rows(X, y)
        rule = _Rule.of(self.bounds, self.classes, X)
        plan, loss = self._planned(rule)
        size = self._expected(plan, rows)
        speed = self._speed(rule, plan, size)
        rule.features(without_rows(X)), rule.labels(without_rows(y))
        text = repr(self)
        self.budget_left_ = None
        if ledger is not None:
            question = hashlib.sha256(text.encode()).hexdigest()
            self.budget_left_ = ledger.pay(loss, question=question, text=text, safe=bits.safe, units=False)
        with silence():
            weights = _descend(rule, rule.features(X), rule.labels(y), plan, size=size, speed=speed, bits=bits)
        self.plan_, self.privacy_loss_, self.safe_ = plan, loss, bits.safe
        self.classes_ = np.array(rule.classes)
        self.n_features_in_ = len(rule.lower)
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        self.note_ = _note(plan, self._delta(), loss, safe=bits.safe)
        self._rule = rule
        return self

    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""
        rule = self._fitted()
        with silence():
            return _probabilities(rule.features(X), np.column_stack([self.coef_, self.intercept_]))

    def predict(self, X: Container) -> NDArray[Any]:
        """The most probable class of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def score(self, X: Container, y: Container) -> float:
        """The share of rows that are predicted right: private on private rows, and no part of `privacy_loss_`.

        Raises: InvalidParameterError if there are no rows.
        """
        rule = self._fitted()
        if not _rows(X, y):
            raise InvalidParameterError("a score needs at least one row, got none")
        return float((self.predict_proba(X).argmax(axis=1) == rule.labels(y)).mean())

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        given = [f"{name}={_shown(value)}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"LogisticRegression({', '.join(given)})"

    def __str__(self) -> str:
        return f"{self!r}\n{getattr(self, 'note_', 'Not fitted: no row was read.')}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    # --- what is decided before a row is read ----------------------------------------------------------------------

    def _planned(self, rule: "_Rule") -> tuple[TrainingPlan, PrivacyLoss]:
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

    def _delta(self) -> Real:
        return "1e-6" if self.delta is None else self.delta

    def _fitted(self) -> "_Rule":
        rule: _Rule | None = getattr(self, "_rule", None)
        if rule is None:
            raise InvalidParameterError("this model is not fitted yet. Call fit(X, y) first.")
        return rule


@dataclass(frozen=True, eq=False)
class _Rule:
    """How rows are read: by declared facts alone, each row by itself.

    Args:
        lower, upper: bounds of the features.
    """

    lower: Floats
    upper: Floats
    classes: tuple[Any, ...]

    @classmethod
    def of(cls, bounds: object, classes: object, rows: object) -> "_Rule":
        """Raises: InvalidParameterError."""
        if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | range) or len(classes) < 2:
            raise InvalidParameterError(f"classes must be a list of all labels, two at least, got {shown(classes)}")
        if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str) or not len(bounds):
            raise InvalidParameterError(f"bounds must be a pair (lower, upper) or a list of pairs, got {shown(bounds)}")
        listed: list[Any] = list(bounds)
        if isinstance(listed[0], Sequence | np.ndarray) and not isinstance(listed[0], str):
            pairs = [checked_bounds(pair if isinstance(pair, tuple | list) else tuple(pair)) for pair in listed]
        else:
            shape: Any = getattr(rows, "shape", ())
            if len(shape) != 2 or not shape[1]:
                raise InvalidParameterError("bounds must be a list with one pair for each feature of such rows")
            pairs = [checked_bounds(listed)] * shape[1]
        lower, upper = np.array(pairs).T
        return cls(lower, upper, distinct(tuple(classes)))

    @property
    def dimensions(self) -> int:
        """Numbers in a gradient."""
        return (len(self.lower) + 1) * self._outputs

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
        return 1 if len(self.classes) == 2 else len(self.classes)

    def features(self, values: object) -> Floats:
        """Scaled rows with a constant, each of l2 norm 1."""
        found, _ = table(values, "X", columns=len(self.lower))
        if found.shape[1] != len(self.lower):
            raise InvalidParameterError(f"X must have {len(self.lower)} columns, as bounds has, got {found.shape[1]}")
        from_zero = self.lower == 0
        middle = np.where(from_zero, 0.0, self.lower / 2 + self.upper / 2)
        half = np.where(from_zero, self.upper, self.upper / 2 - self.lower / 2)
        scaled = (np.clip(found, self.lower, self.upper) - middle) / half
        scaled = np.clip(np.where(np.isnan(scaled), 0.0, scaled), -1.0, 1.0)
        whole = np.column_stack([scaled, np.ones(len(scaled))])
        return np.asarray(whole / np.sqrt(squared_norms(whole))[:, np.newaxis])

    def labels(self, values: object) -> NDArray[np.int64]:
        """The place of each label among the classes; their number for one that is not among them."""
        return np.asarray(places_of(values, self.classes))


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


def _rows(X: object, y: object) -> int:
    """How many rows there are. Raises: InvalidParameterError if X and y are no rows, or not equally many."""
    try:
        features, labels = len(X), len(y)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameterError("X must be a table and y a column: arrays, frames, series or lists") from None
    if features != labels:
        raise InvalidParameterError("X and y must have one entry for each row")
    return features


def _note(plan: TrainingPlan, delta: Real, loss: PrivacyLoss, *, safe: bool) -> str:
    """What is promised, and what is not."""
    whom = plan.unit.noun
    differ = "is there or not" if plan.relation is AddRemove else "is exchanged for another (their number is public)"
    lines = [
        f"Protected: each {whom}, under {plan.relation}: whether a {whom} {differ}.",
        f"Cost: epsilon={loss.epsilon(delta).upper:.6g} (certified) at delta={delta}. Whatever is computed from the "
        "model, the chance of each outcome in one case is at most e^epsilon times that in the other, plus delta.",
        f"How: {plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were.",
        "Not covered: other fits on these rows, for their costs add up; settings, bounds or classes chosen by looking "
        "at the rows; accuracy measured on private rows; how long the fit took.",
    ]
    if not safe:
        lines.append("Noise came from test bits: do not publish this model.")
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, TrainingPlan):
        return f"TrainingPlan.from_json({value.to_json()!r})"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return f"Relation.{value.name}" if isinstance(value, Relation) else repr(value)
