"""A histogram of keys that nobody declared: how many units, or rows, have each of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms import AdditiveNoise, Gaussian, TruncatedLaplace
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import ApproximateLoss, PrivacyLoss, Sensitivity, compose, of_count
from deniable.privacy.around.stated import Stated
from deniable.release import Key, Measure, Noisy, Release
from deniable.rows import codes, labels
from deniable.statistics.call import in_words
from deniable.statistics.laws import Law
from deniable.statistics.statistic import Answer, Options, Statistic, release

_FOR_NEW_KEYS = Fraction(1, 2)  # of delta, where unbounded noise is used


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Noise for the counts of the keys that occur, and what a noisy count must exceed for its key to be published."""

    mechanism: AdditiveNoise
    threshold: int
    loss: PrivacyLoss


@dataclass(frozen=True, kw_only=True)
class KeyCounts(Statistic):
    """The keys that enough units have, with noisy counts; the list of keys itself is private.

    Which keys are published depends on the data, as it must; a key that one unit alone has is published with
    probability delta at most. NULL is no key.

    Args:
        groups: at most so many keys of one unit count; of more, so many are drawn at random.
        rows: at most so many rows of one unit count for one key. With the default 1, units are counted.

    Guarantee: either noise that never exceeds its threshold, so that keys which nobody has could get it too and would
        not be seen; or Gaussian noise, and a part of delta for the keys of one unit. The lower threshold is taken.
    Proof: docs/theory/statistics/key_counts.md.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas (2009); Desfontaines, Voss, Gipson, Mandayam (2020), arXiv:2006.03684,
        whose optimal rule for groups = rows = 1 the first kind of noise approximates.
    Raises: InvalidParameterError unless the price is epsilon with delta > 0.
    """

    name: ClassVar[str] = "key_counts"

    groups: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", positive_integer("groups", self.groups))
        if self.price.epsilon is None or not self.price.delta:
            raise InvalidParameterError(
                "keys that nobody declared can be published for epsilon and delta > 0 alone: give both, or declare the "
                "keys and ask for histogram(keys=...)"
            )
        _ = self.privacy_loss

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves the counts."""
        return of_count(rows=self.rows, groups=self.groups, relation=self.relation)

    @cached_property
    def plan(self) -> Plan:
        """The noise and the threshold."""
        return min(self._plans(), key=lambda plan: plan.threshold)

    @property
    def mechanism(self) -> AdditiveNoise:
        """The noise."""
        return self.plan.mechanism

    @property
    def threshold(self) -> int:
        """A key is published if its noisy count exceeds this."""
        return self.plan.threshold

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self.plan.loss)

    def expected_error(self, size: int) -> float:
        """The standard deviation of the noise of one count, whatever the size."""
        return self.mechanism.standard_deviation()

    def _plans(self) -> Iterator[Plan]:
        epsilon, delta = self.price.epsilon, self.price.delta
        truncated = TruncatedLaplace.calibrated(self.sensitivity, epsilon=epsilon, delta=delta)
        yield Plan(mechanism=truncated, threshold=truncated.bound, loss=truncated.privacy_loss(self.sensitivity))
        new = delta * _FOR_NEW_KEYS
        level = nextafter(float(1 - 2 * new / self.groups), inf)  # rounded up, to the side of less chance
        if self.groups > 1 and level < 1:
            gaussian = Gaussian.calibrated(self.sensitivity, epsilon=epsilon, delta=delta - new)
            counts = Stated(gaussian.privacy_loss(self.sensitivity), epsilon, delta - new)  # so that the sum is proved
            loss = compose([counts, ApproximateLoss(0, new)])
            yield Plan(mechanism=gaussian, threshold=self.rows + gaussian.half_width(level), loss=loss)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        counts, keys = self._exact(values, units, bits)
        noisy = self.mechanism.release(counts, bits=bits).value.astype(np.int64)
        places = np.flatnonzero(
            (noisy > self.threshold) & (counts > 0)
        )  # a unit may have any number of keys of count 0
        published = sorted(((-int(noisy[place]), keys[place]) for place in places), key=_order)
        return Answer(
            parts=(Key(name="key", values=[key for _, key in published]), Measure(name="count", bases=("count",))),
            noisy=(
                Noisy(
                    name="count",
                    values=np.array([-count for count, _ in published], dtype=np.int64),
                    law=Law(self.mechanism),
                ),
            ),
            notes=(
                f"Keys with noisy counts above {self.threshold} are published; intervals do not count that choice.",
            ),
        )

    def _exact(self, values: object, units: object, bits: Bits) -> tuple[NDArray[np.int64], list[Any]]:
        """The counts of the keys that occur, and the keys."""
        found, keys = codes(values)
        if units is None:
            return np.bincount(found[found >= 0], minlength=len(keys)), keys
        owners = labels(units, "units")
        if owners.shape != found.shape:
            raise InvalidParameterError("units must have one entry for each row of the values")
        return bounded_counts(found, owners, len(keys), groups=self.groups, rows=self.rows, bits=bits), keys


def _order(published: tuple[int, Any]) -> tuple[int, str, Any]:
    """The largest count first; among equal ones by type, and then by key, where that has an order."""
    count, key = published
    ordered = isinstance(key, bool | int | float | str | bytes)
    return count, type(key).__name__, key if ordered else str(key)


@in_words
def key_counts(values: object, *, groups: int = 1, **options: Unpack[Options]) -> Release:
    """The keys that enough units have, with noisy counts: see `KeyCounts`.

    >>> import deniable as dn
    >>> answer = dn.statistics.key_counts(["a"] * 90 + ["b"], epsilon=1, delta=1e-6)
    """
    return release(KeyCounts, values, {"groups": groups}, options)


def bounded_counts(
    keys: NDArray[np.int64], owners: NDArray[np.int64], size: int, *, groups: int, rows: int, bits: Bits
) -> NDArray[np.int64]:
    """How many rows have each key, after each owner is left with at most `rows` of one key and `groups` keys.

    Args:
        keys: places from 0 to size - 1, one a row; owners likewise; negative ones do not count.

    Guarantee: the keys of an owner are drawn evenly at random, whatever the others have.
    """
    present = (keys >= 0) & (owners >= 0)
    pairs, counts = np.unique(owners[present] * size + keys[present], return_counts=True)
    owner, key = np.divmod(pairs, max(size, 1))
    order = np.lexsort((bits.words(len(pairs)), owner))
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    ranks = np.arange(len(pairs)) - np.repeat(starts, np.diff(starts, append=len(pairs)))
    kept = order[ranks < groups]
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, key[kept], np.minimum(counts[kept], rows))
    return total
