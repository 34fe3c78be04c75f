"""Words of warning for budgets that promise next to nothing, and for those that allow next to nothing."""

from fractions import Fraction

from deniable.numbers.rationals import decimal_text

# the number above which a currency protects nobody, and that below which all answers are noise; about the same epsilon
_SENSIBLE = {
    "epsilon": (Fraction(20), Fraction(1, 10**6)),
    "rho": (Fraction(4), Fraction(1, 10**12)),
    "mu": (Fraction(3), Fraction(1, 10**6)),
    "renyi": (Fraction(20), Fraction(1, 10**12)),
}
_LARGEST_DELTA = Fraction(1, 1000)


def with_caution(text: str, doubt: str) -> str:
    """The text, with the words of warning behind it if there are any."""
    return f"{text} (caution: {doubt})" if doubt else text


def caution(*, population: int | None = None, **amounts: Fraction | None) -> str:
    """What to think twice about, in a sentence; empty where a budget is of an ordinary size.

    Args:
        population: number of units in the data, where it is public: delta must be small against 1/population.
        amounts: epsilon, delta, rho, mu or renyi, as in a budget; None where it has no such number.
    """
    found = []
    for name, (most, least) in _SENSIBLE.items():
        value = amounts.get(name)
        if value is not None and value > most:
            found.append(f"{name}={decimal_text(value)} protects nobody: answers can tell who is in the data")
        elif value is not None and 0 < value < least:
            found.append(f"{name}={decimal_text(value)} is so small that answers are noise alone")
    delta = amounts.get("delta")
    if delta is not None and delta > _LARGEST_DELTA:
        found.append(
            f"delta={decimal_text(delta)} lets the data of that share of all people be published: take 1e-6 or less"
        )
    elif delta and population is not None and float(delta) > population**-1.1:
        found.append(
            f"delta={decimal_text(delta)} is of the order of 1/{population} or above: a mechanism with this delta may "
            f"publish the data of {float(delta) * population:.2g} of {population} units outright. Take at most "
            f"{population**-1.1:.0e}"
        )
    return "; ".join(found)
