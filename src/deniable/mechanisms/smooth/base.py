"""Noise in proportion to a smooth bound of the local sensitivity: common parts."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import InBounds, Mechanism, Released, WorstCase
from deniable.mechanisms.integers import LARGEST_BOUND, clamped
from deniable.mechanisms.records import clamped_records, loss_of_rows
from deniable.noise import rounded
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import certified
from deniable.numbers.certified import exp_of_minus
from deniable.numbers.rationals import positive_rational, shown
from deniable.privacy import (
    Interval,
    PrivacyLoss,
    PureLoss,
    Relation,
    Replace,
    Sensitivity,
    of_count,
)

if TYPE_CHECKING:
    from flint import arb

LEAST_BOUND = Fraction(1, 2**20)
"""A smooth bound is never below it, in lattice steps: the scale of the noise stays positive."""

_SMALLEST_BETA = Fraction(1, 2**20)
_SHIFTS = (Fraction(1, 2**40), Fraction(2**40))  # so that the scale of the noise can always be drawn
_ROUNDING = Fraction(1, 2**35)  # what beta gives up so that floats may be used


@dataclass(frozen=True, kw_only=True)
class SmoothNoise(InBounds, Mechanism):
    """Base of real noise of scale S / shift, rounded exactly; S is a smooth bound.

    S is a beta-smooth bound of the sensitivity of the statistic to which the noise is added.

    The exact input is (value, A_0, A_1, ..., A_K): the statistic, and the largest local sensitivity A_k of all tables
    within k changes; the last one is that of all larger k. All are cut to what [lower, upper] allows. Bounds in their
    place must be at least the local sensitivity at k = 0, and at most the neighbour's bounds at k + 1. `smooth_bound`
    makes S of them. A statistic with a quicker formula has a mechanism of its own, which takes one of these as `noise`.

    Proof: docs/theory/mechanisms/smooth.md.
    """

    beta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        beta = positive_rational("beta", self.beta)
        if beta < _SMALLEST_BETA:
            raise InvalidParameterError(f"beta must be >= 2^-20, got {shown(self.beta)}. Ask for a larger epsilon.")
        read_fields(self, beta=beta)
        if not _SHIFTS[0] <= self.shift <= _SHIFTS[1]:
            raise InvalidParameterError(
                f"{', '.join(field.name for field in fields(self))} leave a shift of {float(self.shift):.3g}; it must "
                "be in [2^-40, 2^40]. If it is too small, take a smaller beta, or `calibrated`; else less epsilon."
            )

    @property
    @abstractmethod
    def shift(self) -> Fraction:
        """Largest move of the statistic that the guarantee admits, in units of the noise."""

    @abstractmethod
    def _law(self) -> rounded.Continuous:
        """Return the distribution of the noise at scale 1."""

    @abstractmethod
    def _loss(self) -> PrivacyLoss:
        """Return the loss when one record changes."""

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when a unit owns the records that `sensitivity` counts.

        The bounds A_k are those of its relation.
        """
        return loss_of_rows(self._loss(), sensitivity, proved=frozenset(Relation))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int]:
        """Return the noisy statistic, clamped to the bounds.

        Args:
            exact: secret; a list (value, A_0, ..., A_K) of integers.
            bits: leave it out, except in tests.
        """
        return self.perturbed(*self._measured(exact), bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return noisy statistics of `runs` independent releases."""
        return self.draws(*self._measured(exact), runs, bits=bits)

    def perturbed(self, value: Fraction, bound: Fraction, *, bits: Bits) -> Released[int]:
        """Return the noisy value, given a beta-smooth bound."""
        return Released(int(self.draws(value, bound, None, bits=bits)), bits.safe)

    def draws(self, value: Fraction, bound: Fraction, runs: int | None, *, bits: Bits) -> NDArray[np.int64]:
        """Return noisy values, given a beta-smooth bound."""
        return rounded.sample(
            self._law(),
            centre=value,
            scale=bound / self.shift,
            lower=self.lower,
            upper=self.upper,
            size=runs,
            bits=bits,
        )

    def standard_deviation(self, bound: object) -> float:
        """Return the standard deviation of the noise for a public guess of the bound.

        Before rounding and clamping.

        It is infinite for tails as heavy as those of Cauchy noise, also where nearly all answers are close.

        Args:
            bound: in lattice steps, from 2^-20, below which no smooth bound is, to 2^62, the widest bounds.
        """
        guess = positive_rational("bound", bound)
        if not LEAST_BOUND <= guess <= 2 * LARGEST_BOUND:
            raise InvalidParameterError(f"bound must be in [2^-20, 2^62], got {shown(bound)}")
        return self._law().standard_deviation() * float(guess / self.shift)

    @staticmethod
    def _moving(mechanism: "SmoothNoise") -> WorstCase:
        """Return a statistic that moves by its sensitivity, 6.

        It is a shift of the noise alone, which is not the whole of the loss.
        """
        record = of_count(rows=1, groups=1, cells=1, relation=Replace)
        return WorstCase(mechanism=mechanism, sensitivity=record, exact=(6, 6), neighbour=(0, 6), attains=False)

    def _measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        secret = clamped("exact", exact)
        if secret.ndim != 1 or secret.size < 2:
            raise InvalidParameterError(
                f"the exact input is (value, A_0, ..., A_K), a list of integers, got {secret.ndim} dimensions"
            )
        value = min(max(int(secret[0]), self.lower), self.upper)  # which moves no further than the bounds are apart
        return Fraction(value), smooth_bound(np.minimum(secret[1:], self.upper - self.lower), beta=self.beta)


@dataclass(frozen=True, kw_only=True)
class PureSmoothNoise(SmoothNoise):
    """Base of noise whose loss is epsilon alone.

    It loses the most beside a neighbour with the same bound, or the furthest.
    """

    epsilon: Annotated[Fraction, positive_rational]

    @cached_property
    def shift(self) -> Fraction:
        """Largest move that the guarantee admits, beside any neighbour's bound."""
        return min(self._shift_at(Fraction(0)), self._shift_at(self.beta))

    @abstractmethod
    def _shift_at(self, b: Fraction) -> Fraction:
        """Return the largest shift beside a neighbour whose bound is e^b times as large.

        Or as small.
        """

    def _loss(self) -> PrivacyLoss:
        return PureLoss(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class SmoothStatistic(Mechanism):
    """Base of statistics with their own formula for the smooth bound.

    The law of the noise is a mechanism of its own.
    """

    relation: ClassVar[Relation] = Replace  # for which it is proved

    noise: SmoothNoise

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.noise, SmoothNoise):
            raise InvalidParameterError(f"noise must be a SmoothNoise such as SmoothStudentT, got {shown(self.noise)}")

    @abstractmethod
    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the statistic and its smooth bound, both secret."""

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss of the noise, for a unit with the records of `sensitivity`."""
        return loss_of_rows(self.noise._loss(), sensitivity, proved=frozenset({self.relation}))

    def _records(self, exact: ArrayLike) -> NDArray[np.int64]:
        """Return the records in order, clamped to the bounds of the noise."""
        return clamped_records(exact, self.noise.lower, self.noise.upper, relation=self.relation)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int]:
        """Return the noisy statistic, clamped to the bounds of the noise."""
        return self.noise.perturbed(*self.measured(exact), bits=bits)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return noisy statistics of `runs` independent releases."""
        return self.noise.draws(*self.measured(exact), runs, bits=bits)


def smooth_bound(local: ArrayLike, *, beta: Fraction) -> Fraction:
    """Return the maximum of e^(-beta k) A_k, rounded so that it stays beta-smooth.

    Args:
        local: A_k for k = 0, 1, ..., K: the largest local sensitivity of the tables within k changes; whole lattice
            steps; what is outside [0, 2^62] is moved there. The last one is that of all larger k.
        beta: exact.

    Guarantee: lemmas 1 and 2 of docs/theory/mechanisms/smooth.md.

    >>> round(float(smooth_bound([1, 2, 50], beta=Fraction(1))), 4)  # 50 e^-2
    6.7668
    """
    bounds = clamped("local", local, lower=0, upper=2 * LARGEST_BOUND)
    if bounds.size == 0:
        raise InvalidParameterError("local must hold at least one local sensitivity, got none")
    return rounded_up(float((bounds.astype(np.float64) * weights(beta, bounds.size)).max()))


def weights(beta: Fraction, count: int, *, step: int = 1) -> NDArray[np.float64]:
    """Return e^(-beta k) for `count` numbers k = 0, step, 2 step, ...

    With the beta that leaves room for rounding.
    """
    return exp_of_minus(float(beta - _ROUNDING) * step * np.arange(count, dtype=np.float64))


def changes_to_least_bound(beta: Fraction, spread: int) -> int:
    """Return the number of changes after which a bound falls below LEAST_BOUND.

    Args:
        beta: of the smooth bound.
        spread: the bound before any change, in steps.
    """
    return math.ceil((math.log(spread) + 20 * math.log(2) + 1) / float(beta - _ROUNDING))


def rounded_up(bound: float) -> Fraction:
    """Return a maximum of floats as a smooth bound."""
    return max(Fraction(bound) * (1 + _ROUNDING / 2), LEAST_BOUND)


def shift_below(formula: Callable[[], "arb"]) -> Fraction:
    """Return a rational at or just below a formula, at least 0."""
    return Fraction(certified(formula, within=Interval(0.0, math.inf)).lower)
