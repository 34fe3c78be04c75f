"""The law of a sum of independent losses with few values each, written out without rounding to a grid."""

from fractions import Fraction

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, Atoms, FiniteLaw, LossLaw, Pairs

MOST_VALUES = 2**12
_MOST_RUNS = 12  # of a composition that is written out


class SumLaw(FiniteLaw):
    """The law of a sum of independent losses that have few values each; the losses are known to their slack."""

    def slack(self, reach: float) -> float:
        return 64 * UNIT * max(abs(self.lowest), abs(self.highest), reach)


def law_of_sum(laws: list[LossLaw]) -> LossLaw | None:
    """The law of the composition of these; None where one has infinitely many values, or all together too many."""
    losses, p, q = np.zeros(1), np.ones(1), np.ones(1)
    finite_p, finite_q, error = Fraction(1), Fraction(1), 0.0
    for law in laws:
        atoms = law.atoms()
        if atoms is None or losses.size * atoms.losses.size > MOST_VALUES:
            return None
        losses, p, q = (
            (losses[:, None] + atoms.losses).ravel(),
            np.outer(p, atoms.p).ravel(),
            np.outer(q, atoms.q).ravel(),
        )
        finite_p, finite_q = finite_p * (1 - Fraction(law.infinite)), finite_q * (1 - Fraction(law.vanishing))
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


def laws_of_few(found: list[tuple[Pairs | None, int]]) -> Pairs | None:
    """The pair of a composition of few runs with few values and one law for both directions; None for others."""
    known = [pairs for pairs, count in found if pairs is not None and pairs.is_symmetric for _ in range(count)]
    if len(known) < sum(count for _, count in found) or len(known) > _MOST_RUNS:
        return None
    upper = law_of_sum([pairs.upper[0] for pairs in known])
    if upper is None or all(pairs.lower is pairs.upper for pairs in known):
        return None if upper is None else Pairs.symmetric(upper)
    return Pairs.symmetric(upper, law_of_sum([pairs.lower[0] for pairs in known]))


def merged(losses: Floats, p: Floats, q: Floats, error: float, spacing: float | None) -> Atoms:
    """Atoms in increasing order, each loss once; on a lattice those at one place are one."""
    least = losses.min()
    places = losses if spacing is None else np.rint((losses - least) / spacing)
    _, first, place, counts = np.unique(places, return_index=True, return_inverse=True, return_counts=True)
    merged_p, merged_q = (np.asarray(np.bincount(place, weights=side), dtype=np.float64) for side in (p, q))
    return Atoms(losses[first], merged_p, merged_q, error + int(counts.max()) * UNIT)
