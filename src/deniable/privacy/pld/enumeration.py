"""Compositions of few losses with few values each: every sum is written out, and no grid is needed.

Error: relative, a few roundings for each addition; sums of losses are off by `slack` at most.
"""

import math
from collections.abc import Sequence

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw

_MOST_SUMS = 2**18
_MOST_MULTISETS = 2**14
_LONGEST = 2**12  # of a lattice that is convolved directly
_LEAST_SUM, _SMALLEST = 1e-290, 1e-300


class Enumeration:
    """Sums of losses with their probabilities under P; `rest`: at least the probability of all others."""

    def __init__(self, losses: Floats, p: Floats, error: float, slack: float, rest: float) -> None:
        order = np.argsort(losses)
        self.losses, self.p, self.error, self.slack, self.rest = losses[order], p[order], error, slack, rest

    def above(self, epsilon: float) -> float:
        """An upper bound on the finite part of delta."""
        return self._sum(epsilon - self.slack) * (1 + self.error) + self.rest

    def below(self, epsilon: float) -> float:
        """A lower bound on the same."""
        return max(self._sum(epsilon + self.slack) * (1 - self.error) - self.rest, 0.0)

    def _sum(self, epsilon: float) -> float:
        begin = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float(-(self.p[begin:] * np.expm1(epsilon - self.losses[begin:])).sum())


def enumeration(laws: Sequence[tuple[LossLaw, int]]) -> Enumeration | None:
    """Every sum of these independent losses; None when they have too many values."""
    losses, p = np.zeros(1), np.ones(1)
    roundings, reach, rest = 64.0, 0.0, 0.0
    for law, count in laws:
        repeated = _repeated(law, count)
        if repeated is None or losses.size * repeated[0].size > _MOST_SUMS:
            return None
        more, q, error, left_out = repeated
        losses = (losses[:, None] + more).ravel()
        p = (p[:, None] * q).ravel()
        roundings += error / UNIT + 4
        largest = float(np.abs(more).max())  # of the sum of all
        reach += largest + count * law.slack(largest) / (16 * UNIT)
        rest += left_out
    if p.min() < _LEAST_SUM:  # products may have lost digits where floats end
        rest += _SMALLEST
    return Enumeration(losses, p, roundings * UNIT, 16 * UNIT * (1 + len(laws)) * reach, rest)


def _repeated(law: LossLaw, count: int) -> tuple[Floats, Floats, float, float] | None:
    """The sums of `count` equal losses, their probabilities, the relative error of these, and what is left out."""
    likely = law.likely()
    if likely is None:
        return None
    atoms, rest = likely
    if count == 1:
        return atoms.losses, atoms.p, atoms.error, rest
    if math.comb(count + atoms.losses.size - 1, count) <= _MOST_MULTISETS:
        return *_multisets(atoms, count), count * rest
    lowest = float(atoms.losses[0])
    if law.spacing is None or count * (atoms.losses[-1] - lowest) / law.spacing > _LONGEST:
        return None
    places = np.rint((atoms.losses - lowest) / law.spacing).astype(np.int64)
    line = np.zeros(int(places[-1]) + 1)
    np.add.at(line, places, atoms.p)
    power, square, left = np.ones(1), line, count
    while left:
        if left & 1:
            power = np.convolve(power, square)
        left >>= 1
        if left:
            square = np.convolve(square, square)
    error = count * (atoms.error + 8 * UNIT * _LONGEST)
    losses: Floats = count * lowest + law.spacing * np.arange(power.size, dtype=np.float64)
    return losses, power, error, count * rest


def _multisets(atoms: Atoms, count: int) -> tuple[Floats, Floats, float]:
    """The same by how often each atom occurs, with multinomial probabilities."""
    left, logs, losses = np.array([count]), np.zeros(1, dtype=np.longdouble), np.zeros(1)
    factorials = np.concatenate(([0], np.cumsum(np.log(np.arange(1, count + 1, dtype=np.longdouble)))))
    for place, (loss, p) in enumerate(zip(atoms.losses, atoms.p, strict=True)):
        last = place == atoms.losses.size - 1
        sizes = np.ones_like(left) if last else left + 1
        rows = np.repeat(np.arange(left.size), sizes)
        taken = left[rows] if last else np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 times ln(0)
            powers = np.where(taken > 0, taken * np.log(np.longdouble(p)), 0.0)
        logs = logs[rows] + powers - factorials[taken]
        losses, left = losses[rows] + taken * loss, left[rows] - taken
    masses = np.exp(logs + factorials[count])
    return losses, masses.astype(np.float64), count * atoms.error + 64 * count * UNIT
