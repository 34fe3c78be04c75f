"""Numbers from callers: read once for all attacks, or refused by name."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

MAX_COUNT = 10**12  # larger counts are typing errors
MAX_ROUNDS = 10**6  # of a loop in Python, which takes a minute


def read_numbers(name: str, values: ArrayLike, *, dimensions: int | None = None, infinite: bool = False) -> Floats:
    """Return numbers in float64.

    Raises: InvalidParameterError if there are none, one is NaN, or infinite where that is not allowed, or they do not
        form a vector (1 dimension) or table (2) where that is needed.
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
    """Return secrets of at least two people as booleans, shape (people,).

    Raises: InvalidParameterError if a secret is not 0 or 1, or there are fewer than two.
    """
    bits = np.asarray(secrets)
    if bits.ndim != 1 or len(bits) < 2 or not np.isin(bits, (0, 1)).all():
        raise InvalidParameterError("secrets must be a column of 0 and 1 for at least two people")
    return bits.astype(bool)


def check_probability(name: str, value: float) -> None:
    """Refuse a number that is not strictly between 0 and 1."""
    if not 0 < real(name, value) < 1:
        raise InvalidParameterError(f"{name} must be in (0, 1), got {value}")


def real(name: str, value: float) -> float:
    """Return one number, infinity included, or raise InvalidParameterError."""
    return float(read_numbers(name, value, dimensions=0, infinite=True))


def nonnegative(name: str, value: float) -> float:
    """Return a finite number of at least 0, or raise InvalidParameterError."""
    if not 0 <= real(name, value) < np.inf:
        raise InvalidParameterError(f"{name} must be finite and >= 0, got {value}")
    return float(value)


def whole(name: str, value: int, *, lower: int = 1, upper: int = MAX_COUNT) -> int:
    """Return a whole number in lower..upper, or raise InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidParameterError(f"{name} must be a whole number, got {value!r}")
    if not lower <= value <= upper:
        needed = f">= {lower}" if value < lower and upper == MAX_COUNT else f"in {lower}..{upper:,}"
        raise InvalidParameterError(f"{name} must be {needed}, got {value}")
    return int(value)


def start_dice(seed: int) -> np.random.Generator:
    """Return the generator of an attacker's draws, from a seed in 0..2^128."""
    return np.random.default_rng(whole("seed", seed, lower=0, upper=2**128))
