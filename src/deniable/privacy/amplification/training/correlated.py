"""Correlated noise (matrix factorisation): C x + z with a lower-triangular C.

The rest is post-processing. What one unit can reveal depends on how often, and how close together, it takes part.
Proofs: docs/theory/privacy/correlated.md.

What one unit can reveal depends on how often, and how close together, it takes part. Proofs:
docs/theory/privacy/correlated.md.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from deniable.arguments import made_of, read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, decimal_above, decimal_below, positive_integer, positive_rational, shown
from deniable.privacy.amplification.sampling.poisson import poisson_sampled
from deniable.privacy.composition.compose import composed
from deniable.privacy.losses.gaussian import GaussianStatement
from deniable.privacy.notions.gaussian_dp import DIGITS, gaussian_delta
from deniable.privacy.pld.law import UNIT, Pairs
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.relation import AddRemove
from deniable.privacy.statement import Statement

_MAX_STEPS = 10**7  # of a strategy; its column is an array
_MAX_ROWS = 2000  # of an explicit matrix; its products are dense
_MAX_SHIFTED_SUMS = 32  # participations up to which shifted columns are added one by one


class Strategy(ABC):
    """Strategy matrix C: column t is how step t's input enters outputs from step t on.

    bands: rows of a column that are not 0, at most; None when there may be as many as steps.

    bands: rows of a column that are not 0, at most; None when there may be as many as steps.
    """

    kind: ClassVar[str]
    steps: int

    @property
    @abstractmethod
    def bands(self) -> int: ...

    @abstractmethod
    def squared_sensitivity(self, participations: int, separation: int) -> Interval:
        """Return an interval around the squared l2 sensitivity of C.

        It is the greatest squared norm of sum C e_t u_t, over vectors u_t of length at most 1 and all sets of at most
        `participations` steps t, every two at least `separation` apart.
        """

    @abstractmethod
    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""


@dataclass(frozen=True, init=False)
class ToeplitzStrategy(Strategy):
    """Toeplitz matrix: C[s, t] = coefficients[s - t], and 0 beyond them.

    `ToeplitzStrategy.square_root(steps=..., bands=...)` is the best for prefix sums up to a constant;
    `ToeplitzStrategy.buffered(scales, decays, steps=...)` is a buffered linear Toeplitz (BLT) matrix.

    Args:
        coefficients: the first column, as floats that are used exactly; the first is not 0.
        steps: the number of steps.
    """

    kind: ClassVar[str] = "toeplitz"
    coefficients: tuple[float, ...]
    steps: int

    def __init__(self, coefficients: Iterable[float], *, steps: object) -> None:
        read = tuple(_numbers("coefficients", coefficients))
        read_fields(self, steps=_checked_steps(steps))
        if not read or not all(math.isfinite(value) for value in read) or read[0] == 0:
            raise InvalidParameterError("coefficients must be finite numbers, of which the first is not 0")
        read_fields(self, coefficients=read[: self.steps])

    @classmethod
    def square_root(cls, *, steps: object, bands: object = None) -> "ToeplitzStrategy":
        """Return the square root of the matrix of prefix sums, cut after `bands`.

        c_0 = 1, c_k = c_(k-1) (1 - 1/(2k)).
        """
        count = _checked_steps(steps)
        kept = count if bands is None else min(count, positive_integer("bands", bands))
        ratios = 1 - 1 / (2 * np.arange(1, kept))
        return cls(np.concatenate(([1.0], np.cumprod(ratios))).tolist(), steps=count)

    @classmethod
    def buffered(cls, scales: Iterable[float], decays: Iterable[float], *, steps: object) -> "ToeplitzStrategy":
        """Return a buffered linear Toeplitz matrix, as the floats that this computes.

        c_0 = 1, c_k = sum_j scales_j decays_j^(k-1).
        """
        count = _checked_steps(steps)
        size = np.array(_numbers("scales", scales))
        decay = np.array(_numbers("decays", decays))
        if size.shape != decay.shape or size.size == 0 or not (np.all(size > 0) and np.all((decay > 0) & (decay < 1))):
            raise InvalidParameterError("scales must be > 0 and decays in (0, 1), in equal number")
        return cls(np.concatenate(([1.0], size @ decay[:, None] ** np.arange(count - 1))).tolist(), steps=count)

    @property
    def bands(self) -> int:
        return len(self.coefficients)

    def squared_sensitivity(self, participations: int, separation: int) -> Interval:
        """Return the squared sensitivity, from the steps 0, b, 2b, ...

        They are worst where coefficients are >= 0 and never rise; otherwise |c| is enlarged until they are, for the
        upper end.
        """
        given = np.array(self.coefficients)
        times = min(participations, (self.steps - 1) // separation + 1)
        lower = self._leftmost(given, times, separation)
        envelope = np.maximum.accumulate(np.abs(given)[::-1])[::-1]
        upper = lower if np.array_equal(envelope, given) else self._leftmost(envelope, times, separation)
        return Interval(lower.lower, upper.upper)

    def _leftmost(self, coefficients: Floats, times: int, separation: int) -> Interval:
        """Return an interval around the squared norm of the sum of columns 0, b, 2b, ..."""
        length = min(self.steps, len(coefficients) + (times - 1) * separation)
        column = np.zeros(length, dtype=np.longdouble)
        column[: len(coefficients)] = coefficients[:length]
        total = column.copy()
        error = 0.0
        if times <= _MAX_SHIFTED_SUMS:
            for turn in range(1, times):
                total[turn * separation :] += column[: length - turn * separation]
        else:
            rows = -(-length // separation)
            table = np.zeros(rows * separation, dtype=np.longdouble)
            table[:length] = column
            sums = table.reshape(rows, separation).cumsum(axis=0)
            window = sums.copy()
            window[times:] -= sums[:-times]
            total = window.ravel()[:length]
            sizes = np.abs(table).reshape(rows, separation).cumsum(axis=0).ravel()[:length]
            error = float(2 * np.abs(total) @ sizes) * 4 * rows * float(np.finfo(np.longdouble).eps)
        squared = float(total @ total)
        doubt = squared * (length + 4 * times + 16) * 2 * UNIT + error
        return Interval(max(squared - doubt, 0.0), squared + doubt)

    def to_data(self) -> dict[str, object]:
        return {"strategy": self.kind, "coefficients": list(self.coefficients), "steps": self.steps}


@dataclass(frozen=True, init=False)
class ExplicitStrategy(Strategy):
    """Lower-triangular matrix C given by its rows, of at most 2000 steps.

    Args:
        rows: shape (steps, steps), as floats that are used exactly; no zeros on the diagonal.
    """

    kind: ClassVar[str] = "explicit"
    rows: tuple[tuple[float, ...], ...]

    def __init__(self, rows: Iterable[Iterable[float]]) -> None:
        if not isinstance(rows, Iterable):
            raise InvalidParameterError(f"rows must be a list of rows, got {shown(rows)}")
        read = [_numbers("a row", row) for row in rows]
        if not 1 <= len(read) <= _MAX_ROWS or any(len(row) != len(read) for row in read):
            raise InvalidParameterError(
                f"rows must be a square matrix of at most {_MAX_ROWS} rows, zeros included; got {len(read)} rows of "
                f"{shown(sorted({len(row) for row in read}))} numbers"
            )
        table = np.array(read)
        if not np.all(np.isfinite(table)) or np.any(np.triu(table, 1)) or np.any(np.diag(table) == 0):
            raise InvalidParameterError(
                "the matrix must be finite and lower triangular without zeros on the diagonal: "
                "a step may not depend on later ones"
            )
        read_fields(self, rows=tuple(tuple(row) for row in table.tolist()))

    @property
    def steps(self) -> int:  # type: ignore[override]
        return len(self.rows)

    @property
    def bands(self) -> int:
        entries = np.nonzero(np.array(self.rows))
        return int((entries[0] - entries[1]).max()) + 1

    def squared_sensitivity(self, participations: int, separation: int) -> Interval:
        """Return bounds on the squared sensitivity, by dynamic programming.

        The best set of steps is found for a bound on each step's share; any set that is tried is a lower bound.
        """
        matrix = np.array(self.rows)
        size = len(matrix)
        rounding = (size + 8) * 2 * UNIT
        gram = np.abs(matrix.T @ matrix) + rounding * (np.abs(matrix).T @ np.abs(matrix))
        times = min(participations, (size - 1) // separation + 1)
        shares = gram.diagonal().copy()
        for turn in range(1, times):
            gap = turn * separation
            if gap >= self.bands:
                break
            for step in range(size):
                right = gram[step, step + gap :].max(initial=0.0)
                left = gram[step, : max(step - gap + 1, 0)].max(initial=0.0)
                shares[step] += left + right
        upper, worst = _best_set(shares, times, separation)
        tried = [worst, list(range(0, size, separation))[:times]]
        lower = max(float((matrix[:, chosen].sum(axis=1) ** 2).sum()) for chosen in tried)
        return Interval(lower * (1 - 4 * rounding), max(upper, lower) * (1 + 4 * rounding))

    def to_data(self) -> dict[str, object]:
        return {"strategy": self.kind, "rows": [list(row) for row in self.rows]}


_STRATEGIES: dict[str, type[ToeplitzStrategy | ExplicitStrategy]] = {
    cls.kind: cls for cls in (ToeplitzStrategy, ExplicitStrategy)
}


@dataclass(frozen=True, init=False)
class CorrelatedStatement(Statement):
    """Loss of C x + z for all steps together, z independent Gaussian.

    Anything may be computed from it.

    Args:
        strategy: the matrix C.
        noise_multiplier: standard deviation of z over the greatest length of one unit's input in one step (under
            replace: of its change).
        participations: at most this many steps use one unit.
        separation: at least this many steps lie from one use to the next.

    Guarantee: mu-GDP with mu = (sensitivity of C) / noise_multiplier, also when inputs are chosen after earlier
        outputs. Both ends of the sensitivity are kept; they agree for one participation, for coefficients >= 0 that
        never rise, and for separations of at least as many steps as C has bands.
    Source: Denisov, McMahan, Rush, Smith, Thakurta (2022), arXiv:2202.08312; Choquette-Choo et al. (2023),
        arXiv:2306.08153; proofs in docs/theory/privacy/correlated.md.
    """

    kind: ClassVar[str] = "correlated"
    strategy: Strategy
    noise_multiplier: Annotated[Fraction, positive_rational]
    participations: Annotated[int, positive_integer]
    separation: Annotated[int, positive_integer]

    def __init__(
        self, strategy: Strategy, *, noise_multiplier: Real, participations: object = 1, separation: object = 1
    ) -> None:
        read_fields(
            self,
            strategy=_checked_strategy(strategy),
            noise_multiplier=noise_multiplier,
            participations=participations,
            separation=separation,
        )

    def __repr__(self) -> str:
        return (
            f"CorrelatedLoss({type(self.strategy).__name__} of {self.strategy.steps} steps and {self.strategy.bands} "
            f"bands, noise_multiplier={self.noise_multiplier!r}, participations={self.participations}, "
            f"separation={self.separation})"
        )

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Statement:
        return cls(made_of("strategy", values.pop("strategy", None), _STRATEGIES), **values)

    @cached_property
    def sensitivity(self) -> Interval:
        """Interval around the l2 sensitivity of C x to one unit, for inputs of length 1.

        The inputs have at most this length.
        """
        squared = self.strategy.squared_sensitivity(self.participations, self.separation)
        return Interval(math.sqrt(squared.lower) * (1 - 2 * UNIT), math.sqrt(squared.upper) * (1 + 2 * UNIT))

    @property
    def mu_squared(self) -> Fraction:
        """Value of mu^2: the squared sensitivity of C over the squared noise multiplier."""
        return decimal_above(Fraction(self.sensitivity.upper) ** 2, DIGITS) / self.noise_multiplier**2

    @property
    def attained_mu_squared(self) -> Fraction:
        """Lower bound on mu^2, attained by equal inputs in some allowed steps."""
        return decimal_below(Fraction(self.sensitivity.lower) ** 2, DIGITS) / self.noise_multiplier**2

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by GDP, with mu^2 and the attained one."""
        upper = gaussian_delta(self.mu_squared, epsilon).upper
        return Interval(min(gaussian_delta(self.attained_mu_squared, epsilon).lower, upper), upper)

    def laws(self) -> Pairs:
        """Return normal laws with mu, and with the attained one."""
        ends = (float(squared) ** 0.5 for squared in (self.mu_squared, self.attained_mu_squared))
        return Pairs.symmetric(*(NormalLaw(mu) for mu in ends))


def banded_poisson_sampled(strategy: Strategy, *, noise_multiplier: Real, rate: Real) -> Statement:
    """Return the loss of C x + z for a banded C when units are sampled.

    It is that of ceil(steps / bands) sampled Gaussian releases. The units are split once, independently of each other,
    into as many classes as C has bands; step t draws from class t mod bands only, and each unit of that class joins
    with probability `rate`, independently. With n units and an expected batch of B units, rate = B bands / n.

    The units are split once, independently of each other, into as many classes as C has bands; step t draws from class
    t mod bands only, and each unit of that class joins with probability `rate`, independently. With n units and an
    expected batch of B units, rate = B bands / n.

    Guarantee: under add/remove, the composition of ceil(steps / bands) Poisson-sampled Gaussians of noise multiplier
        noise_multiplier / (greatest norm of a column of C).
    Source: Choquette-Choo et al. (2023), arXiv:2306.08153; proof in docs/theory/privacy/correlated.md.
    """
    noise = positive_rational("noise_multiplier", noise_multiplier)
    if _checked_strategy(strategy).bands >= strategy.steps > 1:
        raise UnprovedError(
            f"the amplification by sampling is proved for banded matrices; this one has {strategy.bands} bands in "
            f"{strategy.steps} steps. Cut it: ToeplitzStrategy.square_root(steps=..., bands=...)."
        )
    norm = math.sqrt(strategy.squared_sensitivity(1, 1).upper) * (1 + 2 * UNIT)
    step = GaussianStatement(noise / decimal_above(Fraction(norm), DIGITS))
    sampled = poisson_sampled(step, rate)
    assert AddRemove in sampled.relations or rate == 1
    return composed([sampled], -(-strategy.steps // strategy.bands))


def _best_set(shares: Floats, times: int, separation: int) -> tuple[float, list[int]]:
    """Return the largest sum of `times` shares at least `separation` apart.

    At most `times` are taken; also returns their steps.
    """
    size = len(shares)
    best = np.zeros((size + 1, times + 1))  # [t, j]: with places below t, j of them at most
    for step in range(size):
        before = max(step + 1 - separation, 0)
        best[step + 1] = best[step]
        best[step + 1, 1:] = np.maximum(best[step, 1:], best[before, :-1] + shares[step])
    chosen = []
    step = size
    left = times
    while step > 0 and left > 0:
        if best[step, left] == best[step - 1, left]:
            step -= 1
        else:
            chosen.append(step - 1)
            step = max(step - separation, 0)
            left = left - 1
    return float(best[size, times]), chosen[::-1]


def _numbers(name: str, values: object) -> list[float]:
    """Return a list of floats, after a check that it is one."""
    try:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be a list of numbers, got {shown(values)}") from None


def _checked_strategy(strategy: object) -> Strategy:
    """Return a strategy, or raise an error."""
    if not isinstance(strategy, Strategy):
        raise InvalidParameterError(f"strategy must be a ToeplitzStrategy or ExplicitStrategy, got {shown(strategy)}")
    return strategy


def _checked_steps(steps: object) -> int:
    """Return a number of steps, or raise an error."""
    count = positive_integer("steps", steps)
    if count > _MAX_STEPS:
        raise InvalidParameterError(f"steps must be at most {_MAX_STEPS}, got {count}")
    return count
