"""Rehearsal on made-up rows: whether each example has a gradient of its own.

Nothing here looks at private values: rows are made from types and shapes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks
from torch.utils._pytree import tree_map

from deniable.errors import InvalidParameterError
from deniable.learning.torch.pieces import Piece
from deniable.learning.torch.state import State

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_BATCH_SIZES = (2, 3, 17)  # in which a row must have the same loss: a pair, an odd number, and more than a vector


def refuse(model: nn.Module) -> None:
    """Refuse a model whose examples are known to have no gradients of their own.

    Raises: InvalidParameterError.
    """
    if hasattr(model, "_orig_mod"):
        raise InvalidParameterError("torch.compile hides the layers of the model. Pass the module that you gave to it")
    for name, module in model.named_modules():
        reason = ""
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            reason = "mixes the examples of a batch, so that none has a gradient of its own. Use torch.nn.GroupNorm"
        elif getattr(module, "track_running_stats", False):
            reason = "keeps statistics of private rows. Build it with track_running_stats=False"
        elif isinstance(module, nn.Embedding) and module.max_norm is not None:
            reason = "changes its weights by what it reads. Build it without max_norm"
        elif isinstance(module, torch.jit.ScriptModule):
            reason = "hides its state. Use the module that was scripted"
        elif any(nn.parameter.is_lazy(parameter) for parameter in module.parameters(recurse=False)):
            reason = "has no shape yet. Run the model once on made-up rows"
        if reason:
            raise InvalidParameterError(f"{type(module).__name__} {name} {reason}")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InvalidParameterError("the model has no trainable parameter. Call requires_grad_(True) on what may learn")


def structure(*roots: object) -> list[object]:
    """Return modules, their hooks and forward methods.

    While these are the same objects, a rehearsal need not be repeated.
    """
    parts: list[object] = [*_global_forward_pre_hooks.values(), *_global_forward_hooks.values()]
    for root in roots:
        for module in root.modules() if isinstance(root, nn.Module) else (root,):
            held = getattr(module, "__dict__", {})
            parts += [module, type(module), getattr(type(module), "forward", None), held.get("forward")]
            for name in _HOOKS:
                parts += held.get(name, {}).values()
    return parts


def refuse_coarse(device: torch.device) -> None:
    """Refuse coarse rounding of float32 products, as with TF32.

    Raises: InvalidParameterError, whatever the reason.
    """
    above_one = torch.full((2, 64, 64), 1 + 2.0**-20, device=device)  # TF32 rounds it to 1
    exact = torch.equal(above_one @ torch.eye(64, device=device).expand(2, -1, -1), above_one)
    with suppress(RuntimeError):  # raised where parts of PyTorch have settings of their own
        exact &= torch.get_float32_matmul_precision() == "highest"
    if not exact:
        raise InvalidParameterError(
            "float32 products are rounded coarsely. Call "
            'torch.set_float32_matmul_precision("highest"), and unset NVIDIA_TF32_OVERRIDE'
        )


def made_up(arguments: Any, *, low: float = -1, rows: int = 3) -> Any:
    """Return made-up rows of the same types and shapes.

    Numbers are between `low` and 1, codes 0 and 1, flags off.
    """

    def one(leaf: Tensor) -> Tensor:
        wave = _wave((rows, *leaf.shape[1:]), leaf.device)
        if leaf.is_floating_point():
            return (low + (1 - low) * (0.5 + 0.5 * wave)).to(leaf.dtype)
        return ((wave > 0) & (leaf.dtype != torch.bool)).to(leaf.dtype)

    return _mapped(one, arguments)


def _variants(batch: Any) -> Iterator[Any]:
    """Yield variants of made-up rows, from sorted ones to very large ones.

    Sorted, with other codes and flags, all alike, tiny, large and negative.
    """
    for falling in (False, True):
        yield _mapped(
            lambda leaf, by=falling: leaf[leaf.reshape(len(leaf), -1).double().sum(1).argsort(descending=by)], batch
        )
    yield _mapped(lambda leaf: leaf if leaf.is_floating_point() else leaf == 0, batch)
    alike = _mapped(lambda leaf: leaf[1:2].expand_as(leaf), batch)
    for rows, scale in product((batch, alike), (2.0**-20, 1000.0, -1000.0)):
        yield _mapped(lambda leaf, by=scale: leaf * by if leaf.is_floating_point() else leaf, rows)


def _mapped(function: Callable[..., Tensor], arguments: Any) -> Any:
    """Return arguments with a function of each tensor in its place, of the same type."""
    return tree_map(lambda leaf: function(leaf).to(leaf.dtype) if isinstance(leaf, Tensor) else leaf, arguments)


def _wave(shape: Sequence[int], device: torch.device) -> Tensor:
    """Return numbers between -1 and 1 whose neighbours all differ."""
    return torch.arange(math.prod(shape), device=device, dtype=torch.float32).mul_(2.4).add_(1).sin_().reshape(*shape)


def only(arguments: Any, rows: Any) -> Any:
    """Return these rows of the arguments."""
    return tree_map(lambda leaf: leaf[rows] if isinstance(leaf, Tensor) else leaf, arguments)


@contextmanager
def untouched(model: nn.Module, loss: object) -> Iterator[None]:
    """Move trainable parameters a little, so that none is zero; restore all.

    At the end random streams are restored too.
    """
    device = next(model.parameters()).device
    fast = torch.backends.mha.get_fastpath_enabled()
    whole = State(model, loss)
    torch.backends.mha.set_fastpath_enabled(False)  # its layers are not called
    try:
        for one in model.parameters():
            if one.requires_grad:
                one.data += _wave(one.shape, one.device).mul_(0.05)
        with whole, torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def refuse_changes(model: nn.Module) -> Iterator[None]:
    """Raise: InvalidParameterError if forward passes change a parameter or a buffer."""
    before = {name: one.detach().clone() for name, one in _named(model)}
    yield
    changed = [name for name, one in _named(model) if name in before and not _same(one, before[name])]
    if changed:
        raise InvalidParameterError(
            f"a forward pass in training changes {', '.join(changed)}, which would carry private rows out without "
            "noise. Leave it out, or change it outside of the forward pass, from public numbers"
        )


def _named(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(), *model.named_buffers()]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())


@contextmanager
def plain_recurrence(model: nn.Module) -> Iterator[None]:
    """Run recurrent layers without cuDNN.

    It supports neither vmap there, nor gradients in `eval()`.
    """
    enabled = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = enabled and not any(isinstance(each, nn.RNNBase) for each in model.modules())
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = enabled


def refuse_mixing(losses: Callable[[Any, Any], Tensor], rows: Callable[[int], Any], model: nn.Module) -> None:
    """Refuse a model in which the loss of a row depends on other rows.

    Raises: InvalidParameterError if it changes with the rows beside it, or with their number.

    The check cannot be complete. What it misses changes what is learned, and no promise: see
    docs/theory/learning/torch.md.

    Args:
        losses: of inputs and targets.
        rows: a function that makes a number of rows, a pair (inputs, targets); the first row is always the same.
        model: run in both modes, eval and train.
    """

    def losses_of(batch: Any, seed: int = 0) -> Tensor:
        torch.manual_seed(seed)
        with torch.no_grad():
            return losses(*batch)

    model.eval()
    alone = losses_of(rows(1))
    deterministic = torch.equal(alone, losses_of(rows(1), 1))
    if deterministic:
        _refuse_unlike([losses_of(rows(size))[0] for size in _BATCH_SIZES], alone[0])
    model.train()
    for size in _BATCH_SIZES:
        batch = rows(size)
        variants = [tree_map(_with_first, batch, variant) for variant in _variants(batch)]
        for order in (list(range(size)), list(range(size - 1, -1, -1))):  # the row is first, then last
            others = []
            for variant in variants:
                with suppress(RuntimeError, ValueError, TypeError, LookupError):  # a loss need not take such values
                    others.append(losses_of(only(variant, order))[order[0]])
            _refuse_unlike(others, losses_of(only(batch, order))[order[0]])


def _with_first(batch: Any, others: Any) -> Any:
    return torch.cat([batch[:1], others[1:]]) if isinstance(batch, Tensor) else batch


def _refuse_unlike(losses: list[Tensor], expected: Tensor) -> None:
    """Raise: InvalidParameterError if a loss is not the expected one, up to rounding."""
    for loss in losses:
        relative, absolute = (1e-3, 1e-5) if torch.finfo(loss.dtype).bits >= 32 else (0.02, 0.02)
        if not torch.isclose(loss, expected, rtol=relative, atol=absolute, equal_nan=True):
            raise InvalidParameterError(
                "the loss of an example depends on the other examples of its batch, so it has no gradient of its own. "
                "Normalise each example alone (torch.nn.GroupNorm), and keep sums and means over the batch out of the "
                "loss"
            )


def agree(pieces: list[Piece], expected: list[Piece]) -> bool:
    """Whether pieces of two examples give the expected gradients.

    Their norms must not be too small.
    """
    norms = torch.stack([piece.norms({}) for piece in pieces]).sum(0)
    expected_norms = torch.stack([piece.norms({}) for piece in expected]).sum(0)
    same = bool((norms >= 0.98 * expected_norms).all())
    examples = torch.eye(2, dtype=torch.float64, device=norms.device)
    for row, scale in zip(examples, expected_norms.sqrt(), strict=True):
        for piece in expected:
            difference = piece.total(row, 0, 1).float()
            for part in pieces:
                if part.parameter is piece.parameter:
                    difference -= part.total(row, 0, 1)
            tolerance = 0.05 if torch.finfo(piece.parameter.dtype).bits < 32 else 2e-3
            same &= bool(difference.abs_().max() <= tolerance * scale)
    return same
