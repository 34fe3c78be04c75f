"""Gaussian noise with a covariance: all answers are made of those of a strategy."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.gaussian import Gaussian
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.integers import array_of, integers, plus
from deniable.noise import gaussian
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import Real
from deniable.privacy import DiscreteGaussianLoss, PrivacyLoss, Sensitivity
from deniable.privacy.calibration import gaussian_sigma_squared
from deniable.privacy.sensitivity.linear import Matrix, as_whole_numbers, of_linear_map


@dataclass(frozen=True, kw_only=True)
class EllipticalGaussian(Mechanism):
    """Answer a matrix of whole numbers with Gaussian noise: the matrix mechanism.

    `answer` carries the release over to a workload; its noise then has the covariance that `covariance` states. Both
    are post-processing, in floats.

    Args:
        strategy: rows of ints, one question each; the columns belong to the entries of the secret vector.
        sigma_squared: of the noise on every answer of the strategy.

    Guarantee: rho-zCDP with rho = l2^2 / (2 sigma_squared), where l2 is how far a unit moves strategy @ x; the whole
        curve is in DiscreteGaussianLoss, the bound of l2 in privacy/sensitivity/linear.py.
    Source: Li, Miklau, Hay, McGregor, Rastogi (2015), "The matrix mechanism"; docs/theory/mechanisms/additive.md,
        "Linear maps".

    >>> from deniable.privacy import AddRemove, of_count
    >>> one = of_count(rows=1, groups=1, relation=AddRemove, cells=3)
    >>> mechanism = EllipticalGaussian.calibrated([[1, 1, 1], [1, 0, 0]], one, rho="1/2")  # a total, and one cell
    >>> noisy = mechanism.release([40, 25, 10])
    >>> mechanism.covariance([[0, 1, 1]]).round(2).tolist()  # of the sum of the other cells
    [[4.0]]
    """

    kind: ClassVar[str] = "elliptical_gaussian"
    _of_sums: ClassVar[bool] = True

    strategy: tuple[tuple[int, ...], ...]
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        rows = as_whole_numbers(self.strategy, name="strategy").tolist()
        noise = Gaussian(sigma_squared=self.sigma_squared)
        read_fields(self, strategy=tuple(tuple(row) for row in rows), sigma_squared=noise.sigma_squared)

    @classmethod
    def calibrated(
        cls,
        strategy: Matrix,
        sensitivity: Sensitivity,
        *,
        rho: Real | None = None,
        mu_squared: Real | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
    ) -> "EllipticalGaussian":
        """Return the least noise for a target rho, mu^2, or (epsilon, delta).

        Args:
            strategy: rows of ints, one question each.
            sensitivity: of the secret vector x.
            rho: one of the targets; mu_squared, or epsilon with delta, likewise.
        """
        moved = of_linear_map(strategy, sensitivity)
        sigma_squared_needed = gaussian_sigma_squared(
            moved, rho=rho, mu_squared=mu_squared, epsilon=epsilon, delta=delta
        )
        return cls(
            strategy=tuple(tuple(row) for row in as_whole_numbers(strategy).tolist()),
            sigma_squared=sigma_squared_needed,
        )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss for the sensitivity of the secret vector."""
        return DiscreteGaussianLoss(self.sigma_squared, of_linear_map(self.strategy, sensitivity))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """Return the noisy answers of the strategy, one for each of its rows.

        Args:
            exact: secret; a vector of integers, one for each column of the strategy.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if `exact` is not such a vector.
        """
        answers = self._answers(exact)
        noise = gaussian.sample(sigma_squared=self.sigma_squared, size=answers.shape, bits=bits)
        return Released(plus(answers, noise), bits.safe)

    def answer(self, noisy: Released[ExactIntegers], workload: ArrayLike) -> Floats:
        """Return the best unbiased linear estimate of workload @ x, from a release.

        Raises: InvalidParameterError if the strategy does not determine the workload, or for another release.
        """
        made_by = self._reconstruction(workload)
        if not isinstance(noisy, Released) or np.shape(noisy.value) != (len(self.strategy),):
            raise InvalidParameterError(
                f"noisy must be a release of this mechanism, with {len(self.strategy)} answers of the strategy"
            )
        return np.asarray(made_by @ noisy.value.astype(np.float64))

    def covariance(self, workload: ArrayLike) -> Floats:
        """Return the covariance of the noise in `answer`.

        The square roots of its diagonal are the standard errors.
        """
        made_by = self._reconstruction(workload)
        return np.asarray(made_by @ made_by.T * gaussian.standard_deviation(self.sigma_squared) ** 2)

    def _reconstruction(self, workload: ArrayLike) -> Floats:
        """Return workload @ pseudo-inverse of the strategy."""
        given = array_of("workload", workload)
        wanted = np.atleast_2d(given).astype(np.float64) if given.dtype.kind in "iufb" else np.zeros(0)
        made = self._whole.astype(np.float64)
        if wanted.ndim != 2 or wanted.shape[1] != made.shape[1] or not np.isfinite(wanted).all():
            raise InvalidParameterError(
                f"workload must be a finite matrix with {made.shape[1]} columns, got {given.dtype}, shape {given.shape}"
            )
        reconstruction = wanted @ np.linalg.pinv(made)
        if np.abs(reconstruction @ made - wanted).max(initial=0.0) > 1e-8 * (1 + np.abs(wanted).max(initial=0.0)):
            raise InvalidParameterError(
                "the strategy does not determine the workload: each of its rows must be a combination of rows of the "
                "strategy"
            )
        return np.asarray(reconstruction)

    def _answers(self, exact: ArrayLike) -> ExactIntegers:
        """Return the exact answers of the strategy."""
        secret = integers("exact", exact)
        if secret.shape != (len(self.strategy[0]),):
            raise InvalidParameterError(
                f"the strategy takes a vector of {len(self.strategy[0])} integers, got shape {secret.shape}"
            )
        return np.asarray(self._whole @ secret.astype(object))

    @cached_property
    def _whole(self) -> NDArray[Any]:
        return as_whole_numbers(self.strategy)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the sums of the entries of each release."""
        answers = self._answers(exact)
        return Gaussian(sigma_squared=self.sigma_squared).outcomes(tuple(answers.tolist()), runs, bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Two counts as their total and the first of them; one unit moves both answers.

        What is seen, the sum of both answers, attains rho up to discreteness, and the curve is a bound for two answers.
        """
        mechanism = cls(strategy=((1, 1), (1, 0)), sigma_squared=Fraction(4))
        return WorstCase(mechanism=mechanism, exact=(1, 0), neighbour=(0, 0), attains=False)
