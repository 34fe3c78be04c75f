"""Divergences of a mechanism with a known density, from its outputs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from deniable.audit.black_box import LogDensity, log_ratios
from deniable.audit.result import read_failure
from deniable.audit.running import MechanismRunner, read_runs
from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import nonnegative_rational, shown


@dataclass(frozen=True, kw_only=True)
class Divergences:
    """Divergences of two output distributions, in the worse direction.

    Args:
        epsilons: shape (epsilons,), at which the hockey-stick divergence was estimated.
        delta: its estimates, shape (epsilons,).
        delta_lower, delta_upper: bounds that hold all at once with probability `confidence`.
        orders: of the Rényi divergences.
        renyi: estimates without a guarantee, shape (orders,): rare outputs that were not seen may dominate them.
        confidence: of the bounds.
        runs: number of runs of the mechanism on both inputs together.
    """

    epsilons: Floats
    delta: Floats
    delta_lower: Floats
    delta_upper: Floats
    orders: Floats
    renyi: Floats
    confidence: float
    runs: int

    def __repr__(self) -> str:
        points = zip(self.epsilons, self.delta_lower, self.delta_upper, strict=True)
        deltas = "; ".join(f"[{low:.4g}, {high:.4g}] at epsilon={at:.4g}" for at, low, high in points)
        return f"<Divergences: delta in {deltas or 'no interval'} ({self.confidence:.0%})>"


def estimate_divergences(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    log_density: LogDensity,
    epsilons: Sequence[float] = (0.0, 0.5, 1.0, 2.0),
    orders: Sequence[float] = (2.0, 4.0),
    confidence: float = 0.99,
    runs: int = 50_000,
    batched: bool = False,
) -> Divergences:
    """Estimate delta(epsilon) and Rényi divergences from log densities of outputs.

    >>> rng = np.random.default_rng(1)
    >>> noise = lambda exact, runs: exact + rng.normal(size=runs)
    >>> density = lambda outputs, exact: -((outputs - exact) ** 2) / 2
    >>> estimated = estimate_divergences(noise, 0, 1, log_density=density, epsilons=[1], batched=True)
    >>> bool(estimated.delta_lower[0] < 0.12694 < estimated.delta_upper[0])
    True

    Args:
        mechanism, data, neighbour: as for `measure`.
        log_density: takes the outputs and an input; returns the log density of each output on it, shape (runs,), up to
            one constant, -inf where an output is impossible. It must be the mechanism's own: this is not checked.
        epsilons: each at least 0.
        orders: each above 1.
        confidence: probability that all intervals for delta hold.
        runs: number of runs on each input, at least 2.
        batched: as for `measure`.

    Returns: a `Divergences`.
    Guarantee: delta(epsilon) = E max(0, 1 - exp(epsilon - L)) for the log ratio L of an output, a mean of numbers in
        [0, 1]; its interval is an empirical Bernstein bound.
    Raises: InvalidParameterError for parameters outside their domain.
    Source: Maurer, Pontil (2009), arXiv:0907.3740, Theorem 4.
    Proof: docs/theory/audit/black_box.md.
    """
    failure = read_failure(confidence)
    count = read_runs(runs, minimum=2)
    at = np.array([float(nonnegative_rational("epsilons", one)) for one in epsilons])
    of = np.array(orders, dtype=np.float64)
    if not (of > 1).all():
        raise InvalidParameterError(f"orders must be above 1, got {shown(list(orders))}")
    pair = (data, neighbour)
    runner = MechanismRunner(mechanism=mechanism, inputs=pair, batched=batched)
    drawn = runner.draw(count)
    log_likelihoods = log_ratios(log_density, drawn, pair, seed=0)
    ratios = [log_likelihoods[:count], -log_likelihoods[count:]]
    if np.isnan(log_likelihoods).any():
        raise InvalidParameterError("log_density must return one number for each output, and never NaN")
    each = failure / (4 * max(len(at), 1))  # two directions, two sides
    sides = [_means(np.maximum(-np.expm1(at[:, None] - one), 0.0), each) for one in ratios]
    powers = [special.logsumexp((of[:, None] - 1) * one, axis=1) - math.log(count) for one in ratios]
    return Divergences(
        epsilons=at,
        delta=np.maximum(sides[0][0], sides[1][0]),
        delta_lower=np.maximum(sides[0][1], sides[1][1]),
        delta_upper=np.maximum(sides[0][2], sides[1][2]),
        orders=of,
        renyi=np.maximum(*powers) / (of - 1),
        confidence=1 - failure,
        runs=runner.called,
    )


def _means(values: Floats, failure: float) -> tuple[Floats, Floats, Floats]:
    """Return means of numbers in [0, 1] over the last axis, and their bounds.

    Each bound fails with probability `failure`.
    """
    runs = values.shape[-1]
    means = values.mean(axis=-1)
    doubt = math.log(2 / failure)
    slack = np.sqrt(2 * values.var(axis=-1, ddof=1) * doubt / runs) + 7 * doubt / (3 * (runs - 1))
    return means, np.maximum(means - slack, 0.0), np.minimum(means + slack, 1.0)
