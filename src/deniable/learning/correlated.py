"""Correlated noise for training: later steps partly cancel the noise of earlier ones.

A stream of exact sums x_1, x_2, ... leaves as w = C x + z with independent noise z on a lattice; whatever is trained is
computed from w alone. Proofs: docs/theory/learning/correlated.md.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy.optimize import minimize
from scipy.signal import lfilter

from deniable.errors import InvalidParameterError
from deniable.learning.buffers import NARROWEST, best_buffers, certified_norm, squared_errors
from deniable.learning.clips import Part
from deniable.mechanisms import Gaussian
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import root_above, shown, whole_number
from deniable.privacy import GaussianDPLoss, PrivacyLoss, Relation
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy
from deniable.privacy.sensitivity.tree import squared_tree_sensitivity
from deniable.privacy.sensitivity.vectors import of_ball_sum

_DYADIC = 2**12  # coefficients of a banded strategy are multiples of 1 / this
_MAX_BANDED_SUM = 2**60  # so that mixed sums fit int64
_MAX_BUFFERED_SUM = 2**50  # so that buffers are whole numbers in floats
_count = partial(whole_number, lower=1)


@dataclass(frozen=True, kw_only=True)
class Uses(Part):
    """Participation of one row in the steps of a run.

    Args:
        steps: of the run.
        dimensions: numbers in a gradient.
        times: the largest number of steps in which one row takes part.
        separation: the least distance of two of these, in steps: 1 if it may be every step.
        lattice: the greatest l2 norm of a row's part of a sum, in lattice steps.

    >>> Uses(steps=100, dimensions=2, times=4, separation=25).to_data()["times"]
    4
    """

    steps: Annotated[int, _count]
    dimensions: Annotated[int, _count]
    times: Annotated[int, _count] = 1
    separation: Annotated[int, _count] = 1
    lattice: Annotated[int, _count] = 2**20


class Stream:
    """Noisy sums of a run, a step at a time; it holds secret sums of earlier steps.

    Args:
        correlation: the matrix C.
        noise: of every released integer.
        uses: how a row takes part.
    """

    def __init__(self, correlation: "NoiseCorrelation", noise: Gaussian, uses: Uses) -> None:
        self._correlation = correlation
        self._noise = noise
        self._uses = uses
        self._step = 0
        self._secret = correlation.blank(uses)
        self._public = correlation.blank(uses)

    def add(self, total: ExactIntegers, *, bits: Bits) -> Floats:
        """Return the noisy sum of a step, in lattice steps.

        Args:
            total: the secret sum of the clipped rows of the step, in lattice steps.
            bits: where randomness comes from.

        Raises: InvalidParameterError after the last step.
        """
        if self._step >= self._uses.steps:
            raise InvalidParameterError(f"all {self._uses.steps} steps are done; no more were accounted for")
        self._step += 1
        exact = self._correlation.mixed(total, self._secret, self._step, self._uses)
        noisy = self._noise.release(exact, bits=bits).value.astype(np.float64)
        return self._correlation.unmixed(noisy, self._public, self._step, self._uses)


@dataclass(frozen=True, kw_only=True)
class NoiseCorrelation(Part):
    """Base class of correlations: a lower-triangular C, with exact arithmetic for C x on a lattice."""

    @abstractmethod
    def blank(self, uses: Uses) -> Any:
        """Return the state that a stream carries from step to step, before the first."""

    @abstractmethod
    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the integers of one step of C x, in lattice steps over `fine(uses)`; updates the state.

        Args:
            total: the exact sum of the step.
            carried: the secret state.
            step: its number, from 1 on.
            uses: how a row takes part.
        """

    @abstractmethod
    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy x of one step, from released integers alone; updates the state.

        Args:
            noisy: the released integers of the step.
            carried: the public state.
            step: its number, from 1 on.
            uses: how a row takes part.
        """

    @abstractmethod
    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity of all released integers to one row more, in lattice steps over `fine(uses)`."""

    def fine(self, uses: Uses) -> int:
        """Return the number of parts of a lattice step in which integers are released."""
        return 1

    @abstractmethod
    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the greatest and the root mean squared error of sums of the first steps.

        They are multiples of the error of one step at equal mu.
        """

    def noise(self, noise_multiplier: Fraction, uses: Uses) -> Gaussian:
        """Return the noise of every released integer: `noise_multiplier` times the norm of a row's part of a sum."""
        return Gaussian(sigma_squared=(noise_multiplier * uses.lattice * self.fine(uses)) ** 2)

    def privacy_loss(self, noise_multiplier: Fraction, uses: Uses, relation: Relation) -> PrivacyLoss:
        """Return the privacy loss of a whole run, whose gradients may depend on earlier releases.

        Args:
            noise_multiplier: standard deviation over the norm of a row's part of a sum.
            uses: how a row takes part.
            relation: AddRemove or Replace.

        Guarantee: mu-GDP. Along every path of releases the squared moves of the integers add up to at most the squared
            sensitivity, and each noisy integer has its own mu (docs/theory/learning/correlated.md).
        """
        dimensions = uses.steps * uses.dimensions
        moved = of_ball_sum(radius=self.sensitivity(uses), dimensions=dimensions, rows=1, relation=relation)
        mu_squared = self.noise(noise_multiplier, uses).privacy_loss(moved).mu_squared
        if mu_squared is None:
            raise InvalidParameterError("noise_multiplier is too small to be accounted for on this lattice")
        return GaussianDPLoss(root_above(mu_squared, 15))

    def stream(self, noise_multiplier: Fraction, uses: Uses) -> Stream:
        """Return a new stream, for one run."""
        return Stream(self, self.noise(noise_multiplier, uses), uses)


@dataclass(frozen=True, kw_only=True)
class Banded(NoiseCorrelation):
    """Toeplitz matrix C of a few diagonals.

    Args:
        coefficients: of the diagonals, the first of them 1; rounded to multiples of 1/4096.

    Source: Choquette-Choo et al. (2023), arXiv:2306.08153; McKenna (2024), arXiv:2405.15913, for Toeplitz matrices.

    >>> from deniable.learning import Banded
    >>> from deniable.learning.correlated import Uses
    >>> uses = Uses(steps=256, dimensions=1)
    >>> [round(Banded.best(uses, bands=bands).errors(uses)[1], 2) for bands in (1, 4, 16)]
    [11.34, 5.98, 3.64]
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        read = ToeplitzStrategy(self.coefficients, steps=10**6).coefficients
        rounded = tuple(round(value * _DYADIC) / _DYADIC for value in read)
        if rounded[0] != 1 or sum(map(abs, rounded)) > _DYADIC:
            raise InvalidParameterError(f"coefficients must begin with 1, got {shown(self.coefficients[0])}")
        object.__setattr__(self, "coefficients", rounded)

    @classmethod
    def best(cls, uses: Uses, *, bands: int) -> "Banded":
        """Return bands with nearly the least root mean squared error of sums of the first steps.

        With a separation of at least `bands` the sensitivity is exact.

        Args:
            uses: how a row takes part.
            bands: the number of diagonals.
        """
        start = ToeplitzStrategy.square_root(steps=uses.steps, bands=whole_number("bands", bands, lower=1)).coefficients
        best = _minimised(lambda free: _toeplitz_errors(np.array([1.0, *free]), uses)[1], np.array(start[1:]))
        return cls(coefficients=(1.0, *best.tolist()))

    def blank(self, uses: Uses) -> list[Any]:
        """Return no sums of earlier steps."""
        return []

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the weighted sum of this and the last few steps."""
        whole = [round(value * _DYADIC) for value in self.coefficients]
        limit = _MAX_BANDED_SUM // sum(map(abs, whole))
        carried.insert(0, np.clip(total, -limit, limit))  # entry by entry: no two sums get farther apart
        del carried[len(whole) :]
        mixed = np.zeros_like(carried[0])
        for weight, past in zip(whole, carried, strict=False):
            mixed += weight * past
        return np.asarray(mixed)

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum without the parts of the last few steps."""
        total = noisy / _DYADIC
        for weight, past in zip(self.coefficients[1:], carried, strict=False):
            total -= weight * past
        carried.insert(0, total)
        del carried[len(self.coefficients) - 1 :]
        return total

    def fine(self, uses: Uses) -> int:
        """Return the common denominator of the coefficients."""
        return _DYADIC

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity, from the certified one of the strategy."""
        strategy = ToeplitzStrategy(self.coefficients, steps=uses.steps)
        squared = strategy.squared_sensitivity(uses.times, uses.separation).upper
        return math.ceil(Fraction(math.sqrt(squared)) * Fraction(1 + 2**-50) * uses.lattice * _DYADIC)

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, from the coefficients of C^-1."""
        return _toeplitz_errors(np.array(self.coefficients), uses)


@dataclass(frozen=True, kw_only=True)
class Buffered(NoiseCorrelation):
    """Toeplitz matrix C whose memory is a few buffers as wide as a gradient.

    Its diagonals are 1, then sum_j scales_j decays_j^(k-1) for k = 1, 2, ...

    Args:
        scales: of at most 8 buffers, of sum at most 8.
        decays: of the buffers, at most 1 - 2^-30.

    Source: Dvijotham, McMahan, Pillutla, Steinke, Thakurta (2024), arXiv:2404.16706 (buffered linear Toeplitz, BLT).

    >>> from deniable.learning import Buffered
    >>> from deniable.learning.correlated import Uses
    >>> uses = Uses(steps=1024, dimensions=1)
    >>> round(Buffered.best(uses, buffers=2).errors(uses)[0], 2)
    3.33
    """

    scales: tuple[float, ...]
    decays: tuple[float, ...]

    def __post_init__(self) -> None:
        ToeplitzStrategy.buffered(self.scales, self.decays, steps=2)
        if len(self.scales) > 8 or sum(self.scales) > 8 or max(self.decays) > 1 - NARROWEST:
            raise InvalidParameterError("scales must be at most 8, of sum at most 8, and decays at most 1 - 2^-30")
        for name in ("scales", "decays"):
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))

    @classmethod
    def best(cls, uses: Uses, *, buffers: int) -> "Buffered":
        """Return buffers with nearly the least greatest error of sums; four lose 0.02% in 1,000 steps.

        Args:
            uses: how a row takes part.
            buffers: their largest number, at most 8.
        """
        count = whole_number("buffers", buffers, lower=1, upper=8)
        scales, decays = best_buffers(count, steps=uses.steps, times=uses.times, separation=uses.separation)
        return cls(scales=tuple(scales.tolist()), decays=tuple(decays.tolist()))

    def blank(self, uses: Uses) -> Any:
        """Return buffers of zeros: their whole parts, and the rest of each."""
        return np.zeros((2, len(self.scales), uses.dimensions))

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the sum of this step and the scaled buffers, rounded."""
        whole, rest = carried
        limit = self._range // self.fine(uses)
        exact = np.clip(total, -limit, limit) * self.fine(uses)
        buffers = whole + rest
        mixed = exact + np.rint(np.array(self.scales) @ buffers).astype(np.int64)
        rest -= (1 - np.array(self.decays))[:, None] * buffers
        whole += exact
        rounded = np.rint(rest)
        whole += rounded
        rest -= rounded
        return np.asarray(mixed)

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum without the scaled buffers."""
        buffers = carried[0]
        total = noisy / self.fine(uses) - np.array(self.scales) @ buffers
        buffers *= np.array(self.decays)[:, None]
        buffers += total
        return np.asarray(total)

    @property
    def _range(self) -> int:
        """Largest number of a step with which all buffers stay whole numbers in floats."""
        return int(_MAX_BUFFERED_SUM * (1 - max(self.decays)))

    def fine(self, uses: Uses) -> int:
        """Return a number of parts at which rounding costs a thousandth of the sensitivity."""
        parts = int(2 ** max(0, math.ceil(math.log2(1000 * self._rounding(uses) / uses.lattice))))
        if self._range < parts * uses.lattice:
            raise InvalidParameterError(
                f"buffers with a decay of {max(self.decays)} cannot hold a row of {uses.dimensions} numbers: "
                "take Buffered.best for fewer steps"
            )
        return parts

    def _rounding(self, uses: Uses) -> float:
        """Bound how far rounding moves the difference of two runs, in l2."""
        each = sum(self.scales) * (1.02 + (len(self.scales) + 2) / 8) + 0.5
        return 2 * each * math.sqrt(uses.steps * uses.dimensions) * (1 + 2**-40)

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity, from the certified norm and the rounding of buffers."""
        return math.ceil(Fraction(self._norm(uses)) * uses.lattice * self.fine(uses) + Fraction(self._rounding(uses)))

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, in closed form."""
        greatest, mean = squared_errors(np.array(self.scales), np.array(self.decays), steps=uses.steps)
        return math.sqrt(greatest) * self._norm(uses), math.sqrt(mean) * self._norm(uses)

    def _norm(self, uses: Uses) -> float:
        """Bound the l2 sensitivity of C x, for rows of norm 1."""
        return certified_norm(self.scales, self.decays, steps=uses.steps, times=uses.times, separation=uses.separation)


@dataclass(frozen=True, kw_only=True)
class Tree(NoiseCorrelation):
    """Noisy sums of 1, 2, 4, ... consecutive steps (DP-FTRL).

    Few of them make every sum of first steps.

    Guarantee: `squared_tree_sensitivity`: the squared numbers of uses in one node, over the worst steps for a row.
    Source: Kairouz et al. (2021), arXiv:2103.00039 (DP-FTRL); each node is improved by those below: Honaker (2015).

    >>> from deniable.learning import Tree
    >>> from deniable.learning.correlated import Uses
    >>> [round(error, 3) for error in Tree().errors(Uses(steps=1024, dimensions=1))]
    [7.989, 5.65]
    """

    def blank(self, uses: Uses) -> Any:
        """Return no sums of open nodes."""
        return {}

    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the sums of the nodes that end with this step."""
        for level in range(uses.steps.bit_length()):
            carried[level] = carried.get(level, 0) + total
        full = [level for level in range(uses.steps.bit_length()) if step % 2**level == 0]
        return np.array([carried.pop(level) for level in full])

    def unmixed(self, noisy: Floats, carried: Any, step: int, uses: Uses) -> Floats:
        """Return the noisy sum of this step: the difference of two estimated sums of first steps."""
        below = noisy[0]
        for level, sums in enumerate(noisy[1:], start=1):
            share = _node_variance(level)  # of a node's own noise, against the sum of its two halves
            below = share * sums + (1 - share) * (carried.pop(level - 1) + below)
        carried[len(noisy) - 1] = below
        now = np.sum([carried[level] for level in carried if isinstance(level, int)], axis=0)
        total = now - carried.get("before", 0.0)
        carried["before"] = now
        return np.asarray(total)

    def sensitivity(self, uses: Uses) -> int:
        """Return the l2 sensitivity of all nodes together."""
        return math.isqrt(self._squared(uses) * uses.lattice**2 - 1) + 1

    def _squared(self, uses: Uses) -> int:
        return squared_tree_sensitivity(uses.steps, uses.times, uses.separation)

    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the errors of sums, from the variances of their nodes."""
        step = np.arange(1, uses.steps + 1)
        parts = sum((step >> level & 1) * _node_variance(level) for level in range(uses.steps.bit_length()))
        squared = np.asarray(parts) * self._squared(uses)
        return math.sqrt(squared.max()), math.sqrt(squared.mean())


def _node_variance(level: int) -> float:
    """Return the variance of the best estimate of a node from itself and all below, for noise of variance 1.

    v = 1 / (1 + 1 / (2 v')) for the variance v' of a child.
    """
    return float(2**level / (2 ** (level + 1) - 1))


def _toeplitz_errors(coefficients: Floats, uses: Uses) -> tuple[float, float]:
    """Return the errors of `NoiseCorrelation.errors`: the diagonals of A C^-1 are sums of those of C^-1."""
    impulse = np.eye(1, uses.steps)[0]
    squares = np.cumsum(np.cumsum(lfilter([1.0], coefficients[: uses.steps], impulse)) ** 2)
    strategy = ToeplitzStrategy(coefficients.tolist(), steps=uses.steps)
    squared = strategy.squared_sensitivity(uses.times, uses.separation).upper
    return math.sqrt(squared * squares[-1]), math.sqrt(squared * squares.mean())


def _minimised(error: Callable[[Floats], float], start: Floats) -> Floats:
    """Return nearby parameters with a smaller error, or the start if there are none."""
    if not start.size:
        return start

    def finite_error(free: Floats) -> float:
        return float(np.nan_to_num(error(free), nan=1e300, posinf=1e300))

    method, options = "L-BFGS-B", {}
    if start.size <= 8:
        method, options = "Nelder-Mead", {"maxiter": 2000, "fatol": 1e-9}
    with np.errstate(all="ignore"):
        result = minimize(finite_error, start, method=method, options=options)
    return np.asarray(result.x) if result.fun < error(start) else start


CORRELATIONS: dict[str, type[NoiseCorrelation]] = {each.__name__: each for each in (Banded, Buffered, Tree)}
