"""Laws of sums of independent losses with few values, without rounding to a grid."""

from fractions import Fraction

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, FiniteLaw, LossLaw, Pairs

MAX_VALUES = 2**12  # of a sum that is enumerated
_MAX_RUNS = 12  # of a composition that is enumerated


class SumLaw(FiniteLaw):
    """Law of a sum of independent losses with few values, known to their slack."""

    def slack(self, magnitude: float) -> float:
        """Return 64 roundings of the magnitude or of the extreme losses."""
        return 64 * UNIT * max(abs(self.lowest), abs(self.highest), magnitude)


def law_of_sum(laws: list[LossLaw]) -> LossLaw | None:
    """Return the law of the composition of these laws.

    None where one has infinitely many values, or all together too many.
    """
    losses = np.zeros(1)
    p = np.ones(1)
    q = np.ones(1)
    finite_p = Fraction(1)
    finite_q = Fraction(1)
    error = 0.0
    for law in laws:
        atoms = law.atoms()
        if atoms is None or losses.size * atoms.losses.size > MAX_VALUES:
            return None
        losses = (losses[:, None] + atoms.losses).ravel()
        p = np.outer(p, atoms.p).ravel()
        q = np.outer(q, atoms.q).ravel()
        finite_p = finite_p * (1 - Fraction(law.infinite))
        finite_q = finite_q * (1 - Fraction(law.vanishing))
        error += atoms.error + 4 * UNIT
    spacings = {law.spacing for law in laws if law.highest > law.lowest}
    spacing = spacings.pop() if len(spacings) == 1 else None
    atoms = merged(losses, p, q, error, spacing)
    return SumLaw(
        atoms.losses,
        atoms.p,
        atoms.q,
        infinite=float(1 - finite_p),
        vanishing=float(1 - finite_q),
        spacing=spacing,
        roundings=atoms.error / UNIT,
    )


def laws_of_few(parts: list[tuple[Pairs | None, int]]) -> Pairs | None:
    """Return the pair of a composition of few runs with few values.

    Each has one law for both directions; None for others.
    """
    known = [pairs for pairs, count in parts if pairs is not None and pairs.is_symmetric for _ in range(count)]
    if len(known) < sum(count for _, count in parts) or len(known) > _MAX_RUNS:
        return None
    upper = law_of_sum([pairs.upper[0] for pairs in known])
    if upper is None or all(pairs.lower is pairs.upper for pairs in known):
        return None if upper is None else Pairs.symmetric(upper)
    return Pairs.symmetric(upper, law_of_sum([pairs.lower[0] for pairs in known]))


def merged(losses: Floats, p: Floats, q: Floats, error: float, spacing: float | None) -> Atoms:
    """Return atoms in increasing order, each loss once.

    On a lattice, losses at one point of it are one.
    """
    lowest = losses.min()
    positions = losses if spacing is None else np.rint((losses - lowest) / spacing)
    _, first, indices, counts = np.unique(positions, return_index=True, return_inverse=True, return_counts=True)
    merged_p, merged_q = (np.asarray(np.bincount(indices, weights=side), dtype=np.float64) for side in (p, q))
    return Atoms(losses[first], merged_p, merged_q, error + int(counts.max()) * UNIT)
