"""Warnings about budgets that protect nobody, or that leave nothing but noise."""

from fractions import Fraction

from deniable.numbers.rationals import decimal_text

# (largest, least) ordinary amount of each currency, at about the same epsilon: above the first nobody is protected,
# below the second all answers are noise
_ORDINARY = {
    "epsilon": (Fraction(20), Fraction(1, 10**6)),
    "rho": (Fraction(4), Fraction(1, 10**12)),
    "mu": (Fraction(3), Fraction(1, 10**6)),
    "renyi": (Fraction(20), Fraction(1, 10**12)),
}
_LARGEST_DELTA = Fraction(1, 1000)  # above it, the data of a visible share of people may be published


def with_warning(text: str, warning: str) -> str:
    """Return the text, followed by the warning if there is one."""
    return f"{text} (caution: {warning})" if warning else text


def warning_about(*, population: int | None = None, **amounts: Fraction | None) -> str:
    """Return a warning about unusual amounts; empty for a budget of ordinary size.

    Args:
        population: number of units in the data, where it is public: delta must be small against 1/population.
        amounts: epsilon, delta, rho, mu or renyi, as in a budget; None where it has no such number.
    """
    warnings = []
    for name, (upper, lower) in _ORDINARY.items():
        value = amounts.get(name)
        if value is not None and value > upper:
            warnings.append(f"{name}={decimal_text(value)} protects nobody: answers can tell who is in the data")
        elif value is not None and 0 < value < lower:
            warnings.append(f"{name}={decimal_text(value)} is so small that answers are noise alone")
    delta = amounts.get("delta")
    if delta is not None and delta > _LARGEST_DELTA:
        warnings.append(
            f"delta={decimal_text(delta)} lets the data of that share of all people be published: take 1e-6 or less"
        )
    elif delta and population is not None and float(delta) > population**-1.1:
        warnings.append(
            f"delta={decimal_text(delta)} is of the order of 1/{population} or above: a mechanism with this delta may "
            f"publish the data of {float(delta) * population:.2g} of {population} units outright. Take at most "
            f"{population**-1.1:.0e}"
        )
    return "; ".join(warnings)
