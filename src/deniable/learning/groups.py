"""Accuracy by group: noise in training costs small and unusual groups most."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Classifier, same_length
from deniable.learning.estimators.reading import Labels
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, PureLoss, Relation, of_count
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key, Measure, Noisy
from deniable.rows import Container, silence, without_rows

_NOTE = "Epsilon is the same for all groups: it bounds the loss of every row. What one row lost would be private."


def accuracy_by_group(
    models: Mapping[str, Any], X: Container, y: Container, groups: Container, *, values: Sequence[object],
    beside: str | None = None, public: bool = False, epsilon: Real | None = None, delta: Real = 0,
    relation: Relation = AddRemove, ledger: Payer | None = None, bits: Bits = SECURE,
) -> Release:  # fmt: skip
    """Release the accuracy of models in each group, and its gap to the best.

    The gap is to another model or to the best group; `.plot("gap")` draws it.

    Args:
        models: fitted classifiers by name, such as their epsilons; of this library where rows are private.
        X, y, groups: rows that were not trained on, their labels and their groups.
        values: all groups that are asked about; public.
        beside: a model, such as one without noise, from which gaps are taken; by default from the best group.
        public: the rows may be seen: it costs nothing, and intervals are those of a sample (Clopper-Pearson).
        epsilon, delta: what noisy counts of private rows may cost; intervals are those of the noise.
        relation, ledger, bits: as everywhere.

    Guarantee: that of noise on one count for each group and one more for each model, of which a row moves `models + 1`.
    Source: Bagdasaryan, Poursaeed, Shmatikov (2019), arXiv:1905.12101.

    >>> class Always:
    ...     classes_ = ["no", "yes"]
    ...     predict = staticmethod(lambda rows: ["yes"] * len(rows))
    >>> rows, labels, groups = [[0]] * 4, ["yes", "yes", "yes", "no"], ["a", "a", "b", "b"]
    >>> accuracy_by_group({"always": Always()}, rows, labels, groups, values=["a", "b"], public=True)["gap"].tolist()
    [0.0, 0.5]
    """
    known = Labels.of(list(values), groups)
    price = None if public else Price.of(epsilon, delta, None)
    same_length(X, y)
    same_length(X, groups)
    if not isinstance(models, Mapping) or not models or beside not in (None, *models):
        raise InvalidParameterError("models must map names to fitted classifiers, and beside be one of the names")
    readers = {name: Labels.of(list(getattr(model, "classes_", ())), y) for name, model in models.items()}
    if price:
        _check_private(models, X)
    sensitivity = of_count(rows=1, groups=len(models) + 1, relation=relation)
    noise = None if price is None else price.noise(sensitivity)
    cost = PureLoss(0) if noise is None else noise.privacy_loss(sensitivity)
    text = f"accuracy of {', '.join(models)} by group"
    left = None if noise is None else Payment(ledger, text=text, bits=bits).charge(cost)
    with silence():
        exact = _exact_counts(models, readers, known, X=X, y=y, groups=groups)
        counts: NDArray[Any] = exact if noise is None else noise.release(exact, bits=bits).value
    parts, noisy = _columns(list(models), known, counts, beside, noise)
    return Release(
        parts=parts, noisy=noisy, cost=cost, budget_left=left, text=text, safe=bits.safe or public, notes=(_NOTE,)
    )


def _columns(
    models: list[str], known: Labels, counts: NDArray[Any], beside: str | None, noise: AdditiveNoise | None
) -> tuple[tuple[Key | Measure | Estimate, ...], tuple[Noisy, ...]]:
    """Return the columns of the answer, and the noisy counts behind them.

    Args:
        models: names of the models.
        known: the groups.
        counts: shape (models + 1, groups): of rows, then of right predictions.
        beside: the model from which gaps are taken; None for the best group.
        noise: of the counts; None where they are exact, and intervals are those of a sample.
    """
    rows = np.tile(counts[0], len(models))
    right = counts[1:].ravel()
    share = np.clip(right / np.maximum(rows, 1), 0.0, 1.0)
    by_model = share.reshape(-1, len(known.classes))  # (models, groups)
    best = by_model.max(axis=1, keepdims=True) if beside is None else by_model[models.index(beside)]
    noisy: tuple[Noisy, ...] = ()
    accuracy: Measure | Estimate = Estimate(name="accuracy", estimates=share, ends=partial(_of_a_sample, right, rows))
    if noise is not None:
        law = noise.law()
        noisy = Noisy(name="right", values=right, law=law), Noisy(name="rows", values=rows, law=law)
        accuracy = _ratio()
    parts = (
        Key(name="model", values=[name for name in models for _ in known.classes]),
        Key(name="group", values=list(known.classes) * len(models)),
        accuracy,
        Estimate(name="gap", estimates=(best - by_model).ravel()),
    )
    return parts, noisy


def _check_private(models: Mapping[str, Any], X: Container) -> None:
    """Refuse models that may fail on a private row, or do not fit the rows."""
    for name, model in models.items():
        if not isinstance(model, Classifier):
            raise InvalidParameterError(f"{name} may fail on a private row: give a fitted model of this library")
        model.predict(without_rows(X))  # type: ignore[arg-type]


def _exact_counts(
    models: Mapping[str, Any], readers: Mapping[str, Labels], known: Labels, *, X: Container, y: Container,
    groups: Container,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the counts of rows and of right predictions, group by group.

    Shape (models + 1, groups): the number of rows first, then the right predictions of each model.
    """
    group_of_row = known.indices(groups)
    size = len(known.classes)
    masks = [np.ones(len(group_of_row), dtype=np.bool_)]
    for name, model in models.items():
        truth = readers[name].indices(y)
        predicted = readers[name].indices(model.predict(X))
        masks.append((predicted == truth) & (truth < len(readers[name].classes)))
    return np.stack([np.bincount(group_of_row[mask], minlength=size + 1)[:size] for mask in masks])


def _ratio() -> Measure:
    """Return the accuracy as a ratio of two noisy counts.

    Its intervals follow from theirs.
    """
    return Measure(
        name="accuracy", bases=("right", "rows"), evaluate=lambda of: of["right"] / of["rows"],
        denominators=(itemgetter("rows"),), lower=0, upper=1,
    )  # fmt: skip


def _of_a_sample(right: NDArray[np.int64], rows: NDArray[np.int64], level: float) -> Bounds:
    """Clopper-Pearson intervals; the whole range where a group has no rows."""
    tail = (1 - level) / 2
    lower, upper = beta.ppf(tail, right, rows - right + 1), beta.ppf(1 - tail, right + 1, rows - right)
    return Bounds(np.where(right > 0, lower, 0.0), np.where(right < rows, upper, 1.0))
