"""A model of rows: a mixture of soft records, fitted to all pairs at once.

A soft record has a distribution of every column.

With S the matrix of all records' probabilities, of shape (records, bins of all columns), the tables of all pairs are
blocks of the one matrix S^T S. So a step of the fit is two products of matrices, for any number of columns, and nothing
depends on which pairs are dependent. All of it is post-processing of released tables.

Source: the relaxed projection of Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva (2021), arXiv:2103.06641, with
pairs as one matrix; Adam: Kingma, Ba (2015), arXiv:1412.6980; stopping by the discrepancy principle of Morozov (1966).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import DeterministicBits
from deniable.noise.simulation import normals
from deniable.numbers.arrays import Floats
from deniable.synthesis.measurements import Measurements, deviation_of

Matrix = NDArray[np.float32]
RECORDS_PER_BIN = 10
MIN_RECORDS, MAX_RECORDS = 500, 2_000
MAX_STEPS = 3_000
LEARNING_RATE, MOMENTUM, SCALE_MEMORY = 0.05, 0.9, 0.99
INITIAL_SPREAD = 0.5  # of the logarithms of probabilities
DISCREPANCY = 0.9  # of the squared error that noise alone would leave: a nearer fit would copy noise
STEPS_PER_CHECK, MIN_GAIN = 200, 0.01  # a fit whose misfit falls by less has come as near as it can
SMALLEST_SHARE = 1e-4  # of a bin at the start, so that it can grow


@dataclass(frozen=True)
class RecordMixture:
    """Soft records.

    Args:
        probabilities: of each bin of each column, for each record: one array of shape (records, bins) a column.
        steps: how many the fit took.
        misfit: squared error of the measured tables beside what noise alone would leave.
    """

    probabilities: tuple[Matrix, ...]
    steps: int
    misfit: float

    @property
    def records(self) -> int:
        """Number of soft records."""
        return len(self.probabilities[0])


def fitted(measured: Measurements, progress: Callable[[float], object] | None = None) -> RecordMixture:
    """Return the model that fits the measured tables as well as their noise allows.

    Args:
        progress: called with the share of the longest fit that is done.
    """
    target = _Target.of(measured)
    records = int(np.clip(RECORDS_PER_BIN * target.size, MIN_RECORDS, MAX_RECORDS))
    logits = normals((records, target.size), bits=DeterministicBits(0)).astype(np.float32) * np.float32(INITIAL_SPREAD)
    logits += np.log(np.maximum(target.start, SMALLEST_SHARE)).astype(np.float32)
    first = np.zeros_like(logits)
    second = np.zeros_like(logits)
    before = float("inf")
    for step in range(1, MAX_STEPS + 1):
        shares = target.softmax(logits)
        misfit, gradient = target.gradient(shares)
        if misfit <= DISCREPANCY:
            break
        if step % STEPS_PER_CHECK == 0:
            if misfit > before * (1 - MIN_GAIN):
                break
            before = misfit
        first += (1 - MOMENTUM) * (gradient - first)
        second += (1 - SCALE_MEMORY) * (gradient * gradient - second)
        scale = np.sqrt(second / (1 - SCALE_MEMORY**step)) + np.float32(1e-12)
        logits -= LEARNING_RATE * (first / (1 - MOMENTUM**step)) / scale
        if progress is not None and step % 50 == 0:
            progress(step / MAX_STEPS)
    return RecordMixture(tuple(shares[:, part] for part in target.parts), step, misfit)


@dataclass(frozen=True)
class _Target:
    """Measured tables as shares of all rows, in one matrix of all bins of all columns.

    Args:
        table: symmetric, of shape (bins, bins); weights likewise, with 1/variance, and 0 inside a column.
        counts: of shape (bins,); precisions likewise.
        start: shares of each bin at the start.
        parts: the bins of each column.
    """

    table: Matrix
    weights: Matrix
    counts: Matrix
    precisions: Matrix
    start: Floats
    parts: tuple[slice, ...]

    @classmethod
    def of(cls, measured: Measurements) -> "_Target":
        ends = np.cumsum([0, *measured.bin_sizes]).tolist()
        parts = tuple(slice(start, end) for start, end in pairwise(ends))
        table = np.zeros((ends[-1], ends[-1]))
        weights = np.zeros_like(table)
        for (one, other), noise, counts in zip(
            measured.pair_indices, measured.pair_noises, measured.pairs, strict=True
        ):
            where = (parts[one], parts[other])
            table[where] = counts / measured.total
            weights[where] = (measured.total / deviation_of(noise)) ** 2
        table += table.T
        weights += weights.T
        binned = [
            (np.bincount(bins, weights=raw), np.bincount(bins, weights=tidy), np.bincount(bins) * deviation**2)
            for bins, raw, tidy, deviation in zip(
                measured.bins, measured.counts, measured.columns, measured.deviations, strict=True
            )
        ]
        counts_, start, variances = (np.concatenate(each) for each in zip(*binned, strict=True))
        return cls(
            table=table.astype(np.float32),
            weights=weights.astype(np.float32),
            counts=(counts_ / measured.total).astype(np.float32),
            precisions=(measured.total**2 / variances).astype(np.float32),
            start=start / measured.total,
            parts=parts,
        )

    @property
    def size(self) -> int:
        return len(self.counts)

    @cached_property
    def cells(self) -> int:
        """Number of measured cells."""
        return int(np.count_nonzero(self.weights)) // 2 + self.size

    def softmax(self, logits: Matrix) -> Matrix:
        """Return probabilities that sum to 1 in each column of the table."""
        shares = np.empty_like(logits)
        for part in self.parts:
            powers = np.exp(logits[:, part] - logits[:, part].max(axis=1, keepdims=True))
            shares[:, part] = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def gradient(self, shares: Matrix) -> tuple[float, Matrix]:
        """Return the misfit and the derivative of the loss by the logits.

        The misfit of noise alone would be 1.
        """
        records = np.float32(len(shares))
        apart = shares.T @ shares / records - self.table
        pull = apart * self.weights
        gap = shares.mean(axis=0) - self.counts
        squared = float((apart * pull).sum()) / 2 + float((gap * gap * self.precisions).sum())
        slope = (shares @ pull + gap * self.precisions) / records
        for part in self.parts:
            own, steep = shares[:, part], slope[:, part]
            slope[:, part] = own * (steep - (own * steep).sum(axis=1, keepdims=True))
        return squared / self.cells, slope
