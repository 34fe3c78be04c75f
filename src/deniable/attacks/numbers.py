"""Numbers as attackers are given them: read once for all attacks, or refused by name."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

MANY, LOOPS = 10**12, 10**6
"""Counts above the first are refused everywhere; rounds of a loop above the second."""


def read_numbers(name: str, values: ArrayLike, *, dimensions: int | None = None, infinite: bool = False) -> Floats:
    """Numbers in float64.

    Raises: InvalidParameterError if there is none, one is NaN, or infinite where that is not allowed, or they do not
        form a vector (1 dimension) or table (2) where that is asked for.
    """
    try:
        read = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be numbers") from None
    if not read.size or dimensions not in (None, read.ndim):
        kind = {0: "one", 1: "a vector of at least one", 2: "a table of at least one"}.get(dimensions, "at least one")  # type: ignore[arg-type]
        raise InvalidParameterError(f"{name} must be {kind} number, got shape {read.shape}")
    if np.isnan(read).any() or not (infinite or np.isfinite(read).all()):
        raise InvalidParameterError(f"{name} must not hold NaN{'' if infinite else ' or infinity'}")
    return read


def read_bits(secrets: ArrayLike) -> NDArray[np.bool_]:
    """Secrets of people, shape (people,); InvalidParameterError if one is not 0 or 1, or they are fewer than two."""
    bits = np.asarray(secrets)
    if bits.ndim != 1 or len(bits) < 2 or not np.isin(bits, (0, 1)).all():
        raise InvalidParameterError("secrets must be a column of 0 and 1, of at least two people")
    return bits.astype(bool)


def check_probability(name: str, value: float) -> None:
    """Refuse what is not strictly between 0 and 1."""
    if not 0 < real(name, value) < 1:
        raise InvalidParameterError(f"{name} must be in (0, 1), got {value}")


def real(name: str, value: float) -> float:
    """The value, if it is one number, infinity included; InvalidParameterError otherwise."""
    return float(read_numbers(name, value, dimensions=0, infinite=True))


def nonnegative(name: str, value: float) -> float:
    """The value, if it is finite and at least 0; InvalidParameterError otherwise."""
    if not 0 <= real(name, value) < np.inf:
        raise InvalidParameterError(f"{name} must be finite and >= 0, got {value}")
    return float(value)


def whole(name: str, value: int, *, least: int = 1, most: int = MANY) -> int:
    """The value, if it is a whole number in least..most; InvalidParameterError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidParameterError(f"{name} must be a whole number, got {value!r}")
    if not least <= value <= most:
        asked = f">= {least}" if value < least and most == MANY else f"in {least}..{most:,}"
        raise InvalidParameterError(f"{name} must be {asked}, got {value}")
    return int(value)


def start_dice(seed: int) -> np.random.Generator:
    """The attackers' dice; InvalidParameterError for a seed that is no whole number in 0..2^128."""
    return np.random.default_rng(whole("seed", seed, least=0, most=2**128))
