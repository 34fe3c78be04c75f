"""Aggregates of a group: exact integers, their sensitivity and their noise."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.additive import NoiseLaw
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.noise.lattice import Lattice
from deniable.numbers.rationals import quotient_text
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.query.expression import Expression, text_of
from deniable.release.columns import Estimate, Key, Noisy

if TYPE_CHECKING:
    from deniable.query.plan import Question

Counted = tuple[NDArray[np.int64], NDArray[np.int64]]  # keys, and how often each occurs


@dataclass(frozen=True)
class Aggregate(ABC):
    """One number a group: a total over bounded rows.

    Args:
        argument: what is read of a row; rows in which it is NULL do not count. None: nothing, every row counts.
    """

    function: ClassVar[str]  # the name in the ledger, and for people
    additive: ClassVar[bool] = True  # whether the value is an exact total and noise
    argument: Expression | None = None

    @property
    def whole(self) -> bool:
        """Whether the exact number is an integer."""
        return True

    @property
    def order_within(self) -> tuple[bool, str]:
        """Sort key among aggregates that read the same column."""
        return True, f"0{self.function}"

    @property
    def sort_key(self) -> tuple[str, bool, str]:
        """Sort key: aggregates of the same column together, sums before counts."""
        argument = json.dumps(None if self.argument is None else self.argument.to_json(), sort_keys=True)
        return argument, *self.order_within

    def in_fractions(self, question: "Question") -> bool:
        """Whether it is a count to which a row may add a part of one."""
        return False

    @abstractmethod
    def bounded(self, question: "Question") -> "BoundedPart":
        """Return the aggregate with its sensitivity, from public facts alone."""

    def to_json(self) -> dict[str, object]:
        argument = None if self.argument is None else self.argument.to_json()
        return {"function": self.function, "argument": argument, "centre": "0"}

    def __str__(self) -> str:
        return f"{self.function.upper()}({'*' if self.argument is None else text_of(self.argument)})"


class PricedPart(Protocol):
    """An aggregate with its mechanism."""

    @property
    def aggregate(self) -> Aggregate: ...

    @property
    def loss(self) -> PrivacyLoss:
        """Loss of one unit in all groups together."""
        ...

    def release(self, exact: Any, *, bits: Bits) -> NDArray[Any]:
        """Public integers, one or a row of several for each group.

        Args:
            exact: SECRET; a total for each group, or a `Tally` where the aggregate is not additive.
        """
        ...

    def column(self, name: str, values: NDArray[Any]) -> Noisy | Estimate | Key:
        """Return released integers as a column."""
        ...

    def to_json(self) -> object:
        """Return the plain data that enter the question's name beside the mechanism."""
        ...

    def entry(self) -> dict[str, Any]:
        """Return the record of the part in the ledger."""
        ...

    def spoken(self) -> str:
        """Its noise, for people."""
        ...

    def explained(self) -> dict[str, object]:
        """Return the noise as plain data."""
        ...


@dataclass(frozen=True, kw_only=True)
class BoundedPart(ABC):
    """An aggregate, and how far one unit moves it."""

    aggregate: Aggregate

    @abstractmethod
    def priced(self, price: Any) -> PricedPart:
        """Return this part with its mechanism.

        Args:
            price: what it may cost; of totals, which are priced together, the noise.
        """


@dataclass(frozen=True, eq=False)
class Tally:
    """Counted rows of every group. SECRET.

    Args:
        cells: of the groups, with repetitions, in order; codes: different ones in each group, in order; counts: rows of
            each, above 0.
        size: the number of groups.
    """

    cells: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, parts: Iterable[Counted], size: int) -> "Tally":
        """Return the tally of keys, CODES * cell + code, and the rows of each.

        They come in any order; rows of one key add up.
        """
        keys, counts = _merged(parts)
        return cls(keys // CODES, keys % CODES, counts, size)

    def groups(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Codes and counts of every group."""
        ends = np.searchsorted(self.cells, np.arange(self.size + 1))
        for start, end in pairwise(ends.tolist()):
            yield self.codes[start:end], self.counts[start:end]


@dataclass(frozen=True, kw_only=True)
class BoundedAggregate(BoundedPart):
    """An aggregate on its lattice, where a value is a whole number of grid steps.

    A value lies in [lower, upper] after `centre` steps were subtracted.

    Args:
        share: lattice steps in one step of a row's value. Whole numbers are summed as such, and shared out more finely.
    """

    lattice: Lattice
    lower: int
    upper: int
    centre: int = 0
    share: int = 1
    sensitivity: Sensitivity

    def priced(self, mechanism: AdditiveNoise) -> "PricedAggregate":
        """Return this aggregate with `mechanism` as its noise."""
        given: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        return PricedAggregate(**given, mechanism=mechanism, loss=mechanism.privacy_loss(self.sensitivity))


@dataclass(frozen=True, kw_only=True)
class PricedAggregate(BoundedAggregate):
    """A total with its noise, which is in grid steps like everything about it."""

    mechanism: AdditiveNoise
    loss: PrivacyLoss

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise, in the aggregate's own unit."""
        return self.mechanism.law(self.lattice.grid)

    def release(self, exact: NDArray[Any], *, bits: Bits) -> NDArray[Any]:
        """Noisy steps, one a group. Public."""
        return self.mechanism.release(exact, bits=bits).value

    def column(self, name: str, values: NDArray[Any]) -> Noisy:
        """Released steps: whole numbers stay integers."""
        whole = self.lattice.exponent == 0 and values.dtype == np.int64
        return Noisy(name=name, values=values if whole else self.lattice.to_reals(values), law=self.law)

    def to_json(self) -> object:
        return [self.lattice.exponent, self.lower, self.upper, self.centre]

    def entry(self) -> dict[str, Any]:
        grid = quotient_text(self.lattice.grid)
        return {"aggregate": str(self.aggregate), "mechanism": self.mechanism.to_json(), "grid": grid}

    def spoken(self) -> str:
        grid = float(self.lattice.grid)
        return (
            f"{type(self.mechanism).__name__} noise of standard deviation {self.law.standard_deviation():.4g}, "
            f"95% within ±{self.law.half_width(0.95):.4g} "
            f"(sensitivity l1={float(self.sensitivity.l1) * grid:.6g}, l2={self.sensitivity.l2 * grid:.6g})"
        )

    def explained(self) -> dict[str, object]:
        grid = self.lattice.grid
        return {
            "aggregate": str(self.aggregate),
            "mechanism": type(self.mechanism).__name__,
            "sensitivity_l1": float(self.sensitivity.l1 * grid),
            "sensitivity_l2": self.sensitivity.l2 * float(grid),
            "sensitivity_linf": float(self.sensitivity.linf * grid),
            "scale": self.law.standard_deviation(),
            "error_95": self.law.half_width(0.95),
        }


def tallied(batches: Iterable[NDArray[np.int64]]) -> Counted:
    """Return the different keys in batches, in order, and how often each occurs.

    Few are held before they count.
    """
    merged: list[Counted] = []
    held: list[NDArray[np.int64]] = []
    for batch in chain(batches, [None]):
        if batch is not None:
            held.append(batch)
        if batch is None or sum(each.size for each in held) > MOST_HELD:
            keys = np.sort(np.concatenate([NOTHING, *held]))
            starts = np.flatnonzero(np.diff(keys, prepend=-1))
            merged = [_merged([*merged, (keys[starts], np.diff(starts, append=keys.size))])]
            held = []
    return merged[0]


def _merged(
    parts: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keys, counts = (np.concatenate([NOTHING, *each]) for each in zip((NOTHING, NOTHING), *parts, strict=True))
    if not np.all(keys[1:] > keys[:-1]):
        order = np.argsort(keys)
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        keys = keys[order][starts]
        counts = np.add.reduceat(counts[order], starts)
    return keys, counts


def integers(values: Sequence[Any]) -> NDArray[Any]:
    """Return whole numbers, or rows of them, as an int64 array.

    If some do not fit, the array holds Python integers.
    """
    array = np.array(values, dtype=object)
    return array.astype(np.int64) if all(abs(value) < 2**62 for value in array.flat) else array


CODES = 2**31  # more than a group has codes
MOST_HELD = 2**25
NOTHING = np.zeros(0, dtype=np.int64)
WHOLE = Lattice(exponent=0)
SHARES = Lattice(exponent=20)  # of counts and whole numbers where a unit's rows may count as fractions of one
