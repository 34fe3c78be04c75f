"""Labels and codes out of range, which must not stop a run."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_NAMES = ("input", "target", "weight", "size_average", "ignore_index")


class Codes(TorchFunctionMode):
    """Mode in which codes out of range read NaN, and such labels are ignored.

    It covers cross_entropy, nll_loss, embedding, gather, and indices `[rows, codes]`. An error would end a run that was
    charged: on CUDA it stops the process. Labels and codes within their range give what they give otherwise.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func in (functional.cross_entropy, functional.nll_loss):
            given = dict(zip(_NAMES, args, strict=False)) | named
            outputs = given["input"]
            target = given["target"]
            ignored = given.get("ignore_index", -100)
            if not target.is_floating_point():  # else it holds probabilities of all classes
                kept = target.clamp(0, outputs.shape[min(1, outputs.dim() - 1)] - 1)
                given["target"] = torch.where(kept == target, target, ignored)
            return func(*args[len(_NAMES) :], **given)
        if func is functional.embedding and len(args) > 1:
            return _picked(args[0], len(args[1]), lambda codes: func(codes, *args[1:], **named), more=1)
        if func in (torch.gather, Tensor.gather) and len(args) > 2:
            source, along, codes = args[:3]
            return _picked(codes, source.shape[along], lambda codes: func(source, along, codes, **named))
        if func is Tensor.__getitem__ and isinstance(args[1], tuple) and _pair(*args[1]):
            source, (rows, codes) = args
            size = source.shape[1]
            more = source.dim() - 2
            return _picked(codes, size, lambda codes: func(source, (rows, codes)), lowest=-size, more=more)
        return func(*args, **named)


def _pair(*indices: object) -> bool:
    return len(indices) == 2 and all(isinstance(one, Tensor) and one.dtype == torch.int64 for one in indices)


def _picked(codes: Tensor, size: int, pick: Callable[[Tensor], Tensor], *, lowest: int = 0, more: int = 0) -> Tensor:
    """Return the entries that codes pick; NaN for codes out of range.

    An entry has `more` dimensions.
    """
    within = codes.clamp(lowest, size - 1)
    picked = pick(within)
    if not picked.is_floating_point():
        return picked
    out_of_range = within != codes
    return picked.masked_fill(out_of_range.reshape(*out_of_range.shape, *[1] * more), torch.nan)
