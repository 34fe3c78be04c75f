"""The contract of a mechanism: a loss that is stated once, a release, and how far the release strays."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import SECURE, Bits
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.exact import read_json
from deniable.privacy.interval import round_up

Integers = NDArray[np.int64] | NDArray[np.object_]

_KINDS: dict[str, type["Mechanism"]] = {}


@dataclass(frozen=True)
class Noisy:
    """Integers that may be published if `safe`: int64, or Python ints in an object array where int64 cannot hold
    them."""

    values: Integers
    safe: bool


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """One setting and one pair of neighbouring exact vectors that attain the claimed loss, for audits.

    Args:
        mechanism: with the parameters to try.
        sensitivity: one that admits the pair.
        exact: the aggregates on one table.
        neighbour: the aggregates on a neighbouring table.
    """

    mechanism: "Mechanism"
    sensitivity: Sensitivity
    exact: tuple[int, ...]
    neighbour: tuple[int, ...]

    def scores(self, runs: int, *, bits: Bits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`runs` releases of either vector, each reduced to how far it points from the neighbour to the exact one."""
        direction = np.subtract(self.exact, self.neighbour).astype(np.float64)
        return tuple(  # type: ignore[return-value]
            self.mechanism.release(np.tile(vector, (runs, 1)), bits=bits).values.astype(np.float64) @ direction
            for vector in (self.exact, self.neighbour)
        )


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """Adds noise of one law, independently, to every entry of an array of exact integers.

    A subclass is a frozen dataclass of exact public parameters in one file, listed in `MECHANISMS`; `privacy_loss` is
    the only place where its guarantee is computed. Integers come from the caller: counts are integers, and reals are
    put on a lattice first (deniable.noise.lattice), whose steps are the unit of every parameter here.
    """

    kind: ClassVar[str]
    guarantee: ClassVar[str]  # one line for the generated table
    source: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _KINDS[cls.kind] = cls

    @abstractmethod
    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """What one release of an aggregate with this sensitivity reveals."""

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], bits: Bits) -> Integers:
        """Independent draws."""

    @classmethod
    @abstractmethod
    def worst_case(cls) -> WorstCase:
        """A setting and a pair of neighbours that attain the loss."""

    @abstractmethod
    def half_width(self, level: float) -> int:
        """The smallest t, up to one, for which the noise lies in [-t, t] with probability at least `level`."""

    @abstractmethod
    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of the noise in float64, for error bars only."""

    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise."""

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Noisy:
        """The exact integers plus fresh noise; whatever the size of either, nothing wraps around.

        Args:
            exact: secret; integers of any shape, in any integer dtype or as Python ints.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if `exact` holds anything but integers.
        """
        secret = _integers(exact)
        return Noisy(_sum(secret, self._noise(secret.shape, bits)), bits.safe)

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON: the kind and the parameters, rationals as text."""
        return {"mechanism": self.kind, **{field.name: str(getattr(self, field.name)) for field in fields(self)}}

    @staticmethod
    def from_data(data: object) -> "Mechanism":
        """The inverse of `to_data`."""
        if not isinstance(data, Mapping) or data.get("mechanism") not in _KINDS:
            raise InvalidParameterError(
                f"a mechanism needs a field 'mechanism' with one of {sorted(_KINDS)}, got {data!r}"
            )
        mechanism = _KINDS[data["mechanism"]]
        values: dict[str, Any] = {str(name): value for name, value in data.items() if name != "mechanism"}
        if set(values) != {field.name for field in fields(mechanism)}:
            raise InvalidParameterError(f"these are not the parameters of {mechanism.__name__}: {sorted(values)}")
        return mechanism(**values)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Mechanism":
        """The inverse of `to_json`."""
        return Mechanism.from_data(read_json(text, "a mechanism"))


def require_range(name: str, value: Fraction, *, lower: Fraction, upper: Fraction) -> Fraction:
    """Refuse a parameter that the sampler would refuse, before anything is spent."""
    if not lower <= value <= upper:
        raise InvalidParameterError(
            f"{name} must be in [{float(lower):.3g}, {float(upper):.3g}] lattice steps, got {round_up(value):.3g}. "
            "If it is too large, ask for a larger epsilon, narrower bounds or a coarser lattice; else the reverse."
        )
    return value


def _integers(exact: ArrayLike) -> Integers:
    """An int64 array, or an object array of Python ints. Errors name no value."""
    array = np.asarray(exact)
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u":
        return array.astype(object)
    if array.dtype.kind == "O" and all(type(value) is int for value in array.flat):
        return array
    raise InvalidParameterError(
        f"a mechanism takes integers, got an array of {array.dtype}. Put real numbers on a lattice first."
    )


def _sum(secret: Integers, noise: Integers) -> Integers:
    """Exact sums; int64 if and only if all of them fit, which is a fact about the released values alone."""
    if secret.dtype == np.int64 and noise.dtype == np.int64:
        total = secret + noise
        wrapped = ((secret ^ total) & (noise ^ total)) < 0
        if not wrapped.any():
            return np.asarray(total)
    exact = np.asarray(secret.astype(object) + noise.astype(object), dtype=object)
    limits = np.iinfo(np.int64)
    if all(limits.min <= value <= limits.max for value in exact.flat):
        return exact.astype(np.int64)
    return exact
