"""The door from one example under vmap to all of them at once, for the few layers that are known to keep them apart."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten

_NEW = {getattr(at, f"{prefix}{name}{suffix}") for name in ("zeros", "ones", "empty", "full")
        for at, prefix, suffix in ((torch, "", ""), (torch, "", "_like"), (Tensor, "new_", ""))}  # fmt: skip
_RECURRENT = {getattr(torch, name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")}


def in_batches(function: Callable[[list[Tensor]], Sequence[Tensor]], ones: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Call a function, under vmap, with tensors that have all examples in their first dimension.

    Returns: what it returns, which has examples first too, as tensors of one example.
    Raises: RuntimeError where more than one vmap, or none, is going on.
    """
    return _Batches.apply(function, *ones)  # type: ignore[no-untyped-call, no-any-return]


class _Batches(torch.autograd.Function):
    @staticmethod
    def forward(function: Any, *ones: Tensor) -> Any:
        raise RuntimeError("a layer is called within another transform of torch.func")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Any, *ones: Tensor) -> Any:
        if torch._C._functorch.maybe_current_level() is not None:
            raise RuntimeError("a layer is called within another transform of torch.func")
        batches = [one.expand(info.batch_size, *one.shape) if dim is None else one.movedim(dim, 0)
                   for one, dim in zip(ones, in_dims[1:], strict=True)]  # fmt: skip
        found = tuple(function(batches))
        return found, (0,) * len(found)


class Recurrent(TorchFunctionMode):
    """While this is entered, under vmap, recurrent layers run on all examples at once: vmap has no rule for them.

    They keep sequences of a batch apart, and those of an example are some of that batch.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _RECURRENT or len(args) != 9:  # with 9 arguments sequences are not packed
            return func(*args, **(kwargs or {}))
        first = 0 if args[8] else 1  # where a batch of sequences has them
        leaves, shape = tree_flatten(args[:2])  # what is read and the states before it, which have them second

        def run(batches: list[Tensor]) -> list[Tensor]:
            sides = [first, *[1] * (len(batches) - 1)]
            folded = [one.movedim(0, side).flatten(side, side + 1) for one, side in zip(batches, sides, strict=True)]
            found = func(*tree_unflatten(folded, shape), *args[2:])
            sides = [first, *[1] * (len(found) - 1)]
            size = len(batches[0])
            return [one.unflatten(side, (size, -1)).movedim(side, 0) for one, side in zip(found, sides, strict=True)]

        return in_batches(run, leaves)


class Owned(TorchFunctionMode):
    """While this is entered, under vmap, new tensors belong to the row, so that a model may write into them."""

    def __init__(self, row: Tensor) -> None:
        super().__init__()
        self._flag = torch.isnan(row).any()  # one for each row, whatever it is

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        return torch.where(self._flag.to(found.device), found, found) if func in _NEW else found


class PlainRules(TorchFunctionMode):
    """While this is entered, the vmap rule that an autograd.Function brings is an error: it is given all rows."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for kind in args[:1]:
            own = isinstance(kind, type) and issubclass(kind, torch.autograd.Function) and kind is not _Batches
            if own and kind.vmap is not torch.autograd.Function.vmap:
                raise RuntimeError(f"{kind.__name__} has a vmap rule of its own, which might mix rows")
        return func(*args, **(kwargs or {}))
