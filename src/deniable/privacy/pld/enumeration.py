"""Enumerated compositions: all sums of few losses with few values, without a grid.

Error: relative, a few roundings for each addition; sums of losses are off by `slack` at most.

Error: relative, a few roundings for each addition; sums of losses are off by `slack` at most.
"""

import math
from collections.abc import Sequence

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw

_MAX_SUMS = 2**18  # of a composition that is enumerated
_MAX_MULTISETS = 2**14  # of the values of equal runs
_MAX_LATTICE = 2**12  # points of a lattice that is convolved directly
_MIN_PROBABILITY = 1e-290  # below it products may have lost digits
_UNDERFLOW = 1e-300  # more than these products can add up to


class Enumeration:
    """Sums of losses with their probabilities under P.

    rest: at least the probability of all other sums.
    """

    def __init__(self, losses: Floats, p: Floats, error: float, slack: float, rest: float) -> None:
        order = np.argsort(losses)
        self.losses = losses[order]
        self.p = p[order]
        self.error = error
        self.slack = slack
        self.rest = rest

    def above(self, epsilon: float) -> float:
        """Return an upper bound on the finite part of delta."""
        return self._sum(epsilon - self.slack) * (1 + self.error) + self.rest

    def below(self, epsilon: float) -> float:
        """Return a lower bound on the finite part of delta."""
        return max(self._sum(epsilon + self.slack) * (1 - self.error) - self.rest, 0.0)

    def _sum(self, epsilon: float) -> float:
        """Return the sum of probability times 1 - exp(epsilon - loss) above epsilon."""
        begin = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float(-(self.p[begin:] * np.expm1(epsilon - self.losses[begin:])).sum())


def enumeration(laws: Sequence[tuple[LossLaw, int]]) -> Enumeration | None:
    """Return every sum of these independent losses; None when there are too many."""
    losses = np.zeros(1)
    p = np.ones(1)
    roundings, magnitude, rest = 64.0, 0.0, 0.0
    for law, count in laws:
        repeated = _repeated(law, count)
        if repeated is None or losses.size * repeated[0].size > _MAX_SUMS:
            return None
        more, q, error, left_out = repeated
        losses = (losses[:, None] + more).ravel()
        p = (p[:, None] * q).ravel()
        roundings += error / UNIT + 4
        largest = float(np.abs(more).max())  # of the sum of all
        magnitude += largest + count * law.slack(largest) / (16 * UNIT)
        rest += left_out
    if p.min() < _MIN_PROBABILITY:  # products may have lost digits where floats end
        rest += _UNDERFLOW
    return Enumeration(losses, p, roundings * UNIT, 16 * UNIT * (1 + len(laws)) * magnitude, rest)


def _repeated(law: LossLaw, count: int) -> tuple[Floats, Floats, float, float] | None:
    """Return the sums of `count` equal losses and their probabilities.

    Also the relative error of these, and the probability that is left out.
    """
    likely = law.likely()
    if likely is None:
        return None
    atoms, rest = likely
    if count == 1:
        return atoms.losses, atoms.p, atoms.error, rest
    if math.comb(count + atoms.losses.size - 1, count) <= _MAX_MULTISETS:
        return *_multisets(atoms, count), count * rest
    lowest = float(atoms.losses[0])
    if law.spacing is None or count * (atoms.losses[-1] - lowest) / law.spacing > _MAX_LATTICE:
        return None
    positions = np.rint((atoms.losses - lowest) / law.spacing).astype(np.int64)
    line = np.zeros(int(positions[-1]) + 1)
    np.add.at(line, positions, atoms.p)
    power = np.ones(1)
    square = line
    left = count
    while left:
        if left & 1:
            power = np.convolve(power, square)
        left >>= 1
        if left:
            square = np.convolve(square, square)
    error = count * (atoms.error + 8 * UNIT * _MAX_LATTICE)
    losses: Floats = count * lowest + law.spacing * np.arange(power.size, dtype=np.float64)
    return losses, power, error, count * rest


def _multisets(atoms: Atoms, count: int) -> tuple[Floats, Floats, float]:
    """Return the sums by how often each atom occurs, with multinomial probabilities."""
    left = np.array([count])
    logs = np.zeros(1, dtype=np.longdouble)
    losses = np.zeros(1)
    factorials = np.concatenate(([0], np.cumsum(np.log(np.arange(1, count + 1, dtype=np.longdouble)))))
    for index, (loss, p) in enumerate(zip(atoms.losses, atoms.p, strict=True)):
        last = index == atoms.losses.size - 1
        sizes = np.ones_like(left) if last else left + 1
        rows = np.repeat(np.arange(left.size), sizes)
        taken = left[rows] if last else np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 times ln(0)
            powers = np.where(taken > 0, taken * np.log(np.longdouble(p)), 0.0)
        logs = logs[rows] + powers - factorials[taken]
        losses = losses[rows] + taken * loss
        left = left[rows] - taken
    masses = np.exp(logs + factorials[count])
    return losses, masses.astype(np.float64), count * atoms.error + 64 * count * UNIT
