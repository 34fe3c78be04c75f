"""The most frequent values of a column."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, PermuteAndFlip
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, Relation
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key, Measure, select
from deniable.rows import Container
from deniable.statistics.call import asks
from deniable.statistics.histograms import Histogram
from deniable.statistics.key_counts import KeyCounts
from deniable.statistics.statistic import Answer, Options, Statistic, release


@dataclass(frozen=True, kw_only=True)
class TopK(Statistic):
    """The k values with the largest noisy counts: see `top_k`."""

    name: ClassVar[str] = "top_k"

    k: Annotated[int, positive_integer]
    keys: Iterable[Any] | None = None
    groups: int = 1

    def _check(self) -> None:
        if self.keys is not None:
            if self.groups != 1:
                raise InvalidParameterError("groups is for private keys. Bound the rows of a unit with rows=...")
            read_fields(self, keys=self.counts.keys)
            if self.k > self.counts.cells:
                raise InvalidParameterError(f"k must be at most the number of keys, {self.counts.cells}, got {self.k}")

    @cached_property
    def counts(self) -> Any:
        """Statistic from which the values are read."""
        price: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        if self.keys is not None:
            return Histogram(keys=self.keys, relation=self.relation, rows=self.rows, **price)
        return KeyCounts(groups=self.groups, relation=self.relation, rows=self.rows, **price)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        loss: PrivacyLoss = self.counts.privacy_loss
        return loss

    def expected_error(self, size: int) -> float:
        """The standard deviation of the noise of one count, whatever the size."""
        error: float = self.counts.expected_error(size)
        return error

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        answer: Answer = self.counts._answer(values, units, bits)
        (noisy,) = answer.noisy
        first = np.argsort(-noisy.values, kind="stable")[: self.k]
        return replace(
            answer,
            parts=tuple(part if isinstance(part, Measure) else select(part, first) for part in answer.parts),
            noisy=(select(noisy, first),),
            notes=(*answer.notes, f"The {self.k} largest noisy counts; intervals do not count that choice."),
        )


@dataclass(frozen=True, kw_only=True)
class Mode(Statistic):
    """The most frequent of some public values, by permute-and-flip: see `mode`."""

    name: ClassVar[str] = "mode"

    keys: Iterable[Any]

    def _check(self) -> None:
        if self.keys is None:
            raise InvalidParameterError("mode needs keys=[values]. If they are private, ask for top_k(k=1).")
        read_fields(self, keys=self._histogram.keys)

    @cached_property
    def _histogram(self) -> Histogram:
        return Histogram(keys=self.keys, relation=self.relation, rows=self.rows, epsilon=1)

    @cached_property
    def mechanism(self) -> PermuteAndFlip | ExponentialMechanism:
        """Permute-and-flip, or the exponential mechanism for rho.

        Its rho is four times smaller.
        """
        kind = PermuteAndFlip if self.price.rho is None else ExponentialMechanism
        return kind.calibrated(
            self._histogram.sensitivity,
            epsilon=self.price.selection(),
            monotone=self.relation is Relation.ADD_REMOVE,
        )

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self.mechanism.privacy_loss(self._histogram.sensitivity))

    def expected_error(self, size: int) -> float:
        return self.mechanism.expected_gap(self._histogram.cells)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        keys = tuple(self.keys)
        chosen = self.mechanism.release(self._histogram._exact(values, units, bits), bits=bits).value
        assert isinstance(chosen, int)
        behind = Estimate(name="behind", estimates=np.zeros(1, dtype=np.int64), ends=self._behind)
        return Answer(parts=(Key(name="mode", values=(keys[chosen],)), behind))

    def _behind(self, level: float) -> Bounds:
        gap = self.mechanism.gap_bound(self._histogram.cells, failure=1 - level)
        return Bounds(np.zeros(1), np.array([np.floor(gap)]))


@asks(TopK)
def top_k(
    values: Container, *, k: int, keys: Iterable[Any] | None = None, groups: int = 1, **options: Unpack[Options]
) -> Release:
    """Return the k values with the largest noisy counts, the largest first.

    A row lies in one bin, so all counts together cost what one count does. The values are read off a noisy histogram,
    at no further cost.

    Args:
        values: one column: numbers, texts, dates or booleans.
        k: how many values; fewer may come back if the keys are private.
        keys: the values that may occur, if they are public; None if they are private, which takes delta > 0.
        groups: the most values of one unit that count, where keys are private.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `histogram`, or of `key_counts`; the choice is post-processing.
    Proof: docs/theory/mechanisms/counts.md.

    >>> import deniable as dn
    >>> answer = dn.statistics.top_k(["a", "b", "a"], k=1, keys=["a", "b", "c"], epsilon=1)
    """
    return release(TopK, values, {"k": k, "keys": keys, "groups": groups}, options)


@asks(Mode)
def mode(values: Container, *, keys: Iterable[Any], **options: Unpack[Options]) -> Release:
    """Return the most frequent of some public values; no count is released.

    The column `behind` says how many rows fewer than the most frequent value it may have: 0 is the estimate, and the
    upper end of its interval a bound that holds for all data.

    Args:
        values: one column: numbers, texts, dates or booleans.
        keys: the values that may occur. If they are private, ask for top_k(k=1).
        options: price, relation, units and ledger: see `Options`.

    Guarantee: one unit moves a count by at most `rows`; under add/remove all counts move the same way. The choice is by
        permute-and-flip.
    Proof: docs/theory/mechanisms/selection.md.
    Source: McKenna, Sheldon (2020), arXiv:2010.12603, for permute-and-flip.
    Error: expected_error bounds the rows by which the choice is behind, on average.

    >>> import deniable as dn
    >>> answer = dn.statistics.mode(["a", "b", "a"], keys=["a", "b", "c"], epsilon=1)
    """
    return release(Mode, values, {"keys": keys}, options)
