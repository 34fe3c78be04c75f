"""Base classes of estimators: parameters, payment, and an honest note."""

import html
import inspect
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import FrameType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.learning.estimators.reading import check_column_names, column_names
from deniable.ledger.payment import Payer, Payment
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, probability
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.privacy.warning import warning_about
from deniable.rows import Container, indices_of, numbers, silence


@dataclass(frozen=True, kw_only=True)
class Work:
    """A fit as it is decided before a row is read.

    Args:
        loss: what the whole fit reveals about one unit, as it is booked; it never depends on a row.
        others: losses that hold, too, for ledgers that have no price for `loss`.
        how: one sentence about mechanisms and steps, for the note.
        train: reads the rows and gives the fitted attributes by name, all of them computed from what mechanisms
            released. Nothing that it raises, and no shape, may depend on a value.
        relation, unit: what neighbouring tables are, and the word for who is protected.
        delta: at which the note states epsilon; 0 where the guarantee is pure.
    """

    loss: PrivacyLoss
    how: str
    train: Callable[..., Mapping[str, Any]]
    relation: Relation = AddRemove
    delta: Real = 0
    unit: str = "row"
    others: tuple[PrivacyLoss, ...] = ()

    def note(self, *, safe: bool) -> str:
        """Return the promise of a fit in words, and its limits."""
        exchanged = "is exchanged for another (their number is public)"
        differ = "is there or not" if self.relation is AddRemove else exchanged
        lines = [
            f"Protected: each {self.unit}, under {self.relation}: whether a {self.unit} {differ}.",
            f"Cost: epsilon={self.loss.epsilon(self.delta).upper:.6g} (certified) at delta={self.delta}. Whatever is "
            "computed from the model, the chance of each outcome in one case is at most e^epsilon times that in the "
            "other, plus delta.",
            f"How: {self.how}",
            "Not covered: other fits on these rows, for their costs add up; settings, bounds or classes chosen by "
            "looking at the rows; accuracy measured on private rows; how long the fit took.",
        ]
        if not safe:
            lines.append("Noise came from test bits: do not publish this model.")
        return "\n".join(lines)


class Estimator(ABC):
    """Base class of models that are fitted to private rows, and charge for it.

    A subclass keeps to scikit-learn's conventions.

    The constructor of a subclass only stores its parameters, under their names. After `fit` there are `cost_`,
    `note_`, `safe_`, `budget_left_`, and what the subclass adds.
    """

    @abstractmethod
    def _planned(self, X: Container, y: Container | None) -> Work:
        """Decide everything before a row is read.

        It uses declared facts, types, and under replace the number of rows.

        Raises: InvalidParameterError for whatever does not fit, since nothing may be refused after the payment.
        """

    def fit(
        self, X: Container, y: Container | None = None, *, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> Self:
        """Pay, look, and train.

        Args:
            X, y: private rows, in an array, a frame or a list; their labels or values, for models that predict.
            bits: leave it out, except in tests.
            ledger: charged before a row is read; None charges nothing.

        Raises: InvalidParameterError for parameters that do not fit, before anything is charged or read.
        """
        payment = Payment(ledger, text=repr(self), bits=bits)
        work = self._planned(X, y)
        names = column_names(X)
        for words in unpaid_steps(sys._getframe(1)):
            warnings.warn(words, UserWarning, stacklevel=2)
        doubt = warning_about(delta=probability("delta", work.delta), population=getattr(self, "expected_rows", None))
        if doubt:
            warnings.warn(doubt, UserWarning, stacklevel=2)
        self.budget_left_ = payment.charge(work.loss, *work.others)
        with silence():
            fitted = work.train(bits)
        for name, value in fitted.items():
            setattr(self, name, value)
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        self.cost_, self.safe_ = work.loss, bits.safe
        self._promised = replace(work, train=dict)  # without the rows
        vars(self).pop("note_", None)
        return self

    @cached_property
    def note_(self) -> str:
        """The promise of the fit in words, and its limits.

        Epsilon is certified when the note is first read.
        """
        self._check_fitted()
        return self._promised.note(safe=self.safe_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: object) -> Self:
        """Set parameters of the constructor, or raise.

        A fitted model stays as it is until the next fit.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                takes = f"{type(self).__name__} takes {', '.join(known)}."
                raise InvalidParameterError(f"there is no parameter {name}. {takes}")
            setattr(self, name, value)
        return self

    def _check_fitted(self, X: object = None) -> None:
        """Raise: InvalidParameterError if the model is not fitted to such columns."""
        if not self.__sklearn_is_fitted__():
            kinds: tuple[type[Exception], ...] = (InvalidParameterError,)
            if "sklearn" in sys.modules:  # whose users catch its own error
                from sklearn.exceptions import NotFittedError

                kinds = (InvalidParameterError, NotFittedError)
            raise type("NotFittedError", kinds, {})("this model is not fitted yet. Call fit first.")
        if X is not None:
            check_column_names(type(self).__name__, getattr(self, "feature_names_in_", None), column_names(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cost_")

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        try:
            from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags
        except ImportError:
            raise MissingExtraError.of("learn", "__sklearn_tags__ needs scikit-learn 1.6 or later") from None

        kind = getattr(self, "_estimator_type", None)
        classes, numbers_ = kind == "classifier", kind == "regressor"
        return Tags(
            estimator_type=kind, target_tags=TargetTags(required=classes or numbers_), non_deterministic=True,
            classifier_tags=ClassifierTags() if classes else None, regressor_tags=RegressorTags() if numbers_ else None,
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            input_tags=InputTags(allow_nan=True),
        )  # fmt: skip

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        given = [f"{name}={_shown(value)}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.note_ if self.__sklearn_is_fitted__() else 'Not fitted: no row was read.'}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(kw_only=True, eq=False, repr=False)
class Priced(Estimator):
    """An estimator whose fit costs epsilon, epsilon and delta, or rho."""

    _fitted: ClassVar[Any]  # what `train` keeps for predictions
    epsilon: Real | None = None
    delta: Real | None = None
    rho: Real | None = None
    relation: Relation = AddRemove

    def _work(self, how: str, loss: PrivacyLoss, train: Callable[[Bits], Mapping[str, Any]]) -> Work:
        delta = self.delta or (0 if loss.pure_epsilon is not None else "1e-6")
        return Work(loss=loss, how=how, train=train, relation=self.relation, delta=delta)


class Classifier(Estimator):
    """An estimator with declared classes, stored as `classes_` by `fit`."""

    _estimator_type = "classifier"
    classes_: NDArray[Any]

    @abstractmethod
    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""

    def _scores(self, X: Container) -> Floats:
        """Return scores, shape (rows, classes): the largest is predicted."""
        return self.predict_proba(X)

    def predict(self, X: Container) -> NDArray[Any]:
        """Return the predicted class of each row.

        The most probable one, where there are probabilities.
        """
        indices = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[indices])

    def score(self, X: Container, y: Container) -> float:
        """Return the accuracy: private on private rows, and not in `cost_`."""
        self._check_fitted()
        if not same_length(X, y):
            raise InvalidParameterError("a score needs at least one row, got none")
        indices = indices_of(y, tuple(self.classes_.tolist()))
        return float((self._scores(X).argmax(axis=1) == indices).mean())


class Regressor(Estimator):
    """An estimator that predicts numbers."""

    _estimator_type = "regressor"

    @abstractmethod
    def predict(self, X: Container) -> Floats:
        """The predicted number of each row."""

    def score(self, X: Container, y: Container) -> float:
        """Return R^2, the coefficient of determination.

        Private on private rows, and not in `cost_`.
        """
        self._check_fitted()
        if same_length(X, y) < 2:
            raise InvalidParameterError("a score needs at least two rows")
        values = numbers(y)
        predicted = self.predict(X)
        spread = float(((values - values.mean()) ** 2).sum())
        return 1.0 - float(((values - predicted) ** 2).sum()) / spread if spread else 0.0


def unpaid_steps(frame: FrameType | None) -> Iterator[str]:
    """Yield warnings of what scikit-learn does around a fit outside `cost_`.

    Found from the calls that led to the fit.

    Args:
        frame: of the caller of `fit`.
    """
    while frame is not None and "sklearn" in sys.modules:
        module: str = frame.f_globals.get("__name__", "")
        outer: Any = frame.f_locals.get("self")
        if module == __name__ and frame.f_code.co_name == "fit":
            return  # an outer fit of this library has said it
        if module == "sklearn.model_selection._validation" and frame.f_code.co_name == "_fit_and_score":
            yield (
                "scikit-learn fits this model to private rows many times to choose settings or to score it. Each fit "
                "costs its cost_, which nothing adds up, and no score is paid. Use PrivateGridSearch."
            )
            return
        if module == "sklearn.pipeline" and hasattr(outer, "steps"):
            for name in dict.fromkeys(type(step).__name__ for step in _learning_steps(outer.steps[:-1])):
                yield (
                    f"{name} of scikit-learn learns from the private rows before this model sees them, and "
                    "cost_ does not count what it reveals. Use one of deniable.learning, or a step that learns "
                    "nothing, such as FunctionTransformer."
                )
            return
        frame = frame.f_back


def _learning_steps(steps: Any) -> Iterator[Any]:
    """Yield the steps of a pipeline that learn from rows without privacy.

    Those inside other steps too.
    """
    from sklearn.utils import get_tags

    for step in (each[1] for each in steps):
        inner = getattr(step, "steps", getattr(step, "transformers", getattr(step, "transformer_list", None)))
        if inner is not None:
            yield from _learning_steps(inner)
        elif hasattr(step, "fit") and not isinstance(step, Estimator) and get_tags(step).requires_fit:
            yield step


def same_length(X: object, y: object) -> int:
    """Return the number of rows.

    Raises: InvalidParameterError if X and y are not rows, or not equally many.
    """
    if y is None and X is not None:
        raise InvalidParameterError("a model that predicts requires y to be passed, but the target y is None")
    if callable(getattr(X, "toarray", None)):
        raise InvalidParameterError("X is sparse, which is not supported. Give X.toarray().")
    try:
        features, labels = len(X), len(y)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameterError("X must be a table and y a column: arrays, frames, series or lists") from None
    if features != labels:
        raise InvalidParameterError("X and y must have one entry for each row")
    return features


def _shown(value: object) -> str:
    if callable(to_json := getattr(value, "to_json", None)):
        return f"{type(value).__name__}.from_json({to_json()!r})"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return f"Relation.{value.name}" if isinstance(value, Relation) else repr(value)
