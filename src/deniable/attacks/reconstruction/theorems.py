"""What the theorems of Dinur and Nissim promise an exhaustive attacker, and the exercise that they rest on.

Proofs: docs/theory/attacks/reconstruction.md. Source: Dinur and Nissim (2003), "Revealing information while preserving
privacy".
"""

import math
from fractions import Fraction

from deniable.attacks.numbers import nonnegative, whole
from deniable.attacks.result import TheoremBound
from deniable.errors import InvalidParameterError

SOURCE = "Dinur and Nissim (2003)"
ENUMERATED = 30  # from here on a formula bounds the anti-concentration


def bound_all_queries(*, people: int, error: float) -> TheoremBound:
    """TheoremBound the exhaustive attack on answers to all 2^people queries: at most 4 error bits are wrong.

    Args:
        error: what every answer's error is at most; whatever it depends on.

    >>> bound_all_queries(people=500, error=5).share
    0.96
    """
    people, error = whole("people", people), nonnegative("error", error)
    return TheoremBound(
        share=(people - min(people, math.floor(4 * error))) / people,
        theorem=f"with all 2^{people} queries answered within {error:g}, an exhaustive search gets at most "
        f"4 * {error:g} of {people:,} bits wrong ({SOURCE})",
    )


def bound_random_queries(*, people: int, queries: int, error: float) -> TheoremBound:
    """TheoremBound the exhaustive attack on random queries: fewer than 256 error^2 bits are wrong.

    This holds with probability at least 1 - 2^-people over the queries (not 2^-people, as printed); it says something
    if error < sqrt(people) / 16.

    Args:
        queries: drawn uniformly and independently, at least 20 a person.
        error: what every answer's error is at most; whatever it depends on.

    >>> bound_random_queries(people=1000, queries=20_000, error=0.5).share
    0.937
    """
    people, error = whole("people", people), nonnegative("error", error)
    if whole("queries", queries) < 20 * people:
        raise InvalidParameterError(f"the theorem needs at least {20 * people} queries, got {queries}")
    wrong = min(people, max(0, math.ceil(256 * error**2) - 1))
    return TheoremBound(
        share=(people - wrong) / people,
        theorem=f"with {queries:,} random queries answered within {error:g}, an exhaustive search gets fewer than "
        f"256 * {error:g}^2 of {people:,} bits wrong, with probability at least 1 - 2^-{people} ({SOURCE})"
        + ("" if wrong < people else "; it says nothing here, for the error is not below sqrt(people) / 16"),
    )


def anti_concentration(differing: int, *, minus: int | None = None) -> Fraction:
    """Probability that a random query tells two candidates apart by at most sqrt(differing) / 4, exactly.

    The difference of the answers has the law of Bin(differing, 1/2) - minus.

    Args:
        differing: places where the candidates differ, at least 1.
        minus: in how many of them the second one has the 1; by default the worst number, half of them.

    >>> anti_concentration(16), float(anti_concentration(16))
    (Fraction(17875, 32768), 0.545501708984375)
    """
    differing = whole("differing", differing)
    middle = differing // 2 if minus is None else whole("minus", minus, lower=0, upper=differing)
    reach = math.isqrt(differing // 16)  # floor(sqrt(differing) / 4)
    window = range(max(0, middle - reach), min(differing, middle + reach) + 1)
    return Fraction(sum(math.comb(differing, count) for count in window), 1 << differing)


def worst_anti_concentration() -> tuple[int, Fraction]:
    """Number of differing places, and probability, where a random query tells candidates apart least often.

    Exercise 1 asks for at most 9/10. Enumeration below 30 places and a bound that falls from there on prove the worst.

    >>> worst_anti_concentration()
    (16, Fraction(17875, 32768))
    """
    worst = max(range(1, ENUMERATED), key=anti_concentration)
    assert anti_concentration(worst) > _tail(ENUMERATED)
    return worst, anti_concentration(worst)


def _tail(differing: int) -> float:
    """TheoremBound on `anti_concentration` for this many places or more: the window's width times the largest
    probability."""
    return 1 / math.sqrt(2 * math.pi) + math.sqrt(2 / (math.pi * differing))
