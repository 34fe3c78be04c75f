"""Undeclared groups: private keys, found for a part of the price.

Those that were found are public, and the rest of the question is answered as if they had been declared. Each unit is in
at most `groups` of them, whatever it has: see docs/theory/query/keys.md.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.mechanisms import Gaussian, StabilityHistogram, TruncatedLaplace, WeightedKeys
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import NO_ANSWER
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import ApproximateLoss, PrivacyLoss, Sensitivity, compose, of_count
from deniable.privacy.sensitivity import of_weights
from deniable.query.catalog import DeclaredTable
from deniable.query.expression import Key

if TYPE_CHECKING:
    import pyarrow as pa

KEY_WEIGHT_STEPS = 2**16  # of the weight of a unit with one key
Noises = tuple[AdditiveNoise, ...]


@dataclass(frozen=True, kw_only=True)
class KeySearch:
    """Private search for the keys that occur, with the weights of a unit.

    Args:
        steps: the weight of a unit with one key. With 1, a unit counts 1 for each of its keys; with more, each of its
            m keys weighs floor((steps - 1) / sqrt(m)), as `weight` says, so that the engine's root may be rounded up.
        groups: the most keys of one value of the unit column that are seen.
        price: of the noise; where a unit's keys have weights, of that of all totals too.
    """

    mechanism: StabilityHistogram
    sensitivity: Sensitivity
    steps: int
    groups: int
    noun: str
    price: Price

    def losses(self, totals: Sequence[PrivacyLoss]) -> list[PrivacyLoss]:
        """Return the losses of the search and of totals with noise of their own.

        Raises: InvalidParameterError if the threshold is too low.
        """
        self.mechanism.privacy_loss(self.sensitivity)
        noise = self.mechanism.noise.privacy_loss(self.sensitivity)
        if not self.mechanism.failure:
            return [self.price.stated(noise), *totals]
        return [self.price.stated(compose([noise, *totals])), ApproximateLoss(0, self.mechanism.failure)]

    def release(self, keys: "pa.Table", weights: NDArray[np.int64], *, bits: Bits) -> tuple[tuple[Key, ...], ...]:
        """The keys that are shown, sorted. Public.

        Args:
            keys: those that occur, and how much of the units has them. SECRET.
        """
        columns = self.shown(keys, weights, bits=bits).columns
        return tuple(sorted(zip(*(column.to_pylist() for column in columns), strict=True)))

    def shown(self, keys: "pa.Table", weights: NDArray[np.int64], *, bits: Bits) -> "pa.Table":
        """The rows of the keys that are shown, in their order."""
        return keys.take(np.flatnonzero(self.mechanism.release(weights, bits=bits).value != NO_ANSWER))

    @property
    def shared(self) -> int:
        """Weight that m keys of a unit share by sqrt(m); 0 where each key weighs 1."""
        return self.steps - 1

    def weight(self, keys: int) -> int:
        """Weight of each of a number of keys of one unit, in engines and in `needed`."""
        return isqrt(self.shared**2 // keys) if self.shared else 1

    def needed(self, keys: int, level: float) -> int:
        """Return how many units a key needs to be found with probability `level`.

        Args:
            level: at least 0.5.
        """
        above = self.mechanism.threshold + 1 + (self.mechanism.noise.half_width(2 * level - 1) if level > 0.5 else 0)
        return int(-(-above // self.weight(keys)))

    def to_json(self) -> object:
        return [self.mechanism.to_json(), self.steps, self.groups]

    def entry(self) -> dict[str, Any]:
        """Return the record of the search in the ledger."""
        return {"aggregate": "keys", "mechanism": self.mechanism.to_json(), "grid": f"1/{self.steps}"}

    def spoken(self) -> str:
        """Return in words which keys are found."""
        each = "" if self.groups == 1 else f" of {self.groups} groups each"
        half, sure = (self.needed(self.groups, level) for level in (0.5, 0.99))
        fewer = ""
        if self.steps > 1:
            fewer = f"; of one group each, {self.needed(1, 0.5):,} and {self.needed(1, 0.99):,}"
        return (
            f"those that occur are found where their noisy number of {self.noun}s is above "
            f"{self.mechanism.threshold / self.steps:.4g}: with 50% if {half:,} {self.noun}s{each} have one, with 99% "
            f"if {sure:,} have{fewer}"
        )

    @property
    def note(self) -> str:
        """Note about keys that are left out, for readers of the answer."""
        return (
            f"Groups were found in the data: those with few {self.noun}s are left out, and one that "
            f"{self.needed(self.groups, 0.99):,} {self.noun}s have is shown with 99%."
        )

    def explained(self) -> dict[str, object]:
        """Return the search as plain data."""
        return {
            "mechanism": type(self.mechanism).__name__,
            "threshold": self.mechanism.threshold / self.steps,
            "scale": self.mechanism.noise.standard_deviation() / self.steps,
            "groups": self.groups,
            "units_50": self.needed(self.groups, 0.5),
            "units_99": self.needed(self.groups, 0.99),
        }


def key_searches(
    table: DeclaredTable, price: Price, others: Sequence[Sensitivity]
) -> Iterator[tuple[KeySearch, Noises]]:
    """Return plans to pay for the search and totals, the better one first.

    Totals have equal shares.

    The units that a key needs, times the standard deviations of the totals, say which is better. Counts get noise with
    a bound, and all of delta; weights get Gaussian noise, like the totals, and half of delta for keys of one unit.

    Raises: UnsupportedQueryError if the price has no delta.
    """
    if price.epsilon is None or not price.delta:
        raise UnsupportedQueryError(
            "undeclared groups are found only for epsilon with delta: give both, such as epsilon=1 with "
            "delta=1e-6, or declare the groups with dn.Keys([...])."
        )
    groups = table.most_groups
    keys = groups * table.unit.ids
    searches: list[tuple[KeySearch, Noises]] = []
    relation, ids = table.relation, table.unit.ids
    counted = of_count(rows=1, groups=groups, relation=relation, ids=ids)
    steps = 1 if table.unit.column is None else KEY_WEIGHT_STEPS  # a row has one key: nothing is shared out
    weighed = of_weights(steps=steps, groups=groups, relation=relation, ids=ids)
    search = partial(KeySearch, groups=groups, noun=table.unit.noun)
    share = price.epsilon / (1 + len(others))
    with suppress(InvalidParameterError):  # noise that cannot be drawn; the other may be
        noise = TruncatedLaplace.calibrated(counted, epsilon=share, delta=price.delta)
        mechanism = StabilityHistogram(noise=noise, threshold=noise.bound, groups=keys)
        rest = Price(epsilon=price.epsilon - share).noises(others) if others else ()
        alone = Price(epsilon=share, delta=price.delta)
        searches.append((search(mechanism=mechanism, sensitivity=counted, steps=1, price=alone), rest))
    joint = Price(epsilon=price.epsilon, delta=price.delta / 2)
    kind = WeightedKeys if table.unit.ids == 1 else StabilityHistogram
    for first, *totals in joint.choices([weighed, *others]):
        if isinstance(first, Gaussian):
            weights = kind.above(first, weighed, groups=keys, failure=joint.delta)
            searches.append((search(mechanism=weights, sensitivity=weighed, steps=steps, price=joint), tuple(totals)))
    return iter(sorted(searches, key=_error))


def _error(choice: tuple[KeySearch, Noises]) -> float:
    search, noises = choice
    return float(np.log([search.needed(search.groups, 0.5), *(n.standard_deviation() + 1e-9 for n in noises)]).sum())
