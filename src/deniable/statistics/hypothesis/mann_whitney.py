"""A rank test of two samples."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import Annotated, ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.noise.simulation import normals
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Relation, Sensitivity, compose
from deniable.privacy.sensitivity import of_rank_difference, of_spread_sum
from deniable.release import Release
from deniable.rows import Container, numbers
from deniable.statistics.call import asks
from deniable.statistics.hypothesis.base import (
    Alternative,
    HypothesisTest,
    TestOptions,
    checked_alternative,
    directed,
    noise,
    p_value,
)
from deniable.statistics.hypothesis.chi_squared import pair_of
from deniable.statistics.statistic import Answer, Takes, release
from deniable.statistics.units import bounded_rows

_SHARES = (1, 4)  # of the price: the sizes of the samples, the statistic
_ROOM = 0.999  # confidence that no sample is cut


@dataclass(frozen=True, kw_only=True)
class MannWhitney(HypothesisTest):
    """Rank test of two samples: see `mann_whitney`."""

    name: ClassVar[str] = "mann_whitney"
    takes: ClassVar[Takes] = "samples"
    null: ClassVar[str] = "both samples come from one distribution"

    alternative: Annotated[Alternative, checked_alternative] = "two-sided"

    @property
    def _sizes_are_public(self) -> bool:
        return self.relation is Relation.REPLACE and self.rows == 1

    @cached_property
    def _prices(self) -> tuple[Price, Price]:
        first, second = self.price.concentrated().split(*_SHARES)
        return first, second

    @cached_property
    def _size_sensitivity(self) -> Sensitivity:
        return of_spread_sum(lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=2)

    @cached_property
    def _size_mechanism(self) -> AdditiveNoise:
        return self._prices[0].noise(self._size_sensitivity)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        if self._sizes_are_public:
            return self.price.stated(self.price.concentrated().bound().under(self.relation))
        sizes = self._size_mechanism.privacy_loss(self._size_sensitivity)
        return self.price.stated(compose([sizes, self._prices[1].bound()]))

    def expected_error(self, size: int) -> float:
        """Return the standard deviation of the noise of D, for samples of equal size.

        Each has half of `size` rows.
        """
        return self._mechanism(max(ceil(size / 2), 1)).standard_deviation()

    def _mechanism(self, size: int) -> AdditiveNoise:
        price = self.price.concentrated() if self._sizes_are_public else self._prices[1]
        moves = self.relation is Relation.REPLACE and not self._sizes_are_public  # rows leave one sample for the other
        return price.noise(of_rank_difference(size=size, rows=self.rows * (1 + moves), relation=self.relation))

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        samples = [numbers(column) for column in pair_of(values)]
        if self._sizes_are_public and units is not None:
            raise InvalidParameterError("under replace with rows=1 every row is a unit: leave units out")
        if self._sizes_are_public:
            samples = [np.nan_to_num(sample, nan=-np.inf, posinf=np.inf, neginf=-np.inf) for sample in samples]
            sizes = caps = [max(len(sample), 1) for sample in samples]
        else:
            kept = bounded_rows(units, rows=self.rows, present=~np.isnan(np.concatenate(samples)), bits=bits)
            masks = np.split(kept, [len(samples[0])])
            samples = [sample[mask] for sample, mask in zip(samples, masks, strict=True)]
            noisy = self._size_mechanism.release([len(sample) for sample in samples], bits=bits).value
            sizes = [max(int(size), 1) for size in noisy]
            caps = [size + self._size_mechanism.half_width(_ROOM) for size in sizes]
            samples = [_cut(sample, cap, bits) for sample, cap in zip(samples, caps, strict=True)]
        mechanism = self._mechanism(max(caps))
        observed = mechanism.release([_difference(*samples)], bits=bits).value.astype(np.float64)[0]
        spread = sqrt(sizes[0] * sizes[1] * (sizes[0] + sizes[1] + 1) / 3)
        null = spread * normals((self.simulations,), bits=bits) + noise(mechanism, (self.simulations,), bits)
        return self._tested(
            float(observed), p_value(directed(observed, self.alternative), directed(null, self.alternative))
        )


@asks(MannWhitney)
def mann_whitney(
    first: Container, second: Container, *, alternative: Alternative = "two-sided", **options: Unpack[TestOptions]
) -> Release:
    """Test whether two samples come from one distribution, by their ranks.

    The statistic D = 2 U - n m is the number of pairs with first > second less the number with first < second. Under
    the null hypothesis it has mean 0 and variance n m (n + m + 1) / 3, whatever the distribution (ties lower it); the
    p-value uses the normal law, plus the actual noise. Bounds are not needed.

    Under replace, where units stay in their sample, the sizes are public. Otherwise noisy sizes come first; each
    sample is cut to its noisy size plus a margin, at random, which bounds the sensitivity.

    Args:
        first: private numbers of one sample.
        second: those of the other; `units` lists the owners of `first`, then of `second`.
        alternative: "two-sided", "greater" if the first sample is suspected to be the larger one, or "less".
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: one row moves D by at most the size of the other sample (replace: twice that), which is public or cut to
        a number that was paid for; the two steps add up.
    Proof: docs/theory/statistics/hypothesis.md.
    Source: Couch, Kazan, Shi, Bray, Groce (2019), arXiv:1809.01635, for the test with noise.

    >>> import deniable as dn
    >>> test = dn.statistics.mann_whitney([1.2, 3.4, 2.2] * 50, [2.5, 4.1, 3.3] * 50, epsilon=1)
    """
    return release(MannWhitney, (first, second), {"alternative": alternative}, options)


def _difference(first: Floats, second: Floats) -> int:
    """Return the pairs with first > second less those with first < second."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, side="left")
    above = len(second) - np.searchsorted(ordered, first, side="right")
    return int(below.sum()) - int(above.sum())


def _cut(sample: Floats, size: int, bits: Bits) -> Floats:
    """Return at most `size` rows of the sample, drawn evenly."""
    if len(sample) <= size:
        return sample
    return sample[np.argsort(bits.words(len(sample)))[:size]]
