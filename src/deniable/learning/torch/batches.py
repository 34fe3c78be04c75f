"""Access to all examples at once from within vmap.

It serves layers that keep examples apart.
"""

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
    """Call a function from within vmap with tensors that have all examples first.

    Returns: its results, which have examples first too, as tensors of one example.
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
        results = tuple(function(batches))
        return results, (0,) * len(results)


class Recurrent(TorchFunctionMode):
    """Mode in which, under vmap, recurrent layers run on all examples at once.

    vmap has no rule for them. They keep sequences of a batch apart, and those of an example are some of that batch.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _RECURRENT or len(args) != 9:  # with 9 arguments sequences are not packed
            return func(*args, **(kwargs or {}))
        first = 0 if args[8] else 1  # the dimension of the sequences in a batch
        leaves, shape = tree_flatten(args[:2])  # inputs, and initial states, which have the sequences second

        def run(batches: list[Tensor]) -> list[Tensor]:
            sides = [first, *[1] * (len(batches) - 1)]
            folded = [one.movedim(0, side).flatten(side, side + 1) for one, side in zip(batches, sides, strict=True)]
            results = func(*tree_unflatten(folded, shape), *args[2:])
            sides = [first, *[1] * (len(results) - 1)]
            size = len(batches[0])
            return [one.unflatten(side, (size, -1)).movedim(side, 0) for one, side in zip(results, sides, strict=True)]

        return in_batches(run, leaves)


class Owned(TorchFunctionMode):
    """Mode in which, under vmap, new tensors belong to the row.

    So a model may write into them.
    """

    def __init__(self, row: Tensor) -> None:
        super().__init__()
        self._flag = torch.isnan(row).any()  # one for each row, whatever it is

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return torch.where(self._flag.to(result.device), result, result) if func in _NEW else result


class PlainRules(TorchFunctionMode):
    """Mode in which a vmap rule of an autograd.Function is an error.

    Such a rule is given all rows, and might mix them.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for kind in args[:1]:
            own = isinstance(kind, type) and issubclass(kind, torch.autograd.Function) and kind is not _Batches
            if own and kind.vmap is not torch.autograd.Function.vmap:
                raise RuntimeError(f"{kind.__name__} has a vmap rule of its own, which might mix rows")
        return func(*args, **(kwargs or {}))
