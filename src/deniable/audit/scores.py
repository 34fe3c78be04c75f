"""Scores that distinguish the outputs on two inputs, fitted on runs of their own.

An event is then that a score reaches a cut. Every score reads one output by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.audit.outputs import LOW_BITS, RATIO, OutputLabels, Outputs
from deniable.numbers.arrays import Floats

_MAX_BINS = 32  # of a column
_MAX_COLUMNS = 12  # that are searched one by one
_MAX_CLASSIFIED_COLUMNS = 48  # that a classifier reads
_MAX_FITTED = 5_000  # runs on one input on which a classifier is fitted
_NEWTON_STEPS = 8  # of the fit, which then hardly moves
_RIDGE = 1e-4  # of the fit, for each run
_MAX_LISTED = 4  # outputs or intervals that an event names


@dataclass(frozen=True)
class OutputScore:
    """Score of outputs, which is large where the first input is more likely.

    Args:
        family: the kind of event, in words.
        of: from outputs to scores, shape (runs,); NaN belongs to no event.
        words: from a cut to the outputs whose score is at least (True) or at most (False) the cut, in words.
    """

    family: str
    of: Callable[[Outputs], Floats]
    words: Callable[[float, bool], str]


def fit(ours: Outputs, theirs: Outputs) -> list[OutputScore]:
    """Fit scores of every family that these outputs allow, the simplest first.

    Source: Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277, for outcomes; Bichsel, Steffen, Bogunovic, Vechev
        (2021), "DP-Sniper", for classifiers.
    """
    histograms = [
        ScoreHistogram.of(column, ours.columns[::2, column], theirs.columns[::2, column])
        for column in _different(np.concatenate([ours.columns, theirs.columns]), ours)
    ]
    by_use = sorted(histograms, key=lambda one: -one.use)
    scores = [_threshold(one.column, ours.names[one.column]) for one in by_use[:_MAX_COLUMNS]]
    if ours.kinds.max(initial=0) or theirs.kinds.max(initial=0):
        scores.append(_listed("kinds of output", ours, theirs, lambda one: one.kinds, lambda one: one.kind_shown))
    if _repeated(ours, theirs):
        scores.append(_listed("outcomes", ours, theirs, lambda one: one.labels, lambda one: one.shown))
    scores += [
        OutputScore("intervals", one.scores, partial(one.words, ours.names[one.column]))
        for one in by_use[:_MAX_COLUMNS]
    ]
    if len(histograms) > 1:
        scores.append(_classifier(by_use[:_MAX_CLASSIFIED_COLUMNS], ours[1::2], theirs[1::2]))
    return scores


def _different(table: Floats, outputs: Outputs) -> list[int]:
    """Return columns that vary and differ, and low bits only of fractions.

    The choice depends on these runs alone, so others cannot change the set of events.
    """
    different: dict[bytes, int] = {}
    for column, values in enumerate(table.T):
        base = column - outputs.numbers
        if outputs.low_bits and 0 <= base < outputs.numbers:
            numbers = table[np.isfinite(table[:, base]), base]
            if (numbers == np.floor(numbers)).all():
                continue
        if not np.array_equal(values, np.full(len(values), values[0]), equal_nan=True):
            different.setdefault((values + 0.0).tobytes(), column)  # one zero
    return list(different.values())


def _repeated(ours: Outputs, theirs: Outputs) -> bool:
    """Whether outputs repeat, three times on average."""
    labels = np.concatenate([ours.labels, theirs.labels])
    return bool(np.count_nonzero(np.bincount(labels)) <= len(labels) / 3)


def shrunk_log_ratio(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> Floats:
    """Return the log ratio of two counts, shrunk to 0 by one standard error."""
    ratio = np.log((ours + 0.5) / (theirs + 0.5))
    error = np.sqrt(1 / (ours + 0.5) + 1 / (theirs + 0.5))
    return np.asarray(np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0.0))


def _listed(
    family: str,
    ours: Outputs,
    theirs: Outputs,
    labels: Callable[[Outputs], OutputLabels],
    shown: Callable[[Outputs], Callable[[int], str]],
) -> OutputScore:
    """Return the score of outcomes by their log ratio of counts."""
    size = int(max(labels(ours).max(initial=0), labels(theirs).max(initial=0))) + 1
    counts = [np.bincount(labels(one), minlength=size) for one in (ours, theirs)]
    table = np.append(shrunk_log_ratio(*counts), 0.0)  # outcomes that were not seen
    often = np.argsort(-(counts[0] + counts[1]), kind="stable")

    def words(cut: float, above: bool) -> str:
        chosen = [one for one in often if (table[one] >= cut if above else table[one] <= cut)]
        named = [shown(ours)(int(one)) for one in chosen[:_MAX_LISTED]]
        more = f" and {len(chosen) - _MAX_LISTED} more" if len(chosen) > _MAX_LISTED else ""
        return f"the output is one of: {'; '.join(named)}{more}" if len(chosen) > 1 else f"the output is {named[0]}"

    return OutputScore(family, lambda one: table[np.minimum(labels(one), size)], words)


def _threshold(column: int, name: str) -> OutputScore:
    """Return the score that is one column of the outputs."""
    families = {RATIO: "likelihood ratio"} | ({name: "low bits of floats"} if name.startswith(LOW_BITS) else {})
    return OutputScore(
        families.get(name, "thresholds"),
        lambda one: one.columns[:, column],
        lambda cut, above: f"{name} {'>=' if above else '<='} {cut:.6g}",
    )


@dataclass(frozen=True)
class ScoreHistogram:
    """Log ratios of the bins of one column.

    The first bin is for numbers below all edges, the last for NaN.

    Args:
        column: index of the column.
        edges: of the bins.
        table: log ratio of each bin.
        use: total variation of the two inputs in this column, twice, from 0 to 2.
        ends: a low, a middle and a high number of the column.
    """

    column: int
    edges: Floats
    table: Floats
    use: float
    ends: tuple[float, float, float]

    @classmethod
    def of(cls, column: int, ours: Floats, theirs: Floats) -> "ScoreHistogram":
        """Return bins with about the same number of runs, or one for each of few values."""
        both = np.concatenate([ours, theirs])
        known = np.sort(both[~np.isnan(both)])
        edges = np.unique(known)
        if len(edges) > _MAX_BINS:
            edges = np.unique(known[np.linspace(0, len(known) - 1, _MAX_BINS + 1).astype(np.int64)])
        bins = len(edges) + 2
        counts = [np.bincount(_bins(edges, one), minlength=bins) for one in (ours, theirs)]
        apart = np.abs(counts[0] / max(len(ours), 1) - counts[1] / max(len(theirs), 1)).sum()
        finite = known[np.isfinite(known)]
        ends = finite[[len(finite) // 200, len(finite) // 2, -1 - len(finite) // 200]] if len(finite) else np.zeros(3)
        return cls(column, edges, shrunk_log_ratio(*counts), float(apart), tuple(ends.tolist()))

    def scores(self, one: Outputs) -> Floats:
        """Return the log ratio of the bin of every output."""
        return self.table[_bins(self.edges, one.columns[:, self.column])]

    def words(self, name: str, cut: float, above: bool) -> str:
        """Return the numbers whose log ratio is at least, or at most, a cut, in words."""
        chosen = self.table >= cut if above else self.table <= cut
        ends = np.concatenate([[-np.inf], self.edges, [np.inf]])
        turns = np.flatnonzero(np.diff(chosen[:-1].astype(np.int64), prepend=0, append=0)).reshape(-1, 2)
        parts = [f"[{ends[first]:.6g}, {ends[last]:.6g})" for first, last in turns]
        parts += ["NaN"] * bool(chosen[-1] and self.table[-1])
        more = f" and {len(parts) - _MAX_LISTED} more intervals" if len(parts) > _MAX_LISTED else ""
        return f"{name} in {' or '.join(parts[:_MAX_LISTED])}{more}"


def _bins(edges: Floats, values: Floats) -> OutputLabels:
    """Return the bin of each value."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _classifier(histograms: list[ScoreHistogram], ours: Outputs, theirs: Outputs) -> OutputScore:
    """Fit a logistic regression on columns and on the log ratios of their bins.

    The runs are others than those of the bins.
    """
    columns = [one.column for one in histograms]
    low, centre, high = np.array([one.ends for one in histograms]).T
    width = np.where(high > low, high - low, 1.0)

    def features(one: Outputs) -> Floats:
        values = np.where(np.isnan(one.columns[:, columns]), centre, one.columns[:, columns])
        ratios = np.column_stack([histogram.scores(one) for histogram in histograms])
        return np.column_stack([(np.clip(values, low, high) - centre) / width, ratios, np.ones(len(one))])

    tables = [features(one[slice(_MAX_FITTED)]) for one in (ours, theirs)]
    table = np.concatenate(tables)
    wanted = np.repeat([1.0, 0.0], [len(tables[0]), len(tables[1])])
    ridge = _RIDGE * len(table) * np.eye(table.shape[1])
    weights = np.concatenate([np.zeros(len(columns)), np.ones(len(columns)), [0.0]])
    for _ in range(_NEWTON_STEPS):  # of Newton; a curvature away from 0 keeps them short
        chances = special.expit(table @ weights)
        curvature = np.maximum(chances * (1 - chances), 0.01)
        slope = (wanted - chances) @ table - ridge @ weights
        weights = weights + np.linalg.solve((table.T * curvature) @ table + ridge, slope)
    return OutputScore(
        "classifier",
        lambda one: features(one) @ weights,
        lambda cut, above: f"the fitted log ratio of the outputs is {'>=' if above else '<='} {cut:.4g}",
    )
