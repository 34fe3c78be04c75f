"""Clipped sums by the plainest loop: the second route to every number of `deniable.learning.torch`."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


def entropy(output: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(output, target, reduction="none")


def looped(
    model: nn.Module, inputs: Tensor, targets: Tensor, norm: float, loss: Callable[..., Tensor] = entropy
) -> list[Tensor]:
    """The sum of gradients, each cut to the norm, one example at a time in float64."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    totals = [torch.zeros_like(parameter, dtype=torch.float64) for parameter in parameters]
    for row in range(len(inputs)):
        value = loss(model(inputs[row : row + 1]), targets[row : row + 1]).sum()
        found = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
        size = sum(float(one.double().square().sum()) for one in found) ** 0.5
        if size < float("inf"):
            for total, one in zip(totals, found, strict=True):
                total.add_(one.double() * min(1.0, norm / max(size, 1e-30)))
    return totals


def apart(found: list[Tensor], expected: list[Tensor]) -> float:
    """The l2 distance over the norm of what was expected."""
    distance, size = (
        sum(float(one.double().square().sum()) for one in ones) ** 0.5
        for ones in ([a - b for a, b in zip(found, expected, strict=True)], expected)
    )
    return distance / max(size, 1e-12)


class Reads(nn.Module):
    """A layer, and a linear one that reads all that it gives."""

    def __init__(self, inner: nn.Module, example: Tensor) -> None:
        super().__init__()
        self.inner = inner
        with torch.no_grad():
            width = self.flat(example).shape[1]
        self.head = nn.Linear(width, 2)

    def flat(self, inputs: Tensor) -> Tensor:
        found = (
            self.inner(inputs, inputs, inputs) if isinstance(self.inner, nn.MultiheadAttention) else self.inner(inputs)
        )
        return (found[0] if isinstance(found, tuple) else found).flatten(1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.flat(inputs))
