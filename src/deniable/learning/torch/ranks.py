"""Processes that train one model together: one sample, one exact sum, one noise."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from deniable.errors import InvalidParameterError

Result = TypeVar("Result")


class Ranks:
    """The processes of `torch.distributed`, or this one alone.

    Rank 0 charges, samples and adds the noise.
    """

    def __init__(self) -> None:
        together = dist.is_available() and dist.is_initialized()
        self._rank = dist.get_rank() if together else 0
        self.count = dist.get_world_size() if together else 1

    def run_on_first(self, function: Callable[[], Result]) -> Result:
        """Run a function on rank 0 and broadcast its result or error."""
        if self.count == 1:
            return function()
        outcome: list[Any] = [None, None]  # the result, or the error
        if self._rank == 0:
            try:
                outcome[0] = function()
            except Exception as raised:
                outcome[1] = raised
        dist.broadcast_object_list(outcome, src=0)
        result, error = outcome
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def agree(self, text: str) -> None:
        """Raise: InvalidParameterError unless all processes were given the same text."""
        texts = [text] * self.count
        if self.count > 1:
            dist.all_gather_object(texts, text)
        if len(set(texts)) > 1:
            raise InvalidParameterError("all processes must be given the same plan. Give each the same arguments.")

    def mine(self, indices: Sequence[int]) -> Sequence[int]:
        """Return this process's part of a sample."""
        return indices[self._rank :: self.count]

    def add_up(self, total: Tensor) -> Tensor:
        """Return the sum of int64 tensors over all processes."""
        if self.count > 1:
            dist.all_reduce(total)
        return total

    def share(self, model: torch.nn.Module) -> None:
        """Broadcast parameters and buffers of rank 0, so that all processes agree."""
        if self.count > 1:
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor.detach(), src=0)
