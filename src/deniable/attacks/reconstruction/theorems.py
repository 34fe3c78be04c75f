"""Bounds of Dinur and Nissim on exhaustive search, and anti-concentration.

Proofs: docs/theory/attacks/reconstruction.md. Source: Dinur and Nissim (2003), "Revealing information while preserving
privacy".
"""

import math
from fractions import Fraction

from deniable.attacks.numbers import nonnegative, whole
from deniable.attacks.result import TheoremBound
from deniable.errors import InvalidParameterError

SOURCE = "Dinur and Nissim (2003)"
ENUMERATED = 30  # differing bits from which a formula bounds the anti-concentration


def bound_all_queries(*, people: int, error: float) -> TheoremBound:
    """Bound exhaustive search on all 2^people queries: at most 4 error wrong bits.

    Args:
        people: number of people, at least 1.
        error: largest error of any answer, whatever it depends on.

    Returns: a `TheoremBound`, to pass to `attack_by_reconstruction`.

    >>> from deniable.attacks.reconstruction import bound_all_queries
    >>> bound_all_queries(people=500, error=5).share
    0.96
    """
    people = whole("people", people)
    error = nonnegative("error", error)
    return TheoremBound(
        share=(people - min(people, math.floor(4 * error))) / people,
        theorem=f"with all 2^{people} queries answered within {error:g}, an exhaustive search gets at most "
        f"4 * {error:g} of {people:,} bits wrong ({SOURCE})",
    )


def bound_random_queries(*, people: int, queries: int, error: float) -> TheoremBound:
    """Bound exhaustive search on random queries: below 256 error^2 wrong bits.

    This holds with probability at least 1 - 2^-people over the queries (not 2^-people, as printed); it is not trivial
    if error < sqrt(people) / 16.

    Args:
        people: number of people, at least 1.
        queries: number of queries, drawn uniformly and independently, at least 20 for each person.
        error: largest error of any answer, whatever it depends on.

    Returns: a `TheoremBound`, to pass to `attack_by_reconstruction`.

    >>> from deniable.attacks.reconstruction import bound_random_queries
    >>> bound_random_queries(people=1000, queries=20_000, error=0.5).share
    0.937
    """
    people = whole("people", people)
    error = nonnegative("error", error)
    if whole("queries", queries) < 20 * people:
        raise InvalidParameterError(f"queries must be at least 20 for each person, {20 * people}, got {queries}")
    wrong = min(people, max(0, math.ceil(256 * error**2) - 1))
    return TheoremBound(
        share=(people - wrong) / people,
        theorem=f"with {queries:,} random queries answered within {error:g}, an exhaustive search gets fewer than "
        f"256 * {error:g}^2 of {people:,} bits wrong, with probability at least 1 - 2^-{people} ({SOURCE})"
        + ("" if wrong < people else "; it says nothing here, for the error is not below sqrt(people) / 16"),
    )


def anti_concentration(differing: int, *, minus: int | None = None) -> Fraction:
    """Return the exact probability that a random query hardly separates candidates.

    Their answers differ by at most sqrt(differing) / 4; the difference is distributed as Bin(differing, 1/2) - minus.

    Args:
        differing: number of bits in which the candidates differ, at least 1.
        minus: number of these bits that are 1 in the second candidate; by default the worst number, half of them.

    >>> from deniable.attacks.reconstruction import anti_concentration
    >>> float(anti_concentration(16))
    0.545501708984375
    """
    differing = whole("differing", differing)
    middle = differing // 2 if minus is None else whole("minus", minus, lower=0, upper=differing)
    width = math.isqrt(differing // 16)  # floor(sqrt(differing) / 4)
    window = range(max(0, middle - width), min(differing, middle + width) + 1)
    return Fraction(sum(math.comb(differing, count) for count in window), 1 << differing)


def worst_anti_concentration() -> tuple[int, Fraction]:
    """Return the number of differing bits of the largest `anti_concentration`, and it.

    Exercise 1 asks for at most 9/10. Enumeration below 30 bits and a bound that falls from there on prove the worst.

    >>> from deniable.attacks.reconstruction import worst_anti_concentration
    >>> differing, probability = worst_anti_concentration()
    >>> differing, float(probability)
    (16, 0.545501708984375)
    """
    worst = max(range(1, ENUMERATED), key=anti_concentration)
    assert anti_concentration(worst) > _tail(ENUMERATED)
    return worst, anti_concentration(worst)


def _tail(differing: int) -> float:
    """Bound `anti_concentration` for at least this number of differing bits.

    It is the width of the window times the largest probability.
    """
    return 1 / math.sqrt(2 * math.pi) + math.sqrt(2 / (math.pi * differing))
