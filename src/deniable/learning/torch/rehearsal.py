"""Rehearsal on made-up rows: whether a model gives each example a gradient of its own, and which way finds it.

Nothing here looks at private values: rows are made from types and shapes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from deniable.errors import InvalidParameterError
from deniable.learning.torch.pieces import Piece


def refuse(model: nn.Module) -> None:
    """Raise: InvalidParameterError for a model of which it is known that examples have no gradients of their own."""
    if hasattr(model, "_orig_mod"):
        raise InvalidParameterError("torch.compile hides the layers of the model. Pass the module that you gave to it")
    for name, module in model.named_modules():
        words = ""
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            words = "mixes the examples of a batch, so that none has a gradient of its own. Use torch.nn.GroupNorm"
        elif getattr(module, "track_running_stats", False):
            words = "keeps statistics of private rows. Build it with track_running_stats=False"
        elif isinstance(module, nn.Embedding) and module.max_norm is not None:
            words = "changes its weights by what it reads. Build it without max_norm"
        elif any(nn.parameter.is_lazy(parameter) for parameter in module.parameters(recurse=False)):
            words = "has no shape yet. Run the model once on made-up rows"
        if words:
            raise InvalidParameterError(f"{type(module).__name__} {name} {words}")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InvalidParameterError("the model has no trainable parameter. Call requires_grad_(True) on what may learn")


def refuse_coarse(device: torch.device) -> None:
    """Raise: InvalidParameterError if float32 products are rounded coarsely here, as TF32 does, whoever asked."""
    near = torch.full((2, 64, 64), 1 + 2.0**-20, device=device)
    exact = torch.equal(near @ torch.eye(64, device=device).expand(2, -1, -1), near)
    with suppress(RuntimeError):  # where parts of PyTorch were set apart, there is no answer for all
        exact &= torch.get_float32_matmul_precision() == "highest"
    if not exact:
        words = 'rounding is coarse. Call torch.set_float32_matmul_precision("highest"), and unset NVIDIA_TF32_OVERRIDE'
        raise InvalidParameterError(words)


def made_up(arguments: Any, *, low: float = -1) -> Any:
    """Three rows of the same types and shapes: numbers between `low` and 1, codes 0 and 1, flags that are off."""

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        shape = (3, *leaf.shape[1:])
        if leaf.is_floating_point():
            return (low + (1 - low) * (0.5 + 0.5 * _wave(shape, leaf.device))).to(leaf.dtype)
        return ((_wave(shape, leaf.device) > 0) & (leaf.dtype != torch.bool)).to(leaf.dtype)

    return tree_map(one, arguments)


def _wave(shape: Sequence[int], device: torch.device) -> Tensor:
    """Numbers between -1 and 1 that look like no others nearby."""
    return torch.arange(math.prod(shape), device=device, dtype=torch.float32).mul_(2.4).add_(1).sin_().reshape(*shape)


def only(arguments: Any, rows: Any) -> Any:
    """These rows of the arguments."""
    return tree_map(lambda leaf: leaf[rows] if isinstance(leaf, Tensor) else leaf, arguments)


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Move trainable parameters a little, so that none starts at zero; then leave all as it was, random streams too.

    Raises: InvalidParameterError if a buffer was changed.
    """
    weights = {one: one.detach().clone() for one in model.parameters() if one.requires_grad}
    modes = {module: module.training for module in model.modules()}
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    device, fast = next(model.parameters()).device, torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # its layers are not called
    try:
        for one, before in weights.items():
            one.data += _wave(before.shape, before.device).mul_(0.05)
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for one, before in weights.items():
            one.data.copy_(before)
        for module, training in modes.items():
            module.training = training
        changed = [name for name, buffer in model.named_buffers() if not torch.equal(buffer, buffers[name])]
        for name in changed:
            model.get_buffer(name).copy_(buffers[name])
    if changed:
        raise InvalidParameterError(
            f"a forward pass in training changes {', '.join(changed)}, which would carry private rows out without "
            "noise. Leave this buffer out, or keep it constant"
        )


@contextmanager
def plain_recurrence(model: nn.Module) -> Iterator[None]:
    """Keep cuDNN from recurrent layers, since there it knows no vmap, and no gradients in `eval()`."""
    enabled = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = enabled and not any(isinstance(each, nn.RNNBase) for each in model.modules())
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = enabled


def refuse_mixing(losses: Callable[[Any, Any], Tensor], inputs: Any, targets: Any) -> None:
    """Raise: InvalidParameterError if the loss of the first example changes with another example."""

    def first(other: int) -> Tensor:
        torch.manual_seed(0)
        with torch.no_grad():
            return losses(only(inputs, [0, other]), only(targets, [0, other]))[0]

    one, two = first(1), first(2)
    if not torch.isclose(one, two, rtol=1e-4 if torch.finfo(one.dtype).bits >= 32 else 0.02, atol=1e-6):
        raise InvalidParameterError(
            "the loss of an example depends on the other examples of its batch, so it has no gradient of its own. "
            "Normalise each example alone (torch.nn.GroupNorm), and keep sums and means over the batch out of the loss"
        )


def agree(found: list[Piece], expected: list[Piece]) -> bool:
    """Whether pieces of two examples give the expected gradients, with norms that are not too small."""
    norms, wanted = (torch.stack([piece.norms({}) for piece in pieces]).sum(0) for pieces in (found, expected))
    same = bool((norms >= 0.98 * wanted).all())
    for row, scale in zip(torch.eye(2, dtype=torch.float64, device=norms.device), wanted.sqrt(), strict=True):
        for piece in expected:
            apart = piece.total(row, 0, 1).float()
            for one in found:
                if one.parameter is piece.parameter:
                    apart -= one.total(row, 0, 1)
            coarse = 0.05 if torch.finfo(piece.parameter.dtype).bits < 32 else 2e-3
            same &= bool(apart.abs_().max() <= coarse * scale)
    return same
