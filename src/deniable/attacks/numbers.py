"""Numbers as attackers are given them: read once for all attacks, or refused by name."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError

Floats = NDArray[np.float64]


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
        kind = {1: "a vector of ", 2: "a table of "}.get(dimensions or 0, "")
        raise InvalidParameterError(f"{name} must be {kind}at least one number, got shape {read.shape}")
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
    if not 0 < value < 1:
        raise InvalidParameterError(f"{name} must be in (0, 1), got {value}")


def whole(name: str, value: int, *, least: int = 1, most: int | None = None) -> int:
    """The value, if it is a whole number in least..most; InvalidParameterError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidParameterError(f"{name} must be a whole number, got {value!r}")
    if value < least or (most is not None and value > most):
        asked = f">= {least}" if most is None else f"in {least}..{most}"
        raise InvalidParameterError(f"{name} must be {asked}, got {value}")
    return int(value)
