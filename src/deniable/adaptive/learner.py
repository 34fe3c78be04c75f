"""The private learner of a finite class: the exponential mechanism over its errors on the sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Required, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.adaptive.generalisation import described_gap, failure_of
from deniable.adaptive.holdout import Account, charge
from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, whole_number
from deniable.privacy import Replace, of_count
from deniable.rows import floats

Hypothesis: TypeAlias = int | tuple[int, int]

_MOST = 10**7  # hypotheses whose errors are listed
_ONE_ROW = of_count(rows=1, groups=1, relation=Replace, cells=1)  # moves the errors of each hypothesis by 1 at most


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A hypothesis that was chosen privately.

    Args:
        hypothesis: its public name: an index, a threshold, or the two ends of an interval.
        excess: with probability `confidence`, its share of errors on the sample is at most this above the best one's.
        population_excess: the same on the population that the rows were drawn from, with the same confidence.
        confidence: that both hold.
        safe: False if the noise came from test bits.
    """

    hypothesis: Hypothesis
    excess: float
    population_excess: float
    confidence: float
    safe: bool = True


class Cost(TypedDict, total=False):
    """What every learner takes: see `learn_class`."""

    epsilon: Required[Real]
    failure: Real
    ledger: Account
    bits: Bits


def learn_class(predictions: object, labels: object, *, hypotheses: int, **cost: Unpack[Cost]) -> Learned:
    """The index of a hypothesis with few errors, out of a public finite class.

    Args:
        predictions: a table of shape (rows, hypotheses): what each hypothesis says of each row.
        labels: shape (rows,). What is no number agrees with nothing.
        hypotheses: how many there are.
        epsilon: of the choice, under replace. The number of rows is public.
        failure: probability that an excess is larger than stated.
        ledger: that pays, or a filter.
        bits: leave it out, except in tests.

    Guarantee: epsilon-DP under replace; the excess on the sample is that of the exponential mechanism, with 2 / epsilon
        errors for each power of e; on the population Hoeffding's bound over the class comes on top, twice.
    Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2008), arXiv:0803.0924. How many rows are needed:
        `deniable.limits.learner_rows`.

    >>> learn_class([[0, 1, 1]] * 500, [1] * 500, hypotheses=3, epsilon=1).excess < 0.03
    True
    """
    count = whole_number("hypotheses", hypotheses, lower=2, upper=_MOST)
    truth = floats.numbers(labels, "labels")
    said, _ = floats.table(predictions, "predictions", columns=count)
    if said.shape != (len(truth), count):
        raise InvalidParameterError(
            f"predictions must have shape ({len(truth)}, {count}), one row a label, got {said.shape}"
        )
    return _choose(lambda: (said != truth[:, None]).sum(axis=0), count, len(truth), int, **cost)


def learn_threshold(values: object, labels: object, *, domain: int, **cost: Unpack[Cost]) -> Learned:
    """The t of 0..domain for which "1 exactly if value >= t" makes few errors; other arguments as for `learn_class`.

    Args:
        values: whole numbers of 0..domain - 1, one a row; others are rounded and clamped, what is no number is 0.
        labels: 1, or anything else for 0.
        domain: how many values are possible; the error grows with its logarithm, and for pure privacy it must.

    >>> learn_threshold([3] * 200 + [7] * 200, [0] * 200 + [1] * 200, domain=10, epsilon=5).hypothesis in (4, 5, 6, 7)
    True
    """
    size = whole_number("domain", domain, lower=2, upper=_MOST)
    below, ones = _read(values, labels, size)
    return _choose(lambda: below() + np.sum(~ones), size + 1, len(ones), int, **cost)


def learn_interval(values: object, labels: object, *, domain: int, **cost: Unpack[Cost]) -> Learned:
    """The a < b of 0..domain for which "1 exactly if a <= value < b" makes few errors; arguments as before.

    Args:
        domain: at most 4000, as all pairs are compared.

    >>> learn_interval([1, 5, 9] * 300, [0, 1, 0] * 300, domain=10, epsilon=5).population_excess < 0.2
    True
    """
    size = whole_number("domain", domain, lower=2, upper=4000)
    first, last = np.triu_indices(size + 1, 1)
    below, ones = _read(values, labels, size)

    def errors() -> NDArray[np.int64]:
        more = below()
        return np.asarray(np.sum(ones) - (more[last] - more[first]))

    return _choose(errors, len(first), len(ones), lambda index: (int(first[index]), int(last[index])), **cost)


def _read(values: object, labels: object, domain: int) -> tuple[Callable[[], NDArray[np.int64]], NDArray[np.bool_]]:
    """What counts how many more ones than zeros lie below each of 0..domain, and which rows are ones."""
    found, truth = floats.numbers(values, "values"), floats.numbers(labels, "labels") == 1
    if len(found) != len(truth):
        raise InvalidParameterError(f"values and labels must have one entry a row, got {len(found)} and {len(truth)}")
    places = np.rint(np.clip(np.nan_to_num(found, nan=0.0), 0, domain - 1)).astype(np.int64)

    def below() -> NDArray[np.int64]:
        ones, all_rows = np.bincount(places[truth], minlength=domain), np.bincount(places, minlength=domain)
        return np.concatenate([[0], np.cumsum(2 * ones - all_rows)])

    return below, truth


def _choose(
    errors: Callable[[], NDArray[np.int64]],
    hypotheses: int,
    rows: int,
    name: Callable[[int], Hypothesis],
    *,
    epsilon: Real,
    failure: Real = "0.05",
    ledger: Account = None,
    bits: Bits = SECURE,
) -> Learned:
    """The choice, paid before the errors are counted."""
    count, share = positive_integer("rows", rows), failure_of(failure)
    mechanism = ExponentialMechanism.calibrated(_ONE_ROW, epsilon=epsilon)
    excess = min(1.0, mechanism.gap_bound(hypotheses, failure=share / 2) / count)
    spread = described_gap(hypotheses, rows=count, failure=share / 2)
    text = f"one of {hypotheses} hypotheses, learned from {count} rows"
    charge(ledger, mechanism.privacy_loss(_ONE_ROW), text=text, bits=bits)
    return Learned(
        hypothesis=name(int(mechanism.release(-errors(), bits=bits).value)),
        excess=excess,
        population_excess=min(1.0, excess + 2 * spread),
        confidence=float(1 - share),
        safe=bits.safe,
    )
