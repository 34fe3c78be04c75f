"""Clips: gradients become integers with a public bound on their l2 norm.

Every clip keeps each row within `lattice` steps, so all of them have one sensitivity, which `ClippedSum` states; the
integers of a row are a function of that row and public numbers alone (see mechanisms/vectors/clipping.py).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.parts import Part
from deniable.mechanisms.vectors.clipping import clipped, doubles, squared_norms
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import positive_rational, shown, whole_number
from deniable.rows import silence

_MIN_NORM, _MAX_NORM = 1e-100, 1e100  # norms whose squares are floats


@dataclass(frozen=True, kw_only=True)
class Clip(Part):
    """Cut the gradient of a row to an l2 norm, and round it towards 0 to a lattice.

    A gradient that is zero stays zero, and one with an entry that is NaN or infinite counts as zero.

    Args:
        norm: the largest l2 norm of the gradient of a row, in the unit of gradients.
        lattice: lattice steps to the norm, at most 2^30.
        stabiliser: if given, gradients g are not cut but become norm g / (|g| + stabiliser), all of nearly one length:
            automatic clipping (Bu, Wang, Zha, Karypis 2022, arXiv:2206.07136).
        blocks: pairs (numbers, weight), one for each layer in order, which is cut to a norm of its own. Norms are in
            the ratio of the weights, and their squares add up to that of `norm`, or less by rounding.

    >>> Clip(lattice=100).integers(np.array([[3.0, 4.0], [0.3, 0.4], [np.nan, 1.0]]), 1.0).tolist()
    [[59, 79], [29, 39], [0, 0]]
    >>> Clip(lattice=500, blocks=((10, 3), (20, 4))).block_steps
    (300, 400)
    """

    norm: Annotated[Fraction, positive_rational] = Fraction(1)
    lattice: Annotated[int, partial(whole_number, lower=1, upper=2**30)] = 2**20
    stabiliser: Annotated[Fraction | None, positive_rational] = None
    blocks: tuple[tuple[int, Fraction], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            blocks = tuple(
                (whole_number("blocks", size, lower=1), positive_rational("blocks", weight))
                for size, weight in self.blocks
            )
        except (TypeError, ValueError):
            raise InvalidParameterError(f"blocks must be pairs (numbers, weight), got {shown(self.blocks)}") from None
        read_fields(self, blocks=blocks)
        if min(self.block_steps) < 1:
            raise InvalidParameterError(f"lattice is too coarse: increase it to 2^20 steps, got {self.lattice}")

    @property
    def norm_steps(self) -> int:
        """Lattice steps to the norm of a gradient."""
        return self.lattice

    @property
    def block_steps(self) -> tuple[int, ...]:
        """Lattice steps to the norm of each block; one block if none are declared."""
        weights = [weight for _, weight in self.blocks] or [Fraction(1)]
        whole = sum(weight**2 for weight in weights)
        return tuple(math.isqrt(math.floor(self.norm_steps**2 * weight**2 / whole)) for weight in weights)

    def columns(self, dimensions: int) -> int:
        """Return the number of integers that a gradient becomes.

        Args:
            dimensions: numbers in a gradient, which must be those of the blocks.
        """
        if self.blocks and sum(size for size, _ in self.blocks) != dimensions:
            raise InvalidParameterError(f"blocks must have {dimensions} numbers in all, as dimensions says")
        return dimensions

    @silence()
    def integers(self, rows: Floats, norm: float) -> NDArray[np.int64]:
        """Return clipped gradients as integers, in steps of norm / norm_steps.

        Shape (rows, columns).

        Args:
            rows: gradients, shape (rows, dimensions); secret.
            norm: of this step; it differs from `self.norm` only if the clip is adaptive.
        """
        rows = doubles(rows)
        usable = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
        ends = np.cumsum([size for size, _ in self.blocks], dtype=np.int64)[:-1]
        integers = []
        for part, steps in zip(np.split(usable, ends, axis=1), self.block_steps, strict=True):
            radius = norm * steps / self.norm_steps
            if self.stabiliser is not None:
                part = part / (np.sqrt(squared_norms(part))[:, np.newaxis] + float(self.stabiliser)) * radius  # noqa: PLW2901
            integers.append(clipped(part, radius=radius, steps=steps))
        return np.hstack(integers)


@dataclass(frozen=True, kw_only=True)
class AdaptiveClip(Clip):
    """Clip whose norm follows a quantile of the lengths of gradients.

    It moves by a noisy count of the gradients within the norm in every step. The count is one more number of the vector
    that gets the noise: a row within the norm adds `count_steps`, one beyond it subtracts them, and the gradient has
    what is left of the lattice. So both together have the loss of the plan, and the norm of the next step is computed
    from what was released.

    Args:
        norm: of the first step.
        lattice, stabiliser, blocks: as in `Clip`.
        quantile: the share of rows that should be within the norm.
        rate: at most 10; the norm is multiplied by exp(-rate (share within - quantile)) after each step.
        count_share: of the square of the lattice; with 1/100 gradients have 0.5% more noise than without a count.

    Source: Andrew, Thakkar, McMahan, Ramaswamy (2021), arXiv:1905.03871.

    >>> AdaptiveClip(lattice=1000).integers(np.array([[2.0, 0.0], [0.0, 0.0]]), 1.0).tolist()
    [[993, 0, -100], [0, 0, 100]]
    """

    quantile: Annotated[Fraction, positive_rational] = Fraction(1, 2)
    rate: Annotated[Fraction, positive_rational] = Fraction(1, 5)
    count_share: Annotated[Fraction, positive_rational] = Fraction(1, 100)

    def __post_init__(self) -> None:
        read_fields(self)
        if self.quantile >= 1 or self.count_share >= 1 or self.rate > 10:
            raise InvalidParameterError("quantile and count_share must be in (0, 1), and rate in (0, 10]")
        if not self.count_steps:
            raise InvalidParameterError(
                "lattice is too coarse for a count beside the gradient: increase it to 2^20 steps"
            )
        super().__post_init__()

    @property
    def count_steps(self) -> int:
        """Number of lattice steps by which one row moves the count, up or down."""
        return math.isqrt(math.floor(self.count_share * self.lattice**2))

    @property
    def norm_steps(self) -> int:
        """Lattice steps to the norm of a gradient, beside the count."""
        return math.isqrt(self.lattice**2 - self.count_steps**2)

    def columns(self, dimensions: int) -> int:
        """Return the number of integers that a gradient and the count become."""
        return super().columns(dimensions) + 1

    @silence()
    def integers(self, rows: Floats, norm: float) -> NDArray[np.int64]:
        """Return clipped gradients as integers, and the count as their last column."""
        count = np.where(np.sqrt(squared_norms(rows)) > norm, -self.count_steps, self.count_steps)
        return np.column_stack([super().integers(rows, norm), count])

    def next_norm(self, norm: float, count: float) -> float:
        """Return the norm of the next step.

        Args:
            norm: of this step.
            count: the noisy count over the number of rows that a step is expected to have.
        """
        within = min(max((count / self.count_steps + 1) / 2, 0.0), 1.0)
        moved = norm * math.exp(float(self.rate) * (float(self.quantile) - within))
        return min(max(moved, _MIN_NORM), _MAX_NORM)


CLIPS: dict[str, type[Clip]] = {"Clip": Clip, "AdaptiveClip": AdaptiveClip}
