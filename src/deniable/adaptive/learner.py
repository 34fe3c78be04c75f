"""Private learner of a finite class, by the exponential mechanism over its errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Required, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.adaptive.generalisation import described_gap, failure_of
from deniable.adaptive.holdout import LedgerOrFilter, charge
from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, whole_number
from deniable.privacy import PrivacyLoss, Replace, of_count
from deniable.release.display import price
from deniable.rows import floats

Hypothesis: TypeAlias = int | tuple[int, int]

_MAX_HYPOTHESES = 10**7  # whose errors are listed: 80 MB
_ONE_ROW = of_count(rows=1, groups=1, relation=Replace, cells=1)  # moves the errors of each hypothesis by 1 at most


@dataclass(frozen=True, kw_only=True)
class Learned:
    """Hypothesis that was chosen privately.

    Args:
        hypothesis: its public name: an index, a threshold, or the two ends of an interval.
        excess: with probability `confidence`, its share of errors on the sample is at most this above the best one's.
        population_excess: likewise on the population that the rows were drawn from.
        confidence: probability that both hold.
        cost: privacy loss of the choice.
        safe: False if the noise came from a test stream.
    """

    hypothesis: Hypothesis
    excess: float
    population_excess: float
    confidence: float
    cost: PrivacyLoss
    safe: bool = True

    def __repr__(self) -> str:
        mark = "" if self.safe else ", safe=False"
        return (
            f"<Learned: hypothesis {self.hypothesis}; excess error at most {self.population_excess:.3f} on the "
            f"population ({self.confidence:.0%}); cost {price(self.cost)}{mark}>"
        )


class LearnerOptions(TypedDict, total=False):
    """Arguments of all learners; `learn_class` describes them."""

    epsilon: Required[Real]
    failure: Real
    ledger: LedgerOrFilter
    bits: Bits


def learn_class(predictions: object, labels: object, *, hypotheses: int, **options: Unpack[LearnerOptions]) -> Learned:
    """Choose a hypothesis with few errors from a public finite class.

    Args:
        predictions: shape (rows, hypotheses): the prediction of each hypothesis for each row.
        labels: shape (rows,). Entries that are not numbers agree with no prediction.
        hypotheses: number of hypotheses.
        epsilon: of the choice, under replace. The number of rows is public.
        failure: probability that an excess is larger than stated.
        ledger: a ledger or filter that is charged before a row is read; None charges nothing.
        bits: leave it out, except in tests.

    Returns: a `Learned` whose hypothesis is an index.
    Guarantee: epsilon-DP under replace; the excess on the sample is that of the exponential mechanism, with 2 / epsilon
        errors for each power of e; on the population twice Hoeffding's bound over the class is added.
    Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2008), arXiv:0803.0924. How many rows are needed:
        `deniable.limits.learner_rows`.

    >>> learn_class([[0, 1, 1]] * 500, [1] * 500, hypotheses=3, epsilon=1).excess < 0.03
    True
    """
    count = whole_number("hypotheses", hypotheses, lower=2, upper=_MAX_HYPOTHESES)
    truth = floats.numbers(labels, "labels")
    said, _ = floats.table(predictions, "predictions", columns=count)
    if said.shape != (len(truth), count):
        raise InvalidParameterError(
            f"predictions must have shape ({len(truth)}, {count}), one row for each label, got {said.shape}"
        )
    return _choose(lambda: (said != truth[:, None]).sum(axis=0), count, len(truth), int, **options)


def learn_threshold(values: object, labels: object, *, domain: int, **options: Unpack[LearnerOptions]) -> Learned:
    """Choose the t in 0..domain for which "1 exactly if value >= t" errs least.

    Args:
        values: whole numbers in 0..domain - 1, one for each row; others are rounded and clamped, entries that are not
            numbers are 0.
        labels: 1, or anything else for 0.
        domain: number of possible values; the error grows with its logarithm, and for pure privacy it must.
        epsilon, failure, ledger, bits: as for `learn_class`.

    Returns: a `Learned` whose hypothesis is t.

    >>> learn_threshold([3] * 200 + [7] * 200, [0] * 200 + [1] * 200, domain=10, epsilon=5).hypothesis in (4, 5, 6, 7)
    True
    """
    size = whole_number("domain", domain, lower=2, upper=_MAX_HYPOTHESES)
    below, ones = _read(values, labels, size)
    return _choose(lambda: below() + np.sum(~ones), size + 1, len(ones), int, **options)


def learn_interval(values: object, labels: object, *, domain: int, **options: Unpack[LearnerOptions]) -> Learned:
    """Choose a < b in 0..domain for which "1 exactly if a <= value < b" errs least.

    Args:
        values, labels: as for `learn_threshold`.
        domain: number of possible values, at most 4000, as all pairs are compared.
        epsilon, failure, ledger, bits: as for `learn_class`.

    Returns: a `Learned` whose hypothesis is (a, b).

    >>> learn_interval([1, 5, 9] * 300, [0, 1, 0] * 300, domain=10, epsilon=5).population_excess < 0.2
    True
    """
    size = whole_number("domain", domain, lower=2, upper=4000)
    first, last = np.triu_indices(size + 1, 1)
    below, ones = _read(values, labels, size)

    def errors() -> NDArray[np.int64]:
        more = below()
        return np.asarray(np.sum(ones) - (more[last] - more[first]))

    return _choose(errors, len(first), len(ones), lambda index: (int(first[index]), int(last[index])), **options)


def _read(values: object, labels: object, domain: int) -> tuple[Callable[[], NDArray[np.int64]], NDArray[np.bool_]]:
    """Return a function that counts ones less zeros below 0..domain, and the ones."""
    given = floats.numbers(values, "values")
    truth = floats.numbers(labels, "labels") == 1
    if len(given) != len(truth):
        raise InvalidParameterError(
            f"values and labels must have one entry for each row, got {len(given)} and {len(truth)}"
        )
    points = np.rint(np.clip(np.nan_to_num(given, nan=0.0), 0, domain - 1)).astype(np.int64)

    def below() -> NDArray[np.int64]:
        ones = np.bincount(points[truth], minlength=domain)
        all_rows = np.bincount(points, minlength=domain)
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
    ledger: LedgerOrFilter = None,
    bits: Bits = SECURE,
) -> Learned:
    """Choose a hypothesis, charged before the errors are counted."""
    count = positive_integer("rows", rows)
    share = failure_of(failure)
    mechanism = ExponentialMechanism.calibrated(_ONE_ROW, epsilon=epsilon)
    excess = min(1.0, mechanism.gap_bound(hypotheses, failure=share / 2) / count)
    spread = described_gap(hypotheses, rows=count, failure=share / 2)
    text = f"one of {hypotheses} hypotheses, learned from {count} rows"
    cost = mechanism.privacy_loss(_ONE_ROW)
    charge(ledger, cost, text=text, bits=bits)
    return Learned(
        hypothesis=name(int(mechanism.release(-errors(), bits=bits).value)),
        excess=excess,
        population_excess=min(1.0, excess + 2 * spread),
        confidence=float(1 - share),
        cost=cost,
        safe=bits.safe,
    )
