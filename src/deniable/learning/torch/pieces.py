"""Per-example gradients of one parameter in three shapes: their norms, rounded up, and their weighted sums.

Rounding cannot break a norm, and no sum is farther from the exact one than asked: docs/theory/learning/torch.md derives
the bounds. All numbers here are secret.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from deniable.errors import InvalidParameterError

UNIT = 2.0**-24  # rounding of float32
LARGEST = 2.0**50  # squared norms above it count as infinite, so that underflow stays far below the least norm
_CACHE = {"cpu": 2**18}  # numbers that stay near the processor; elsewhere it is launches that cost
_DEPTH = 2**12  # examples times places in one product in float64
Grams = dict[tuple[int, torch.Size, tuple[int, ...]], Tensor]


@dataclass
class Piece(ABC):
    """Gradients of one parameter, one for each example of a batch."""

    parameter: Tensor

    @abstractmethod
    def norms(self, grams: Grams) -> Tensor:
        """Upper bounds, of shape (examples,), on the squared norms of what `total` adds up, infinite if in doubt.

        `grams` has Gram matrices by the tensor they are of, for layers that read the same input.
        """

    @abstractmethod
    def total(self, factors: Tensor, reach: float, allowed: float) -> Tensor:
        """The sum of factor times gradient, at most `allowed` in l2 norm from the exact one.

        `factors` are of shape (examples,); `reach` is the sum of factor times norm.
        """

    def drop(self, lost: Tensor) -> None:
        """Set what belongs to these examples to zero, whatever it is."""
        for name, one in vars(self).items():
            if name != "parameter":
                setattr(self, name, one.masked_fill(lost.view(-1, *[1] * (one.dim() - 1)), 0))

    def bytes(self) -> int:
        """What all of it takes."""
        return sum(one.nbytes for name, one in vars(self).items() if name != "parameter")


def _contract(left: Tensor, right: Tensor, reach: float, allowed: float) -> Tensor:
    """left^T right: in float32, in parts where that is needed to stay within `allowed`, else in float64."""
    for parts in (1, 4, 16):
        if parts <= len(left) and 1.02 * UNIT * (math.ceil(len(left) / parts) + parts + 3) * reach <= allowed:
            first, *others = zip(left.tensor_split(parts), right.tensor_split(parts), strict=True)
            total = first[0].mT @ first[1]
            for one, other in others:
                total.add_(one.mT @ other)
            return total
    return left.double().mT @ right.double()


@dataclass
class Dense(Piece):
    """Gradients as they are, of shape (examples, *shape of the parameter)."""

    gradients: Tensor

    def norms(self, grams: Grams) -> Tensor:
        inner = self.gradients.flatten(2) if self.gradients.dim() > 2 else self.gradients[:, None]
        squared: Tensor = torch.linalg.vector_norm(inner, dim=2).double().square().sum(1)
        return (squared * (1 + 1.02 * UNIT * (2 * inner.shape[2] + 8))).where(squared < LARGEST, torch.inf)

    def total(self, factors: Tensor, reach: float, allowed: float) -> Tensor:
        inner = self.gradients.flatten(1)
        return _contract(factors.to(inner.dtype)[:, None], inner, reach, allowed).reshape(self.parameter.shape)


@dataclass
class Product(Piece):
    """Gradients b_i^T a_i that are never formed; a_i, of shape (T, d), went into a layer, b_i, (T, p), came back."""

    inputs: Tensor
    outputs: Tensor

    def norms(self, grams: Grams) -> Tensor:
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
        """Inner products of what went in at the places of each example, of shape (examples, T, T)."""
        return self.inputs @ self.inputs.mT

    def total(self, factors: Tensor, reach: float, allowed: float) -> Tensor:
        left, right, weights = self.outputs, self.inputs, factors.to(self.inputs.dtype)
        if left.shape[1] == 1:
            left, right = left[:, 0] * weights[:, None], right[:, 0]
            return _contract(left, right, reach, allowed).reshape(self.parameter.shape)
        # Each gradient is rounded by itself, as its norm allows for; then only sums over examples remain.
        most = allowed / (1.02 * UNIT * max(reach, 1e-30)) - 4  # sums in a row that keep to what is allowed
        near = _CACHE.get(left.device.type, 2**25) // self.parameter.numel()
        each = int(max(1, min(max(near, 2 * len(left) / max(1, most)), most / 2, len(left))))
        if most <= each + len(left) / each:
            return self._precise(factors).reshape(self.parameter.shape)
        room = left.new_empty(each, left.shape[2], right.shape[2])
        total = room.new_zeros(self.parameter.numel())
        for rows in (slice(start, start + each) for start in range(0, len(left), each)):
            found = torch.bmm(left[rows].mT, right[rows], out=room[: len(left[rows])])
            total.add_(weights[rows] @ found.flatten(1))
        return total.reshape(self.parameter.shape)

    def _precise(self, factors: Tensor) -> Tensor:
        """The sum in float64, over some examples and all their places at a time."""
        left, right, each = self.outputs, self.inputs, max(1, _DEPTH // self.inputs.shape[1])
        total = left.new_zeros(left.shape[2], right.shape[2], dtype=torch.float64)
        for rows in (slice(start, start + each) for start in range(0, len(left), each)):
            weighed = left[rows].double() * factors[rows].view(-1, 1, 1)
            total.addmm_(weighed.flatten(0, 1).mT, right[rows].double().flatten(0, 1))
        return total


@dataclass
class Lookup(Product):
    """Gradients of a table: what went in are codes of its rows, of shape (examples, T, 1), in place of flags."""

    def gram(self) -> Tensor:
        return (self.inputs == self.inputs.mT).to(self.outputs.dtype)

    def total(self, factors: Tensor, reach: float, allowed: float) -> Tensor:
        values = (self.outputs.double() * factors.view(-1, 1, 1)).flatten(0, 1)
        return values.new_zeros(self.parameter.shape).index_add_(0, self.inputs.flatten(), values)
