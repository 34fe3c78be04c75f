"""Per-example gradients of one parameter: upper bounds of norms, weighted sums.

No norm is below the exact one, and no sum is farther from the exact one than a tolerance, rounding included:
docs/theory/learning/torch.md derives the bounds. All numbers here are secret.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from deniable.errors import InvalidParameterError

UNIT = 2.0**-24  # rounding of float32
LARGEST = 2.0**50  # squared norms above it count as infinite, so that underflow stays far below the least norm
_CACHED_NUMBERS = {"cpu": 2**18}  # that stay in the cache of a core; on a device launches cost more
_DEVICE_NUMBERS = 2**25
_FLOAT64_DEPTH = 2**12  # examples times positions in one product in float64: it bounds memory
Grams = dict[tuple[int, torch.Size, tuple[int, ...]], Tensor]


@dataclass
class Piece(ABC):
    """Gradients of one parameter, one for each example of a batch."""

    parameter: Tensor

    @abstractmethod
    def norms(self, grams: Grams) -> Tensor:
        """Bound the squared norms of the gradients from above; infinite if in doubt.

        Shape (examples,).

        Args:
            grams: Gram matrices by the tensor they are of, for layers that read the same input.
        """

    @abstractmethod
    def total(self, factors: Tensor, weighted_norm: float, tolerance: float) -> Tensor:
        """Return the sum of factor times gradient.

        Args:
            factors: shape (examples,).
            weighted_norm: the sum of factor times norm.
            tolerance: the largest distance in l2 norm from the exact sum.
        """

    def drop(self, invalid: Tensor) -> None:
        """Set the gradients of these examples to zero, infinities and NaN included."""
        for name, one in vars(self).items():
            if name != "parameter":
                setattr(self, name, one.masked_fill(invalid.view(-1, *[1] * (one.dim() - 1)), 0))

    def bytes(self) -> int:
        """Return the memory that the gradients take."""
        return sum(one.nbytes for name, one in vars(self).items() if name != "parameter")


def _contract(left: Tensor, right: Tensor, weighted_norm: float, tolerance: float) -> Tensor:
    """Return left^T right in float32, or in float64 where that is too coarse.

    In float32 it is cut into parts if the tolerance needs them.
    """
    for parts in (1, 4, 16):
        error = 1.02 * UNIT * (math.ceil(len(left) / parts) + parts + 3) * weighted_norm
        if parts <= len(left) and error <= tolerance:
            first, *others = zip(left.tensor_split(parts), right.tensor_split(parts), strict=True)
            total = first[0].mT @ first[1]
            for one, other in others:
                total.add_(one.mT @ other)
            return total
    return left.double().mT @ right.double()


@dataclass
class Dense(Piece):
    """Gradients that are formed, of shape (examples, *shape of the parameter)."""

    gradients: Tensor

    def norms(self, grams: Grams) -> Tensor:
        """Bound squared norms by those of rows in float32, added up in float64."""
        inner = self.gradients.flatten(2) if self.gradients.dim() > 2 else self.gradients[:, None]
        squared: Tensor = torch.linalg.vector_norm(inner, dim=2).double().square().sum(1)
        return (squared * (1 + 1.02 * UNIT * (2 * inner.shape[2] + 8))).where(squared < LARGEST, torch.inf)

    def total(self, factors: Tensor, weighted_norm: float, tolerance: float) -> Tensor:
        """Return the weighted sum of the rows."""
        inner = self.gradients.flatten(1)
        return _contract(factors.to(inner.dtype)[:, None], inner, weighted_norm, tolerance).reshape(
            self.parameter.shape
        )


@dataclass
class Product(Piece):
    """Gradients b_i^T a_i of a layer, never formed.

    They come from its inputs a_i and output gradients b_i.

    a_i has the shape (T, d) and b_i (T, p), for T positions in an example.
    """

    inputs: Tensor
    outputs: Tensor

    def norms(self, grams: Grams) -> Tensor:
        """Bound squared norms by the sum of products of two Gram matrices."""
        key = (self.inputs.data_ptr(), self.inputs.shape, self.inputs.stride())
        if key not in grams:
            grams[key] = self.gram()
        first, second = grams[key], self.outputs @ self.outputs.mT
        squared = (first * second).sum(2).sum(1)
        one, other = (gram.diagonal(dim1=1, dim2=2) for gram in (first, second))
        unsigned = (one.sqrt() * other.sqrt()).sum(1).double() ** 2  # what errors are relative to
        depth = self.inputs.shape[2] + self.outputs.shape[2] + 4 * first.shape[1] + 12
        if depth > 2**18:
            raise InvalidParameterError('a layer is too wide to bound its rounding. Use method="vmap"')
        bound = squared + 1.05 * depth * UNIT * unsigned
        return bound.where((one.amax(1) < LARGEST) & (other.amax(1) < LARGEST), torch.inf)

    def gram(self) -> Tensor:
        """Return inner products of the inputs at the positions of each example.

        Shape (examples, T, T).
        """
        return self.inputs @ self.inputs.mT

    def total(self, factors: Tensor, weighted_norm: float, tolerance: float) -> Tensor:
        """Return the weighted sum of the gradients.

        One product serves few positions; more are summed over a few examples at a time.
        """
        left = self.outputs
        right = self.inputs
        weights = factors.to(self.inputs.dtype)
        if left.shape[1] == 1:
            product = _contract(left[:, 0] * weights[:, None], right[:, 0], weighted_norm, tolerance)
            return product.reshape(self.parameter.shape)
        # Each gradient is rounded by itself, as its norm allows for; then only sums over examples remain.
        max_additions = tolerance / (1.02 * UNIT * max(weighted_norm, 1e-30)) - 4  # in a row, within the tolerance
        cached = _CACHED_NUMBERS.get(left.device.type, _DEVICE_NUMBERS) // self.parameter.numel()
        step = int(max(1, min(max(cached, 2 * len(left) / max(1, max_additions)), max_additions / 2, len(left))))
        if max_additions <= step + len(left) / step:
            return self._precise(factors).reshape(self.parameter.shape)
        buffer = left.new_empty(step, left.shape[2], right.shape[2])
        total = buffer.new_zeros(self.parameter.numel())
        for start in range(0, len(left), step):
            rows = slice(start, start + step)
            gradients = torch.bmm(left[rows].mT, right[rows], out=buffer[: len(left[rows])])
            total.add_(weights[rows] @ gradients.flatten(1))
        return total.reshape(self.parameter.shape)

    def _precise(self, factors: Tensor) -> Tensor:
        """Return the weighted sum in float64.

        It adds some examples at a time, with all their positions.
        """
        left = self.outputs
        right = self.inputs
        step = max(1, _FLOAT64_DEPTH // right.shape[1])
        total = left.new_zeros(left.shape[2], right.shape[2], dtype=torch.float64)
        for start in range(0, len(left), step):
            rows = slice(start, start + step)
            weighed = left[rows].double() * factors[rows].view(-1, 1, 1)
            total.addmm_(weighed.flatten(0, 1).mT, right[rows].double().flatten(0, 1))
        return total


@dataclass
class Lookup(Product):
    """Gradients of a table whose inputs are codes in place of one-hot vectors.

    Codes are rows of the table, shape (examples, T, 1).
    """

    def gram(self) -> Tensor:
        """Return whether codes are equal, shape (examples, T, T)."""
        return (self.inputs == self.inputs.mT).to(self.outputs.dtype)

    def total(self, factors: Tensor, weighted_norm: float, tolerance: float) -> Tensor:
        """Return the weighted sum in float64, added up by code."""
        values = (self.outputs.double() * factors.view(-1, 1, 1)).flatten(0, 1)
        return values.new_zeros(self.parameter.shape).index_add_(0, self.inputs.flatten(), values)
