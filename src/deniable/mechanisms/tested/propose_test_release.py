"""Propose-test-release: a proposed sensitivity is tested privately, then used."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.additive.base import AdditiveNoise, additive
from deniable.mechanisms.base import NO_ANSWER, Released, WorstCase
from deniable.mechanisms.integers import clamped
from deniable.mechanisms.records import loss_of_rows
from deniable.mechanisms.tested.distance import DistanceTest, least_margin, of_steps, tail
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.privacy import ApproximateLoss, PrivacyLoss, Relation, Replace, Sensitivity, of_count


@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(DistanceTest):
    """Add noise for a proposed sensitivity, if a private test finds that it holds.

    The exact input is (value, distance): the distance is 0 where the local sensitivity exceeds `bound`, and moves by at
    most one when a record changes. It may be less than the number of changes to the nearest such table.
    `deniable.mechanisms.tested.stability` computes it for quantiles. "No answer" is a normal outcome.

    Args:
        test: the Laplace noise of the distance.
        threshold: of the noisy distance, an integer >= 0.
        noise: of the value, for the sensitivity `bound`.
        bound: the proposed sensitivity, in lattice steps.

    Guarantee: the composition of the test, of the noise at sensitivity `bound`, and of a failure with the probability
        that the test passes at distance 0; `calibrated` gives (2 epsilon, delta)-DP.
    Source: Dwork, Lei (2009); proof in docs/theory/mechanisms/tested.md.

    >>> mechanism = ProposeTestRelease.calibrated(bound=2000, epsilon=1, delta="1e-6")
    >>> mechanism.threshold
    13
    >>> noisy = mechanism.release([31_000, 40]).value  # a median, and the changes that would make it unstable
    """

    kind: ClassVar[str] = "propose_test_release"

    noise: Annotated[AdditiveNoise, additive]
    bound: Annotated[int, positive_integer]

    @classmethod
    def calibrated(cls, *, bound: int, epsilon: Real, delta: Real) -> "ProposeTestRelease":
        """Return noise for epsilon in test and value, and the threshold for delta."""
        target = positive_rational("epsilon", epsilon)
        test = Laplace(scale=1 / target)
        steps = positive_integer("bound", bound)
        return cls(
            test=test, threshold=least_margin(test.scale, delta), noise=Laplace(scale=steps / target), bound=steps
        )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when a unit owns the records that `sensitivity` counts.

        The distance is that of its relation.
        """
        relation = sensitivity.relation
        one = (
            self.test.privacy_loss(of_steps(1, relation))
            + self.noise.privacy_loss(of_steps(self.bound, relation))
            + ApproximateLoss(0, tail(self.test.scale, self.threshold))
        )
        return loss_of_rows(one, sensitivity, proved=frozenset(Relation))

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int | None]:
        """Return the noisy value, or None where the test did not pass."""
        value = int(self._draws(exact, 1, bits)[0])
        return Released(None if value == NO_ANSWER else value, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return noisy values, and NO_ANSWER where the test did not pass."""
        return self._draws(exact, runs, bits)

    def _draws(self, exact: ArrayLike, runs: int, bits: Bits) -> NDArray[np.int64]:
        secret = clamped("exact", exact)
        if secret.shape != (2,):
            raise InvalidParameterError(f"the exact input is (value, distance), two integers, got shape {secret.shape}")
        passes = self._passes(int(secret[1]), runs, bits)
        noisy = self.noise.release(np.full(runs, secret[0]), bits=bits).value
        return np.where(passes, np.clip(noisy, NO_ANSWER + 1, -NO_ANSWER).astype(np.int64), NO_ANSWER)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return value and distance that move as far as they may.

        That the test fails elsewhere is not seen on this pair.
        """
        test, noise = Laplace(scale=Fraction(1)), Laplace(scale=Fraction(2))
        return WorstCase(
            mechanism=cls(test=test, threshold=5, noise=noise, bound=2),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(2, 6),
            neighbour=(0, 5),
            attains=False,
        )
