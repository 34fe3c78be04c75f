"""Scores that tell the outputs of two inputs apart, fitted on runs that nothing else looks at.

An event is then that a score reaches a cut. Every score reads one output by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.audit.outputs import LOW_BITS, RATIO, Labels, Outputs
from deniable.numbers.arrays import Floats

_BINS = 32
_MOST_COLUMNS, _MOST_TOGETHER = 12, 48  # columns that are searched one by one, and by a classifier
_MOST_FITTED = 5_000  # runs of one input that a classifier is fitted on
_STEPS, _RIDGE = 8, 1e-4  # of the fit
_LISTED = 4  # outputs or intervals that an event names


@dataclass(frozen=True)
class Score:
    """A number for every output; large where the first input is more likely, if the score was fitted.

    Args:
        family: the kind of event, in words.
        of: the scores, shape (runs,); NaN belongs to no event.
        words: the outputs whose score is at least (True) or at most (False) a cut.
    """

    family: str
    of: Callable[[Outputs], Floats]
    words: Callable[[float, bool], str]


def fit(ours: Outputs, theirs: Outputs) -> list[Score]:
    """Scores of every family that these outputs allow, the plainest first.

    Source: Ding, Wang, Wang, Zhang, Kifer (2018), arXiv:1805.10277, for outcomes; Bichsel, Steffen, Bogunovic, Vechev
        (2021), "DP-Sniper", for classifiers.
    """
    histograms = [
        Histogram.of(column, ours.columns[::2, column], theirs.columns[::2, column])
        for column in _different(np.concatenate([ours.columns, theirs.columns]), ours)
    ]
    by_use = sorted(histograms, key=lambda one: -one.use)
    scores = [_threshold(one.column, ours.names[one.column]) for one in by_use[:_MOST_COLUMNS]]
    if ours.kinds.max(initial=0) or theirs.kinds.max(initial=0):
        scores.append(_listed("kinds of output", ours, theirs, lambda one: one.kinds, lambda one: one.kind_shown))
    if _repeated(ours, theirs):
        scores.append(_listed("outcomes", ours, theirs, lambda one: one.labels, lambda one: one.shown))
    scores += [
        Score("intervals", one.scores, partial(one.words, ours.names[one.column])) for one in by_use[:_MOST_COLUMNS]
    ]
    if len(histograms) > 1:
        scores.append(_classifier(by_use[:_MOST_TOGETHER], ours[1::2], theirs[1::2]))
    return scores


def _different(table: Floats, outputs: Outputs) -> list[int]:
    """Columns that vary and repeat no other, and low bits only of numbers that are not whole.

    It depends on these runs alone, so what others hold cannot change which events there are.
    """
    found: dict[bytes, int] = {}
    for column, values in enumerate(table.T):
        base = column - outputs.numbers
        if outputs.low_bits and 0 <= base < outputs.numbers:
            numbers = table[np.isfinite(table[:, base]), base]
            if (numbers == np.floor(numbers)).all():
                continue
        if not np.array_equal(values, np.full(len(values), values[0]), equal_nan=True):
            found.setdefault((values + 0.0).tobytes(), column)  # one zero
    return list(found.values())


def _repeated(ours: Outputs, theirs: Outputs) -> bool:
    labels = np.concatenate([ours.labels, theirs.labels])
    return bool(np.count_nonzero(np.bincount(labels)) <= len(labels) / 3)


def cautious_log_ratio(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> Floats:
    """ln of the ratio of two counts, drawn towards 0 by one standard error: what is rare comes last."""
    ratio = np.log((ours + 0.5) / (theirs + 0.5))
    error = np.sqrt(1 / (ours + 0.5) + 1 / (theirs + 0.5))
    return np.asarray(np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0.0))


def _listed(
    family: str,
    ours: Outputs,
    theirs: Outputs,
    labels: Callable[[Outputs], Labels],
    shown: Callable[[Outputs], Callable[[int], str]],
) -> Score:
    """Outcomes, ranked by how much more often they come from the first input."""
    size = int(max(labels(ours).max(initial=0), labels(theirs).max(initial=0))) + 1
    counts = [np.bincount(labels(one), minlength=size) for one in (ours, theirs)]
    table = np.append(cautious_log_ratio(*counts), 0.0)  # outcomes that were not seen
    often = np.argsort(-(counts[0] + counts[1]), kind="stable")

    def words(cut: float, above: bool) -> str:
        chosen = [one for one in often if (table[one] >= cut if above else table[one] <= cut)]
        named = [shown(ours)(int(one)) for one in chosen[:_LISTED]]
        more = f" and {len(chosen) - _LISTED} more" if len(chosen) > _LISTED else ""
        return f"the output is one of: {'; '.join(named)}{more}" if len(chosen) > 1 else f"the output is {named[0]}"

    return Score(family, lambda one: table[np.minimum(labels(one), size)], words)


def _threshold(column: int, name: str) -> Score:
    families = {RATIO: "likelihood ratio"} | ({name: "low bits of floats"} if name.startswith(LOW_BITS) else {})
    return Score(
        families.get(name, "thresholds"),
        lambda one: one.columns[:, column],
        lambda cut, above: f"{name} {'>=' if above else '<='} {cut:.6g}",
    )


@dataclass(frozen=True)
class Histogram:
    """Log ratios of one column's bins, of which the first is for numbers below all edges and the last for NaN.

    Args:
        use: how far apart the two inputs are in this column, from 0 to 2.
        ends: a low, a middle and a high number of the column.
    """

    column: int
    edges: Floats
    table: Floats
    use: float
    ends: tuple[float, float, float]

    @classmethod
    def of(cls, column: int, ours: Floats, theirs: Floats) -> "Histogram":
        """Bins that hold about as many runs each, or one value each where there are few."""
        both = np.concatenate([ours, theirs])
        known = np.sort(both[~np.isnan(both)])
        edges = np.unique(known)
        if len(edges) > _BINS:
            edges = np.unique(known[np.linspace(0, len(known) - 1, _BINS + 1).astype(np.int64)])
        bins = len(edges) + 2
        counts = [np.bincount(_bins(edges, one), minlength=bins) for one in (ours, theirs)]
        apart = np.abs(counts[0] / max(len(ours), 1) - counts[1] / max(len(theirs), 1)).sum()
        finite = known[np.isfinite(known)]
        ends = finite[[len(finite) // 200, len(finite) // 2, -1 - len(finite) // 200]] if len(finite) else np.zeros(3)
        return cls(column, edges, cautious_log_ratio(*counts), float(apart), tuple(ends.tolist()))

    def scores(self, one: Outputs) -> Floats:
        """The log ratio of the bin of every output."""
        return self.table[_bins(self.edges, one.columns[:, self.column])]

    def words(self, name: str, cut: float, above: bool) -> str:
        """The numbers of the column with this name whose log ratio is at least, or at most, a cut."""
        chosen = self.table >= cut if above else self.table <= cut
        ends = np.concatenate([[-np.inf], self.edges, [np.inf]])
        turns = np.flatnonzero(np.diff(chosen[:-1].astype(np.int64), prepend=0, append=0)).reshape(-1, 2)
        parts = [f"[{ends[first]:.6g}, {ends[last]:.6g})" for first, last in turns]
        parts += ["NaN"] * bool(chosen[-1] and self.table[-1])
        more = f" and {len(parts) - _LISTED} more intervals" if len(parts) > _LISTED else ""
        return f"{name} in {' or '.join(parts[:_LISTED])}{more}"


def _bins(edges: Floats, values: Floats) -> Labels:
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _classifier(histograms: list[Histogram], ours: Outputs, theirs: Outputs) -> Score:
    """Logistic regression on all columns and on the log ratios of their bins, on runs that did not fit these."""
    columns = [one.column for one in histograms]
    low, centre, high = np.array([one.ends for one in histograms]).T
    width = np.where(high > low, high - low, 1.0)

    def features(one: Outputs) -> Floats:
        values = np.where(np.isnan(one.columns[:, columns]), centre, one.columns[:, columns])
        ratios = np.column_stack([histogram.scores(one) for histogram in histograms])
        return np.column_stack([(np.clip(values, low, high) - centre) / width, ratios, np.ones(len(one))])

    tables = [features(one[slice(_MOST_FITTED)]) for one in (ours, theirs)]
    table, wanted = np.concatenate(tables), np.repeat([1.0, 0.0], [len(tables[0]), len(tables[1])])
    ridge = _RIDGE * len(table) * np.eye(table.shape[1])
    weights = np.concatenate([np.zeros(len(columns)), np.ones(len(columns)), [0.0]])
    for _ in range(_STEPS):  # of Newton; a curvature away from 0 keeps them short
        chances = special.expit(table @ weights)
        curvature = np.maximum(chances * (1 - chances), 0.01)
        slope = (wanted - chances) @ table - ridge @ weights
        weights = weights + np.linalg.solve((table.T * curvature) @ table + ridge, slope)
    return Score(
        "classifier",
        lambda one: features(one) @ weights,
        lambda cut, above: f"the fitted log ratio of the outputs is {'>=' if above else '<='} {cut:.4g}",
    )
