"""Membership scores from signals of a model and of shadow models: LiRA and RMIA.

Shadow models are trained as the target was, on subsets that the attacker knows. Any model fits, since only its signals
come in. `infer_membership` turns the scores into a result.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import Floats, read_numbers, real
from deniable.errors import InvalidParameterError

MIN_MODELS_FOR_OWN_VARIANCE = 64  # below, all examples share one variance
MIN_VARIANCE = 1e-12  # of signals


def scale_losses(losses: ArrayLike) -> Floats:
    """Convert losses -ln(p) to logits ln(p/(1 - p)), which are closer to normal.

    Args:
        losses: in nats, >= 0, of any shape.

    Returns: logits of that shape.
    Source: Carlini et al., Membership inference attacks from first principles (2022), arXiv:2112.03570.

    >>> from deniable.attacks.membership import scale_losses
    >>> scale_losses([np.log(2), 0.0]).round(2)
    array([ 0.  , 36.74])
    """
    read = read_numbers("losses", losses, infinite=True)
    if read.min() < 0:
        raise InvalidParameterError("losses must be >= 0")
    read = np.clip(read, 2.0**-53, 1e6)
    return np.asarray(-read - np.log(-np.expm1(-read)))


def score_lira(target: ArrayLike, *, shadow: ArrayLike, inside: ArrayLike, online: bool = True) -> Floats:
    """Score by the likelihood ratio of two normal distributions (LiRA).

    They are fitted to the signals of each example from shadow models. Online: ln N(signal; in) - ln N(signal; out).
    Offline, from models without the example alone: the number of standard deviations above their mean. Below 64 models
    all examples share one variance.

    Args:
        target: shape (examples,), the target model's signals, such as `scale_losses` gives.
        shadow: shape (models, examples), signals of the shadow models.
        inside: shape (models, examples), whether the model was trained on the example.
        online: whether models with the example are used too.

    Returns: shape (examples,), higher means "member".
    Source: Carlini et al. (2022), arXiv:2112.03570.

    >>> shadow, inside = [[3.0, 0.1], [0.2, 2.9], [2.8, 0.0], [0.0, 3.1]], [[1, 0], [0, 1], [1, 0], [0, 1]]
    >>> score_lira([3.0, 0.0], shadow=shadow, inside=inside) > 0
    array([ True, False])
    """
    signals, models, trained = _read(target, shadow, inside)
    mean, spread = _fit(models, ~trained, "without")
    below = (signals - mean) ** 2 / spread
    if not online:
        return np.asarray(np.sign(signals - mean) * np.sqrt(below))
    mean, inner = _fit(models, trained, "with")
    return np.asarray((below - (signals - mean) ** 2 / inner + np.log(spread) - np.log(inner)) / 2)


def _fit(models: Floats, chosen: NDArray[np.bool_], what: str) -> tuple[Floats, Floats]:
    """Return mean and variance of each example's signals from the chosen models."""
    mean = _average(models, chosen, what)
    squares = np.where(chosen, (models - mean) ** 2, 0).sum(axis=0)
    degrees = chosen.sum(axis=0) - 1
    if len(models) < MIN_MODELS_FOR_OWN_VARIANCE:
        squares = np.full(len(mean), squares.sum())
        degrees = np.full(len(mean), degrees.sum())
    if not degrees.min():
        raise InvalidParameterError(
            f"shadow must hold at least 2 models {what} an example: any example below 64 models, each one above"
        )
    return mean, np.maximum(squares / degrees, MIN_VARIANCE)


def score_rmia(
    target: ArrayLike,
    *,
    shadow: ArrayLike,
    inside: ArrayLike,
    population_target: ArrayLike,
    population_shadow: ArrayLike,
    online: bool = True,
    gamma: float = 1.0,
    a: float = 0.3,
) -> Floats:
    """Score by the share of the population that the example dominates (RMIA).

    Likelihood ratios are compared. The ratio of x is P(x | target)/P(x); P(x) is the mean of the averages over models
    with and without x (online), or ((1 + a) average without x + 1 - a)/2 (offline, and always for the population). The
    score is the share of z in the population with ratio(x)/ratio(z) > gamma.

    Args:
        target: shape (examples,), probabilities in [0, 1] that the target model gives the true labels.
        shadow: shape (models, examples), probabilities of the shadow models.
        inside: shape (models, examples), whether the model was trained on the example.
        population_target: shape (population,), probabilities for people who are in no training set.
        population_shadow: shape (models, population).
        online: whether models with the example are used too.
        gamma: above 0.
        a: in [0, 1], tuned on a shadow model that plays the target, never on the target.

    Returns: shape (examples,), in [0, 1].
    Source: Zarifzadeh, Liu, Shokri, Low-cost high-power membership inference attacks (2024), arXiv:2312.03262.

    >>> kwargs = {"population_target": [0.5, 0.5], "population_shadow": [[0.5, 0.4], [0.5, 0.6]]}
    >>> score_rmia([0.9, 0.3], shadow=[[0.5, 0.3], [0.4, 0.8]], inside=[[0, 0], [0, 1]], online=False, **kwargs)
    array([1., 0.])
    """
    signals, models, trained = _read(target, shadow, inside)
    crowd, crowd_models, nowhere = _read(
        population_target, population_shadow, np.zeros(np.shape(population_shadow), dtype=bool)
    )
    if any(values.min() < 0 or values.max() > 1 for values in (signals, models, crowd, crowd_models)):
        raise InvalidParameterError("signals of RMIA must be probabilities in [0, 1]")
    if not real("gamma", gamma) > 0 or not 0 <= real("a", a) <= 1:
        raise InvalidParameterError(f"gamma must be above 0 and a in [0, 1], got {gamma} and {a}")
    outside = _average(models, ~trained, "without")
    usual = (outside + _average(models, trained, "with")) / 2 if online else ((1 + a) * outside + 1 - a) / 2
    expected = ((1 + a) * _average(crowd_models, ~nowhere, "without") + 1 - a) / 2
    floor = np.finfo(np.float64).tiny
    ratios = np.sort(crowd / np.maximum(expected, floor))
    return np.searchsorted(ratios, signals / np.maximum(usual, floor) / gamma, side="left") / len(ratios)


def _average(values: Floats, chosen: NDArray[np.bool_], what: str) -> Floats:
    """Return the mean of each example's signals from the chosen models."""
    count = chosen.sum(axis=0)
    if not count.min():
        raise InvalidParameterError(f"shadow must hold at least 1 model {what} each example")
    return np.asarray(np.where(chosen, values, 0).sum(axis=0) / count)


def _read(target: ArrayLike, shadow: ArrayLike, inside: ArrayLike) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return signals of the target and of the models, and who was trained on what."""
    signals = read_numbers("target", target, dimensions=1)
    models = read_numbers("shadow", shadow, dimensions=2)
    trained = np.asarray(inside)
    if models.shape[1] != len(signals) or trained.shape != models.shape:
        raise InvalidParameterError(
            f"shadow and inside must be of shape (models, {len(signals)}), got {models.shape} and {trained.shape}"
        )
    if not np.isin(trained, (0, 1)).all():
        raise InvalidParameterError("inside must hold booleans, or 0 and 1")
    return signals, models, trained.astype(bool)
