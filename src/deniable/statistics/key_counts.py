"""Histograms of undeclared keys: how many units, or rows, have each of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms import StabilityHistogram
from deniable.mechanisms.base import NO_ANSWER
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, Sensitivity, of_count
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.rows import Container, codes, labels
from deniable.statistics.call import asks
from deniable.statistics.statistic import Answer, Options, Statistic, release


@dataclass(frozen=True, kw_only=True)
class KeyCounts(Statistic):
    """Keys that enough units have, with noisy counts: see `key_counts`."""

    name: ClassVar[str] = "key_counts"

    groups: Annotated[int, positive_integer] = 1

    def _check(self) -> None:
        if self.price.epsilon is None or not self.price.delta:
            raise InvalidParameterError(
                "undeclared keys need a price of epsilon with delta > 0. Give both, or declare the keys and use "
                "histogram(keys=...)"
            )

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the counts."""
        return of_count(rows=self.rows, groups=self.groups, relation=self.relation)

    @cached_property
    def mechanism(self) -> StabilityHistogram:
        """The noise, and what a noisy count must exceed for its key to be published."""
        return StabilityHistogram.calibrated(
            self.sensitivity, epsilon=self.price.epsilon, delta=self.price.delta, groups=self.groups
        )

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self.mechanism.privacy_loss(self.sensitivity))

    def expected_error(self, size: int) -> float:
        """Return the standard deviation of the noise of one count, whatever the size."""
        return self.mechanism.noise.standard_deviation()

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        counts, keys = self._exact(values, units, bits)
        noisy = self.mechanism.release(counts, bits=bits).value
        published = sorted(
            ((-int(noisy[index]), keys[index]) for index in np.flatnonzero(noisy != NO_ANSWER)), key=_order
        )
        return Answer(
            parts=(Key(name="key", values=[key for _, key in published]), Measure(name="count", bases=("count",))),
            noisy=(
                Noisy(
                    name="count",
                    values=np.array([-count for count, _ in published], dtype=np.int64),
                    law=self.mechanism.noise.law(),
                ),
            ),
            notes=(
                f"Keys with noisy counts above {self.mechanism.threshold} are published; intervals do not count that "
                "choice.",
            ),
        )

    def _exact(self, values: object, units: object, bits: Bits) -> tuple[NDArray[np.int64], list[Any]]:
        """Return the counts of the keys that occur, and the keys."""
        key_indices, keys = codes(values)
        if units is None:
            return np.bincount(key_indices[key_indices >= 0], minlength=len(keys)), keys
        owners = labels(units, "units")
        if owners.shape != key_indices.shape:
            raise InvalidParameterError("units must have one entry for each row of the values")
        return bounded_counts(key_indices, owners, len(keys), groups=self.groups, rows=self.rows, bits=bits), keys


def _order(published: tuple[int, Any]) -> tuple[int, str, Any]:
    """Return a sort key: the largest count first, then by type, then by key.

    Keys without an order are sorted by their text.
    """
    count, key = published
    ordered = isinstance(key, bool | int | float | str | bytes)
    return count, type(key).__name__, key if ordered else str(key)


@asks(KeyCounts)
def key_counts(values: Container, *, groups: int = 1, **options: Unpack[Options]) -> Release:
    """Return the keys that enough units have, with noisy counts.

    The list of keys is private. Which keys are published depends on the data, as it must; a key that a single unit has
    is published with probability delta at most. NULL is not a key. `rows` is the most rows of one unit that count for
    one key; with 1, units are counted.

    Args:
        values: one column of any type.
        groups: the most keys of one unit that count; of more, this many are drawn at random.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `StabilityHistogram`: truncated noise that never exceeds the threshold, so that keys which occur
        in no row could get it too and would not be seen; or Gaussian noise, and a part of delta for the keys of one
        unit. The lower threshold is taken.
    Proof: docs/theory/mechanisms/counts.md.
    Raises: InvalidParameterError unless the price is epsilon with delta > 0.

    >>> import deniable as dn
    >>> words = ["a"] * 90 + ["b"] * 40 + ["c"]
    >>> answer = dn.statistics.key_counts(words, epsilon=1, delta=1e-6)
    """
    return release(KeyCounts, values, {"groups": groups}, options)


def bounded_counts(
    keys: NDArray[np.int64], owners: NDArray[np.int64], size: int, *, groups: int, rows: int, bits: Bits
) -> NDArray[np.int64]:
    """Return the number of rows of each key, with each owner's contribution bounded.

    Each owner is left with at most `rows` of one key and `groups` keys.

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
