"""Base of noise that partly cancels over time.

A stream of exact sums x_1, x_2, ... leaves as w = C x + z with independent noise z on a lattice; everything later is
computed from w alone. Proofs: docs/theory/mechanisms/correlated.md.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Gaussian
from deniable.mechanisms.parts import Part
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import root_above, whole_number
from deniable.privacy import GaussianDPLoss, PrivacyLoss, Relation
from deniable.privacy.sensitivity.vectors import of_ball_sum

MAX_MATRIX_STEPS = 4096  # beyond which no matrix is written out
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
        self._public = correlation.blank_public(uses)

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
    """Base class of correlations: a lower-triangular C.

    C x is computed exactly, on a lattice.
    """

    remembers_all: ClassVar[bool] = False  # whether the secret state is the list of all earlier sums
    releases_several: ClassVar[bool] = False  # whether a step releases several vectors

    @abstractmethod
    def blank(self, uses: Uses) -> Any:
        """Return the state that a stream carries from step to step, before the first."""

    def blank_public(self, uses: Uses) -> Any:
        """Return the state of estimates, before the first step."""
        return self.blank(uses)

    @abstractmethod
    def mixed(self, total: ExactIntegers, carried: Any, step: int, uses: Uses) -> ExactIntegers:
        """Return the integers of one step of C x, and update the state.

        They are in lattice steps over `fine(uses)`.

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
        """Return the l2 sensitivity of all released integers to one additional row.

        It is in lattice steps over `fine(uses)`.
        """

    def fine(self, uses: Uses) -> int:
        """Return the number of parts of a lattice step in which integers are released."""
        return 1

    @abstractmethod
    def errors(self, uses: Uses) -> tuple[float, float]:
        """Return the greatest and the root mean squared error of prefix sums.

        They are multiples of the error of one step at equal mu.
        """

    def estimator(self, uses: Uses) -> Floats:
        """Return the matrix from noise to errors of prefix sums, of up to 4,096 steps.

        Args:
            uses: how a row takes part; its steps are the rows of the matrix.

        Returns: shape (steps, released integers), in lattice steps for noise in lattice steps.
        """
        if uses.steps > MAX_MATRIX_STEPS:
            raise InvalidParameterError(f"matrices are for at most {MAX_MATRIX_STEPS} steps, got {uses.steps}")
        single = replace(uses, dimensions=1)
        still = self.blank(single)
        zero = np.zeros(1, dtype=np.int64)
        sizes = [self.mixed(zero, still, step, single).size for step in range(1, uses.steps + 1)]
        wide = replace(uses, dimensions=sum(sizes))
        state = self.blank_public(wide)
        unit = np.eye(wide.dimensions) * self.fine(wide)
        sums = np.zeros((uses.steps, wide.dimensions))
        for step, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True), start=1):
            released = unit[end - size : end]
            sums[step - 1] = self.unmixed(released if self.releases_several else released[0], state, step, wide)
        return np.cumsum(sums, axis=0)

    def spreads(self, uses: Uses, *, window: int | None = None) -> Floats:
        """Return standard deviations of sums of steps, for noise of variance 1.

        Args:
            uses: how a row takes part.
            window: number of steps that are added up, fewer at the start; None for all up to now.

        Returns: shape (steps,).
        """
        errors = self.estimator(uses)
        if window is not None:
            errors[window:] -= errors[:-window].copy()
        return np.asarray(np.sqrt((errors**2).sum(axis=1)))

    def noise(self, noise_multiplier: Fraction, uses: Uses) -> Gaussian:
        """Return the noise of every released integer.

        Its standard deviation is `noise_multiplier` times the norm of a row's part of a sum.
        """
        return Gaussian(sigma_squared=(noise_multiplier * uses.lattice * self.fine(uses)) ** 2)

    def privacy_loss(self, noise_multiplier: Fraction, uses: Uses, relation: Relation) -> PrivacyLoss:
        """Return the privacy loss of a whole run.

        The sums of a step may depend on earlier releases.

        Args:
            noise_multiplier: standard deviation over the norm of a row's part of a sum.
            uses: how a row takes part.
            relation: AddRemove or Replace.

        Guarantee: mu-GDP. Along every path of releases the squared moves of the integers add up to at most the squared
            sensitivity, and each noisy integer has its own mu (docs/theory/mechanisms/correlated.md).
        """
        dimensions = uses.steps * uses.dimensions
        moved = of_ball_sum(radius=self.sensitivity(uses), dimensions=dimensions, rows=1, relation=relation)
        mu_squared = self.noise(noise_multiplier, uses).privacy_loss(moved).mu_squared
        if mu_squared is None:
            raise InvalidParameterError("noise_multiplier is too small to be accounted for on this lattice")
        return GaussianDPLoss(root_above(mu_squared, 15)).under(relation)

    def stream(self, noise_multiplier: Fraction, uses: Uses) -> Stream:
        """Return a new stream, for one run."""
        return Stream(self, self.noise(noise_multiplier, uses), uses)
