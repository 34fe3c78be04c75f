"""What the second route to a law looks like."""

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import NO_ANSWER

# Of a mechanism on an input: the outcomes in increasing order, and their probabilities.
Law: TypeAlias = Callable[[Any, tuple[int, ...]], tuple[NDArray[Any], NDArray[np.float64]]]
# A mechanism of the same kind with about 0.7 times the noise.
Weaker: TypeAlias = Callable[[Any], Mechanism]


def law_of(mechanism: Mechanism, exact: Any) -> dict[Hashable, float]:
    """The mechanism's own certified law, as floats."""
    found = mechanism.pmf(exact)
    return {value: float(p) if isinstance(p, Fraction) else (p.lower + p.upper) / 2 for value, p in found.items()}


def chances(mechanism: Mechanism, exact: Any) -> NDArray[np.float64]:
    """The probabilities in the order in which the law lists them."""
    return np.array(list(law_of(mechanism, exact).values()))


def _digits(mechanism: Any, exact: Any, chosen: Any) -> int:
    return int("".join(map(str, chosen)), len(exact))


CODES: dict[str, Callable[[Any, Any, Any], int]] = {
    **dict.fromkeys(("top_k", "joint_top_k"), _digits),
    "stable_selection": lambda mechanism, exact, chosen: NO_ANSWER if chosen is None else chosen,
    "randomized_response": lambda mechanism, exact, told: sum(
        code * mechanism.choices**place for place, code in enumerate(told)
    ),
    **dict.fromkeys(
        (
            *("bounded_laplace", "truncated_laplace", "exponential_mechanism", "permute_and_flip", "noisy_max"),
            *("continuous_exponential", "inverse_sensitivity", "inverse_median", "inverse_quantile"),
        ),
        lambda mechanism, exact, value: value,
    ),
}
"""How a released value is written as an outcome, for the mechanisms with a finite law."""


def input_of(name: str, exact: tuple[int, ...]) -> Any:
    """The input of a release from that of a worst case."""
    half = len(exact) // 2
    return (exact[:half], exact[half:]) if name == "continuous_exponential" else exact


def public_law(name: str, mechanism: Mechanism, exact: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """What `pmf` says, as a `Law` says it."""
    found = law_of(mechanism, input_of(name, exact))
    codes = {CODES[name](mechanism, exact, value): chance for value, chance in found.items()}
    assert len(codes) == len(found)
    return np.array(sorted(codes)), np.array([codes[code] for code in sorted(codes)])
