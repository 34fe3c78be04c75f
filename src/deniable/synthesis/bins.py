"""Coarser levels from noisy counts: fewer cells where there are few records.

All of it is post-processing.
"""

import math

import numpy as np

from deniable.numbers.arrays import Floats, Indices


def smoothed(counts: Floats, deviation: float) -> Floats:
    """Return counts of neighbouring levels with less noise.

    Soft thresholds act on differences of halves (Haar wavelets). The sum stays. A difference of two halves is shrunk by
    one deviation of its noise, so that flat stretches become flat and peaks stay.

    Source: Donoho (1995), "De-noising by soft-thresholding", with one deviation as the threshold.
    """
    if counts.size == 1:
        return counts
    half = counts.size // 2
    rest = counts.size - half
    left, right = counts[:half], counts[half:]
    difference = float(left.mean() - right.mean())
    noise = deviation * math.sqrt(1 / half + 1 / rest)
    shift = math.copysign(min(abs(difference), noise), difference)
    # One part goes down and the other up, so that the means are `shift` nearer and the sum is what it was.
    lowered = smoothed(left - shift * rest / counts.size, deviation)
    raised = smoothed(right + shift * half / counts.size, deviation)
    return np.concatenate([lowered, raised])


def merged(counts: Floats, *, ordered: bool, min_records: float) -> Indices:
    """Return the bin of every level; bins hold about `min_records` records or more.

    Neighbouring levels are joined where they are ordered; else all levels that are too small share one bin, if need be
    with the smallest of the others.

    Args:
        counts: of shape (levels,), at least 0.
        min_records: number of records of a bin.
    """
    if not ordered:
        large = np.flatnonzero(counts >= min_records)
        rest = float(np.delete(counts, large).sum())
        alone = rest >= min_records / 2 or not large.size  # else they are too few for a bin of their own
        shared = large.size if alone else int(counts[large].argmin())
        bins = np.full(counts.size, shared, dtype=np.int64)
        bins[large] = np.arange(large.size)
        return bins
    bins = np.zeros(counts.size, dtype=np.int64)
    index, held = 0, 0.0
    for level, count in enumerate(counts.tolist()):
        bins[level] = index
        held += count
        if held >= min_records:
            index, held = index + 1, 0.0
    if held < min_records / 2 and bins[-1]:
        bins[bins == bins[-1]] -= 1
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)
