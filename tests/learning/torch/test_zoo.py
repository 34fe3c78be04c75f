"""Models that mix, sort, route or remember rows: each is refused, or one more row moves the clipped sum by one norm."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import ClippedGradients  # noqa: E402

WIDTH = 4
REFUSED = "refused"
Loss = Callable[[Tensor, Tensor], Tensor]


def product(output: Tensor, target: Tensor) -> Tensor:
    return output[:, 0] * target


def rows(count: int) -> tuple[Tensor, Tensor]:
    """Rows whose first number is a flag that every other one has, and targets of both signs."""
    generator = torch.Generator().manual_seed(count)
    inputs = torch.randn(count, WIDTH, generator=generator)
    inputs[:, 0] = 2.0 * (torch.arange(count) % 2)
    return inputs, torch.randn(count, generator=generator).sign() * 3


class Model(nn.Module):
    """Two layers, with something between them or before them."""

    def __init__(self, between: Callable[["Model", Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.between = nn.Linear(WIDTH, 3), nn.Linear(3, 2), between
        self.register_buffer("buffer", torch.zeros(()))
        self.frozen = nn.Parameter(torch.zeros(()), requires_grad=False)
        self.plain, self.kept = torch.zeros(()), {"list": [0.0]}

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(self.between(self, inputs))


def by_flag(at: Model, inputs: Tensor) -> Tensor:
    order = torch.argsort((inputs[:, 0] > 1.5).float(), stable=True)
    return at.first(inputs[order])[torch.argsort(order)]


def median_loss(output: Tensor, target: Tensor) -> Tensor:
    losses = product(output, target)
    return losses * (losses >= losses.median())


def by_maximum(at: Model, inputs: Tensor) -> Tensor:
    return at.first(inputs / inputs.abs().max().clamp(min=1))


def in_threes(at: Model, inputs: Tensor) -> Tensor:
    return at.first(inputs - inputs.mean(0) if len(inputs) > 2 else inputs)


def observer(at: Model, inputs: Tensor) -> Tensor:
    at.buffer.copy_(torch.maximum(at.buffer, inputs.detach().abs().max().clamp(min=1)))
    return at.first(inputs / at.buffer)


def frozen_statistics(at: Model, inputs: Tensor) -> Tensor:
    at.frozen.data.mul_(0.9).add_(inputs.detach().mean(), alpha=0.1)
    return at.first(inputs - at.frozen)


def trained_weight(at: Model, inputs: Tensor) -> Tensor:
    at.first.bias.data += inputs.detach().mean()
    return at.first(inputs)


def attribute(at: Model, inputs: Tensor) -> Tensor:
    at.plain = at.plain + inputs.detach().mean()
    return at.first(inputs + at.plain)


def number(at: Model, inputs: Tensor) -> Tensor:
    at.kept["list"][0] += float(inputs.detach().mean())
    return at.first(inputs + at.kept["list"][0])


ZOO: dict[str, tuple[Callable[[], nn.Module], Loss, str]] = {
    "sorted by a flag": (lambda: Model(by_flag), product, "layers"),
    "median loss": (lambda: Model(lambda at, x: at.first(x)), median_loss, REFUSED),
    "batch maximum": (lambda: Model(by_maximum), product, REFUSED),
    "mixed in threes": (lambda: Model(in_threes), product, REFUSED),
    "observer": (lambda: Model(observer), product, REFUSED),
    "statistics in a frozen parameter": (lambda: Model(frozen_statistics), product, REFUSED),
    "forward moves a weight": (lambda: Model(trained_weight), product, REFUSED),
    "statistics in an attribute": (lambda: Model(attribute), product, REFUSED),
    "statistics in a list of a dict": (lambda: Model(number), product, REFUSED),
}


def size(found: list[Tensor]) -> float:
    return float(torch.stack([one.square().sum() for one in found]).sum().sqrt())


def farthest(clipped: ClippedGradients, count: int) -> float:
    """How far the sum moves with one more row at either end, which turns all flags before or after it."""
    inputs, targets = rows(count)
    without = clipped(inputs, targets)
    row, target = torch.full((1, WIDTH), 2.0), torch.tensor([3.0])
    moves = []
    for parts in ((row, inputs), (inputs, row)):
        found = clipped(torch.cat(parts), torch.cat((target, targets) if parts[0] is row else (targets, target)))
        moves.append(size([a - b for a, b in zip(found, without, strict=True)]))
    return max(moves)


def everything(model: nn.Module) -> list[Any]:
    """What a model holds, as values."""
    held = [(name, one.tolist()) for name, one in model.state_dict().items()]
    return [held, [(name, str(one)) for name, one in vars(model).items() if not name.startswith("_")]]


@pytest.mark.parametrize("name", ZOO)
def test_each_is_refused_or_moves_by_one_norm_and_keeps_nothing(name: str) -> None:
    make, loss, way = ZOO[name]
    model = make()
    before = everything(model)
    clipped = ClippedGradients(model, loss, norm=1)
    if way == REFUSED:
        with pytest.raises(InvalidParameterError):
            clipped(*rows(4))
    else:
        for count in (10, 100, 1000) if way != "loop" else (10, 100):
            assert farthest(clipped, count) <= 1
        assert clipped.way == way
    assert everything(model) == before
