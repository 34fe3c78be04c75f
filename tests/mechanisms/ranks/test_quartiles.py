from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from deniable.mechanisms.ranks import ExponentialQuantile, Points, Quartiles
from deniable.mechanisms.ranks.positions import PARTS
from deniable.mechanisms.ranks.positions import distances as place_distances
from deniable.privacy import AddRemove
from tests.mechanisms.ranks.test_positions import TABLES, ours

QUARTILES = Quartiles(rate=Fraction(1), points=Points(1))
LOWER, UPPER = QUARTILES.draws


def joint_range(rows: tuple[int, ...], more: int, size: int, draws: tuple[ExponentialQuantile, ...]) -> Fraction:
    """Over how long an interval the changes of D spread when a row comes, added up over the draws."""

    def exact(table: tuple[int, ...], draw: ExponentialQuantile) -> np.ndarray:
        target, span = draw.target(len(table)), (0, size - 1)
        found = place_distances(np.arange(size), *ours(table, size), target=target, span=span, parts=PARTS)
        return found * (4 // target.denominator)

    return Fraction(sum(int(np.ptp(exact((*rows, more), draw) - exact(rows, draw))) for draw in draws), 4 * PARTS)


def test_the_quartiles_together_have_a_range_of_five_halves_rounding_included() -> None:
    """All tables of up to four rows on five points and of three on nine, and some on grids finer than the rounding."""
    small = [(rows, 5) for n in range(5) for rows in combinations_with_replacement(range(5), n)]
    pairs = [(rows, more, size) for rows, size in [*small, *((rows, 9) for rows in TABLES)] for more in range(size)]
    draws = np.random.default_rng(1)
    pairs += [
        (tuple(draws.integers(0, size, count)), int(draws.integers(0, size)), size)
        for size in (100, 1025, 5000)
        for count in (0, 0, 1, 2, 3, 4, 5)
        for _ in range(20)
    ]
    pairs += [((), more, 2000) for more in range(990, 1010)]
    assert (
        max(joint_range(*pair, (LOWER, UPPER)) for pair in pairs)
        == 2 * QUARTILES.rank_sensitivity(AddRemove)
        == Fraction(5, 2)
    )
    # the twin: the sum of what they have alone is not attained, and that of one quartile twice is more than 5/2
    assert max(joint_range(*pair, (LOWER, LOWER)) for pair in pairs) == 3
