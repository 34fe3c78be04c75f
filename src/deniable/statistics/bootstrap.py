"""Confidence intervals for a population: the mechanism is run on simulated rows.

The intervals of a release are for the statistic of the rows that were there. These are for what the rows were drawn
from: they count the chance in the rows, the clamping, the rounding and the noise, because each simulated data set goes
through all of it. Only released numbers are read, so nothing is spent.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import floor
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import positive_integer
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key, Measure
from deniable.release.intervals import check_level
from deniable.statistics.models import Model
from deniable.statistics.statistic import Statistic

Kind = Literal["pivotal", "percentile"]
KINDS = ("pivotal", "percentile")
BIASED = (
    "the answer lies outside of an interval that the simulations give, which was widened to it: clamping or noise "
    "biases such answers under this model"
)
Limits: TypeAlias = tuple[float | None, float | None]


def bootstrap(
    statistic: Statistic,
    answer: Release,
    model: Model,
    *,
    size: int,
    truth: ArrayLike | None = None,
    column: str | None = None,
    kind: Kind = "pivotal",
    runs: int = 999,
    progress: Callable[[int, int], None] | None = None,
    bits: Bits = SECURE,
) -> Release:
    """Return an answer with intervals for the population, by a parametric bootstrap.

    The mechanism that gave the answer is run on simulated rows. Coverage is as good as the model, and approaches the
    level as rows become more; where clamping or noise bias the answer much, so is the model that was fitted to it. Rows
    are simulated as independent, one for each unit.

    Args:
        statistic: the `plan` that gave the answer.
        answer: the release. A column is kept with the keys; its cost is still that of the answer.
        model: distribution of a row, with parameters from released numbers alone: `dn.statistics.models`, or any object
            with a method sample(size, bits=...).
        size: how many rows to simulate: the public number, or a released one.
        truth: the value of the statistic in the population of the model, one per row of the answer; by default what the
            model knows by the name of the statistic.
        column: name of the column, if there are several.
        kind: "pivotal" takes the error of the simulations from the answer, which corrects bias; "percentile" takes the
            simulated answers themselves. Where that leaves the answer out, the interval is widened to it.
        runs: how many simulations; the level is exact in steps of 1 / (runs + 1).
        progress: called with (done, runs) after each run.
        bits: source of random bits; leave it out, except in tests.

    Error: intervals at a level above 1 - 2 / (runs + 1) are infinite.
    Raises: InvalidParameterError if the column or the truth is not known.
    Source: Ferrando, Wang, Sheldon (2022), arXiv:2006.07749; Efron (1979) for the bootstrap.

    >>> import deniable as dn
    >>> plan = dn.statistics.plan(dn.statistics.mean, bounds=(0, 100), epsilon=1)
    >>> answer = plan([21, 45, 33, 60] * 50)
    >>> model = dn.statistics.models.Normal(mean=answer.scalar(), deviation=15)
    >>> wider = dn.statistics.bootstrap(plan, answer, model, size=200, runs=99)
    """
    if not isinstance(statistic, Statistic) or not isinstance(answer, Release):
        raise InvalidParameterError("bootstrap takes a statistic, as dn.statistics.plan gives it, and its release")
    if not callable(getattr(model, "sample", None)):
        raise InvalidParameterError(f"model must have a method sample(size, bits=...), got {type(model).__name__}")
    if kind not in KINDS:
        raise InvalidParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    size, runs = positive_integer("size", size), positive_integer("runs", runs)
    part = _column(answer, column)
    estimates = np.asarray(answer[part.name], dtype=np.float64)
    aim = _truth(statistic, model, truth, len(estimates))
    owners = None if statistic.rows == 1 else np.arange(size)
    draws = _draws(
        lambda: statistic(model.sample(size, bits=bits), units=owners, bits=bits)[part.name],
        np.empty((runs, len(estimates))),
        progress,
    )
    limits = (part.lower, part.upper) if isinstance(part, Measure) else (None, None)
    ends = (
        partial(_percentile, draws, limits)
        if kind == "percentile"
        else partial(_pivotal, draws - aim, estimates, limits)
    )
    keys = tuple(key for key in answer.parts if isinstance(key, Key))
    notes = [f"intervals are for the population, by {runs} runs of the mechanism on rows of {type(model).__name__}"]
    estimate = Estimate(name=part.name, estimates=estimates, ends=ends, post_processing=part.post_processing)
    lower, upper = ends(0.95)
    if ((estimates < lower) | (estimates > upper)).any():
        notes.append(BIASED)
    return replace(answer, parts=(*keys, estimate), noisy=(), notes=(*answer.notes, *notes))


def _draws(simulated: Callable[[], Floats], draws: Floats, progress: Callable[[int, int], None] | None) -> Floats:
    """Answers for simulated rows, one a run, in the place of `draws`."""
    runs, rows = draws.shape
    for run in range(runs):
        simulated_answer = simulated()
        if simulated_answer.shape != (rows,):
            raise InvalidParameterError(
                f"the statistic gives {len(simulated_answer)} rows for simulated data, and the answer has {rows}"
            )
        draws[run] = simulated_answer
        if progress is not None:
            progress(run + 1, runs)
    return draws


def _column(answer: Release, name: str | None) -> Measure | Estimate:
    parts = [part for part in answer.measures if name in (None, part.name)]
    if len(parts) != 1:
        names = ", ".join(part.name for part in answer.measures)
        raise InvalidParameterError(f"column must be one of {names}, got {name!r}")
    return parts[0]


def _truth(statistic: Statistic, model: Model, given: ArrayLike | None, rows: int) -> Floats:
    """Return the true values under the model, one per row."""
    if given is None:
        known = getattr(model, "truth", {}).get(statistic.name)
        if known is None:
            raise InvalidParameterError(
                f"{type(model).__name__} does not know the {statistic.name} of its population. Give truth=..."
            )
        given = [known] * rows
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if values.shape not in ((), (rows,)) or not np.isfinite(values).all():
        raise InvalidParameterError(f"truth must be one finite number for each of {rows} rows of the answer")
    return np.broadcast_to(values, (rows,))


def _percentile(draws: Floats, limits: Limits, level: float) -> Bounds:
    check_level(level)
    return _clipped(_middle(draws, level), limits)


def _pivotal(errors: Floats, estimates: Floats, limits: Limits, level: float) -> Bounds:
    check_level(level)
    lower, upper = _middle(errors, level)
    return _clipped(Bounds(estimates - upper, estimates - lower), limits)


def _clipped(bounds: Bounds, limits: Limits) -> Bounds:
    return bounds if limits == (None, None) else Bounds(*(np.clip(end, *limits) for end in bounds))


def _middle(draws: Floats, level: float) -> Bounds:
    """Return the order statistics between which a fresh draw lies.

    With this probability.

    Undefined draws lie anywhere.
    """
    rank = floor((len(draws) + 1) * (1 - level) / 2 + 1e-9)
    below = np.sort(np.where(np.isnan(draws), -np.inf, draws), axis=0)
    above = np.sort(np.where(np.isnan(draws), np.inf, draws), axis=0)
    if rank < 1:
        return Bounds(np.full(draws.shape[1], -np.inf), np.full(draws.shape[1], np.inf))
    return Bounds(below[rank - 1], above[-rank])
