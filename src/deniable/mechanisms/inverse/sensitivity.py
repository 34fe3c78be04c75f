"""Inverse sensitivity: values the likelier, the fewer records reach them."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import InBounds, Mechanism, Released, WorstCase, drawable_rate, require_listed, shares
from deniable.mechanisms.integers import clamped
from deniable.mechanisms.records import records_of
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation, Replace, Sensitivity, of_count

if TYPE_CHECKING:
    from flint import arb

_MOST_CANDIDATES = 10**8


@dataclass(frozen=True, kw_only=True)
class InverseSensitivity(InBounds, Mechanism):
    """Choose a value t of a public range with probability ~ exp(-rate len(t)).

    len(t) is how many records have to change until the statistic is t, or comes within `smoothing` of t. The exact
    input is len of each value lower, ..., upper without smoothing, for any statistic.

    Args:
        rate: how fast chances fall, per record.
        bounds: public (lower, upper) of the statistic, whole numbers.
        smoothing: a public number of lattice steps; for statistics that reach few values of the grid.

    Guarantee: the exponential mechanism with a score of sensitivity 1, so epsilon-DP with epsilon = 2 rate.
    Source: Asi, Duchi (2020), arXiv:2005.10630; proof in docs/theory/mechanisms/inverse.md.

    >>> mechanism = InverseSensitivity.calibrated(epsilon=2, bounds=(0, 3))
    >>> for value, chance in mechanism.pmf([2, 0, 1, 3]).items():  # changes that reach 0, 1, 2, 3
    ...     print(value, f"{chance.upper:.2f}")
    0 0.09
    1 0.64
    2 0.24
    3 0.03
    """

    kind: ClassVar[str] = "inverse_sensitivity"

    rate: Annotated[Fraction, drawable_rate]
    smoothing: Annotated[int, partial(whole_number, lower=0)] = 0

    @classmethod
    def calibrated(cls, *, epsilon: Real, bounds: tuple[int, int], smoothing: int = 0) -> Self:
        """Return the mechanism for epsilon."""
        return cls(rate=positive_rational("epsilon", epsilon) / 2, bounds=bounds, smoothing=smoothing)

    @property
    def _proved(self) -> frozenset[Relation]:
        return frozenset(Relation)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss when len moves by as many records as `sensitivity` counts.

        Its relation is that of len.
        """
        records = records_of(sensitivity, proved=self._proved)
        return ExponentialMechanismLoss(2 * self.rate * records).under(sensitivity.relation)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int]:
        """One value of the grid."""
        lengths = self._smoothed(exact)
        return Released(self.lower + race.exponential_mechanism(-lengths, rate=self.rate, bits=bits), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        scores = np.broadcast_to(-self._smoothed(exact), (runs, len(exact)))
        return self.lower + races.exponential_mechanism(scores, rate=self.rate, bits=bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        return self._law_of(self._smoothed(exact))

    def _law_of(self, lengths: NDArray[np.int64]) -> dict[Hashable, "arb"]:
        require_listed(lengths.size)
        weights = {length: ball(-self.rate * length).exp() for length in set(lengths.tolist())}
        return shares({self.lower + i: weights[length] for i, length in enumerate(lengths.tolist())})

    def _smoothed(self, exact: ArrayLike) -> NDArray[np.int64]:
        """The least len within `smoothing` of each value."""
        lengths = clamped("exact", exact, lower=0)  # which moves none by more than one record
        candidates = self.upper - self.lower + 1
        if candidates > _MOST_CANDIDATES:
            raise InvalidParameterError(f"there may be at most {_MOST_CANDIDATES} candidates, got {candidates}")
        if lengths.shape != (candidates,):
            raise InvalidParameterError(
                f"the exact input holds one integer for each of {candidates} values, got shape {lengths.shape}"
            )
        window = 2 * min(self.smoothing, candidates) + 1
        from scipy import ndimage

        return np.asarray(ndimage.minimum_filter1d(lengths, size=window, mode="nearest"), dtype=np.int64)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two values whose len is exchanged, with losses +3/2 and -3/2.

        The curve of all pairs is above theirs.
        """
        return WorstCase(
            mechanism=cls.calibrated(epsilon=3, bounds=(0, 1)),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(1, 0),
            neighbour=(0, 1),
            attains=False,
        )
