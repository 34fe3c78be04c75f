"""Layers whose per-example gradients follow from what went in and what came back: one rule each."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from deniable.learning.torch.batches import in_batches
from deniable.learning.torch.pieces import Dense, Lookup, Piece, Product

_SMALL = 2**14  # numbers in a gradient
Rule = Callable[[Any, Tensor, Tensor], list[Piece]]
_AGAIN = (nn.MultiheadAttention, nn.LSTM, nn.GRU, nn.RNN)  # run once more for each example, where they draw nothing


def linear(layer: nn.Linear, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Split a linear layer; all places of an example share its weight."""
    inputs, outputs = (side.reshape(len(side), -1, side.shape[-1]) for side in (inputs, outputs))
    found = [_product(layer.weight, inputs, outputs)]
    return found if layer.bias is None else [*found, Dense(layer.bias, outputs.sum(1))]


def _product(weight: Tensor, inputs: Tensor, outputs: Tensor) -> Piece:
    """Gradients outputs^T inputs: formed only where they are small, or smaller than two Gram matrices."""
    length, size = inputs.shape[1], inputs.shape[2] * outputs.shape[2]
    if length > 1 and size < max(2 * length**2, _SMALL):
        return Dense(weight, (outputs.mT @ inputs).reshape(-1, *weight.shape))
    return Product(weight, inputs, outputs)


def convolution(layer: Any, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Split a convolution in any dimensions: a linear layer on patches, one for each group."""
    examples, inner = len(inputs), len(layer.kernel_size) + 1
    inputs, outputs = (side.reshape(-1, *side.shape[-inner:]) for side in (inputs, outputs))
    patches = _patches(layer, inputs)
    patches = patches.view(examples, -1, *patches.shape[1:]).transpose(1, 2).flatten(2, 3)
    outputs = outputs.reshape(examples, -1, layer.groups, layer.out_channels // layer.groups, outputs[0, 0].numel())
    outputs = outputs.permute(0, 2, 3, 1, 4).flatten(3)  # (examples, groups, channels, places)
    if layer.groups == 1:
        found = [_product(layer.weight, patches[:, 0], outputs[:, 0].mT)]
    else:
        found = [Dense(layer.weight, (outputs @ patches).reshape(-1, *layer.weight.shape))]
    return found if layer.bias is None else [*found, Dense(layer.bias, outputs.sum(3).flatten(1))]


def _patches(layer: Any, inputs: Tensor) -> Tensor:
    """What each place of the output looks at, of shape (examples, groups, places, numbers)."""
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    inputs = functional.pad(inputs, layer._reversed_padding_repeated_twice, mode=mode)
    (examples, channels, *sizes), (first, second, *steps) = inputs.shape, inputs.stride()
    kernel, channels = layer.kernel_size, channels // layer.groups
    fields = zip(sizes, kernel, layer.stride, layer.dilation, strict=True)
    places = [(size - reach * (width - 1) - 1) // stride + 1 for size, width, stride, reach in fields]
    moves = [step * stride for step, stride in zip(steps, layer.stride, strict=True)]
    inside = [step * reach for step, reach in zip(steps, layer.dilation, strict=True)]
    shape = (examples, layer.groups, channels, *kernel, *places)
    view = inputs.as_strided(shape, (first, second * channels, second, *inside, *moves))
    return view.reshape(examples, layer.groups, -1, math.prod(places)).mT


def embedding(layer: nn.Embedding, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Split an embedding; codes that are padding get nothing."""
    codes, outputs = inputs.reshape(len(inputs), -1, 1), outputs.reshape(len(inputs), -1, layer.embedding_dim)
    if layer.padding_idx is not None:
        outputs = outputs.masked_fill(codes == layer.padding_idx, 0)
    return [Lookup(layer.weight, codes, outputs)]


def _scaling(plain: Callable[[Any, Tensor], Tensor], *, channels: bool = False) -> Rule:
    """The rule of a layer that normalises each example, and then scales and shifts channels or the last dimensions."""

    def rule(layer: Any, inputs: Tensor, outputs: Tensor) -> list[Piece]:
        shape = layer.weight.shape
        normal = plain(layer, inputs.flatten(0, 1)).view_as(inputs) if channels else plain(layer, inputs)
        sides = [(layer.weight, outputs * normal), (getattr(layer, "bias", None), outputs)]
        held = [(one, side) for one, side in sides if one is not None]
        if channels:
            return [Dense(one, side.reshape(*side.shape[:2], *shape, -1).sum((1, 3))) for one, side in held]
        return [Dense(one, side.reshape(len(side), -1, *shape).sum(1)) for one, side in held]

    return rule


RULES: dict[type, Rule] = {
    nn.Linear: linear,
    nn.Embedding: embedding,
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), convolution),
    nn.LayerNorm: _scaling(lambda at, x: functional.layer_norm(x, at.normalized_shape, eps=at.eps)),
    nn.RMSNorm: _scaling(lambda at, x: functional.rms_norm(x, at.normalized_shape, eps=at.eps)),
    nn.GroupNorm: _scaling(lambda at, x: functional.group_norm(x, at.num_groups, eps=at.eps), channels=True),
}


class Layer(NamedTuple):
    """A module that holds trainable parameters, with the rule that splits its gradient, if there is one."""

    module: nn.Module
    parameters: dict[str, nn.Parameter]
    rule: Rule | None


@dataclass
class Call:
    """What went into a layer in one forward pass, and the gradients that came back to its outputs: examples first."""

    layer: Layer
    arguments: tuple[Any, Any]
    returned: dict[int, Tensor] = field(default_factory=dict)

    def hear(self, output: Any) -> Any:
        """The output of the layer for one example under vmap, from which the gradients of all of them will come."""
        leaves, shape = tree_flatten((self.arguments, output))
        inputs = len(tree_flatten(self.arguments)[0])
        held = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

        def seen(batches: list[Tensor]) -> list[Tensor]:
            for index, batch in zip(held, batches, strict=True):
                leaves[index] = batch
                if index >= inputs and batch.is_floating_point():
                    # a copy of the first outputs, since a leaf could not be changed in place
                    leaves[index] = batch if batch.requires_grad else batch.detach().requires_grad_().clone()
                    leaves[index].register_hook(partial(self.returned.__setitem__, index - inputs))
            self.arguments = tree_unflatten(leaves, shape)[0]
            return [leaves[index] for index in held]

        outputs = in_batches(seen, [leaves[index] for index in held])
        for index, one in zip(held, outputs, strict=True):
            leaves[index] = one
        return tree_unflatten(leaves, shape)[1]

    def pieces(self, rows: slice) -> list[Piece]:
        """Per-example gradients of these rows of the batch; none where nothing came back."""
        if not self.returned:
            return []
        layer = self.layer
        inputs, back = ([_rows(leaf, rows) for leaf in ones] for ones in (
            tensors(self.arguments), self.returned.values()))  # fmt: skip
        if layer.rule is not None:
            trained = {id(parameter) for parameter in layer.parameters.values()}
            return [piece for piece in layer.rule(layer.module, inputs[0], back[0]) if id(piece.parameter) in trained]

        def response(values: dict[str, Tensor], *row: Tensor) -> Tensor:
            args, kwargs = filled(self.arguments, row)
            outputs = tree_flatten(torch.func.functional_call(layer.module, values, args, kwargs))[0]
            pairs = zip(self.returned, row[len(inputs) :], strict=True)
            return torch.stack([(outputs[index] * one).sum() for index, one in pairs]).sum()

        return by_vmap(response, layer.parameters, [*inputs, *back])


def _rows(leaf: Tensor, rows: slice) -> Tensor:
    """Some examples of what a layer saw, without history, in float32 unless it is more precise or counts something."""
    whole = leaf.detach()[rows]
    return whole.float() if leaf.dtype in (torch.float16, torch.bfloat16) else whole


def tensors(tree: Any) -> list[Tensor]:
    """The tensors among arguments, in order."""
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, Tensor)]


def filled(tree: Any, row: Sequence[Tensor]) -> Any:
    """Arguments whose tensors are those in `row`."""
    given = iter(row)
    return tree_map(lambda leaf: next(given) if isinstance(leaf, Tensor) else leaf, tree)


def by_vmap(
    function: Callable[..., Tensor], parameters: dict[str, nn.Parameter], arguments: list[Tensor]
) -> list[Piece]:
    """Gradients of a function of parameters and the arguments of one example, for each row of the arguments."""
    values = {name: parameter.detach() for name, parameter in parameters.items()}
    each = torch.func.vmap(torch.func.grad(function), in_dims=(None, *[0] * len(arguments)), randomness="different")
    found, wide = each(values, *arguments), torch.float32
    return [Dense(one, found[name].to(torch.promote_types(one.dtype, wide))) for name, one in parameters.items()]


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that may learn, by name."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def layers_of(model: nn.Module) -> list[Layer]:
    """The layers that hold trainable parameters; none if one of them is unknown, or two hold the same parameter."""
    found = list(_cover(model))
    held = [id(one) for layer in found if layer is not None for one in layer.parameters.values()]
    known = [layer for layer in found if layer is not None]
    return known if len(known) == len(found) and len(held) == len(set(held)) else []


def _cover(module: nn.Module) -> Iterator[Layer | None]:
    rule = RULES.get(type(module))
    if isinstance(module, nn.Embedding) and (module.scale_grad_by_freq or module.sparse):
        rule = None
    if rule is not None or (isinstance(module, _AGAIN) and module.dropout == 0 and module.batch_first):
        if trainable(module):
            yield Layer(module, trainable(module), rule)
    elif any(parameter.requires_grad for parameter in module.parameters(recurse=False)):
        yield None
    else:
        for inner in module.children():
            yield from _cover(inner)
