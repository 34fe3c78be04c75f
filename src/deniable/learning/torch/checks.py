"""Checks of a training run before it is charged, and its rows, read singly."""

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
    """Return the module inside `torch.compile` and DistributedDataParallel."""
    inside: nn.Module = getattr(model, "_orig_mod", model)
    inside = inside.module if isinstance(inside, nn.parallel.DistributedDataParallel) else inside
    refuse(inside)
    return inside


def row_loss(loss: Any) -> Loss:
    """Return the loss as one value a row.

    Modules of torch that average or add up are asked for single values.
    """
    single = copy.copy(loss)
    reduction = getattr(loss, "reduction", "none")
    if reduction not in ("mean", "sum"):
        return loss  # type: ignore[no-any-return]
    single.reduction = "none"
    return lambda outputs, targets: getattr(single(outputs, targets).reshape(len(outputs), -1), reduction)(1)


def check_optimizer(optimizer: object, parameters: Sequence[Tensor]) -> None:
    """Check that the optimizer steps on exactly these parameters.

    Raises: InvalidParameterError otherwise, or if it steps on one of them twice.
    """
    if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, torch.optim.LBFGS):
        raise InvalidParameterError("optimizer must be one of torch.optim that steps on gradients alone (no LBFGS)")
    groups = optimizer.param_groups
    held = {id(parameter) for group in groups for parameter in group["params"] if parameter.requires_grad}
    if held != {id(parameter) for parameter in parameters}:
        raise InvalidParameterError("optimizer must hold the trainable parameters of this model, and no others")


class Rows:
    """Rows of a loader's dataset, read one by one: pairs (inputs, target).

    Both are tensors.

    A row that cannot be read, or whose shape or type is not that of the first, is left out: nothing that a row holds
    stops a run. Shapes and types of the first row count as public.
    """

    def __init__(self, loader: object) -> None:
        if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset) or not loader.batch_size:
            raise InvalidParameterError("loader must be a DataLoader with a batch_size, and no IterableDataset")
        sampler = loader.sampler
        replaced_by_plan = (SequentialSampler, RandomSampler, DistributedSampler)
        if type(sampler) not in replaced_by_plan or getattr(sampler, "replacement", False):
            raise InvalidParameterError(f"leave out {type(sampler).__name__}: the plan draws rows, and states the loss")
        self._data = cast(Any, loader.dataset)
        self._collate = loader.collate_fn
        whole = isinstance(self._data, TensorDataset) and self._collate is torch.utils.data.default_collate
        self._tensors = self._data.tensors if whole else ()
        if not whole and not len(self):
            raise InvalidParameterError("a dataset without rows has no shapes. Use a TensorDataset, which has.")
        pair: Any = self._tensors or self._first()
        if not isinstance(pair, tuple | list) or [isinstance(part, Tensor) for part in pair] != [True, True]:
            raise InvalidParameterError("every row of the dataset must be a pair (inputs, target) of tensors")
        self.empty: Pair = pair[0][:0], pair[1][:0]

    def _first(self) -> Any:
        """Return the first row, whose shapes and types count as public.

        An error of it may hold its values.
        """
        first = attempted(lambda: (self._collate([self._data[0]]),))
        if first is None:
            raise InvalidParameterError("the first row of the dataset cannot be read. Use a TensorDataset")
        return first[0]

    def __len__(self) -> int:
        return len(self._data)

    def batch(self, indices: Sequence[int]) -> Pair:
        """Return the rows at these indices; tensors of the same shapes and types for none."""
        if self._tensors:
            rows = torch.as_tensor(indices, dtype=torch.int64)
            inputs, targets = self._tensors
            return inputs[rows], targets[rows]
        pairs = [self.empty]
        for index in indices:
            pair = attempted(self._row, index)
            if pair is not None:
                pairs.append(pair)
        return torch.cat([inputs for inputs, _ in pairs]), torch.cat([targets for _, targets in pairs])

    def _row(self, index: int) -> Pair | None:
        """Read one row, or return None if its shapes or types are not those of the first."""
        inputs, targets = self._collate([self._data[index]])
        kinds = [(part.shape[1:], part.dtype, len(part)) for part in (inputs, targets)]
        expected = [(part.shape[1:], part.dtype, 1) for part in self.empty]
        return (inputs, targets) if kinds == expected else None
