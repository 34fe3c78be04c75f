"""From a law on a fine grid to laws on a coarser one, above and below it, so that long compositions go in stages."""

import numpy as np

from deniable.privacy.pld.discretise import Steps, curve_of, law_below
from deniable.privacy.pld.law import UNIT, Floats


def coarser_above(masses: Floats, step: float, factor: int) -> Floats:
    """A law on the grid of every `factor`-th loss, and one more, that reveals at least as much.

    Each mass goes to the two coarse losses beside it so that P and Q keep theirs.

    Args:
        masses: under P, non-negative; their number is a multiple of `factor`.
    """
    offsets = step * np.arange(factor)
    left = np.exp(-offsets) * np.expm1(offsets - step * factor) / np.expm1(-step * factor)
    bins = masses.reshape(-1, factor)
    result = np.zeros(bins.shape[0] + 1)
    result[:-1] = bins @ left
    result[1:] += bins @ (1 - left)
    return result * (1 + (8 * factor + 16) * UNIT)


def coarser_below(masses: Floats, step: float, factor: int) -> Floats:
    """A law on the same coarse grid that reveals at most as much: the hull of its chords, lowered where they are high.

    Between fine losses the curve is straight, so the most that a chord exceeds it is found exactly.
    """
    size, count = masses.size, masses.size // factor
    sums = np.zeros(size + 1, dtype=np.longdouble)
    sums[:-1] = np.cumsum(masses[::-1], dtype=np.longdouble)[::-1]
    above = sums[1:].astype(np.float64) * (1 - 8 * UNIT)  # the mass above each fine loss
    losses = step * (np.arange(size + 1) - size / 2)
    fine = Steps(np.exp(losses), float(np.exp(-step)), float(-np.expm1(-step)))
    curve, doubt = curve_of(above, fine)
    excess = (masses.reshape(count, factor) @ _excess(step, factor).T).max(axis=1) * (1 + (2 * factor + 16) * UNIT)
    dips = np.maximum(np.append(excess, 0.0), np.append(0.0, excess))
    chords = curve[::factor] * (1 - doubt) - dips
    moved = np.append(above, 0.0)[factor::factor]
    coarse = Steps(np.exp(losses[::factor]), float(np.exp(-step * factor)), float(-np.expm1(-step * factor)))
    return law_below(chords, moved, float(sums[0]) * (1 - 8 * UNIT), coarse)


def _excess(step: float, factor: int) -> Floats:
    """What a mass at offset j of a bin adds to the chord's excess over the curve at offset i: an array [i, j]."""
    offsets = step * np.arange(factor)
    share = np.expm1(offsets) / np.expm1(step * factor)
    chord = (1 - share)[:, None] * -np.expm1(-offsets)
    curve = np.maximum(-np.expm1(offsets[:, None] - offsets), 0.0)
    return np.asarray(np.maximum(chord - curve, 0.0) + 4 * UNIT * chord)
