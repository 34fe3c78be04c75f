"""The keys that occur, where a unit with many keys counts less for each of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import ClassVar

from deniable.mechanisms.additive import Gaussian
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.counts.stability_histogram import StabilityHistogram
from deniable.privacy import AddRemove, Sensitivity
from deniable.privacy.sensitivity import of_weights


@dataclass(frozen=True, kw_only=True)
class WeightedKeys(StabilityHistogram):
    """Publish the keys with a noisy weight above a threshold, 1 / sqrt(m) per key.

    Each key of a unit with m keys weighs 1 / sqrt(m). A unit moves the weights by 1 in l2, as if it had one key,
    whatever `groups` is. The exact input holds sums of whole numbers of steps, at most linf / sqrt(m) for each key of a
    unit with m keys.

    Args:
        noise: of every weight.
        threshold: so large that `failure` holds.
        groups: how many keys one unit has at most.
        failure: the probability that a key is shown which one unit alone has.
        epsilon: at which the loss of the noise is stated, beside the failure.
        delta: beside that epsilon.

    Guarantee: the loss of the noise, composed with a failure. The threshold holds for the worst number of keys.
    Proof: docs/theory/query/keys.md.
    Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin (2020), "Differentially Private Set Union",
        arXiv:2002.09745: weighted Gaussian.

    >>> weights = of_weights(steps=1000, groups=10, relation=AddRemove)
    >>> mechanism = WeightedKeys.calibrated(weights, epsilon=1, delta="1e-6", groups=10)
    >>> round(mechanism.threshold / 1000)  # in units of a person's weight
    24
    """

    kind: ClassVar[str] = "weighted_keys"

    @classmethod
    def _candidates(
        cls, sensitivity: Sensitivity, epsilon: Fraction, delta: Fraction, groups: int
    ) -> Iterator["WeightedKeys"]:
        half = delta / 2
        noise = Gaussian.calibrated(sensitivity, epsilon=epsilon, delta=half)
        mechanism = cls.above(noise, sensitivity, groups=groups, failure=half)
        yield replace(mechanism, epsilon=epsilon, delta=half)

    @classmethod
    def _needed(cls, noise: AdditiveNoise, sensitivity: Sensitivity, groups: int, failure: Fraction) -> int:
        """Return the weight of one of m keys and a half-width, for the worst m."""
        needed = 0
        keys = groups
        squared = int(sensitivity.linf) ** 2
        while keys:
            width = noise.half_width(max(1 - 2 * failure / keys, Fraction(0)))
            needed = max(needed, isqrt(squared // (keys // 2 + 1)) + width)
            keys //= 2
        return needed

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two keys of two steps each, one of which the unit alone has.

        The loss is above either of its parts.
        """
        return WorstCase(
            mechanism=cls(noise=Gaussian(sigma_squared=Fraction(4)), threshold=9, groups=2, failure=Fraction(1, 100)),
            sensitivity=of_weights(steps=4, groups=2, relation=AddRemove),
            exact=(2, 9),
            neighbour=(0, 7),
            attains=False,
        )
