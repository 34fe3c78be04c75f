"""Sample and aggregate: any function on random blocks, and a private aggregate."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import InBounds, Mechanism, Released, WorstCase
from deniable.mechanisms.integers import as_pair
from deniable.mechanisms.inverse.quantile import InverseQuantile
from deniable.mechanisms.records import loss_of_rows
from deniable.mechanisms.smooth.base import SmoothStatistic
from deniable.mechanisms.tested.distance import of_steps
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import PrivacyLoss, Relation, Replace, Sensitivity, of_count
from deniable.rows import attempted, plain

Rows = NDArray[Any]

_MOST_BLOCKS = 2**24  # for each of which the function is called


@dataclass(frozen=True, kw_only=True)
class SampleAndAggregate(InBounds, Mechanism):
    """Evaluate any function on random blocks of units, and aggregate privately.

    A unit touches one block, so one of the values changes, however the function behaves. It gets the rows of one
    block and returns a number of lattice steps, which is rounded and clamped. Where it raises an error or returns NaN,
    the value is `lower`: whether it failed depends on private rows and must not be seen. A KeyboardInterrupt alone
    comes through, so that a run can be stopped.

    Args:
        inner: aggregates the values of the blocks as records: InverseQuantile or a smooth statistic. Additive noise is
            added to their sum; divide by `blocks` for the mean.
        blocks: a public number; the function sees about n / blocks units at a time.
        bounds: public (lower, upper) of the function's values, in lattice steps.
        columns: how many numbers each unit of a list has, where it is a list itself.

    Guarantee: that of `inner` when one record is replaced, for either relation of the units.
    Source: Nissim, Raskhodnikova, Smith (2007); proof in docs/theory/mechanisms/tested.md.

    >>> median = InverseQuantile.calibrated(epsilon=1, bounds=(0, 100))
    >>> mechanism = SampleAndAggregate(inner=median, blocks=50, bounds=(0, 100))
    >>> noisy = mechanism.release((np.arange(5000) % 90, np.mean)).value  # rows, and a function of them
    """

    kind: ClassVar[str] = "sample_and_aggregate"

    inner: AdditiveNoise | InverseQuantile | SmoothStatistic
    blocks: Annotated[int, partial(whole_number, lower=1, upper=_MOST_BLOCKS)]
    columns: Annotated[int | None, partial(whole_number, lower=1, upper=_MOST_BLOCKS)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.inner, AdditiveNoise | InverseQuantile | SmoothStatistic):
            raise InvalidParameterError(
                f"inner must be additive noise, InverseQuantile or a smooth statistic, got {shown(self.inner)}"
            )
        self.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))  # refuses graphs

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when a person owns as many units as `sensitivity` counts."""
        if isinstance(self.inner, AdditiveNoise):
            one = self.inner.privacy_loss(of_steps(self.upper - self.lower, sensitivity.relation))
        else:
            one = self.inner.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
            one = PrivacyLoss(one.statement.unrestricted)  # one block is replaced under either relation
        return loss_of_rows(one, sensitivity, proved=frozenset(Relation), counted=False)  # blocks are, units are not

    def release(
        self, exact: tuple[ArrayLike, Callable[[Rows], object]], *, bits: Bits = SECURE
    ) -> Released[int | None]:
        """Return the private aggregate of the function's values.

        Args:
            exact: a pair (rows, function). The first axis of the rows, which are secret, are the units. A list holds
                numbers, and what is none is NaN; the type of the arrays that the function gets depends on that of
                `rows` alone: see `deniable.rows.plain`. The function must give the same value for the same rows, and
                is called for every block, also for empty ones.
            bits: leave it out, except in tests.
        """
        rows, function = as_pair("exact", exact, "rows", "function")
        if not callable(function):
            raise InvalidParameterError(f"function must be a function of rows, got {type(function).__name__}")
        units = plain(rows, "rows", columns=self.columns)
        block = uniform.below(self.blocks, size=units.shape[0], bits=bits)
        order = np.argsort(block, kind="stable")
        parts = np.split(units[order], np.searchsorted(block[order], np.arange(1, self.blocks)))
        values = [self._value(function, part.copy()) for part in parts]  # no view of the other blocks
        if isinstance(self.inner, AdditiveNoise):
            return self.inner.release([sum(values)], bits=bits).map(lambda noisy: int(noisy[0]))
        return self.inner.release(values, bits=bits)

    def _value(self, function: Callable[[Rows], object], part: Rows) -> int:
        """Return the function on one block, or `lower` where it fails."""
        value = attempted(lambda: float(function(part)))  # type: ignore[arg-type]
        if value is None or np.isnan(value):
            return self.lower
        return int(min(max(round(value) if np.isfinite(value) else value, self.lower), self.upper))

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return releases with the sum as the function."""
        block = uniform.below(self.blocks, size=(runs, len(exact)), bits=bits)
        member = block[:, :, None] == np.arange(self.blocks)  # (runs, units, blocks)
        values = np.clip((member * np.array(exact, dtype=np.int64)[:, None]).sum(axis=1), self.lower, self.upper)
        inputs = values.sum(axis=1, keepdims=True) if isinstance(self.inner, AdditiveNoise) else values
        outcomes = np.empty(runs, dtype=np.int64)
        cases, case = np.unique(inputs, axis=0, return_inverse=True)
        for i, records in enumerate(cases.tolist()):
            here = np.flatnonzero(case.ravel() == i)
            outcomes[here] = self.inner.outcomes(tuple(records), here.size, bits=bits)
        return outcomes

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one unit, whose block takes the largest value, and the noisy sum."""
        return WorstCase(
            mechanism=cls(inner=Laplace(scale=Fraction(2)), blocks=2, bounds=(0, 2)),
            exact=(2,),
            neighbour=(),
        )
