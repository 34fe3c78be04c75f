"""Models that mix, sort, route or remember rows: each is refused, or one more row moves the clipped sum by one norm."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.utils import parametrizations  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import ClippedGradients  # noqa: E402
from deniable.learning.torch.layers import LayerCall  # noqa: E402

WIDTH = 4
Loss = Callable[[Tensor, Tensor], Tensor]
Between = Callable[[Any, Tensor], Tensor]


def rows(count: int) -> tuple[Tensor, Tensor]:
    """Rows whose first number is a flag that every other one has, and targets of both signs."""
    generator = torch.Generator(torch.get_default_device()).manual_seed(count)
    inputs = torch.randn(count, WIDTH, generator=generator)
    inputs[:, 0] = 2.0 * (torch.arange(count) % 2)
    return inputs, torch.randn(count, generator=generator).sign() * 3


class Model(nn.Module):
    """Something of inputs, which may use a layer `first`, and a layer that reads it."""

    def __init__(self, between: Between, width: int = 3, **more: object) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.other, self.last = nn.Linear(WIDTH, 3), nn.Linear(WIDTH, 3), nn.Linear(width, 2)
        self.between, self.plain, self.kept = between, torch.zeros(()), {"list": [0.0], "calls": 0}
        self.register_buffer("buffer", torch.zeros(()))
        self.register_buffer("codes", torch.arange(15.0).sin().reshape(5, 3))
        self.frozen = nn.Parameter(torch.zeros(()), requires_grad=False)
        for name, one in more.items():
            setattr(self, name, one)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(self.between(self, inputs))


def product(output: Tensor, target: Tensor) -> Tensor:
    return output[:, 0] * target


def plain(at: Model, x: Tensor) -> Tensor:
    return at.first(x)


def ordered(at: Model, x: Tensor, key: Callable[[Tensor], Tensor]) -> Tensor:
    order = torch.argsort(key(x), stable=True)
    return at.first(x[order])[torch.argsort(order)]


def preallocated(at: Model, x: Tensor) -> Tensor:
    out, flag = x.new_zeros(len(x), 3), x[:, 0] > 1.5
    out[flag], out[~flag] = at.first(x[flag]), at.other(x[~flag])
    return out


def experts(at: Model, x: Tensor) -> Tensor:
    chosen, out = x[:, :2].argmax(1), torch.zeros(len(x), 3)
    for index, layer in enumerate((at.first, at.other)):
        places = (chosen == index).nonzero()[:, 0]
        out = out.index_add(0, places, layer(x[places]))
    return out


def capacity(at: Model, x: Tensor) -> Tensor:
    """An expert that takes the first three rows that want it."""
    wants = x[:, 1] > 0
    takes = wants & (wants.cumsum(0) <= 3)
    return torch.where(takes[:, None], at.first(x), at.other(x))


def by_length(at: Any, x: Tensor) -> Tensor:
    order = (x[:, 0] > 1.5).long().argsort(descending=True)
    return at.read(x[order][:, :, None])[0][:, -1][order.argsort()]


def looked_up(at: Model, x: Tensor) -> Tensor:
    found = at.first(x)
    near = at.codes[torch.cdist(found, at.codes).argmin(1)]
    return found + (near - found).detach()


def moving_codes(at: Model, x: Tensor) -> Tensor:
    found = at.first(x)
    chosen = torch.cdist(found, at.codes).argmin(1)
    for code in chosen.unique():
        at.codes[code] = 0.9 * at.codes[code] + 0.1 * found[chosen == code].mean(0).detach()
    return at.codes[chosen] + found


def set_attribute(at: Model, x: Tensor) -> Tensor:
    at.plain = at.plain + x.detach().mean()
    return at.first(x + at.plain)


def add_number(at: Model, x: Tensor) -> Tensor:
    at.kept["list"][0] += float(x.detach().mean())
    return at.first(x + at.kept["list"][0])


def keep_last(at: Model, x: Tensor) -> Tensor:
    """An attribute that only what comes next reads, above all that a rehearsal shows."""
    out = at.first(x) + at.plain
    if (x > 2500).any():
        at.plain, at.kept["list"] = x.detach().mean(), [1.0]
        at.buffer += 1
        at.first.weight.data.mul_(2)
        at.frozen.data = at.frozen.data + x.detach().mean()
    return out


def cached(at: Model, x: Tensor) -> Tensor:
    at.last_seen = x
    return at.first(x)


def counts(at: Model, x: Tensor) -> Tensor:
    at.kept["calls"] += 1
    return at.first(x) if at.kept["calls"] < 3 else at.first(x - x.mean(0))


def centred(x: Tensor, least: int = 1) -> Tensor:
    return x - x.mean(0) if len(x) > least else x


def hooked(change: Callable[[Tensor], Tensor]) -> Between:
    def between(at: Model, x: Tensor) -> Tensor:
        found = at.first(x)
        if found.requires_grad:
            found.register_hook(change)
        return found

    return between


class Mixing(torch.autograd.Function):
    """Mixes gradients of a batch, and has no rule for vmap."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad.sum(0, keepdim=True).expand_as(grad)


class OwnRule(torch.autograd.Function):
    """Gives what it reads, and under vmap, by a rule of its own, that of another row of a large batch."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return OwnRule.apply(x.flip(0) if info.batch_size > 9 else x), in_dims[0]


def with_running_loss() -> Loss:
    mean = torch.zeros(())

    def loss(output: Tensor, target: Tensor) -> Tensor:
        nonlocal mean
        losses = product(output, target)
        mean = 0.9 * mean + 0.1 * losses.detach().mean()
        return losses - output[:, 1] * mean

    return loss


def norm_later() -> nn.Module:
    model = Model(plain)
    model.first.register_forward_hook(lambda at, args, out: functional.layer_norm(out, (3,)))
    return model


def tied() -> nn.Module:
    model = Model(lambda at, x: at.first(x) + at.other(x))
    model.other.weight = model.first.weight
    return model


def fake_quantised() -> nn.Module:
    from torch.ao.quantization import FakeQuantize

    return Model(lambda at, x: at.first(at.quantise(x)), quantise=FakeQuantize())


def of(between: Between, *width: int, **more: object) -> Callable[[], nn.Module]:
    return lambda: Model(between, *width, **more)


def loss_of(change: Callable[[Tensor], Tensor]) -> Callable[[], Loss]:
    """Losses of a row that a function of those of the batch changes."""
    return lambda: lambda output, target: change(product(output, target))


def twice(x: Tensor) -> Tensor:
    return torch.cat([x, x])[: len(x)]


REFUSED: dict[str, Callable[[], nn.Module]] = {
    "batch norm": of(lambda at, x: at.norm(at.first(x)), norm=nn.BatchNorm1d(3)),
    "frozen batch norm": of(lambda at, x: at.norm(at.first(x)), norm=nn.BatchNorm1d(3).eval()),
    "batch norm by hand": of(lambda at, x: at.first((x - x.mean(0)) / (x.var(0, correction=0) + 1e-3).sqrt())),
    "functional batch norm": of(lambda at, x: functional.batch_norm(at.first(x), None, None, training=len(x) > 1)),
    "batch maximum": of(lambda at, x: at.first(x / x.abs().max().clamp(min=1))),
    "mixed in threes": of(lambda at, x: at.first(centred(x, 2))),
    "attention over the batch": of(lambda at, x: at.first(torch.softmax(x @ x.T, 1) @ x)),
    "softmax over the batch": of(lambda at, x: torch.softmax(at.first(x), 0)),
    "sum of all before": of(lambda at, x: at.first(x).cumsum(0)),
    "difference to the next": of(lambda at, x: at.first(x - x.roll(1, 0))),
    "batch as a sequence": of(lambda at, x: at.read(at.first(x)[:, None])[0][:, 0], read=nn.RNN(3, 3)),
    "batch as channels": of(lambda at, x: functional.instance_norm(at.first(x).T[None])[0].T),
    "branch of the batch": of(lambda at, x: at.first(x) if (x[:, 0] > 0).all() else at.other(x)),
    "pooled in large batches": of(lambda at, x: at.first(x) if len(x) < 9 else at.first(x).mean(0).expand(len(x), 3)),
    "mixup of inputs": of(lambda at, x: at.first(0.7 * x + 0.3 * x.flip(0))),
    "graph of the batch": of(lambda at, x: at.first((torch.cdist(x, x) < 2).float() @ x)),
    "rank in the batch": of(lambda at, x: at.first(x) * x[:, :1].argsort(0).argsort(0)),
    "divided by the size": of(lambda at, x: at.first(x) / len(x)),
    "observer": of(lambda at, x: at.first(x / at.buffer.copy_(torch.maximum(at.buffer, x.detach().abs().max())))),
    "observer of large values": of(
        lambda at, x: at.first(x) + at.buffer.copy_(torch.maximum(at.buffer, x.detach().abs().max().clamp(min=1)))
    ),
    "fake quantisation": fake_quantised,
    "running mean in a frozen parameter": of(lambda at, x: at.first(x - at.frozen.lerp_(x.detach().mean(), 0.1))),
    "running mean by data": of(lambda at, x: at.first(x) + at.frozen.data.add_(x.detach().mean())),
    "running mean in a buffer": of(lambda at, x: at.first(x - at.buffer.lerp_(x.detach().mean(), 0.1))),
    "forward moves a bias": of(lambda at, x: at.first(x) + at.first.bias.data.add_(x.detach().mean())),
    "moving codebook": of(moving_codes),
    "statistics in an attribute": of(set_attribute),
    "statistics in a list": of(add_number),
    "spectral norm": lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(WIDTH, 3)), nn.Linear(3, 2)),
    "mixes once it was called": of(counts),
}

LOSSES: dict[str, Callable[[], Loss]] = {
    "median": loss_of(lambda found: found * (found >= found.median())),
    "mean": loss_of(lambda found: found.mean().expand(len(found))),
    "centred": loss_of(lambda found: found - found.mean()),
    "hardest half": loss_of(lambda found: found * (found >= found.quantile(0.5))),
    "maximum": loss_of(lambda found: found / found.abs().max().clamp(min=1)),
    "distribution over rows": loss_of(lambda found: found.softmax(0)),
    "ranking": loss_of(lambda found: torch.relu(found[:, None] - found).mean(1)),
    "in-batch negatives": lambda: (
        lambda o, t: functional.cross_entropy(o @ o.T, torch.arange(len(o)), reduction="none")
    ),
    "contrastive": lambda: (
        lambda o, t: -((functional.normalize(o) @ functional.normalize(o).T) * (t[:, None] == t).float()).sum(1)
    ),
    "hardest triplet": lambda: lambda o, t: torch.relu(torch.cdist(o, o.flip(0)).amax(1) - product(o, t)),
    "mixup of targets": lambda: lambda o, t: product(o, 0.7 * t + 0.3 * t.flip(0)),
    "weights of classes": lambda: lambda o, t: product(o, t) / (t[:, None] > t).float().sum(1).add(1),
    "running mean": with_running_loss,
}

ACCEPTED: dict[str, Callable[[], nn.Module]] = {
    "sorted by a flag": of(lambda at, x: ordered(at, x, lambda x: (x[:, 0] > 1.5).float())),
    "sorted by a sum": of(lambda at, x: ordered(at, x, lambda x: x.sum(1))),
    "in reverse": of(lambda at, x: at.first(x.flip(0)).flip(0)),
    "rolled": of(lambda at, x: at.first(x.roll(1, 0)).roll(-1, 0)),
    "largest first": of(lambda at, x: ordered(at, x, lambda x: -x.abs().amax(1))),
    "recurrent, sorted by length": of(by_length, read=nn.LSTM(1, 3, batch_first=True)),
    "gated recurrent, sorted by length": of(by_length, read=nn.GRU(1, 3, batch_first=True)),
    "routed by a mask": of(preallocated),
    "experts by index": of(experts),
    "experts by where": of(lambda at, x: torch.where(x[:, :1] > 1.5, at.first(x), at.other(x))),
    "experts by weights": of(
        lambda at, x: (at.gate(x).softmax(1)[:, :, None] * torch.stack([at.first(x), at.other(x)], 1)).sum(1),
        gate=nn.Linear(WIDTH, 2),
    ),
    "branch of large values": of(lambda at, x: at.first(x) if (x[:, 0] > 2500).any() else at.other(x)),
    "expert of limited capacity": of(capacity),
    "codebook": of(looked_up),
    "cache": of(cached),
    "keeps what is very large": of(keep_last),
    "mixed in hundreds": of(lambda at, x: at.first(centred(x, 99))),
    "mixed where it is very large": of(lambda at, x: at.first(torch.where((x > 2500).any(), x.mean(0), x))),
    "normalised where it is very large": of(lambda at, x: at.first(x / (x.abs().max() / 2500).clamp(min=1))),
    "gradient of the batch mean": of(lambda at, x: at.first(x) + at.other(x).mean(0) - at.other(x).mean(0).detach()),
    "gradients over their norm": of(hooked(lambda grad: grad / grad.norm())),
    "gradients in reverse": of(hooked(lambda grad: grad.flip(0))),
    "gradients summed up": of(lambda at, x: Mixing.apply(at.first(x))),
    "a rule for vmap that mixes rows": of(lambda at, x: OwnRule.apply(at.first(x))),
    "checkpoint": of(lambda at, x: checkpoint(at.first, x, use_reentrant=False)),
    "layer used twice": of(lambda at, x: at.first(x) + at.first(2 * x).tanh()),
    "layer used on halves": of(lambda at, x: torch.cat([at.first(x[: len(x) // 2]), at.first(x[len(x) // 2 :])])),
    "tied": tied,
    "weight read": of(lambda at, x: at.first(x) + x @ at.first.weight.T),
    "weight norm": lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(WIDTH, 3)), nn.Linear(3, 2)),
    "rows as time": of(lambda at, x: at.read(at.first(x)[None])[0][0], read=nn.RNN(3, 3, batch_first=False)),
    "attention over places": of(
        lambda at, x: at.read(*[x[:, :, None]] * 3)[0][:, :3, 0], read=nn.MultiheadAttention(1, 1, batch_first=True)
    ),
    "convolution over the batch": of(lambda at, x: at.read(at.first(x).T[None])[0].T, read=nn.Conv1d(3, 3, 1)),
    "embedding of a sign": of(lambda at, x: at.table((x > 0).long()).sum(1), table=nn.Embedding(2, 3)),
    "places": of(lambda at, x: at.table(torch.arange(WIDTH)).sum(0) + at.first(x), table=nn.Embedding(WIDTH, 3)),
    "batch in pairs": of(lambda at, x: at.first(twice(x))),
    "group norm": of(lambda at, x: at.norm(at.first(x)), norm=nn.GroupNorm(1, 3)),
    "hook added later": norm_later,
    "numbers of Python": of(lambda at, x: torch.stack([at.first(row * float(row[0])) for row in x])),
}


def size(found: list[Tensor]) -> float:
    return float(torch.stack([one.square().sum() for one in found]).sum().sqrt())


def farthest(clipped: ClippedGradients, count: int) -> float:
    """How far the sum moves with one more row, which turns the flags of all that follow, or is very large."""
    inputs, targets = rows(count)
    without, target, moves = clipped(inputs, targets), torch.tensor([3.0]), []
    for row in (torch.full((1, WIDTH), 2.0), torch.full((1, WIDTH), 3000.0)):
        found = clipped(torch.cat((row, inputs)), torch.cat((target, targets)))
        moves.append(size([a - b for a, b in zip(found, without, strict=True)]))
    return max(moves)


class ByPlace(ClippedGradients):
    """Takes what stands at a place of the whole batch inside a layer for the row of that place, as others do."""

    def _record_layers(self, inputs: Tensor, targets: Tensor) -> list[LayerCall]:
        calls = [LayerCall(layer, ((), {})) for layer in self._layers]

        def hear(call: LayerCall, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
            call.arguments = (args, {})
            output = output if output.requires_grad else output.detach().requires_grad_()
            output.register_hook(lambda grad: call.returned.update({0: grad}))
            return output

        hooks = [call.layer.module.register_forward_hook(lambda at, args, out, call=call: hear(call, args, out))
                 for call in calls]  # fmt: skip
        with torch.enable_grad():
            for parameter in self.parameters:
                parameter.requires_grad_(False)
            self.loss(self.model(inputs), targets).sum().backward()
        for parameter in self.parameters:
            parameter.requires_grad_(True)
        for hook in hooks:
            hook.remove()
        return calls


def everything(model: nn.Module) -> list[Any]:
    """What a model holds, as values."""
    held = [(name, one.tolist()) for name, one in (*model.named_parameters(), *model.named_buffers())]
    return [held, [(name, str(one)) for name, one in vars(model).items() if not name.startswith("_")]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [*REFUSED, *LOSSES])
def test_models_and_losses_that_mix_or_remember_made_up_rows_are_refused(name: str) -> None:
    model, loss = REFUSED.get(name, of(plain))(), LOSSES.get(name, lambda: product)()
    before = everything(model)
    with pytest.raises(InvalidParameterError):
        ClippedGradients(model, loss, norm=1)(*rows(4))
    assert everything(model) == before


@pytest.mark.parametrize("name", ACCEPTED)
def test_one_more_row_moves_what_is_accepted_by_one_norm_and_nothing_is_kept(name: str) -> None:
    model = ACCEPTED[name]()
    before = everything(model)
    clipped = ClippedGradients(model, product, norm=1)
    for count in (10, 100, 1000):
        if count < 1000 or clipped.method != "loop" or name == "routed by a mask":
            assert farthest(clipped, count) <= 1
    assert everything(model) == before


def test_by_place_one_row_would_move_the_gradients_of_all_others() -> None:
    class Sorts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.first, self.last = nn.Linear(WIDTH, 3), nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(ordered(self, x, lambda x: (x[:, 0] > 1.5).float()))  # type: ignore[arg-type]

    assert farthest(ByPlace(Sorts(), product, norm=1, method="layers"), 100) > 1.1
    assert farthest(ClippedGradients(Sorts(), product, norm=1, method="layers"), 100) <= 1


def test_without_putting_back_what_changed_a_row_would_stay_in_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(keep_last)
    clipped = ClippedGradients(model, product, norm=1)
    clipped(*rows(3))
    before = everything(model)
    monkeypatch.setattr("deniable.learning.torch.state.State.restore", lambda self: None)
    assert farthest(clipped, 10) > 1
    assert everything(model) != before
