"""What the ways to draw many quantiles have in common: `tree`, `joint` and `slices`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, Relation
from deniable.rows import Floats
from deniable.statistics.order.measure import Codes, Measure
from deniable.statistics.order.rows import Rows

OUTSIDE = 20
"""So many times as wide as the rows the bounds are taken to be, where that tells how well a method will do."""


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to draw several quantiles at once, for a price.

    Args:
        shares: different ones, in order.
        rows: of a unit.
    """

    name: ClassVar[str]

    shares: tuple[Fraction, ...]
    price: Price
    relation: Relation
    rows: int

    @property
    @abstractmethod
    def losses(self) -> list[PrivacyLoss]:
        """Of all draws; together they cost the price."""

    @abstractmethod
    def rank_errors(self, size: int) -> Floats:
        """The root mean squared error of every quantile in ranks, for about `size` rows of different values."""

    @abstractmethod
    def draw(self, ordered: Rows, size: int, *, measure: Measure, bits: Bits) -> tuple[Codes, NDArray[np.int64]]:
        """The codes of all quantiles, and how many rows are below each, which is secret.

        Args:
            ordered: rows with codes of [0, size), hardly any of which are equal.
            measure: the weights of all codes.
        """

    @property
    def is_quick(self) -> bool:
        """Whether a draw takes seconds where rows differ, and not above 20 times that on any table; a public fact."""
        return True

    def is_steady(self, size: int) -> bool:
        """Whether the expected errors hold for so many rows, or more, within wide bounds; a public fact."""
        return size >= 0
