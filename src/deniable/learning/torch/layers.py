"""Layers whose per-example gradients follow from inputs and output gradients."""

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

_SMALL_GRADIENT = 2**14  # numbers in a gradient that is cheaper to form than two Gram matrices
Rule = Callable[[Any, Tensor, Tensor], list[Piece]]
_RERUN = (nn.MultiheadAttention, nn.LSTM, nn.GRU, nn.RNN)  # run once more for each example, if they draw nothing


def linear(layer: nn.Linear, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Return the gradients of a linear layer.

    All positions of an example share its weight.
    """
    inputs = inputs.reshape(len(inputs), -1, inputs.shape[-1])
    outputs = outputs.reshape(len(outputs), -1, outputs.shape[-1])
    pieces = [_product(layer.weight, inputs, outputs)]
    return pieces if layer.bias is None else [*pieces, Dense(layer.bias, outputs.sum(1))]


def _product(weight: Tensor, inputs: Tensor, outputs: Tensor) -> Piece:
    """Return gradients outputs^T inputs, formed or as a product.

    They are formed only if they are small, or smaller than two Gram matrices.
    """
    length = inputs.shape[1]
    size = inputs.shape[2] * outputs.shape[2]
    if length > 1 and size < max(2 * length**2, _SMALL_GRADIENT):
        return Dense(weight, (outputs.mT @ inputs).reshape(-1, *weight.shape))
    return Product(weight, inputs, outputs)


def convolution(layer: Any, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Return the gradients of a convolution in any number of dimensions.

    It is a linear layer on patches, for each group.
    """
    examples = len(inputs)
    inner = len(layer.kernel_size) + 1
    inputs = inputs.reshape(-1, *inputs.shape[-inner:])
    outputs = outputs.reshape(-1, *outputs.shape[-inner:])
    patches = _patches(layer, inputs)
    patches = patches.view(examples, -1, *patches.shape[1:]).transpose(1, 2).flatten(2, 3)
    outputs = outputs.reshape(examples, -1, layer.groups, layer.out_channels // layer.groups, outputs[0, 0].numel())
    outputs = outputs.permute(0, 2, 3, 1, 4).flatten(3)  # (examples, groups, channels, positions)
    if layer.groups == 1:
        pieces = [_product(layer.weight, patches[:, 0], outputs[:, 0].mT)]
    else:
        pieces = [Dense(layer.weight, (outputs @ patches).reshape(-1, *layer.weight.shape))]
    return pieces if layer.bias is None else [*pieces, Dense(layer.bias, outputs.sum(3).flatten(1))]


def _patches(layer: Any, inputs: Tensor) -> Tensor:
    """Return the input patch of each output position.

    Shape (examples, groups, positions, numbers).
    """
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    inputs = functional.pad(inputs, layer._reversed_padding_repeated_twice, mode=mode)
    examples, channels, *sizes = inputs.shape
    first, second, *steps = inputs.stride()
    kernel = layer.kernel_size
    channels = channels // layer.groups
    fields = zip(sizes, kernel, layer.stride, layer.dilation, strict=True)
    positions = [(size - dilation * (width - 1) - 1) // stride + 1 for size, width, stride, dilation in fields]
    between = [step * stride for step, stride in zip(steps, layer.stride, strict=True)]
    within = [step * dilation for step, dilation in zip(steps, layer.dilation, strict=True)]
    shape = (examples, layer.groups, channels, *kernel, *positions)
    view = inputs.as_strided(shape, (first, second * channels, second, *within, *between))
    return view.reshape(examples, layer.groups, -1, math.prod(positions)).mT


def embedding(layer: nn.Embedding, inputs: Tensor, outputs: Tensor) -> list[Piece]:
    """Return the gradients of an embedding; codes that are padding have none."""
    codes = inputs.reshape(len(inputs), -1, 1)
    outputs = outputs.reshape(len(inputs), -1, layer.embedding_dim)
    if layer.padding_idx is not None:
        outputs = outputs.masked_fill(codes == layer.padding_idx, 0)
    return [Lookup(layer.weight, codes, outputs)]


def _scaling(plain: Callable[[Any, Tensor], Tensor], *, channels: bool = False) -> Rule:
    """Return the rule of a layer that normalises each example.

    It then scales and shifts channels or last dimensions.
    """

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
    """A module with trainable parameters, and its rule for per-example gradients.

    The rule is None if there is none.
    """

    module: nn.Module
    parameters: dict[str, nn.Parameter]
    rule: Rule | None


@dataclass
class LayerCall:
    """Inputs of a layer in one forward pass, and the gradients of its outputs.

    Examples are the first dimension.
    """

    layer: Layer
    arguments: tuple[Any, Any]
    returned: dict[int, Tensor] = field(default_factory=dict)

    def record(self, output: Any) -> Any:
        """Record the gradients of an output under vmap, for all examples.

        Return the output for one.
        """
        leaves, shape = tree_flatten((self.arguments, output))
        inputs = len(tree_flatten(self.arguments)[0])
        held = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

        def hooked(batches: list[Tensor]) -> list[Tensor]:
            for index, batch in zip(held, batches, strict=True):
                leaves[index] = batch
                if index >= inputs and batch.is_floating_point():
                    # a copy of the first outputs, since a leaf could not be changed in place
                    leaves[index] = batch if batch.requires_grad else batch.detach().requires_grad_().clone()
                    leaves[index].register_hook(partial(self.returned.__setitem__, index - inputs))
            self.arguments = tree_unflatten(leaves, shape)[0]
            return [leaves[index] for index in held]

        outputs = in_batches(hooked, [leaves[index] for index in held])
        for index, one in zip(held, outputs, strict=True):
            leaves[index] = one
        return tree_unflatten(leaves, shape)[1]

    def pieces(self, rows: slice) -> list[Piece]:
        """Return per-example gradients of these rows of the batch.

        Nothing if the output has no gradient.
        """
        if not self.returned:
            return []
        layer = self.layer
        inputs = [_rows(leaf, rows) for leaf in tensors(self.arguments)]
        gradients = [_rows(leaf, rows) for leaf in self.returned.values()]
        if layer.rule is not None:
            trained = {id(parameter) for parameter in layer.parameters.values()}
            return [
                piece for piece in layer.rule(layer.module, inputs[0], gradients[0]) if id(piece.parameter) in trained
            ]

        def response(values: dict[str, Tensor], *row: Tensor) -> Tensor:
            args, kwargs = filled(self.arguments, row)
            outputs = tree_flatten(torch.func.functional_call(layer.module, values, args, kwargs))[0]
            pairs = zip(self.returned, row[len(inputs) :], strict=True)
            return torch.stack([(outputs[index] * one).sum() for index, one in pairs]).sum()

        return by_vmap(response, layer.parameters, [*inputs, *gradients])


def _rows(leaf: Tensor, rows: slice) -> Tensor:
    """Return some examples of a leaf, without history.

    They are in float32, unless the leaf is more precise or holds integers.
    """
    whole = leaf.detach()[rows]
    return whole.float() if leaf.dtype in (torch.float16, torch.bfloat16) else whole


def tensors(tree: Any) -> list[Tensor]:
    """Return the tensors among arguments, in order."""
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, Tensor)]


def filled(tree: Any, row: Sequence[Tensor]) -> Any:
    """Return arguments with the tensors of `row` in place of their own."""
    given = iter(row)
    return tree_map(lambda leaf: next(given) if isinstance(leaf, Tensor) else leaf, tree)


def by_vmap(
    function: Callable[..., Tensor], parameters: dict[str, nn.Parameter], arguments: list[Tensor]
) -> list[Piece]:
    """Return the gradient of a function of parameters and a row, for each row.

    A row has the arguments of one example.
    """
    values = {name: parameter.detach() for name, parameter in parameters.items()}
    each = torch.func.vmap(torch.func.grad(function), in_dims=(None, *[0] * len(arguments)), randomness="different")
    gradients = each(values, *arguments)
    pieces: list[Piece] = []
    for name, parameter in parameters.items():
        precise = torch.promote_types(parameter.dtype, torch.float32)
        pieces.append(Dense(parameter, gradients[name].to(precise)))
    return pieces


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the trainable parameters by name."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def layers_of(model: nn.Module) -> list[Layer]:
    """Return the layers with trainable parameters.

    None of them if one is unknown, or two hold the same parameter.
    """
    layers = list(_cover(model))
    known = [layer for layer in layers if layer is not None]
    parameters = [id(parameter) for layer in known for parameter in layer.parameters.values()]
    return known if len(known) == len(layers) and len(parameters) == len(set(parameters)) else []


def _cover(module: nn.Module) -> Iterator[Layer | None]:
    """Yield the layers inside a module that hold all its trainable parameters.

    None stands for an unknown one.
    """
    rule = RULES.get(type(module))
    if isinstance(module, nn.Embedding) and (module.scale_grad_by_freq or module.sparse):
        rule = None
    if rule is not None or (isinstance(module, _RERUN) and module.dropout == 0 and module.batch_first):
        if trainable(module):
            yield Layer(module, trainable(module), rule)
    elif any(parameter.requires_grad for parameter in module.parameters(recurse=False)):
        yield None
    else:
        for inner in module.children():
            yield from _cover(inner)
