"""Bins of a law: narrow where losses matter to the composition, wide elsewhere.

Nothing here needs to be exact; the bounds hold for any bins. The error of a bin goes with its probability and the
square of its width, so for a given number of bins it is least when widths go with the cube root of one over the
density.

Nothing here needs to be exact; the bounds hold for any bins. The error of a bin goes with its probability and the
square of its width, so for a given number of bins it is least when widths go with the cube root of
one over the density.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, LossLaw
from deniable.privacy.pld.pilot import LOSS_POINTS, span

_MAX_ATOMS = 512  # of a law whose atoms are all edges of bins
_MIN_RELATIVE_WIDTH = 1e-7  # of a bin, over the spread: rounding costs narrower bins more than their width gains
_MIN_PIECES = 0.02  # share of a bin that every cell takes


class Cells(NamedTuple):
    """Bins of a law that are being refined.

    weights: tilted probabilities, times the number of such losses. fixed: losses that are kept as edges: ends and
    atoms.

    fixed: losses that are kept as edges: ends and atoms.
    """

    edges: Floats
    weights: Floats
    fixed: Floats

    @property
    def spread(self) -> float:
        """Standard deviation of the tilted law, somewhat more."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        whole = max(float(self.weights.sum()), 1e-300)
        mean = float(self.weights @ middles) / whole
        return float(np.sqrt((self.weights @ (middles - mean) ** 2 + self.errors.sum()) / whole))

    @property
    def errors(self) -> Floats:
        """Error of each bin: its weight times the square of its width."""
        return np.asarray(self.weights * np.diff(self.edges) ** 2)


class Focus(NamedTuple):
    """Numbers near the answer; slope: about -d ln delta / d epsilon."""

    epsilon: float
    delta: float
    slope: float


def cells(law: LossLaw, count: int, edges: Floats, fixed: Floats, focus: Focus) -> Cells:
    """Return the bins between these edges, weighted by their effect on the answer.

    The effect is that on the sum of many losses, and that of a single large loss.
    """
    tails = law.above(edges)
    lower = law.below(edges)
    left = edges[1:] <= 0
    masses = np.maximum(np.where(left, np.diff(lower.p), -np.diff(tails.p)), 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(masses) + focus.slope * (edges[:-1] + edges[1:]) / 2
    weights = np.exp(logs - logs.max()) if masses.any() else masses
    weights /= max(float(weights.sum()), 1e-300)
    away = np.maximum(np.maximum(edges[:-1] - focus.epsilon, focus.epsilon - edges[1:]), 0.0)
    weights += np.minimum(masses / focus.delta, 1.0) * np.exp(-focus.slope * away)
    weights[edges[1:] <= fixed[0]] = 0.0
    return Cells(edges, count * weights, fixed)


def begun(law: LossLaw, count: int, above: float, below: float, focus: Focus) -> Cells:
    """Return rough cells over all losses but the most unlikely."""
    low, high = span(law, above, below)
    atoms = law.atoms()
    fixed = np.array([low, high, *([law.anchor] if low < law.anchor < high else [])])
    if atoms is not None and atoms.losses.size <= _MAX_ATOMS:
        fixed = np.concatenate((fixed, atoms.losses[(atoms.losses >= low) & (atoms.losses <= high)]))
    fixed = np.unique(fixed)
    points = LOSS_POINTS[(low < LOSS_POINTS) & (high > LOSS_POINTS)]
    edges = np.unique(np.concatenate((fixed, points, np.linspace(low, high, 65))))
    return cells(law, count, edges, fixed, focus)


def threshold(parts: Sequence[Cells], total: float) -> float:
    """Return the error per bin at which the errors of all parts add up to `total`."""
    roots = sum(float(np.cbrt(part.errors).sum()) for part in parts)
    return max((total / roots) ** 1.5, 1e-300) if roots > 0 else 1.0


def placed(part: Cells, error: float, max_bins: int) -> Floats:
    """Return the edges of bins with this error each, at most `max_bins` of them.

    The fixed losses are among them, and one below them.
    """
    pieces = np.cbrt(part.errors / error) + _MIN_PIECES
    positions = np.concatenate(([0.0], np.cumsum(pieces)))
    count = min(int(np.ceil(positions[-1])) + 1, max_bins)
    free = np.interp(np.linspace(0.0, positions[-1], count + 1), positions, part.edges)
    more = np.maximum(pieces[1:], pieces[:-1]) > np.maximum(0.5, 10 * np.minimum(pieces[1:], pieces[:-1]))
    free = np.union1d(free, part.edges[1:-1][more])  # beside heavy cells, which may hold an atom
    narrowest = max(_MIN_RELATIVE_WIDTH * part.spread, 1e-13 * float(np.abs(part.edges).max()))
    nearest = np.clip(np.searchsorted(part.fixed, free), 1, max(part.fixed.size - 1, 1))
    neighbour = part.fixed[np.minimum(nearest, part.fixed.size - 1)]
    distance = np.minimum(np.abs(free - neighbour), np.abs(free - part.fixed[nearest - 1]))
    free = free[distance > np.maximum(0.3 * np.diff(free, append=free[-1]), narrowest)]
    free = free[np.diff(free, append=np.inf) > narrowest]
    edges = np.union1d(free[(free > part.fixed[0]) & (free < part.fixed[-1])], part.fixed)
    edges = edges[np.diff(edges, prepend=-np.inf) > 8 * UNIT * (1 + np.abs(edges))]  # others are one loss to floats
    before = edges[0] - max(part.spread, narrowest, 1e-9)
    after = [2 * edges[0] - before] if edges.size < 2 else []
    return np.concatenate(([before], edges, after))
