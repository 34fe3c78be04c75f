"""Losses from other programs: Google's DpEvent trees and histories of Opacus.

Neither package is needed: objects are recognised by the names of their classes and fields. Anything not on the list is
refused by name; nothing is replaced by an approximation.

Neither package is needed: objects are recognised by the names of their classes and fields. What is not on the list is
refused by name; nothing is approximated by something else.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.rationals import (
    decimal_below,
    decimal_text,
    exact_rational,
    nonnegative_rational,
    positive_rational,
    whole_number,
)
from deniable.privacy.composition.tuning import BestOfStatement
from deniable.privacy.constructors import (
    ApproximateLoss,
    BestOfLoss,
    BestOfPoissonLoss,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PureLoss,
    RandomizedResponseLoss,
)
from deniable.privacy.loss import PrivacyLoss, compose
from deniable.privacy.relation import AddRemove, Relation, Replace
from deniable.privacy.sensitivity import Sensitivity

Reader = Callable[[object, Relation], PrivacyLoss]


def of_dp_event(event: object, *, relation: Relation = AddRemove) -> PrivacyLoss:
    """Return the loss of a `dp_accounting.DpEvent`, or of its `to_named_tuple()`.

    Args:
        event: a DpEvent, alone or nested, or the named tuple that `to_named_tuple` makes of one.
        relation: the neighbouring relation that the result is to hold for.

    Guarantee: an event gives the norm bound of one record, so the same noise is half as large, relative to the
        sensitivity, under replace, where one record moves a sum by up to twice its norm. The result holds for
        `relation` alone, even where its parts would hold for others (`loss.under(relation)`). Numbers are read by their
        shortest decimal text, as everywhere.
    Raises: UnprovedError for an event, or a relation, that has no loss here.

    >>> from collections import namedtuple
    >>> event = namedtuple("GaussianDpEvent", "noise_multiplier")(1.1)  # as dp_accounting makes it
    >>> print(of_dp_event(event).renyi(2))
    [0.826446, 0.826447]
    """
    Relation.checked(relation)
    return _for_one(_read(event, relation), relation)


def _read(event: object, relation: Relation) -> PrivacyLoss:
    """Return the loss of an event, by the reader for its class."""
    name = _name(event)
    if name not in _READERS:
        raise UnprovedError(
            f"{name or 'this object'} is not supported; supported are {', '.join(sorted(_READERS))}. Build the loss "
            "of the mechanism from deniable.privacy, or state what is proved with ApproximateLoss(epsilon, delta)."
        )
    return _READERS[name](event, relation)


def of_opacus(history: object) -> PrivacyLoss:
    """Return the loss, under add/remove, of a training run with Opacus.

    Args:
        history: an accountant of Opacus, its `state_dict()`, or its history: a list of (noise multiplier, sample rate,
            steps). It holds for training with Poisson sampling, which Opacus uses unless `poisson_sampling=False` was
            given.

    Raises: InvalidParameterError if `history` is none of these.

    >>> of_opacus([(1.1, 0.004, 5000)]).epsilon("1e-5").upper < 1.6
    True
    """
    rows = history.get("history") if isinstance(history, Mapping) else getattr(history, "history", history)
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise InvalidParameterError(f"an Opacus history is a list of (noise multiplier, rate, steps), got {history!r}")
    return _for_one(compose([_opacus_row(row) for row in rows]), AddRemove)


def _for_one(loss: PrivacyLoss, relation: Relation) -> PrivacyLoss:
    """Return the loss under `relation` alone, as parts, which compose equally well."""
    if len(loss.relations) == 1:
        return loss
    return compose([compose(part.under(relation), count) for part, count in loss.composition])


def _opacus_row(row: object) -> PrivacyLoss:
    if not isinstance(row, Sequence) or len(row) != 3:
        raise InvalidParameterError(f"a row of an Opacus history is (noise multiplier, rate, steps), got {row!r}")
    noise, rate, steps = row
    return compose(GaussianLoss(noise).poisson_sampled(rate=rate), steps)


def _name(event: object) -> str:
    """Return the name of the event's class; a named tuple carries it in a field."""
    name = getattr(event, "class_name", type(event).__name__)
    return name.decode() if isinstance(name, bytes) else str(name)


def _field(event: object, name: str) -> Any:
    """Return a field of a foreign object; every reader checks the value it takes."""
    missing = object()
    value = getattr(event, name, missing)
    if value is missing:
        raise InvalidParameterError(f"{_name(event)} needs a field {name!r}")
    return value


def _whole(event: object, name: str) -> int:
    """Return a field as a whole number >= 0."""
    value = exact_rational(name, _field(event, name))
    if value.denominator != 1 or value < 0:
        raise InvalidParameterError(f"{name} of {_name(event)} must be a whole number >= 0, got {value}")
    return int(value)


def _norms_moved(relation: Relation) -> int:
    """Return the factor of its norm by which one record can move a sum."""
    return 1 if relation is AddRemove else 2


def _noise(event: object, relation: Relation) -> Fraction:
    """Return the noise scale over the most that one record can move a sum."""
    return positive_rational("noise_multiplier", _field(event, "noise_multiplier")) / _norms_moved(relation)


def _discrete_laplace(event: object, relation: Relation) -> PrivacyLoss:
    moved = _whole(event, "sensitivity") * _norms_moved(relation)
    norms = Sensitivity(l1=moved, l2_squared=moved**2, linf=moved, relation=relation)  # type: ignore[arg-type]
    return DiscreteLaplaceLoss(1 / positive_rational("noise_parameter", _field(event, "noise_parameter")), norms)


def _randomized_response(event: object, relation: Relation) -> PrivacyLoss:
    _only(Replace, event, relation, "hides which answer a person gives, not that they give one")
    share = 1 - nonnegative_rational("noise_parameter", _field(event, "noise_parameter"))
    return RandomizedResponseLoss.of_coin(share, choices=_whole(event, "num_buckets"))


def _pair(event: object, relation: Relation) -> PrivacyLoss:
    epsilon = _field(event, "epsilon")
    delta = nonnegative_rational("delta", _field(event, "delta"))
    return ApproximateLoss(epsilon, delta) if delta else PureLoss(epsilon)


def _concentrated(event: object, relation: Relation) -> PrivacyLoss:
    return ConcentratedLoss(_field(event, "rho"), shift=getattr(event, "xi", 0))


def _tree(event: object, relation: Relation) -> PrivacyLoss:
    """Return the loss of tree aggregation: a record is in one node of each level.

    There are as many levels as the number of steps has binary digits.
    """
    _only(Replace, event, relation, "exchanges what one step sees")
    counts = _field(event, "step_counts")
    steps = [
        whole_number("step_counts", count, lower=1) for count in (counts if isinstance(counts, list) else [counts])
    ]
    if not steps:
        raise InvalidParameterError("step_counts of SingleEpochTreeAggregationDpEvent must not be empty")
    return compose(GaussianLoss(_noise(event, relation)), max(steps).bit_length())


def _best(event: object, relation: Relation) -> PrivacyLoss:
    """Return the loss of the best of a random number of runs with this mean.

    The mean may be a little larger where the stopping probability has to be rounded.
    """
    base = _read(_field(event, "event"), relation)
    shape = _field(event, "shape")
    mean = exact_rational("mean", _field(event, "mean"))
    if mean < 1:
        raise InvalidParameterError(f"mean of RepeatAndSelectDpEvent must be >= 1, got {decimal_text(mean)}")
    if shape == math.inf:
        return BestOfPoissonLoss(base, mean)
    return base if mean == 1 else BestOfLoss(base, _stop(mean, nonnegative_rational("shape", shape)), shape)


def _stop(mean: Fraction, shape: Fraction) -> Fraction:
    """Return the largest 12-digit stopping probability with this mean number of runs.

    The mean is `mean` or more.
    """
    if shape == 1:
        return 1 / mean

    def late(stop: Fraction) -> bool:
        return Fraction(BestOfStatement(PureLoss(0), stop, shape).mean_runs.lower) >= mean

    low, high = -600.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if late(Fraction(math.exp(middle))) else (low, middle)
    stopping = decimal_below(Fraction(math.exp(low)), 12)
    if not late(stopping):
        raise InvalidParameterError(f"mean of RepeatAndSelectDpEvent cannot be reached, got {decimal_text(mean)}")
    return stopping


def _poisson(event: object, relation: Relation) -> PrivacyLoss:
    """Return the loss on a Poisson sample, its mechanism being stated for add/remove.

    That holds for whichever relation the result is asked for.
    """
    inner = _read(_field(event, "event"), AddRemove)
    return inner.poisson_sampled(rate=_field(event, "sampling_probability"), relation=relation)


def _fixed_size(event: object, relation: Relation) -> tuple[PrivacyLoss, int, int]:
    """Return the loss on a sample, the sample size, and the size of the data."""
    _only(Replace, event, relation, "draws a sample of a fixed size")
    inner = _read(_field(event, "event"), relation)
    return inner, _whole(event, "sample_size"), _whole(event, "source_dataset_size")


def _without_replacement(event: object, relation: Relation) -> PrivacyLoss:
    inner, size, population = _fixed_size(event, relation)
    return inner.sampled_without_replacement(size=size, population=population)


def _with_replacement(event: object, relation: Relation) -> PrivacyLoss:
    inner, draws, population = _fixed_size(event, relation)
    return inner.sampled_with_replacement(draws=draws, population=population)


def _capped(event: object, relation: Relation) -> PrivacyLoss:
    _only(AddRemove, event, relation, "cuts a Poisson sample")
    noise = GaussianLoss(_field(event, "noise_multiplier"))
    cap = _whole(event, "truncated_batch_size")
    population = _whole(event, "dataset_size")
    return noise.capped_poisson_sampled(rate=_field(event, "sampling_probability"), cap=cap, population=population)


def _mixture(event: object, relation: Relation) -> PrivacyLoss:
    _only(AddRemove, event, relation, "has one unit in one of several places")
    weights = _field(event, "sampling_probs")
    shifts = _field(event, "sensitivities")
    if not isinstance(weights, Iterable) or not isinstance(shifts, Iterable):
        raise InvalidParameterError("sampling_probs and sensitivities of MixtureOfGaussiansDpEvent must be lists")
    pairs = [
        (exact_rational("sampling_probs", w), exact_rational("sensitivities", c))
        for w, c in zip(weights, shifts, strict=True)
    ]
    return GaussianMixtureLoss(_normalised(pairs), sigma=_field(event, "standard_deviation"), relation=relation)


def _normalised(pairs: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return weights with sum 1 where floats left the sum at nearly 1.

    Weight is moved towards large shifts, so that the loss does not become smaller.
    """
    missing = 1 - sum((weight for weight, _ in pairs), Fraction(0))
    if not pairs or abs(missing) > _ROUNDED:
        return pairs
    ordered = sorted(pairs, key=lambda pair: pair[1])
    if missing > 0:
        ordered[-1] = (ordered[-1][0] + missing, ordered[-1][1])
    for index, (weight, shift) in enumerate(ordered):
        taken = min(weight, max(-missing, Fraction(0)))
        ordered[index] = (weight - taken, shift)
        missing = missing + taken
    return [pair for pair in ordered if pair[0]]


def _only(needed: Relation, event: object, relation: Relation, what: str) -> None:
    """Raise unless the relation is the one that the event is proved for."""
    if relation is not needed:
        name = "AddRemove" if needed is AddRemove else "Replace"
        raise UnprovedError(
            f"{_name(event)} {what}: it is proved for {needed}. Use of_dp_event(event, relation={name})."
        )


def _repeated(event: object, relation: Relation) -> PrivacyLoss:
    return compose(_read(_field(event, "event"), relation), _whole(event, "count"))


def _composed(event: object, relation: Relation) -> PrivacyLoss:
    events = _field(event, "events")
    if not isinstance(events, Iterable):
        raise InvalidParameterError(f"events of {_name(event)} must be a list, got {events!r}")
    return compose([_read(part, relation) for part in events])


_ROUNDED = Fraction(1, 10**9)  # how far from 1 floats may leave the sum of weights

_READERS: dict[str, Reader] = {
    "NoOpDpEvent": lambda event, relation: compose([]),
    "GaussianDpEvent": lambda event, relation: GaussianLoss(_noise(event, relation)),
    "LaplaceDpEvent": lambda event, relation: LaplaceLoss(_noise(event, relation)),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "EpsilonDeltaDpEvent": _pair,
    "ZCDpEvent": _concentrated,
    "PoissonSampledDpEvent": _poisson,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SampledWithReplacementDpEvent": _with_replacement,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": _best,
    "TruncatedSubsampledGaussianDpEvent": _capped,
    "MixtureOfGaussiansDpEvent": _mixture,
    "SelfComposedDpEvent": _repeated,
    "ComposedDpEvent": _composed,
}
