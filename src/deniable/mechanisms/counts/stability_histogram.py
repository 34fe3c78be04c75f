"""Noisy counts of the keys that occur, where the list of keys is private too."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf, nextafter
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Gaussian, TruncatedLaplace
from deniable.mechanisms.additive.base import AdditiveNoise, additive
from deniable.mechanisms.base import NO_ANSWER, Mechanism, Released, WorstCase
from deniable.mechanisms.integers import clamped
from deniable.mechanisms.selection.top_k import transcripts
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability, whole_number
from deniable.privacy import AddRemove, ApproximateLoss, PrivacyLoss, Sensitivity, compose, of_count

_BASE = 64  # of a transcript
_MOST_ROWS = 2**52  # of a key, so that noisy counts fit into int64


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Mechanism):
    """Publish the keys with a noisy count above a threshold, and these counts.

    Args:
        noise: of every count.
        threshold: at least the bound of truncated noise; of other noise, so large that `failure` holds.
        groups: how many keys one unit has at most.
        failure: of noise without a bound, the probability that a key is shown which one unit alone has.
        epsilon: at which the loss of such noise is stated, beside the failure. Left out, the sum is that of numerical
            composition, which proves less at very small epsilons.
        delta: beside that epsilon.

    Guarantee: the loss of the noise, composed with a failure unless the noise never exceeds the threshold.
    Proof: docs/theory/mechanisms/counts.md.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas (2009); Desfontaines, Voss, Gipson, Mandayam (2020), arXiv:2006.03684,
        whose optimal rule for one key a unit truncated noise approximates.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = StabilityHistogram.calibrated(count, epsilon=1, delta="1e-6")
    >>> mechanism.threshold
    14
    >>> noisy = mechanism.release([500, 80, 1]).value  # counts of the keys of the table, NO_ANSWER for hidden ones
    """

    kind: ClassVar[str] = "stability_histogram"

    noise: Annotated[AdditiveNoise, additive]
    threshold: Annotated[int, partial(whole_number, lower=1)]
    groups: Annotated[int, positive_integer] = 1
    failure: Annotated[Fraction, probability] = Fraction(0)
    epsilon: Annotated[Fraction | None, positive_rational] = None
    delta: Annotated[Fraction | None, probability] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.epsilon is None) != (self.delta is None):
            raise InvalidParameterError("epsilon and delta go together: give both, or none")

    @classmethod
    def calibrated(
        cls, sensitivity: Sensitivity, *, epsilon: Real | None, delta: Real, groups: int = 1
    ) -> "StabilityHistogram":
        """Return the lowest threshold for (epsilon, delta).

        With truncated noise, or Gaussian noise where units have many keys.

        Half of delta is for keys of one unit where the noise has no bound.
        """
        target, failed = positive_rational("epsilon", epsilon), positive_rational("delta", delta)
        return min(cls._candidates(sensitivity, target, failed, groups), key=lambda candidate: candidate.threshold)

    @classmethod
    def _candidates(
        cls, sensitivity: Sensitivity, epsilon: Fraction, delta: Fraction, groups: int
    ) -> Iterator["StabilityHistogram"]:
        truncated = TruncatedLaplace.calibrated(sensitivity, epsilon=epsilon, delta=delta)
        yield cls(noise=truncated, threshold=truncated.bound, groups=groups)
        half = delta / 2
        level = nextafter(float(1 - 2 * half / groups), inf)  # rounded up, to the side of less chance
        if groups > 1 and level < 1:
            noise = Gaussian.calibrated(sensitivity, epsilon=epsilon, delta=half)
            threshold = int(sensitivity.linf) + noise.half_width(level)
            yield cls(noise=noise, threshold=threshold, groups=groups, failure=half, epsilon=epsilon, delta=half)

    @classmethod
    def above(cls, noise: AdditiveNoise, sensitivity: Sensitivity, *, groups: int, failure: Fraction) -> Self:
        """Return the lowest threshold for noise without a bound and this failure.

        Keys that one unit alone has pass it with probability `failure` at most.
        """
        keys = positive_integer("groups", groups)
        needed = cls._needed(noise, sensitivity, keys, failure)
        return cls(noise=noise, threshold=needed, groups=keys, failure=failure)

    @classmethod
    def _needed(cls, noise: AdditiveNoise, sensitivity: Sensitivity, groups: int, failure: Fraction) -> int:
        """Return a threshold that keys of one unit pass with probability `failure`."""
        return int(sensitivity.linf) + noise.half_width(max(1 - 2 * failure / groups, Fraction(0)))

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when one unit moves the counts of all keys by `sensitivity`.

        The keys include those that do not occur.

        Raises: InvalidParameterError if that is more than `groups` keys, or the threshold too low for it.
        """
        keys = self.groups * (1 if sensitivity.relation is AddRemove else 2)
        if sensitivity.l1 > keys * sensitivity.linf:
            raise InvalidParameterError(f"a unit may have more than groups={self.groups} keys by this sensitivity")
        loss = self.noise.privacy_loss(sensitivity)
        if isinstance(self.noise, TruncatedLaplace) and self.noise.bound <= self.threshold:
            return loss
        needed = self._needed(self.noise, sensitivity, self.groups, self.failure) if self.failure else inf
        if self.threshold < needed:
            raise InvalidParameterError(
                f"threshold must be at least {needed} for failure={float(self.failure):g}, got {self.threshold}"
            )
        counts = loss if self.epsilon is None else loss.stated(epsilon=self.epsilon, delta=self.delta or 0)
        return compose([counts, ApproximateLoss(0, self.failure)])

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[NDArray[np.int64]]:
        """Return the noisy counts, and NO_ANSWER where the key is not shown.

        There are as many as there are keys in the table, which is private: publish those that are shown, with their
        keys, in an order that no hidden key has a part in.

        Args:
            exact: secret counts of the keys of the table; a key with the count 0 is not shown.
            bits: leave it out, except in tests.
        """
        counts = clamped("exact", exact, lower=0, upper=_MOST_ROWS, listed=True)
        noisy = np.clip(self.noise.release(counts, bits=bits).value, NO_ANSWER, -NO_ANSWER).astype(np.int64)
        return Released(np.where((noisy > self.threshold) & (counts > 0), noisy, NO_ANSWER), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return counts above the threshold, up to 63, as digits of one number.

        0 stands for a key that is not shown.
        """
        counts = self.release(np.tile(exact, runs), bits=bits).value.reshape(runs, len(exact))
        return transcripts(np.clip(counts - self.threshold, 0, _BASE - 1), _BASE)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a key that one unit alone has, and one of six units.

        Each shows a part of the loss; their sum is above either.
        """
        return WorstCase(
            mechanism=cls(noise=Gaussian(sigma_squared=Fraction(1)), threshold=4, groups=2, failure=Fraction(1, 100)),
            sensitivity=of_count(rows=1, groups=2, relation=AddRemove),
            exact=(1, 6),
            neighbour=(0, 5),
            attains=False,
        )
