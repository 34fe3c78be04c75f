"""Grid search whose cost includes the choice of settings."""

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Classifier, Estimator, Regressor, Work, same_length
from deniable.learning.estimators.reading import Labels, targets
from deniable.mechanisms import Gaussian
from deniable.mechanisms.price import Price
from deniable.mechanisms.wrappers.best_of import BestOf
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, decimal_above, exact_rational, shown, whole_number
from deniable.privacy import BestOfLoss, GaussianDPLoss, PrivacyLoss, PureLoss, Relation, calibrate, parallel
from deniable.privacy.sensitivity import of_clamped_unit_sum
from deniable.rows import Container
from deniable.statistics.statistic import checked_bounds

_SCORE_STEPS = 2**20  # for one row that is predicted exactly
_ASIDE = Fraction(1, 5)  # of the rows, for the score of a run
_DELTA_SHARE = Fraction(1, 20)  # of delta times `stop`, at which one run is calibrated
_FEWER = Fraction(97, 100)
_TRIES = 40


@dataclass(eq=False, repr=False)
class PrivateGridSearch(Estimator):
    """Choose settings by private scores of a random number of fits.

    Settings are drawn at random, and the best fit is kept.

    One run draws a setting, sets one row in five aside by coins, fits the estimator to the others, and scores it by a
    noisy sum over the rows set aside: right predictions, or 1 - (error / width of the bounds)^2. The runs are as many
    as coins say, each the last with probability `stop`. How many there were, and all but the best, stays secret.

    Args:
        estimator: one of this library, a classifier or a regressor; its epsilon and delta are set for each run.
        param_grid: lists of values by parameter, or a list of such dicts, as of scikit-learn.
        epsilon, delta: what the whole search may cost; a run gets about a third of epsilon.
        stop: in (0, 1): 1 / stop runs on average.
        expected_rows: about how many rows there are, from public knowledge, by which scores are divided; needed under
            add/remove if the estimator has no such parameter.

    Guarantee: `cost_`, that of the best of a geometric number of runs, each of which loses the greater of the
        fit and the score: a row is in one part only, by coins that do not look at it.
    Source: Liu, Talwar (2019), arXiv:1811.07971; Papernot, Steinke (2022), arXiv:2110.03620.

    >>> from deniable.learning import LogisticRegression, PrivateGridSearch
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> model = LogisticRegression(bounds=[(0, 1)], classes=["low", "high"], expected_rows=2000)
    >>> search = PrivateGridSearch(model, {"learning_rate": [0.5, 2, 8]}, epsilon=2, delta="1e-5")
    >>> search.fit(rows, labels).predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    estimator: Any
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    epsilon: Real
    delta: Real
    stop: Real = "1/5"
    expected_rows: int | None = None
    best_estimator_: Any = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_score_: float = field(init=False)

    @property
    def _estimator_type(self) -> str | None:
        return getattr(self.estimator, "_estimator_type", None)

    def predict(self, X: Container) -> NDArray[Any]:
        """Return the prediction of the best estimator.

        Its other methods are those of `best_estimator_`.
        """
        self._check_fitted()
        return np.asarray(self.best_estimator_.predict(X))

    def score(self, X: Container, y: Container) -> float:
        """Return the score of the best estimator.

        Private on private rows, and not in `cost_`.
        """
        self._check_fitted()
        return float(self.best_estimator_.score(X, y))

    def _planned(self, X: Container, y: Container | None) -> Work:
        rows = same_length(X, y)
        settings = self._settings()
        if not isinstance(self.estimator, Classifier | Regressor):
            raise InvalidParameterError(
                "estimator must be a classifier or a regressor of deniable.learning. In a pipeline the search is the "
                "last step."
            )
        if not self.delta:
            raise InvalidParameterError("delta must be > 0, as scores get Gaussian noise")
        models, noise, loss, relation = self._priced(Price.of(self.epsilon, self.delta, None), settings, X, y)
        stop = exact_rational("stop", self.stop)
        size = self._size(rows, relation)

        def train(bits: Bits) -> Mapping[str, Any]:
            def run() -> tuple[Any, dict[str, Any], float]:
                chosen = int(uniform.below(len(models), bits=bits))
                aside = bernoulli.sample(p=_ASIDE, size=rows, bits=bits)
                model = copy.copy(models[chosen]).fit(_rows_at(X, ~aside), _rows_at(y, ~aside), bits=bits)
                points = int(_points(model, _rows_at(X, aside), _rows_at(y, aside)).sum())
                noisy = noise.release(np.array([points]), bits=bits).value
                return model, settings[chosen], float(noisy[0]) / _SCORE_STEPS / max(float(_ASIDE) * size, 1.0)

            best = BestOf(base=noise, stop=stop).best_of(run, score=lambda candidate: candidate[2], bits=bits)
            assert best is not None  # there is one run at least
            best[0].cost_ = loss
            best[0]._promised = replace(work, train=dict)
            vars(best[0]).pop("note_", None)
            return dict(zip(("best_estimator_", "best_params_", "best_score_"), best, strict=True))

        work = Work(
            loss=loss, how=f"the best of a random number of fits, {1 / float(stop):g} on average.", train=train,
            relation=relation, delta=self.delta,
        )  # fmt: skip
        return work

    def _size(self, rows: int, relation: Relation) -> int:
        """Return the public number of rows; under replace the true one by default."""
        given = self.expected_rows or getattr(self.estimator, "expected_rows", None)
        if given is None and relation is not Relation.REPLACE:
            raise InvalidParameterError("expected_rows must be about how many rows there are: their number is private")
        return rows if given is None else whole_number("expected_rows", given, lower=1)

    def _settings(self) -> list[dict[str, Any]]:
        """All settings of the grid. Raises: InvalidParameterError if there are none."""
        grids = [self.param_grid] if isinstance(self.param_grid, Mapping) else self.param_grid
        try:
            return [
                dict(zip(grid, values, strict=True)) for grid in grids for values in itertools.product(*grid.values())
            ] or [{}]
        except (AttributeError, TypeError):
            wrong = shown(self.param_grid)
            raise InvalidParameterError(f"param_grid must hold lists of values by parameter, got {wrong}") from None

    def _priced(
        self, price: Price, settings: list[dict[str, Any]], X: Container, y: Container | None
    ) -> tuple[list[Any], Gaussian, PrivacyLoss, Relation]:
        """Return the models, the noise of a score, and the loss of all.

        Models are not fitted; Gaussian curves are used, or a little less.
        """
        assert price.epsilon is not None
        stop = exact_rational("stop", self.stop)
        models = [copy.copy(self.estimator).set_params(**each) for each in settings]
        for model in models:
            if getattr(model, "expected_rows", None) is not None:
                model.set_params(expected_rows=max(1, math.ceil(model.expected_rows * (1 - _ASIDE))))
        mu = _share(price.epsilon, price.delta, stop)
        failed = decimal_above(price.delta * stop * _DELTA_SHARE, 3)
        for _ in range(_TRIES):
            once = decimal_above(Fraction(GaussianDPLoss(mu).epsilon(failed).upper), 6)
            for model in models:
                price_of_run = {"epsilon": once, "delta": failed}
                model.set_params(**{name: price_of_run[name] for name in price_of_run.keys() & model.get_params()})
            works = [model._planned(X, y) for model in models]
            relation = works[0].relation
            if any(work.relation is not relation for work in works):
                raise InvalidParameterError("all settings must have one relation")
            self._size(0, relation)  # refuses soon
            sensitivity = of_clamped_unit_sum(lower=0, upper=_SCORE_STEPS, groups=1, relation=relation, cells=1)
            noise = Gaussian.calibrated(sensitivity, epsilon=once, delta=failed)
            parts = [
                *dict.fromkeys(_as_bounded(work.loss, relation) for work in works),
                noise.privacy_loss(sensitivity),
            ]
            loss = BestOfLoss(parallel(parts, relation=relation, fixed=relation is Relation.REPLACE), stop)
            if loss.proves(price.epsilon, price.delta):
                return models, noise, price.stated(loss), relation
            mu *= _FEWER
        raise InvalidParameterError("no price of one run was proved to keep this epsilon. Give a larger stop.")


def _as_bounded(loss: PrivacyLoss, relation: Relation) -> PrivacyLoss:
    """Return the loss, or the worst one of its epsilon if that is pure.

    Of many questions, its own curve takes minutes.
    """
    pure = loss.pure_epsilon
    return loss if pure is None else PureLoss(pure).under(relation)


@lru_cache(maxsize=64)
def _share(epsilon: Fraction, delta: Fraction, stop: Fraction) -> Fraction:
    """The mu of one run, if all runs were Gaussian."""
    return calibrate(lambda mu: BestOfLoss(GaussianDPLoss(mu), stop), over=(0, 100), epsilon=epsilon, delta=delta)


def _points(model: Any, X: Any, y: Any) -> NDArray[np.int64]:
    """Return scores as whole numbers in [0, 2^20], one for each row.

    A function of that row and the model.
    """
    if isinstance(model, Classifier):
        known = Labels(tuple(model.classes_.tolist())).indices(y)
        return np.asarray(np.where(model._scores(X).argmax(axis=1) == known, _SCORE_STEPS, 0))
    lower, upper = checked_bounds(getattr(model, "target_bounds", None) or model.target)
    away = (targets(y, (lower, upper)) - model.predict(X)) / (upper - lower)
    return np.asarray(np.rint(_SCORE_STEPS * (1 - np.minimum(np.nan_to_num(away, nan=1.0) ** 2, 1.0))), dtype=np.int64)


def _rows_at(values: Any, where: NDArray[np.bool_]) -> Any:
    """The rows of a container at which `where` is true."""
    if isinstance(values, list | tuple):
        return [value for value, there in zip(values, where.tolist(), strict=True) if there]
    if isinstance(values, np.ndarray):
        return values[where]
    import narwhals as nw

    frame = nw.from_native(values, eager_only=True, allow_series=True)
    return frame.filter(where.tolist()).to_native()
