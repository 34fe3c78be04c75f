"""What is refused before a training run is paid, and rows that are read one by one."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from deniable.errors import InvalidParameterError
from deniable.learning.torch.rehearsal import refuse
from deniable.rows import attempted

Loss = Callable[[Tensor, Tensor], Tensor]
Pair = tuple[Tensor, Tensor]


def plain(model: Any) -> nn.Module:
    """The module inside of what `torch.compile` and DistributedDataParallel put around it."""
    inside: nn.Module = getattr(model, "_orig_mod", model)
    inside = inside.module if isinstance(inside, nn.parallel.DistributedDataParallel) else inside
    refuse(inside)
    return inside


def row_loss(loss: Any) -> Loss:
    """The loss as one value a row: a module of torch that averages or adds up is asked for single values instead."""
    single, reduction = copy.copy(loss), getattr(loss, "reduction", "none")
    if reduction not in ("mean", "sum"):
        return loss  # type: ignore[no-any-return]
    single.reduction = "none"
    return lambda outputs, targets: getattr(single(outputs, targets).reshape(len(outputs), -1), reduction)(1)


def check_optimizer(optimizer: object, parameters: Sequence[Tensor]) -> None:
    """Raise: InvalidParameterError unless the optimizer steps on exactly these parameters, once a step."""
    if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, torch.optim.LBFGS):
        raise InvalidParameterError("optimizer must be one of torch.optim that steps on gradients alone (no LBFGS)")
    held = {id(each) for group in optimizer.param_groups for each in group["params"] if each.requires_grad}
    if held != {id(each) for each in parameters}:
        raise InvalidParameterError("optimizer must hold the trainable parameters of this model, and no others")


class Rows:
    """The rows of a loader's dataset, read one by one: a pair (inputs, target) of tensors each.

    A row that cannot be read, or whose shape or type is not that of the first, is left out: nothing that a row holds
    stops a run. Shapes and types of the first row count as public.
    """

    def __init__(self, loader: object) -> None:
        if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset) or not loader.batch_size:
            raise InvalidParameterError("loader must be a DataLoader with a batch_size, and no IterableDataset")
        order, orders = loader.sampler, (SequentialSampler, RandomSampler, DistributedSampler)
        if type(order) not in orders or getattr(order, "replacement", False):
            raise InvalidParameterError(f"leave out {type(order).__name__}: the plan draws rows, and states the loss")
        self._data, self._collate = cast(Any, loader.dataset), loader.collate_fn
        whole = isinstance(self._data, TensorDataset) and self._collate is torch.utils.data.default_collate
        self._tensors = self._data.tensors if whole else ()
        if not whole and not len(self):
            raise InvalidParameterError("a dataset without rows has no shapes. Use a TensorDataset, which has.")
        found: Any = self._tensors or self._first()
        if not isinstance(found, tuple | list) or [isinstance(each, Tensor) for each in found] != [True, True]:
            raise InvalidParameterError("every row of the dataset must be a pair (inputs, target) of tensors")
        self.empty: Pair = found[0][:0], found[1][:0]

    def _first(self) -> Any:
        """Return the first row, whose shapes and types count as public; what it raises may hold its values."""
        found = attempted(lambda: (self._collate([self._data[0]]),))
        if found is None:
            raise InvalidParameterError("the first row of the dataset cannot be read. Use a TensorDataset")
        return found[0]

    def __len__(self) -> int:
        return len(self._data)

    def batch(self, places: Sequence[int]) -> Pair:
        """The rows at these places; of no rows, tensors with the same shapes and types."""
        if self._tensors:
            inputs, targets = (tensor[torch.as_tensor(places, dtype=torch.int64)] for tensor in self._tensors)
            return inputs, targets
        read = [self.empty, *(pair for place in places if (pair := attempted(self._row, place)) is not None)]
        return torch.cat([inputs for inputs, _ in read]), torch.cat([targets for _, targets in read])

    def _row(self, place: int) -> Pair | None:
        """Read one row, or return None if it looks unlike the first."""
        inputs, targets = self._collate([self._data[place]])
        one = [(each.shape[1:], each.dtype, len(each)) for each in (inputs, targets)]
        return (inputs, targets) if one == [(each.shape[1:], each.dtype, 1) for each in self.empty] else None
