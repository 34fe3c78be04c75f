"""Several processes that train one model: one sample, one exact sum, one noise."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from deniable.errors import InvalidParameterError


class Ranks:
    """The processes of `torch.distributed`, or this one: the first one pays, samples and adds the noise."""

    def __init__(self) -> None:
        together = dist.is_available() and dist.is_initialized()
        self._rank, self.count = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)

    def ask_first(self, ask: Callable[[], Any]) -> Any:
        """What the first process finds, or raises, in all of them."""
        if self.count == 1:
            return ask()
        found: list[Any] = [None, None]
        if self._rank == 0:
            try:
                found[0] = ask()
            except Exception as error:
                found[1] = error
        dist.broadcast_object_list(found, src=0)
        if found[1] is not None:
            raise found[1]
        return found[0]

    def agree(self, text: str) -> None:
        """Raise: InvalidParameterError unless all processes were given the same."""
        given = [text] * self.count
        if self.count > 1:
            dist.all_gather_object(given, text)
        if len(set(given)) > 1:
            raise InvalidParameterError("all processes must be given the same plan. Give each the same arguments.")

    def mine(self, places: Any) -> Any:
        """This process's part of a sample."""
        return places[self._rank :: self.count]

    def add_up(self, total: Tensor) -> Tensor:
        """The sum of int64 tensors over all processes."""
        if self.count > 1:
            dist.all_reduce(total)
        return total

    def share(self, model: torch.nn.Module) -> None:
        """Start all processes from the parameters and buffers of the first."""
        for each in (*model.parameters(), *model.buffers()) if self.count > 1 else ():
            dist.broadcast(each.detach(), src=0)
